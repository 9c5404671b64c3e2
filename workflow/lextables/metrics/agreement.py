"""Agreement of coders who answered the same questions, and association between two answers.

A unit holds one answer of each coder.  Coders are interchangeable: who gave an answer is not recorded.
"""

import itertools
import math
from collections.abc import Hashable, Sequence

import krippendorff
import numpy as np

Unit = Sequence[Hashable]


def alpha(units: Sequence[Unit]) -> float:
    """Return Krippendorff's alpha of nominal answers (Krippendorff 2004, chapter 11).

    An answer is any hashable value, such as the set of chosen options.  Units with a single answer are
    ignored.  NaN where all answers are equal, or no unit has two answers.
    """
    codes = {answer: code for code, answer in enumerate(dict.fromkeys(itertools.chain(*units)))}
    counts = np.zeros((len(units), len(codes)), dtype=np.int64)
    for row, unit in zip(counts, units, strict=True):
        for answer in unit:
            row[codes[answer]] += 1
    counts = counts[counts.sum(axis=1) > 1]
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return math.nan
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def agreement(unit: Unit) -> float:
    """Return the share of pairs of a unit's answers that are equal; NaN where there is no pair."""
    pairs = list(itertools.combinations(unit, 2))
    return sum(first == second for first, second in pairs) / len(pairs) if pairs else math.nan


def cramers_v(first: Sequence[int], second: Sequence[int]) -> float:
    """Return Cramér's V of two nominal variables, with Bergsma's (2013) bias correction.

    ``first`` and ``second`` are the values of the same cases, in the same order.  0 means no association,
    1 that each variable determines the other.  NaN where a variable has a single value or there are fewer
    than two cases.
    """
    row_codes, column_codes = (np.unique(values, return_inverse=True)[1] for values in (first, second))
    cases = len(row_codes)
    if cases < 2 or row_codes.max(initial=0) == 0 or column_codes.max(initial=0) == 0:
        return math.nan
    table = np.zeros((row_codes.max() + 1, column_codes.max() + 1))
    np.add.at(table, (row_codes, column_codes), 1)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / cases
    phi = float(((table - expected) ** 2 / expected).sum()) / cases
    rows, columns = table.shape
    phi = max(0.0, phi - (rows - 1) * (columns - 1) / (cases - 1))
    largest = min(size - (size - 1) ** 2 / (cases - 1) for size in (rows, columns)) - 1
    return math.sqrt(phi / largest) if largest > 0 else math.nan
