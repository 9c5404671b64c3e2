"""The jackknife interval by Tukey's pseudo-values, independent of
`lextables.metrics.intervals`.
"""

import numpy as np
from scipy.stats import t


def interval(
    estimate: float, left_out: np.ndarray, largest: float = 1, log_odds: bool = False
) -> tuple[float, float] | None:
    """Return the 95 % interval, within 0 and ``largest``, of a score.

    ``left_out`` (units,) are the scores without one unit each.

    It begins below the smaller of the estimate and the bias-corrected estimate, and
    ends above the larger. With ``log_odds`` each end is the farther one of two: the
    odds are also multiplied with the exponential of the margin over the derivative of
    the score. None without two different scores.
    """
    left_out = left_out[np.isfinite(left_out)]
    units = len(left_out)
    if units < 2 or np.allclose(left_out, left_out[0], rtol=0, atol=1e-12):
        return None
    pseudo_values = units * estimate - (units - 1) * left_out
    half = t.ppf(0.975, units - 1) * pseudo_values.std(ddof=1) / np.sqrt(units)
    first, last = sorted((estimate, pseudo_values.mean()))
    low = max(first - half, 0)
    high = min(last + half, largest)
    if log_odds:
        odds = first / (1 - first) * np.exp(-half / (first - first**2))
        low = min(low, odds / (1 + odds))
        odds = last / (1 - last) * np.exp(half / (last - last**2))
        high = max(high, odds / (1 + odds))
    return low, high
