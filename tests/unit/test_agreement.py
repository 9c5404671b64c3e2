"""Agreement of annotators and association of answers, compared with calculations by
hand.
"""

import math

import pytest

from lextables.metrics.answers import agreement, alpha, cramers_v


def test_alpha_of_two_coders_and_four_units():
    # 8 answers, 5 a and 3 b; one unit of four is split.  Pairs within units that
    # differ: 2 of 8, D_o = 1/4; pairs of all answers: 2 * 5 * 3 of 8 * 7, so D_e =
    # 30/56.  1 - (1/4) / (30/56) = 8/15.
    assert alpha([("a", "a"), ("a", "a"), ("a", "b"), ("b", "b")]) == pytest.approx(
        8 / 15
    )


def test_units_are_weighted_by_their_coders_and_single_answers_are_ignored():
    # Coincidences: (a, a, b) gives 2 pairs of a, 4 mixed, each over 3 - 1; (b, b) gives
    # 2.  n = 5, three b.  D_o = (4/2) / 5, D_e = 2 * 2 * 3 / (5 * 4).
    expected = 1 - (2 / 5) / (12 / 20)
    assert alpha([("a", "a", "b"), ("b", "b")]) == pytest.approx(expected)
    assert alpha([("a", "a", "b"), ("b", "b"), ("c",)]) == pytest.approx(expected)


def test_sets_agree_only_if_they_are_equal():
    one = frozenset({1})
    other = frozenset({2})
    both = frozenset({1, 2})
    # Sets that only overlap do not agree.
    assert alpha([(one, both), (other, other)]) == pytest.approx(
        alpha([("a", "b"), ("c", "c")])
    )
    assert agreement((one, both)) == 0.0


@pytest.mark.parametrize("units", [[("a", "a"), ("a", "a")], [("a",), ("b",)], []])
def test_alpha_is_nan_if_all_answers_are_equal_or_none_is_paired(units):
    assert math.isnan(alpha(units))


@pytest.mark.parametrize(
    ("unit", "share"),
    [("aa", 1.0), ("ab", 0.0), ("aab", 1 / 3), ("aabb", 2 / 6), ("aaaab", 6 / 10)],
)
def test_agreement_is_the_share_of_equal_pairs(unit, share):
    assert agreement(unit) == pytest.approx(share)


def test_agreement_of_one_answer_is_nan():
    assert math.isnan(agreement(("a",)))


def test_cramers_v_equals_a_calculation_by_hand():
    # [[4, 1], [1, 4]]: chi square = 10 * (16 - 1)**2 / 5**4 = 3.6, phi2 = 0.36.
    # Subtract its bias of 1/9, and divide by min(2 - 1/9) - 1 = 8/9.
    one = [0] * 5 + [1] * 5
    other = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]
    assert cramers_v(one, other) == pytest.approx(math.sqrt((0.36 - 1 / 9) / (8 / 9)))
    assert cramers_v(one, one) == pytest.approx(1.0)
    assert cramers_v(one, [0, 1] * 5) == 0.0  # less than expected by chance
    assert math.isnan(cramers_v(one, [3] * 10)) and math.isnan(cramers_v([], []))
