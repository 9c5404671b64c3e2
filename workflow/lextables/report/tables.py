"""A page for each table: published and reproduced values, which rows differ, commands,
and notes.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lextables.report import commands, wording
from lextables.report.commands import RowCommand, Settings
from lextables.report.layout import Link, Page
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.tables import comparison, render
from lextables.tables.comparison import Comparison
from lextables.tables.inputs import data_note

TEMPLATE = "table.page.html.j2"


@dataclass(frozen=True)
class TablePage:
    """The content of a table's page.

    ``counts`` are the outcomes of its published cells.  ``key`` explains verdicts; it
    is empty without published cells.  ``reasons`` are the notes to which numbers in
    the ``grids`` refer.  ``command`` reproduces the table, and ``rows`` are the
    commands of its rows.  ``drawing`` is the path of a figure's drawing, and ``before``
    and ``after`` link to the neighbouring tables.
    """

    part: Part
    exhibit: Exhibit
    heading: str
    data_note: str
    counts: wording.Counts
    key: str
    reasons: Sequence[str]
    grids: Sequence[render.ShownGrid]
    command: str
    rows: Sequence[RowCommand]
    comparisons: Sequence[Comparison]
    drawing: str
    before: Link | None
    after: Link | None


def path(part: Part, exhibit: Exhibit) -> str:
    """The path of a table's page."""
    return f"tables/{part.name}-{exhibit.name}.html"


def drawing_path(part: Part, exhibit: Exhibit) -> str:
    """The path of a figure's drawing; empty for a table."""
    return f"figures/{part.name}-{exhibit.name}.svg" if exhibit.svg else ""


def name(exhibit: Exhibit) -> str:
    """The table's name and title in one line."""
    return f"{render.label(exhibit.name)}. {exhibit.entry.title}"


def page(
    part: Part,
    exhibit: Exhibit,
    runs: Mapping[str, RunRecord],
    config: Settings,
    root: str,
) -> Page:
    """Return the page of a table.

    ``runs`` are all runs by their folder; ``root`` is the folder of the results as
    commands name it.
    """
    reason_numbers = render.reasons(exhibit.lines)
    links = [Link(name(each), path(part, each)) for each in part.exhibits]
    place = [each.name for each in part.exhibits].index(exhibit.name)
    counts = wording.outcome_counts(exhibit.lines)
    grids = render.pivot(exhibit.lines)
    compared = comparison.comparisons(exhibit.pairs)
    note = data_note(exhibit.sources)
    content = TablePage(
        part=part,
        exhibit=exhibit,
        heading=name(exhibit),
        data_note=note,
        counts=counts,
        key=render.key(exhibit.lines) if any(counts.values()) else "",
        reasons=list(reason_numbers),
        grids=[render.laid_out(grid, reason_numbers, not note) for grid in grids],
        command=commands.command(config, f"{part.name}_{exhibit.name}"),
        rows=row_commands(exhibit, runs, config, root),
        comparisons=[each for each in compared if len(each.systems) > 1],
        drawing=drawing_path(part, exhibit),
        before=links[place - 1] if place else None,
        after=links[place + 1] if place + 1 < len(links) else None,
    )
    page_path = path(part, exhibit)
    trail = [
        Link(part.short, f"papers/{part.name}.html"),
        Link(render.label(exhibit.name), page_path),
    ]
    return Page(page_path, f"{part.short}, {name(exhibit)}", TEMPLATE, content, trail)


def row_commands(
    exhibit: Exhibit, runs: Mapping[str, RunRecord], config: Settings, root: str
) -> list[RowCommand]:
    """Return for each row with runs the command that reproduces them, and their cost.

    Rows with the same runs share a command.
    """
    runs_of: dict[str, list[str]] = defaultdict(list)
    for line in exhibit.lines:
        runs_of[line.row] += line.runs.split()
    rows_with_runs: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row, folders in runs_of.items():
        needed = tuple(dict.fromkeys(folders))  # without repetitions
        rows_with_runs[needed].append(row)
    shown = []
    for needed, names in rows_with_runs.items():
        records = [runs[folder] for folder in needed if folder in runs]
        if records:
            targets = [f"{root}/{folder}/scores.parquet" for folder in needed]
            command = commands.command(config, *targets)
            cost = commands.cost(records)
            shown.append(RowCommand(names, records, command, cost))
    return shown
