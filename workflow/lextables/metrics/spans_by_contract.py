"""Contribution of each contract to a run's AUPR of spans, so that runs can be paired by
contract.

This module is separate from `lextables.metrics.spans` because the training of linear
models imports that one, and a change here must not rerun training.
"""

from collections.abc import Sequence

import numpy as np

from lextables.metrics.intervals import pseudo_values, unit_rows
from lextables.metrics.spans import (
    AUPR,
    Counts,
    Gold,
    Nbest,
    aupr,
    counts,
    paper_matches,
    sweep,
)
from lextables.pipeline.dataset import Row


def by_contract(
    nbest: Nbest, gold: Gold, *, relaxed: str | None, low_thresholds: Sequence[float]
) -> list[Row]:
    """Return sorted rows of `units.UNITS` for the released overall AUPR; arguments as
    in `spans.scores`.

    The precision at a recall has no such rows: leaving out a contract changes it in
    jumps that do not reflect its spread.
    """
    names, unit = np.unique(gold.contracts, return_inverse=True)
    matches = paper_matches(nbest, gold, relaxed)
    by_unit = counts(matches, unit, len(names), sweep(low_thresholds))
    return list(unit_rows(AUPR, "all", names.tolist(), area_by_unit(by_unit)))


def area_by_unit(by_unit: Counts) -> np.ndarray:
    """Return each unit's contribution to the overall AUPR, float64 (units,), from its
    counts.
    """
    hits = by_unit.true_positives
    misses = by_unit.false_positives
    gold_spans = by_unit.gold_spans
    total = Counts(hits.sum(axis=0), misses.sum(axis=0), gold_spans.sum(axis=0))
    without = Counts(
        total.true_positives - hits,
        total.false_positives - misses,
        total.gold_spans - gold_spans,
    )
    return pseudo_values(float(aupr(total.curve())), aupr(without.curve()))
