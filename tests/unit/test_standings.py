"""The leaderboard over all tasks, and what each benchmark can tell apart."""

import csv
import io
import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from lextables.papers import Headline, Shown, TableEntry
from lextables.tables import published, reliability, standings
from lextables.tables.cells import Line
from lextables.tables.comparison import FEW, FLOOR, PRINTED, Pair
from lextables.tables.reliability import Reliability
from lextables.tables.standings import benchmarks, leaderboard

RESOURCES = Path(__file__).parents[2] / "resources"


@dataclass
class Exhibit:
    name: str
    entry: TableEntry
    lines: list
    pairs: list


@dataclass
class Part:
    name: str
    exhibits: list
    comparable: bool = True

    @property
    def short(self):
        return self.name.upper()

    @property
    def sources(self):
        return [{"comparable": self.comparable}]


def line(row, column, ours="", model="", printed="", low="", high="", reason=""):
    reproduced = ours if printed else ""
    runs = f"runs/any/read/{model}/all/seed0 runs/any/read/{model}/all/seed1" if model else ""
    own = "" if printed else ours
    return Line(row, column, printed, reproduced, own, low, high, 1, "", reason, runs)


def pair(measure, one, other, difference, adjusted=1.0, **changed):
    low, high = difference - 1, difference + 1
    told = Pair(measure, one, other, difference, low, high, adjusted, adjusted, "57 queries", 3.0)
    return replace(told, **changed)


def exhibit(lines, pairs, **headline):
    return Exhibit("table1", TableEntry(title="t", where="w", headline=Headline(**headline)), lines, pairs)


NDCG = exhibit(
    [
        line("GPT", "NDCG", printed="80.0"),
        line("BERT", "NDCG", "76.0", "bert", printed="77.0", low="70.0", high="82.0",
             reason="off by -1.0; 95 % prediction interval of 3 seeds: 75.00 to 77.00"),
        line("MiniLM", "NDCG", "75.0", "minilm", low="69.0", high="81.0"),
        line("BM25", "NDCG", "60.0", "bm25", low="52.0", high="68.0"),
        line("BM25", "Size", "1", "bm25"),
    ],
    [
        pair("NDCG", "BERT", "MiniLM", 1.0, 0.6), pair("NDCG", "BERT", "BM25", 16.0, 0.001),
        pair("NDCG", "MiniLM", "BM25", 15.0, 0.002),
        pair("NDCG", "GPT", "BERT", 3.5, untested=PRINTED), pair("NDCG", "GPT", "BM25", 20.0, untested=FLOOR),
        pair("Size", "x", "y", 1.0),
    ],
    column="NDCG",
)  # fmt: skip
LOSS = exhibit(
    [
        line("overall", "MiniLM", "0.30", "minilm"), line("overall", "Prior", "0.20", "prior"),
        line("overall", "GPT-4", printed="0.10"), line("C", "Prior", "0.9", "prior"),
    ],
    [pair("overall", "Prior", "MiniLM", -0.1, 0.01), pair("overall", "GPT-4", "Prior", -0.1, untested=FLOOR)],
    row="overall", lower=True,
)  # fmt: skip
PARTS = [Part("one", [NDCG]), Part("two", [LOSS])]


def test_a_benchmark_has_the_rows_that_ran_best_first_and_then_the_printed_ones():
    one, two = benchmarks(PARTS)
    assert (one.paper, one.table, one.measure, one.units) == ("one", "table1", "NDCG", "57 queries")
    assert [(row.system, row.model, row.score, row.printed) for row in one.rows] == [
        ("BERT", "bert", "76.0", False), ("MiniLM", "minilm", "75.0", False), ("BM25", "bm25", "60.0", False),
        ("GPT", "", "80.0", True),
    ]  # fmt: skip
    assert [row.level for row in one.rows] == [True, True, False, False]
    assert [row.standing for row in one.rows[:3]] == [1, 0.5, 0] and math.isnan(one.rows[3].standing)
    assert one.rows[0].seeds == "75.00 to 77.00"
    assert [row.system for row in two.rows] == ["Prior", "MiniLM", "GPT-4"]


def test_of_data_that_are_not_the_paper_s_no_printed_value_is_shown():
    (found,) = benchmarks([Part("one", [NDCG], comparable=False)])
    assert [row.system for row in found.rows] == ["BERT", "MiniLM", "BM25"]
    nothing = exhibit([line("GPT", "NDCG", printed="80.0")], [], column="NDCG")
    assert benchmarks([Part("one", [nothing], comparable=False)]) == []


def test_rows_that_score_alike_stand_alike():
    lines = [line(name, "NDCG", score, name) for name, score in (("a", "7.0"), ("b", "7.0"), ("c", "5.0"))]
    (found,) = benchmarks([Part("one", [exhibit(lines, [], column="NDCG")])])
    assert [row.standing for row in found.rows] == [0.5, 0.5, 0]


def test_models_stand_by_the_mean_over_the_benchmarks_that_they_ran_in():
    models = leaderboard(benchmarks(PARTS))
    assert [(model.name, model.standing, len(model.rows)) for model in models] == [
        ("bert", 1, 1), ("prior", 1, 1), ("minilm", 0.25, 2), ("bm25", 0, 1),
    ]  # fmt: skip


def test_a_model_with_several_rows_stands_by_its_best_one():
    lines = [
        line("m, long", "NDCG", "5.0", "m"),
        line("m, short", "NDCG", "7.0", "m"),
        line("n", "NDCG", "6.0", "n"),
    ]
    models = leaderboard(benchmarks([Part("one", [exhibit(lines, [], column="NDCG")])]))
    assert [(model.name, model.rows[0][1].system) for model in models] == [("m", "m, short"), ("n", "n")]


def test_who_ran_alone_has_no_standing_and_comes_last():
    alone = exhibit([line("z", "NDCG", "5.0", "a-first")], [], column="NDCG")
    models = leaderboard(benchmarks([*PARTS, Part("three", [alone])]))
    assert models[-1].name == "a-first" and math.isnan(models[-1].standing)


def test_of_a_column_with_two_contests_only_the_named_one_s_rows_are_taken():
    lines = [
        line(name, "(6)", score, name)
        for name, score in (("3 / a", "0.7"), ("3 / b", "0.6"), ("2 / a", "0.9"))
    ]
    pairs = [pair("(6) of 3", "3 / a", "3 / b", 0.1)]
    (found,) = benchmarks([Part("one", [exhibit(lines, pairs, column="(6)", contest="(6) of 3")])])
    assert [row.system for row in found.rows] == ["3 / a", "3 / b"]


def test_the_leaderboard_as_csv_has_a_line_a_row():
    rows = list(csv.DictReader(io.StringIO(standings.to_csv(benchmarks(PARTS)))))
    assert len(rows) == 7
    first = {"paper": "one", "units": "57 queries", "system": "BERT", "model": "bert", "level": "True"}
    assert first.items() <= rows[0].items()


def test_a_benchmark_says_what_it_can_tell_apart():
    one, two = reliability.reliability(benchmarks(PARTS))
    assert one == Reliability(
        "one", "table1", "NDCG", "57 queries", best="BERT", width=12.0, seeded="BERT", seeds=2.0,
        second="MiniLM", lead=1.0, adjusted=0.6, apart=False, detectable=3.0, printed_lead=3.5, floor="BM25",
        floor_reaches=60 / 80,
    )  # fmt: skip
    assert one.tells_printed_apart
    assert (two.best, two.lead, two.apart, two.floor) == ("Prior", 0.1, True, "Prior")
    # Half the floor's loss is printed.
    assert two.floor_reaches == pytest.approx(0.5)
    assert math.isnan(two.width) and math.isnan(two.printed_lead) and two.tells_printed_apart is None


def test_a_benchmark_in_which_one_row_ran_says_its_interval_and_no_more():
    alone = exhibit([line("z", "NDCG", "5.0", "z", low="4.0", high="6.5")], [], column="NDCG")
    (found,) = reliability.reliability(benchmarks([Part("one", [alone])]))
    assert (found.width, found.second, found.units) == (2.5, "", "") and math.isnan(found.lead)
    assert reliability.to_csv([found]).splitlines()[1].startswith("one,table1,NDCG,,z,2.5,")


def test_a_headline_is_a_column_or_a_row():
    with pytest.raises(ValueError, match="a column or a row"):
        Headline(column="a", row="b")
    with pytest.raises(ValueError, match="a column or a row"):
        Headline()


def test_the_papers_headlines_are_printed():
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


def test_where_nothing_could_be_tested_only_the_best_is_level_with_itself():
    few = exhibit(NDCG.lines, [replace(each, untested=FEW) for each in NDCG.pairs[:3]], column="NDCG")
    (found,) = benchmarks([Part("one", [few], comparable=False)])
    assert [row.level for row in found.rows] == [True, False, False]
