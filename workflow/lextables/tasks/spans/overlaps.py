"""What a candidate adds to higher-ranked candidates of the same contract and category.

A unit and the runs of units that contain it are candidates for the same answer.  Once one of them is
predicted, the evaluator gives nothing for the others, and every wrong prediction counts.  The third model
therefore scores a candidate again by whether it finds an answer that no higher-ranked candidate finds.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from lextables.tasks.spans.candidates import OUTSIDE, Candidates

HINGES = (-2.0, 0.0)


def overlap_features(candidates: Candidates, logits: np.ndarray) -> np.ndarray:
    """Return features of each candidate and of those ranked above it, float64 (candidates, features).

    ``logits`` (candidates,) are the scores of the second model, which also rank the candidates.
    """
    overlapping = np.zeros((len(logits), 5))
    elsewhere = np.zeros((len(logits), 2))
    for rows in ranked_by_contract(candidates, logits):
        start, end, own = candidates.start[rows], candidates.end[rows], logits[rows]
        shared = np.minimum.outer(end, end) - np.maximum.outer(start, start)
        above = np.tri(len(rows), k=-1, dtype=bool)
        over = above & (shared > 0)
        jaccard = np.where(over, shared / (np.maximum.outer(end, end) - np.minimum.outer(start, start)), 0)
        has, best = over.any(axis=1), over.argmax(axis=1)
        columns = [np.ones(len(rows)), own[best], jaccard.max(axis=1), jaccard[np.arange(len(rows)), best]]
        columns.append(np.log1p(over.sum(axis=1)))
        overlapping[rows] = has[:, None] * np.column_stack(columns)
        apart = above & ~over
        total = np.logaddexp.reduce(np.where(apart, own, OUTSIDE), axis=1, initial=OUTSIDE)
        elsewhere[rows] = np.column_stack([np.log1p(apart.sum(axis=1)), total])
    hinges = [np.maximum(0, logits - hinge) for hinge in HINGES]
    return np.column_stack([logits, *hinges, overlapping, overlapping[:, 0] * logits, elsewhere])


def new_answers(
    candidates: Candidates, logits: np.ndarray, matched: Sequence[frozenset[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return which candidates find a new answer, and which are used for training, bool (candidates,) each.

    ``matched`` are the answers of its contract that each candidate finds.  An answer is new if no
    higher-ranked candidate finds it.  Candidates that find only answers found before are not used for
    training: the evaluator neither rewards nor punishes them.
    """
    new, used = np.zeros(len(logits), dtype=bool), np.ones(len(logits), dtype=bool)
    for rows in ranked_by_contract(candidates, logits):
        before: frozenset[int] = frozenset()
        for row in rows.tolist():
            new[row] = bool(matched[row] - before)
            used[row] = new[row] or not matched[row]
            before |= matched[row]
    return new, used


def ranked_by_contract(candidates: Candidates, logits: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the rows of each contract's candidates, highest logit first, int64."""
    bounds = np.flatnonzero(np.diff(candidates.contract, prepend=-1, append=-1)).tolist()
    for first, last in pairwise(bounds):
        yield first + np.argsort(-logits[first:last], kind="stable")
