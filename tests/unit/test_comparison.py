"""Significance tests between rows: values by hand, brute force, and error rates on simulated data."""

import gc
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from lextables.metrics.classification import GROUPED
from lextables.metrics.intervals import mean_interval
from lextables.tables.cells import Cell, Score
from lextables.tables.comparison import (
    BASELINE,
    FEW,
    METHOD,
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
    """Return a cell for each of {system: [values of each run]}, and a function from a run to its values.

    The values of a run are {unit: value}, or a list of the values of the units u00, u01, ...
    """
    of_run, found = {}, []
    for name, runs in rows.items():
        for at, values in enumerate(runs):
            named = (
                values
                if isinstance(values, dict)
                else {f"u{n:02}": v for n, v in enumerate(values)}
            )
            of_run[f"{name}{at}"] = {("NDCG@5", "all"): named}
        score = Score("NDCG@5", name, "NDCG@5", "all", "queries", **changed)
        mean = np.mean(
            [
                np.mean([*one["NDCG@5", "all"].values()])
                for key, one in of_run.items()
                if key[:-1] == name
            ]
        )
        folders = tuple(f"{name}{at}" for at in range(len(runs)))
        found.append(
            Cell(name, "NDCG@5", float(score.scale * mean), runs=folders, score=score)
        )
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
    # The smallest resampled p-value is well below the level that Holm requires for the first of 190 tests.
    assert 9 * p_values.min() < 0.05 / len(p_values)


@pytest.mark.parametrize(
    ("p_values", "adjusted"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
        ([0.5, 0.5, 0.9], [1, 1, 1]),
        ([0.02, 0.02], [0.04, 0.04]),
        ([0.0002], [0.0002]),
        ([], []),
    ],
)
def test_holm_has_the_values_by_hand(p_values, adjusted):
    assert holm(p_values) == pytest.approx(adjusted, abs=1e-12)


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
    assert effect(8, 7) == effect(11, 66) == math.inf and effect(12, 66) < math.inf
    assert detectable(np.array([0.3] * 8), 7) == detectable(np.zeros(8), 7) == math.inf


def test_the_detectable_difference_is_corrected_for_the_number_of_tests():
    rows = {name: [RNG.random(20)] for name in "abcd"}
    alone = {
        frozenset((one, other)): pairs_of({one: rows[one], other: rows[other]})[
            0
        ].detectable
        for one, other in itertools.combinations(rows, 2)
    }
    pairs = pairs_of(rows)
    grows = [
        pair.detectable / alone[frozenset((pair.one, pair.other))] for pair in pairs
    ]
    assert (
        grows == pytest.approx([effect(20, 6) / effect(20, 1)] * 6) and grows[0] > 1.2
    )


# From cells to pairs.


def test_the_difference_of_a_pair_is_in_the_unit_of_the_table():
    one, other = RNG.random(20), RNG.random(20)
    found, _ = cells({"one": [one], "other": [other]}, scale=100)
    (pair,) = pairs_of({"one": [one], "other": [other]}, scale=100)
    best, last = sorted(found, key=lambda cell: -cell.value)
    assert (pair.measure, pair.one, pair.other) == ("NDCG@5", best.row, last.row)
    assert pair.difference == pytest.approx(best.value - last.value)
    assert pair.low < pair.difference < pair.high and pair.units == "20 queries"
    assert pair.high - pair.low == pytest.approx(
        2 * 2.093 * (100 * (one - other)).std(ddof=1) / 20**0.5, rel=1e-3
    )


def test_the_lower_score_of_a_loss_is_better():
    (pair,) = pairs_of(
        {"high": [RNG.random(9) + 1], "low": [RNG.random(9)]}, lower=True
    )
    assert (pair.one, pair.other) == ("low", "high")
    assert pair.difference < 0 and pair.low < pair.high < 0 and pair.differs


def test_seeds_are_averaged_by_unit_before_rows_are_paired():
    seeds, one = RNG.random((3, 15)), RNG.random(15)
    (several,) = pairs_of({"a": [*seeds], "b": [one]})
    (mean,) = pairs_of({"a": [seeds.mean(axis=0)], "b": [one]})
    assert several.p == mean.p
    assert (several.difference, several.low) == pytest.approx(
        (mean.difference, mean.low)
    )


def test_identical_rows_share_a_group_and_do_not_affect_detectable_differences():
    same, other = RNG.random(12), RNG.random(12)
    pairs = pairs_of({"a": [same], "b": [same], "c": [other]})
    pair = next(pair for pair in pairs if {pair.one, pair.other} == {"a", "b"})
    assert (pair.difference, pair.low, pair.high, pair.p, pair.detectable) == (
        0,
        0,
        0,
        1,
        0,
    )
    (comparison,) = comparisons(pairs)
    assert (
        any({"a", "b"} <= set(group) for group in comparison.groups)
        and comparison.detectable > 0
    )
    (alone,) = comparisons([pair])
    assert math.isnan(alone.detectable)
    assert "is found" not in notes([alone])[1] and not alone.power


@pytest.mark.parametrize("units", [1, 2, MIN_UNITS - 1])
def test_too_few_units_are_not_tested_and_a_note_is_added(units):
    pairs = pairs_of({"a": [[1.0] * units], "b": [[0.0] * units]})
    (pair,) = pairs
    assert (pair.untested, pair.difference, math.isnan(pair.p), pair.differs) == (
        FEW,
        1,
        True,
        False,
    )
    (comparison,) = comparisons(pairs)
    assert (comparison.pairs, comparison.systems, comparison.groups) == (
        (),
        ("a", "b"),
        (("a",), ("b",)),
    )
    assert notes([comparison]) == [
        "1 measure is not tested: a test needs at least 6 queries."
    ]


def test_six_units_are_enough_for_a_test():
    (pair,) = pairs_of({"a": [[1.0] * 6], "b": [[0.0] * 6]})
    assert (pair.untested, pair.p, pair.differs) == ("", 2 / 2**6, True)


def test_rows_scored_on_different_units_are_not_tested_and_a_note_is_added():
    values = {f"u{n}": float(v) for n, v in enumerate(RNG.random(9))}
    less = {
        unit: value for unit, value in values.items() if unit != "u3"
    }  # as if u3 had no score
    pairs = pairs_of(
        {
            "a": [values],
            "b": [{unit: value / 2 for unit, value in values.items()}],
            "c": [less],
        }
    )
    untested = [pair for pair in pairs if pair.untested]
    assert [(pair.untested, {pair.one, pair.other} & {"c"}) for pair in untested] == [
        (OTHERS, {"c"})
    ] * 2
    assert {pair.units for pair in untested} <= {
        "9 queries and 8 queries",
        "8 queries and 9 queries",
    }
    (comparison,) = comparisons(pairs)
    assert all("c" not in group or group == ("c",) for group in comparison.groups)
    assert comparison.untested_against("c") == [
        name for name in comparison.systems if name != "c"
    ]
    assert notes([comparison])[-1] == (
        "2 of 3 pairs are untested: scored on different units."
    )


def test_untested_pairs_share_no_group_and_are_listed_for_the_best_row():
    # For example, two baselines answer all 149 policies and two models the 20 with available text.
    names = {"prior": 149, "random": 149, "linear": 20, "model": 20}
    rows = {
        name: [{f"u{n}": float(v) for n, v in enumerate(RNG.random(units))}]
        for name, units in names.items()
    }
    pairs = pairs_of(rows)
    apart = [pair for pair in pairs if names[pair.one] != names[pair.other]]
    assert {pair.untested for pair in apart} == {OTHERS} and len(apart) == 4
    assert all(
        math.isnan(pair.detectable) and math.isnan(pair.adjusted) for pair in apart
    )
    (comparison,) = comparisons([replace(pair, adjusted=1.0) for pair in pairs])
    assert {frozenset(group) for group in comparison.groups} == {
        frozenset({"prior", "random"}),
        frozenset({"linear", "model"}),
    }
    assert {*comparison.units.split(" or ")} == {"149 queries", "20 queries"}
    _, leading, last = notes([comparison])
    assert "none of 2 tests distinguishes two rows; a difference of " in leading
    assert last.startswith("4 of 6 pairs are untested")
    best, rival = next((pair.one, pair.other) for pair in pairs if not pair.untested)
    found = [
        replace(pair, adjusted=0.01 if (pair.one, pair.other) == (best, rival) else 1.0)
        for pair in pairs
    ]
    leading = notes(comparisons(found))[1]
    first = pairs[0].one
    others = [name for name in comparison.systems if names[name] != names[first]]
    assert f"not tested against {others[0]} and {others[1]}; " in leading


def test_groups_of_units_are_named_as_groups():
    grouped = {f"{GROUPED}{n}": float(v) for n, v in enumerate(RNG.random(8))}
    (pair,) = pairs_of(
        {"a": [grouped], "b": [{name: value / 2 for name, value in grouped.items()}]}
    )
    assert pair.units == "8 groups of queries"


def test_rows_without_a_run_or_a_value_are_not_compared():
    found, of_run = cells(
        {"a": [RNG.random(9)], "b": [RNG.random(9)], "c": [RNG.random(9)]}
    )
    found[0] = replace(found[0], runs=(), value=None, reason="no GPU")
    found[1] = replace(found[1], value=math.nan)
    assert compare(found, [], of_run) == []
    assert to_csv([]).count("\n") == 1 and from_csv(to_csv([])) == []


def test_duplicate_systems_in_a_measure_raise():
    found, of_run = cells({"a": [RNG.random(9)]})
    with pytest.raises(ValueError, match="'NDCG@5' name one system"):
        compare(found * 2, [], of_run)


def test_published_neighbours_and_the_baseline_are_untested_pairs():
    rows = {name: [RNG.random(30)] for name in ("a", "b")}
    found, of_run = cells(rows, scale=100)
    found[1] = replace(found[1], baseline="b")
    blank = Cell(
        "c", "NDCG@5", None, reason="no GPU", score=replace(found[0].score, system="c")
    )
    pairs = compare([*found, blank], printed(a="60.0", c="64.5"), of_run)
    tested, lead, baseline = pairs
    assert not tested.untested
    assert (lead.untested, lead.one, lead.other, lead.difference) == (
        PRINTED,
        "c",
        "a",
        4.5,
    )
    assert lead.detectable == tested.detectable and math.isnan(lead.p)
    assert (baseline.untested, baseline.one, baseline.other) == (BASELINE, "c", "b")
    assert baseline.difference == pytest.approx(64.5 - found[1].value)
    (comparison,) = comparisons(pairs)
    assert (comparison.printed, comparison.pairs, set(comparison.systems)) == (
        (lead,),
        (tested,),
        {"a", "b"},
    )
    assert (
        notes([comparison])[2]
        == "In the published values c leads a by 4.5, less than that."
    )


def test_csv_round_trip_of_pairs():
    pairs = pairs_of({"a, or b": [RNG.random(9)], "c": [RNG.random(9)]})
    pairs += pairs_of({"a": [[0.5]], "c": [[0.25]]})
    assert to_csv(from_csv(to_csv(pairs))) == to_csv(pairs)
    assert from_csv(to_csv(pairs))[0] == pairs[0]


# Notes.


def pair(one, other, adjusted, **changed):
    compared = Pair(
        "AUPR", one, other, 2.0, 1.0, 3.0, adjusted, adjusted, "57 contracts", 4.0
    )
    return replace(compared, **changed)


def test_groups_overlap_if_only_the_first_and_the_last_row_differ():
    (comparison,) = comparisons(
        [pair("a", "b", 0.6), pair("a", "c", 0.01), pair("b", "c", 0.3)]
    )
    assert comparison.systems == ("a", "b", "c")
    assert comparison.groups == (("a", "b"), ("b", "c"))
    assert notes([comparison]) == [
        METHOD,
        "AUPR, 57 contracts: a is not distinguished from b; a difference of 4.0 is detected with 80 % power.",
    ]


def test_power_is_stated_with_its_range_and_the_tests_with_too_few_units():
    sizes = {("a", "b"): 2.0, ("a", "c"): 4.0, ("b", "c"): 7.0}
    found = [pair(*names, 0.6, detectable=size) for names, size in sizes.items()]
    (comparison,) = comparisons(found)
    assert comparison.detectable == 4.0
    assert (
        comparison.power
        == "a difference of 4.0 (by pair 2.0 to 7.0) is detected with 80 % power"
    )
    (comparison,) = comparisons([*found[:2], replace(found[2], detectable=math.inf)])
    assert comparison.power.endswith(", and none by 1 of 3 tests with too few units")
    assert comparison.detectable == 3.0


def test_there_is_no_other_note_if_no_difference_is_detectable():
    rows = {f"r{n}": [RNG.random(8)] for n in range(12)}
    found, of_run = cells(rows)
    (comparison,) = comparisons(compare(found, printed(r0="0.9", r1="0.8"), of_run))
    assert comparison.detectable == math.inf
    assert notes([comparison]) == [
        METHOD,
        "NDCG@5: 8 queries are too few for 66 tests: no difference is detected with 80 % power.",
    ]


def test_detectable_differences_are_limited_by_the_scale_except_for_losses():
    rows = {"a": [[1.0, 0.0] * 3 + [0.0]], "b": [[0.0, 1.0] * 3 + [0.0]]}
    found = [pairs_of(rows, scale=scale)[0].detectable for scale in (1, 100)]
    assert found == [math.inf] * 2
    loss = pairs_of(rows, lower=True)[0].detectable
    assert 1 < loss < math.inf


def test_the_notes_state_once_that_no_rows_differ():
    (comparison,) = comparisons(
        [pair("a", "b", 1.0), pair("a", "c", 0.05), pair("b", "c", 0.3)]
    )
    assert comparison.groups == (("a", "b", "c"),)
    assert "no two of the 3 rows are distinguished" in notes([comparison])[1]
    of_the_sample = notes([comparison], "sample data: not comparable with the paper")
    assert of_the_sample[0].endswith(
        "comparison.csv. Computed on sample data: not comparable with the paper."
    )


def test_notes_are_limited_to_the_measures_with_the_most_units():
    tested = [
        pair("a", "b", 0.2, measure=f"m{n}", units=f"{n} contracts")
        for n in range(6, 16)
    ]
    said = notes(comparisons(tested))
    assert [one.split(",")[0] for one in said[1:5]] == ["m15", "m14", "m13", "m12"]
    assert said[5:] == ["6 measures are compared in that file, too."]


# Error rates in small simulations; docs/statistics.md has the full results.


def queries(rng, rows, units=40, lead=0.0):
    """Simulated values of queries, some of them 0 or 1; half of their variance is common to all rows.

    The first row leads the last by ``lead``, and the other rows are halfway between.
    """
    shared = rng.normal(size=units)
    found = np.clip(0.5 + 0.2 * shared + 0.2 * rng.normal(size=(rows, units)), 0, 1)
    skills = np.array([1.0, *[0.5] * (rows - 2), 0.0])
    return found + lead * skills[:, None]


def differing(rng, **options):
    rows = queries(rng, **options)
    return np.array([one - other for one, other in itertools.combinations(rows, 2)])


@pytest.fixture
def quick_collection():
    """Every call of statsmodels' `multipletests` collects garbage: of new objects only."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("quick_collection")
@pytest.mark.parametrize(("rows", "units"), [(6, 57), (4, 10)])
def test_false_positives_are_rare_and_intervals_have_the_stated_coverage(rows, units):
    rng, sets = np.random.default_rng(rows), 200
    alarms = covers = 0
    for _ in range(sets):
        differences = differing(rng, rows=rows, units=units)
        # There are enough resamples for the level of the first test to be 20 of them.
        p_values = sign_flip(differences, max(999, RESAMPLES_A_PAIR * len(differences)))
        alarms += min(holm(p_values.tolist())) < 0.05
        low, high = mean_interval(differences[rows - 2])
        covers += low <= 0 <= high
    assert covers < sets
    # With an error rate of 5 %, this limit is exceeded once in a thousand times.
    assert alarms <= sets * 0.05 + 3.1 * math.sqrt(sets * 0.05 * 0.95)
    assert sets - covers <= sets * 0.05 + 3.1 * math.sqrt(sets * 0.05 * 0.95)


@pytest.mark.usefixtures("quick_collection")
@pytest.mark.parametrize(("rows", "units"), [(6, 57), (2, 8)])
def test_a_detectable_difference_is_significant_in_80_percent_of_samples(rows, units):
    rng, sets = np.random.default_rng(10 * rows + units), 200
    tests, ends = (
        math.comb(rows, 2),
        rows - 2,
    )  # index of the pair that differs by the whole lead
    lead = np.mean(
        [
            detectable(differing(rng, rows=rows, units=units)[ends], tests)
            for _ in range(100)
        ]
    )
    found = 0
    for _ in range(sets):
        differences = differing(rng, rows=rows, units=units, lead=lead)
        p_values = sign_flip(differences, max(999, RESAMPLES_A_PAIR * tests))
        found += holm(p_values.tolist())[ends] < 0.05
    assert found / sets == pytest.approx(0.8, abs=3.3 * math.sqrt(0.8 * 0.2 / sets))
