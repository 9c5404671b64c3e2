"""The leaderboard over all tasks."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from lextables.papers.registry import Headline, Shown, TableEntry
from lextables.report.leaderboard import (
    BEHIND,
    BEST,
    FEW,
    LEVEL,
    UNTESTED,
    benchmarks,
    leaderboard,
    means,
    pages,
    place_intervals,
    resampled,
    short_names,
)
from lextables.tables import published
from lextables.tables.cells import Cell, Line, Score, build
from lextables.tables.comparison import OTHERS, PRINTED, Pair, compare, contributions

RESOURCES = Path(__file__).parents[2] / "resources"


@dataclass
class Exhibit:
    name: str
    entry: TableEntry
    lines: list
    pairs: list
    sources: tuple = ({"variant": "published", "comparable": True},)
    units: object = None


@dataclass
class Part:
    name: str
    exhibits: list

    @property
    def short(self):
        return self.name.upper()


def of_data(found, variant):
    return replace(found, sources=({"variant": variant, "comparable": False},))


def line(row, column, ours="", model="", printed="", low="", high="", difference="", seeds=("", "")):
    reproduced = ours if printed else ""
    runs = f"runs/any/read/{model}/all/seed0 runs/any/read/{model}/all/seed1" if model else ""
    own = "" if printed else ours
    return Line(row, column, printed, reproduced, own, low, high, difference, *seeds, 1, "", "", runs)


def pair(measure, one, other, difference, adjusted=1.0, **changed):
    low, high = difference - 1, difference + 1
    compared = Pair(measure, one, other, difference, low, high, adjusted, adjusted, "57 queries", 3.0)
    return replace(compared, **changed)


def exhibit(lines, pairs, **headline):
    return Exhibit("table1", TableEntry(title="t", where="w", headline=Headline(**headline)), lines, pairs)


NDCG = exhibit(
    [
        line("GPT", "NDCG", printed="80.0"),
        line("BERT", "NDCG", "76.0", "bert", printed="77.0", low="70.0", high="82.0",
             difference="-1.0", seeds=("75.00", "77.00")),
        line("MiniLM", "NDCG", "75.0", "minilm", low="69.0", high="81.0"),
        line("BM25", "NDCG", "60.0", "bm25", low="52.0", high="68.0"),
        line("BM25", "Size", "1", "bm25"),
    ],
    [
        pair("NDCG", "BERT", "MiniLM", 1.0, 0.6), pair("NDCG", "BERT", "BM25", 16.0, 0.001),
        pair("NDCG", "MiniLM", "BM25", 15.0, 0.002), pair("NDCG", "GPT", "BERT", 3.5, untested=PRINTED),
        pair("Size", "x", "y", 1.0),
    ],
    column="NDCG",
)  # fmt: skip
LOSS = exhibit(
    [
        line("overall", "MiniLM", "0.30", "minilm"), line("overall", "Prior", "0.20", "prior"),
        line("overall", "GPT-4", printed="0.10"), line("C", "Prior", "0.9", "prior"),
    ],
    [pair("overall", "Prior", "MiniLM", -0.1, 0.01)], row="overall", lower=True,
)  # fmt: skip
PARTS = [Part("one", [NDCG]), Part("two", [LOSS])]


def test_a_benchmark_lists_rows_that_ran_by_score_then_published_rows():
    one, two = benchmarks(PARTS)
    assert (one.name, one.comparison.units) == ("ONE, Table 1: NDCG", "57 queries")
    assert [(row.system, row.model, row.score, row.published) for row in one.rows] == [
        ("BERT", "bert", "76.0", False), ("MiniLM", "minilm", "75.0", False), ("BM25", "bm25", "60.0", False),
        ("GPT", "", "80.0", True),
    ]  # fmt: skip
    assert [row.beside_best for row in one.rows] == [BEST, LEVEL, BEHIND, ""]
    assert [row.rank for row in one.rows] == [1, 1, 3, 0]
    assert one.rows[0].seeds == "75.00 to 77.00"
    assert [row.system for row in two.rows] == ["Prior", "MiniLM", "GPT-4"]


def test_a_row_shows_the_training_data_of_its_model():
    (page,) = pages(PARTS, {}, {"runs/any/read/bert/all/seed0": "cuad"})
    (_, cells), *_ = page.values["benchmarks"]
    assert [row[-1] for row in cells] == ["cuad", "–", "–", "–"]


def test_published_values_are_hidden_if_the_data_are_not_the_papers():
    (found,) = benchmarks([Part("one", [of_data(NDCG, "stand_in")])])
    assert [row.system for row in found.rows] == ["BERT", "MiniLM", "BM25"]
    nothing = exhibit([line("GPT", "NDCG", printed="80.0")], [], column="NDCG")
    assert benchmarks([Part("one", [of_data(nothing, "stand_in")])]) == []


def test_the_sample_is_ranked_but_stand_in_data_are_not():
    (found,) = benchmarks([Part("one", [of_data(NDCG, "stand_in")])])
    assert found.unranked == "stand_in data: not comparable with the paper"
    assert leaderboard([found]) == []
    (found,) = benchmarks([Part("one", [of_data(NDCG, "sample")])])
    assert not found.unranked and len(leaderboard([found])) == 3


def privacy(*scores):
    lines = [line(name, "f1", score, name) for name, score in scores]
    return exhibit(lines, [], column="f1", chance=("at random", "nothing"))


def test_chance_rows_have_no_rank():
    (found,) = benchmarks(
        [Part("p", [privacy(("a", "9.0"), ("at random", "8.0"), ("b", "7.0"), ("nothing", "0"))])]
    )
    assert [row.rank for row in found.rows] == [1, 0, 2, 0]
    assert [model.name for model in leaderboard([found])] == ["a", "b"]


@pytest.mark.parametrize("best", ["9.0", "8.0"])
def test_no_row_is_ranked_if_none_is_better_than_random_answers(best):
    (found,) = benchmarks([Part("p", [privacy(("at random", best), ("a", "8.0"), ("b", "7.0"))])])
    assert [row.rank for row in found.rows] == [0, 0, 0] and leaderboard([found]) == []
    assert "random answers score best" in found.unranked


def test_without_tests_rows_with_equal_scores_share_a_rank():
    lines = [line(name, "NDCG", score, name) for name, score in (("a", "7.0"), ("b", "7.0"), ("c", "5.0"))]
    (found,) = benchmarks([Part("one", [exhibit(lines, [], column="NDCG")])])
    assert [row.rank for row in found.rows] == [1, 1, 3]


def test_a_model_first_in_three_benchmarks_precedes_one_first_in_one():
    def benchmark(name, *best_first):
        scores = zip(best_first, ("9.0", "8.0", "7.0", "6.0"), strict=False)
        return exhibit([line(system, "f1", score, system) for system, score in scores], [], column="f1")

    parts = [Part("easy", [benchmark("easy", "single", "weak")])]
    parts += [Part(f"p{n}", [benchmark("p", "oracle", "bm25", "weak")]) for n in range(3)]
    parts += [Part("hard", [benchmark("hard", "bm25", "weak", "other", "oracle")])]
    assert [model.name for model in leaderboard(benchmarks(parts))] == [
        "oracle", "bm25", "single", "weak", "other"
    ]  # fmt: skip


def test_a_users_model_has_its_name_everywhere_and_the_rank_of_its_best_row():
    lines = [
        line("Chance=1/3 / Oracle, long", "f1", "7.0", "own-oracle"),
        line("Chance=1/3 / Oracle, short", "f1", "9.0", "bm25+own-oracle"),
        line("Chance=1/3 / BM25 / None", "f1", "8.0", "bm25"),
    ]
    parts = [Part("a", [exhibit(lines, [], column="f1")])]
    parts += [Part("b", [exhibit([line("Oracle", "f1", "5.0", "own-oracle"),
                                  line("BM25", "f1", "4.0", "bm25-okapi")], [], column="f1")])]  # fmt: skip
    models = leaderboard(benchmarks(parts), {"own-oracle": "Oracle"})
    assert [(model.name, [row.system for _, row in model.rows]) for model in models] == [
        ("Oracle", ["Chance=1/3 / Oracle, short", "Oracle"]),
        ("BM25", ["Chance=1/3 / BM25 / None", "BM25"]),
    ]


def test_short_names_omit_the_start_and_end_that_all_rows_share():
    def named(*systems):
        lines = [line(system, "f1", f"{9 - at}.0", "m") for at, system in enumerate(systems)]
        (found,) = benchmarks([Part("p", [exhibit(lines, [], column="f1")])])
        return [*short_names(found).values()]

    assert named("3 / all / A", "3 / all / B / None") == ["A", "B"]
    assert named("A (AUPR)", "B, joined (AUPR)") == ["A", "B, joined"]
    assert named("A (x)", "B (y)", "C") == ["A (x)", "B (y)", "C"]
    assert named("None", "A / B") == ["None", "A / B"]
    assert named("A", "B") == ["A", "B"]
    assert named("A / B (AUPR)") == ["A / B (AUPR)"]


def test_the_page_names_user_models_and_says_why_a_benchmark_is_not_ranked():
    lines = [line("x", "f1", "9.0", "bm25+own-oracle"), line("BM25", "f1", "8.0", "bm25")]
    parts = [Part("a", [exhibit(lines, [], column="f1")]), Part("b", [of_data(NDCG, "stand_in")])]
    (board,) = pages(parts, {"extra_models": [], "extra_predictions": [{"name": "Oracle"}]}, {})
    assert board.values["rows"] == [["Oracle", "1", "1: 9.0"], ["BM25", "1", "2: 8.0"]]
    assert [benchmark.name for benchmark, _ in board.values["benchmarks"]] == ["A, Table 1: f1"]
    why = "Not ranked: B, Table 1: NDCG (stand_in data: not comparable with the paper)."
    assert board.values["notes"] == [why]
    (alone,) = pages(parts[1:], {}, {})
    assert alone.values["benchmarks"] == [] and alone.values["notes"] == [why]
    assert pages([], {}, {}) == []


def test_rows_with_the_same_key_and_different_names_are_different_models():
    # For example, `minilm` is a fine-tuned encoder in one paper and a linear model in another.
    parts = [Part(name, [exhibit([line(f"MiniLM, {name}", "f1", "7.0", "minilm"),
                                  line("BM25", "f1", "6.0", "bm25")], [], column="f1")])
             for name in ("tuned", "frozen")]  # fmt: skip
    models = leaderboard(benchmarks(parts))
    assert [model.name for model in models] == ["MiniLM, frozen", "MiniLM, tuned", "BM25"]


def test_the_only_model_of_a_benchmark_has_no_rank():
    alone = exhibit([line("z", "NDCG", "5.0", "a-first")], [], column="NDCG")
    (found,) = benchmarks([Part("three", [alone])])
    assert found.rows[0].rank == 0 and found.unranked and leaderboard([found]) == []


def test_only_rows_of_the_given_measure_are_used_if_a_column_has_two():
    lines = [
        line(name, "(6)", score, name)
        for name, score in (("3 / a", "0.7"), ("3 / b", "0.6"), ("2 / a", "0.9"))
    ]
    pairs = [pair("(6) of 3", "3 / a", "3 / b", 0.1)]
    (found,) = benchmarks([Part("one", [exhibit(lines, pairs, column="(6)", measure="(6) of 3")])])
    assert [row.system for row in found.rows] == ["3 / a", "3 / b"]


def test_headline_columns_and_rows_exist_in_the_published_values():
    found = 0
    for path in sorted((RESOURCES / "papers").glob("*.yaml")):
        raw = yaml.safe_load(path.read_text())
        paper = Shown.model_validate({key: value for key, value in raw.items() if key in Shown.model_fields})
        values = published.load(RESOURCES / f"published/{path.stem}.csv")
        for name, entry in paper.tables.items():
            if headline := entry.headline:
                places = {
                    cell.column if headline.column else cell.row for cell in values if cell.table == name
                }
                assert (headline.column or headline.row) in places, (path.stem, name)
                found += 1
    assert found >= 5


def test_rows_on_other_units_are_untested_and_others_may_have_too_few_units():
    pairs = [replace(NDCG.pairs[0], untested=OTHERS), replace(NDCG.pairs[1], adjusted=1, detectable=math.inf)]
    (found,) = benchmarks([Part("one", [exhibit(NDCG.lines, [*pairs, NDCG.pairs[2]], column="NDCG")])])
    assert [row.beside_best for row in found.rows[:3]] == [BEST, UNTESTED, FEW]
    assert [row.rank for row in found.rows] == [1, 0, 1, 0]


# Intervals of places and means, from resampled units.


def scored(names, scores):
    """Return an exhibit with paired tests from ``scores`` of each unit, float64 (systems, units)."""
    cells = [
        Cell(name, "NDCG", 100 * float(values.mean()), runs=(f"runs/any/read/{name}/all/seed0",),
             score=Score("NDCG", name, "ndcg", "all", "queries", 100), decimals=2)
        for name, values in zip(names, scores, strict=True)
    ]  # fmt: skip
    of_run = {
        cell.runs[0]: {("ndcg", "all"): {f"q{unit:03}": value for unit, value in enumerate(values.tolist())}}
        for cell, values in zip(cells, scores, strict=True)
    }
    found = exhibit(build([], cells, True), compare(cells, [], of_run.get), column="NDCG")
    return replace(found, units=contributions(cells, of_run.get))


def simulated(truth, units, draw):
    """Simulate scores of systems with true scores ``truth``; a unit is easy or hard for all systems."""
    noise = draw.normal(0, 0.15, (1, units)) + draw.normal(0, 0.1, (len(truth), units))
    return 0.5 + np.asarray(truth)[:, None] + noise


def test_rows_that_do_not_differ_share_a_rank_and_places_have_intervals():
    scores = simulated([0.2, 0.195, 0.19, 0], 60, np.random.default_rng(1))
    (found,) = benchmarks([Part("one", [scored("abcd", scores)])])
    assert [row.rank for row in found.rows] == [1, 1, 1, 4]
    assert found.rows[3].place == "4 [4, 4]"
    firsts = {row.place.split(" ", 1)[1] for row in found.rows[:3]}
    assert firsts <= {"[1, 3]", "[1, 2]", "[2, 3]"} and "[1, 3]" in firsts


def test_intervals_of_places_and_means_cover_the_true_values():
    draw, hits, of_mean = np.random.default_rng(2), [], []
    for _ in range(400):
        truth = draw.normal(0, 0.015, 8)
        names = [*"abcdefgh"]
        units = pd.DataFrame(
            [("NDCG", name, f"q{unit:03}", value)
             for name, values in zip(names, simulated(truth, 57, draw), strict=True)
             for unit, value in enumerate(values)],
            columns=["measure", "system", "unit", "value"],
        )  # fmt: skip
        draws = resampled(units, "NDCG", names)
        places = place_intervals(draws)
        true = 1 + (truth[None] > truth[:, None]).sum(axis=1)
        hits += [low <= place <= high for place, (low, high) in zip(true, places.values(), strict=True)]
        low, high = np.quantile(draws["a"], [0.025, 0.975])
        of_mean.append(low <= 0.5 + truth[0] <= high)
    assert 0.925 <= np.mean(hits) <= 0.97
    assert 0.925 <= np.mean(of_mean) <= 0.97


def test_means_are_over_benchmarks_that_the_same_models_ran_on():
    draw = np.random.default_rng(3)
    first = scored("abc", simulated([0.3, 0.2, 0.1], 40, draw))
    second = scored("abd", simulated([0.3, 0.2, 0.4], 40, draw))
    few = scored("ab", simulated([0.3, 0.2], 5, draw))
    parts = [Part("one", [first]), Part("two", [second]), Part("few", [few])]
    models = leaderboard(benchmarks(parts))
    (mean,) = means(models)
    assert [benchmark.paper for benchmark in mean.benchmarks] == ["one", "two"]
    assert [row[0] for row in mean.rows] == ["a", "b"]
    _, value, low, high, *place = mean.rows[0]
    own = [float(row.score) / 100 for model in models if model.name == "a" for _, row in model.rows]
    assert low < value < high and place == [1, 1, 1] and value == pytest.approx(np.mean(own[:2]), abs=0.005)
    assert means([model for model in models if model.name in "cd"]) == []


def test_rows_on_other_units_are_ignored_and_lower_losses_get_better_places():
    draw = np.random.default_rng(4)
    found = scored("ab", simulated([0.3, 0.2], 40, draw))
    other = found.units[found.units.system == "a"].assign(system="c")
    other["unit"] = "x" + other.unit
    assert resampled(pd.concat([found.units, other]), "NDCG", "abc").keys() == {"a", "b"}
    assert place_intervals(resampled(found.units, "NDCG", "ab"), lower=True) == {"a": (2, 2), "b": (1, 1)}
    assert resampled(found.units, "Size", "ab") == resampled(None, "NDCG", "ab") == {}


@pytest.mark.parametrize(("units", "systems"), [(5, set()), (6, {"a", "b"})])
def test_places_have_intervals_from_six_units_on(units, systems):
    found = scored("ab", simulated([0.3, 0.2], units, np.random.default_rng(5)))
    assert resampled(found.units, "NDCG", "ab").keys() == systems
