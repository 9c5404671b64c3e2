"""The loader of published values, and the committed values of ACORD against the text of the paper."""

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from lextables.pipeline.errors import BadInput
from lextables.tables.cells import Cell, verdict
from lextables.tables.published import PublishedCell, load

ROOT = Path(__file__).resolve().parents[2]
ACORD = ROOT / "resources" / "published" / "acord.csv"
PAPER = ROOT.joinpath(os.environ.get("LEXTABLES_PAPERS", "../shared/papers"), "acord.txt")

HEADER = "table,row,column,value,decimals,where\n"


def _write(folder: Path, text: str) -> Path:
    path = folder / "paper.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("value", "decimals", "number", "margin"),
    [
        ("0.571", 3, 0.571, None),
        ("54.0", 1, 54.0, None),
        ("54.0%", 1, 54.0, None),
        ("100%", 0, 100.0, None),
        ("114", 0, 114.0, None),
        ('"1,898"', 0, 1898.0, None),
        (".51", 2, 0.51, None),
        ("+2.0", 1, 2.0, None),
        ("-0.6", 1, -0.6, None),
        ("−0.6", 1, -0.6, None),
        ("0.742+/-0.014", 3, 0.742, 0.014),
        ("87.1 ± 1.5", 1, 87.1, 1.5),
        ("NaN", None, None, None),
        ("N/A", None, None, None),
        ("66M", None, None, None),
        ("1.23B", None, None, None),
        ('"1,23"', None, None, None),
        ("cap on liability", None, None, None),
    ],
)
def test_a_cell_is_read_as_printed(tmp_path, value, decimals, number, margin):
    shown = "" if decimals is None else decimals
    (cell,) = load(
        _write(tmp_path, f'{HEADER}table3,BM25 / None,NDCG@5,{value},{shown},"Table 3, Section 4"\n')
    )
    assert cell == PublishedCell(
        "table3", "BM25 / None", "NDCG@5", value.strip('"'), decimals, "Table 3, Section 4"
    )
    assert (cell.number, cell.margin) == (number, margin)


def test_cells_keep_the_order_of_the_file(tmp_path):
    cells = load(_write(tmp_path, HEADER + "table2,b,x,1,0,p. 1\ntable2,a,x,2,0,p. 1\ntable1,a,x,3,0,p. 1\n"))
    assert [cell.value for cell in cells] == ["1", "2", "3"]


def test_a_value_whose_trailing_zeros_are_dropped_is_compared_at_the_decimals_of_its_table(tmp_path):
    text = HEADER + "t,r,c,0.81+/-0.013,3,p\nt,s,c,0.817+/-0.012,3,p\nt,u,c,0,3,p\n"
    cells = load(_write(tmp_path, text))
    assert [(cell.value, cell.number, cell.decimals) for cell in cells] == [
        ("0.81+/-0.013", 0.81, 3), ("0.817+/-0.012", 0.817, 3), ("0", 0.0, 3),
    ]  # fmt: skip
    found = [verdict(cells[0], Cell("r", "c", value)) for value in (0.8149, 0.8104)]
    assert found == [("off", "+0.005", ""), ("match", "", "")]


# Rows whose values are counts, and the one column of values of different kinds.
COUNTS = re.compile(r"(.* / )?N")
MIXED = {("cuad", "figure2", "Value")}


@pytest.mark.parametrize("path", sorted(ACORD.parent.glob("*.csv")), ids=lambda path: path.stem)
def test_the_values_of_a_column_are_compared_at_the_same_decimals(path):
    """A paper that prints 0.81 beside 0.817 drops trailing zeros; 0.8149 is not its value."""
    columns = defaultdict(set)
    for cell in load(path):
        if cell.decimals is not None and not COUNTS.fullmatch(cell.row):
            columns[path.stem, cell.table, cell.column].add(cell.decimals)
    assert {key: found for key, found in columns.items() if len(found) > 1}.keys() == MIXED & columns.keys()


def test_a_byte_order_mark_is_not_part_of_the_first_column(tmp_path):
    assert load(_write(tmp_path, "\ufeff" + HEADER + "table2,b,x,1,0,p. 1\n"))[0].table == "table2"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("table,row,column,value,where\n", "row 1: missing column: 'decimals'"),
        (HEADER.strip() + ",note\n", "row 1: unknown column: 'note'"),
        (HEADER.strip() + ",row\n", "row 1: repeated column: 'row'"),
        ("", "row 1: missing column: 'table'"),
        (HEADER + "t,r,c,0.5,1,p\nt,r,c,,,p\n", "row 3: the value is empty"),
        (HEADER + "t,,c,0.5,1,p\n", "row 2: the row is empty"),
        (HEADER + "t,r,c,0.5,1,\n", "row 2: the where is empty"),
        (HEADER + "t,r ,c,0.5,1,p\n", "row 2: the row 'r ' begins or ends with a space"),
        (
            HEADER + "t,r,c,0.50,1,p\n",
            "row 2: decimals is '1', but the value '0.50' is a number with 2 decimals",
        ),
        (HEADER + "t,r,c,50,,p\n", "row 2: decimals is '', but the value '50' is a number with 0 decimals"),
        (HEADER + "t,r,c,NaN,3,p\n", "row 2: decimals is '3', but the value 'NaN' is text"),
        (HEADER + "t,r,c,5,x,p\n", "row 2: decimals is 'x'"),
        (HEADER + "t,r,c,0.5,-1,p\n", "row 2: decimals is '-1'"),
        (
            HEADER + "t,r,c,0.5,3,p\nt,s,c,0.25,2,p\nu,s,c,0.125,3,p\n",
            "row 2: decimals is 3, but no value of t shows 3 decimals",
        ),
        (
            HEADER + "t,r,c,1,0,p\nt,s,c,1,0,p\nt,r,c,2,0,p\n",
            "row 4: the cell t / 'r' / 'c' stands already in row 2",
        ),
        (HEADER + "t,r,c,1,898,0,p\n", "row 2: 7 fields, and the header has 6"),
        (HEADER + 't,"r\ns",c,1,0,p\n\n', "row 4: 0 fields, and the header has 6"),
        (HEADER + 't,"r"s,c,1,0,p\n', "row 2: the file is no csv"),
    ],
)
def test_bad_input_names_file_and_row(tmp_path, text, sentence):
    path = _write(tmp_path, text)
    with pytest.raises(BadInput, match=re.escape(f"{path}, {sentence}")):
        load(path)


def test_a_missing_file_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        load(tmp_path / "absent.csv")


def test_a_file_that_is_not_utf8_is_bad_input(tmp_path):
    path = tmp_path / "paper.csv"
    path.write_bytes(HEADER.encode() + b"t,r,c,\xff,,p\n")
    with pytest.raises(BadInput, match="not UTF-8"):
        load(path)


# The committed values against the paper.  The parse is this test's own; it shares nothing with the loader.


@pytest.fixture(scope="module")
def paper() -> list[str]:
    if not PAPER.is_file():
        pytest.skip(f"the text of the paper is not at {PAPER}; set LEXTABLES_PAPERS to its folder")
    return PAPER.read_text(encoding="utf-8").splitlines()


def _committed(table: str) -> list[tuple[str, str, str]]:
    return [(cell.row, cell.column, cell.value) for cell in load(ACORD) if cell.table == table]


def _block(paper: list[str], caption: str) -> list[list[str]]:
    """The tab-separated lines that stand above the line that begins with ``caption``."""
    (end,) = [number for number, line in enumerate(paper) if line.startswith(f"{caption}:")]
    while not paper[end - 1].strip():
        end -= 1
    start = end
    while "\t" in paper[start - 1]:
        start -= 1
    return [[re.sub(r"</?u>", "", field) for field in line.split("\t")] for line in paper[start:end]]


def _cells(block: list[list[str]], labels: int) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield (labels, column, value); an empty label repeats the one above, a lone field heads a section."""
    header, *rows = block
    section, above = "", [""] * labels
    for fields in rows:
        if not any(fields[1:]):
            section = fields[0].lower()
            continue
        assert len(fields) == len(header), fields
        above = [field or upper for field, upper in zip(fields[:labels], above, strict=True)]
        for column, value in zip(header[labels:], fields[labels:], strict=True):
            yield (*above, section) if section else tuple(above), column, value


@pytest.mark.parametrize(
    ("caption", "table", "labels"),
    [
        ("Table 2", "table2", 1),
        ("Table 3", "table3", 2),
        ("Table C-2", "table_c2", 1),
        ("Table D-1", "table_d1", 1),
        ("Table D-3", "table_d3", 2),
        ("Table D-5", "table_d5", 2),
    ],
)
def test_every_cell_is_the_papers(paper, caption, table, labels):
    printed = [
        (" / ".join(row), column, value) for row, column, value in _cells(_block(paper, caption), labels)
    ]
    assert _committed(table) == printed


def test_every_cell_of_table_c3_is_the_papers(paper):
    upper, lower, *rows = _block(paper, "Table C-3")
    header = [below or above for above, below in zip(upper, lower, strict=True)]
    printed = [(row, column, value) for (row,), column, value in _cells([header, *rows], 1)]
    assert _committed("table_c3") == printed


def test_the_counts_of_table_c3_add_up():
    cells = {(row, column): int(value) for row, column, value in _committed("table_c3")}
    stars = [f"{star}-star" for star in (5, 4, 3, 2, 1)]
    rows = {row for row, _ in cells}
    assert len(rows) == 10
    for row in rows:
        assert sum(cells[row, star] for star in stars) == cells[row, "Total ratings"]
    for column in ["Number of Queries", *stars, "Total ratings"]:
        assert sum(cells[row, column] for row in rows - {"Total"}) == cells["Total", column]


def test_every_cell_of_table_d2_is_the_papers(paper):
    words = {"No": "not fine-tuned", "Yes": "fine-tuned"}
    printed = [
        (f"{category} / {words[tuned]}", column, value)
        for (category, tuned), column, value in _cells(_block(paper, "Table D-2"), 2)
    ]
    assert _committed("table_d2") == printed


def _table_d4(paper: list[str]) -> list[tuple[str, str, str]]:
    printed = []
    for row, column, value in _cells(_block(paper, "Table D-4"), 2):
        score, _, change = value.partition(" (")
        printed.append((" / ".join(row), column, score))
        if change:
            printed.append((" / ".join(row), f"{column} change", change.removesuffix(")")))
    return printed


def test_every_cell_of_table_d4_is_the_papers(paper):
    assert _committed("table_d4") == _table_d4(paper)


def test_figure_2_is_the_bm25_rows_of_table_d4(paper):
    assert _committed("figure2") == [cell for cell in _table_d4(paper) if cell[0].startswith("BM25 / ")]


def test_every_cell_of_table_e2_is_the_papers(paper):
    printed = [
        (f"{model} / {query_type.strip('‘’')} / {variation}", column, value)
        for (model, query_type, variation), column, value in _cells(_block(paper, "Table E-2"), 3)
    ]
    assert _committed("table_e2") == printed


def test_every_cell_of_table_e1_is_the_papers(paper):
    printed = [
        (f"{query_type.strip('‘’')} / {variation}", column, query[1:-1])
        for (query_type, variation), column, query in _cells(_block(paper, "Table E-1"), 2)
    ]
    assert _committed("table_e1") == printed


def test_every_query_of_table_c1_is_the_papers(paper):
    # The table runs over several pages, each with the header again; its caption stands below the last.
    start = paper.index("No.\tClause Category\tQuery")
    (end,) = [number for number, line in enumerate(paper) if line.startswith("Table C-1:")]
    queries = [line.split("\t") for line in paper[start:end] if re.match(r"\d+\t", line)]
    printed = [
        (number, column, value)
        for number, category, query in queries
        for column, value in (("Clause Category", category), ("Query", query))
    ]
    assert [row for row, column, _ in printed if column == "Query"] == [str(n) for n in range(1, 115)]
    assert _committed("table_c1") == printed


def test_figure_c1_is_the_papers(paper):
    text = "\n".join(paper)
    mean, median = re.search(r"average of ([\d,]+) words and a median of ([\d,]+) words", text).groups()
    shortest, longest = re.search(r"ranging from ([\d,]+) words to ([\d,]+) words", text).groups()
    assert _committed("figure_c1") == [
        ("words a clause", "Mean", mean),
        ("words a clause", "Median", median),
        ("words a clause", "Min", shortest),
        ("words a clause", "Max", longest),
    ]
