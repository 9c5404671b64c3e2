"""Sampling intervals: how far a score would move with another sample of queries, contracts or examples.

`measure_interval_coverage.py` among the benches prints how often each covers the true value in simulated
data: a percentile bootstrap of a mean covers too seldom below some twenty units, and that of an average
precision lies above the estimate, since repeated examples raise it.  So means have Student's interval and
MAUD's AUPR a jackknife; CUAD's area, whose thresholds are fixed, keeps the bootstrap.

scipy.special and statsmodels are imported where they are used: most tables need neither, and to load them
takes longer than to make the table.  Student's quantile is from scipy.special, as it is in scipy.stats, which
loads for much longer.
"""

from collections.abc import Iterator, Sequence

import numpy as np

RESAMPLES = 10_000
LEVEL = 0.95
UNBOUNDED = (-np.inf, np.inf)
_ROUNDING = 1e-12  # scores, as shares of one, that are no further apart are equal


def mean_interval(
    values: Sequence[float], within: tuple[float, float] = UNBOUNDED
) -> tuple[float, float] | None:
    """Return Student's 95 % interval of the mean of ``values`` (one a query), NaNs left out.

    For a difference between two systems give the differences a query: the interval is then paired.
    ``within`` are the least and the greatest value that the mean can have.  None when fewer than two values
    remain or all are equal, where a sample says nothing of its spread.
    """
    finite = np.asarray([value for value in values if not np.isnan(value)], dtype=np.float64)
    if len(finite) < 2 or np.ptp(finite) == 0:
        return None
    mean, half = float(finite.mean()), _half_width(finite.std(ddof=1) / np.sqrt(len(finite)), len(finite))
    return max(mean - half, within[0]), min(mean + half, within[1])


def jackknife_interval(
    estimate: float, left_out: np.ndarray, within: tuple[float, float] = UNBOUNDED
) -> tuple[float, float] | None:
    """Return a 95 % interval from the jackknife's standard error and its bias.

    ``left_out`` are the values of the score with each unit left out in turn, float64 (units,); NaNs, of a
    unit without which there is no score, are passed over.  The interval reaches from below the lesser of
    the estimate and the estimate less its bias to above the greater: a score that small samples overstate,
    as they do an average precision, would else be missed from above.  None when fewer than two values
    remain or all are equal.
    """
    finite = left_out[~np.isnan(left_out)]
    units = len(finite)
    if units < 2 or np.ptp(finite) < _ROUNDING:
        return None
    bias = (units - 1) * (float(finite.mean()) - estimate)
    half = _half_width(np.sqrt((units - 1) / units * np.sum((finite - finite.mean()) ** 2)), units)
    return max(estimate - max(bias, 0) - half, within[0]), min(estimate - min(bias, 0) + half, within[1])


def _half_width(error: float, units: int) -> float:
    """Student's 95 % half-width for a standard error over ``units`` units."""
    from scipy.special import stdtrit

    return float(stdtrit(units - 1, (1 + LEVEL) / 2) * error)


def share_interval(successes: int, trials: int) -> tuple[float, float] | None:
    """Return the 95 % Wilson interval of a share; None without trials."""
    from statsmodels.stats.proportion import proportion_confint

    if trials == 0:
        return None
    low, high = proportion_confint(successes, trials, alpha=1 - LEVEL, method="wilson")
    return float(low), float(high)


def exact_share_interval(successes: int, trials: int) -> tuple[float, float] | None:
    """Return the 95 % interval of a share by the binomial distribution itself; None without trials.

    Clopper and Pearson (1934), which covers at least as often as it says.
    """
    from scipy.stats import binomtest

    if trials == 0:
        return None
    low, high = binomtest(successes, trials).proportion_ci(LEVEL, method="exact")
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
