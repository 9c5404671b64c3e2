"""The computed cells of a table: scores of systems, which are rows of a plan, other
numbers, and curves.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from lextables.metrics import STRICT
from lextables.tables.cells import Cell, Score, is_number
from lextables.tables.inputs import Inputs
from lextables.tables.published import PublishedCell

# A row of `planner.Plan.rows`: the fields of `planner.Row`, and those of its ``about``,
# which differ by task.
System = Mapping[str, Any]
WHOLE = "100"  # condition of the runs on all training data, in per cent
RECALLS = range(5, 101, 5)  # per cent, of a curve
Interval = tuple[float | None, float | None]


def runs_of(system: System, condition: str) -> tuple[str, ...]:
    """Return the folders of a system's runs of a condition, one per seed."""
    return tuple(system["runs"].get(condition, ()))


class Options(TypedDict, total=False):
    """What the cell of `score_cell` has instead of the default."""

    runs: Sequence[str]
    """Folders of the runs, by default those of the first condition that the table
    shows.
    """
    interval: Interval | None
    """Sampling interval in the table's unit, by default `Inputs.interval`."""
    decimals: int
    """Precision of an additional cell."""
    trained: bool
    """Whether the values differ by seed, by default whether the system was trained
    here.
    """
    compared: bool
    """Whether paired tests compare systems by this score, by default yes.

    They never compare lenient systems, whose score rests on a weakness of the released
    evaluator.
    """
    baseline: str
    """Name under which a baseline marks published values, by default the system's
    row.
    """
    missing: str
    """Reason of a cell whose score a run lacks; without this reason the value is
    NaN.
    """
    no_runs: str
    """Reason of a cell without runs, if the system has none."""


def score_cell(
    inputs: Inputs,
    system: System,
    row: str,
    column: str,
    score: Score,
    **options: Unpack[Options],
) -> Cell:
    """Return the cell of one score of a system: the mean over runs that differ in their
    seed.

    ``score`` says which score of the runs; its ``measure`` names what systems are
    compared by.  A cell without runs has the system's reason.
    """
    baseline = ""
    is_compared = options.get("compared", True) and not system["lenient"]
    if system["baseline"] and not system["lenient"]:
        baseline = options.get("baseline") or system["row"]
    cell = Cell(
        row=row,
        column=column,
        value=None,
        measure=score.measure,
        averages=system["averages"],
        score=score if is_compared else None,
        baseline=baseline,
    )
    first_condition = next(iter(system["runs"].values()), ())
    folders = tuple(options.get("runs", first_condition))
    if not folders:
        return replace(cell, reason=system["reason"] or options.get("no_runs", ""))
    values = inputs.values(folders, score.metric, score.group, score.scale)
    missing = options.get("missing", "")
    if missing and any(map(math.isnan, values)):
        return replace(cell, reason=missing, runs=folders)
    low, high = options.get("interval") or inputs.interval(
        folders, score.metric, score.group, score.scale
    )
    trained = options["trained"] if "trained" in options else system["trained"]
    return replace(
        cell,
        value=statistics.fmean(values),
        low=low,
        high=high,
        decimals=options.get("decimals"),
        runs=folders,
        seeds=values if trained else None,
    )


def strict_cells(inputs: Inputs, cell: Cell, score: Score) -> list[Cell]:
    """Return the cell of the strict reading of ``cell``'s score if it is stored and
    differs.
    """
    value = inputs.mean(cell.runs, score.metric + STRICT, score.group, score.scale)
    if value is None or not is_number(cell.value) or math.isclose(value, cell.value):
        return []
    low, high = inputs.interval(
        cell.runs, score.metric + STRICT, score.group, score.scale
    )
    strict = Cell(
        row=cell.row,
        column=cell.column + STRICT,
        value=value,
        low=low,
        high=high,
        decimals=1 if score.scale == 100 else 3,
        runs=cell.runs,
    )
    return [strict]


def published_cell(
    published: PublishedCell, value: str | float | None, missing: str
) -> Cell:
    """Return the computed cell for a published one; without a value it has the reason
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
    """Return the cells of the mean of ``curves``, one for each of `RECALLS`.

    A curve is {recall: precision} in per cent.  Recalls that some curve lacks have no
    cell, so that each mean is over all seeds.
    """
    values = {}
    for recall in RECALLS if curves else ():
        if all(recall in curve for curve in curves):
            precision = statistics.fmean(curve[recall] for curve in curves)
            values[f"Precision at {recall}% recall"] = precision
    return number_cells(row, values, 1, runs)
