"""Data, runs and systems for tests of a paper's tables."""

from dataclasses import dataclass
from operator import itemgetter
from types import ModuleType

import pyarrow as pa

from lextables import ROOT
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.registry.paper import Paper
from lextables.tables.cells import build
from lextables.tables.inputs import Inputs
from lextables.tables.published import load

# Fields of a planned row that most tests leave as they are.
ROW = {
    "additional": False,
    "parameters": 1,
    "trained": True,
    "averages": 1,
    "baseline": False,
    "lenient": False,
}


def write_filled(folder, tables):
    """Write {table: rows} into a folder; columns that a row lacks are empty."""
    for table, rows in tables.items():
        blank = {column.name: _blank(column.type) for column in table.columns}
        filled = [blank | row for row in rows]
        filled.sort(key=itemgetter(*table.key))
        write(table, filled, folder / f"{table.name}.parquet")


def _blank(type_):
    if pa.types.is_list(type_):
        return []
    if pa.types.is_string(type_):
        return ""
    return False if pa.types.is_boolean(type_) else 0


def write_scores(folder, values, n=5):
    """Write the scores of a run; ``values`` are {(metric, group): value, or (value,
    n)}.
    """
    rows = []
    for (metric, group), value in sorted(values.items()):
        number = n
        if isinstance(value, tuple):
            value, number = value
        rows.append({"metric": metric, "group": group, "value": value, "n": number})
    folder.mkdir(parents=True, exist_ok=True)
    write(SCORES, rows, folder / "scores.parquet")


def system(row, runs=(), reason="not here", **more):
    """A planned row; ``runs`` are its folders, or {condition: folders}."""
    if not isinstance(runs, dict):
        runs = {"100": list(runs)} if runs else {}
    return ROW | {"row": row, "runs": runs, "reason": "" if runs else reason} | more


def column(cells, name):
    """{row: value} of a column of cells."""
    return {row: cell.value for (row, of), cell in cells.items() if of == name}


@dataclass
class PaperTables:
    """The tables of a paper, computed on the data set in ``data``, whose runs are below
    it.
    """

    module: ModuleType
    paper: Paper
    name: str

    def __post_init__(self):
        self.printed = load(ROOT / f"resources/published/{self.name}.csv")

    def rows(self, table):
        """The rows of a published table, each once."""
        cells = [cell for cell in self.printed if cell.table == table]
        return list(dict.fromkeys(cell.row for cell in cells))

    def inputs(self, data, table, *systems, **more):
        """The inputs of a table with these planned rows; ``more`` are other fields."""
        printed = [cell for cell in self.printed if cell.table == table]
        settings = {"paper": self.paper, "name": table, "root": data} | more
        return Inputs(data, rows=systems, published=printed, **settings)

    def cells(self, data, table, *systems, **more):
        """{(row, column): cell}."""
        cells = self.module.cells(table, self.inputs(data, table, *systems, **more))
        return {(cell.row, cell.column): cell for cell in cells}

    def lines(self, data, table, *systems, comparable=False, **more):
        """{(row, column): line} of the table with its published cells."""
        inputs = self.inputs(data, table, *systems, **more)
        lines = build(inputs.published, self.module.cells(table, inputs), comparable)
        return {(line.row, line.column): line for line in lines}
