"""Scores of marked paragraphs: which of a document's people would point to as they answer a question.

A model gives each paragraph a number, and what it marks is what lies at a threshold or above it.  The
threshold for a document is the one that does best on the documents of other folds.  The one that does best on
the very paragraphs that are scored, which a paper may have taken, makes a score beside it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.metrics.answers import groups
from lextables.metrics.average_precision import weighted_precisions
from lextables.metrics.classification import by_key, nanmean
from lextables.metrics.intervals import jackknife_interval
from lextables.metrics.pseudo_values import pseudo_values, unit_rows
from lextables.pipeline.dataset import Row

BEST = "F1, best threshold"
AREA = "average precision"
NOTHING = math.inf  # the threshold that marks nothing


@dataclass(frozen=True)
class Marked:
    """A question and the n paragraphs of all documents that it was answered of.

    ``documents`` int (n,) is the place of each paragraph's document, ``right`` bool (n,) whether a person
    marked anything in it, ``given`` float (n,) how likely a model finds that.
    """

    question_id: str
    category: str
    documents: np.ndarray
    right: np.ndarray
    given: np.ndarray


# Metrics: of counts (4, ...), those of `counted`; float64 (...).

Metric = Callable[[np.ndarray], np.ndarray]


def accuracy(counts: np.ndarray) -> np.ndarray:
    """Return the share of paragraphs that are marked, or left, as people did."""
    hits, _, _, left = counts
    return _share(hits + left, counts.sum(axis=0), math.nan)


def precision(counts: np.ndarray) -> np.ndarray:
    """Return the share of what is marked that is right; 0 where nothing is marked."""
    hits, wrong, _, _ = counts
    return _share(hits, hits + wrong, 0.0)


def recall(counts: np.ndarray) -> np.ndarray:
    """Return the share of what is right that is marked; NaN where nothing is right."""
    hits, _, missed, _ = counts
    return _share(hits, hits + missed, math.nan)


def f1(counts: np.ndarray) -> np.ndarray:
    """Return the harmonic mean of precision and recall; NaN where nothing is right."""
    hits, wrong, missed, _ = counts
    return np.where(hits + missed > 0, _share(2 * hits, 2 * hits + wrong + missed, 0.0), math.nan)


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "precision": precision,
    "recall": recall,
    "F1": f1,
}


def _share(part: np.ndarray, whole: np.ndarray, otherwise: float) -> np.ndarray:
    return np.divide(part, whole, out=np.full(np.shape(whole), otherwise), where=whole > 0)


def counted(question: Marked, chosen: np.ndarray, documents: int) -> np.ndarray:
    """Return what is marked rightly and wrongly, missed, and rightly left, of each document.

    ``chosen`` bool (n,) are the paragraphs that a model marks; int64 (4, documents).
    """
    right = question.right
    kinds = (right & chosen, ~right & chosen, right & ~chosen, ~right & ~chosen)
    return np.stack([np.bincount(question.documents[kind], minlength=documents) for kind in kinds])


# Thresholds.


def threshold(right: np.ndarray, given: np.ndarray) -> float:
    """Return the number from which on to mark gives the highest F1, of equals the highest.

    What is given 0 is never marked.  `NOTHING` where nothing that is right is given more.
    """
    order = np.argsort(-given, kind="stable")
    scores, hits = given[order], np.cumsum(right[order])
    found = 2 * hits / (np.arange(1, len(hits) + 1) + max(int(right.sum()), 1))
    # What is given alike is marked together.
    ends = np.flatnonzero(np.append(np.diff(scores) != 0, True)[: len(scores)] & (scores > 0))
    return float(scores[ends[found[ends].argmax()]]) if found[ends].any() else NOTHING


def marked(question: Marked, folds: np.ndarray) -> np.ndarray:
    """Return which paragraphs a model marks, bool (n,): those of a fold by the `threshold` of the others.

    ``folds`` (documents,) has the fold of each document.
    """
    of_paragraph = folds[question.documents]
    found = np.zeros(len(question.given), dtype=bool)
    for fold in np.unique(of_paragraph):
        here = of_paragraph == fold
        found[here] = question.given[here] >= threshold(question.right[~here], question.given[~here])
    return found


# From questions to all.


def scores(questions: Sequence[Marked], folds: np.ndarray) -> list[Row]:
    """Score the marks of one run; rows as `run.SCORES`, sorted by its key.

    Groups are each ``question: <q>``, of which n counts the paragraphs; ``all`` and each ``category: <c>``,
    means over the questions that have a value, which n counts; and ``pooled``, over the paragraphs of all
    questions.  Beside `METRICS` there are `BEST` and `AREA`.  ``<metric>, low`` and ``<metric>, high`` are
    95 % jackknife intervals over documents.
    """
    return scores_and_units(questions, folds, np.arange(len(folds)))[0]


def scores_and_units(
    questions: Sequence[Marked], folds: np.ndarray, documents: Sequence[str]
) -> tuple[list[Row], list[Row]]:
    """Return `scores`, and what each of ``documents`` (their ids, by place) adds to them.

    The second are rows of `units.UNITS`, sorted by its key, of all groups but single questions.
    """
    names = np.asarray(documents)
    by_folds = np.stack(
        [counted(question, marked(question, folds), len(folds)) for question in questions], axis=-1
    )
    at_best = [question.given >= threshold(question.right, question.given) for question in questions]
    best = [
        counted(question, chosen, len(folds)) for question, chosen in zip(questions, at_best, strict=True)
    ]
    rows = [
        row for name, metric in METRICS.items() for row in _scored(name, metric, by_folds, questions, names)
    ]
    rows += _scored(BEST, f1, np.stack(best, axis=-1), questions, names)
    rows += _averaged(AREA, np.array([average_precision(question) for question in questions]), questions)
    return by_key(row for row in rows if "unit" not in row), by_key(row for row in rows if "unit" in row)


def average_precision(question: Marked) -> float:
    """Return the area under the stepwise precision-recall curve; NaN where nothing is right."""
    if not question.right.any():
        return math.nan
    return float(weighted_precisions(question.right, question.given, np.ones((1, len(question.right))))[0])


def _scored(
    name: str, metric: Metric, counts: np.ndarray, questions: Sequence[Marked], names: np.ndarray
) -> Iterator[Row]:
    """The rows of a metric, by ``counts`` (4, documents, questions), and those of its units."""
    here = counts.any(axis=(0, 2))
    counts, names = counts[:, here], names[here]
    total = counts.sum(axis=1)
    without = total[:, None] - counts
    yield from _averaged(name, metric(total), questions, metric(without), names)
    pooled = float(metric(total.sum(axis=1)))
    yield from _rows(name, "pooled", pooled, int(total.sum()), metric(without.sum(axis=2)), names)


def _averaged(
    name: str,
    values: np.ndarray,
    questions: Sequence[Marked],
    without: np.ndarray | None = None,
    names: Sequence[str] = (),
) -> Iterator[Row]:
    """The rows of questions and of means over them; ``without`` (documents, questions) has each left out."""
    for group, those in groups(questions).items():
        one = group.startswith("question: ")
        n = len(questions[those[0]].right) if one else int((~np.isnan(values[those])).sum())
        left_out = None if without is None else nanmean(without[:, those], axis=1)
        yield from _rows(name, group, float(nanmean(values[those])), n, left_out, () if one else names)


def _rows(
    name: str, group: str, value: float, n: int, left_out: np.ndarray | None, names: Sequence[str]
) -> Iterator[Row]:
    """The rows of a score, of its interval, and of what each of ``names``, where given, adds to it."""
    yield {"metric": name, "group": group, "value": value, "n": n}
    if left_out is None or math.isnan(value):
        return
    for end, bound in zip(("low", "high"), jackknife_interval(value, left_out, (0, 1)) or (), strict=False):
        yield {"metric": f"{name}, {end}", "group": group, "value": bound, "n": len(left_out)}
    if len(names):
        yield from unit_rows(name, group, names, pseudo_values(value, left_out))
