"""Systems, which are rows of a plan, and kinds of cells that several papers' tables
have.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from lextables.tables.cells import Cell
from lextables.tables.published import PublishedCell

System = Mapping[str, Any]  # a row of `planner.Plan.rows`
WHOLE = "100"  # condition of the runs on all training data, in per cent
RECALLS = range(5, 101, 5)  # per cent, of a curve


def runs_of(system: System, condition: str) -> tuple[str, ...]:
    """Return the folders of a system's runs of a condition, one per seed."""
    return tuple(system["runs"].get(condition, ()))


def published_cell(
    published: PublishedCell, value: str | float | None, missing: str
) -> Cell:
    """Return the cell of a published one; without a value, with the reason
    ``missing``.
    """
    reason = missing if value is None else ""
    return Cell(published.row, published.column, value, reason=reason)


def number_cells(
    row: str,
    values: Mapping[str, float],
    decimals: int | None = None,
    runs: Sequence[str] = (),
) -> list[Cell]:
    """Return a cell for each of ``values``, {column: number}."""
    return [
        Cell(row, column, float(value), decimals=decimals, runs=tuple(runs))
        for column, value in values.items()
    ]


def curve_cells(
    row: str, curves: Sequence[Mapping[int, float]], runs: Sequence[str]
) -> list[Cell]:
    """Return the mean of several curves, {recall: precision} in per cent.

    It ends with the shortest curve: a mean is over all seeds or none.
    """
    values = {}
    for recall in RECALLS if curves else ():
        if all(recall in curve for curve in curves):
            precision = statistics.fmean(curve[recall] for curve in curves)
            values[f"Precision at {recall}% recall"] = precision
    return number_cells(row, values, 1, runs)
