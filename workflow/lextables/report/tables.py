"""A page a table: printed and reproduced, which rows differ, what makes each again, what to know of it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lextables.report import again, outcomes
from lextables.report.layout import Found, Page
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.report.runs import place
from lextables.tables import comparison, render
from lextables.tables.comparison import Comparison

TEMPLATE = "table.page.html.j2"


def path(part: Part, exhibit: Exhibit, cut: int = 0) -> str:
    """The place of a table's page, or of the part of it after the ``cut`` that is counted from 0."""
    return f"tables/{part.name}-{exhibit.name}{f'-{cut + 1}' if cut else ''}.html"


def name(exhibit: Exhibit) -> str:
    """The table's name and title in one line."""
    return f"{render.label(exhibit.name)}. {exhibit.entry.title}"


def pages(
    part: Part,
    exhibit: Exhibit,
    runs: Mapping[str, RunRecord],
    config: Mapping[str, Any],
    root: str,
    cuts: int = 1,
) -> list[Page]:
    """Return the page of a table, its rows cut into as many pages as ``cuts`` says.

    ``runs`` are all by their folder, and ``root`` is the folder of the results as a command names it.
    """
    numbers = render.reasons(exhibit.lines)
    grids = [render.laid_out(grid, numbers) for grid in render.pivot(exhibit.lines)]
    order = [each.name for each in part.exhibits]
    at = order.index(exhibit.name)
    counts = outcomes.count(exhibit.lines)
    places = [path(part, exhibit, cut) for cut in range(cuts)]
    shared = {
        "part": part,
        "exhibit": exhibit,
        "heading": name(exhibit),
        "data_note": render.data_note(part.sources),
        "picture": outcomes.picture(counts),
        "counts": outcomes.in_words(counts) if any(counts.values()) else "",
        "key": render.key(exhibit.lines),
        "reasons": list(numbers),
        "places": places,
    }
    first = {
        "command": again.command(config, f"{part.name}_{exhibit.name}"),
        "rows": rows_again(exhibit, runs, config, root),
        "place": place,
        "comparisons": comparisons(exhibit),
        "drawing": f"figures/{part.name}-{exhibit.name}.svg" if exhibit.svg else "",
        "before": _beside(part, at - 1) if at else None,
        "after": _beside(part, at + 1) if at + 1 < len(order) else None,
    }
    title = f"{part.short}, {name(exhibit)}"
    back = [(part.short, f"papers/{part.name}.html"), (render.label(exhibit.name), places[0])]
    kind = "figure" if exhibit.svg else "table"
    of = f"row of {part.short}, {render.label(exhibit.name)}"
    found = [Found(row, of, places[0]) for row in dict.fromkeys(line.row for line in exhibit.lines)]
    made = []
    for cut, some in enumerate(_cut(grids, cuts)):
        trail = back if not cut else [*back, (f"part {cut + 1}", places[cut])]
        values = shared | {"grids": some, "cut": cut} | (first if not cut else {})
        said = title if not cut else f"{title}, part {cut + 1}"
        made.append(Page(places[cut], said, TEMPLATE, values, kind, trail, () if cut else found))
    return made


def _beside(part: Part, at: int) -> tuple[str, str]:
    exhibit = part.exhibits[at]
    return name(exhibit), path(part, exhibit)


def comparisons(exhibit: Exhibit) -> Sequence[Comparison]:
    """The comparisons of at least two rows."""
    return [each for each in comparison.comparisons(exhibit.pairs) if len(each.systems) > 1]


def rows_again(
    exhibit: Exhibit, runs: Mapping[str, RunRecord], config: Mapping[str, Any], root: str
) -> list[again.Again]:
    """Return for each row that has runs the command that makes them, and what they took.

    Rows of the same runs are made by one command.
    """
    folders: dict[str, dict[str, None]] = {}
    for line in exhibit.lines:
        folders.setdefault(line.row, {}).update(dict.fromkeys(line.runs.split()))
    rows: dict[tuple[str, ...], list[str]] = {}
    for row, needed in folders.items():
        rows.setdefault(tuple(needed), []).append(row)
    found = []
    for needed, of_them in rows.items():
        here = [runs[folder] for folder in needed if folder in runs]
        if here:
            targets = [f"{root}/{folder}/scores.parquet" for folder in needed]
            found.append(again.Again(of_them, here, again.command(config, *targets), again.cost(here)))
    return found


def _cut(grids: Sequence[Mapping[str, Any]], cuts: int) -> Iterator[list[dict[str, Any]]]:
    """Cut grids of `render.laid_out` into ``cuts`` lists of grids, of about as many rows each."""
    places = [
        (g, b, row)
        for g, grid in enumerate(grids)
        for b, body in enumerate(grid["bodies"])
        for row in body["rows"]
    ]
    many = math.ceil(len(places) / cuts)
    for start in range(0, many * cuts, many):
        rows: dict[int, dict[int, list[Any]]] = {}
        for g, b, row in places[start : start + many]:
            rows.setdefault(g, {}).setdefault(b, []).append(row)
        yield [
            dict(grids[g])
            | {"bodies": [grids[g]["bodies"][b] | {"rows": some} for b, some in bodies.items()]}
            for g, bodies in rows.items()
        ]
