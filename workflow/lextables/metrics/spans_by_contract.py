"""What each contract adds to the area of a run's spans, so that runs can be paired by contract.

Apart from `lextables.metrics.spans`, by whose words linear models learn: what compares runs is no reason to
train anew.
"""

from collections.abc import Sequence

import numpy as np

from lextables.metrics.pseudo_values import pseudo_values, unit_rows
from lextables.metrics.spans import AUPR, Counts, Gold, Nbest, aupr, counts, paper_matches, sweep
from lextables.pipeline.dataset import Row


def by_contract(
    found: Nbest, asked: Gold, *, relaxed: str | None, low_thresholds: Sequence[float]
) -> list[Row]:
    """Return rows of `units.UNITS`, sorted, of the released area over all; arguments as in `scores`.

    The precision at a recall has none: a contract more or less moves it in jumps, which do not tell its
    spread (`bench/measure_comparison.py`).
    """
    names, unit = np.unique(asked.contracts, return_inverse=True)
    matches = paper_matches(found, asked, relaxed)
    each = counts(matches, unit, len(names), sweep(low_thresholds))
    return list(unit_rows(AUPR, "all", names.tolist(), area_by_unit(each)))


def area_by_unit(each: Counts) -> np.ndarray:
    """Return what each unit adds to the area of all, float64 (units,), from its counts at each threshold."""
    parts = (each.true_positives, each.false_positives, each.gold_spans)
    whole = [part.sum(axis=0) for part in parts]
    without = [total - part for total, part in zip(whole, parts, strict=True)]
    return pseudo_values(float(aupr(Counts(*whole).curve())), aupr(Counts(*without).curve()))
