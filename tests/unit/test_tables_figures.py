"""Figures: reproducible files, drawn and omitted values, and a readable font size."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure

from helpers import stored_pages
from lextables.tables.cells import Cell, Line, build
from lextables.tables.figures import KINDS, LOOKS, OTHER_DATA, draw
from lextables.tables.published import PublishedCell

BM25 = "BM25 / MiniLM"
MEAN = "AUPR: mean of the published values"


def lines_of(*rows: tuple) -> list[Line]:
    """The lines of (row, column, published, computed); a row may end with an
    interval.
    """
    printed, cells = [], []
    for row, column, published, *computed in rows:
        if published:
            decimals = len(published.partition(".")[2].rstrip("%"))
            printed.append(
                PublishedCell("figure1", row, column, published, decimals, "")
            )
        reason = "no weights" if computed[0] is None else ""
        cells.append(Cell(row, column, *computed, decimals=1, reason=reason))
    return build(printed, cells, True)


def curve(row, top):
    return [
        (row, f"Precision at {at}% recall", "", top - at / 2)
        for at in range(10, 90, 10)
    ]


def names(number):
    return [f"N-{n}" for n in range(1, number + 1)]


def pairs(number):
    """Values of pairs, 1 on the diagonal."""
    rows = []
    for n, name in enumerate(names(number)):
        rows += [(name, other, "", n / 40) for other in names(n)]
        rows.append((name, name, "1.0" if n == 0 else "", 1.0))
    return rows


def sizes(model, *published):
    rows = []
    for share, value in zip((3, 10, 30, 100), published or ("",) * 4, strict=True):
        row = f"{model} / {share}% of the contracts"
        rows.append((row, "AUPR", value, share / 3))
        rows.append((row, "Training annotations", "", share * 111.8))
    return rows


def marks(mark):
    row = f"Coders / {mark}"
    return [
        (row, "Agreement (%)", "55" if mark == 2.0 else "", 15 * mark),
        (row, "Answers", "", 8.0),
        (row, "Mean confidence", "", mark),
    ]


def group(rank, row, *values):
    columns = ("AUPR: DeBERTa", "AUPR: Mine, <b> $x$", MEAN)
    cells = [
        (row, column, "", value) for column, value in zip(columns, values, strict=False)
    ]
    return [(row, "Rank", rank, float(rank)), *cells]


VALUES = {
    "bars_before_after": [
        (f"{BM25} / not fine-tuned", "NDCG@5", "59.3", 57.1, 50, 64),
        (f"{BM25} / fine-tuned", "NDCG@5", "61.3", 57.1, 50, 64),
        (f"{BM25} / fine-tuned", "NDCG@5 change", "+2.0", 0.0),
        ("BM25 / Mine <b> $x$ / fine-tuned", "NDCG@5", "", 57.1, 50, 64),
    ],
    "histogram": [
        ("words a clause", "Mean", "225", 47.0),
        ("words a clause", "Median", "146", 47.0),
        ("words a clause", "Max", "1,898", 47.0),
        *((f"{n}00-{n}99 words", "Clauses", "", 5.0 - n) for n in range(5)),
    ],
    "curves": [
        ("DeBERTa", "Precision@80% Recall", "44.0", 45.0),
        *curve("DeBERTa", 90),
        ("RoBERTa", "Precision@80% Recall", "31.1", 35.0),
        *curve("RoBERTa", 70),
        *curve("Mine", 40),
    ],
    "bars_by_group": [
        *group("1", "Governing Law", 90.0, 89.0, 88.0),
        *group("2", "Notice Period To Terminate Renewal", 83.0, 82.0, 81.0),
        *group("3", "Parties", 76.0, 75.0, 74.0),
        ("Parties", "AUPR: Theirs", "", None),
        ("correlation", "Spearman: DeBERTa", "", 0.87),
    ],
    "line_by_size": [*sizes("RoBERTa", "", "27.6%", "", ""), *sizes("Mine")],
    "line_by_mark": [*marks(2.0), *marks(3.5), *marks(5.0)],
    "heat_map": [*pairs(30), ("Pairs within N", "Mean", "", 0.2)],
    "bubbles": [
        ("a.example", "Rank", "7", 1.0),
        ("a.example", "Documents", "", 3.0),
        ("b.example", "Rank", "", 30.0),
        ("b.example", "Documents", "", 4.0),
        ("b.example", "Words", "", 1000.0),
        ("c.example", "Rank", "", 900.0),
        ("c.example", "Documents", "", 5.0),
        ("c.example", "Words", "", 2000.0),
        ("All sites", "Without a rank", "", 2.0),
    ],
}
SERIES = {"curves": 3, "line_by_size": 2}  # of figures with several lines
LINES = {kind: lines_of(*rows) for kind, rows in VALUES.items()}
# The published cells alone, none of them computed.
NOT_RUN = {}
for _kind, _rows in VALUES.items():
    NOT_RUN[_kind] = lines_of(*((*row[:3], None) for row in _rows if row[2]))


@cache
def full(kind: str) -> str:
    """SVG of a kind of figure with all values."""
    return draw(kind, LINES[kind], "Full")


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]


def other_data(lines):
    return [
        replace(line, ours=line.reproduced or line.ours, reproduced="", verdict="")
        for line in lines
    ]


@pytest.mark.golden
def test_the_texts_of_all_figures_are_as_stored():
    parts = []
    for kind, lines in LINES.items():
        apart = draw(kind, other_data(lines), "x", comparable=False)
        parts += [f"# {kind}", *texts(full(kind))]
        parts += ["## other data", *texts(apart)]
        parts += ["## not run", *texts(draw(kind, NOT_RUN[kind], "x"))]
    stored_pages.check("figures.txt", "\n".join(parts) + "\n")


@pytest.mark.parametrize("kind", KINDS)
def test_published_values_are_not_drawn_for_other_data(kind):
    """If the data differ from those of the paper, a figure has only the computed
    values, and a note.
    """
    apart = other_data(LINES[kind])
    svg = draw(kind, apart, "Full", comparable=False)
    # Other published values do not change the figure.
    others = []
    for line in apart:
        ours = "33" if "published" in line.column else line.ours
        others.append(replace(line, published=line.published and "33", ours=ours))
    assert draw(kind, others, "Full", comparable=False) == svg
    # A figure without published values needs no note.
    own = [replace(line, published="") for line in apart]
    assert OTHER_DATA not in texts(draw(kind, own, "Full", comparable=False))


@pytest.mark.parametrize("kind", ["bars_by_group", "bubbles"])
def test_names_are_escaped_in_figures(kind):
    """Pages embed figures without further escaping."""
    evil = "</text></svg><script>alert(1)</script>"
    lines = [
        replace(line, row=f"{line.row}{evil}", column=f"{line.column}{evil}")
        for line in LINES[kind]
    ]
    svg = draw(kind, lines, evil)
    assert [text for text in texts(svg) if evil in text]
    tags = {node.tag.rpartition("}")[2] for node in ElementTree.fromstring(svg).iter()}
    assert "script" not in tags


@pytest.mark.parametrize("kind", KINDS)
def test_figures_can_be_embedded_in_a_page(kind):
    """Same bytes each time, at least nine points on a phone, the page's text colour, no
    network access.
    """
    svg = draw(kind, LINES[kind], "A title <&>")
    assert svg == draw(kind, LINES[kind], "A title <&>")
    assert not re.search(r"20\d\d-\d\d", svg)
    title = ElementTree.fromstring(svg).find("{http://www.w3.org/2000/svg}title")
    assert title.text == "A title <&>"
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", svg)]
    phone = 390 - 2 * 16  # pixels between the margins
    assert min(sizes) * phone / width * 0.75 >= 9
    assert "currentColor" in svg
    colours = [colour for _, _, colour in LOOKS[: SERIES.get(kind, 1)]]
    assert set(re.findall(r"#[0-9a-f]{6}", svg)) == {*colours}
    assert "<metadata" not in svg and not re.search(r'(href|src)="http', svg)
    assert texts(draw(kind, [], "Nothing")) == ["No value to draw"]


def drawn(kind, lines):
    """The axes of a figure."""
    figure = Figure()
    KINDS[kind](figure, lines)
    return figure.axes[0]


def test_bars_have_the_lengths_of_their_values():
    bars = drawn("bars_before_after", LINES["bars_before_after"]).patches
    assert [bar.get_width() for bar in bars] == [59.3, 57.1, 61.3, 57.1, 57.1]
    bars = drawn("bars_by_group", LINES["bars_by_group"]).patches
    assert [bar.get_width() for bar in bars] == [90, 89, 88, 83, 82, 81, 76, 75, 74]
    bars = drawn("histogram", LINES["histogram"]).patches
    places = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in bars]
    assert places == [(100 * n, 100, 5 - n) for n in range(5)]


def test_lines_and_markers_are_at_their_values():
    def points(kind):
        lines = drawn(kind, LINES[kind]).lines
        return [
            line.get_xydata().tolist() for line in lines if line.get_marker() != "None"
        ]

    line, marked, published, *_ = points("curves")
    assert line == [[at, 90 - at / 2] for at in range(10, 90, 10)]
    assert (marked, published) == ([[80, 45]], [[80, 44]])
    line, _, published, *_ = points("line_by_size")
    assert line[0] == pytest.approx([335.4, 1], abs=0.1)
    assert published == [[1118, 27.6]]
    assert points("line_by_mark")[0] == [[2, 30], [3.5, 52.5], [5, 75]]
    (scatter,) = drawn("bubbles", LINES["bubbles"]).collections
    assert scatter.get_offsets().tolist() == [[30, 4], [900, 5]]
    assert scatter.get_sizes().tolist() == [300, 600]


@pytest.mark.parametrize(("number", "labels"), [(22, 22), (23, 12), (44, 22), (45, 15)])
def test_a_heat_map_has_at_most_22_labels_on_a_side(number, labels):
    diagonal = [Cell(name, name, 1.0) for name in names(number)]
    assert len(drawn("heat_map", build([], diagonal, True)).get_yticks()) == labels


def test_a_heat_map_shades_pairs():
    # One shade for each tenth up to 0.7, the diagonal, and three in the legend.
    assert full("heat_map").count("fill: #4a7fbf") == 7 + 1 + 3


def test_markers_of_a_nearly_flat_curve_are_not_clipped():
    rows = [
        ("Mine", f"Precision at {n}% recall", "", 49.2 - n / 90) for n in range(10, 90)
    ]
    svg = draw("curves", lines_of(*rows), "x")
    # Top of the plot area.
    top = float(re.search(r'<rect x="[^"]+" y="([^"]+)"', svg)[1])
    marks = re.findall(r"<g clip-path[^>]*>\s*((?:<use [^>]*>\s*)+)", svg)
    heights = [float(y) for y in re.findall(r' y="([^"]+)"', "".join(marks))]
    assert heights and min(heights) - top > 6


@pytest.mark.parametrize("kind", SERIES)
def test_each_line_has_its_own_colour_dashes_and_marker(kind):
    drawing = draw(kind, LINES[kind], "x")
    legend = drawn(kind, LINES[kind]).figure.legends[0].get_lines()
    ours = [line for line in legend if line.get_label().startswith("ours")]
    assert len(ours) == SERIES[kind]
    for feature in ("get_color", "get_marker"):
        assert len({getattr(line, feature)() for line in ours}) == SERIES[kind]
    dashes = set(re.findall(r"stroke-dasharray: ([\d., ]+)", drawing))
    assert len(dashes) == SERIES[kind] - 1  # the first line is solid


def test_series_of_bars_have_their_own_hatch():
    # The first one is plain.
    assert len(set(re.findall(r"fill: url\(#(\w+)\)", full("bars_by_group")))) == 2


def linear(colour):
    """The linear light of a colour of the web."""
    parts = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def cie_lab(light):
    """CIE L*a*b* of linear light, whose distances are seen differences."""
    ratios = TO_XYZ @ light / TO_XYZ.sum(axis=1)
    x, y, z = np.where(
        ratios > 216 / 24389, np.cbrt(ratios), (24389 / 27 * ratios + 16) / 116
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(colour, other):
    """The contrast of WCAG 2 between two colours."""
    darker, lighter = sorted(TO_XYZ[1] @ linear(each) for each in (colour, other))
    return (lighter + 0.05) / (darker + 0.05)


TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
# What readers see without one kind of cones (Machado, Oliveira and Fernandes 2009,
# severity 1).
SEEN = {
    "all kinds": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
COLOURS = [colour for _, _, colour in LOOKS]


@pytest.mark.parametrize("cones", SEEN)
def test_colours_differ_for_colour_blind_readers(cones):
    seen = []
    for colour in COLOURS:
        light = np.clip(np.array(SEEN[cones]) @ linear(colour), 0, 1)
        seen.append(cie_lab(light))
    for one, other in combinations(seen, 2):
        assert np.linalg.norm(one - other) >= 20


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("page", ["#fdfcfa", "#15171a"])
def test_colours_can_be_seen_on_light_and_dark_pages(colour, page):
    assert contrast(colour, page) >= 3


@pytest.mark.parametrize(
    ("least", "most", "ticks"),
    [(335, 11_180, "300 1,000 3,000 10,000"), (1, 10**7, "1 100 10,000 1,000,000")],
)
def test_a_logarithmic_axis_has_plain_numbers(least, most, ticks):
    rows = []
    for size in (least, most):
        rows += [(f"M / {size}", "AUPR", "", 1.0), (f"M / {size}", "Size", "", size)]
    shown = texts(draw("line_by_size", lines_of(*rows), "x"))
    assert [text for text in shown if text in ticks.split()] == ticks.split()
