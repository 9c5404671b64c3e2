"""What may answer a question: the units likeliest to, a few adjacent ones together, and parts of them.

A candidate is known by the logits of its units and of those around it (`unit_scores`), by its length and
place, and where it is a part of a unit by the words in it and on either side.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import FeatureHasher

from lextables.tasks.spans.parts import dates, names, titles
from lextables.tasks.spans.units import Units

PARTS = {"date": dates, "title": titles, "name": names}  # the plainest first
LONGEST_RUN = 3  # units
OUTSIDE = -12.0  # the logit of a unit beyond the contract's ends
RANKS = (1, 2, 4)
HINGES = (-2.0, 0.0, 2.0)
TOKENS = 1 << 14  # columns that the words in and around a part are hashed to
WORDS_WEIGHT = 2.0
BESIDE = 4  # words on either side of a part, in so many characters
BESIDE_CHARACTERS = 60
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Candidates:
    """The candidates of one category in some contracts, int64 (candidates,), by contract.

    ``first`` and ``last`` are the units that one is of, ``start`` and ``end`` its characters, and ``part``
    says that it is less than a unit (bool).
    """

    contract: np.ndarray
    first: np.ndarray
    last: np.ndarray
    start: np.ndarray
    end: np.ndarray
    part: np.ndarray

    def texts(self, found: Units) -> list[str]:
        """The text of each candidate."""
        places = zip(self.contract.tolist(), self.start.tolist(), self.end.tolist(), strict=True)
        return [found.texts[contract][start:end] for contract, start, end in places]


def candidates(
    found: Units, logits: np.ndarray, likely: int, parts: Sequence[str], runs: bool = True
) -> Candidates:
    """Return the candidates of a category, whose ``logits`` (units,) are given.

    They are the ``likely`` likeliest units of each contract, if ``runs`` two and three adjacent ones of these
    together, and in these the ``parts``, names of `PARTS`.
    """
    rows: list[tuple[int, int, int, int, int, bool]] = []
    for contract in range(len(found.texts)):
        own = found.of(contract)
        best = own.start + np.argsort(-logits[own], kind="stable")[:likely]
        chosen = set(best.tolist())
        for unit in best.tolist():
            last = unit
            while last in chosen and last - unit < (LONGEST_RUN if runs else 1):
                rows.append((contract, unit, last, int(found.start[unit]), int(found.end[last]), False))
                last += 1
            rows += [(contract, unit, unit, *span, True) for span in _parts(found, contract, unit, parts)]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    return Candidates(*columns[:5], part=columns[5].astype(bool))


def _parts(found: Units, contract: int, unit: int, parts: Sequence[str]) -> Iterator[tuple[int, int]]:
    start, end = int(found.start[unit]), int(found.end[unit])
    text = found.texts[contract][start:end]
    for name in parts:
        for first, last in PARTS[name](text):
            if last - first < end - start:
                yield start + first, start + last


def described(given: Candidates, found: Units, logits: np.ndarray) -> np.ndarray:
    """Return what is known of each candidate from the ``logits`` (units,), float64 (candidates, features)."""
    return _dense(given, found, logits.astype(np.float64))


def words(given: Candidates, found: Units) -> csr_matrix:
    """Return the words in and around each candidate that is a part, float64 (candidates, `TOKENS`)."""
    hasher = FeatureHasher(TOKENS, input_type="string")
    return csr_matrix(WORDS_WEIGHT * hasher.transform(_tokens(given, found)))


def _dense(given: Candidates, found: Units, z: np.ndarray) -> np.ndarray:
    contract, first, last = given.contract, given.first, given.last
    of_run = z[np.minimum(first[:, None] + np.arange(LONGEST_RUN), last[:, None])]
    highest, lowest = of_run.max(axis=1), of_run.min(axis=1)
    padded = np.concatenate([[OUTSIDE], z, [OUTSIDE]])
    before = np.where(first > found.bounds[contract], padded[first], OUTSIDE)
    after = np.where(last + 1 < found.bounds[contract + 1], padded[last + 2], OUTSIDE)

    rank = np.zeros(len(z))
    best, second, together = (np.full(len(found.texts), OUTSIDE) for _ in range(3))
    for number in range(len(found.texts)):
        own = found.of(number)
        if own.start < own.stop:
            order = np.argsort(-z[own], kind="stable")
            rank[own.start + order] = np.arange(len(order))
            top = z[own][order[:2]]
            best[number], together[number] = top[0], np.logaddexp.reduce(z[own])
            second[number] = top[-1] if len(top) > 1 else OUTSIDE
    place = rank[np.minimum(first[:, None] + np.arange(LONGEST_RUN), last[:, None])].min(axis=1)
    rival = np.where(place == 0, second[contract], best[contract])

    length = np.log1p(given.end - given.start)
    characters = np.array([len(text) for text in found.texts])[contract]
    count = np.diff(found.bounds)[contract]
    run, whole = last > first, ~given.part & (first == last)
    return np.column_stack(
        [highest, lowest, of_run.mean(axis=1), before, after]
        + [best[contract] - highest, highest - rival, together[contract]]
        + [np.log1p(place), *(place < within for within in RANKS)]
        + [length, length**2 / 5, given.start / characters, np.log1p(given.start), np.log1p(count)]
        + [whole, given.part, *(last - first == more for more in range(1, LONGEST_RUN))]
        + [np.maximum(0, highest - hinge) for hinge in HINGES]
        + [run * lowest, whole * np.maximum(before, after)]
    ).astype(np.float64)


def _tokens(given: Candidates, found: Units) -> Iterator[list[str]]:
    """The words in a part and beside it, with where they stand; nothing of a candidate that is no part."""
    columns = (given.contract, given.first, given.start, given.end, given.part)
    for contract, unit, start, end, part in zip(*(column.tolist() for column in columns), strict=True):
        if not part:
            yield []
            continue
        text, first, last = found.texts[contract], int(found.start[unit]), int(found.end[unit])
        before = _TOKEN.findall(text[max(first, start - BESIDE_CHARACTERS) : start].lower())[-BESIDE:]
        inside = _TOKEN.findall(text[start:end])
        after = _TOKEN.findall(text[end : min(last, end + BESIDE_CHARACTERS)].lower())[:BESIDE]
        yield [
            *(f"{at} before: {word}" for at, word in enumerate(reversed(before))),
            *(f"before: {word}" for word in before),
            *(f"{at} after: {word}" for at, word in enumerate(after)),
            *(f"after: {word}" for word in after),
            *(f"in: {word.lower()}" for word in inside),
            f"begins: {inside[0].lower()}",
            "capitals" if text[start:end].isupper() else "no capitals",
            "at the start" if start == first else "inside",
            f"{min(len(inside), 9)} words",
        ]
