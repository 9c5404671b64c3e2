"""Scores of marked paragraphs: the paragraphs of a document that coders marked as evidence for an answer.

A model gives each paragraph a probability and marks the paragraphs at or above a threshold.  The threshold
for a document maximises F1 on the documents of the other folds.  A separate score, `BEST`, uses the threshold
that maximises F1 on the scored paragraphs themselves, as a paper may have done.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.metrics.answers import groups
from lextables.metrics.classification import by_key, nanmean, weighted_precisions
from lextables.metrics.intervals import (
    interval_rows,
    jackknife_interval,
    pseudo_values,
    unit_rows,
)
from lextables.metrics.ratio import ratio
from lextables.pipeline.dataset import Row

BEST = "F1, best threshold"
AREA = "average precision"
NOTHING = math.inf  # a threshold that marks no paragraph


@dataclass(frozen=True)
class Marked:
    """A question and the n paragraphs of all documents for which it was answered.

    ``documents`` int (n,): index of each paragraph's document.  ``right`` bool (n,): whether a coder marked
    anything in it.  ``probabilities`` float (n,): the model's probability of that.
    """

    question_id: str
    category: str
    documents: np.ndarray
    right: np.ndarray
    probabilities: np.ndarray


# Metrics take counts (4, ...) as from `counted` and return float64 (...).

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
    """Return the harmonic mean of precision and recall; NaN where no paragraph is right."""
    hits, wrong, missed, _ = counts
    return np.where(
        hits + missed > 0, ratio(2 * hits, 2 * hits + wrong + missed, 0.0), math.nan
    )


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "precision": precision,
    "recall": recall,
    "F1": f1,
}


def counted(question: Marked, chosen: np.ndarray, documents: int) -> np.ndarray:
    """Return true positives, false positives, false negatives and true negatives, int64 (4, documents).

    ``chosen`` bool (n,): the paragraphs that the model marks.
    """
    right = question.right
    outcomes = (right & chosen, ~right & chosen, right & ~chosen, ~right & ~chosen)
    return np.stack(
        [
            np.bincount(question.documents[mask], minlength=documents)
            for mask in outcomes
        ]
    )


# Thresholds.


def threshold(right: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the threshold with the highest F1, of equals the highest threshold.

    Paragraphs of probability 0 are never marked.  `NOTHING` where all right paragraphs have probability 0.
    """
    order = np.argsort(-probabilities, kind="stable")
    scores, hits = probabilities[order], np.cumsum(right[order])
    f1_scores = 2 * hits / (np.arange(1, len(hits) + 1) + max(int(right.sum()), 1))
    # Paragraphs of equal probability are marked together.
    ends = np.flatnonzero(
        np.append(np.diff(scores) != 0, True)[: len(scores)] & (scores > 0)
    )
    return (
        float(scores[ends[f1_scores[ends].argmax()]])
        if f1_scores[ends].any()
        else NOTHING
    )


def marked(question: Marked, folds: np.ndarray) -> np.ndarray:
    """Return which paragraphs a model marks, bool (n,), each fold by the `threshold` of the other folds.

    ``folds`` (documents,): the fold of each document.
    """
    of_paragraph = folds[question.documents]
    chosen = np.zeros(len(question.probabilities), dtype=bool)
    for fold in np.unique(of_paragraph):
        inside = of_paragraph == fold
        chosen[inside] = question.probabilities[inside] >= threshold(
            question.right[~inside], question.probabilities[~inside]
        )
    return chosen


# Scores per question, and means over questions.


def scores_and_units(
    questions: Sequence[Marked], folds: np.ndarray, documents: Sequence[str]
) -> tuple[list[Row], list[Row]]:
    """Score the marks of one run; rows as `run.SCORES`, sorted by its key.

    Groups are each ``question: <q>`` (n: paragraphs); ``all`` and each ``category: <c>``, means over the
    questions with a value (n: questions); and ``pooled``, over the paragraphs of all questions.  Metrics are
    `METRICS`, `BEST` and `AREA`.  ``<metric>, low`` and ``<metric>, high`` are 95 % jackknife intervals over
    documents.

    The second list are the contributions of each of ``documents`` (ids, by index): rows of `units.UNITS`,
    sorted by its key, for all groups except questions.
    """
    names = np.asarray(documents)
    by_folds = np.stack(
        [
            counted(question, marked(question, folds), len(folds))
            for question in questions
        ],
        axis=-1,
    )
    at_best = [
        question.probabilities >= threshold(question.right, question.probabilities)
        for question in questions
    ]
    best = [
        counted(question, chosen, len(folds))
        for question, chosen in zip(questions, at_best, strict=True)
    ]
    rows = [
        row
        for name, metric in METRICS.items()
        for row in _scored(name, metric, by_folds, questions, names)
    ]
    rows += _scored(BEST, f1, np.stack(best, axis=-1), questions, names)
    rows += _averaged(
        AREA,
        np.array([average_precision(question) for question in questions]),
        questions,
    )
    return by_key(row for row in rows if "unit" not in row), by_key(
        row for row in rows if "unit" in row
    )


def average_precision(question: Marked) -> float:
    """Return the area under the stepwise precision-recall curve; NaN where no paragraph is right."""
    if not question.right.any():
        return math.nan
    return float(
        weighted_precisions(
            question.right, question.probabilities, np.ones((1, len(question.right)))
        )[0]
    )


def _scored(
    name: str,
    metric: Metric,
    counts: np.ndarray,
    questions: Sequence[Marked],
    names: np.ndarray,
) -> Iterator[Row]:
    """Yield the rows of a metric, from ``counts`` (4, documents, questions), and those of its units."""
    answered = counts.any(axis=(0, 2))
    counts, names = counts[:, answered], names[answered]
    total = counts.sum(axis=1)
    without = total[:, None] - counts
    yield from _averaged(name, metric(total), questions, metric(without), names)
    pooled = float(metric(total.sum(axis=1)))
    yield from _rows(
        name, "pooled", pooled, int(total.sum()), metric(without.sum(axis=2)), names
    )


def _averaged(
    name: str,
    values: np.ndarray,
    questions: Sequence[Marked],
    without: np.ndarray | None = None,
    names: Sequence[str] = (),
) -> Iterator[Row]:
    """Yield the rows of questions and means; ``without`` (documents, questions): leave-one-out values."""
    for group, members in groups(questions).items():
        single = group.startswith("question: ")
        n = (
            len(questions[members[0]].right)
            if single
            else int((~np.isnan(values[members])).sum())
        )
        left_out = None if without is None else nanmean(without[:, members], axis=1)
        yield from _rows(
            name,
            group,
            float(nanmean(values[members])),
            n,
            left_out,
            () if single else names,
        )


def _rows(
    name: str,
    group: str,
    value: float,
    n: int,
    left_out: np.ndarray | None,
    names: Sequence[str],
) -> Iterator[Row]:
    """Yield the rows of a score, its interval, and the contributions of the units ``names``."""
    yield {"metric": name, "group": group, "value": value, "n": n}
    if left_out is None or math.isnan(value):
        return
    yield from interval_rows(
        name, group, jackknife_interval(value, left_out, (0, 1)), len(left_out)
    )
    if len(names):
        yield from unit_rows(name, group, names, pseudo_values(value, left_out))
