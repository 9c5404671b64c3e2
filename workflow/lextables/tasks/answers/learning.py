"""Answers by a linear model of what a question finds in a document, learnt on the documents of other folds.

Of each question a multinomial logistic regression, whose examples are the documents that people answered it
of and whose labels are the shares of the options.  A document whose text is not here has the mean of the
others' features: it tells how often an option is chosen and no more, as the whole of a text does under a
strong penalty, so that with little to learn from the model falls back on the other documents' answers.

How strong the penalty is, is chosen for each fold on the folds beside it: those documents are predicted by
models that have seen neither them nor the fold.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from lextables.metrics.soft_labels import binary_cross_entropy, smoothed
from lextables.models.linear import Linear, fit_shares
from lextables.tasks.answers.collection import Shares
from lextables.tasks.answers.folds import fold
from lextables.tasks.answers.space import Space

Answers = dict[tuple[str, str], np.ndarray]
Losses = dict[tuple[int, float], list[np.ndarray]]  # {(fold, penalty): losses of the pairs of other folds}
_NOTHING = 1e-9  # a direction in which documents differ by less than this share of the largest difference


@dataclass(frozen=True)
class Asked:
    """A question of m options and the n documents that it was answered of.

    ``read`` bool (n,) are those with a text, ``known`` float64 (n, columns) is 0 for the others; ``target``
    (n, m) are smoothed shares; ``folds`` int (n,).
    """

    question_id: str
    documents: tuple[str, ...]
    known: np.ndarray
    read: np.ndarray
    target: np.ndarray
    folds: np.ndarray


def asked(space: Space, shares: Shares, settings: Mapping[str, Any]) -> list[Asked]:
    """Return the questions that were answered of a document with a text."""
    found = []
    for number, question in enumerate(space.names):
        of_question = shares[question]
        rows = [space.place.get(document, -1) for document in of_question]
        read = np.array(rows, dtype=np.int64) >= 0
        if not read.any():
            continue
        described = rotated(space.described(number, settings["best"]))
        known = np.zeros((len(rows), described.shape[1]))
        known[read] = described[[row for row in rows if row >= 0]]
        found.append(
            Asked(
                question,
                tuple(of_question),
                known,
                read,
                smoothed(np.stack([*of_question.values()]), settings["smoothing"]),
                np.array([fold(document, settings["folds"]) for document in of_question]),
            )
        )
    return found


def rotated(rows: np.ndarray) -> np.ndarray:
    """Return rows about their mean on the axes along which they differ, float64 (rows, at most rows).

    Distances stay as they are, so a penalised model learns the same of fewer columns.
    """
    about = rows - rows.mean(axis=0)
    values, axes = np.linalg.eigh(about @ about.T)
    kept = values > _NOTHING * max(values.max(initial=0), _NOTHING)
    return axes[:, kept] * np.sqrt(values[kept])


def answers(
    space: Space, shares: Shares, settings: Mapping[str, Any], threads: int = 1
) -> tuple[Answers, dict[int, float]]:
    """Return what is predicted of each pair whose document has a text, and {fold: the penalty chosen}.

    ``settings``: how many paragraphs describe a document (``best``, as `Space.described` has them),
    ``penalties`` to choose from (the smaller the stronger), ``pseudo``, ``smoothing`` and ``folds``.  Alike
    whatever the ``threads``.
    """
    questions = asked(space, shares, settings)
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        each = list(pool.map(lambda question: _tried(question, settings), questions))
        chosen = _chosen(each, settings)
        found = pool.map(lambda question: _answered(question, chosen, settings), questions)
        return {pair: one for of_question in found for pair, one in of_question.items()}, chosen


def _tried(question: Asked, settings: Mapping[str, Any]) -> Losses:
    """What each penalty loses on the documents beside a fold.

    A model that has seen neither of two folds serves both: each is beside the other.
    """
    found: Losses = {}
    for pair in combinations(np.unique(question.folds[question.read]).tolist(), 2):
        for penalty in settings["penalties"]:
            model = _learnt(question, ~np.isin(question.folds, pair), penalty, settings)
            for fold_, beside in (pair, pair[::-1]):
                rows = question.read & (question.folds == beside)
                losses = binary_cross_entropy(question.target[rows], _given(model, question.known[rows]))
                found.setdefault((fold_, penalty), []).append(losses)
    return found


def _chosen(each: Sequence[Losses], settings: Mapping[str, Any]) -> dict[int, float]:
    """The penalty of each fold: what loses least over all questions together, of equals the strongest."""
    penalties = sorted(settings["penalties"])
    chosen = {}
    for fold_ in range(settings["folds"]):
        losses = {
            penalty: [loss for found in each for loss in found.get((fold_, penalty), ())]
            for penalty in penalties
        }
        means = {penalty: np.concatenate(found).mean() for penalty, found in losses.items() if found}
        chosen[fold_] = min(means, key=means.get, default=penalties[0])
    return chosen


def _answered(question: Asked, chosen: Mapping[int, float], settings: Mapping[str, Any]) -> Answers:
    found: Answers = {}
    for fold_ in np.unique(question.folds[question.read]).tolist():
        model = _learnt(question, question.folds != fold_, chosen[fold_], settings)
        rows = np.flatnonzero(question.read & (question.folds == fold_))
        for row, given in zip(rows, _given(model, question.known[rows]), strict=True):
            found[question.documents[row], question.question_id] = given
    return found


def _learnt(question: Asked, rows: np.ndarray, penalty: float, settings: Mapping[str, Any]) -> Linear:
    return fit_shares(question.known[rows], question.target[rows], penalty=penalty, pseudo=settings["pseudo"])


def _given(model: Linear, known: np.ndarray) -> np.ndarray:
    logits = model.logits(known)
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)
