"""Spreadsheet programs read no cell of our csv files as a formula; numbers stay
numbers.
"""

import csv
import io
import itertools
import random
import re
import time
from dataclasses import fields
from pathlib import Path

import pytest

from lextables.papers.lawngnli.dataset.annotations import sheet
from lextables.pipeline import spreadsheet
from lextables.registry.paper import Review
from lextables.review import page
from lextables.review.page import Finding
from lextables.tables import cells, comparison
from lextables.tables.cells import Cell, build
from lextables.tables.comparison import Pair

PACKAGE = Path(spreadsheet.__file__).parents[1]
FORMULAS = (
    "=cmd|'/C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\n=1",
    "-",
    "=1",
    "＝1",
    "-0.4 (worse)",
    "'=1",
    "''-x",
    "-name",
    "+49 30 1234",
    "--1",
    " =1+1",
    "\u200b=1",
    "\ufeff@x",
    "\xa0+1",
    "\u3000=1",
    '"=1"',
    "a;\u200b\t=1;'-b",
    ";=1",
    " ; =1",
    "'; '=1",
    "\x00=1",
    "a;=1",
    "a; '=1",
    "a\n=1",
    "a\n\n - b",
    "a\t@x",
    'a;"=1"',
    " -0.4",
)
PLAIN = (
    "",
    "Licence = fee",
    "-0.4",
    "+3",
    "-1.5e-3",
    "-12%",
    "-inf",
    "-.5",
    "−0.4",
    "'quoted'",
    "1-2",
    "a@b",
    "a; b = c, -d",
    "(a) one;\n(b) two",
    " a",
)


@pytest.mark.parametrize("text", [*FORMULAS, *PLAIN])
def test_texts_are_restored_after_escaping(text):
    written = spreadsheet.cell(text)
    assert spreadsheet.text(written) == text
    assert (written == text) == (text in PLAIN)
    assert written in PLAIN or not calculated(written)


def test_random_texts_are_restored_after_escaping():
    draw = random.Random(5)
    for _ in range(20_000):
        text = "".join(
            draw.choices("=+-@＝;\t\n' \"\u200b\ufeff\xa01.ax", k=draw.randint(0, 7))
        )
        written = spreadsheet.cell(text)
        assert spreadsheet.text(written) == text
        assert not calculated(written) or _number(written), text


def test_long_texts_are_escaped_in_linear_time():
    for part in ("\n", "; ", "'", " ", ";'", '"'):
        text = part * 500_000 + "="
        begun = time.process_time()
        assert spreadsheet.text(spreadsheet.cell(text)) == text
        assert time.process_time() - begun < 5


def test_line_breaks_in_a_text_do_not_begin_a_row():
    written = cells.to_csv(build([], [Cell("a\r=1", "b\r\n=2", 1.0)], comparable=True))
    assert not dangerous(written)
    assert [(line.row, line.column) for line in cells.from_csv(written)] == [
        ("a\n=1", "b\n=2")
    ]


def test_values_that_are_not_text_are_unchanged():
    assert [spreadsheet.cell(value) for value in (-1, -0.5, None, True)] == [
        -1,
        -0.5,
        None,
        True,
    ]


def dangerous(text: str) -> list[str]:
    """Cells of a csv that a spreadsheet program would calculate."""
    found = []
    for cell in cells_of(text):
        formula = cell[:1] in tuple("\t\r\n") or calculated(cell)
        if formula and cell not in PLAIN and not _number(cell):
            found.append(cell)
    return found


def cells_of(text: str) -> list[str]:
    return [*itertools.chain(*csv.reader(io.StringIO(text)))]


def calculated(cell: str) -> bool:
    """Whether a cell or a part of it begins with a formula, after characters that
    spreadsheets strip.
    """
    stripped = (
        part.lstrip(' "\x00\u200b\ufeff\xa0\u3000')
        for part in re.split("[;\t\n]", cell)
    )
    return any(part[:1] in tuple("=+-@＝＋－＠") for part in stripped if part)


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("evil", FORMULAS)
def test_untrusted_names_and_texts_are_not_formulas(evil):
    lines = build(
        [],
        [Cell(evil, f"{evil}.", -0.4, reason=evil), Cell("a", evil, None)],
        comparable=True,
    )
    written = cells.to_csv(lines, note=evil)
    assert not dangerous(written)
    assert cells.from_csv(written, evil) == lines
    assert lines[0].ours in cells_of(written)
    values = {
        field.name: evil if field.type is str else field.type(-1)
        for field in fields(Pair)
    }
    pairs = [Pair(**values)]
    assert not dangerous(comparison.to_csv(pairs))
    assert comparison.from_csv(comparison.to_csv(pairs)) == pairs
    findings = [Finding(evil, 0, len(evil), evil, 0.5)]
    review = Review(of="leases", data="Leases", models=["linear"], minimum=0.1)
    assert not dangerous(page.to_csv(findings, {}, review))
    row = {
        "hypothesis": evil,
        "short_premise": evil,
        "example_id": evil,
        "is_twin": False,
    }
    assert not dangerous(sheet([row], "set"))


# Exports are read by programs, which need unchanged texts: printed.csv has the
# published values, and the files in TREC and BEIR format have ids and numbers.
FOR_PROGRAMS = {"tables/published.py", "publish/trec.py"}


def test_every_csv_writer_for_people_uses_safe_cells():
    code = {
        path.relative_to(PACKAGE).as_posix(): path.read_text()
        for path in PACKAGE.rglob("*.py")
    }
    writers = {
        name
        for name, text in code.items()
        if "csv.writer(" in text or "csv.DictWriter(" in text
    }
    safe = {name for name in writers if "spreadsheet.cell" in code[name]}
    assert writers - safe == FOR_PROGRAMS
    assert len(safe) == 6
