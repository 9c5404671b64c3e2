"""How far one answer tells another."""

import math
from collections.abc import Sequence

import numpy as np


def cramers_v(one: Sequence[int], other: Sequence[int]) -> float:
    """Return Cramér's V of two nominal variables, corrected for its bias (Bergsma 2013).

    ``one`` and ``other`` are the values of the same cases, in their order; 0 means that neither tells the
    other and 1 that each gives the other away.  NaN where either has a single value or there is one case.
    """
    (_, left), (_, right) = (np.unique(values, return_inverse=True) for values in (one, other))
    cases = len(left)
    if cases < 2 or left.max(initial=0) == 0 or right.max(initial=0) == 0:
        return math.nan
    table = np.zeros((left.max() + 1, right.max() + 1))
    np.add.at(table, (left, right), 1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / cases
    phi = float(((table - expected) ** 2 / expected).sum()) / cases
    rows, columns = table.shape
    phi = max(0.0, phi - (rows - 1) * (columns - 1) / (cases - 1))
    most = min(size - (size - 1) ** 2 / (cases - 1) for size in (rows, columns)) - 1
    return math.sqrt(phi / most) if most > 0 else math.nan
