"""Average precision, the area under a stepwise precision-recall curve, under many weightings at once."""

import math

import numpy as np


def minority_precisions(positive: np.ndarray, score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the average precision of an answer's rarer side under each row of ``weights`` (rows, n).

    ``positive`` (n,) are the examples that have the answer, ``score`` (n,) how much speaks for it.  Where
    the rest is rarer it is the positive side, and scores are negated; on a tie the answer itself is.
    float64 (rows,); NaN where no example has the answer, or all have.
    """
    count, total = weights[:, positive].sum(axis=1), weights.sum(axis=1)
    values = np.full(len(weights), math.nan)
    divided = (count > 0) & (count < total)
    for of_rest in (False, True):
        rows = divided & ((count > total / 2) == of_rest)
        if rows.any():
            side = (~positive, -score) if of_rest else (positive, score)
            values[rows] = weighted_precisions(*side, weights[rows])
    return values


def weighted_precisions(positive: np.ndarray, score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the average precision under each row of ``weights`` (rows, n), as if examples repeated.

    scikit-learn's value for one row at a time; for a thousand rows at once.  0 where nothing is positive.
    """
    if not len(score):
        return np.full(len(weights), math.nan)
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    ranked = weights[:, order]
    found = np.cumsum(ranked * positive[order], axis=1)[:, ends]
    passed = np.cumsum(ranked, axis=1)[:, ends]
    precision = np.divide(found, passed, out=np.zeros(found.shape), where=passed > 0)
    gained = np.diff(found, axis=1, prepend=0)
    everything = found[:, -1]
    return np.divide(
        (gained * precision).sum(axis=1), everything, out=np.zeros(len(weights)), where=everything > 0
    )
