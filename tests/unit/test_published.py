"""The loader of published values."""

import io
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pytest

from lextables import ROOT
from lextables.pipeline.errors import BadInput
from lextables.tables.cells import Cell, verdict
from lextables.tables.published import (
    TIDY_COLUMNS,
    PublishedCell,
    first_kinds,
    load,
    number,
    to_csv,
)

PUBLISHED = sorted(ROOT.glob("resources/published/*.csv"))

HEADER = "table,row,column,value,decimals,where\n"


def _write(folder: Path, text: str) -> Path:
    """Write a file of scores that repeat nothing, from rows without the columns kind
    and repeats.
    """
    header, *rows = text.splitlines()
    lines = [f"{header},kind,repeats", *(f"{row},score," for row in rows)]
    return _write_whole(folder, lines)


def _write_whole(folder: Path, lines: Iterable[str]) -> Path:
    path = folder / "paper.csv"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
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
def test_a_cell_is_read_as_published(tmp_path, value, decimals, number, margin):
    shown = "" if decimals is None else decimals
    (cell,) = load(
        _write(
            tmp_path,
            f'{HEADER}table3,BM25 / None,NDCG@5,{value},{shown},"Table 3, Section 4"\n',
        )
    )
    assert cell == PublishedCell(
        "table3",
        "BM25 / None",
        "NDCG@5",
        value.strip('"'),
        decimals,
        "Table 3, Section 4",
    )
    assert (cell.number, cell.margin) == (number, margin)


def test_a_value_without_trailing_zeros_is_compared_at_the_given_decimals(tmp_path):
    text = HEADER + "t,r,c,0.81+/-0.013,3,p\nt,s,c,0.817+/-0.012,3,p\nt,u,c,0,3,p\n"
    cells = load(_write(tmp_path, text))
    assert [(cell.value, cell.number, cell.decimals) for cell in cells] == [
        ("0.81+/-0.013", 0.81, 3),
        ("0.817+/-0.012", 0.817, 3),
        ("0", 0.0, 3),
    ]
    found = [verdict(cells[0], Cell("r", "c", value)) for value in (0.8149, 0.8104)]
    assert found == [("off", "+0.005", ""), ("match", "", "")]


# Rows that contain counts, and the only column with values of different kinds.
COUNTS = re.compile(r"(.* / )?N")
MIXED = {("cuad", "figure2", "Value")}


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_all_values_of_a_column_have_the_same_number_of_decimals(path):
    """A paper that publishes 0.81 next to 0.817 drops trailing zeros: 0.81 means 0.810,
    not 0.8149.
    """
    columns = defaultdict(set)
    for cell in load(path):
        if cell.decimals is not None and not COUNTS.fullmatch(cell.row):
            columns[path.stem, cell.table, cell.column].add(cell.decimals)
    assert {
        key: found for key, found in columns.items() if len(found) > 1
    }.keys() == MIXED & columns.keys()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("table,row,column,value,where\n", "row 1: the column 'decimals' is missing"),
        (HEADER.strip() + ",note\nt,r,c,1,0,p,x\n", "row 2: unknown column: 'note'"),
        (HEADER.strip() + ",row\n", "row 1: a column appears twice"),
        (HEADER + "t,r,c,0.5,1,p\nt,r,c,,,p\n", "row 3: the value is empty"),
        (HEADER + "t,,c,0.5,1,p\n", "row 2: the row is empty"),
        (HEADER + "t,r,c,0.5,1,\n", "row 2: the where is empty"),
        (
            HEADER + "t,r ,c,0.5,1,p\n",
            "row 2: the row 'r ' begins or ends with a space",
        ),
        (
            HEADER + "t,r,c,0.50,1,p\n",
            "row 2: decimals is '1', but the value '0.50' is a number with 2 decimals",
        ),
        (
            HEADER + "t,r,c,50,,p\n",
            "row 2: decimals is '', but the value '50' is a number with 0 decimals",
        ),
        (
            HEADER + "t,r,c,NaN,3,p\n",
            "row 2: decimals is '3', but the value 'NaN' is text",
        ),
        (HEADER + "t,r,c,5,x,p\n", "row 2: decimals is 'x'"),
        (HEADER + "t,r,c,0.5,-1,p\n", "row 2: decimals is '-1'"),
        (
            HEADER + "t,r,c,0.5,3,p\nt,s,c,0.25,2,p\nu,s,c,0.125,3,p\n",
            "row 2: decimals is 3, but no value of t shows 3 decimals",
        ),
        (
            HEADER + "t,r,c,0.5,2,p\n",
            "row 2: decimals is 2, but no value of t shows 2 decimals",
        ),
        (
            HEADER + "t,r,c,1,0,p\nt,s,c,1,0,p\nt,r,c,2,0,p\n",
            "row 4: the cell t / 'r' / 'c' is also at ",
        ),
    ],
)
def test_errors_give_the_file_and_the_row(tmp_path, text, sentence):
    path = _write(tmp_path, text)
    with pytest.raises(BadInput, match=re.escape(f"{path}, {sentence}")):
        load(path)


FIRST = "t,BM25 / None,F1,0.525,3,p,score,"
WHOLE_HEADER = f"{HEADER.strip()},kind,repeats"


@pytest.mark.parametrize(
    ("value", "decimals", "kind"),
    [("0.525", 3, "score"), ("52.5", 1, "score"), ("0.525+/-0.1", 3, "score")],
)
def test_a_repeated_value_names_the_first_cell_and_may_be_in_per_cent(
    tmp_path, value, decimals, kind
):
    again = f"u,BM25,F1,{value},{decimals},p,{kind},t > BM25 / None > F1"
    first, second = load(_write_whole(tmp_path, [WHOLE_HEADER, FIRST, again]))
    assert (first.name, first.repeats) == ("t > BM25 / None > F1", "")
    assert second.repeats == first.name
    assert first_kinds([first, second]) == {"t": {("BM25 / None", "F1"): "score"}}


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            "u,r,c,1,0,p,count,",
            "row 3: unknown kind: 'count'; write one of score, stat",
        ),
        ("u,r,c,1,0,p,,", "row 3: the kind is empty"),
        ("u,r,c,1,0,p,text,", "row 3: the kind is text, but the value '1' is a number"),
        ("u,r,c,0.525,3,p,score,t > BM25 > F1", "row 3: repeats is 't > BM25 > F1'"),
        (
            "u,r,c,0.525,3,p,score,u > r > c",
            "row 3: repeats is 'u > r > c', which names",
        ),
        (
            "u,r,c,0.525,3,p,statistic,t > BM25 / None > F1",
            "row 3: the kind is statistic, but that of 't > BM25 / None > F1' is score",
        ),
        (
            "u,r,c,0.526,3,p,score,t > BM25 / None > F1",
            "row 3: the value '0.526' repeats '0.525' at 't > BM25 / None > F1'",
        ),
        (
            "u,r,c,5.25,2,p,score,t > BM25 / None > F1",
            "row 3: the value '5.25' repeats '0.525'",
        ),
        (
            "u,r,c,NaN,,p,score,t > BM25 / None > F1",
            "row 3: the value 'NaN' repeats '0.525'",
        ),
    ],
)
def test_errors_of_kinds_and_repeats_give_the_row(tmp_path, row, sentence):
    path = _write_whole(tmp_path, [WHOLE_HEADER, FIRST, row])
    with pytest.raises(BadInput, match=re.escape(f"{path}, {sentence}")):
        load(path)


def test_a_cell_cannot_repeat_a_cell_that_repeats_another(tmp_path):
    again = "u,r,c,0.525,3,p,score,t > BM25 / None > F1"
    chained = "v,r,c,0.525,3,p,score,u > r > c"
    with pytest.raises(BadInput, match="row 4: repeats is 'u > r > c', which names no"):
        load(_write_whole(tmp_path, [WHOLE_HEADER, FIRST, again, chained]))


def test_a_missing_file_raises_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        load(tmp_path / "absent.csv")


def test_the_tidy_csv_contains_every_published_value_once():
    text = to_csv(PUBLISHED)
    frame = pd.read_csv(
        io.StringIO(text),
        keep_default_na=False,
        na_values={"number": [""], "margin": [""]},
    )
    assert frame["number"].dtype == float and tuple(frame.columns) == TIDY_COLUMNS
    expected = []
    for path in PUBLISHED:
        for cell in load(path):
            decimals = "" if cell.decimals is None else str(cell.decimals)
            expected.append({"paper": path.stem, **vars(cell), "decimals": decimals})
    assert len(expected) > 2000
    names = [name for name in TIDY_COLUMNS if name not in ("number", "margin")]
    assert frame[names].to_dict("records") == expected
    numbers = frame["number"].astype(object).where(frame["number"].notna(), None)
    assert list(numbers) == [number(row["value"]) for row in expected]
