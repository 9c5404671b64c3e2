"""What a candidate adds to the likelier ones: an answer is found once, and every wrong prediction counts.

A unit and the runs that it is in are candidates for one and the same answer.  Where one is wrong, so are
mostly the others, and where one is right, the evaluator counts no more for the others.  So a candidate is
weighed again beside those that its contract and category have above it, by whether it finds an answer that
none of them does.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from lextables.tasks.spans.candidates import OUTSIDE, Candidates

HINGES = (-2.0, 0.0)


def described(given: Candidates, logits: np.ndarray) -> np.ndarray:
    """Return what is known of each candidate beside the likelier ones, float64 (candidates, features).

    ``logits`` (candidates,) say how likely each one is by itself.
    """
    overlaps = np.zeros((len(logits), 5))
    elsewhere = np.zeros((len(logits), 2))
    for rows in by_likelihood(given, logits):
        start, end, own = given.start[rows], given.end[rows], logits[rows]
        shared = np.minimum.outer(end, end) - np.maximum.outer(start, start)
        above = np.tri(len(rows), k=-1, dtype=bool)
        over = above & (shared > 0)
        alike = np.where(over, shared / (np.maximum.outer(end, end) - np.minimum.outer(start, start)), 0)
        has, best = over.any(axis=1), over.argmax(axis=1)
        known = (own[best], alike.max(axis=1), alike[np.arange(len(rows)), best], np.log1p(over.sum(axis=1)))
        overlaps[rows] = has[:, None] * np.column_stack([np.ones(len(rows)), *known])
        apart = above & ~over
        together = np.logaddexp.reduce(np.where(apart, own, OUTSIDE), axis=1, initial=OUTSIDE)
        elsewhere[rows] = np.column_stack([np.log1p(apart.sum(axis=1)), together])
    hinges = [np.maximum(0, logits - hinge) for hinge in HINGES]
    return np.column_stack([logits, *hinges, overlaps, overlaps[:, 0] * logits, elsewhere])


def added(
    given: Candidates, logits: np.ndarray, matched: Sequence[frozenset[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return which candidates find an answer that no likelier one does, and which say something, bool.

    ``matched`` holds the answers of its contract that each candidate finds.  One that finds only what is
    found already costs nothing and brings nothing, so it says nothing.
    """
    new, told = np.zeros(len(logits), dtype=bool), np.ones(len(logits), dtype=bool)
    for rows in by_likelihood(given, logits):
        done: frozenset[int] = frozenset()
        for row in rows.tolist():
            new[row] = bool(matched[row] - done)
            told[row] = new[row] or not matched[row]
            done |= matched[row]
    return new, told


def by_likelihood(given: Candidates, logits: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows of each contract that has candidates, the likeliest first, int64."""
    bounds = np.flatnonzero(np.diff(given.contract, prepend=-1, append=-1)).tolist()
    for first, last in pairwise(bounds):
        yield first + np.argsort(-logits[first:last], kind="stable")
