"""How far people who answered the same questions agree.

Who answered is not asked: a unit is what several people answered once each, and they are interchangeable.
"""

import itertools
import math
from collections.abc import Hashable, Sequence

import krippendorff
import numpy as np

Unit = Sequence[Hashable]


def alpha(units: Sequence[Unit]) -> float:
    """Return Krippendorff's alpha of nominal answers (Krippendorff 2004, chapter 11).

    An answer is any value that equals itself, such as the set of what somebody chose.  Units of one answer
    say nothing; NaN where all answers are alike, or no unit has two.
    """
    answers = {answer: place for place, answer in enumerate(dict.fromkeys(itertools.chain(*units)))}
    counts = np.zeros((len(units), len(answers)), dtype=np.int64)
    for row, unit in zip(counts, units, strict=True):
        for answer in unit:
            row[answers[answer]] += 1
    counts = counts[counts.sum(axis=1) > 1]
    if np.count_nonzero(counts.sum(axis=0)) < 2:
        return math.nan
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def agreement(unit: Unit) -> float:
    """Return the share of the pairs of answers to a unit that are alike; NaN where there is no pair."""
    pairs = list(itertools.combinations(unit, 2))
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else math.nan
