"""The published values of all papers as one csv, read by pandas."""

import io
from pathlib import Path

import pandas as pd

from lextables.publish.printed import COLUMNS, to_csv
from lextables.tables.published import load

PUBLISHED = sorted((Path(__file__).parents[2] / "resources/published").glob("*.csv"))


def test_every_published_value_is_there_once_as_it_was_printed():
    text = to_csv(PUBLISHED)
    frame = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values={"number": [""], "margin": [""]})
    cells = [(path.stem, cell) for path in PUBLISHED for cell in load(path)]
    assert len(frame) == len(cells) > 2000 and tuple(frame.columns) == COLUMNS
    assert frame["number"].dtype == float and 0 < frame["number"].isna().sum() < len(frame)
    for row, (paper, cell) in zip(frame.itertuples(), cells, strict=True):
        assert (row.paper, row.table, row.row, row.column) == (paper, cell.table, cell.row, cell.column)
        assert (row.value, row.where) == (cell.value, cell.where)
        assert row.decimals == ("" if cell.decimals is None else str(cell.decimals))
        assert (None if pd.isna(row.number) else row.number) == cell.number
