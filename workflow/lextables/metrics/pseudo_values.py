"""Contribution of each unit of a test set to a score, so that runs can be paired by unit."""

from collections.abc import Iterator, Sequence

import numpy as np

from lextables.pipeline.dataset import Row


def pseudo_values(estimate: float, left_out: np.ndarray) -> np.ndarray:
    """Return the contribution of each unit to a score, float64 (units,), with the mean ``estimate``.

    ``left_out`` are the scores with each unit left out in turn; NaN (no score without the unit) stays NaN.
    For a mean these are the units' own values.  For any other score they are the jackknife's pseudo-values,
    n times the estimate less n - 1 times the value without the unit (Tukey, 1958), shifted so that their
    mean is the printed score.  Tukey's own mean is bias-corrected: it differs from the printed score, and
    for an average precision it varies more than the spread of the pseudo-values shows.
    """
    defined = ~np.isnan(left_out)
    if not defined.any():
        return left_out
    return estimate + (defined.sum() - 1) * (left_out[defined].mean() - left_out)


def unit_rows(metric: str, group: str, units: Sequence[str], values: np.ndarray) -> Iterator[Row]:
    """Yield rows of the table `units.UNITS`; units without a value (NaN) are left out."""
    for unit, value in zip(units, values.tolist(), strict=True):
        if value == value:
            yield {"metric": metric, "group": group, "unit": str(unit), "value": value}
