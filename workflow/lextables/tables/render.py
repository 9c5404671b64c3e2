"""Tables as Markdown and HTML: the published and the reproduced value in one cell.

Both formats are made from `pivot` and `shown`.  The HTML needs no network and no script.  A value from data
that are not the paper's is shown above the published value, without an arrow.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lextables.tables.cells import Line, count

MARKS = {"match": "✓", "near": "≈", "off": "✗"}
KEY = (
    "Each cell: published value → reproduced value, and the verdict; no arrow if the value is from other "
    "data, and only the published value if it was not run. "
    "Match: equal at the published precision, or the same words. "
    "Off: different, with the reproduced minus the published value. "
    "Near (trained rows only): the published value lies in the 95 % prediction interval of at least three "
    "seeds, which is shown after their number. "
    "In brackets: the 95 % sampling interval over queries, contracts or examples; it decides no verdict."
)
MARK = "†"  # at published values that a baseline reaches
REACHED = (
    "a baseline of the table scores at least as high as this published value. "
    "The mark describes the benchmark, not the reproduction."
)
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
SHORT = 15  # letters in a column of numbers
LONG = 25  # rows from which a table scrolls under its header

Rows = Mapping[str, Mapping[str, Line]]


@dataclass(frozen=True)
class Grid:
    """Rows that share columns, as {row: {column: line}}: the paper's rows, and additional rows."""

    columns: tuple[str, ...]
    paper: Rows
    additional: Rows


@dataclass(frozen=True)
class Shown:
    """The texts of a cell.

    ``seeds`` is the number of seeds and their prediction interval, ``interval`` the sampling interval, and
    ``note`` the number of its footnote (0: none).  ``apart``: the value is from other data than the published
    one.  ``reached``: a baseline of the table scores at least as high as the published value.
    """

    printed: str
    value: str
    mark: str
    word: str
    seeds: str
    interval: str
    note: int
    verdict: str
    apart: bool = False
    reached: bool = False


def pivot(lines: Iterable[Line]) -> list[Grid]:
    """Return the grids of a table, rows and columns in first-seen order.

    Rows that share no column, such as the bins of a histogram and its mean, are in separate grids.
    """
    rows: dict[str, dict[str, Line]] = {}
    for line in lines:
        rows.setdefault(line.row, {})[line.column] = line
    blocks: list[dict[str, None]] = []  # the rows of each grid
    for row, cells in rows.items():
        linked = [
            block
            for block in blocks
            if any(cells.keys() & rows[other].keys() for other in block)
        ]
        if linked:
            for block in linked[1:]:
                linked[0].update(block)
                blocks.remove(block)
            linked[0][row] = None
        else:
            blocks.append({row: None})
    return [
        _grid({row: cells for row, cells in rows.items() if row in block})
        for block in blocks
    ]


def _grid(rows: Rows) -> Grid:
    paper = {
        row: cells
        for row, cells in rows.items()
        if any(line.published for line in cells.values())
    }
    additional = {row: cells for row, cells in rows.items() if row not in paper}
    columns = dict.fromkeys(
        column for row in (*paper, *additional) for column in rows[row]
    )
    return Grid(tuple(columns), paper, additional)


def reasons(lines: Iterable[Line]) -> dict[str, int]:
    """Number the distinct reasons from 1, in first-seen order."""
    return {
        reason: n
        for n, reason in enumerate(
            dict.fromkeys(line.reason for line in lines if line.reason), 1
        )
    }


def _prediction(line: Line) -> str:
    """The number of seeds, as the run folders' last parts name them, and their prediction interval."""
    if not line.prediction_low:
        return ""
    seeds = len({folder.rpartition("/")[2] for folder in line.runs.split()})
    return f"{seeds} seeds: {line.prediction_low} to {line.prediction_high}".replace(
        "-", "−"
    )


def shown(line: Line, numbers: Mapping[str, int]) -> Shown:
    """Return the texts of the cell of ``line``; a text that equals the published one is not repeated."""
    value = line.reproduced or line.ours
    mark, word = MARKS.get(line.verdict, ""), line.verdict
    if line.verdict == "not run":
        value = ""
    elif line.verdict == "off":
        word = f"off {line.difference}".rstrip().replace("-", "−")
    elif line.verdict == "match" and line.decimals is None and value == line.published:
        value = ""
    elif not line.verdict and line.published and value:
        word = "no verdict" if line.reproduced else ""
    interval = f"[{line.low}, {line.high}]" if line.low and line.high else ""
    note = numbers.get(line.reason, 0)
    apart, reached = bool(line.published and line.ours), bool(line.baselines)
    return Shown(
        line.published,
        value,
        mark,
        word,
        _prediction(line),
        interval,
        note,
        line.verdict,
        apart,
        reached,
    )


def key(lines: Iterable[Line]) -> str:
    """Return the key of a table: `KEY`, and the baselines that mark published values."""
    names = dict.fromkeys(
        name for line in lines for name in filter(None, line.baselines.split("; "))
    )
    return f"{KEY} {MARK}: {REACHED} Here: {'; '.join(names)}." if names else KEY


def tally(lines: Iterable[Line]) -> str:
    """Return the verdicts on the published cells as text: ``3 match, 1 near, 0 off, 2 not run``."""
    totals = count(lines)
    clauses = [f"{n} {verdict}" for verdict, n in totals.items() if verdict]
    return ", ".join(clauses + [f"{totals['']} without a verdict"] * bool(totals[""]))


def label(name: str) -> str:
    """Return a table's name as in the paper: ``table_d4`` is ``Table D-4``."""
    kind, letter, number = re.fullmatch(
        r"(table|figure)(?:_([a-z])(?=\d))?_?(\w+)", name
    ).groups()
    number = number.upper() if len(number) == 1 else number
    return f"{kind.capitalize()} {f'{letter.upper()}-' if letter else ''}{number}"


def data_note(sources: Iterable[Mapping[str, Any]]) -> str:
    """Return a note on data that are not comparable with the paper's, from their provenance; else empty."""
    variants = dict.fromkeys(
        source["variant"] for source in sources if not source["comparable"]
    )
    return (
        f"{' and '.join(variants)} data: not comparable with the paper"
        if variants
        else ""
    )


def duration(seconds: float) -> str:
    """Return seconds as text: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes} min {rest} s"
        if minutes < 60
        else f"{minutes // 60} h {minutes % 60} min"
    )


def _heading(name: str, title: str) -> str:
    return f"{label(name)}. {title}" if name else title


# Markdown


def markdown(
    title: str,
    where: str,
    lines: Sequence[Line],
    notes: Sequence[str] = (),
    data_note: str = "",
    *,
    name: str = "",
    figure: str = "",
) -> str:
    """Return the table as Markdown.  ``figure`` is the path of a drawing beside it."""
    numbers = reasons(lines)
    heading = _heading(name, title)
    blocks = [
        f"# {plain(heading)}",
        plain(f"{where}. {data_note}." if data_note else f"{where}."),
    ]
    blocks += [f"![{plain(heading)}]({figure})"] * bool(figure)
    blocks += ["\n".join(_markdown_grid(grid, numbers)) for grid in pivot(lines)]
    blocks += [f"**{tally(lines)}.** {plain(key(lines))}"] * any(
        line.published for line in lines
    )
    blocks += [
        "\n".join(f"{n}. {plain(reason)}" for reason, n in numbers.items())
    ] * bool(numbers)
    blocks += ["\n".join(f"- {plain(note)}" for note in notes)] * bool(notes)
    return "\n\n".join(blocks) + "\n"


def _markdown_grid(grid: Grid, numbers: Mapping[str, int]) -> Iterable[str]:
    table = laid_out(grid, numbers)
    columns = table["columns"]
    yield markdown_row(
        "", *(_with_note(plain(column["name"]), column["note"]) for column in columns)
    )
    yield markdown_row(
        "---", *("---" if column["kind"] else "---:" for column in columns)
    )
    for body in table["bodies"]:
        if body["additional"]:
            yield markdown_row("**Additional rows**", *[""] * len(columns))
        for row in body["rows"]:
            cells = (_markdown_cell(cell) if cell else "" for cell in row["cells"])
            yield markdown_row(_with_note(plain(row["name"]), row["note"]), *cells)


def _with_note(text: str, note: int) -> str:
    """A text with the number of its note, if it has one."""
    return f"{text} {str(note).translate(SUPERSCRIPTS)}" if note else text


def markdown_row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Shown) -> str:
    printed = cell.printed + MARK * cell.reached
    values = " → ".join(plain(text) for text in (printed, cell.value) if text)
    if cell.apart:
        values = f"{plain(cell.value)} (published: {plain(cell.printed)})"
    parts = (
        values,
        cell.mark,
        f"{cell.word}," if cell.word and cell.seeds else cell.word,
        cell.seeds,
    )
    return " ".join(
        filter(
            None, (_with_note(" ".join(filter(None, parts)), cell.note), cell.interval)
        )
    )


def plain(text: str) -> str:
    """Escape Markdown and HTML, and replace line breaks, which would end the table's row."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", " ".join(text.split())).replace("<", "&lt;")
    return re.sub(r"[\\`*|\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def _is_text(grid: Grid, column: str) -> bool:
    """Whether a column has texts instead of values to compare."""
    cells = (
        cells[column]
        for part in (grid.paper, grid.additional)
        for cells in part.values()
        if column in cells
    )
    return any(
        len(text) > SHORT
        for line in cells
        for text in (line.published, line.reproduced, line.ours)
    )


# HTML

HERE = Path(__file__).parent
STYLE = (HERE / "page.css").read_text(encoding="utf-8")
TEMPLATES = Environment(
    loader=FileSystemLoader(HERE),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters["sentence"] = lambda text: text[:1].upper() + text[1:]
MACROS = "table.html.j2"  # of the cells and rows


def html(
    title: str,
    where: str,
    lines: Sequence[Line],
    notes: Sequence[str] = (),
    data_note: str = "",
    *,
    name: str = "",
    svg: str = "",
    more: Markup | str = "",
) -> str:
    """Return the table as a separate page, with the drawing ``svg`` above and ``more`` below it."""
    numbers = reasons(lines)
    body = TEMPLATES.get_template("alone.html.j2").render(
        heading=_heading(name, title),
        where=where,
        data_note=data_note,
        svg=Markup(svg),
        grids=[laid_out(grid, numbers) for grid in pivot(lines)],
        tally=tally(lines) if any(line.published for line in lines) else "",
        key=key(lines),
        reasons=numbers,
        notes=notes,
        more=more,
    )
    return page(_heading(name, title), Markup(body))


def page(title: str, body: Markup, style: str = "") -> str:
    """Return a page that includes its style and needs no other file; ``style`` is added to `STYLE`."""
    return TEMPLATES.get_template("page.html.j2").render(
        title=title, body=body, style=Markup(STYLE + style)
    )


def laid_out(grid: Grid, numbers: Mapping[str, int]) -> dict[str, Any]:
    """Return a grid for the macros of `MACROS`; notes on a whole row or column are at its heading."""
    rows = {
        row: [
            shown(cells[column], numbers) if column in cells else None
            for column in grid.columns
        ]
        for part in (grid.paper, grid.additional)
        for row, cells in part.items()
    }
    row_notes = {
        row: _common_note(cells) or _why_not_run(cells) for row, cells in rows.items()
    }
    for row, note in row_notes.items():
        rows[row] = [
            cell and (replace(cell, note=0) if cell.note == note else cell)
            for cell in rows[row]
        ]
    column_notes = [_common_note(column) for column in zip(*rows.values(), strict=True)]
    for row, cells in rows.items():
        rows[row] = [
            cell and replace(cell, note=0) if note else cell
            for cell, note in zip(cells, column_notes, strict=True)
        ]
    bodies = [
        {
            "additional": additional,
            "rows": [
                {"name": row, "note": row_notes[row], "cells": rows[row]}
                for row in part
            ],
        }
        for additional, part in ((False, grid.paper), (True, grid.additional))
        if part
    ]
    return {
        "columns": [
            {
                "name": column,
                "kind": "text" if _is_text(grid, column) else "",
                "note": note,
            }
            for column, note in zip(grid.columns, column_notes, strict=True)
        ],
        "bodies": bodies,
        "named": any(len(row) > SHORT for row in rows),
        "long": len(rows) > LONG,
    }


def _why_not_run(cells: Iterable[Shown | None]) -> int:
    """The note of most of a row's cells that are not run, 0 if no two have the same."""
    notes = Counter(cell.note for cell in cells if cell and cell.verdict == "not run")
    return next((note for note, count in notes.most_common(1) if count > 1), 0)


def _common_note(cells: Iterable[Shown | None]) -> int:
    """The note that all of several cells share, else 0."""
    notes = [cell.note for cell in cells if cell]
    return notes[0] if len(notes) > 1 and len(set(notes)) == 1 else 0
