"""Figures as svg, drawn from a table's lines: the same lines give the same bytes.

Lines have the text colour of the page, so that a drawing is readable on light and dark pages; published
values and ours differ in hatch and marker as well as in colour.  Letters of 12.5 units in a drawing 360 units
wide have 9 points on a phone.
"""

import io
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from lextables.tables.cells import Line
from lextables.tables.published import PublishedCell

WIDTH = 5.0  # inches of 72 units
FONT = 12.5
INK = "#010203"  # placeholder of the page's text colour
OURS = "#4a7fbf"  # equal contrast on white and on dark pages
HATCHES = (
    "",
    "////",
    "..",
    "\\\\",
    "xxx",
    "oo",
)  # one per row; the fill distinguishes published and ours
CENTRES = {
    "Mean": ("-", OURS),
    "Median": ("--", "none"),
}  # line style if published, marker filling if ours
LOOKS = (
    ("-", "o"),
    ("--", "s"),
    (":", "^"),
    ("-.", "D"),
    ((0, (7, 2)), "v"),
    ((0, (1, 3)), "P"),
)  # one per row
MARK_EVERY = 4  # points of a line, for lines whose dashes are too short to see
NAMED = 22  # maximum number of names along one side of a heat map
LARGEST = 600  # square points of a bubble
STEPS = 6  # on a logarithmic axis
SHADES = 10  # of a heat map
LABEL = 21  # letters in a line next to a bar
OF_PRINTED = "the published values"  # end of the columns of their means
OTHER_DATA = "Not the paper's data: published values are not drawn"

Drawing = Callable[[Figure, Sequence[Line]], None]
Point = tuple[float, float]


def draw(kind: str, lines: Sequence[Line], title: str, comparable: bool = True) -> str:
    """Return the svg of ``lines`` as a figure of ``kind``, one of `KINDS`.

    ``title`` is the text for screen readers.  Missing values are not drawn; a figure without any
    value says so.  For data that are not ``comparable``, published values are not drawn, and the drawing
    says so.
    """
    printed = any(line.published for line in lines)
    if not comparable:
        lines = [
            replace(line, published="")
            for line in lines
            if not line.column.endswith(OF_PRINTED)
        ]

    def drawing(figure: Figure) -> None:
        KINDS[kind](figure, lines)
        if printed and not comparable:
            figure.supxlabel(OTHER_DATA, fontsize=FONT)

    return to_svg(drawing, title, kind)


def to_svg(drawing: Callable[[Figure], None], title: str, kind: str) -> str:
    """Return what ``drawing`` draws as svg; ``kind`` and ``title`` make its ids unique."""
    style = {
        "svg.hashsalt": f"{kind} {title}",
        "svg.fonttype": "none",
        "text.parse_math": False,
        "font.family": ["sans-serif"],
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": FONT,
        "text.color": INK,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "hatch.color": INK,
        "hatch.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
    }
    out = io.StringIO()
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(WIDTH, WIDTH), layout="constrained")
        FigureCanvasSVG(figure)
        drawing(figure)
        figure.savefig(
            out,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Title": title},
        )
    return _themed(out.getvalue())


def _themed(svg: str) -> str:
    """Use the page's text colour, and remove the prologue, metadata and unused ids."""
    svg = re.sub(
        r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL
    )
    used = set(re.findall(r"#([\w-]+)", svg))
    svg = re.sub(
        r' id="([\w-]+)"', lambda match: match[0] if match[1] in used else "", svg
    )
    return svg.replace(INK, "currentColor").replace("<svg ", '<svg role="img" ', 1)


def _number(text: str) -> float | None:
    return PublishedCell("", "", "", text, None, "").number


def _ours(line: Line) -> str:
    return line.reproduced or line.ours


def _empty(figure: Figure) -> None:
    figure.set_figheight(1)
    figure.text(0.5, 0.5, "No value to draw", ha="center", va="center")


@dataclass(frozen=True)
class Bars:
    """A row's bars, one per column: length, its text, and the ends of its interval."""

    label: str
    look: dict[str, Any]
    values: dict[str, tuple[float, str, float | None, float | None]]


def bars_before_after(figure: Figure, lines: Sequence[Line]) -> None:
    """Bars by metric, before and after: rows are `<system> / <state>`; columns of changes are not drawn."""
    lines = [line for line in lines if " change" not in line.column]
    series = [bars for bars in _bars(lines) if bars.values]
    if not series:
        _empty(figure)
        return
    axes = figure.add_subplot()
    at, middles = 0.0, {}
    for column in dict.fromkeys(line.column for line in lines):
        group = [bars for bars in series if column in bars.values]
        if not group:
            continue
        middles[column] = at + (len(group) - 1) / 2
        for bars in group:
            value, text, low, high = bars.values[column]
            axes.barh(at, value, height=0.82, **bars.look)
            if low is not None and high is not None:
                axes.plot(
                    [low, high],
                    [at, at],
                    color=INK,
                    linewidth=1.6,
                    marker="|",
                    markersize=6,
                )
            end = max(value, high or value, 0)
            axes.annotate(
                text, (end, at), (4, 0), textcoords="offset points", va="center"
            )
            at += 1
        at += 1
    axes.set_yticks(list(middles.values()), list(middles))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(at - 1.5, -0.5)
    axes.margins(x=0.16)
    axes.spines["left"].set_position("zero")
    labels = [textwrap.fill(bars.label, 44, break_on_hyphens=False) for bars in series]
    patches = [Patch(**bars.look) for bars in series]
    figure.legend(
        patches, labels, loc="outside upper left", alignment="left", handlelength=1.6
    )
    rows = sum(label.count("\n") + 1 for label in labels)
    figure.set_figheight((16.5 * at + 19 * rows + 40) / 72)


def _bars(lines: Iterable[Line]) -> Iterable[Bars]:
    """Each row of the paper, published and ours, then the additional rows."""
    rows = _rows(lines)
    printed = {
        row for row, cells in rows.items() if any(line.published for line in cells)
    }
    has_several = len({row.rpartition(" / ")[0] for row in printed}) > 1
    for (row, cells), hatch in zip(rows.items(), itertools.cycle(HATCHES)):
        system, _, state = row.rpartition(" / ")
        name = (
            f"{system.rpartition(' / ')[2]}, {state}"
            if has_several or row not in printed
            else state
        )
        for ours in (False, True):
            values = {}
            for line in cells:
                text = _ours(line) if ours else line.published
                if (number := _number(text)) is not None:
                    low, high = (
                        (_number(line.low), _number(line.high))
                        if ours
                        else (None, None)
                    )
                    values[line.column] = number, text, low, high
            look = {
                "facecolor": OURS if ours else "none",
                "edgecolor": INK,
                "hatch": hatch,
                "linewidth": 0.8,
            }
            yield Bars(f"{'ours' if ours else 'published'}, {name}", look, values)


def histogram(figure: Figure, lines: Sequence[Line]) -> None:
    """Bins as rows (`0-99 words`), and the mean and the median of the first row that has one.

    Published ones are lines, ours are markers.
    """
    rows = [(re.fullmatch(r"(\d+)-(\d+) (.+)", line.row), line) for line in lines]
    bins = [
        (bounds, line)
        for bounds, line in rows
        if bounds and _number(_ours(line)) is not None
    ]
    first = next((line.row for line in lines if line.column in CENTRES), None)
    centres = [line for line in lines if line.row == first and line.column in CENTRES]
    if not bins and not centres:
        _empty(figure)
        return
    axes = figure.add_subplot()
    for bounds, line in bins:
        left, right = int(bounds[1]), int(bounds[2]) + 1
        height = _number(_ours(line))
        look = {"facecolor": OURS, "edgecolor": INK, "linewidth": 0.8, "alpha": 0.55}
        axes.bar(left, height, right - left, align="edge", **look)
    handles = []
    for line in centres:
        dash, fill = CENTRES[line.column]
        name = line.column.lower()
        if (printed := _number(line.published)) is not None:
            label = f"published, {name} {line.published}"
            handles.append(
                axes.axvline(
                    printed, color=INK, linestyle=dash, linewidth=1.6, label=label
                )
            )
        if (ours := _number(_ours(line))) is not None:
            look = {
                "marker": "v",
                "markersize": 10,
                "markeredgecolor": INK,
                "markerfacecolor": fill,
            }
            mark = Line2D(
                [ours],
                [1.04],
                linestyle="none",
                label=f"ours, {name} {_ours(line)}",
                **look,
            )
            mark.set(transform=axes.get_xaxis_transform(), clip_on=False)
            handles.append(axes.add_artist(mark))
    if bins:
        axes.set_xlabel(bins[0][0][3].capitalize())
        axes.set_ylabel(bins[0][1].column)
    axes.set_xlim(left=0)
    axes.locator_params(nbins=5)
    figure.legend(
        handles=handles,
        loc="outside upper left",
        ncols=2,
        columnspacing=1,
        handlelength=1.6,
    )
    figure.set_figheight(4)


def curves(figure: Figure, lines: Sequence[Line]) -> None:
    """Precision by recall, one line per row over `Precision at 20% recall`, and `Precision@80% Recall`."""
    axes, handles, labelled = figure.add_subplot(), [], set()
    for (row, cells), (dash, marker) in zip(
        _rows(lines).items(), itertools.cycle(LOOKS)
    ):
        on_line = _points(r"Precision at (\d+)% recall", cells, _ours)
        marked = _points(r"Precision@(\d+)% Recall", cells, _ours)
        printed = _points(
            r"Precision@(\d+)% Recall", cells, lambda line: line.published
        )
        handles += _line(axes, row, on_line, marked, dash, marker)
        handles += _printed(axes, row, printed, marker)
        labelled |= {at for at, _ in printed}
    for at in sorted(labelled):
        axes.axvline(at, color=INK, linewidth=0.6, zorder=0)
    axes.set(xlim=(0, 100), xlabel="Recall (%)", ylabel="Precision (%)")
    _finish(figure, axes, handles)


def line_by_size(figure: Figure, lines: Sequence[Line]) -> None:
    """A value by a size on a logarithmic axis, one line per series.

    Rows are `<series> / <how much>`; the last column is the size.
    """
    axes, sizes, handles = _series(figure, lines)
    if sizes:
        _logarithmic(axes, sizes)
    _finish(figure, axes, handles)


def _logarithmic(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic axis for these values, with plain numbers."""
    axes.set_xscale("log")
    # No mathematical text, which the svg would contain as source.
    steps = [step * 10**power for power in range(10) for step in (1, 3)]
    while (
        len(
            ticks := [
                step for step in steps if min(values) / 2 <= step <= max(values) * 2
            ]
        )
        > STEPS
    ):
        steps = steps[:: 2 if 3 in steps else 3]
    axes.set_xticks(ticks, [f"{step:,}" for step in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(min(values) / 1.6, max(values) * 1.6)


def line_by_mark(figure: Figure, lines: Sequence[Line]) -> None:
    """The first column by the last, such as a mark given by people; rows as in `line_by_size`."""
    first = next(iter(dict.fromkeys(line.column for line in lines)), "")
    last = next(reversed(dict.fromkeys(line.column for line in lines)), "")
    axes, _, handles = _series(
        figure, [line for line in lines if line.column in (first, last)]
    )
    _finish(figure, axes, handles)


def _series(
    figure: Figure, lines: Sequence[Line]
) -> tuple[Axes, list[float], list[Line2D]]:
    """Draw one line per series over the last column; return the axes, the x positions, and the legend."""
    size = next(reversed(dict.fromkeys(line.column for line in lines)), "")
    series: dict[str, list[tuple[float, float | None, float | None]]] = {}
    columns = {}
    for row, cells in _rows(lines).items():
        at = next((_number(_ours(line)) for line in cells if line.column == size), None)
        for line in cells:
            if at and line.column != size:
                columns[line.column] = None
                point = at, _number(_ours(line)), _number(line.published)
                series.setdefault(row.rpartition(" / ")[0], []).append(point)
    axes, handles = figure.add_subplot(), []
    for (name, points), (dash, marker) in zip(series.items(), itertools.cycle(LOOKS)):
        ours = sorted((at, value) for at, value, _ in points if value is not None)
        handles += _line(axes, name, ours, ours, dash, marker)
        handles += _printed(
            axes,
            name,
            [(at, value) for at, _, value in points if value is not None],
            marker,
        )
    axes.set(xlabel=size, ylabel=", ".join(columns))
    return axes, [at for points in series.values() for at, *_ in points], handles


def _points(
    column: str, cells: Iterable[Line], text: Callable[[Line], str]
) -> list[Point]:
    """(x, value) of the cells whose column is ``column``, a pattern with x as its group; sorted."""
    points = [
        (re.fullmatch(column, line.column), _number(text(line))) for line in cells
    ]
    return sorted(
        (int(match[1]), value) for match, value in points if match and value is not None
    )


def _rows(lines: Iterable[Line]) -> dict[str, list[Line]]:
    rows: dict[str, list[Line]] = {}
    for line in lines:
        rows.setdefault(line.row, []).append(line)
    return rows


def _line(
    axes: Axes,
    name: str,
    points: Sequence[Point],
    marked: Sequence[Point],
    dash: Any,
    marker: str,
) -> list[Line2D]:
    """Draw a line of our values with markers, and return its entry of the legend."""
    if not points and not marked:
        return []
    look = {"color": OURS, "linestyle": dash, "linewidth": 2.2}
    mark = {
        "marker": marker,
        "markersize": 8,
        "markeredgecolor": INK,
        "markerfacecolor": OURS,
    }
    axes.plot(*_across(points), **look, **mark, markevery=MARK_EVERY)
    axes.plot(*_across(marked), linestyle="none", **mark, clip_on=False, zorder=3)
    return [Line2D([], [], label=f"ours, {name}", **look, **mark)]


def _printed(
    axes: Axes, name: str, points: Sequence[Point], marker: str
) -> list[Line2D]:
    """Draw published points, larger than ours and hollow, and return their entry of the legend."""
    mark = {
        "marker": marker,
        "markersize": 12,
        "markeredgecolor": INK,
        "markerfacecolor": "none",
    }
    mark |= {"linestyle": "none", "markeredgewidth": 1.4}
    if not points:
        return []
    axes.plot(*_across(points), **mark, clip_on=False, zorder=4)
    return [Line2D([], [], label=f"published, {name}", **mark)]


def _across(points: Sequence[Point]) -> tuple[list[float], list[float]]:
    return [x for x, _ in points], [y for _, y in points]


def _finish(figure: Figure, axes: Axes, handles: Sequence[Line2D]) -> None:
    """Set the legend above the axes, whose values begin at zero."""
    if not handles:
        figure.clear()
        _empty(figure)
        return
    axes.set_ylim(
        0, max(axes.get_ylim()[1], 1.08 * axes.dataLim.ymax)
    )  # markers at the top are not cut
    for handle in handles:
        handle.set_label(textwrap.fill(handle.get_label(), 44, break_on_hyphens=False))
    figure.legend(
        handles=handles, loc="outside upper left", alignment="left", handlelength=3.4
    )
    figure.set_figheight(
        4 + sum(handle.get_label().count("\n") + 1 for handle in handles) * 19 / 72
    )


def bars_by_group(figure: Figure, lines: Sequence[Line]) -> None:
    """Bars by row, one per series: columns are `<measure>: <series>`; the first measure is drawn.

    A number published for the row, such as its rank, is before its name.
    """
    drawn = {
        line.column: None
        for line in lines
        if ": " in line.column and _number(_ours(line)) is not None
    }
    measure = next(iter(drawn), "").partition(": ")[0]
    columns = [column for column in drawn if column.startswith(f"{measure}: ")]
    if not columns:
        _empty(figure)
        return
    looks = {}
    for column, hatch in zip(columns, itertools.cycle(HATCHES)):
        fill = "none" if column.endswith(OF_PRINTED) else OURS
        looks[column] = {
            "facecolor": fill,
            "edgecolor": INK,
            "hatch": hatch,
            "linewidth": 0.8,
        }
    axes, at, middles, names = figure.add_subplot(), 0.0, [], []
    for row, cells in _rows(lines).items():
        values = [
            (line.column, _ours(line), number)
            for line in cells
            if line.column in looks and (number := _number(_ours(line))) is not None
        ]
        if not values:
            continue
        printed = next((line.published for line in cells if line.published), "")
        label = textwrap.fill(f"{printed} {row}".strip(), LABEL, break_on_hyphens=True)
        height = max(
            len(values), (label.count("\n") + 1) * 1.05
        )  # a bar is about as high as a line of text
        first = at + (height - len(values)) / 2
        for n, (column, text, number) in enumerate(values):
            axes.barh(first + n, number, height=0.8, **looks[column])
            axes.annotate(
                text,
                (number, first + n),
                (3, 0),
                textcoords="offset points",
                va="center",
            )
        middles.append(at + (height - 1) / 2)
        names.append(label)
        at += height + 0.5
    axes.set_yticks(middles, names)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(at - 1, -0.7)
    axes.margins(x=0.16)
    axes.set_xlabel(f"{measure} (%)")
    axes.spines["left"].set_position("zero")
    labels = [
        textwrap.fill(column.partition(": ")[2], 44, break_on_hyphens=False)
        for column in columns
    ]
    patches = [Patch(**look) for look in looks.values()]
    figure.legend(
        patches, labels, loc="outside upper left", alignment="left", handlelength=1.6
    )
    figure.set_figheight(
        (15 * at + 19 * sum(label.count("\n") + 1 for label in labels) + 50) / 72
    )


def bubbles(figure: Figure, lines: Sequence[Line]) -> None:
    """One marker per row: the first column on a logarithmic axis, the second on the other, then the area."""
    columns = list(dict.fromkeys(line.column for line in lines))[:3]
    points = []
    for cells in _rows(lines).values():
        values = {line.column: _number(_ours(line)) for line in cells}
        if len(columns) == 3 and all(
            values.get(column) is not None for column in columns
        ):
            points.append([values[column] for column in columns])
    if not points:
        _empty(figure)
        return
    across, up, sizes = zip(*points, strict=True)
    axes = figure.add_subplot()
    areas = [LARGEST * size / max(sizes) for size in sizes]
    axes.scatter(
        across, up, s=areas, facecolor=OURS, alpha=0.6, edgecolor=INK, linewidth=0.8
    )
    axes.set(xlabel=columns[0], ylabel=columns[1])
    _logarithmic(axes, across)
    axes.set_ylim(0, 1.15 * max(up))
    axes.yaxis.get_major_locator().set_params(integer=True)
    mark = Line2D(
        [], [], linestyle="none", marker="o", markersize=8, markerfacecolor=OURS
    )
    mark.set(
        markeredgecolor=INK,
        label=f"ours; area: {columns[2].lower()}, {max(sizes):,.0f} at most",
    )
    figure.legend(handles=[mark], loc="outside upper left")
    figure.set_figheight(4)


def heat_map(figure: Figure, lines: Sequence[Line]) -> None:
    """Values of pairs, from 0 to 1, as shades: the cells of rows that are also columns.

    If there are more than `NAMED` names, only as many as fit are shown.
    """
    columns = {line.column for line in lines}
    names = [row for row in _rows(lines) if row in columns]
    place = {name: at for at, name in enumerate(names)}
    if not names:
        _empty(figure)
        return
    values = np.full((len(names), len(names)), np.nan)
    for line in lines:
        if (
            line.row in place
            and line.column in place
            and (number := _number(_ours(line))) is not None
        ):
            values[place[line.row], place[line.column]] = number
    axes = figure.add_subplot()
    for shade in range(
        1, SHADES + 1
    ):  # one path per shade: single squares would take megabytes
        squares = [
            _square(x, y)
            for y, x in np.argwhere(np.ceil(values * SHADES) == shade).tolist()
        ]
        if squares:
            path = Path.make_compound_path(*squares)
            axes.add_patch(
                PathPatch(path, facecolor=OURS, alpha=shade / SHADES, linewidth=0)
            )
    every = math.ceil(len(names) / NAMED)
    ticks, tick_labels = (
        [at + 0.5 for at in range(0, len(names), every)],
        names[::every],
    )
    axes.set_xticks(ticks, tick_labels, rotation=90)
    axes.set_yticks(ticks, tick_labels)
    axes.set(xlim=(0, len(names)), ylim=(len(names), 0), aspect="equal")
    patches = [
        Patch(facecolor=OURS, alpha=step, label=f"to {step}")
        for step in (0.2, 0.5, 1.0)
    ]
    figure.legend(handles=patches, loc="outside upper left", ncols=3, handlelength=1.6)


def _square(x: int, y: int) -> Path:
    return Path([(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), (x, y)], closed=True)


KINDS: dict[str, Drawing] = {
    "bars_before_after": bars_before_after,
    "histogram": histogram,
    "curves": curves,
    "bars_by_group": bars_by_group,
    "line_by_size": line_by_size,
    "line_by_mark": line_by_mark,
    "heat_map": heat_map,
    "bubbles": bubbles,
}
