"""Scores of distributions over the options of questions, held against what several people answered.

The people's answers to a question about a document are a distribution as well: the share of each option among
all that they chose.  Each score is a mean over pairs of a document and a question.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.metrics.classification import by_key
from lextables.metrics.intervals import jackknife_interval
from lextables.metrics.pseudo_values import pseudo_values, unit_rows
from lextables.models.soft_labels import EPSILON, binary_cross_entropy, smoothed
from lextables.pipeline.dataset import Row

OFF_BY = 0.01  # what rounding may take from a sum of one


@dataclass(frozen=True)
class Answered:
    """A question of m options and the n documents that it was answered of.

    ``documents`` (n,) are their ids; ``shares`` and ``given`` float64 (n, m) are what people chose and what a
    model gives, rows that add up to one.
    """

    question_id: str
    category: str
    documents: np.ndarray
    shares: np.ndarray
    given: np.ndarray


Metric = Callable[[Answered, float], np.ndarray]


# Metrics: of a question and the smoothing of its target, float64 (n,), a value a document.


def cross_entropy(found: Answered, alpha: float) -> np.ndarray:
    """Return `binary_cross_entropy` against the smoothed shares."""
    return binary_cross_entropy(smoothed(found.shares, alpha), found.given)


def excess(found: Answered, alpha: float) -> np.ndarray:
    """Return how far `cross_entropy` lies above its least value, that of the smoothed shares themselves."""
    target = smoothed(found.shares, alpha)
    return cross_entropy(found, alpha) - binary_cross_entropy(target, target)


def unsmoothed(found: Answered, alpha: float) -> np.ndarray:
    """Return `binary_cross_entropy` against the shares as they are."""
    return binary_cross_entropy(found.shares, found.given)


def log_loss(found: Answered, alpha: float) -> np.ndarray:
    """Return the cross entropy of the whole distribution against the shares, in nats."""
    return -(found.shares * np.log(np.clip(found.given, EPSILON, 1))).sum(axis=1)


def accuracy(found: Answered, alpha: float) -> np.ndarray:
    """Return 1 where the likeliest option is one that most people chose, else 0.

    Of several likeliest ones it is the share that is: a model that tells none apart gains nothing by order.
    """
    likeliest = found.given == found.given.max(axis=1, keepdims=True)
    chosen = found.shares == found.shares.max(axis=1, keepdims=True)
    return (likeliest & chosen).sum(axis=1) / likeliest.sum(axis=1)


METRICS: dict[str, Metric] = {
    "cross entropy": cross_entropy,
    "excess": excess,
    "cross entropy, unsmoothed": unsmoothed,
    "log loss": log_loss,
    "accuracy": accuracy,
}
LARGEST = {"accuracy": 1.0}  # the least of all is 0; the others have no bound but by `EPSILON`


def scores(questions: Sequence[Answered], alpha: float) -> list[Row]:
    """Score the answers of one run; rows as `run.SCORES`, sorted by its key.

    Groups are ``all``, each ``category: <c>`` and each ``question: <q>``; n counts the pairs.  Of each
    ``<metric>, low`` and ``<metric>, high`` are a 95 % jackknife interval over documents, of which n counts
    how many there are; where one document says nothing of the spread there is none.
    """
    return scores_and_units(questions, alpha)[0]


def scores_and_units(questions: Sequence[Answered], alpha: float) -> tuple[list[Row], list[Row]]:
    """Return `scores`, and what each document adds to them for ``all`` and each ``category``.

    The second are rows of `units.UNITS`, sorted by its key.
    """
    rows, units = [], []
    for name, metric in METRICS.items():
        values = [metric(question, alpha) for question in questions]
        for group, those in groups(questions).items():
            found = np.concatenate([values[at] for at in those])
            names, without = _left_out(found, np.concatenate([questions[at].documents for at in those]))
            value = float(found.mean())
            rows += _rows(name, group, value, len(found), without)
            if len(names) > 1 and not group.startswith("question: "):
                units += unit_rows(name, group, names, pseudo_values(value, without))
    return by_key(rows), by_key(units)


def groups(questions: Sequence[Answered]) -> Mapping[str, list[int]]:
    """Return {group: the places of its questions}."""
    found: dict[str, list[int]] = {"all": [*range(len(questions))]}
    for at, question in enumerate(questions):
        found.setdefault(f"category: {question.category}", []).append(at)
        found[f"question: {question.question_id}"] = [at]
    return found


def _left_out(values: np.ndarray, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different documents, and the mean of the values without each of them (NaN: of nothing)."""
    names, of_document = np.unique(documents, return_inverse=True)
    without = values.sum() - np.bincount(of_document, weights=values)
    left = len(values) - np.bincount(of_document)
    return names, np.divide(without, left, out=np.full(len(names), np.nan), where=left > 0)


def _rows(name: str, group: str, value: float, pairs: int, without: np.ndarray) -> Iterator[Row]:
    yield {"metric": name, "group": group, "value": value, "n": pairs}
    ends = jackknife_interval(value, without, (0.0, LARGEST.get(name, np.inf)))
    for end, bound in zip(("low", "high"), ends or (), strict=False):
        yield {"metric": f"{name}, {end}", "group": group, "value": bound, "n": len(without)}
