"""Scores of marked paragraphs: the paragraphs of a document that coders marked as
evidence for an answer.

A model gives each paragraph a probability and marks the paragraphs at or above a
threshold.  The threshold for a document maximises F1 on the documents of the other
folds.  A separate score, `BEST`, uses the threshold that maximises F1 on the scored
paragraphs themselves, as a paper may have done.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.metrics.answers import Question, groups
from lextables.metrics.classification import nanmean, weighted_precisions
from lextables.metrics.intervals import Jackknife, by_key, score_row
from lextables.metrics.ratio import ratio
from lextables.pipeline.dataset import Row

BEST = "F1, best threshold"
AREA = "average precision"
NOTHING = math.inf  # a threshold that marks no paragraph


@dataclass(frozen=True)
class MarkedQuestion(Question):
    """A question and the n paragraphs of all documents for which it was answered.

    ``documents`` int (n,): index of each paragraph's document.  ``right`` bool (n,):
    whether a coder marked anything in it.  ``probabilities`` float (n,): the model's
    probability of that.
    """

    documents: np.ndarray
    right: np.ndarray
    probabilities: np.ndarray


# Metrics take counts of paragraphs (4, ...), in the order of `counted`, and return
# float64 (...).

Metric = Callable[[np.ndarray], np.ndarray]


def accuracy(counts: np.ndarray) -> np.ndarray:
    """Return the share of paragraphs that are marked or unmarked as the coders did."""
    hits, _, _, rejections = counts
    return ratio(hits + rejections, counts.sum(axis=0), math.nan)


def precision(counts: np.ndarray) -> np.ndarray:
    """Return the share of marked paragraphs that are right; 0 where none is marked."""
    hits, wrong, _, _ = counts
    return ratio(hits, hits + wrong, 0.0)


def recall(counts: np.ndarray) -> np.ndarray:
    """Return the share of right paragraphs that are marked; NaN where none is right."""
    hits, _, missed, _ = counts
    return ratio(hits, hits + missed, math.nan)


def f1(counts: np.ndarray) -> np.ndarray:
    """Return the harmonic mean of precision and recall; NaN where no paragraph is
    right.
    """
    hits, wrong, missed, _ = counts
    values = ratio(2 * hits, 2 * hits + wrong + missed, 0.0)
    return np.where(hits + missed > 0, values, math.nan)


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "precision": precision,
    "recall": recall,
    "F1": f1,
}


def counted(question: MarkedQuestion, chosen: np.ndarray, documents: int) -> np.ndarray:
    """Return true positives, false positives, false negatives and true negatives, int64
    (4, documents).

    ``chosen`` bool (n,): the paragraphs that the model marks.
    """
    right = question.right
    counts = []
    for outcome in (right & chosen, ~right & chosen, right & ~chosen, ~right & ~chosen):
        counts.append(np.bincount(question.documents[outcome], minlength=documents))
    return np.stack(counts)


# Thresholds.


def threshold(right: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the threshold with the highest F1; if several have it, the highest of
    them.

    Paragraphs of probability 0 are never marked.  `NOTHING` where all right paragraphs
    have probability 0.
    """
    order = np.argsort(-probabilities, kind="stable")
    scores = probabilities[order]
    hits = np.cumsum(right[order])
    marked = np.arange(len(hits)) + 1
    relevant = max(int(right.sum()), 1)
    f1_scores = 2 * hits / (marked + relevant)
    # Paragraphs of equal probability are marked together, at the last of them.
    following = np.append(scores[1:], -1.0)
    ends = np.flatnonzero((scores != following) & (scores > 0))
    if not f1_scores[ends].any():
        return NOTHING
    best = ends[f1_scores[ends].argmax()]
    return float(scores[best])


def marked(question: MarkedQuestion, folds: np.ndarray) -> np.ndarray:
    """Return which paragraphs a model marks, bool (n,), each fold by the `threshold` of
    the other folds.

    ``folds`` (documents,): the fold of each document.
    """
    probabilities = question.probabilities
    paragraph_folds = folds[question.documents]
    limits = np.zeros(len(probabilities))
    for fold in np.unique(paragraph_folds):
        inside = paragraph_folds == fold
        right = question.right[~inside]
        limits[inside] = threshold(right, probabilities[~inside])
    return probabilities >= limits


# Scores per question, and means over questions.


def scores_and_units(
    questions: Sequence[MarkedQuestion], folds: np.ndarray, documents: Sequence[str]
) -> tuple[list[Row], list[Row]]:
    """Score the marks of one run; rows as `run.SCORES`, sorted by its key.

    Groups are each ``question: <q>`` (n: paragraphs); ``all`` and each ``category:
    <c>``, means over the questions with a value (n: questions); and ``pooled``, over
    the paragraphs of all questions.  Metrics are `METRICS` and `BEST`; ``<metric>,
    low`` and ``<metric>, high`` are their 95 % jackknife intervals over documents.
    `AREA` has neither ``pooled`` nor an interval.

    The second list has the contribution of each of ``documents`` (ids, by index): rows
    of `units.UNITS`, sorted by its key, for the metrics with intervals and all groups
    except questions.
    """
    names = np.asarray(documents)
    by_folds = []
    at_best = []
    for question in questions:
        chosen = marked(question, folds)
        by_folds.append(counted(question, chosen, len(folds)))
        limit = threshold(question.right, question.probabilities)
        best = question.probabilities >= limit
        at_best.append(counted(question, best, len(folds)))
    counts_of = dict.fromkeys(METRICS, np.stack(by_folds, axis=-1))
    counts_of[BEST] = np.stack(at_best, axis=-1)
    rows = []
    units = []
    for metric, counts in counts_of.items():
        for score, n in _scores(metric, counts, questions, names):
            rows.append(score_row(metric, score.group, score.value, n))
            if not math.isnan(score.value):
                rows += score.ends()
                if not score.group.startswith("question: "):
                    units += score.contributions()
    areas = np.array([average_precision(question) for question in questions])
    for group, members in groups(questions).items():
        n = _count(group, members, questions, areas)
        rows.append(score_row(AREA, group, float(nanmean(areas[members])), n))
    return by_key(rows), by_key(units)


def _count(
    group: str,
    members: Sequence[int],
    questions: Sequence[MarkedQuestion],
    values: np.ndarray,
) -> int:
    """Return n of a group: the paragraphs of a single question, else the questions that
    have a value.
    """
    if group.startswith("question: "):
        return len(questions[members[0]].right)
    return int((~np.isnan(values[members])).sum())


def average_precision(question: MarkedQuestion) -> float:
    """Return the area under the stepwise precision-recall curve; NaN where no paragraph
    is right.
    """
    right = question.right
    probabilities = question.probabilities
    if not right.any():
        return math.nan
    weights = np.ones((1, len(right)))
    return float(weighted_precisions(right, probabilities, weights)[0])


def _scores(
    metric: str,
    counts: np.ndarray,
    questions: Sequence[MarkedQuestion],
    names: np.ndarray,
) -> Iterator[tuple[Jackknife, int]]:
    """Yield the score and the n of each group, from ``counts`` (4, documents,
    questions).

    ``names`` are the documents' ids.
    """
    function = METRICS.get(metric, f1)  # `BEST` is F1 at another threshold
    # A document without an answered question is no unit of the interval.
    answered = counts.any(axis=(0, 2))
    counts = counts[:, answered]
    names = names[answered]
    total = counts.sum(axis=1)
    # The counts without each document in turn.
    without = total[:, None] - counts
    values = function(total)
    values_without = function(without)

    def score(group: str, value: np.ndarray, left_out: np.ndarray) -> Jackknife:
        """The score of a group, with each document left out in turn."""
        units = len(left_out)
        return Jackknife(metric, group, float(value), left_out, units, names.tolist())

    for group, members in groups(questions).items():
        value = nanmean(values[members])
        left_out = nanmean(values_without[:, members], axis=1)
        n = _count(group, members, questions, values)
        yield score(group, value, left_out), n
    pooled = function(total.sum(axis=1))
    left_out = function(without.sum(axis=2))
    yield score("pooled", pooled, left_out), int(total.sum())
