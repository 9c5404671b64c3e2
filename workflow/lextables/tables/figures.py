"""Figures as svg, drawn from a table's lines: the same lines give the same bytes.

Lines have the text colour of the page, so that a drawing is readable on light and dark
pages; published values and ours differ in hatch and marker as well as in colour.  A
letter of 12.5 units in a drawing that is 360 units wide has 9 points on a phone.
"""

import io
import itertools
import math
import re
import textwrap
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from matplotlib.ticker import LogLocator

from lextables.tables.cells import Line
from lextables.tables.published import number

WIDTH = 5.0  # inches of 72 units
FONT = 12.5
INK = "#010203"  # placeholder of the page's text colour
# They differ for readers with any one kind of colour blindness, and have a contrast of
# at least 3 on white and on dark pages.
BLUE = "#4a7fbf"
ORANGE = "#dc7010"
VIOLET = "#9434f4"
OLIVE = "#889470"
RED = "#d02834"
MAUVE = "#a0587c"
OURS = BLUE
BORDER: dict[str, Any] = {"edgecolor": INK, "linewidth": 0.8}
# One hatch per row; the fill distinguishes published and ours.
HATCHES = ("", "////", "..", "\\\\", "xxx", "oo")
# Line style if published, marker filling if ours.
CENTRES = {"Mean": ("-", OURS), "Median": ("--", "none")}
# Dashes, marker and colour of each row.
LOOKS = (
    ("-", "o", BLUE),
    ("--", "s", ORANGE),
    (":", "^", VIOLET),
    ("-.", "D", OLIVE),
    ((0, (7, 2)), "v", RED),
    ((0, (1, 3)), "P", MAUVE),
)
# A marker at every fourth point of a line, for lines whose dashes are too short to see.
MARK_EVERY = 4
NAMED = 22  # maximum number of names along one side of a heat map
LARGEST = 600  # square points of a bubble
STEPS = 7  # powers of ten on a logarithmic axis
SHADES = 10  # of a heat map
LABEL = 21  # letters in a line next to a bar
LEGEND = 44  # letters in a line of the legend
LINE = 19 / 72  # inches of a line of the legend
GAP = 0.7  # between groups of bars, in bars
OF_PRINTED = "the published values"  # end of the columns of their means
OTHER_DATA = "Not the paper's data: published values are not drawn"

Drawing = Callable[[Figure, Sequence[Line]], None]
Point = tuple[float, float]
Numbers = dict[str, dict[str, float]]  # {row: {column: value}}
Look = dict[str, Any]  # properties of drawn things
STYLE: Look = {
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


def draw(kind: str, lines: Sequence[Line], title: str, comparable: bool = True) -> str:
    """Return the svg of ``lines`` as a figure of ``kind``, one of `KINDS`.

    ``title`` is the text for screen readers.  Missing values are not drawn; a figure
    without any value says so.  For data that are not ``comparable``, published values
    are not drawn, and the drawing says so.
    """
    omitted = not comparable and any(line.published for line in lines)
    if not comparable:
        ours = [line for line in lines if not line.column.endswith(OF_PRINTED)]
        lines = [replace(line, published="") for line in ours]

    def drawing(figure: Figure) -> None:
        KINDS[kind](figure, lines)
        if omitted:
            figure.supxlabel(OTHER_DATA, fontsize=FONT)

    return to_svg(drawing, title, kind)


def to_svg(drawing: Callable[[Figure], None], title: str, kind: str) -> str:
    """Return what ``drawing`` draws as svg; ``kind`` and ``title`` make its ids
    unique.
    """
    out = io.StringIO()
    settings: Any = {**STYLE, "svg.hashsalt": f"{kind} {title}"}
    metadata = {"Date": None, "Creator": None, "Title": title}
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(WIDTH, WIDTH), layout="constrained")
        FigureCanvasSVG(figure)
        drawing(figure)
        figure.savefig(out, format="svg", transparent=True, metadata=metadata)
    return _themed(out.getvalue())


def _themed(svg: str) -> str:
    """Use the page's text colour, and remove the prologue, metadata and unused ids."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r"#([\w-]+)", svg))

    def kept(match: re.Match[str]) -> str:
        """The id of a match if something in the svg refers to it, else nothing."""
        return match[0] if match[1] in used else ""

    svg = re.sub(r' id="([\w-]+)"', kept, svg)
    return svg.replace(INK, "currentColor").replace("<svg ", '<svg role="img" ', 1)


# Values


def _ours(line: Line) -> str:
    return line.reproduced or line.ours


def _published(line: Line) -> str:
    return line.published


def _numbers(lines: Iterable[Line], text: Callable[[Line], str] = _ours) -> Numbers:
    """{row: {column: number}} in first-seen order; a row may have no number.

    ``text`` returns the text of a line in which the number is.
    """
    rows: Numbers = {}
    for line in lines:
        values = rows.setdefault(line.row, {})
        value = number(text(line))
        if value is not None:
            values[line.column] = value
    return rows


def _columns(lines: Iterable[Line]) -> list[str]:
    return list(dict.fromkeys(line.column for line in lines))


def _empty(figure: Figure) -> None:
    figure.clear()
    figure.set_figheight(1)
    figure.text(0.5, 0.5, "No value to draw", ha="center", va="center")


def _legend(figure: Figure, handles: Sequence[Artist], length: float) -> int:
    """Draw the legend above the axes; return the number of its lines."""
    lines = 0
    for handle in handles:
        label = textwrap.fill(str(handle.get_label()), LEGEND, break_on_hyphens=False)
        handle.set_label(label)
        lines += label.count("\n") + 1
    place: Look = {"loc": "outside upper left", "alignment": "left"}
    figure.legend(handles=handles, handlelength=length, **place)
    return lines


# Bars


@dataclass(frozen=True)
class Series:
    """Bars with one look: ``label`` in the legend, and whether they are of our
    values.
    """

    label: str
    ours: bool
    hatch: str

    @property
    def look(self) -> Look:
        """The properties of its patches."""
        fill = OURS if self.ours else "none"
        return {"facecolor": fill, "hatch": self.hatch, **BORDER}


@dataclass(frozen=True)
class Bar:
    """A bar: its length, its text, and the ends of its interval if it has one."""

    series: Series
    value: float
    text: str
    low: float | None = None
    high: float | None = None


def bars_before_after(figure: Figure, lines: Sequence[Line]) -> None:
    """Bars by metric, before and after: rows are `<system> / <state>`; columns of
    changes are not drawn.

    If all published rows are of one system, the legend names them by their state alone.
    All other rows are named by the last part of their system
    (`<retriever> / <reranker>`) and their state.
    """
    drawn = [line for line in lines if " change" not in line.column]
    printed = set()
    systems = set()
    for line in drawn:
        if line.published:
            system, _, _ = line.row.rpartition(" / ")
            printed.add(line.row)
            systems.add(system)
    hatches = dict(zip(_numbers(drawn), itertools.cycle(HATCHES)))
    groups: dict[str, list[Bar]] = {column: [] for column in _columns(drawn)}
    for line in drawn:
        system, _, name = line.row.rpartition(" / ")
        if len(systems) > 1 or line.row not in printed:
            _, _, system = system.rpartition(" / ")
            name = f"{system}, {name}"
        groups[line.column] += _bars_of(line, name, hatches[line.row])
    _bar_chart(figure, groups)


def _bars_of(line: Line, name: str, hatch: str) -> list[Bar]:
    """The bars of a line's published value and of ours, of those that it has."""
    bars = []
    published = number(line.published)
    if published is not None:
        series = Series(f"published, {name}", False, hatch)
        bars.append(Bar(series, published, line.published))
    text = _ours(line)
    ours = number(text)
    if ours is not None:
        series = Series(f"ours, {name}", True, hatch)
        low = number(line.low)
        high = number(line.high)
        bars.append(Bar(series, ours, text, low, high))
    return bars


def bars_by_group(figure: Figure, lines: Sequence[Line]) -> None:
    """A group of bars for each row, with a bar for each series: columns are
    `<measure>: <series>`, and only the first measure with a value is drawn.

    The first published value of a row, such as its rank, stands before its name.
    """
    published: dict[str, str] = {}
    series: dict[str, Series] = {}
    hatches = itertools.cycle(HATCHES)
    groups: dict[str, list[Bar]] = defaultdict(list)
    drawn_measure = ""
    for line in lines:
        if line.published:
            published.setdefault(line.row, line.published)
    for line in lines:
        measure, colon, label = line.column.partition(": ")
        value = number(_ours(line))
        if not colon or value is None:
            continue
        drawn_measure = drawn_measure or measure
        if measure != drawn_measure:
            continue
        if line.column not in series:
            ours = not line.column.endswith(OF_PRINTED)
            series[line.column] = Series(label, ours, next(hatches))
        rank = published.get(line.row, "")
        name = f"{rank} {line.row}".strip()
        bar = Bar(series[line.column], value, _ours(line))
        groups[textwrap.fill(name, LABEL)].append(bar)
    axes = _bar_chart(figure, groups)
    if axes:
        axes.set_xlabel(f"{drawn_measure} (%)")


def _bar_chart(figure: Figure, groups: Mapping[str, Sequence[Bar]]) -> Axes | None:
    """Draw groups of horizontal bars, each with its name; return the axes, None without
    bars.
    """
    groups = {name: bars for name, bars in groups.items() if bars}
    if not groups:
        _empty(figure)
        return None
    axes = figure.add_subplot()
    at = 0.0
    middles = []
    series: dict[Series, None] = {}
    for name, bars in groups.items():
        # A bar is about as high as a line of text.
        text_lines = name.count("\n") + 1
        height = max(len(bars), text_lines * 1.05)
        first = at + (height - len(bars)) / 2
        for place, bar in enumerate(bars):
            series[bar.series] = None
            _draw_bar(axes, first + place, bar)
        middles.append(at + (height - 1) / 2)
        at += height + GAP
    axes.set_yticks(middles, list(groups))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(at - 0.5 - GAP, -0.7)
    axes.margins(x=0.16)
    axes.spines["left"].set_position("zero")
    handles = [Patch(label=each.label, **each.look) for each in series]
    rows = _legend(figure, handles, 1.6)
    bars_height = (16 * at + 50) / 72
    figure.set_figheight(bars_height + rows * LINE)
    return axes


def _draw_bar(axes: Axes, at: float, bar: Bar) -> None:
    """Draw a bar with its interval and its text."""
    axes.barh(at, bar.value, height=0.82, **bar.series.look)
    end = max(bar.value, 0)
    if bar.low is not None and bar.high is not None:
        look: Look = {"linewidth": 1.6, "marker": "|", "markersize": 6}
        axes.plot([bar.low, bar.high], [at, at], color=INK, **look)
        end = max(end, bar.high)
    place: Look = {"textcoords": "offset points", "va": "center"}
    axes.annotate(bar.text, (end, at), (4, 0), **place)


def histogram(figure: Figure, lines: Sequence[Line]) -> None:
    """A bar for each row that is a bin (`0-99 words`), and the mean and the median of
    the first row that has one of them.

    Published means and medians are vertical lines, ours are markers.
    """
    axes = figure.add_subplot()
    has_bins = False
    centres: list[Line] = []
    for line in lines:
        is_drawn = _draw_bin(axes, line)
        has_bins = has_bins or is_drawn
        is_of_first_row = not centres or centres[0].row == line.row
        if line.column in CENTRES and is_of_first_row:
            centres.append(line)
    if not has_bins and not centres:
        _empty(figure)
        return
    handles: list[Artist] = []
    for line in centres:
        handles += _draw_centre(axes, line)
    axes.set_xlim(left=0)
    axes.locator_params(nbins=5)
    place: Look = {"loc": "outside upper left", "ncols": 2, "columnspacing": 1}
    figure.legend(handles=handles, handlelength=1.6, **place)
    figure.set_figheight(4)


def _draw_bin(axes: Axes, line: Line) -> bool:
    """Draw the bar of a line that is a bin of a histogram; return whether it is one
    with a value.
    """
    bounds = re.fullmatch(r"(\d+)-(\d+) (.+)", line.row)
    height = number(_ours(line))
    if not bounds or height is None:
        return False
    left = int(bounds[1])
    right = int(bounds[2]) + 1
    look: Look = {**BORDER, "facecolor": OURS, "alpha": 0.55}
    axes.bar(left, height, right - left, align="edge", **look)
    axes.set(xlabel=bounds[3].capitalize(), ylabel=line.column)
    return True


def _draw_centre(axes: Axes, line: Line) -> list[Artist]:
    """Draw the published mean or median and ours; return the handles of the legend."""
    dash, fill = CENTRES[line.column]
    name = line.column.lower()
    printed = number(line.published)
    ours = number(_ours(line))
    handles: list[Artist] = []
    if printed is not None:
        look: Look = {"color": INK, "linestyle": dash, "linewidth": 1.6}
        label = f"published, {name} {line.published}"
        handles.append(axes.axvline(printed, label=label, **look))
    if ours is not None:
        label = f"ours, {name} {_ours(line)}"
        mark = Line2D([ours], [1.04], label=label)
        mark.set(linestyle="none", marker="v", markersize=10)
        mark.set(markeredgecolor=INK, markerfacecolor=fill)
        mark.set(transform=axes.get_xaxis_transform(), clip_on=False)
        handles.append(axes.add_artist(mark))
    return handles


# Lines


@dataclass
class Plot:
    """Axes with one line per row: our values on lines with markers, published ones as
    hollow markers.
    """

    figure: Figure
    axes: Axes
    handles: list[Line2D] = field(default_factory=list)

    def add(
        self,
        name: str,
        look: tuple[object, str, str],
        points: Sequence[Point],
        marked: Sequence[Point],
        published: Sequence[Point],
    ) -> None:
        """Add the line of ``points``, with a marker at each of the ``marked``, and
        ``published`` points.

        ``look`` are its dashes, its marker and its colour, one of `LOOKS`.
        """
        dash, marker, colour = look
        mark: Look = {"marker": marker, "markeredgecolor": INK}
        ours = mark | {"markersize": 8, "markerfacecolor": colour}
        line: Look = {"color": colour, "linestyle": dash, "linewidth": 2.2}
        if points or marked:
            self._plot(points, **line, **ours, markevery=MARK_EVERY)
            self._plot(marked, linestyle="none", **ours, clip_on=False, zorder=3)
            self.handles.append(Line2D([], [], label=f"ours, {name}", **line, **ours))
        if published:
            hollow = mark | {"markersize": 12, "markerfacecolor": "none"}
            hollow |= {"linestyle": "none", "markeredgewidth": 1.4}
            hollow["markeredgecolor"] = colour
            self._plot(published, **hollow, clip_on=False, zorder=4)
            label = f"published, {name}"
            self.handles.append(Line2D([], [], label=label, **hollow))

    def _plot(self, points: Sequence[Point], **look: Any) -> None:
        across = [x for x, _ in points]
        up = [y for _, y in points]
        self.axes.plot(across, up, **look)

    def finish(self) -> None:
        """Draw the legend above the axes, and let the vertical axis begin at zero.

        Without lines, the figure says that there is no value.
        """
        if not self.handles:
            _empty(self.figure)
            return
        # Markers at the top are not cut.
        _, top = self.axes.get_ylim()
        highest = self.axes.dataLim.ymax
        self.axes.set_ylim(0, max(top, 1.08 * highest))
        rows = _legend(self.figure, self.handles, 3.4)
        self.figure.set_figheight(4 + rows * LINE)


def curves(figure: Figure, lines: Sequence[Line]) -> None:
    """Precision by recall, one line per row.

    Columns such as `Precision at 20% recall` are the points of a row's line, columns
    such as `Precision@80% Recall` single markers on it.
    """
    plot = Plot(figure, figure.add_subplot())
    ours = _numbers(lines)
    printed = _numbers(lines, _published)
    labelled: set[float] = set()
    for row, look in zip(ours, itertools.cycle(LOOKS)):
        on_line = _points(r"Precision at (\d+)% recall", ours[row])
        marked = _points(r"Precision@(\d+)% Recall", ours[row])
        published = _points(r"Precision@(\d+)% Recall", printed[row])
        plot.add(row, look, on_line, marked, published)
        labelled.update(at for at, _ in published)
    for at in sorted(labelled):
        plot.axes.axvline(at, color=INK, linewidth=0.6, zorder=0)
    plot.axes.set(xlim=(0, 100), xlabel="Recall (%)", ylabel="Precision (%)")
    plot.finish()


def _points(column: str, values: Mapping[str, float]) -> list[Point]:
    """(x, value) of the columns that match ``column``, a pattern with x as its group;
    sorted.
    """
    points = []
    for name, value in values.items():
        match = re.fullmatch(column, name)
        if match:
            points.append((int(match[1]), value))
    return sorted(points)


def line_by_size(figure: Figure, lines: Sequence[Line]) -> None:
    """A value by a size on a logarithmic axis, one line per series.

    Rows are `<series> / <how much>`.  The last column is the size, the others are
    values.
    """
    plot, sizes = _series(figure, lines)
    if sizes:
        _logarithmic(plot.axes, sizes)
    plot.finish()


def line_by_mark(figure: Figure, lines: Sequence[Line]) -> None:
    """The values of the first column over those of the last, such as a mark given by
    people; rows as in `line_by_size`.
    """
    columns = _columns(lines)
    shown = {*columns[:1], *columns[-1:]}
    drawn = [line for line in lines if line.column in shown]
    plot, _ = _series(figure, drawn)
    plot.finish()


def _series(figure: Figure, lines: Sequence[Line]) -> tuple[Plot, list[float]]:
    """Draw one line per series over the last column; return the plot and all x
    positions.
    """
    *columns, size = _columns(lines) or [""]
    ours = _numbers(lines)
    printed = _numbers(lines, _published)
    rows_of: dict[str, list[str]] = defaultdict(list)
    for row, values in ours.items():
        if values.get(size):
            name, _, _ = row.rpartition(" / ")
            rows_of[name].append(row)
    plot = Plot(figure, figure.add_subplot())
    positions = []
    for (name, rows), look in zip(rows_of.items(), itertools.cycle(LOOKS)):
        points: list[Point] = []
        published: list[Point] = []
        for row in rows:
            at = ours[row][size]
            positions.append(at)
            points += _points_at(at, ours[row], columns)
            published += _points_at(at, printed[row], columns)
        points.sort()
        plot.add(name, look, points, points, published)
    plot.axes.set(xlabel=size, ylabel=", ".join(columns))
    return plot, positions


def _points_at(
    at: float, values: Mapping[str, float], columns: Iterable[str]
) -> list[Point]:
    """A point at the same x for each of the columns that have a value."""
    return [(at, values[column]) for column in columns if column in values]


def _logarithmic(axes: Axes, values: Sequence[float]) -> None:
    """A logarithmic axis for these values, with plain numbers."""
    least = min(values)
    most = max(values)
    steps = [1]
    if most < 1000 * least:
        steps.append(3)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=steps, numticks=STEPS))
    # No mathematical text, which the svg would contain as source.
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xticks([], minor=True)
    axes.set_xlim(least / 1.6, most * 1.6)


# Pairs and points


def bubbles(figure: Figure, lines: Sequence[Line]) -> None:
    """One marker per row: the first column on a logarithmic horizontal axis, the second
    on the vertical axis, and the third as the area of the marker.
    """
    columns = _columns(lines)[:3]
    points = []
    for values in _numbers(lines).values():
        point = [values[column] for column in columns if column in values]
        if len(point) == 3:
            points.append(point)
    if not points:
        _empty(figure)
        return
    across, up, sizes = np.array(points).T
    largest = sizes.max()
    axes = figure.add_subplot()
    axes.scatter(
        across, up, s=LARGEST * sizes / largest, facecolor=OURS, alpha=0.6, **BORDER
    )
    axes.set(xlabel=columns[0], ylabel=columns[1])
    _logarithmic(axes, across.tolist())
    axes.set_ylim(0, 1.15 * up.max())
    axes.locator_params(axis="y", integer=True)
    label = f"ours; area: {columns[2].lower()}, {largest:,.0f} at most"
    mark = Line2D([], [], linestyle="none", marker="o", markersize=8, label=label)
    mark.set(markeredgecolor=INK, markerfacecolor=OURS)
    figure.legend(handles=[mark], loc="outside upper left")
    figure.set_figheight(4)


def heat_map(figure: Figure, lines: Sequence[Line]) -> None:
    """Values of pairs, from 0 to 1, as shades: the cells of rows that are also columns.

    If there are more than `NAMED` names, only as many as fit are shown.
    """
    columns = {line.column for line in lines}
    numbers = _numbers(lines)
    names = [row for row in numbers if row in columns]
    if not names:
        _empty(figure)
        return
    axes = figure.add_subplot()
    squares: dict[int, list[Path]] = defaultdict(list)
    for y, row in enumerate(names):
        for x, column in enumerate(names):
            shade = math.ceil(numbers[row].get(column, 0) * SHADES)
            squares[shade].append(_square(x, y))
    # One path per shade: single squares would take megabytes.
    for shade in range(1, SHADES + 1):
        if shade in squares:
            path = Path.make_compound_path(*squares[shade])
            look = {"facecolor": OURS, "alpha": shade / SHADES, "linewidth": 0}
            axes.add_patch(PathPatch(path, **look))
    every = math.ceil(len(names) / NAMED)
    ticks = [at + 0.5 for at in range(0, len(names), every)]
    axes.set_xticks(ticks, names[::every], rotation=90)
    axes.set_yticks(ticks, names[::every])
    axes.set(xlim=(0, len(names)), ylim=(len(names), 0), aspect="equal")
    handles = []
    for share in (0.2, 0.5, 1.0):
        handles.append(Patch(facecolor=OURS, alpha=share, label=f"to {share}"))
    place: Look = {"loc": "outside upper left", "ncols": 3}
    figure.legend(handles=handles, handlelength=1.6, **place)


def _square(x: int, y: int) -> Path:
    corners = [(x, y), (x + 1, y), (x + 1, y + 1), (x, y + 1), (x, y)]
    return Path(corners, closed=True)


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
