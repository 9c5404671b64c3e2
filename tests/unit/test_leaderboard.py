"""The leaderboard: a sorted table for each headline score."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from lextables.registry.paper import Headline, ShownPaper, TableEntry
from lextables.report.leaderboard import benchmarks, pages
from lextables.tables import published
from lextables.tables.cells import Line
from lextables.tables.comparison import OTHERS, PRINTED, Pair

RESOURCES = Path(__file__).parents[2] / "resources"


@dataclass
class Exhibit:
    name: str
    entry: TableEntry
    lines: list
    pairs: list
    sources: tuple = ({"variant": "published", "comparable": True},)


@dataclass
class Part:
    name: str
    exhibits: list

    @property
    def short(self):
        return self.name.upper()


def of_data(found, variant):
    return replace(found, sources=({"variant": variant, "comparable": False},))


def line(
    row,
    column,
    ours="",
    model="",
    printed="",
    low="",
    high="",
    difference="",
    seeds=("", ""),
):
    reproduced = ours if printed else ""
    runs = (
        f"runs/any/read/{model}/all/seed0 runs/any/read/{model}/all/seed1"
        if model
        else ""
    )
    own = "" if printed else ours
    return Line(
        row,
        column,
        printed,
        reproduced,
        own,
        low,
        high,
        difference,
        *seeds,
        1,
        "",
        "",
        runs,
        system=row,
    )


def pair(measure, one, other, difference, adjusted=1.0, **changed):
    low, high = difference - 1, difference + 1
    compared = Pair(
        measure,
        one,
        other,
        difference,
        low,
        high,
        adjusted,
        adjusted,
        "57 queries",
        3.0,
    )
    return replace(compared, **changed)


def exhibit(lines, pairs, **headline):
    return Exhibit(
        "table1",
        TableEntry(title="t", where="w", headline=Headline(**headline)),
        lines,
        pairs,
    )


NDCG = exhibit(
    [
        line("GPT", "NDCG", printed="80.0"),
        line(
            "BERT",
            "NDCG",
            "76.0",
            "bert",
            printed="77.0",
            low="70.0",
            high="82.0",
            difference="-1.0",
            seeds=("75.00", "77.00"),
        ),
        line("MiniLM", "NDCG", "75.0", "minilm", low="69.0", high="81.0"),
        line("BM25", "NDCG", "60.0", "bm25", low="52.0", high="68.0"),
        line("BM25", "Size", "1", "bm25"),
    ],
    [
        pair("NDCG", "BERT", "MiniLM", 1.0, 0.6),
        pair("NDCG", "BERT", "BM25", 16.0, 0.001),
        pair("NDCG", "MiniLM", "BM25", 15.0, 0.002),
        pair("NDCG", "GPT", "BERT", 3.5, untested=PRINTED),
        pair("Size", "x", "y", 1.0),
    ],
    column="NDCG",
)
LOSS = exhibit(
    [
        line("overall", "MiniLM", "0.30", "minilm"),
        line("overall", "Prior", "0.20", "prior"),
        line("overall", "GPT-4", printed="0.10"),
        line("C", "Prior", "0.9", "prior"),
    ],
    [pair("overall", "Prior", "MiniLM", -0.1, 0.01)],
    row="overall",
    lower=True,
)
PARTS = [Part("one", [NDCG]), Part("two", [LOSS])]


def test_a_benchmark_lists_rows_that_ran_by_score_then_published_rows():
    one, two = benchmarks(PARTS)
    assert (one.name, one.units) == ("ONE, Table 1: NDCG", "57 queries")
    assert [
        (row.system, row.score, row.interval, bool(row.run)) for row in one.rows
    ] == [
        ("BERT", "76.0", "[70.0, 82.0]", True),
        ("MiniLM", "75.0", "[69.0, 81.0]", True),
        ("BM25", "60.0", "[52.0, 68.0]", True),
        ("GPT", "80.0", "–", False),
    ]
    assert one.rows[0].seeds == "75.00 to 77.00"
    assert [row.system for row in two.rows] == ["Prior", "MiniLM", "GPT-4"]


def test_rows_that_are_not_compared_are_left_out_with_and_without_tests():
    lenient = replace(line("Lenient", "NDCG", "99.0", "lenient"), system="")
    for lines, pairs in ((NDCG.lines, NDCG.pairs), (NDCG.lines[:2], [])):
        shown = exhibit([lenient, *lines], pairs, column="NDCG")
        (found,) = benchmarks([Part("one", [shown])])
        assert found.rows[0].system == "BERT"
        assert "Lenient" not in [row.system for row in found.rows]


def test_a_row_that_ran_has_the_note_of_its_score():
    seen = "its model was trained on one, which contains this test split"
    lines = [replace(each, reason=seen) for each in NDCG.lines]
    (found,) = benchmarks([Part("one", [exhibit(lines, NDCG.pairs, column="NDCG")])])
    assert [row.note for row in found.rows] == [seen, seen, seen, ""]
    (page,) = pages([Part("one", [exhibit(lines, NDCG.pairs, column="NDCG")])], {})
    assert page.content.benchmarks[0].rows[0].note == seen


def changed(first=0.6, second=0.001, third=0.002, **fields):
    """The pairs of `NDCG` with other p-values; ``fields`` replace those of the first
    pair.
    """
    pairs = [
        replace(old, adjusted=p)
        for old, p in zip(NDCG.pairs, (first, second, third), strict=False)
    ]
    return [replace(pairs[0], **fields), *pairs[1:]]


@pytest.mark.parametrize(
    ("pairs", "groups"),
    [
        (changed(), ["1", "1", "2"]),  # BERT and MiniLM do not differ
        (changed(first=0.01), ["1", "2", "3"]),
        (
            changed(third=0.9),
            ["1", "1, 2", "2"],
        ),  # MiniLM does not differ from either, but these do
        (changed(second=0.9, third=0.9), ["1", "1", "1"]),
        (
            changed(untested=OTHERS),
            ["1", "2", "3"],
        ),  # not tested against each other: never in a group
        ([replace(old, untested=OTHERS) for old in changed()], ["", "", ""]),
        ([], ["", "", ""]),
    ],
)
def test_groups_are_those_of_the_paired_tests(pairs, groups):
    (found,) = benchmarks([Part("one", [exhibit(NDCG.lines, pairs, column="NDCG")])])
    assert [row.groups for row in found.rows if row.run] == groups


@pytest.mark.parametrize(("lower", "order"), [(False, "bac"), (True, "cba")])
def test_rows_with_equal_scores_keep_the_order_of_the_table(lower, order):
    lines = [
        line(name, "NDCG", score, name)
        for name, score in (("b", "7.0"), ("a", "7.0"), ("c", "5.0"))
    ]
    (found,) = benchmarks(
        [Part("one", [exhibit(lines, [], column="NDCG", lower=lower)])]
    )
    assert "".join(row.system for row in found.rows) == order


def test_data_that_are_not_the_papers_are_named_with_the_reason():
    nothing = exhibit([line("GPT", "NDCG", printed="80.0")], [], column="NDCG")
    assert benchmarks([Part("one", [of_data(nothing, "stand_in")])]) == []
    (found,) = benchmarks([Part("one", [of_data(NDCG, "stand_in")])])
    assert [row.system for row in found.rows] == ["BERT", "MiniLM", "BM25"]
    (page,) = pages([Part("b", [of_data(NDCG, "stand_in")])], {})
    assert not page.content.benchmarks and len(page.content.others) == 1
    (page,) = pages([Part("b", [of_data(NDCG, "sample")])], {})
    assert len(page.content.benchmarks) == 1 and not page.content.others
    assert pages([], {}) == []


def test_only_rows_of_the_given_measure_are_used_if_a_column_has_two():
    lines = [
        line(name, "(6)", score, name)
        for name, score in (("3 / a", "0.7"), ("3 / b", "0.6"), ("2 / a", "0.9"))
    ]
    pairs = [pair("(6) of 3", "3 / a", "3 / b", 0.1)]
    (found,) = benchmarks(
        [Part("one", [exhibit(lines, pairs, column="(6)", measure="(6) of 3")])]
    )
    assert [row.system for row in found.rows] == ["3 / a", "3 / b"]


def test_headline_columns_and_rows_exist_in_the_published_values():
    found = 0
    for path in sorted((RESOURCES / "papers").glob("*.yaml")):
        raw = yaml.safe_load(path.read_text())
        paper = ShownPaper.model_validate(
            {key: value for key, value in raw.items() if key in ShownPaper.model_fields}
        )
        values = published.load(RESOURCES / f"published/{path.stem}.csv")
        for name, entry in paper.tables.items():
            if headline := entry.headline:
                places = {
                    cell.column if headline.column else cell.row
                    for cell in values
                    if cell.table == name
                }
                assert (headline.column or headline.row) in places, (path.stem, name)
                found += 1
    assert found >= 5
