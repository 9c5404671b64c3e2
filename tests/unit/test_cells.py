"""Verdicts, and tables that set the printed beside the computed."""

import pytest

from lextables.tables.cells import Cell, build, count, from_csv, same_words, to_csv, written
from lextables.tables.published import PublishedCell


def printed(value, decimals=3, row="BM25 / None", column="NDCG@5"):
    return PublishedCell("table_d3", row, column, value, decimals, "Table D-3")


@pytest.mark.parametrize(
    ("published", "cell", "verdict"),
    [
        (printed("0.525"), Cell("", "", 0.5253), "match"),
        (printed("0.525"), Cell("", "", 0.5256), "off"),
        (printed("0.525"), Cell("", "", 0.5256, 0.4, 0.6), "near"),
        (printed("0.525"), Cell("", "", 0.700, 0.6, 0.8), "off"),  # better than published is off too
        (printed("+2.0", 1), Cell("", "", 2.04), "match"),
        (printed("-0.6", 1), Cell("", "", -0.58), "match"),
        (printed("1,898", 0), Cell("", "", 1898.0), "match"),
        (printed("NaN", None), Cell("", "", float("nan")), "match"),
        (printed("0.2", 1), Cell("", "", float("nan")), "off"),
        (printed("NaN", None), Cell("", "", 0.5), "off"),
        (printed("66M", None), Cell("", "", "23M"), "off"),
        (printed("‘as-is’ clause", None), Cell("", "", '"as-is" Clause'), "match"),
        (printed("0.525"), Cell("", "", None, reason="sample data"), "not run"),
    ],
)
def test_verdicts(published, cell, verdict):
    place = {"row": published.row, "column": published.column}
    cell = Cell(**{**cell.__dict__, **place})
    (line,) = build([published], [cell], comparable=True)
    assert line.verdict == verdict
    assert line.published == published.value


def test_data_that_are_not_comparable_get_no_verdict_even_when_equal():
    cells = [Cell("BM25 / None", "NDCG@5", 0.525), Cell("Mine / None", "NDCG@5", 0.9)]
    first, second = build([printed("0.525")], cells, comparable=False)
    assert (first.reproduced, first.ours, first.verdict) == ("", "0.525", "")
    assert (second.ours, second.decimals) == ("0.900", 3)


def test_own_rows_follow_and_have_no_verdict():
    cells = [Cell("Mine / None", "NDCG@5", 0.9, runs=("runs/x",)), Cell("BM25 / None", "NDCG@5", 0.525)]
    first, second = build([printed("0.525")], cells, comparable=True)
    assert (first.reproduced, first.verdict) == ("0.525", "match")
    assert (second.row, second.ours, second.verdict, second.runs) == ("Mine / None", "0.900", "", "runs/x")


def test_a_stricter_reading_stands_beside_the_printed_one():
    cells = [
        Cell("BM25 / None", "NDCG@5", 0.525),
        Cell("BM25 / None", "NDCG@5, strict", 0.6),
        Cell("Mine / None", "NDCG@5", 0.7),
        Cell("BM25 / None", "NDCG@10", 0.540),
    ]
    lines = build([printed("0.525"), printed("0.540", column="NDCG@10")], cells, comparable=True)
    assert [(line.row, line.column) for line in lines] == [
        ("BM25 / None", "NDCG@5"),
        ("BM25 / None", "NDCG@5, strict"),
        ("BM25 / None", "NDCG@10"),
        ("Mine / None", "NDCG@5"),
    ]


def test_no_printed_cell_may_be_left_out():
    with pytest.raises(ValueError, match="no value and no reason"):
        build([printed("0.525")], [], comparable=True)
    with pytest.raises(ValueError, match="no value and no reason"):
        build([printed("0.525")], [Cell("BM25 / None", "NDCG@5", None)], comparable=True)
    with pytest.raises(ValueError, match="two computed cells"):
        build([], [Cell("r", "c", 1.0), Cell("r", "c", 1.0)], comparable=True)


def test_csv_round_trip_and_count():
    lines = build([printed("0.525")], [Cell("BM25 / None", "NDCG@5", 0.5253, 0.44, 0.61)], comparable=True)
    text = to_csv(lines)
    assert (
        text.splitlines()[0] == "row,column,published,reproduced,ours,low,high,decimals,verdict,reason,runs"
    )
    assert from_csv(text) == lines
    assert count(lines)["match"] == 1


def test_words_and_numbers():
    assert same_words("Third-party  beneficiary", "third party beneficiary")
    assert not same_words("Clauses that exclude", "Clauses that excludes")
    assert not same_words("1.5", "15")
    assert written(-0.0001, 2) == "0.00"
