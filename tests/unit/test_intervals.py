"""Sampling intervals: values computed by hand, and how often they cover a known true
value.
"""

import importlib.util
import sys

import numpy as np
import pytest

from lextables import ROOT
from lextables.metrics.intervals import (
    exact_share_interval,
    jackknife_interval,
    mean_interval,
    percentile_interval,
    share_interval,
)

NAN = float("nan")


@pytest.fixture(scope="module")
def script():
    """The simulation of MAUD's test sets."""
    path = ROOT / "bench/measure_aupr_intervals.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    # Its dataclass looks its module up.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def test_mean_interval():
    # Student's t with 2 degrees of freedom is 4.303; the standard error of 1, 2, 3 is 1
    # / sqrt(3).
    assert mean_interval([1.0, 2.0, 3.0, NAN]) == pytest.approx(
        (2 - 2.4842, 2 + 2.4842), abs=1e-3
    )
    assert mean_interval([1.0, 2.0, 3.0], within=(0, 3)) == (0, 3)
    assert mean_interval([0.3]) is None
    assert mean_interval([0.3, 0.3, NAN]) is None
    assert mean_interval([]) is None


def test_share_interval():
    assert share_interval(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert share_interval(0, 0) is None


def test_exact_share_interval_equals_clopper_pearson():
    # LawngNLI's Table 17 publishes the larger deviation: 0.027 for a share of 0.447 of
    # 1,322 queries.
    low, high = exact_share_interval(591, 1322)
    assert (low, high) == pytest.approx((0.4200, 0.4743), abs=1e-4)
    assert exact_share_interval(0, 10) == pytest.approx((0, 1 - 0.025 ** (1 / 10)))
    assert exact_share_interval(10, 10) == pytest.approx((0.025 ** (1 / 10), 1))
    assert exact_share_interval(0, 0) is None


def test_the_jackknife_interval_of_a_mean_equals_students_t_interval():
    values = np.random.default_rng(0).random(20)
    left_out = (values.sum() - values) / 19
    assert jackknife_interval(values.mean(), left_out) == pytest.approx(
        mean_interval(values.tolist())
    )
    assert jackknife_interval(0.5, np.array([0.5, 0.5])) is None
    assert (
        jackknife_interval(0.3, np.array([0.1 + 0.2, 0.3])) is None
    )  # equal up to rounding
    assert jackknife_interval(0.5, np.array([0.4, NAN])) is None


@pytest.mark.parametrize("sign", [1, -1])
def test_the_jackknife_interval_is_longer_on_the_side_of_the_bias_correction(sign):
    # The variance of 0, 0, 3 with divisor 3 is 2, and 9/4, 9/4 and 0 without one of
    # them: a bias of 2 * (3/2 - 2) = -1, and a standard error of sqrt(2/3 * 27/8) =
    # 3/2.  Student's t is 4.3027.
    left_out = sign * np.array([2.25, 2.25, 0.0])
    ends = [sign * (2 - 1.5 * 4.3027), sign * (3 + 1.5 * 4.3027)]
    assert jackknife_interval(sign * 2.0, left_out) == pytest.approx(
        sorted(ends), abs=1e-3
    )


def test_with_log_odds_each_end_is_the_farther_one():
    # A standard error of sqrt(1/2 * 2 * 0.01^2) = 0.01, Student's t of 12.7062; the log
    # odds of 0.8 are log(4), with the slope 0.8 * 0.2.
    half = 12.7062 * 0.01
    low = 1 / (1 + np.exp(half / 0.16) / 4)
    high = 0.8 + half
    left_out = np.array([0.79, 0.81])
    assert low < 0.8 - half
    interval = jackknife_interval(0.8, left_out, (0, 1), log_odds=True)
    assert interval == pytest.approx((low, high), abs=1e-5)
    mirrored = jackknife_interval(0.2, 1 - left_out, (0, 1), log_odds=True)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-5)


def test_scores_of_0_and_1_have_no_log_odds():
    half = 12.7062 * 0.005
    interval = jackknife_interval(1.0, np.array([1, 0.99]), (0, 1), log_odds=True)
    # The bias is -0.005, so that the corrected estimate is above 1.
    assert interval == (pytest.approx(1 - half, abs=1e-5), 1)
    interval = jackknife_interval(0.0, np.array([0, 0.01]), (0, 1), log_odds=True)
    assert interval == (0, pytest.approx(half, abs=1e-5))


@pytest.mark.parametrize("strength", [1.5, 2.5])
def test_intervals_of_mauds_aupr_with_few_contracts(script, strength):
    """With margins that are only added to the score, too many intervals lie above."""
    heads = script.HEADS["seven heads"]
    coverage = script.coverage(12, strength, heads, sets=300)
    assert coverage["score and log odds"].covered >= 0.94
    assert coverage["score and log odds"].above <= 0.04
    assert coverage["score"].covered < 0.91


def test_two_units_have_an_interval():
    # Student's t with 1 degree of freedom is 12.7062; the standard error of 0 and 1 is
    # 0.5.
    ends = pytest.approx((0.5 - 6.3531, 0.5 + 6.3531), abs=1e-4)
    assert mean_interval([0.0, 1.0]) == ends
    assert jackknife_interval(0.5, np.array([1.0, 0.0])) == ends


def test_a_percentile_interval_leaves_out_a_fortieth_at_each_end():
    assert percentile_interval(np.arange(41.0)) == pytest.approx((1, 39))
    assert percentile_interval(np.ones(5)) is None


@pytest.mark.parametrize("queries", [57, 12, 5, 3])
def test_mean_intervals_over_few_queries_cover_the_true_mean(queries):
    rng = np.random.default_rng(1)

    def draw(shape):
        # Typical NDCG values: some queries score 0 and some score 1.
        kind = rng.random(shape)
        return np.where(
            kind < 0.15, 0.0, np.where(kind < 0.23, 1.0, rng.beta(1.2, 1, shape))
        )

    truth = draw(1_000_000).mean()
    covered = []
    for row in draw((600, queries)):
        interval = mean_interval(row.tolist(), (0, 1))
        if interval:
            low, high = interval
            covered.append(low <= truth <= high)
    # A percentile bootstrap covers the true mean with probability 0.71 for 3 queries
    # and 0.83 for 5.
    assert np.mean(covered) > 0.91
