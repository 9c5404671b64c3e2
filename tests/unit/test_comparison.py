"""Significance tests between rows: values by hand, brute force, and error rates on
simulated data.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from helpers import stored_pages
from lextables.metrics.classification import GROUPED
from lextables.metrics.intervals import mean_interval
from lextables.tables.cells import Cell, Score
from lextables.tables.comparison import (
    BASELINE,
    FEW,
    MIN_UNITS,
    OTHERS,
    PRINTED,
    RESAMPLES_A_PAIR,
    Pair,
    compare,
    comparisons,
    detectable,
    effect,
    from_csv,
    holm,
    notes,
    sign_flip,
    to_csv,
)
from lextables.tables.published import PublishedCell

RNG = np.random.default_rng(0)


def cells(rows, **changed):
    """Return a cell for each of {system: [values of each run]}, and a function from a
    run to its values.

    The values of a run are {unit: value}, or a list of the values of the units u00,
    u01, ...
    """
    of_run, found = {}, []
    for name, runs in rows.items():
        means, folders = [], []
        for at, values in enumerate(runs):
            if not isinstance(values, dict):
                values = {f"u{n:02}": value for n, value in enumerate(values)}
            folders.append(f"{name}{at}")
            means.append(np.mean([*values.values()]))
            of_run[folders[-1]] = {("NDCG@5", "all"): values}
        score = Score("NDCG@5", name, "NDCG@5", "all", "queries", **changed)
        value = float(score.scale * np.mean(means))
        found.append(Cell(name, "NDCG@5", value, runs=tuple(folders), score=score))
    return found, of_run.__getitem__


def pairs_of(rows, published=(), **changed):
    found, of_run = cells(rows, **changed)
    return compare(found, published, of_run)


def printed(**values):
    return [
        PublishedCell("t", row, "NDCG@5", value, 1, "page 1")
        for row, value in values.items()
    ]


# Sign-flip test.


def test_p_values_equal_those_over_all_sign_flips():
    differences = RNG.normal(0.5, 1, size=(3, 9))
    signs = np.array([*itertools.product((-1, 1), repeat=9)])
    far = np.abs(signs @ differences.T) >= np.abs(differences.sum(axis=1)) - 1e-9
    assert sign_flip(differences) == pytest.approx(far.mean(axis=0))


def test_resampled_p_values_are_close_to_exact_ones_and_reproducible():
    differences = RNG.normal(0.3, 1, size=(5, 13))
    drawn = sign_flip(differences, resamples=8_000)
    assert drawn == pytest.approx(
        sign_flip(differences, resamples=9_000), abs=4 * math.sqrt(0.25 / 8_000)
    )
    assert (drawn == sign_flip(differences, resamples=8_000)).all()
    # The p-value of a pair does not depend on the other pairs.
    assert sign_flip(differences[:1], resamples=8_000) == drawn[:1]


def test_rounding_errors_of_sums_do_not_change_p_values():
    # Many sign flips of multiples of 0.2 have the same sum, except for rounding errors.
    fifths = np.array([[0.2, 0.2, -0.2, 0.4, 0.6, -0.4, 0.2, 0.8]])
    assert sign_flip(fifths) == sign_flip(np.rint(5 * fifths))


def test_identical_rows_do_not_differ_and_a_constant_difference_is_significant():
    assert sign_flip(np.zeros((1, 57))) == [1]
    assert sign_flip(np.full((1, MIN_UNITS), 0.3)) == [2 / 2**MIN_UNITS]
    assert sign_flip(np.full((1, 57), 1e-9)) == pytest.approx([2e-4])


def test_p_values_of_many_pairs_can_be_significant_after_holm():
    rows = RNG.normal(size=(20, 57))
    rows[0] += 3
    differences = np.array(
        [one - other for one, other in itertools.combinations(rows, 2)]
    )
    p_values = sign_flip(differences)
    adjusted = holm(p_values.tolist())
    assert max(adjusted[:19]) < 0.05 < min(adjusted[19:])
    # The smallest resampled p-value is well below the level that Holm requires for the
    # first of 190 tests.
    assert 9 * p_values.min() < 0.05 / len(p_values)


@pytest.mark.parametrize(
    ("p_values", "adjusted"), [([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]), ([], [])]
)
def test_holm_has_the_values_by_hand(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted, abs=1e-12)


def test_holm_has_the_values_of_statsmodels():
    for count in range(1, 20):
        p_values = np.round(RNG.uniform(size=count) ** 3, 2)  # some are equal
        _, adjusted, *_ = multipletests(p_values, method="holm")
        assert holm(p_values) == adjusted.tolist()


@pytest.mark.parametrize(
    ("units", "tests", "within"),
    [
        (10, 1, 0.03),
        (14, 15, 0.05),
        (15, 66, 1e-5),
        (57, 1, 1e-5),
        (57, 45, 1e-5),
        (300, 15, 1e-5),
    ],
)
def test_the_detectable_difference_equals_that_of_a_corrected_paired_t_test(
    units, tests, within
):
    differences = RNG.normal(size=units)
    wanted = TTestPower().solve_power(
        nobs=units, alpha=0.05 / tests, power=0.8
    ) * differences.std(ddof=1)
    assert detectable(differences, tests) == pytest.approx(wanted, rel=within)


def test_nothing_is_detectable_if_the_smallest_p_value_is_too_large():
    # 2 / 2^8 is 0.0078, and 0.05 / 6 is 0.0083.
    assert 1.5 < effect(8, 6) < math.inf
    # Simulated with a fixed seed.
    assert effect(8, 6) == 1.9189453125
    assert effect(10, 1) == 1.0009765625
    assert effect(8, 7) == effect(11, 66) == math.inf and effect(12, 66) < math.inf
    assert detectable(np.array([0.3] * 8), 7) == detectable(np.zeros(8), 7) == math.inf


# From cells to pairs.


def test_a_pair_has_its_difference_and_interval_in_the_unit_of_the_table():
    one, other = RNG.random(20) + 0.5, RNG.random(20)
    (pair,) = pairs_of({"one": [one], "other": [other]}, scale=100)
    differences = 100 * (one - other)
    half = 2.093 * differences.std(ddof=1) / 20**0.5
    assert (pair.measure, pair.one, pair.other) == ("NDCG@5", "one", "other")
    assert pair.difference == pytest.approx(differences.mean())
    assert pair.high - pair.difference == pytest.approx(half, rel=1e-3)
    assert pair.low == pytest.approx(2 * pair.difference - pair.high)
    assert (pair.units, pair.untested) == ("20 queries", "")


def test_the_lower_score_of_a_loss_is_better():
    rows = {"high": [RNG.random(9) + 1], "low": [RNG.random(9)]}
    (pair,) = pairs_of(rows, lower=True)
    assert (pair.one, pair.other) == ("low", "high")
    assert pair.difference < 0 and pair.low < pair.high < 0 and pair.differs


def test_seeds_are_averaged_by_unit_before_rows_are_paired():
    seeds, one = RNG.random((3, 15)), RNG.random(15)
    (several,) = pairs_of({"a": [*seeds], "b": [one]})
    (mean,) = pairs_of({"a": [seeds.mean(axis=0)], "b": [one]})
    assert several.p == mean.p
    assert several.difference == pytest.approx(mean.difference)


def test_the_detectable_difference_is_corrected_for_all_tested_pairs():
    rows = {name: [RNG.random(20)] for name in "abcd"}
    grows = []
    for pair in pairs_of(rows):
        (alone,) = pairs_of({name: rows[name] for name in (pair.one, pair.other)})
        grows.append(pair.detectable / alone.detectable)
    assert grows == pytest.approx([effect(20, 6) / effect(20, 1)] * 6)
    assert grows[0] > 1.2


def test_identical_rows_share_a_group_and_do_not_affect_detectable_differences():
    same, other = RNG.random(12), RNG.random(12)
    pairs = pairs_of({"a": [same], "b": [same], "c": [other]})
    pair = next(pair for pair in pairs if {pair.one, pair.other} == {"a", "b"})
    assert (pair.difference, pair.low, pair.high, pair.p) == (0, 0, 0, 1)
    assert pair.detectable == 0
    (comparison,) = comparisons(pairs)
    assert any({"a", "b"} <= set(group) for group in comparison.groups)
    assert comparison.detectable > 0
    (alone,) = comparisons([pair])
    assert math.isnan(alone.detectable) and not alone.power


def test_identical_rows_find_nothing_where_the_units_are_too_few_for_the_others():
    same = [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    other = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    pairs = pairs_of({"a": [same], "b": [same], "c": [other]})
    assert [pair.detectable for pair in pairs] == [0.0, math.inf, math.inf]
    (comparison,) = comparisons(pairs)
    assert not comparison.can_find
    assert "7 queries are too few for 3 tests" in notes([comparison])[1]


def named(values, prefix="u"):
    return {f"{prefix}{n}": float(value) for n, value in enumerate(values)}


@pytest.mark.parametrize(
    ("one", "other", "untested", "units"),
    [
        (named([1.0] * 5), named([0.0] * 5), FEW, "5 queries"),
        (named([1.0] * 6), named([0.0] * 6), "", "6 queries"),
        (named([1.0] * 9), named([0.0] * 8), OTHERS, "9 queries and 8 queries"),
        (named([1] * 8, GROUPED), named([0] * 8, GROUPED), "", "8 groups of queries"),
    ],
)
def test_pairs_with_too_few_or_other_units_are_not_tested(one, other, untested, units):
    (pair,) = pairs_of({"a": [one], "b": [other]})
    assert (pair.untested, pair.units, pair.difference) == (untested, units, 1)
    assert math.isnan(pair.p) == math.isnan(pair.detectable) == bool(untested)
    assert pair.differs != bool(untested)


def test_untested_pairs_share_no_group():
    # For example, two baselines answer all 149 policies and two models the 20 with
    # available text.
    names = {"prior": 149, "random": 149, "linear": 20, "model": 20}
    rows = {name: [named(RNG.random(units))] for name, units in names.items()}
    pairs = pairs_of(rows)
    assert [pair.untested for pair in pairs].count(OTHERS) == 4
    (comparison,) = comparisons([replace(pair, adjusted=1.0) for pair in pairs])
    assert {frozenset(group) for group in comparison.groups} == {
        frozenset({"prior", "random"}),
        frozenset({"linear", "model"}),
    }
    assert {*comparison.units.split(" or ")} == {"149 queries", "20 queries"}
    assert {*comparison.untested_against("prior")} == {"linear", "model"}


def test_rows_without_a_run_or_a_value_are_not_compared():
    found, of_run = cells({name: [RNG.random(9)] for name in "abc"})
    blank = replace(found[0], runs=(), value=None, reason="no GPU")
    undefined = replace(found[1], value=math.nan)
    assert compare([blank, undefined, found[2]], [], of_run) == []
    exact = replace(found[0], runs=())  # computed without a run
    size = replace(found[1], score=None)
    assert compare([exact, size, found[2]], [], of_run) == []
    assert to_csv([]).count("\n") == 1 and from_csv(to_csv([])) == []


def test_duplicate_systems_in_a_measure_raise():
    found, of_run = cells({"a": [RNG.random(9)]})
    with pytest.raises(ValueError, match="'NDCG@5' name one system"):
        compare(found * 2, [], of_run)


def test_published_neighbours_and_the_baseline_are_untested_pairs():
    rows = {name: [RNG.random(30)] for name in ("a", "b")}
    found, of_run = cells(rows, scale=100)
    found[1] = replace(found[1], baseline="b")
    score = replace(found[0].score, system="c")
    blank = Cell("c", "NDCG@5", None, reason="no GPU", score=score)
    pairs = compare([*found, blank], printed(a="60.0", c="64.5"), of_run)
    tested, lead, baseline = pairs
    assert (lead.untested, lead.one, lead.other) == (PRINTED, "c", "a")
    assert (lead.difference, lead.detectable) == (4.5, tested.detectable)
    assert math.isnan(lead.p) and not tested.untested
    assert (baseline.untested, baseline.one, baseline.other) == (BASELINE, "c", "b")
    assert baseline.difference == pytest.approx(64.5 - found[1].value)
    (comparison,) = comparisons(pairs)
    assert (comparison.printed, comparison.pairs) == ((lead,), (tested,))
    assert set(comparison.systems) == {"a", "b"}


def test_a_baseline_is_compared_only_with_published_values():
    found, of_run = cells({"a": [RNG.random(9)]})
    assert compare(found, printed(a="0.5"), of_run) == []
    assert compare([replace(found[0], baseline="a")], [], of_run) == []


def test_csv_round_trip_of_pairs():
    pairs = pairs_of({"a, or b": [RNG.random(9)], "c": [RNG.random(9)]})
    pairs += pairs_of({"a": [[0.5]], "c": [[0.25]]})
    assert to_csv(from_csv(to_csv(pairs))) == to_csv(pairs)
    assert from_csv(to_csv(pairs))[0] == pairs[0]


def test_detectable_differences_are_limited_by_the_scale_except_for_losses():
    rows = {"a": [[1.0, 0.0] * 3 + [0.0]], "b": [[0.0, 1.0] * 3 + [0.0]]}
    found = [pairs_of(rows, scale=scale)[0].detectable for scale in (1, 100)]
    assert found == [math.inf] * 2
    assert 1 < pairs_of(rows, lower=True)[0].detectable < math.inf


# Notes.


def pair(one, other, adjusted, **changed):
    compared = Pair(
        "AUPR", one, other, 2.0, 1.0, 3.0, adjusted, adjusted, "57 contracts", 4.0
    )
    return replace(compared, **changed)


def groups(ab, ac, bc, **changed):
    """The pairs of three rows with these p-values."""
    names = [("a", "b", ab), ("a", "c", ac), ("b", "c", bc)]
    return [pair(*each, **changed) for each in names]


DIFFERENT = pair("a", "d", math.nan, untested=OTHERS)
LEADS = [
    pair("x", "y", math.nan, untested=PRINTED, difference=difference)
    for difference in (4.5, 0.5)
]
NOTES = {
    "overlapping groups": groups(0.6, 0.01, 0.3),
    "no difference": groups(1.0, 0.05, 0.3),
    "ahead of all others": groups(0.01, 0.01, 0.01),
    "ahead of one, untested against another": [*groups(0.01, 0.01, 0.3), DIFFERENT],
    "no difference in some tests": [*groups(0.6, 0.6, 0.6), DIFFERENT],
    "one test": [pair("a", "b", 0.6)],
    "leads of published rows": [*groups(0.6, 0.01, 0.3), *LEADS],
    "one lead of a published row": [*groups(0.6, 0.01, 0.3), LEADS[1]],
    "detectable by some tests": [
        *groups(0.6, 0.01, 0.3),
        pair("a", "e", 0.6, detectable=2.0),
        pair("b", "e", 0.6, detectable=math.inf),
    ],
    "nothing is detectable": [*groups(0.6, 0.6, 0.6, detectable=math.inf), *LEADS],
    "too few units": [pair("a", "b", math.nan, untested=FEW, units="3 contracts")],
    "seven rows": [pair("a", name, 0.6) for name in "bcdefg"]
    + [pair("b", "c", 0.01, detectable=0.0123)],
    "many measures": [
        pair("a", "b", 0.2, measure=f"m{n}", units=f"{n} contracts")
        for n in range(6, 16)
    ],
}


@pytest.mark.parametrize(("measures", "more"), [(4, False), (5, True)])
def test_notes_say_that_more_measures_are_compared(measures, more):
    pairs = [pair("a", "b", 0.2, measure=f"m{number}") for number in range(measures)]
    text = "\n".join(notes(comparisons(pairs), ""))
    assert ("1 measure" in text) == more
    assert ("compared in that file, too" in text) == more


def test_a_lead_that_equals_the_detectable_difference_is_not_less():
    leads = [replace(lead, difference=4.0) for lead in LEADS]
    _, _, text = notes(comparisons([*groups(0.6, 0.01, 0.3), *leads]))
    assert "leads y by 4.0, not less than that; of the 2 leads" in text
    assert text.endswith("0 are smaller.")


def test_four_rows_are_named_and_more_are_counted():
    for names, end in (("bcde", "b, c, d and e"), ("bcdef", "b, c, d, e and 1 more")):
        pairs = [pair("a", name, 0.01) for name in names]
        pairs = [*pairs, pair("a", "g", math.nan, untested=OTHERS)]
        assert f"ahead of {end} and not tested" in notes(comparisons(pairs))[1]


def test_pairs_with_too_few_units_are_counted_beside_tested_ones():
    pairs = [pair("a", "b", 0.6), pair("c", "d", math.nan, untested=FEW)]
    assert notes(comparisons(pairs))[-1] == (f"1 of 2 pairs are untested: {FEW}.")


@pytest.mark.golden
def test_notes_are_as_stored():
    lines = []
    for name, pairs in NOTES.items():
        lines += [f"# {name}", *notes(comparisons(pairs)), ""]
    lines += notes(comparisons(NOTES["one test"]), "sample data: not comparable")
    assert comparisons(NOTES["overlapping groups"])[0].groups == (
        ("a", "b"),
        ("b", "c"),
    )
    stored_pages.check("notes-of-comparisons.txt", "\n".join(lines) + "\n")


# Error rates in small simulations; docs/statistics.md has the full results.


def queries(rng, rows, units=40, lead=0.0):
    """Simulated values of queries, some of them 0 or 1; half of their variance is
    common to all rows.

    The first row leads the last by ``lead``, and the other rows are halfway between.
    """
    shared = rng.normal(size=units)
    found = np.clip(0.5 + 0.2 * shared + 0.2 * rng.normal(size=(rows, units)), 0, 1)
    skills = np.array([1.0, *[0.5] * (rows - 2), 0.0])
    return found + lead * skills[:, None]


def differing(rng, **options):
    rows = queries(rng, **options)
    return np.array([one - other for one, other in itertools.combinations(rows, 2)])


def p_values_of(sets):
    """Return the p-values of each set of differences after Holm's correction.

    One call tests the pairs of all sets, because p-values do not depend on other pairs.
    """
    # There are enough resamples for the level of the first test to be 20 of them.
    resamples = max(999, RESAMPLES_A_PAIR * len(sets[0]))
    p_values = sign_flip(np.concatenate(sets), resamples)
    return [holm(of_set) for of_set in p_values.reshape(len(sets), -1).tolist()]


@pytest.mark.parametrize(("rows", "units"), [(6, 57), (4, 10)])
def test_false_positives_are_rare_and_intervals_have_the_stated_coverage(rows, units):
    rng, sets = np.random.default_rng(rows), 200
    drawn = [differing(rng, rows=rows, units=units) for _ in range(sets)]
    alarms = sum(min(p_values) < 0.05 for p_values in p_values_of(drawn))
    intervals = [mean_interval(differences[rows - 2]) for differences in drawn]
    covers = sum(low <= 0 <= high for low, high in intervals)
    assert covers < sets
    # With an error rate of 5 %, this limit is exceeded once in a thousand times.
    assert alarms <= sets * 0.05 + 3.1 * math.sqrt(sets * 0.05 * 0.95)
    assert sets - covers <= sets * 0.05 + 3.1 * math.sqrt(sets * 0.05 * 0.95)


@pytest.mark.parametrize(("rows", "units"), [(6, 57), (2, 8)])
def test_a_detectable_difference_is_significant_in_80_percent_of_samples(rows, units):
    rng, sets = np.random.default_rng(10 * rows + units), 200
    tests, ends = math.comb(rows, 2), rows - 2  # the pair that differs by the lead
    sizes = []
    for _ in range(100):
        differences = differing(rng, rows=rows, units=units)
        sizes.append(detectable(differences[ends], tests))
    lead = np.mean(sizes)
    drawn = [differing(rng, rows=rows, units=units, lead=lead) for _ in range(sets)]
    found = sum(p_values[ends] < 0.05 for p_values in p_values_of(drawn))
    assert found / sets == pytest.approx(0.8, abs=3.3 * math.sqrt(0.8 * 0.2 / sets))
