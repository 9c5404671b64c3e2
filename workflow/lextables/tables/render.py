"""Tables as Markdown and HTML: the published and the reproduced value in one cell.

Both formats are made from `pivot` and `shown`.  The HTML needs no network and no
script.  HTML has our value above the published one; Markdown has them in one line.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from lextables.pipeline.user_rows import PREFIX
from lextables.tables.cells import Line, count
from lextables.tables.published import number

MARKS = {"match": "✓", "near": "≈", "off": "✗"}
ARROWS = (  # how to read a cell in Markdown
    "Each cell: published value → reproduced value, and the verdict; no arrow if the value is from other "
    "data, and only the published value if it was not run. "
)
KEY = (
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
    """Rows that share columns, as {row: {column: line}}: the paper's rows, and
    additional rows.
    """

    columns: tuple[str, ...]
    paper: Rows
    additional: Rows


@dataclass(frozen=True)
class ShownCell:
    """The texts of a cell."""

    printed: str
    """The published value."""
    value: str
    """Our value; empty if it is not run, or is a text equal to the published one."""
    mark: str
    """The sign of the verdict, one of `MARKS`, or empty."""
    word: str
    """The verdict in words, with the difference if it is off."""
    seeds: str
    """The number of seeds and their prediction interval."""
    interval: str
    """The sampling interval."""
    note: int
    """The number of its footnote; 0 for none."""
    verdict: str
    """The verdict as in `cells.Verdict`."""
    apart: bool = False
    """Whether the value is from other data than the published one."""
    reached: bool = False
    """Whether a baseline of the table scores at least as well as the published
    value.
    """


@dataclass(frozen=True)
class ShownColumn:
    """A column: ``kind`` is `text` if it has texts instead of values to compare, else
    empty.
    """

    name: str
    kind: str
    note: int


@dataclass(frozen=True)
class ShownRow:
    """A row: a cell for each column, None where the table has no cell.

    ``own``: the row is a user's.  ``reached`` says how many published values it
    reaches, as text.
    """

    name: str
    note: int
    cells: Sequence[ShownCell | None]
    own: bool = False
    reached: str = ""


@dataclass(frozen=True)
class ShownBody:
    """Rows of a grid with their heading, which is empty for the paper's rows."""

    heading: str
    rows: Sequence[ShownRow]


@dataclass(frozen=True)
class ShownGrid:
    """A grid as the templates write it; notes on a whole row or column are at its
    heading.
    """

    columns: Sequence[ShownColumn]
    bodies: Sequence[ShownBody]

    @property
    def rows(self) -> list[ShownRow]:
        """The rows of all bodies."""
        return list(itertools.chain(*(body.rows for body in self.bodies)))

    @property
    def named(self) -> bool:
        """Whether a row has a long name."""
        return any(len(row.name) > SHORT for row in self.rows)

    @property
    def long(self) -> bool:
        """Whether it has many rows."""
        return len(self.rows) > LONG


@dataclass
class _Block:
    """The names of the rows of a grid, and of their columns."""

    rows: set[str]
    columns: set[str]


def pivot(lines: Iterable[Line]) -> list[Grid]:
    """Return the grids of a table, rows and columns in first-seen order.

    Rows that share no column, such as the bins of a histogram and its mean, are in
    separate grids.  Two rows are in one grid if they share a column, or if a chain of
    other rows connects them.
    """
    rows: dict[str, dict[str, Line]] = {}
    for line in lines:
        rows.setdefault(line.row, {})[line.column] = line
    blocks: list[_Block] = []
    for row, cells in rows.items():
        # A row joins all blocks with one of its columns, which become one block.
        block = _Block({row}, set(cells))
        linked = [other for other in blocks if other.columns & block.columns]
        at = len(blocks)
        if linked:
            at = blocks.index(linked[0])
        for other in linked:
            block.rows.update(other.rows)
            block.columns.update(other.columns)
            blocks.remove(other)
        blocks.insert(at, block)
    grids = []
    for block in blocks:
        chosen = {row: rows[row] for row in rows if row in block.rows}
        grids.append(_grid(chosen))
    return grids


def _grid(rows: Rows) -> Grid:
    """A grid of these rows; those without a published value are additional."""
    paper: dict[str, Mapping[str, Line]] = {}
    additional: dict[str, Mapping[str, Line]] = {}
    for row, cells in rows.items():
        if any(line.published for line in cells.values()):
            paper[row] = cells
        else:
            additional[row] = cells
    columns: dict[str, Line] = {}
    for cells in (*paper.values(), *additional.values()):
        columns.update(cells)
    return Grid(tuple(columns), paper, additional)


def reasons(lines: Iterable[Line]) -> dict[str, int]:
    """Number the distinct reasons from 1, in first-seen order."""
    texts = dict.fromkeys(line.reason for line in lines if line.reason)
    return {reason: n for n, reason in enumerate(texts, 1)}


def shown(line: Line, numbers: Mapping[str, int]) -> ShownCell:
    """Return the texts of the cell of ``line``; a text that equals the published one is
    not repeated.
    """
    value = line.reproduced or line.ours
    word: str = line.verdict
    is_text = line.decimals is None
    if line.verdict == "not run":
        value = ""
    elif line.verdict == "off":
        word = f"off {line.difference}".rstrip().replace("-", "−")
    elif line.verdict == "match" and is_text and value == line.published:
        value = ""
    elif not line.verdict and line.published and line.reproduced:
        word = "no verdict"
    interval = ""
    if line.low and line.high:
        interval = f"[{line.low}, {line.high}]"
    return ShownCell(
        printed=line.published,
        value=value,
        mark=MARKS.get(line.verdict, ""),
        word=word,
        seeds=_prediction(line),
        interval=interval,
        note=numbers.get(line.reason, 0),
        verdict=line.verdict,
        apart=bool(line.published and line.ours),
        reached=bool(line.baselines),
    )


def _prediction(line: Line) -> str:
    """The number of seeds, which are the last parts of the run folders, and their
    prediction interval.
    """
    if not line.prediction_low:
        return ""
    seeds = set()
    for folder in line.runs.split():
        _, _, seed = folder.rpartition("/")
        seeds.add(seed)
    text = f"{len(seeds)} seeds: {line.prediction_low} to {line.prediction_high}"
    return text.replace("-", "−")


def key(lines: Iterable[Line]) -> str:
    """Return the text that explains a table's verdicts and marks: `KEY`, and the
    baselines that reach published values.
    """
    names: list[str] = []
    for line in lines:
        if line.baselines:
            names += line.baselines.split("; ")
    if not names:
        return KEY
    here = "; ".join(dict.fromkeys(names))
    return f"{KEY} {MARK}: {REACHED} Here: {here}."


def tally(lines: Iterable[Line]) -> str:
    """Return the verdicts on the published cells as text: ``3 match, 1 near, 0 off, 2
    not run``.
    """
    totals = count(lines)
    clauses = [f"{n} {verdict}" for verdict, n in totals.items() if verdict]
    if totals[""]:
        clauses.append(f"{totals['']} without a verdict")
    return ", ".join(clauses)


def label(name: str) -> str:
    """Return a table's name as in the paper: ``table_d4`` is ``Table D-4``."""
    pattern = r"(table|figure)(?:_([a-z])(?=\d))?_?(\w+)"
    match = re.fullmatch(pattern, name)
    if not match:
        raise ValueError(f"{name!r} is no name of a table or figure")
    kind, letter, number = match.groups()
    if len(number) == 1:
        number = number.upper()
    if letter:
        number = f"{letter.upper()}-{number}"
    return f"{kind.capitalize()} {number}"


def duration(seconds: float) -> str:
    """Return seconds as text: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


@dataclass(frozen=True)
class About:
    """What a table's files say around its values.

    ``where`` is its place in the paper.  ``notes`` are shown below it.  ``data_note``
    describes data that are not the paper's.  ``name`` is its id, such as `table_d4`;
    empty for a page that is no table of a paper.
    """

    title: str
    where: str
    notes: Sequence[str] = ()
    data_note: str = ""
    name: str = ""

    @property
    def heading(self) -> str:
        """The number and the title."""
        return f"{label(self.name)}. {self.title}" if self.name else self.title


# Markdown


def markdown(about: About, lines: Sequence[Line], figure: str = "") -> str:
    """Return the table as Markdown.  ``figure`` is the path of a drawing beside it."""
    numbers = reasons(lines)
    heading = plain(about.heading)
    where = f"{about.where}."
    if about.data_note:
        where += f" {about.data_note}."
    blocks = [f"# {heading}", plain(where)]
    if figure:
        blocks.append(f"![{heading}]({figure})")
    for grid in pivot(lines):
        grid_lines = _markdown_grid(laid_out(grid, numbers, not about.data_note))
        blocks.append("\n".join(grid_lines))
    if any(line.published for line in lines):
        blocks.append(f"**{tally(lines)}.** {plain(ARROWS + key(lines))}")
    if numbers:
        items = [f"{n}. {plain(reason)}" for reason, n in numbers.items()]
        blocks.append("\n".join(items))
    if about.notes:
        items = [f"- {plain(note)}" for note in about.notes]
        blocks.append("\n".join(items))
    return "\n\n".join(blocks) + "\n"


def _markdown_grid(grid: ShownGrid) -> Iterator[str]:
    """Yield the lines of a grid."""
    heads = []
    sides = []
    for column in grid.columns:
        heads.append(_with_note(plain(column.name), column.note))
        sides.append("---" if column.kind else "---:")
    yield markdown_row("", *heads)
    yield markdown_row("---", *sides)
    for body in grid.bodies:
        if body.heading:
            blank = [""] * len(heads)
            yield markdown_row(f"**{body.heading}**", *blank)
        for row in body.rows:
            name = _with_note(plain(row.name), row.note)
            if row.reached:
                name += f" ({row.reached})"
            cells = [_markdown_cell(cell) for cell in row.cells]
            yield markdown_row(name, *cells)


def _with_note(text: str, note: int) -> str:
    """A text with the number of its note, if it has one."""
    if not note:
        return text
    return f"{text} {str(note).translate(SUPERSCRIPTS)}"


def markdown_row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: ShownCell | None) -> str:
    """The text of a cell: values, verdict, seeds, note, interval; empty without a
    cell.
    """
    if cell is None:
        return ""
    printed = cell.printed
    if cell.reached:
        printed += MARK
    printed = plain(printed)
    value = plain(cell.value)
    if cell.apart:
        values = f"{value} (published: {plain(cell.printed)})"
    else:
        values = _joined(" → ", printed, value)
    word = cell.word
    if word and cell.seeds:
        word += ","
    text = _joined(" ", values, cell.mark, word, cell.seeds)
    text = _with_note(text, cell.note)
    return _joined(" ", text, cell.interval)


def _joined(separator: str, *texts: str) -> str:
    """The texts that are not empty."""
    return separator.join(text for text in texts if text)


def plain(text: str) -> str:
    """Escape Markdown and HTML, and replace line breaks, which would end the table's
    row.
    """
    text = " ".join(text.split())
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = text.replace("<", "&lt;")
    return re.sub(r"[\\`*|\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


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
MACROS = "table.html.j2"  # the template with the macros for cells and rows


def html(
    about: About, lines: Sequence[Line], svg: str = "", more: Markup | str = ""
) -> str:
    """Return the table as a separate page, with the drawing ``svg`` above and ``more``
    below it.
    """
    numbers = reasons(lines)
    body = TEMPLATES.get_template("alone.html.j2").render(
        about=about,
        svg=Markup(svg),
        grids=[laid_out(each, numbers, not about.data_note) for each in pivot(lines)],
        tally=tally(lines) if any(line.published for line in lines) else "",
        key=key(lines),
        reasons=numbers,
        more=more,
    )
    return page(about.heading, Markup(body))


def page(title: str, body: Markup, style: str = "") -> str:
    """Return a page that includes its style and needs no other file; ``style`` is added
    to `STYLE`.
    """
    template = TEMPLATES.get_template("page.html.j2")
    return template.render(title=title, body=body, style=Markup(STYLE + style))


def laid_out(
    grid: Grid, numbers: Mapping[str, int], comparable: bool = True
) -> ShownGrid:
    """Return a grid for the macros of `MACROS`; ``numbers`` is the result of `reasons`.

    A user's row is compared with the published values if the data are ``comparable``.
    """
    published = grid.paper if comparable else {}
    paper = _rows(grid.paper, grid.columns, numbers, published)
    additional = _rows(grid.additional, grid.columns, numbers, published)
    columns = []
    notes = []
    for at, name in enumerate(grid.columns):
        cells = [row.cells[at] for row in (*paper, *additional)]
        note = _common_note(cells)
        kind = "text" if _is_text(grid, name) else ""
        columns.append(ShownColumn(name, kind, note))
        notes.append(note)
    bodies = []
    own_rows = [row for row in additional if row.own]
    others = [row for row in additional if not row.own]
    for heading, part in (
        ("", paper),
        ("Your rows", own_rows),
        ("Additional rows", others),
    ):
        if part:
            shown_rows = [_without_notes(row, notes) for row in part]
            bodies.append(ShownBody(heading, shown_rows))
    return ShownGrid(columns, bodies)


def _reached(row: Mapping[str, Line], published: Rows) -> str:
    """How many published scores of its columns a row reaches, as text.

    A column counts if the row's value is a score by which systems are compared.  The
    text is empty if no published score is left to compare with.
    """
    total = 0
    reached = 0
    for column, line in row.items():
        own = number(line.ours)
        if own is None or not line.best:
            continue
        higher_is_better = float(line.best) > float(line.worst)
        for cells in published.values():
            other = cells.get(column)
            value = number(other.published) if other else None
            # `ours` of a published cell is from other data than the paper's.
            if other is None or value is None or other.ours:
                continue
            total += 1
            is_reached = own >= value if higher_is_better else own <= value
            if is_reached:
                reached += 1
    return f"reaches {reached} of {total} published values" if total else ""


def _rows(
    rows: Rows, columns: Sequence[str], numbers: Mapping[str, int], published: Rows
) -> list[ShownRow]:
    """Rows of a grid as the templates write them.

    A note that all cells of a row share stands at the name of the row, and so does the
    most frequent note of the cells that are not run.
    """
    shown_rows = []
    for name, lines in rows.items():
        cells: list[ShownCell | None] = []
        for column in columns:
            line = lines.get(column)
            cells.append(shown(line, numbers) if line else None)
        note = _common_note(cells) or _why_not_run(cells)
        own = any(f"/{PREFIX}" in line.runs for line in lines.values())
        reached = _reached(lines, published) if own else ""
        row = ShownRow(name, note, cells, own, reached)
        shown_rows.append(_without_notes(row, [note] * len(cells)))
    return shown_rows


def _without_notes(row: ShownRow, notes: Sequence[int]) -> ShownRow:
    """A row without the notes of its cells that equal the note at the same place in
    ``notes``, because these are shown at a heading.
    """
    cells = []
    for cell, note in zip(row.cells, notes, strict=True):
        if cell and cell.note == note:
            cell = replace(cell, note=0)
        cells.append(cell)
    return replace(row, cells=cells)


def _is_text(grid: Grid, column: str) -> bool:
    """Whether a column has texts instead of values to compare."""
    for cells in (*grid.paper.values(), *grid.additional.values()):
        line = cells.get(column)
        if line is None:
            continue
        longest = max(line.published, line.reproduced, line.ours, key=len)
        if len(longest) > SHORT:
            return True
    return False


def _why_not_run(cells: Iterable[ShownCell | None]) -> int:
    """The most frequent note of a row's cells that are not run; 0 if no two share
    one.
    """
    notes = Counter(cell.note for cell in cells if cell and cell.verdict == "not run")
    if not notes:
        return 0
    note, number = notes.most_common(1)[0]
    return note if number > 1 else 0


def _common_note(cells: Iterable[ShownCell | None]) -> int:
    """The note that all of several cells share, else 0."""
    notes = [cell.note for cell in cells if cell]
    if len(notes) < 2 or len(set(notes)) > 1:
        return 0
    return notes[0]
