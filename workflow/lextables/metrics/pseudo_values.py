"""What each unit of a test set adds to a score, though this be no mean over units, to pair runs by it."""

from collections.abc import Iterator, Sequence

import numpy as np

from lextables.pipeline.dataset import Row


def pseudo_values(estimate: float, left_out: np.ndarray) -> np.ndarray:
    """Return what each unit adds to a score, float64 (units,), whose mean is the ``estimate``.

    ``left_out`` are the values of the score with each unit left out in turn; NaN, of a unit without which
    there is no score, stays NaN.  Of a mean these are the units' own values.  Of any other score they are the
    jackknife's pseudo-values, n times the estimate less n - 1 times the value without the unit (Tukey, 1958),
    moved together so that their mean is the score that is printed.  Tukey's mean is corrected for bias, and
    so another number; of an average precision it varies more than the pseudo-values' spread says.
    """
    defined = ~np.isnan(left_out)
    if not defined.any():
        return left_out
    return estimate + (defined.sum() - 1) * (left_out[defined].mean() - left_out)


def unit_rows(metric: str, group: str, units: Sequence[str], values: np.ndarray) -> Iterator[Row]:
    """Yield rows as `units.UNITS` has them; units without a value (NaN) are left out."""
    for unit, value in zip(units, values.tolist(), strict=True):
        if value == value:
            yield {"metric": metric, "group": group, "unit": str(unit), "value": value}
