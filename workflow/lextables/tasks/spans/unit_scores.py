"""How likely each unit of a contract answers each category: a linear model over its words.

What a unit says is told by its own words and pairs of words, by the words of the few units before and after,
which grow fainter the farther they are, and by where it stands and how long it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.preprocessing import normalize

from lextables.models.linear import Linear, Vocabulary, fit_many, vocabulary
from lextables.tasks.spans.units import Span, units

# How much the words of a unit count that stands so many units before or after, and each side together.
BEFORE, AFTER = (1.0, 0.7, 0.5, 0.3), (1.0, 0.7, 0.5)
BEFORE_WEIGHT, AFTER_WEIGHT, PLACE_WEIGHT = 0.5, 0.4, 0.3
# Logarithmic steps of a unit's first character and of its length, and tenths of the contract.
STARTS, LENGTHS, TENTHS = 30, 20, 10
LEAST, LEAST_BESIDE = 3, 5  # units that a word stands in to count in the unit itself, and beside it


@dataclass(frozen=True)
class Units:
    """The units of some contracts: `contract`, `start` and `end`, int64 (units,), by contract and place.

    ``bounds`` int64 (contracts + 1,) says where each contract's units begin.
    """

    texts: tuple[str, ...]
    contract: np.ndarray
    start: np.ndarray
    end: np.ndarray
    bounds: np.ndarray

    def of(self, contract: int) -> slice:
        """The units of a contract."""
        return slice(int(self.bounds[contract]), int(self.bounds[contract + 1]))

    def words(self) -> list[str]:
        """The text of each unit."""
        places = zip(self.contract.tolist(), self.start.tolist(), self.end.tolist(), strict=True)
        return [self.texts[contract][start:end] for contract, start, end in places]


def units_of(texts: Sequence[str]) -> Units:
    """Return the units of contracts; one without a word has none."""
    each = [units(text) for text in texts]
    sizes = np.array([len(spans) for spans in each], dtype=np.int64)
    spans = np.array(list(chain.from_iterable(each)), dtype=np.int64).reshape(-1, 2)
    contract = np.repeat(np.arange(len(texts)), sizes)
    return Units(tuple(texts), contract, spans[:, 0], spans[:, 1], np.concatenate([[0], np.cumsum(sizes)]))


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


@dataclass(frozen=True)
class UnitModel:
    """What tells the units of each category: words of a unit and of those beside it, and their weights."""

    words: Vocabulary
    beside: Vocabulary
    linear: Linear

    def logits(self, found: Units) -> np.ndarray:
        """Return the logit of each unit for each category, float32 (units, categories)."""
        return self.linear.logits(features(found, self.words, self.beside))


def vocabularies(found: Units) -> tuple[Vocabulary, Vocabulary]:
    """Return the words and pairs of words that count in a unit, and the words that count beside it."""
    texts = found.words()
    return vocabulary(texts, longest=2, least=LEAST), vocabulary(texts, longest=1, least=LEAST_BESIDE)


def features(found: Units, words: Vocabulary, beside: Vocabulary) -> csr_matrix:
    """Return what the model knows of each unit, float32 (units, features)."""
    texts = found.words()
    near = beside.weigh(texts)
    before = normalize(sum(weight * _moved(near, found, by) for by, weight in enumerate(BEFORE, 1)))
    after = normalize(sum(weight * _moved(near, found, -by) for by, weight in enumerate(AFTER, 1)))
    parts = [words.weigh(texts), BEFORE_WEIGHT * before, AFTER_WEIGHT * after, PLACE_WEIGHT * _place(found)]
    return csr_matrix(hstack(parts, dtype=np.float32))


def _moved(words: csr_matrix, found: Units, by: int) -> csr_matrix:
    """The words of the unit ``by`` places before each one, none beyond the contract's ends."""
    rows = np.arange(len(found.contract))
    from_ = rows - by
    there = (from_ >= 0) & (from_ < len(rows))
    there[there] &= found.contract[from_[there]] == found.contract[rows[there]]
    ones = np.ones(int(there.sum()), dtype=np.float32)
    return csr_matrix((ones, (rows[there], from_[there])), shape=(len(rows), len(rows))) @ words


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
    known: csr_matrix, held: np.ndarray, rows: np.ndarray, *, alpha: float, epochs: int, threads: int
) -> Linear:
    """Return the weights that tell units apart, learnt from ``rows`` of `features` and `answering`."""
    return fit_many(known[rows], held[rows], alpha=alpha, epochs=epochs, threads=threads)
