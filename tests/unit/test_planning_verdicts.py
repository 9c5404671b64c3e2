"""Published scores that can get a verdict: of rows with runs, and with three of them if
they are trained.
"""

import pytest

from lextables import ROOT
from lextables.planning.verdicts import decidable
from lextables.tables.published import PublishedCell, load


def cell(row, column="score", decimals=1, kind="score", repeats=""):
    where = "page 1"
    return PublishedCell("table", row, column, "1.0", decimals, where, kind, repeats)


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
        # "None" is no system: a cell that has BM25 alone names the row.
        ([cell("BM25 / None")], ROWS, 1),
        ([cell("BM25 / short queries")], ROWS, 1),
        ([cell("BM25 / Encoder"), cell("BM25 / Encoder", "more")], ROWS, 2),
        ([cell("BM25 / Encoder-large")], ROWS, 0),  # two seeds
        ([cell("GPT")], ROWS, 0),  # not run
        ([cell("a category", "GPT"), cell("a category", "BM25")], ROWS, 1),
        ([cell("BM25 / None", decimals=None)], ROWS, 1),  # NaN is a score
        ([cell("BM25 / None", kind="statistic")], ROWS, 0),
        ([cell("BM25 / None", decimals=None, kind="text")], ROWS, 0),
        ([cell("BM25 / None"), cell("BM25 / None", "again", repeats="x")], ROWS, 1),
        ([cell("BM25 / None", repeats="x")], ROWS, 0),
        ([cell("a category")], ROWS, 0),  # of all rows
        ([cell("a category")], ROWS[:2], 1),
        # The cell names no row of the paper: it belongs to all of them.
        ([cell("GPT")], [*ROWS[:2], row("GPT", 3, additional=True)], 1),
        ([cell("any")], [row("ours", 3, additional=True)], 0),
        ([cell("any")], [], 0),
    ],
)
def test_a_value_needs_a_row_with_enough_runs(cells, rows, count):
    assert decidable(cells, rows) == count


@pytest.mark.parametrize(
    ("paper", "scores"),
    [
        ("acord", 335),
        ("contracteval", 76),
        ("cuad", 71),
        ("lawngnli", 469),
        ("maud", 153),
        ("privacy", 610),
    ],
)
def test_of_a_paper_whose_rows_all_run_each_score_of_the_results_page_counts(
    paper, scores
):
    """`docs/results.md` has the same numbers of published scores."""
    cells = load(ROOT / f"resources/published/{paper}.csv")
    assert decidable(cells, [row("the only one", 1)]) == scores
    short = {"acord": "ACORD", "contracteval": "ContractEval", "cuad": "CUAD"}
    short |= {"lawngnli": "LawngNLI", "maud": "MAUD", "privacy": "Privacy"}
    page = (ROOT / "docs/results.md").read_text("utf-8")
    assert f"| {short[paper]} | scores | {scores} |" in page
