"""Intervals: how far a mean over queries, or a share of examples, would move with another sample."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import bootstrap
from statsmodels.stats.proportion import proportion_confint

RESAMPLES = 10_000
LEVEL = 0.95


def mean_interval(values: Sequence[float], seed: int = 0) -> tuple[float, float] | None:
    """Return the 95 % percentile-bootstrap interval of the mean of ``values`` (one a query), NaNs left out.

    For a difference between two systems give the differences a query: the resampling is then paired.
    None when fewer than two values remain or all are equal, where resampling says nothing.
    """
    finite = np.asarray([value for value in values if not np.isnan(value)], dtype=np.float64)
    if len(finite) < 2 or np.ptp(finite) == 0:
        return None
    result = bootstrap(
        (finite,), np.mean, n_resamples=RESAMPLES, confidence_level=LEVEL, method="percentile",
        rng=np.random.default_rng(seed), batch=500,
    )  # fmt: skip
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def share_interval(successes: int, trials: int) -> tuple[float, float] | None:
    """Return the 95 % Wilson interval of a share; None without trials."""
    if trials == 0:
        return None
    low, high = proportion_confint(successes, trials, alpha=1 - LEVEL, method="wilson")
    return float(low), float(high)
