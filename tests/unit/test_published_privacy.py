"""The committed values of the privacy policy corpus against the text of the paper, and against each other.

The text comes from a scan of the page, in which some rows of the appendices ran into one another: what no
line says clearly is not in the file (`UNREAD`).
"""

import json
import math
import os
import re
import statistics
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from lextables.papers.packages import load as load_paper
from lextables.tables.published import load

ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT.joinpath(os.environ.get("LEXTABLES_PAPERS", "../shared/papers"), "privacy.txt")
REGISTRY = load_paper(ROOT / "resources/papers/privacy.yaml")
CELLS = load(ROOT / "resources" / "published" / "privacy.csv")
VALUES = {(cell.table, cell.row, cell.column): cell for cell in CELLS}

MODELS = ('Claude 3 "haiku"', "GPT-4")
SCORES = ("F1", "Recall", "Accuracy", "Precision")
COUNTS = {"CCPA": 10, "COVID": 1, "DP": 1, "E": 8, "GDPR": 5, "K": 1, "N": 13, "PBD": 2, "SE": 8, "SH": 7}
QUESTIONS = [f"{name}-{n}" for name, count in {**COUNTS, "UC": 8}.items() for n in range(1, count + 1)]
APPENDICES = {
    "table_b": (MODELS, "B Average BCE"),
    "table_c1": (SCORES, "C.1 BERT"),
    "table_c2": (SCORES, "C.2 LEGAL-BERT"),
}
# Cells that the text does not give, by table and question; an empty set is all of a row.  Where rows ran
# into one another a line may also hold the values of the line before or after it, or lack digits.
UNREAD = {
    "table_b": {"E-2": (), "E-3": (), "N-7": (), "UC-7": (), "SH-3": (), "SH-4": MODELS[:1]},
    "table_c1": {
        "CCPA-5": (), "CCPA-10": ("F1",), "GDPR-2": (), "GDPR-3": ("F1",), "GDPR-4": (),
        "GDPR-5": ("Recall", "Accuracy"), "K-1": ("F1", "Precision"), "N-10": ("F1",), "SE-1": ("Recall",),
        "SE-2": ("Accuracy",), "SE-3": (), "UC-3": ("Precision",), "UC-5": ("F1", "Recall"),
        "UC-6": ("F1", "Recall"),
    },
    "table_c2": {
        "CCPA-2": ("F1", "Accuracy", "Precision"), "CCPA-3": ("F1", "Recall"), "CCPA-10": (),
        "E-8": ("Precision",), "GDPR-1": ("F1", "Precision"), "GDPR-2": (),
        "PBD-1": ("Accuracy", "Precision"), "PBD-2": ("Accuracy", "Precision"), "SE-1": (),
        "SH-7": ("Precision",), "UC-1": ("F1", "Accuracy"), "UC-2": (),
    },
}  # fmt: skip


def unread(table: str) -> set[tuple[str, str]]:
    """The cells of an appendix that have no value, as (question, column)."""
    return {(q, c) for q, those in UNREAD[table].items() for c in those or APPENDICES[table][0]}


@pytest.fixture(scope="module")
def paper() -> list[str]:
    if not PAPER.is_file():
        pytest.skip(f"the text of the paper is not at {PAPER}; set LEXTABLES_PAPERS to its folder")
    return PAPER.read_text(encoding="utf-8").splitlines()


def part(paper: list[str], heading: str) -> list[list[str]]:
    """The rows, cells apart, from a heading of the appendix to the next."""
    (start,) = [at for at, line in enumerate(paper) if line.startswith(heading)]
    after = paper[start + 1 :]
    end = next((at for at, line in enumerate(after) if re.match(r"(C|C\.2) [A-Z]", line)), len(after))
    return [line.split("\t") for line in after[:end]]


def numbers(table: str, column: str) -> dict[str, float]:
    return {row: cell.number for (of, row, c), cell in VALUES.items() if (of, c) == (table, column)}


def test_the_csv_holds_every_table():
    tables = list(dict.fromkeys(cell.table for cell in CELLS))
    assert tables == ["table1", "table2", "table3", "table_agreement", "table_b", "table_c1", "table_c2"]
    assert set(tables) <= REGISTRY.tables.keys()
    assert all(cell.decimals is not None for cell in CELLS)


@pytest.mark.parametrize("table", APPENDICES)
def test_the_appendices_have_all_questions_but_for_what_the_text_garbles(table):
    columns, _ = APPENDICES[table]
    found = {(row, column) for of, row, column in VALUES if of == table}
    assert found == {(q, c) for q in QUESTIONS for c in columns} - unread(table)


def test_72_cells_are_unread():
    assert {table: len(unread(table)) for table in UNREAD} == {"table_b": 11, "table_c1": 30, "table_c2": 31}


@pytest.mark.parametrize("table", APPENDICES)
def test_every_clear_line_of_an_appendix_is_in_the_csv(paper, table):
    columns, heading = APPENDICES[table]
    clear = {
        name: values
        for name, *values in part(paper, heading)
        if name in QUESTIONS
        and len(values) == len(columns)
        and all(re.fullmatch(r"\d\.\d+", value) for value in values)
    }
    assert len(clear) >= 55
    for name, values in clear.items():
        for column, value in zip(columns, values, strict=True):
            if (name, column) not in unread(table):
                assert VALUES[table, name, column].value == value, (name, column)


@pytest.mark.parametrize("table", APPENDICES)
def test_every_other_value_of_an_appendix_stands_in_its_text(paper, table):
    columns, heading = APPENDICES[table]
    printed = [set() for _ in columns]
    for cells in part(paper, heading):
        for at, cell in enumerate(cells[1:][: len(columns)]):
            printed[at] |= set(cell.split())
    for at, column in enumerate(columns):
        assert {cell.value for (of, _, c), cell in VALUES.items() if (of, c) == (table, column)} <= printed[
            at
        ]


def test_tables_1_to_3_are_the_papers(paper):
    cells = [[cell for cell in line.split("\t") if cell] for line in paper]
    names = {"ССРА": "CCPA", "Κ": "K", "Ν": "N"}  # as the scan has them, in Cyrillic and Greek
    printed = {(names.get(row[0], row[0]), *row[1:]) for row in cells if row}
    table1 = {cell.row: [] for cell in CELLS if cell.table == "table1" and cell.column != "All"}
    for row in table1:
        values = tuple(VALUES["table1", row, column].value for column in ("2+ coders", "1 coder"))
        assert (row, *values) in printed
    assert len(table1) == 6
    for table, columns, rows in (
        ("table2", ("Claude 3", "GPT-4", "random guesses"), 12),
        ("table3", ("acc.", "recall", "f1"), 2),
    ):
        names = dict.fromkeys(cell.row for cell in CELLS if cell.table == table)
        assert len(names) == rows
        for row in names:
            assert (row, *(VALUES[table, row, column].value for column in columns)) in printed
    # The scan puts the totals into the columns of the coders.
    assert {("Questions", "64 11"), ("Total Coders", "1", "8")} <= printed
    totals = ("Questions", "Categories", "Total Coders")
    assert [VALUES["table1", row, "All"].value for row in totals] == ["64", "11", "18"]


def test_agreement_is_what_the_text_says_of_it(paper):
    text = " ".join(paper)
    least, greatest, mean = re.search(
        r"Alpha ranging from ([\d.]+) to ([\d.]+), averaging at ([\d.]+)\.", text
    ).groups()
    (share,) = re.search(r"the dataset are (\d+%)", text).groups()
    cells = [cell.value for cell in CELLS if cell.table == "table_agreement"]
    assert cells == [least, greatest, mean, share]


# What the paper's own numbers say of one another, as the notes of the tables do.


@pytest.mark.parametrize(("of_table2", "of_b"), [("Claude 3", MODELS[0]), ("GPT-4", MODELS[1])])
def test_table_2_is_the_mean_of_appendix_b_but_for_dp(of_table2, of_b):
    by_question, whole = numbers("table_b", of_b), numbers("table2", of_table2)
    compared = 0
    for category, count in {**COUNTS, "UC": 8}.items():
        values = [value for name, value in by_question.items() if name.rpartition("-")[0] == category]
        if len(values) == count and category != "DP":
            compared += 1
            assert statistics.fmean(values) == pytest.approx(whole[category], abs=0.0015), category
    assert compared == 6
    assert whole["DP"] == pytest.approx({"Claude 3": 0.098, "GPT-4": 0.333}[of_table2])
    assert by_question["DP-1"] == {"Claude 3": 0.0, "GPT-4": 0.3332}[of_table2]
    said = next(note for note in REGISTRY.tables["table2"].notes if "DP" in note)
    assert "0.098 in Table 2" in said and "0.0000 in Appendix B" in said


def least(options: int) -> float:
    """The least binary cross-entropy, in nats, against a target of 0.9 on one option and 0.1 on all."""
    target = [0.9 + 0.1 / options, *[0.1 / options] * (options - 1)]
    return statistics.fmean(-y * math.log(y) - (1 - y) * math.log(1 - y) for y in target)


def test_losses_are_printed_that_a_smoothed_target_does_not_allow():
    assert (round(least(2), 4), round(least(5), 4)) == (0.1985, 0.1342)
    losses = [value for column in MODELS for value in numbers("table_b", column).values()]
    below = [value for value in losses if value < least(5)]
    assert (len(losses), len(below), min(below)) == (117, 32, 0.0)
    assert {VALUES["table_b", "COVID-1", model].value for model in MODELS} == {"0.0066"}


def test_losses_below_the_bound_of_their_own_question(mirror):
    text = (mirror / "privacy" / "questions.ndjson").read_text(encoding="utf-8")
    options = {row["label"]: len(row["options"]) for row in map(json.loads, text.splitlines())}
    below = [
        (row, column)
        for column in MODELS
        for row, value in numbers("table_b", column).items()
        if value < least(options[row])
    ]
    assert len(below) == 42


def test_appendix_c_prints_the_same_numbers_twice_and_they_are_legal_berts():
    both, alike = in_both_appendices()
    rows = Counter(row for row, _ in alike)
    assert (len(both), len(alike), sum(count == 4 for count in rows.values())) == (201, 199, 40)
    columns = ("acc.", "recall", "f1")
    legal, base = ([numbers("table3", c)[row] for c in columns] for row in ("LEGAL-BERT", "BERT-BASE"))
    (said,) = (note for note in REGISTRY.tables["table3"].notes if "print the same numbers" in note)
    for table, name in (("table_c1", "C.1"), ("table_c2", "C.2")):
        means = [
            100 * statistics.fmean(numbers(table, column).values()) for column in ("Accuracy", "Recall", "F1")
        ]
        accuracy, recall, f1 = means
        assert f"{name}: {accuracy:.1f}, {recall:.1f}, {f1:.2f}" in said
        for mean, near, far in zip(means, legal, base, strict=True):
            assert abs(mean - near) < abs(mean - far) / 2


# No cell holds a value of the row before or after it.


def in_both_appendices() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The (row, column) that C.1 and C.2 both give, and those of them that have the same value."""
    both = {(row, column) for of, row, column in VALUES if of == "table_c1"}
    both &= {(row, column) for of, row, column in VALUES if of == "table_c2"}
    return both, {key for key in both if VALUES["table_c1", *key].value == VALUES["table_c2", *key].value}


def digits_apart(one: str, other: str) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("table", APPENDICES)
def test_an_appendix_prints_four_decimals(table):
    """A value with fewer or more has lost digits in the scan."""
    assert {cell.decimals for (of, *_), cell in VALUES.items() if of == table} == {4}


def test_the_two_appendices_differ_in_one_digit_at_most():
    """They print the same numbers, so that two digits apart are two rows' values."""
    both, alike = in_both_appendices()
    for key in both - alike:
        assert digits_apart(VALUES["table_c1", *key].value, VALUES["table_c2", *key].value) == 1, key


@pytest.mark.parametrize("table", APPENDICES)
def test_no_row_has_the_values_of_a_row_beside_it(table):
    columns, _ = APPENDICES[table]
    # C prints its questions in the order of the alphabet.
    order = sorted(QUESTIONS) if table != "table_b" else QUESTIONS
    others = ("table_b",) if table == "table_b" else ("table_c1", "table_c2")
    digits, most = (0, 0) if table == "table_b" else (1, 2)
    for one, other in pairwise(order):
        for of in others:
            alike = [
                column
                for column in columns
                if (table, one, column) in VALUES
                and (of, other, column) in VALUES
                and digits_apart(VALUES[table, one, column].value, VALUES[of, other, column].value) <= digits
            ]
            assert len(alike) <= most, (one, other, alike)


@pytest.mark.parametrize("table", ["table_c1", "table_c2"])
def test_f1_is_at_most_the_mean_of_precision_and_recall(table):
    """It is so for each paragraph's or policy's F1, and therefore for a mean of them."""
    f1, recall, precision = (numbers(table, column) for column in ("F1", "Recall", "Precision"))
    rows = f1.keys() & recall.keys() & precision.keys()
    assert len(rows) >= 50
    for row in rows:
        assert f1[row] <= (recall[row] + precision[row]) / 2 + 1e-4, row


def test_the_questions_are_64_in_11_categories():
    assert len(QUESTIONS) == 64 and len(REGISTRY.categories) == 11
    assert set(REGISTRY.categories.values()) == {*COUNTS, "UC"}
