"""Sampling intervals: values computed by hand, and how often they cover a known true
value.
"""

import numpy as np
import pytest

from lextables.metrics.intervals import (
    exact_share_interval,
    jackknife_interval,
    mean_interval,
    percentile_interval,
    share_interval,
)

NAN = float("nan")


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
