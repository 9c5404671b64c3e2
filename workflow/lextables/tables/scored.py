"""Cells of tables whose rows or columns are systems and whose values are scores of their runs."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lextables.metrics import HIGH, LOW, STRICT
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs

Interval = tuple[float | None, float | None]


def score_cell(
    inputs: Inputs, system: Mapping[str, Any], row: str, column: str, score: Score, *,
    runs: Sequence[str] | None = None, values: Sequence[float] | None = None,
    interval: Interval | None = None, decimals: int | None = None, trained: bool | None = None,
    compared: bool = True, baseline: str = "", missing: str = "", no_runs: str = "",
) -> Cell:  # fmt: skip
    """Return the cell of one score of a system: the mean over runs that differ in their seed.

    Parameters
    ----------
    system : row of `plan.Plan.rows`.
    score : which score of the runs; its ``measure`` names what systems are compared by.
    runs : folders of the runs, by default those of the first condition that the table shows.
    values : the score of each run in the table's unit, if it is not simply `run_values`.
    interval : sampling interval in the table's unit, by default `stored_interval`.
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
        row, column, None, measure=score.measure, averages=system["averages"],
        score=score if compared else None, baseline=(baseline or system["row"]) if is_baseline else "",
    )  # fmt: skip
    if not folders:
        return replace(cell, reason=system["reason"] or no_runs)
    values = run_values(inputs, folders, score) if values is None else tuple(values)
    if missing and (not values or any(map(math.isnan, values))):
        return replace(cell, reason=missing, runs=folders)
    low, high = stored_interval(inputs, folders, score) if interval is None else interval
    trained = system["trained"] if trained is None else trained
    return replace(
        cell, value=statistics.fmean(values), low=low, high=high, decimals=decimals, runs=folders,
        seeds=values if trained else None,
    )  # fmt: skip


def strict_cells(inputs: Inputs, cell: Cell, score: Score) -> list[Cell]:
    """Return the cell of the strict reading of ``cell``'s score if it is stored and differs."""
    values = run_values(inputs, cell.runs, score, STRICT)
    value = statistics.fmean(values) if values else math.nan
    if math.isnan(value) or math.isclose(value, cell.value):
        return []
    decimals = 1 if score.scale == 100 else 3
    return [Cell(cell.row, cell.column + STRICT, value, decimals=decimals, runs=cell.runs)]


def run_values(inputs: Inputs, runs: Sequence[str], score: Score, suffix: str = "") -> tuple[float, ...]:
    """Return a score of each run in the table's unit; NaN where a run lacks it."""
    place = score.metric + suffix, score.group
    return tuple(score.scale * inputs.scores[run].get(place, (math.nan, 0))[0] for run in runs)


def stored_interval(inputs: Inputs, runs: Sequence[str], score: Score) -> Interval:
    """Return the ends of a score's stored interval, averaged over runs; None where a run lacks one."""
    low, high = (statistics.fmean(run_values(inputs, runs, score, end)) for end in (LOW, HIGH))
    return (None, None) if math.isnan(low + high) else (low, high)
