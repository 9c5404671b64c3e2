"""How likely each unit of a contract answers each category: linear models over words, vectors or both.

What a unit says is told by its own words and pairs of words, by the words of the few units before and after,
which grow fainter the farther they are, and by where it stands and how long it is; or by the vectors that a
sentence encoder makes of it and of those, in the same way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.preprocessing import normalize

from lextables.models.linear import Linear, Vocabulary, fit_dense, fit_many, vocabulary
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.units import Span, Units

# How much the words of a unit count that stands so many units before or after, and each side together.
BEFORE, AFTER = (1.0, 0.7, 0.5, 0.3), (1.0, 0.7, 0.5)
BEFORE_WEIGHT, AFTER_WEIGHT, PLACE_WEIGHT = 0.5, 0.4, 0.3
# Logarithmic steps of a unit's first character and of its length, and tenths of the contract.
STARTS, LENGTHS, TENTHS = 30, 20, 10
LEAST, LEAST_BESIDE = 3, 5  # units that a word stands in to count in the unit itself, and beside it


def answering(found: Units, answers: Mapping[int, Sequence[tuple[int, Span]]], categories: int) -> np.ndarray:
    """Return which units answer which category, bool (units, categories).

    ``answers`` maps a contract to the category and the place of each answer.  A unit answers where the two
    share half of the shorter one.
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
    """What tells the units of each category: the words that count, if any do, and weights for each view.

    ``share`` is how much vectors count beside words.
    """

    vocabularies: Vocabularies | None
    linear: tuple[Linear, ...]
    share: float

    def logits(self, found: Units, vectors: np.ndarray | None = None) -> np.ndarray:
        """Return the logit of each unit for each category, float32 (units, categories).

        ``vectors`` (units, dimensions) are those of the units, where the model was learnt with such.
        """
        return logits(self.linear, views(found, self.vocabularies, vectors), self.share)


def vocabularies(found: Units) -> Vocabularies:
    """Return the words and pairs of words that count in a unit, and the words that count beside it."""
    texts = found.words()
    return vocabulary(texts, longest=2, least=LEAST), vocabulary(texts, longest=1, least=LEAST_BESIDE)


def views(found: Units, words: Vocabularies | None, vectors: np.ndarray | None) -> list[View]:
    """Return what is known of each unit, float32 (units, features): by words, then by vectors, as given.

    Raises `BadInput` where there are not as many ``vectors`` as units.
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
    """Return what is known of each unit by words, float32 (units, features)."""
    texts = found.words()
    parts = [words.weigh(texts), *_around(beside.weigh(texts), found), PLACE_WEIGHT * _place(found)]
    return csr_matrix(hstack(parts, dtype=np.float32))


def _around(near: View, found: Units) -> tuple[View, View]:
    """What stands before and after each unit, the fainter the farther, each of one length."""
    before = normalize(sum(weight * _moved(near, found, by) for by, weight in enumerate(BEFORE, 1)))
    after = normalize(sum(weight * _moved(near, found, -by) for by, weight in enumerate(AFTER, 1)))
    return BEFORE_WEIGHT * before, AFTER_WEIGHT * after


def _moved(near: View, found: Units, by: int) -> View:
    """What is known of the unit ``by`` places before each one, none beyond the contract's ends."""
    rows = np.arange(len(found.contract))
    from_ = rows - by
    there = (from_ >= 0) & (from_ < len(rows))
    there[there] &= found.contract[from_[there]] == found.contract[rows[there]]
    ones = np.ones(int(there.sum()), dtype=np.float32)
    return csr_matrix((ones, (rows[there], from_[there])), shape=(len(rows), len(rows))) @ near


def _place(found: Units) -> csr_matrix:
    """Where each unit starts, in which tenth of the contract it stands, and its length, one of each."""
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
    """Return the weights that tell units apart, learnt from ``rows`` of each of `views` and `answering`."""
    return tuple(
        fit_dense(view[rows], held[rows], penalty=dense)
        if isinstance(view, np.ndarray)
        else fit_many(view[rows], held[rows], alpha=alpha, epochs=epochs, threads=threads)
        for view in known
    )


def logits(models: Sequence[Linear], known: Sequence[View], share: float) -> np.ndarray:
    """Return the logit of each unit for each category, float32 (units, categories).

    Of two views it is the mean of the logits by each one's own model, in which the second has this ``share``.
    """
    found = [model.logits(view) for model, view in zip(models, known, strict=True)]
    weights = (1 - share, share) if len(found) > 1 else (1,)
    return sum(weight * each for weight, each in zip(weights, found, strict=True)).astype(np.float32)
