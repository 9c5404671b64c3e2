"""A table for its reader, as Markdown and as HTML: the printed value and ours in one cell.

Both forms come from `pivot` and `shown`, so they say the same.  The HTML needs no network and no
script; it reads on a phone, in print, in grey and on a dark screen.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from lextables.tables.cells import DIFFERENCE, SPREAD, Line, count

MARKS = {"match": "✓", "near": "≈", "off": "✗", "not run": "–"}
KEY = (
    "Each cell: printed → ours, and the verdict. Match: equal at the printed precision, or the same words. "
    "Off: not; the difference is ours less the printed value. "
    "A row that is trained is judged by its own seeds, three at least: near says that the printed value lies in "
    "their 95 % prediction interval, which is named after them. "
    "In brackets stands the 95 % interval over queries, contracts or examples, the benchmark’s own uncertainty; "
    "it judges nothing."
)
SHORT = 15  # letters that fit where a number does

Rows = Mapping[str, Mapping[str, Line]]


@dataclass(frozen=True)
class Grid:
    """Rows that share columns, as {row: {column: line}}: the paper's rows, and rows of our own."""

    columns: tuple[str, ...]
    paper: Rows
    own: Rows


@dataclass(frozen=True)
class Shown:
    """What a cell says.

    ``seeds`` are how many there are and their prediction interval; ``interval`` is the sampling interval;
    ``note`` is the number of what else is to be said of it, 0 where there is nothing.
    """

    printed: str
    value: str
    mark: str
    word: str
    seeds: str
    interval: str
    note: int
    verdict: str


def pivot(lines: Iterable[Line]) -> list[Grid]:
    """Return the grids of a table, rows and columns in first-seen order.

    Rows that share no column, such as the bins of a histogram and its mean, stand in separate grids.
    """
    rows: dict[str, dict[str, Line]] = {}
    for line in lines:
        rows.setdefault(line.row, {})[line.column] = line
    blocks: list[dict[str, None]] = []  # the rows of each grid
    for row, cells in rows.items():
        linked = [block for block in blocks if any(cells.keys() & rows[other].keys() for other in block)]
        if linked:
            for block in linked[1:]:
                linked[0].update(block)
                blocks.remove(block)
            linked[0][row] = None
        else:
            blocks.append({row: None})
    return [_grid({row: cells for row, cells in rows.items() if row in block}) for block in blocks]


def _grid(rows: Rows) -> Grid:
    paper = {row: cells for row, cells in rows.items() if any(line.published for line in cells.values())}
    own = {row: cells for row, cells in rows.items() if row not in paper}
    columns = dict.fromkeys(column for part in (paper, own) for cells in part.values() for column in cells)
    return Grid(tuple(columns), paper, own)


def reasons(lines: Iterable[Line]) -> dict[str, int]:
    """Number the distinct reasons from 1, in first-seen order, without what the cells themselves say of them."""
    return {note: n for n, note in enumerate(dict.fromkeys(filter(None, map(_note, lines))), 1)}


def _clauses(line: Line) -> list[str]:
    return line.reason.split("; ")


def _note(line: Line) -> str:
    """The reason without the clauses that stand in the cell."""
    return "; ".join(
        clause
        for clause in _clauses(line)
        if not DIFFERENCE.fullmatch(clause) and not SPREAD.fullmatch(clause)
    )


def _said(pattern: re.Pattern[str], line: Line) -> tuple[str, ...]:
    """The groups of the clause that ``pattern`` reads, or nothing."""
    return next((found.groups() for clause in _clauses(line) if (found := pattern.fullmatch(clause))), ())


def shown(line: Line, numbers: Mapping[str, int]) -> Shown:
    """Return what the cell of ``line`` says; a text that is printed word for word is not said twice."""
    value = line.reproduced or line.ours
    mark, word = MARKS.get(line.verdict, ""), line.verdict
    if line.verdict == "not run":
        mark, value = "", MARKS["not run"]
    elif line.verdict == "off":
        word = " ".join(("off", *_said(DIFFERENCE, line))).replace("-", "−")
    elif line.verdict == "match" and line.decimals is None and value == line.published:
        value = ""
    elif not line.verdict and line.published and value:
        word = "no verdict" if line.reproduced else "ours"
    seeds = " seeds: ".join(_said(SPREAD, line)).replace("-", "−")
    interval = f"[{line.low}, {line.high}]" if line.low and line.high else ""
    note = numbers.get(_note(line), 0)
    return Shown(line.published, value, mark, word, seeds, interval, note, line.verdict)


def tally(lines: Iterable[Line]) -> str:
    """Return the verdicts on the printed cells in words: ``3 match, 1 near, 0 off, 2 not run``."""
    totals = count(lines)
    words = [f"{n} {verdict}" for verdict, n in totals.items() if verdict]
    return ", ".join(words + [f"{totals['']} without a verdict"] * bool(totals[""]))


def label(name: str) -> str:
    """Return a table's name as the paper writes it: ``table_d4`` is ``Table D-4``."""
    kind, letter, number = re.fullmatch(r"(table|figure)(?:_([a-z])(?=\d))?_?(\w+)", name).groups()
    return f"{kind.capitalize()} {f'{letter.upper()}-' if letter else ''}{number}"


def data_note(sources: Iterable[Mapping[str, Any]]) -> str:
    """Say which data are not comparable with the paper's, from the provenance of its sources; else empty."""
    variants = dict.fromkeys(source["variant"] for source in sources if not source["comparable"])
    return f"{' and '.join(variants)} data: not comparable with the paper" if variants else ""


def duration(seconds: float) -> str:
    """Return seconds as a person reads them: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _heading(name: str, title: str) -> str:
    return f"{label(name)}. {title}" if name else title


# Markdown


def markdown(
    title: str, where: str, lines: Sequence[Line], notes: Sequence[str] = (), data_note: str = "", *,
    name: str = "", figure: str = "",
) -> str:  # fmt: skip
    """Return the table as Markdown.  ``figure`` is the path of a drawing beside it."""
    numbers = reasons(lines)
    heading = _heading(name, title)
    blocks = [f"# {_plain(heading)}", _plain(f"{where}. {data_note}." if data_note else f"{where}.")]
    blocks += [f"![{_plain(heading)}]({figure})"] * bool(figure)
    blocks += ["\n".join(_markdown_grid(grid, numbers)) for grid in pivot(lines)]
    blocks += [f"**{tally(lines)}.** {KEY}"] * any(line.published for line in lines)
    blocks += ["\n".join(f"{n}. {_plain(reason)}" for reason, n in numbers.items())] * bool(numbers)
    blocks += ["\n".join(f"- {_plain(note)}" for note in notes)] * bool(notes)
    return "\n\n".join(blocks) + "\n"


def _markdown_grid(grid: Grid, numbers: Mapping[str, int]) -> Iterable[str]:
    yield _markdown_row("", *map(_plain, grid.columns))
    yield _markdown_row("---", *("---" if _is_text(grid, column) else "---:" for column in grid.columns))
    for rows, subheading in ((grid.paper, ()), (grid.own, ("**Ours**", *[""] * len(grid.columns)))):
        if rows and subheading:
            yield _markdown_row(*subheading)
        for row, cells in rows.items():
            found = [shown(cells[c], numbers) if c in cells else None for c in grid.columns]
            yield _markdown_row(_plain(row), *(_markdown_cell(cell) if cell else "" for cell in found))


def _markdown_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Shown) -> str:
    values = " → ".join(_plain(text) for text in (cell.printed, cell.value) if text)
    note = str(cell.note).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")) if cell.note else ""
    said = (values, cell.mark, f"{cell.word}," if cell.word and cell.seeds else cell.word, cell.seeds)
    return " ".join(text for text in (*said, note, cell.interval) if text)


def _plain(text: str) -> str:
    """Escape what Markdown or the HTML in it would act on; a line break would end the table's row."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", " ".join(text.split())).replace("<", "&lt;")
    return re.sub(r"[\\`*|\[\]]|(?<!\w)_|_(?!\w)", r"\\\g<0>", text)


def _is_text(grid: Grid, column: str) -> bool:
    """Whether a column holds texts to read and not values to compare."""
    cells = (cells[column] for part in (grid.paper, grid.own) for cells in part.values() if column in cells)
    return any(len(text) > SHORT for line in cells for text in (line.published, line.reproduced, line.ours))


# HTML

STYLE = """
:root { color-scheme: light dark; --page: #fff; --ink: #1c1e21; --soft: #5b6068; --line: #d8dade;
  --match: #17643a; --near: #7a4f00; --off: #a3241b; --link: #1f4f8f;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --serif: Charter, "Bitstream Charter", "Iowan Old Style", "Source Serif 4", Georgia, Cambria, serif; }
@media (prefers-color-scheme: dark) {
  :root { --page: #16181b; --ink: #e4e4e0; --soft: #a2a7ae; --line: #3a3e45;
    --match: #7fce9e; --near: #e2b65c; --off: #ff968c; --link: #93bdf3; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0; background: var(--page); color: var(--ink); font: 1.0625rem/1.55 var(--serif); }
main { max-width: 76rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1, h2, h3 { line-height: 1.25; margin: 0 0 .5rem; font-weight: 600; text-wrap: balance; }
h1 { font-size: 1.75rem; } h2 { font-size: 1.4rem; } h3 { font-size: 1.15rem; }
p, ol, ul, h1, h2, h3 { max-width: 40rem; }
p { margin: 0 0 .75rem; }
a { color: var(--link); text-underline-offset: .15em; text-decoration-thickness: .06em; }
.soft { color: var(--soft); } .small { font-size: .875rem; line-height: 1.45; }
.data { font-weight: 600; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.scroll { overflow-x: auto; margin: 1rem 0; position: relative; }
.scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; font: .875rem/1.4 var(--sans);
  font-variant-numeric: tabular-nums lining-nums; }
th, td { padding: .45rem .7rem; text-align: right; vertical-align: top; font-weight: 400;
  border-bottom: 1px solid var(--line); }
thead th { vertical-align: bottom; font-weight: 600; border-bottom: 1.5px solid var(--ink); }
tr > :first-child { position: sticky; left: 0; z-index: 1; background: var(--page); text-align: left;
  padding-left: 0; max-width: 17rem; }
.named tr > :first-child { min-width: 9.5rem; }
.named tbody th { overflow-wrap: anywhere; hyphens: auto; }
tr.group > th { padding-top: 1rem; font-weight: 600; max-width: none; }
tr.group span { position: sticky; left: 0; }
.text { text-align: left; min-width: 13rem; max-width: 32rem; }
td b { font-weight: 600; } td[class$="not run"] b { font-weight: 400; }
td .values { white-space: nowrap; }
td .values i { font-style: normal; color: var(--soft); }
td small { font-size: .8125rem; display: block; color: var(--soft); }
td.text .values { white-space: normal; } td.text b { font-weight: 400; }
td.text .values i:first-child { display: block; } td.text small { display: inline; }
small > span { white-space: nowrap; } td:not(.text) :is(.seeds, .interval) { display: block; }
.match .verdict { color: var(--match); } .near .verdict { color: var(--near); }
.off .verdict { color: var(--off); }
sup { line-height: 0; } sup a { text-decoration: none; padding: 0 .15em; }
ol, ul { padding-left: 1.4rem; margin: .5rem 0 1rem; }
li { margin-bottom: .25rem; overflow-wrap: break-word; }
figure { margin: 1rem 0; } figure svg { display: block; width: 100%; max-width: 27rem; height: auto; }
summary { cursor: pointer; font: .9375rem var(--sans); color: var(--link); }
@media (max-width: 40rem) {
  body { font-size: 1rem; } main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.4rem; } h2 { font-size: 1.25rem; }
  tr > :first-child { max-width: 8.75rem; } .named tr > :first-child { min-width: 7rem; }
  .text { min-width: 9.5rem; } th, td { padding: .4rem .55rem; } }
@media print {
  :root { --page: #fff; --ink: #000; --soft: #444; --line: #bbb; --link: #000;
    --match: #000; --near: #000; --off: #000; }
  body { font-size: 10pt; } main { max-width: none; padding: 0; }
  table { font-size: 7.5pt; } td small { font-size: 7pt; } th, td { padding: .25rem .35rem; }
  .scroll { overflow: visible; } tr > :first-child { position: static; }
  .named tr > :first-child { min-width: 5rem; }
  figure svg { max-width: 11cm; } .exhibit > .soft { break-after: avoid; } .text { min-width: 0; }
  tr, figure, h2, h3 { break-inside: avoid; } h2, h3 { break-after: avoid; }
  details::details-content { content-visibility: visible; display: block; } summary { display: none; } }
"""

TEMPLATES = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
TEMPLATES.filters["sentence"] = lambda text: text[:1].upper() + text[1:]

_FRAGMENT = TEMPLATES.from_string("""\
{% macro cell(cell, kind) %}
<td class="{{ kind }} {{ cell.verdict }}">
{%- if cell.printed and cell.value -%}
<span class="values"><i><span class="hidden">printed </span>{{ cell.printed }}</i>
<i aria-hidden="true">→</i> <b><span class="hidden">ours </span>{{ cell.value }}</b></span>
{%- else -%}
<span class="values">{{ cell.printed or cell.value }}</span>
{%- endif %}
{% if cell.word or cell.seeds or cell.interval or cell.note %}
&#32;<small>
{%- if cell.word %}<span class="verdict">{{ cell.mark }} {{ cell.word }}</span>{% endif %}
{%- if cell.seeds %} <span class="seeds">{{ cell.seeds }}</span>{% endif %}
{%- if cell.note %}<sup><a href="#{{ id }}-{{ cell.note }}">{{ cell.note }}</a></sup>{% endif %}
{% if cell.interval %} <span class="interval">{{ cell.interval }}</span>{% endif %}
</small>{% endif %}
</td>
{% endmacro %}
<section class="exhibit" id="{{ id }}">
<h{{ level }}>{{ heading }}</h{{ level }}>
<p class="soft">{{ where }}
{%- if data_note %}. <span class="data">{{ data_note|sentence }}</span>{% endif %}</p>
{% if svg %}
<figure>
{{ svg }}
</figure>
{% endif %}
{% if fold %}
<details><summary>{{ fold }}</summary>
{% endif %}
{% for grid in grids %}
<div class="scroll" role="region" aria-label="{{ heading }}" tabindex="0">
<table{% if grid.named %} class="named"{% endif %}>
<thead><tr><th scope="col"><span class="hidden">Row</span></th>
{% for column in grid.columns %}
<th scope="col" class="{{ grid.kinds[column] }}">{{ column }}</th>
{% endfor %}
</tr></thead>
{% for rows, own in ((grid.paper, false), (grid.own, true)) if rows %}
<tbody>
{% if own %}
<tr class="group"><th scope="rowgroup" colspan="{{ grid.columns|length + 1 }}"><span>Ours</span></th></tr>
{% endif %}
{% for row, cells in rows.items() %}
<tr><th scope="row">{{ row }}</th>
{% for column in grid.columns %}
{% if column in cells %}{{ cell(cells[column], grid.kinds[column]) }}{% else %}<td></td>
{% endif %}
{% endfor %}
</tr>
{% endfor %}
</tbody>
{% endfor %}
</table>
</div>
{% endfor %}
{% if fold %}
</details>
{% endif %}
{% if tally %}<p class="small"><strong>{{ tally }}.</strong>{% if key %} <span class="soft">{{ key }}</span>{% endif %}</p>
{% endif %}
{% if reasons %}
<ol class="small">
{% for reason, n in reasons.items() %}
<li id="{{ id }}-{{ n }}">{{ reason }}</li>
{% endfor %}
</ol>
{% endif %}
{% if notes %}
<ul class="small">
{% for note in notes %}
<li>{{ note }}</li>
{% endfor %}
</ul>
{% endif %}
</section>
""")

_PAGE = TEMPLATES.from_string("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{ title }}</title>
<style>{{ style }}</style>
</head>
<body>
<main>
{{ body }}
</main>
</body>
</html>
""")


def html(
    title: str, where: str, lines: Sequence[Line], notes: Sequence[str] = (), data_note: str = "", *,
    name: str = "", svg: str = "",
) -> str:  # fmt: skip
    """Return the table as a page of its own.  ``svg`` is the text of a drawing to stand above it."""
    body = fragment(title, where, lines, notes, data_note, name=name, svg=svg, level=1, key=KEY)
    return page(_heading(name, title), body)


def page(title: str, body: Markup, style: str = "") -> str:
    """Return a page that holds its style and needs no other file; ``style`` is added to `STYLE`."""
    return _PAGE.render(title=title, body=body, style=Markup(STYLE + style))


def fragment(
    title: str, where: str, lines: Sequence[Line], notes: Sequence[str] = (), data_note: str = "", *,
    name: str = "", svg: str = "", anchor: str = "", level: int = 2, key: str = "", fold: str = "",
) -> Markup:  # fmt: skip
    """Return the table as a section for a larger page.

    ``anchor`` is its id there; ``key`` is a sentence on how to read it; with ``fold`` the grids open at
    a click on that text.
    """
    numbers = reasons(lines)
    grids = [
        {
            "columns": grid.columns,
            "named": any(len(row) > SHORT for row in (*grid.paper, *grid.own)),
            "kinds": {column: "text" if _is_text(grid, column) else "" for column in grid.columns},
            "paper": _shown_rows(grid.paper, numbers),
            "own": _shown_rows(grid.own, numbers),
        }
        for grid in pivot(lines)
    ]
    text = _FRAGMENT.render(
        id=anchor or name or "table", heading=_heading(name, title), level=level, where=where,
        data_note=data_note, svg=Markup(svg), fold=fold, grids=grids, tally=tally(lines) if any(line.published for line in lines) else "", key=key,
        reasons=numbers, notes=notes,
    )  # fmt: skip
    return Markup(text)


def _shown_rows(rows: Rows, numbers: Mapping[str, int]) -> dict[str, dict[str, Shown]]:
    return {row: {c: shown(line, numbers) for c, line in cells.items()} for row, cells in rows.items()}
