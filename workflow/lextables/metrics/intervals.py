"""Intervals: how far a mean over queries, or a share of examples, would move with another sample.

scipy.stats and statsmodels are imported where they are used: most tables need neither, and to load them
takes longer than to make the table.
"""

from collections.abc import Iterator, Sequence

import numpy as np

RESAMPLES = 10_000
LEVEL = 0.95


def mean_interval(values: Sequence[float], seed: int = 0) -> tuple[float, float] | None:
    """Return the 95 % percentile-bootstrap interval of the mean of ``values`` (one a query), NaNs left out.

    For a difference between two systems give the differences a query: the resampling is then paired.
    None when fewer than two values remain or all are equal, where resampling says nothing.
    """
    from scipy.stats import bootstrap

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
    from statsmodels.stats.proportion import proportion_confint

    if trials == 0:
        return None
    low, high = proportion_confint(successes, trials, alpha=1 - LEVEL, method="wilson")
    return float(low), float(high)


def resampled_weights(
    units: int, seed: int = 0, resamples: int = RESAMPLES, batch: int = 500
) -> Iterator[np.ndarray]:
    """Yield int64 [at most ``batch``, ``units``]: how often a resample draws each unit, ``resamples`` in all.

    As many units are drawn with replacement as there are.  For metrics that are no mean of a value a unit:
    weight the units' counts, and compute the metric of each resample from the sums.
    """
    rng = np.random.default_rng(seed)
    even = np.full(units, 1 / units)
    for done in range(0, resamples, batch):
        yield rng.multinomial(units, even, size=min(batch, resamples - done))


def percentile_interval(values: np.ndarray) -> tuple[float, float] | None:
    """Return the 95 % percentile interval of ``values``, one a resample; None when all are equal."""
    if np.ptp(values) == 0:
        return None
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
