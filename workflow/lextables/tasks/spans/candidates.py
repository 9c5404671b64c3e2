"""Candidate answers: the highest-scored units of a contract, runs of adjacent ones, and parts of units.

The features of a candidate are the logits of its units and their neighbours (`unit_scores`), its length and
position and, for a part of a unit, the words in it and beside it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction import FeatureHasher

from lextables.tasks.spans.parts import dates, names, titles
from lextables.tasks.spans.units import Units

PARTS = {"date": dates, "title": titles, "name": names}  # in order of precedence
LONGEST_RUN = 3  # units
OUTSIDE = -12.0  # the logit of a unit beyond the contract's ends
RANKS = (1, 2, 4)
HINGES = (-2.0, 0.0, 2.0)
TOKENS = 1 << 14  # hash buckets for the words in and beside a part
WORDS_WEIGHT = 2.0
BESIDE = 4  # words on each side of a part, within BESIDE_CHARACTERS
BESIDE_CHARACTERS = 60
_TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Candidates:
    """The candidates of one category in some contracts, int64 (candidates,), by contract.

    ``first`` and ``last`` are its units, ``start`` and ``end`` its characters; ``part`` (bool) is true if it
    is less than a unit.
    """

    contract: np.ndarray
    first: np.ndarray
    last: np.ndarray
    start: np.ndarray
    end: np.ndarray
    part: np.ndarray

    def texts(self, units: Units) -> list[str]:
        """The text of each candidate."""
        places = zip(self.contract.tolist(), self.start.tolist(), self.end.tolist(), strict=True)
        return [units.texts[contract][start:end] for contract, start, end in places]


def candidates(
    units: Units, logits: np.ndarray, likely: int, parts: Sequence[str], runs: bool = True
) -> Candidates:
    """Return the candidates of a category with these ``logits`` (units,).

    These are the ``likely`` highest-scored units of each contract; if ``runs``, also runs of two and three of
    them that are adjacent; and the ``parts`` of these units (names of `PARTS`).
    """
    rows: list[tuple[int, int, int, int, int, bool]] = []
    for contract in range(len(units.texts)):
        own = units.of(contract)
        best = own.start + np.argsort(-logits[own], kind="stable")[:likely]
        chosen = set(best.tolist())
        for unit in best.tolist():
            last = unit
            while last in chosen and last - unit < (LONGEST_RUN if runs else 1):
                rows.append((contract, unit, last, int(units.start[unit]), int(units.end[last]), False))
                last += 1
            rows += [(contract, unit, unit, *span, True) for span in _parts(units, contract, unit, parts)]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    return Candidates(*columns[:5], part=columns[5].astype(bool))


def _parts(units: Units, contract: int, unit: int, parts: Sequence[str]) -> Iterator[tuple[int, int]]:
    start, end = int(units.start[unit]), int(units.end[unit])
    text = units.texts[contract][start:end]
    for name in parts:
        for first, last in PARTS[name](text):
            if last - first < end - start:
                yield start + first, start + last


def candidate_features(given: Candidates, units: Units, logits: np.ndarray) -> np.ndarray:
    """Return the features of each candidate, float64 (candidates, features), from the ``logits`` (units,)."""
    z = logits.astype(np.float64)
    contract, first, last = given.contract, given.first, given.last
    of_run = z[np.minimum(first[:, None] + np.arange(LONGEST_RUN), last[:, None])]
    highest, lowest = of_run.max(axis=1), of_run.min(axis=1)
    padded = np.concatenate([[OUTSIDE], z, [OUTSIDE]])
    before = np.where(first > units.bounds[contract], padded[first], OUTSIDE)
    after = np.where(last + 1 < units.bounds[contract + 1], padded[last + 2], OUTSIDE)

    rank = np.zeros(len(z))
    best, second, together = (np.full(len(units.texts), OUTSIDE) for _ in range(3))
    for number in range(len(units.texts)):
        own = units.of(number)
        if own.start < own.stop:
            order = np.argsort(-z[own], kind="stable")
            rank[own.start + order] = np.arange(len(order))
            top = z[own][order[:2]]
            best[number], together[number] = top[0], np.logaddexp.reduce(z[own])
            second[number] = top[-1] if len(top) > 1 else OUTSIDE
    place = rank[np.minimum(first[:, None] + np.arange(LONGEST_RUN), last[:, None])].min(axis=1)
    best_other = np.where(place == 0, second[contract], best[contract])

    length = np.log1p(given.end - given.start)
    characters = np.array([len(text) for text in units.texts])[contract]
    count = np.diff(units.bounds)[contract]
    run, whole = last > first, ~given.part & (first == last)
    return np.column_stack(
        [highest, lowest, of_run.mean(axis=1), before, after]
        + [best[contract] - highest, highest - best_other, together[contract]]
        + [np.log1p(place), *(place < within for within in RANKS)]
        + [length, length**2 / 5, given.start / characters, np.log1p(given.start), np.log1p(count)]
        + [whole, given.part, *(last - first == more for more in range(1, LONGEST_RUN))]
        + [np.maximum(0, highest - hinge) for hinge in HINGES]
        + [run * lowest, whole * np.maximum(before, after)]
    ).astype(np.float64)


def part_words(given: Candidates, units: Units) -> csr_matrix:
    """Return hashed counts of the words in and beside each part, float64 (candidates, `TOKENS`)."""
    hasher = FeatureHasher(TOKENS, input_type="string")
    return csr_matrix(WORDS_WEIGHT * hasher.transform(_tokens(given, units)))


def _tokens(given: Candidates, units: Units) -> Iterator[list[str]]:
    """Yield the words in and beside each part, with their positions; none for whole units."""
    columns = (given.contract, given.first, given.start, given.end, given.part)
    for contract, unit, start, end, part in zip(*(column.tolist() for column in columns), strict=True):
        if not part:
            yield []
            continue
        text, first, last = units.texts[contract], int(units.start[unit]), int(units.end[unit])
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
