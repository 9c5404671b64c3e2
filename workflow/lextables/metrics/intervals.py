"""Sampling intervals of a score over queries, contracts or examples.

docs/statistics.md says which score has which interval, with the simulated coverage.
Percentile bootstrap intervals of a mean are too narrow with fewer than about twenty
units.  Those of an average precision lie too high, because repeated examples raise it.
So a mean over queries has Student's interval and MAUD's AUPR a jackknife interval.
CUAD's area, whose thresholds are fixed, keeps the bootstrap.

scipy.special and statsmodels are imported where they are used: most tables need
neither, and importing them takes longer than making the table.  `scipy.stats` loads
more slowly still.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.metrics import HIGH, LOW
from lextables.pipeline.dataset import Row

RESAMPLES = 10_000
LEVEL = 0.95
UNBOUNDED = (-np.inf, np.inf)
_ROUNDING = 1e-12  # scores from 0 to 1 that differ by less are equal


def mean_interval(
    values: Sequence[float] | np.ndarray, within: tuple[float, float] = UNBOUNDED
) -> tuple[float, float] | None:
    """Return Student's 95 % interval of the mean of ``values`` (one per query), NaNs
    left out.

    For a paired interval of a difference between two systems pass the differences per
    query.  ``within`` are the smallest and the largest possible mean.  None when fewer
    than two values remain or all are equal.
    """
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[~np.isnan(finite)]
    units = len(finite)
    if units < 2 or np.ptp(finite) == 0:
        return None
    mean = float(finite.mean())
    error = finite.std(ddof=1) / np.sqrt(units)
    half = _half_width(error, units)
    smallest, largest = within
    return max(mean - half, smallest), min(mean + half, largest)


def jackknife_interval(
    estimate: float,
    left_out: np.ndarray,
    within: tuple[float, float] = UNBOUNDED,
    *,
    log_odds: bool = False,
) -> tuple[float, float] | None:
    """Return a 95 % interval from the jackknife's standard error and its bias.

    ``left_out`` are the scores with each unit left out in turn, float64 (units,); NaNs
    (no score without the unit) are ignored.  The interval covers both the estimate and
    the bias-corrected estimate, each with its margin: small samples overstate an
    average precision, so an interval around the estimate alone would lie too high.
    With ``log_odds``, for a score from 0 to 1, each end is computed twice, and the
    farther one counts: the margin is added to the score itself, and on the scale of its
    log odds (Boyd, Eng and Page, 2013), where it reaches farther towards one half.
    None when fewer than two values remain or all are equal.
    """
    finite = left_out[~np.isnan(left_out)]
    units = len(finite)
    if units < 2 or np.ptp(finite) < _ROUNDING:
        return None
    mean = float(finite.mean())
    bias = (units - 1) * (mean - estimate)
    squares = (finite - mean) ** 2
    error = np.sqrt((units - 1) / units * np.sum(squares))
    half = _half_width(error, units)
    lower = estimate - max(bias, 0)
    upper = estimate - min(bias, 0)
    smallest, largest = within
    low = max(lower - half, smallest)
    high = min(upper + half, largest)
    if log_odds:
        low = min(low, _added_to_log_odds(lower, -half))
        high = max(high, _added_to_log_odds(upper, half))
    return low, high


def _added_to_log_odds(score: float, margin: float) -> float:
    """Return the score that results if the margin is added on the scale of log odds.

    ``margin`` is in units of the score and is converted first.  The scores 0 and 1,
    which have no log odds, are returned unchanged.
    """
    from scipy.special import expit, logit

    if not _ROUNDING < score < 1 - _ROUNDING:
        return min(max(score, 0.0), 1.0)
    slope = score * (1 - score)  # derivative of the score by its log odds
    return float(expit(logit(score) + margin / slope))


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
    """Return the exact 95 % interval of a share (Clopper and Pearson, 1934); None
    without trials.

    Its coverage is never below 95 %.
    """
    from scipy.stats import binomtest

    if trials == 0:
        return None
    low, high = binomtest(successes, trials).proportion_ci(LEVEL, method="exact")
    return float(low), float(high)


def resampled_weights(
    units: int, seed: int = 0, resamples: int = RESAMPLES, batch: int = 500
) -> Iterator[np.ndarray]:
    """Yield int64 [at most ``batch``, ``units``]: how often each resample draws each
    unit.

    Yields ``resamples`` rows in total; each draws ``units`` units with replacement.
    Meant for metrics that are not means over units: weight the units' counts and
    compute the metric from the sums.
    """
    rng = np.random.default_rng(seed)
    even = np.full(units, 1 / units)
    for done in range(0, resamples, batch):
        yield rng.multinomial(units, even, size=min(batch, resamples - done))


def percentile_interval(values: np.ndarray) -> tuple[float, float] | None:
    """Return the 95 % percentile interval of ``values``, one per resample; None when
    all are equal.
    """
    if np.ptp(values) == 0:
        return None
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def interval_rows(
    metric: str, group: str, interval: tuple[float, float] | None, n: int
) -> list[Row]:
    """Return the ends of an interval over ``n`` units as rows of `run.SCORES`; none if
    it is undefined.
    """
    if interval is None:
        return []
    low, high = interval
    return [
        score_row(metric + LOW, group, low, n),
        score_row(metric + HIGH, group, high, n),
    ]


def score_row(metric: str, group: str, value: float, n: int) -> Row:
    """Return a row of `run.SCORES`."""
    return {"metric": metric, "group": group, "value": value, "n": n}


def by_key(rows: Iterable[Row]) -> list[Row]:
    """Return rows of scores or units, sorted by the key of their table."""
    return sorted(
        rows, key=lambda row: (row["metric"], row["group"], row.get("unit", ""))
    )


# What each unit adds to a score


def pseudo_values(estimate: float, left_out: np.ndarray) -> np.ndarray:
    """Return the contribution of each unit to a score, float64 (units,), with the mean
    ``estimate``.

    ``left_out`` are the scores with each unit left out in turn; NaN (no score without
    the unit) stays NaN.  For a mean these are the units' own values.  For any other
    score they are the jackknife's pseudo-values, n times the estimate less n - 1 times
    the value without the unit (Tukey, 1958), shifted so that their mean is the
    published score.  Tukey's own mean is bias-corrected: it differs from the published
    score, and for an average precision it varies more than the spread of the
    pseudo-values shows.
    """
    defined = ~np.isnan(left_out)
    if not defined.any():
        return left_out
    return estimate + (defined.sum() - 1) * (left_out[defined].mean() - left_out)


def unit_rows(
    metric: str, group: str, units: Sequence[str], values: np.ndarray
) -> Iterator[Row]:
    """Yield rows of the table `units.UNITS`; units without a value (NaN) are left
    out.
    """
    for unit, value in zip(units, values.tolist(), strict=True):
        if not np.isnan(value):
            yield {"metric": metric, "group": group, "unit": str(unit), "value": value}


@dataclass(frozen=True)
class Jackknife:
    """The value of a metric for a group, and its values ``without`` each unit, float64
    (k,).

    ``units`` is the number of sampled units.  ``names`` (k,) are the units, or names of
    the groups that were left out instead; equal names mean the same units in two runs.
    ``within`` are the smallest and the largest possible value.  ``log_odds`` is passed
    to `jackknife_interval`.
    """

    metric: str
    group: str
    value: float
    without: np.ndarray
    units: int
    names: Sequence[str]
    within: tuple[float, float] = (0.0, 1.0)
    log_odds: bool = False

    def ends(self) -> list[Row]:
        """Return the 95 % interval as two rows of scores (empty if undefined); n is the
        number of units.
        """
        interval = jackknife_interval(
            self.value, self.without, self.within, log_odds=self.log_odds
        )
        return interval_rows(self.metric, self.group, interval, self.units)

    def contributions(self) -> list[Row]:
        """Return what each unit contributes, as rows of `units.UNITS`."""
        values = pseudo_values(self.value, self.without)
        return list(unit_rows(self.metric, self.group, self.names, values))
