"""Published values that can get a verdict: of rows with runs, and with three of them if they are trained."""

import pytest

from lextables.planning.verdicts import decidable
from lextables.tables.published import PublishedCell


def cell(row, column="score", decimals=1):
    return PublishedCell("table", row, column, "1.0", decimals, "page 1")


def row(name, runs, trained=False, additional=False):
    folders = {"main": [f"run{number}" for number in range(runs)]} if runs else {}
    return {"row": name, "runs": folders, "trained": trained, "additional": additional}


ROWS = [
    row("BM25 / None", 1),
    row("BM25 / Encoder", 3, trained=True),
    row("BM25 / Encoder-large", 2, trained=True),
    row("GPT", 0),
]


@pytest.mark.parametrize(
    ("cells", "rows", "count"),
    [
        ([cell("BM25 / None")], ROWS, 1),
        ([cell("BM25 / short queries")], ROWS, 1),
        ([cell("BM25 / Encoder"), cell("BM25 / Encoder", "more")], ROWS, 2),
        ([cell("BM25 / Encoder-large")], ROWS, 0),  # two seeds
        ([cell("GPT")], ROWS, 0),  # not run
        ([cell("a category", "GPT"), cell("a category", "BM25")], ROWS, 1),
        ([cell("BM25 / None", decimals=None)], ROWS, 0),  # a text
        ([cell("a category")], ROWS, 0),  # of all rows
        ([cell("a category")], ROWS[:2], 1),
        ([cell("GPT")], [*ROWS[:2], row("GPT", 3, additional=True)], 1),
        ([cell("any")], [row("ours", 3, additional=True)], 0),
        ([cell("any")], [], 0),
    ],
)
def test_a_value_needs_a_row_with_enough_runs(cells, rows, count):
    assert decidable(cells, rows) == count
