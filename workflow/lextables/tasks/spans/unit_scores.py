"""Scores of text units: linear models of whether a unit of a contract answers a category.

Features of a unit are its words and word pairs, the words of neighbouring units (weighted down with
distance), its position and its length; or the sentence vectors of the unit and its neighbours; or both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.preprocessing import normalize

from lextables.models.linear import Linear, Vocabulary, fit_dense, fit_many, vocabulary
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.units import Span, Units

# Weights of the units 1, 2, ... places before and after, and of each group of features.
BEFORE, AFTER = (1.0, 0.7, 0.5, 0.3), (1.0, 0.7, 0.5)
BEFORE_WEIGHT, AFTER_WEIGHT, PLACE_WEIGHT = 0.5, 0.4, 0.3
# Number of bins: first character (log), length (log), and position in the contract.
STARTS, LENGTHS, TENTHS = 30, 20, 10
LEAST, LEAST_BESIDE = 3, 5  # minimum number of units with a word, for words of the unit and of its neighbours


def answering(found: Units, answers: Mapping[int, Sequence[tuple[int, Span]]], categories: int) -> np.ndarray:
    """Return which units answer which category, bool (units, categories).

    ``answers`` maps a contract to the category and position of each answer.  A unit answers if it and the
    answer share at least half of the shorter one.
    """
    held = np.zeros((len(found.start), categories), dtype=bool)
    for contract, spans in answers.items():
        own = found.of(contract)
        start, end = found.start[own], found.end[own]
        for category, (first, last) in spans:
            shared = np.minimum(end, last) - np.maximum(start, first)
            held[own, category] |= (shared > 0) & (2 * shared >= np.minimum(end - start, last - first))
    return held


View = csr_matrix | np.ndarray
Vocabularies = tuple[Vocabulary, Vocabulary]


@dataclass(frozen=True)
class UnitModel:
    """Vocabularies (if words are used), weights for each view, and the ``share`` of vectors."""

    vocabularies: Vocabularies | None
    linear: tuple[Linear, ...]
    share: float

    def logits(self, found: Units, vectors: np.ndarray | None = None) -> np.ndarray:
        """Return the logit of each unit for each category, float32 (units, categories).

        ``vectors`` (units, dimensions) are needed if the model was trained with them.
        """
        return logits(self.linear, views(found, self.vocabularies, vectors), self.share)


def vocabularies(found: Units) -> Vocabularies:
    """Return the vocabulary of units (words and word pairs) and that of neighbouring units (words)."""
    texts = found.words()
    return vocabulary(texts, longest=2, least=LEAST), vocabulary(texts, longest=1, least=LEAST_BESIDE)


def views(found: Units, words: Vocabularies | None, vectors: np.ndarray | None) -> list[View]:
    """Return the feature matrices of the units, float32 (units, features) each: words, then vectors.

    Raises `BadInput` if the numbers of ``vectors`` and units differ.
    """
    known: list[View] = []
    if words is not None:
        known.append(features(found, *words))
    if vectors is not None:
        if len(vectors) != len(found.start):
            fault = f"{len(vectors)} vectors for {len(found.start)} units"
            raise BadInput(fault, where="vectors of units", do="make them anew")
        place = PLACE_WEIGHT * _place(found).toarray()
        known.append(np.hstack([vectors, *_around(vectors, found), place], dtype=np.float32))
    return known


def features(found: Units, words: Vocabulary, beside: Vocabulary) -> csr_matrix:
    """Return the word features of each unit, float32 (units, features)."""
    texts = found.words()
    parts = [words.weigh(texts), *_around(beside.weigh(texts), found), PLACE_WEIGHT * _place(found)]
    return csr_matrix(hstack(parts, dtype=np.float32))


def _around(near: View, found: Units) -> tuple[View, View]:
    """Return the weighted sums of the units before and after each unit, L2-normalised."""
    before = normalize(sum(weight * _moved(near, found, by) for by, weight in enumerate(BEFORE, 1)))
    after = normalize(sum(weight * _moved(near, found, -by) for by, weight in enumerate(AFTER, 1)))
    return BEFORE_WEIGHT * before, AFTER_WEIGHT * after


def _moved(near: View, found: Units, by: int) -> View:
    """Return the row of the unit ``by`` places before each one, zeros beyond the contract's ends."""
    rows = np.arange(len(found.contract))
    from_ = rows - by
    there = (from_ >= 0) & (from_ < len(rows))
    there[there] &= found.contract[from_[there]] == found.contract[rows[there]]
    ones = np.ones(int(there.sum()), dtype=np.float32)
    return csr_matrix((ones, (rows[there], from_[there])), shape=(len(rows), len(rows))) @ near


def _place(found: Units) -> csr_matrix:
    """Return one-hot bins of each unit's start, tenth of the contract, and length."""
    number = np.arange(len(found.contract)) - found.bounds[found.contract]
    count = np.diff(found.bounds)[found.contract]
    steps = (
        (np.log1p(found.start) * 2, STARTS),
        (TENTHS * number / np.maximum(count, 1), TENTHS - 1),
        (np.log1p(found.end - found.start) * 2, LENGTHS),
    )
    rows, ones = np.arange(len(number)), np.ones(len(number), dtype=np.float32)
    return csr_matrix(
        hstack(
            [
                csr_matrix(
                    (ones, (rows, np.minimum(step, last).astype(np.int64))), shape=(len(rows), last + 1)
                )
                for step, last in steps
            ]
        )
    )


def fit(
    known: Sequence[View], held: np.ndarray, rows: np.ndarray,
    *, alpha: float, epochs: int, dense: float, threads: int,
) -> tuple[Linear, ...]:  # fmt: skip
    """Train a model on ``rows`` of each matrix of `views`, with the targets of `answering`."""
    return tuple(
        fit_dense(view[rows], held[rows], penalty=dense)
        if isinstance(view, np.ndarray)
        else fit_many(view[rows], held[rows], alpha=alpha, epochs=epochs, threads=threads)
        for view in known
    )


def logits(models: Sequence[Linear], known: Sequence[View], share: float) -> np.ndarray:
    """Return the logit of each unit for each category, float32 (units, categories).

    With two views it is a weighted mean, in which the second has the weight ``share``.
    """
    found = [model.logits(view) for model, view in zip(models, known, strict=True)]
    weights = (1 - share, share) if len(found) > 1 else (1,)
    return sum(weight * each for weight, each in zip(weights, found, strict=True)).astype(np.float32)
