"""Cells of tables whose rows or columns are systems and whose values are scores of their runs."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lextables.metrics import STRICT
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs

Interval = tuple[float | None, float | None]


def score_cell(
    inputs: Inputs,
    system: Mapping[str, Any],
    row: str,
    column: str,
    score: Score,
    *,
    runs: Sequence[str] | None = None,
    values: Sequence[float] | None = None,
    interval: Interval | None = None,
    decimals: int | None = None,
    trained: bool | None = None,
    compared: bool = True,
    baseline: str = "",
    missing: str = "",
    no_runs: str = "",
) -> Cell:
    """Return the cell of one score of a system: the mean over runs that differ in their seed.

    Parameters
    ----------
    system : row of `plan.Plan.rows`.
    score : which score of the runs; its ``measure`` names what systems are compared by.
    runs : folders of the runs, by default those of the first condition that the table shows.
    values : the score of each run in the table's unit, by default `Inputs.values`.
    interval : sampling interval in the table's unit, by default `Inputs.interval`.
    trained : whether the values differ by seed, by default whether the system was trained here.
    compared : whether paired tests compare systems by this score.
    baseline : the name under which a baseline marks published values, by default the system's row.
    missing : reason of a cell whose score a run lacks; without one the value is NaN.
    no_runs : reason of a cell without runs, if the system has none.
    """
    conditions = system["runs"]
    folders = tuple(next(iter(conditions.values()), ()) if runs is None else runs)
    is_baseline = system["baseline"] and not system["lenient"]
    cell = Cell(
        row,
        column,
        None,
        measure=score.measure,
        averages=system["averages"],
        score=score if compared else None,
        baseline=(baseline or system["row"]) if is_baseline else "",
    )
    if not folders:
        return replace(cell, reason=system["reason"] or no_runs)
    place = score.metric, score.group, score.scale
    values = inputs.values(folders, *place) if values is None else tuple(values)
    if missing and (not values or any(map(math.isnan, values))):
        return replace(cell, reason=missing, runs=folders)
    low, high = inputs.interval(folders, *place) if interval is None else interval
    trained = system["trained"] if trained is None else trained
    return replace(
        cell,
        value=statistics.fmean(values),
        low=low,
        high=high,
        decimals=decimals,
        runs=folders,
        seeds=values if trained else None,
    )


def strict_cells(inputs: Inputs, cell: Cell, score: Score) -> list[Cell]:
    """Return the cell of the strict reading of ``cell``'s score if it is stored and differs."""
    value = inputs.mean(cell.runs, score.metric + STRICT, score.group, score.scale)
    if value is None or math.isclose(value, cell.value):
        return []
    decimals = 1 if score.scale == 100 else 3
    return [
        Cell(cell.row, cell.column + STRICT, value, decimals=decimals, runs=cell.runs)
    ]
