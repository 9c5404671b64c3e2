"""Figures: reproducible files, drawn and omitted values, and a readable font size."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import cache

import pytest
from matplotlib.figure import Figure

from lextables.tables.cells import Cell, Line, build
from lextables.tables.figures import KINDS, OTHER_DATA, draw
from lextables.tables.published import PublishedCell

BEFORE, AFTER = "BM25 / MiniLM / not fine-tuned", "BM25 / MiniLM / fine-tuned"


def _bars(value: float | None) -> list[Line]:
    printed = [
        PublishedCell("figure2", BEFORE, "NDCG@5", "59.3", 1, ""),
        PublishedCell("figure2", AFTER, "NDCG@5", "61.3", 1, ""),
        PublishedCell("figure2", AFTER, "NDCG@5 change", "+2.0", 1, ""),
    ]
    reason = "" if value else "no weights"
    cells = [
        Cell(c.row, c.column, value, *((50, 64) if value else ()), reason=reason)
        for c in printed
    ]
    own = Cell("BM25 / Mine <b> $x$ / fine-tuned", "NDCG@5", value, reason=reason)
    return build(printed, [*cells, own], True)


def _histogram(values: bool) -> list[Line]:
    printed = [
        PublishedCell("figure_c1", "words a clause", name, value, 0, "")
        for name, value in (("Mean", "225"), ("Median", "146"), ("Max", "1,898"))
    ]
    cells = [
        Cell(c.row, c.column, 47.0 if values else None, reason="gated") for c in printed
    ]
    bins = [
        Cell(f"{100 * i}-{100 * i + 99} words", "Clauses", float(5 - i))
        for i in range(5)
    ]
    return build(printed, cells + (bins if values else []), True)


def _curves(values: bool) -> list[Line]:
    printed = [
        PublishedCell("figure3", row, "Precision@80% Recall", value, 1, "")
        for row, value in (("DeBERTa", "44.0"), ("RoBERTa", "31.1"))
    ]
    cells = []
    for row, top in (("DeBERTa", 90), ("RoBERTa", 70), ("Mine", 40)):
        at_80 = Cell(
            row,
            "Precision@80% Recall",
            top / 2 if values else None,
            reason="no weights",
        )
        cells += [at_80] * (values or row != "Mine")
        for recall in range(10, 90, 10) if values else ():
            cells.append(Cell(row, f"Precision at {recall}% recall", top - recall / 2))
    return build(printed, cells, True)


def _groups(values: bool) -> list[Line]:
    names = ("Governing Law", "Notice Period To Terminate Renewal", "Parties")
    printed = [
        PublishedCell("figure4", name, "Rank", str(n), 0, "")
        for n, name in enumerate(names, 1)
    ]
    cells = []
    for n, name in enumerate(names, 1):
        cells.append(
            Cell(name, "Rank", float(n) if values else None, reason="no weights")
        )
        for model in (
            ("DeBERTa", "Mine, <b> $x$", "mean of the published values")
            if values
            else ()
        ):
            cells.append(Cell(name, f"AUPR: {model}", 90.0 - 7 * n, decimals=1))
    cells += [Cell("correlation", "Spearman: DeBERTa", 0.87)] * values
    return build(printed, cells, True)


def _sizes(values: bool) -> list[Line]:
    row = "RoBERTa / 10% of the contracts"
    printed = [PublishedCell("figure6", row, "AUPR", "27.6%", 1, "")]
    cells = []
    for model in ("RoBERTa", "Mine"):
        for share in (3, 10, 30, 100):
            name = f"{model} / {share}% of the contracts"
            if values or name == row:
                cells.append(
                    Cell(
                        name, "AUPR", share / 3 if values else None, reason="no weights"
                    )
                )
                cells.append(
                    Cell(name, "Training annotations", share * 111.8, decimals=0)
                )
    return build(printed, cells, True)


def _marks(values: bool) -> list[Line]:
    row = "Coders / 2.0"
    printed = [PublishedCell("figure3", row, "Agreement (%)", "55", 0, "")]
    cells = []
    for mark in (2.0, 3.5, 5.0) if values else (2.0,):
        name = f"Coders / {mark}"
        cells.append(
            Cell(
                name,
                "Agreement (%)",
                15 * mark if values else None,
                reason="no responses",
            )
        )
        cells.append(Cell(name, "Answers", 8.0, decimals=0))
        cells.append(Cell(name, "Mean confidence", mark, decimals=1))
    return build(printed, cells, True)


def _pairs(values: bool) -> list[Line]:
    names = [f"N-{n}" for n in range(1, 31)]
    printed = [PublishedCell("figure5", "N-1", "N-1", "1.0", 1, "")]
    cells = [] if values else [Cell("N-1", "N-1", None, reason="one answer")]
    for n, name in enumerate(names) if values else ():
        cells += [Cell(name, other, n / 40, decimals=2) for other in names[:n]]
        cells.append(Cell(name, name, 1.0, decimals=2))
    cells += [Cell("Pairs within N", "Mean", 0.2)] * values
    return build(printed, cells, True)


def _sites(values: bool) -> list[Line]:
    printed = [PublishedCell("figure1", "a.example", "Rank", "7", 0, "")]
    cells = (
        [] if values else [Cell("a.example", "Rank", None, reason="no list of ranks")]
    )
    for n, site in enumerate(("a.example", "b.example", "c.example") if values else ()):
        cells.append(Cell(site, "Rank", 30.0**n, decimals=0))
        cells.append(Cell(site, "Documents", 3.0 + n, decimals=0))
        cells += [Cell(site, "Words", 1000.0 * n, decimals=0)] * (n > 0)
    cells += [Cell("All sites", "Without a rank", 2.0, decimals=0)] * values
    return build(printed, cells, True)


LINES = {
    "bars_before_after": (_bars(57.1), _bars(None)),
    "histogram": (_histogram(True), _histogram(False)),
    "curves": (_curves(True), _curves(False)),
    "bars_by_group": (_groups(True), _groups(False)),
    "line_by_size": (_sizes(True), _sizes(False)),
    "line_by_mark": (_marks(True), _marks(False)),
    "heat_map": (_pairs(True), _pairs(False)),
    "bubbles": (_sites(True), _sites(False)),
}


@cache
def _full(kind: str) -> str:
    """SVG of a kind of figure with all values."""
    return draw(kind, LINES[kind][0], "Full")


def _texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("kind", KINDS)
def test_published_values_are_not_drawn_for_other_data(kind):
    """If the data differ from those of the paper, a figure has only the computed values, and a note."""
    apart = [
        replace(line, ours=line.reproduced or line.ours, reproduced="", verdict="")
        for line in LINES[kind][0]
    ]
    svg = draw(kind, apart, "Full", comparable=False)
    assert OTHER_DATA in _texts(svg) and OTHER_DATA not in _texts(_full(kind))
    # Other published values do not change the figure.
    others = [replace(line, published=line.published and "33") for line in apart]
    others = [
        replace(line, ours="33") if "published" in line.column else line
        for line in others
    ]
    assert draw(kind, others, "Full", comparable=False) == svg
    # A figure without published values needs no note.
    own = [replace(line, published="") for line in apart]
    assert OTHER_DATA not in _texts(draw(kind, own, "Full", comparable=False))


@pytest.mark.parametrize("kind", ["bars_by_group", "bubbles"])
def test_names_are_escaped_in_figures(kind):
    """Pages embed figures without further escaping."""
    evil = "</text></svg><script>alert(1)</script>"
    lines = [
        replace(line, row=f"{line.row}{evil}", column=f"{line.column}{evil}")
        for line in LINES[kind][0]
    ]
    svg = draw(kind, lines, evil)
    assert [text for text in _texts(svg) if evil in text]
    assert "script" not in {
        node.tag.rpartition("}")[2] for node in ElementTree.fromstring(svg).iter()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_figures_can_be_embedded_in_a_page(kind):
    """Same bytes each time, at least nine points on a phone, the page's text colour, no network access."""
    svg = draw(kind, LINES[kind][0], "A title <&>")
    assert svg == draw(kind, LINES[kind][0], "A title <&>")
    assert not re.search(r"20\d\d-\d\d", svg)
    title = ElementTree.fromstring(svg).find("{http://www.w3.org/2000/svg}title")
    assert title.text == "A title <&>"
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", svg)]
    phone = 390 - 2 * 16  # pixels between the margins
    assert min(sizes) * phone / width * 0.75 >= 9
    assert "currentColor" in svg and set(re.findall(r"#[0-9a-f]{6}", svg)) == {
        "#4a7fbf"
    }
    assert "<metadata" not in svg and not re.search(r'(href|src)="http', svg)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_without_values_are_drawn_and_empty_figures_have_a_note(kind):
    assert "svg" in draw(kind, LINES[kind][1], "Not run")
    assert _texts(draw(kind, [], "Nothing")) == ["No value to draw"]


def test_bars_show_published_and_reproduced_values_but_no_change_column():
    texts = _texts(_full("bars_before_after"))
    assert {"59.3", "61.3", "57.1", "NDCG@5"} <= set(texts)
    assert {
        "published, not fine-tuned",
        "ours, fine-tuned",
        "ours, Mine <b> $x$, fine-tuned",
    } <= set(texts)
    assert not [text for text in texts if "change" in text or "2.0" in text]


def test_the_histogram_shows_published_and_reproduced_means_and_medians():
    texts = set(_texts(_full("histogram")))
    assert {
        "published, mean 225",
        "published, median 146",
        "ours, mean 47",
        "ours, median 47",
    } <= texts
    assert {"Words", "Clauses"} <= texts
    texts = set(_texts(draw("histogram", _histogram(False), "Words")))
    assert {text for text in texts if "mean" in text} == {"published, mean 225"}


def test_the_bars_of_a_histogram_touch():
    figure = Figure()
    KINDS["histogram"](figure, _histogram(True))
    bars = [(bar.get_x(), bar.get_width()) for bar in figure.axes[0].patches]
    assert bars == [(start, 100) for start in range(0, 500, 100)]


@pytest.mark.parametrize(("names", "labels"), [(22, 22), (23, 12), (44, 22), (45, 15)])
def test_a_heat_map_has_at_most_22_labels_on_a_side(names, labels):
    figure = Figure()
    KINDS["heat_map"](
        figure, build([], [Cell(f"q{n}", f"q{n}", 1.0) for n in range(names)], True)
    )
    assert len(figure.axes[0].get_yticks()) == labels


def test_curves_have_one_line_per_row_and_always_show_published_values():
    texts = _texts(_full("curves"))
    for row in ("DeBERTa", "RoBERTa"):
        assert {f"ours, {row}", f"published, {row}"} <= set(texts)
    assert "ours, Mine" in texts and "published, Mine" not in texts
    assert {"Recall (%)", "Precision (%)"} <= set(texts)
    legend = [
        text for text in _texts(draw("curves", _curves(False), "x")) if ", " in text
    ]
    assert legend == ["published, DeBERTa", "published, RoBERTa"]


def test_markers_of_a_nearly_flat_curve_are_not_clipped():
    cells = [
        Cell("Mine", f"Precision at {n}% recall", 49.2 if n < 50 else 48.2)
        for n in range(10, 90, 10)
    ]
    svg = draw("curves", build([], cells, True), "x")
    top = float(
        re.search(r'<rect x="[^"]+" y="([^"]+)"', svg)[1]
    )  # top of the plot area
    marks = re.findall(r"<g clip-path[^>]*>\s*((?:<use [^>]*>\s*)+)", svg)
    heights = [float(y) for y in re.findall(r' y="([^"]+)"', "".join(marks))]
    assert heights and min(heights) - top > 6


def _dashes(svg: str) -> set[str]:
    return set(re.findall(r"stroke-dasharray: ([\d., ]+)", svg))


def test_rows_do_not_differ_by_colour_only():
    # The line of the first row is solid; the lines of the other rows have different dashes.
    assert len(_dashes(_full("curves"))) == 2
    assert len(_dashes(_full("line_by_size"))) == 1
    # The bars of the second and the third series are hatched.
    hatches = set(re.findall(r"fill: url\(#(\w+)\)", _full("bars_by_group")))
    assert len(hatches) == 2


def test_bars_by_group_follow_the_row_order_and_have_the_published_rank():
    texts = _texts(_full("bars_by_group"))
    names = ["1 Governing Law", "2 Notice Period To", "Terminate Renewal", "3 Parties"]
    assert [text for text in texts if text in names] == names
    assert {"83.0", "69.0", "AUPR (%)", "DeBERTa", "Mine, <b> $x$"} <= set(texts)
    assert not [text for text in texts if "correlation" in text or "0.87" in text]


def test_bars_by_group_omit_a_series_without_values():
    lines = [line for line in _groups(True) if not line.published]
    lines.append(
        build([], [Cell("Parties", "AUPR: Theirs", None, reason="no weights")], True)[0]
    )
    assert "Theirs" not in _texts(draw("bars_by_group", lines, "x"))
    assert _texts(draw("bars_by_group", _groups(False), "x")) == ["No value to draw"]


def test_a_line_by_size_has_plain_numbers_on_its_axis():
    texts = _texts(_full("line_by_size"))
    assert {"300", "1,000", "3,000", "10,000", "AUPR", "Training annotations"} <= set(
        texts
    )
    assert {"ours, RoBERTa", "published, RoBERTa", "ours, Mine"} <= set(texts)
    legend = [
        text
        for text in _texts(draw("line_by_size", _sizes(False), "x"))
        if ", " in text
    ]
    assert legend == ["published, RoBERTa"]


def test_a_line_by_mark_plots_the_first_column_against_the_last():
    texts = _texts(_full("line_by_mark"))
    assert {
        "Mean confidence",
        "Agreement (%)",
        "ours, Coders",
        "published, Coders",
    } <= set(texts)
    assert "Answers" not in " ".join(texts)


def test_a_heat_map_shades_pairs_and_labels_only_as_many_as_fit():
    texts, svg = _texts(_full("heat_map")), _full("heat_map")
    assert texts.count("N-1") == 2 and "N-2" not in texts and "Mean" not in texts
    # One shade for each tenth up to 29 / 40, the diagonal, and three in the legend.
    assert svg.count("fill: #4a7fbf") == 8 + 1 + 3


def test_bubbles_have_a_logarithmic_axis_and_a_marker_for_each_complete_row():
    svg = _full("bubbles")
    texts = _texts(svg)
    assert {
        "Rank",
        "Documents",
        "100",
        "1,000",
        "ours; area: words, 2,000 at most",
    } <= set(texts)
    assert svg.count("fill-opacity: 0.6") == 2
