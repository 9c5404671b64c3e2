"""Average precision, the area under a stepwise precision-recall curve, for many weightings at once."""

import math

import numpy as np


def minority_precisions(positive: np.ndarray, score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the average precision of an answer's rarer side under each row of ``weights`` (rows, n).

    ``positive`` bool (n,): whether an example has the answer.  ``score`` (n,): the model's score for it.
    Where the examples without the answer are rarer, they are the positive side and scores are negated.  On
    a tie the answer stays the positive side.  float64 (rows,); NaN where no example has the answer, or all.
    """
    count, total = weights[:, positive].sum(axis=1), weights.sum(axis=1)
    values = np.full(len(weights), math.nan)
    defined = (count > 0) & (count < total)
    for negated in (False, True):
        rows = defined & ((count > total / 2) == negated)
        if rows.any():
            side = (~positive, -score) if negated else (positive, score)
            values[rows] = weighted_precisions(*side, weights[rows])
    return values


def weighted_precisions(positive: np.ndarray, score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the average precision under each row of ``weights`` (rows, n), float64 (rows,).

    The value of scikit-learn's ``average_precision_score`` with these sample weights, computed for all rows
    together.  0 where nothing is positive, NaN without examples.
    """
    if not len(score):
        return np.full(len(weights), math.nan)
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    ranked = weights[:, order]
    hits = np.cumsum(ranked * positive[order], axis=1)[:, ends]
    retrieved = np.cumsum(ranked, axis=1)[:, ends]
    precision = np.divide(hits, retrieved, out=np.zeros(hits.shape), where=retrieved > 0)
    gained = np.diff(hits, axis=1, prepend=0)
    positives = hits[:, -1]
    return np.divide(
        (gained * precision).sum(axis=1), positives, out=np.zeros(len(weights)), where=positives > 0
    )
