"""Figures as svg, drawn from a table's lines: the same lines give the same bytes.

Ink takes the colour of the page around it, so that a drawing reads on light and dark; what is printed
and what is ours differ in hatch and marker as well as in colour.  Letters of 12.5 units in a drawing
360 units wide keep 9 points on a phone.
"""

import io
import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from lextables.tables.cells import Line
from lextables.tables.published import PublishedCell

WIDTH = 5.0  # inches of 72 units
FONT = 12.5
INK = "#010203"  # stands for the page's own ink until the svg is written
OURS = "#4a7fbf"  # as far from white as from a dark page
HATCHES = ("", "////", "..", "\\\\", "xxx", "oo")  # a row each; the fill says whose it is
CENTRES = {"Mean": ("-", OURS), "Median": ("--", "none")}  # the line where printed, the filling where ours

Drawing = Callable[[Figure, Sequence[Line]], None]


def draw(kind: str, lines: Sequence[Line], title: str) -> str:
    """Return the svg of ``lines`` as a figure of ``kind``, one of `KINDS`.

    ``title`` is what a screen reader says.  Values that are missing are left out; a figure without any
    value says so.
    """
    style = {
        "svg.hashsalt": f"{kind} {title}", "svg.fonttype": "none", "text.parse_math": False,
        "font.family": ["sans-serif"], "font.sans-serif": ["DejaVu Sans"], "font.size": FONT,
        "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK,
        "ytick.color": INK, "hatch.color": INK, "hatch.linewidth": 0.8,
        "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False,
    }  # fmt: skip
    out = io.StringIO()
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(WIDTH, WIDTH), layout="constrained")
        FigureCanvasSVG(figure)
        KINDS[kind](figure, lines)
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Title": title}
        )
    return _themed(out.getvalue())


def _themed(svg: str) -> str:
    """Give the ink to the page, and drop the prologue, metadata and idle ids, which a page may not hold."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    used = set(re.findall(r"#([\w-]+)", svg))
    svg = re.sub(r' id="([\w-]+)"', lambda found: found[0] if found[1] in used else "", svg)
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
    """A row's bars, one a column: length, the text of it, and the ends of its interval."""

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
                axes.plot([low, high], [at, at], color=INK, linewidth=1.6, marker="|", markersize=6)
            end = max(value, high or value, 0)
            axes.annotate(text, (end, at), (4, 0), textcoords="offset points", va="center")
            at += 1
        at += 1
    axes.set_yticks(list(middles.values()), list(middles))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(at - 1.5, -0.5)
    axes.margins(x=0.16)
    axes.spines["left"].set_position("zero")
    labels = [textwrap.fill(bars.label, 44, break_on_hyphens=False) for bars in series]
    patches = [Patch(**bars.look) for bars in series]
    figure.legend(patches, labels, loc="outside upper left", alignment="left", handlelength=1.6)
    rows = sum(label.count("\n") + 1 for label in labels)
    figure.set_figheight((16.5 * at + 19 * rows + 40) / 72)


def _bars(lines: Iterable[Line]) -> Iterable[Bars]:
    """Each row of the paper as printed and as ours, then the rows of our own."""
    rows: dict[str, list[Line]] = {}
    for line in lines:
        rows.setdefault(line.row, []).append(line)
    printed = {row for row, cells in rows.items() if any(line.published for line in cells)}
    several = len({row.rpartition(" / ")[0] for row in printed}) > 1
    for (row, cells), hatch in zip(rows.items(), itertools.cycle(HATCHES)):
        system, _, state = row.rpartition(" / ")
        name = f"{system.rpartition(' / ')[2]}, {state}" if several or row not in printed else state
        for ours in (False, True):
            values = {}
            for line in cells:
                text = _ours(line) if ours else line.published
                if (number := _number(text)) is not None:
                    low, high = (_number(line.low), _number(line.high)) if ours else (None, None)
                    values[line.column] = number, text, low, high
            look = {"facecolor": OURS if ours else "none", "edgecolor": INK, "hatch": hatch, "linewidth": 0.8}
            yield Bars(f"{'ours' if ours else 'printed'}, {name}", look, values)


def histogram(figure: Figure, lines: Sequence[Line]) -> None:
    """Bins as rows (`0-99 words`), and the mean and the median: lines where printed, markers where ours."""
    rows = [(re.fullmatch(r"(\d+)-(\d+) (.+)", line.row), line) for line in lines]
    bins = [(found, line) for found, line in rows if found and _number(_ours(line)) is not None]
    centres = [line for line in lines if line.published and line.column in CENTRES]
    if not bins and not centres:
        _empty(figure)
        return
    axes = figure.add_subplot()
    for found, line in bins:
        left, right = int(found[1]), int(found[2]) + 1
        height = _number(_ours(line))
        look = {"facecolor": OURS, "edgecolor": INK, "linewidth": 0.8, "alpha": 0.55}
        axes.bar(left, height, right - left, align="edge", **look)
    handles = []
    for line in centres:
        dash, fill = CENTRES[line.column]
        name = line.column.lower()
        if (printed := _number(line.published)) is not None:
            label = f"printed, {name} {line.published}"
            handles.append(axes.axvline(printed, color=INK, linestyle=dash, linewidth=1.6, label=label))
        if (ours := _number(_ours(line))) is not None:
            look = {"marker": "v", "markersize": 10, "markeredgecolor": INK, "markerfacecolor": fill}
            mark = Line2D([ours], [1.04], linestyle="none", label=f"ours, {name} {_ours(line)}", **look)
            mark.set(transform=axes.get_xaxis_transform(), clip_on=False)
            handles.append(axes.add_artist(mark))
    if bins:
        axes.set_xlabel(bins[0][0][3].capitalize())
        axes.set_ylabel(bins[0][1].column)
    axes.set_xlim(left=0)
    axes.locator_params(nbins=5)
    figure.legend(handles=handles, loc="outside upper left", ncols=2, columnspacing=1, handlelength=1.6)
    figure.set_figheight(4)


KINDS: dict[str, Drawing] = {"bars_before_after": bars_before_after, "histogram": histogram}
