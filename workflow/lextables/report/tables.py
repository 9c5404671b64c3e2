"""A page for each table: published and reproduced values, which rows differ, commands, and notes."""

from collections.abc import Mapping, Sequence
from typing import Any

from lextables.report import commands, wording
from lextables.report.layout import Found, Page
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.report.runs import place
from lextables.tables import comparison, render
from lextables.tables.comparison import Comparison

TEMPLATE = "table.page.html.j2"


def path(part: Part, exhibit: Exhibit) -> str:
    """The path of a table's page."""
    return f"tables/{part.name}-{exhibit.name}.html"


def name(exhibit: Exhibit) -> str:
    """The table's name and title in one line."""
    return f"{render.label(exhibit.name)}. {exhibit.entry.title}"


def page(
    part: Part,
    exhibit: Exhibit,
    runs: Mapping[str, RunRecord],
    config: Mapping[str, Any],
    root: str,
) -> Page:
    """Return the page of a table.

    ``runs`` are all runs by their folder; ``root`` is the folder of the results as commands name it.
    """
    numbers = render.reasons(exhibit.lines)
    order = [each.name for each in part.exhibits]
    at = order.index(exhibit.name)
    counts = wording.outcome_counts(exhibit.lines)
    values = {
        "part": part,
        "exhibit": exhibit,
        "heading": name(exhibit),
        "data_note": render.data_note(part.sources),
        "picture": wording.picture(counts),
        "counts": wording.counts_in_words(counts) if any(counts.values()) else "",
        "key": render.key(exhibit.lines),
        "reasons": list(numbers),
        "grids": [
            render.laid_out(grid, numbers) for grid in render.pivot(exhibit.lines)
        ],
        "command": commands.command(config, f"{part.name}_{exhibit.name}"),
        "rows": row_commands(exhibit, runs, config, root),
        "place": place,
        "comparisons": comparisons(exhibit),
        "drawing": f"figures/{part.name}-{exhibit.name}.svg" if exhibit.svg else "",
        "before": _beside(part, at - 1) if at else None,
        "after": _beside(part, at + 1) if at + 1 < len(order) else None,
    }
    here, label = path(part, exhibit), render.label(exhibit.name)
    trail = [(part.short, f"papers/{part.name}.html"), (label, here)]
    rows = dict.fromkeys(line.row for line in exhibit.lines)
    entries = [Found(row, f"row of {part.short}, {label}", here) for row in rows]
    kind = "figure" if exhibit.svg else "table"
    return Page(
        here, f"{part.short}, {name(exhibit)}", TEMPLATE, values, kind, trail, entries
    )


def _beside(part: Part, at: int) -> tuple[str, str]:
    exhibit = part.exhibits[at]
    return name(exhibit), path(part, exhibit)


def comparisons(exhibit: Exhibit) -> Sequence[Comparison]:
    """The comparisons of at least two rows."""
    return [
        each for each in comparison.comparisons(exhibit.pairs) if len(each.systems) > 1
    ]


def row_commands(
    exhibit: Exhibit,
    runs: Mapping[str, RunRecord],
    config: Mapping[str, Any],
    root: str,
) -> list[commands.RowCommand]:
    """Return for each row with runs the command that reproduces them, and their cost.

    Rows with the same runs share a command.
    """
    folders: dict[str, dict[str, None]] = {}
    for line in exhibit.lines:
        folders.setdefault(line.row, {}).update(dict.fromkeys(line.runs.split()))
    rows: dict[tuple[str, ...], list[str]] = {}
    for row, needed in folders.items():
        rows.setdefault(tuple(needed), []).append(row)
    by_runs = []
    for needed, of_them in rows.items():
        here = [runs[folder] for folder in needed if folder in runs]
        if here:
            targets = [f"{root}/{folder}/scores.parquet" for folder in needed]
            by_runs.append(
                commands.RowCommand(
                    of_them,
                    here,
                    commands.command(config, *targets),
                    commands.cost(here),
                )
            )
    return by_runs
