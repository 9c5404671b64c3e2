"""The committed values of MAUD against the text of the paper, and against each other."""

import os
import re
from pathlib import Path

import pytest

from lextables.tables.published import load

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT.joinpath(os.environ.get("LEXTABLES_PAPERS", "../shared/papers"), "maud.txt")
CELLS = load(ROOT / "resources" / "published" / "maud.csv")

MODELS = ("RoBERTa", "LegalBERT", "DeBERTa")
COLUMNS = {
    "table1": ("Main Dataset", "Rare Answers Dataset", "Abridged Dataset", "All Datasets"),
    "table2": ("train", "dev", "test", "overall"),
    "table3": ("Random", "BERT", "RoBERTa", "LegalBERT", "DeBERTa", "BigBird"),
    "table4": ("Random", *MODELS),
    "table6": ("Random", *MODELS),
    "table7": MODELS,
    "table8": MODELS,
    "table9": ("Deal Point Questions", "Percent Long Texts"),
    "table12": ("Train", "Dev", "Test", "RoBERTa-base (AUPR)"),
}
ROWS = {
    "table1": 8,
    "table2": 4,
    "table3": 8,
    "table4": 8,
    "table6": 2,
    "table7": 8,
    "table8": 8,
    "table9": 8,
    "table12": 23,
}


@pytest.fixture(scope="module")
def paper() -> list[str]:
    if not PAPER.is_file():
        pytest.skip(f"the text of the paper is not at {PAPER}; set LEXTABLES_PAPERS to its folder")
    return PAPER.read_text(encoding="utf-8").splitlines()


def numbers(table: str) -> dict[tuple[str, str], float]:
    return {(cell.row, cell.column): cell.number for cell in CELLS if cell.table == table}


def test_the_csv_holds_every_table_and_what_the_text_prints_of_figure_3():
    assert list(dict.fromkeys(cell.table for cell in CELLS)) == [*COLUMNS, "figure3"]
    assert all(cell.decimals is not None for cell in CELLS)
    for table, columns in COLUMNS.items():
        assert len(numbers(table)) == ROWS[table] * len(columns), table


@pytest.mark.parametrize("table", COLUMNS)
def test_every_cell_of_a_table_is_the_papers(paper, table):
    columns, number = COLUMNS[table], table.removeprefix("table")
    (caption,) = [at for at, line in enumerate(paper) if line.startswith(f"Table {number}: ")]
    # A row is a name and as many numbers as there are columns; the lines above the caption are the table.
    row = re.compile(r"(.+?)" + r" ([\d,]+(?:\.\d+)?%?)" * len(columns))
    printed = []
    for line in reversed(paper[:caption]):
        match = row.fullmatch(line)
        if match is None:
            break
        printed[:0] = [(match[1], *cell) for cell in zip(columns, match.groups()[1:], strict=True)]
    assert len(printed) == ROWS[table] * len(columns)
    assert [(c.row, c.column, c.value) for c in CELLS if c.table == table] == printed


def test_figure_3_is_what_the_text_says_of_it(paper):
    (line,) = [line for line in paper if "percentage points higher than those trained" in line]
    printed = re.findall(r"([\d.]+) percentage points higher than (?:those|models) trained on\D*(\d+%)", line)
    cells = [cell for cell in CELLS if cell.table == "figure3"]
    assert (
        [(cell.value, cell.column.split()[0]) for cell in cells]
        == printed
        == [("7.3", "50%"), ("23.7", "5%")]
    )


def test_tables_1_and_2_add_up_and_count_the_same_examples():
    for table, total in (("table1", "All Categories"), ("table2", "overall")):
        found, columns = numbers(table), COLUMNS[table]
        rows = [row for row in dict.fromkeys(row for row, _ in found) if row != total]
        for column in columns:
            assert sum(found[row, column] for row in rows) == found[total, column]
        for row in (*rows, total):
            assert sum(found[row, column] for column in columns[:-1]) == found[row, columns[-1]]
    by_category, by_split = numbers("table1"), numbers("table2")
    for column, row in (("Main", "main"), ("Abridged", "abridged"), ("Rare Answers", "rare")):
        assert by_category["All Categories", f"{column} Dataset"] == by_split[row, "overall"]


def test_the_counts_of_table_12_add_up():
    found = numbers("table12")
    rows = [row for row in dict.fromkeys(row for row, _ in found) if row != "Overall"]
    assert [sum(found[row, c] for row in rows) for c in ("Train", "Dev", "Test")] == [6311, 885, 767]
    assert [found["Overall", c] for c in ("Train", "Dev", "Test")] == [6311, 885, 767]


def test_the_long_texts_of_table_9_are_half_of_the_examples_of_table_1():
    shares, examples = numbers("table9"), numbers("table1")
    long = sum(
        share / 100 * examples[row, "All Datasets"]
        for (row, column), share in shares.items()
        if column == "Percent Long Texts" and row != "All Categories"
    )
    assert round(100 * long / examples["All Categories", "All Datasets"], 1) == 50.0


@pytest.mark.parametrize("table", ["table3", "table4", "table7", "table8"])
def test_overall_is_the_mean_over_questions(table):
    """The overall score is the mean over questions, so over categories weighted by their questions.

    Table 8 prints 53.3 for RoBERTa where its categories give 58.3.
    """
    questions = [n for (_, column), n in numbers("table9").items() if column == "Deal Point Questions"]
    *of_category, total = questions
    assert (of_category, total) == ([9, 31, 1, 3, 39, 8, 1], 92)
    found = numbers(table)
    for column in COLUMNS[table]:
        *categories, overall = (value for (_, one), value in found.items() if one == column)
        mean = sum(n * value for n, value in zip(of_category, categories, strict=True)) / total
        misprint = 5.0 if (table, column) == ("table8", "RoBERTa") else 0.0
        assert mean - misprint == pytest.approx(overall, abs=0.15), column
