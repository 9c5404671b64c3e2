"""Scores of distributions over the options of questions, compared with the answers of
several coders.

The coders' answers to a question about a document form a distribution: the share of
each option among all their choices.  Each score is a mean over pairs of a document and
a question.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import krippendorff
import numpy as np

from lextables.metrics.intervals import Jackknife, by_key, score_row
from lextables.metrics.ratio import ratio
from lextables.models.soft_labels import EPSILON, binary_cross_entropy, smoothed
from lextables.pipeline.dataset import Row

# The answers of several coders to one question about a document: Krippendorff's unit.
Unit = Sequence[Hashable]


@dataclass(frozen=True)
class Question:
    """A question, which belongs to a category."""

    question_id: str
    category: str


@dataclass(frozen=True)
class AnsweredQuestion(Question):
    """A question with m options and the n documents for which it was answered.

    ``documents`` (n,): their ids.  ``shares`` and ``predicted`` float64 (n, m): the
    coders' and the model's distributions; rows add up to one.
    """

    documents: np.ndarray
    shares: np.ndarray
    predicted: np.ndarray


Metric = Callable[[AnsweredQuestion, float], np.ndarray]


# Metrics take a question and ``smoothing``, the share of each target that is spread
# over all options (`models.soft_labels.smoothed`), and return a value per document,
# float64 (n,).  Only the first two use ``smoothing``.


def cross_entropy(question: AnsweredQuestion, smoothing: float) -> np.ndarray:
    """Return `binary_cross_entropy` against the smoothed shares."""
    target = smoothed(question.shares, smoothing)
    return binary_cross_entropy(target, question.predicted)


def excess(question: AnsweredQuestion, smoothing: float) -> np.ndarray:
    """Return `cross_entropy` minus its lowest possible value, which a prediction equal
    to the smoothed shares has.
    """
    target = smoothed(question.shares, smoothing)
    return cross_entropy(question, smoothing) - binary_cross_entropy(target, target)


def unsmoothed(question: AnsweredQuestion, smoothing: float) -> np.ndarray:
    """Return `binary_cross_entropy` against the unsmoothed shares."""
    return binary_cross_entropy(question.shares, question.predicted)


def log_loss(question: AnsweredQuestion, smoothing: float) -> np.ndarray:
    """Return the cross entropy of the whole distribution against the shares, in
    nats.
    """
    logs = np.log(np.clip(question.predicted, EPSILON, 1))
    return -(question.shares * logs).sum(axis=1)


def accuracy(question: AnsweredQuestion, smoothing: float) -> np.ndarray:
    """Return 1 where the most probable option is one that most coders chose, else 0.

    With several most probable options it is the share of them that most coders chose,
    so that ties are not decided by the order of the options.
    """
    predicted = _largest(question.predicted)
    chosen = _largest(question.shares)
    agreed = predicted & chosen
    return agreed.sum(axis=1) / predicted.sum(axis=1)


def _largest(shares: np.ndarray) -> np.ndarray:
    """Which options have the largest share of their row, bool (n, m)."""
    return shares == shares.max(axis=1, keepdims=True)


METRICS: dict[str, Metric] = {
    "cross entropy": cross_entropy,
    "excess": excess,
    "cross entropy, unsmoothed": unsmoothed,
    "log loss": log_loss,
    "accuracy": accuracy,
}
LARGEST = {"accuracy": 1.0}  # the largest values of metrics that have one


def scores_and_units(
    questions: Sequence[AnsweredQuestion], smoothing: float
) -> tuple[list[Row], list[Row]]:
    """Score the answers of one run; rows as `run.SCORES`, sorted by its key.

    ``smoothing`` is passed to the metrics (`METRICS`).

    Groups are ``all``, each ``category: <c>`` and each ``question: <q>`` (n: pairs).
    ``<metric>, low`` and ``<metric>, high`` are a 95 % jackknife interval over
    documents (n: documents), where it is defined.

    The second list has the contribution of each document to the scores of ``all`` and
    of each ``category``: rows of `units.UNITS`, sorted by its key.
    """
    rows: list[Row] = []
    units: list[Row] = []
    documents = [question.documents for question in questions]
    for name, metric in METRICS.items():
        values = [metric(question, smoothing) for question in questions]
        for group, members in groups(questions).items():
            pairs = np.concatenate([values[at] for at in members])
            pair_documents = np.concatenate([documents[at] for at in members])
            score = _jackknife(name, group, pairs, pair_documents)
            rows.append(score_row(name, group, score.value, len(pairs)))
            rows += score.ends()
            if score.units > 1 and not group.startswith("question: "):
                units += score.contributions()
    return by_key(rows), by_key(units)


def groups(questions: Sequence[Question]) -> Mapping[str, list[int]]:
    """Return {group: the indices of its questions}."""
    members: dict[str, list[int]] = {"all": list(range(len(questions)))}
    for index, question in enumerate(questions):
        category = f"category: {question.category}"
        members.setdefault(category, []).append(index)
        members[f"question: {question.question_id}"] = [index]
    return members


def _jackknife(
    metric: str, group: str, values: np.ndarray, documents: np.ndarray
) -> Jackknife:
    """The mean of the ``values`` of pairs, and the mean without each document (NaN
    where no value remains).
    """
    names, document_index = np.unique(documents, return_inverse=True)
    without = values.sum() - np.bincount(document_index, weights=values)
    remaining = len(values) - np.bincount(document_index)
    return Jackknife(
        metric=metric,
        group=group,
        value=float(values.mean()),
        without=ratio(without, remaining),
        units=len(names),
        names=names.tolist(),
        within=(0.0, LARGEST.get(metric, np.inf)),
    )


# Agreement of coders, who are interchangeable: who gave an answer is not recorded.


def alpha(units: Sequence[Unit]) -> float:
    """Return Krippendorff's alpha of nominal answers (Krippendorff 2004, chapter 11).

    An answer is any hashable value, such as the set of chosen options.  Units with a
    single answer are ignored.  NaN where all answers are equal, or no unit has two
    answers.
    """
    answers = list(dict.fromkeys(itertools.chain(*units)))
    counts = np.zeros((len(units), len(answers)), dtype=np.int64)
    for row, unit in enumerate(units):
        for answer in unit:
            column = answers.index(answer)
            counts[row, column] += 1
    several = counts.sum(axis=1) > 1
    counts = counts[several]
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return math.nan
    value = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    return float(value)


def agreement(unit: Unit) -> float:
    """Return the share of pairs of a unit's answers that are equal; NaN where there is
    no pair.
    """
    pairs = list(itertools.combinations(unit, 2))
    if not pairs:
        return math.nan
    equal = [first == second for first, second in pairs]
    return sum(equal) / len(pairs)


def cramers_v(first: Sequence[int], second: Sequence[int]) -> float:
    """Return Cramér's V of two nominal variables, with Bergsma's (2013) bias
    correction.

    ``first`` and ``second`` are the values of the same cases, in the same order.  0
    means no association, 1 that each variable determines the other.  NaN where a
    variable has a single value or there are fewer than two cases.
    """
    table = _contingency(first, second)
    cases = len(first)
    rows, columns = table.shape
    if cases < 2 or rows < 2 or columns < 2:
        return math.nan
    row_sums = table.sum(axis=1)
    column_sums = table.sum(axis=0)
    expected = np.outer(row_sums, column_sums) / cases
    squares = (table - expected) ** 2
    chi_squared = float((squares / expected).sum())
    freedom = (rows - 1) * (columns - 1)
    phi = max(0.0, chi_squared / cases - freedom / (cases - 1))
    # The largest phi: the smaller of the numbers of rows and columns, corrected for its
    # bias, less one.
    biases = [(size - 1) ** 2 / (cases - 1) for size in table.shape]
    largest = min(rows - biases[0] - 1, columns - biases[1] - 1)
    if largest <= 0:
        return math.nan
    return math.sqrt(phi / largest)


def _contingency(first: Sequence[int], second: Sequence[int]) -> np.ndarray:
    """The number of cases with each pair of values, float64 (different values of
    ``first``, different values of ``second``).
    """
    names, rows = np.unique(first, return_inverse=True)
    other_names, columns = np.unique(second, return_inverse=True)
    table = np.zeros((len(names), len(other_names)))
    np.add.at(table, (rows, columns), 1)
    return table
