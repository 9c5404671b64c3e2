"""Agreement of annotators (Krippendorff's alpha, share of equal pairs) and association
of answers (Cramér's V), compared with calculations by hand.

A unit is what several annotators answered: a tuple of their answers.
"""

import math

import pytest

from lextables.metrics.answers import agreement, alpha, cramers_v


def test_alpha_of_two_coders_and_four_units_is_that_computed_by_hand():
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
    a = frozenset({1})
    overlaps_a = frozenset({1, 2})
    c = frozenset({2})
    # The same alpha as of two different answers: the overlap does not count.
    expected = alpha([("a", "b"), ("c", "c")])
    assert alpha([(a, overlaps_a), (c, c)]) == pytest.approx(expected)
    assert agreement((a, overlaps_a)) == 0.0


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
    answers = [0] * 5 + [1] * 5
    associated = [0, 0, 0, 0, 1, 1, 1, 1, 1, 0]
    expected = math.sqrt((0.36 - 1 / 9) / (8 / 9))
    assert cramers_v(answers, associated) == pytest.approx(expected)


def test_cramers_v_is_one_for_equal_answers_and_zero_below_chance():
    answers = [0] * 5 + [1] * 5
    assert cramers_v(answers, answers) == pytest.approx(1.0)
    assert cramers_v(answers, [0, 1] * 5) == 0.0


def test_cramers_v_of_constant_or_no_answers_is_nan():
    assert math.isnan(cramers_v([0] * 5 + [1] * 5, [3] * 10))
    assert math.isnan(cramers_v([], []))
