"""Cells of a table whose rows are models and whose columns are scores."""

import math
import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs, about

LOW, HIGH = ", low", ", high"


def score_cells(
    inputs: Inputs, system: Mapping[str, Any], columns: Mapping[str, str], *, group: str = "all",
    condition: str | None = None, lower: bool = False, scale: float | None = None,
    decimals: int | None = None, units: str = "examples",
) -> Iterator[Cell]:  # fmt: skip
    """Yield a cell for each of ``columns`` ({metric: column}) in the row of one system (`plan.Row.plain`).

    A score is the mean over the runs of ``condition`` (by default the first that the table shows), which
    differ in their seed, times ``scale``; so are the ends of its sampling interval, where every run has one.
    ``lower`` says that a lower score is better, as of a loss; such scores are by default shown as they are,
    to three decimals, and others in per cent, to one.  ``units`` is what the test set is made of, in the
    plural.
    """
    scale = scale if scale is not None else 1 if lower else 100
    decimals = decimals if decimals is not None else 3 if lower else 1
    conditions = system["runs"]
    folders = tuple(conditions.get(condition or next(iter(conditions), ""), ()))
    for metric, column in columns.items():
        contest = column if group == "all" else f"{column}, {group}"
        score = Score(contest, system["row"], metric, group, units, scale, lower)
        said = about(system, f"{column}, {group}", system["row"], score)
        if not folders:
            yield Cell(system["row"], column, None, reason=system["reason"], **said)
            continue
        scores = [inputs.scores[folder] for folder in folders]
        values = [scale * of_run.get((metric, group), (math.nan, 0))[0] for of_run in scores]
        low, high = (
            statistics.fmean(scale * of_run[metric + end, group][0] for of_run in scores)
            if all((metric + end, group) in of_run for of_run in scores)
            else None
            for end in (LOW, HIGH)
        )
        seeds = tuple(values) if system["trained"] else None
        value = statistics.fmean(values)
        yield Cell(
            system["row"], column, value, low, high, decimals=decimals, runs=folders, seeds=seeds, **said
        )
