"""Figures: the same bytes each time, what is drawn and what is left out, and letters large enough."""

import re
import xml.etree.ElementTree as ElementTree
from functools import cache

import pytest

from lextables.tables.cells import Cell, Line, build
from lextables.tables.figures import KINDS, draw
from lextables.tables.published import PublishedCell

BEFORE, AFTER = "BM25 / MiniLM / not fine-tuned", "BM25 / MiniLM / fine-tuned"


def _bars(value: float | None) -> list[Line]:
    printed = [
        PublishedCell("figure2", BEFORE, "NDCG@5", "59.3", 1, ""),
        PublishedCell("figure2", AFTER, "NDCG@5", "61.3", 1, ""),
        PublishedCell("figure2", AFTER, "NDCG@5 change", "+2.0", 1, ""),
    ]
    reason = "" if value else "no weights"
    cells = [Cell(c.row, c.column, value, *((50, 64) if value else ()), reason=reason) for c in printed]
    own = Cell("BM25 / Mine <b> $x$ / fine-tuned", "NDCG@5", value, reason=reason)
    return build(printed, [*cells, own], True)


def _histogram(values: bool) -> list[Line]:
    printed = [
        PublishedCell("figure_c1", "words a clause", name, value, 0, "")
        for name, value in (("Mean", "225"), ("Median", "146"), ("Max", "1,898"))
    ]
    cells = [Cell(c.row, c.column, 47.0 if values else None, reason="gated") for c in printed]
    bins = [Cell(f"{100 * i}-{100 * i + 99} words", "Clauses", float(5 - i)) for i in range(5)]
    return build(printed, cells + (bins if values else []), True)


LINES = {
    "bars_before_after": (_bars(57.1), _bars(None), []),
    "histogram": (_histogram(True), _histogram(False), []),
}


@cache
def _full(kind: str) -> str:
    """The svg of a kind with all its values."""
    return draw(kind, LINES[kind][0], "Full")


def _texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_every_kind_is_tested():
    assert KINDS.keys() == LINES.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", [0, 1, 2], ids=["full", "not run", "empty"])
def test_bytes_are_the_same_each_time(kind, which):
    svg = draw(kind, LINES[kind][which], "A title <&>")
    assert svg == draw(kind, LINES[kind][which], "A title <&>")
    assert not re.search(r"20\d\d-\d\d", svg)
    title = ElementTree.fromstring(svg).find("{http://www.w3.org/2000/svg}title")
    assert title.text == "A title <&>"


def test_bars_show_what_is_printed_and_ours_but_no_change():
    texts = _texts(_full("bars_before_after"))
    assert {"59.3", "61.3", "57.1", "NDCG@5"} <= set(texts)
    assert {"printed, not fine-tuned", "ours, fine-tuned", "ours, Mine <b> $x$, fine-tuned"} <= set(texts)
    assert not [text for text in texts if "change" in text or "2.0" in text]


def test_bars_that_were_not_run_are_left_out():
    texts = _texts(draw("bars_before_after", _bars(None), "Bars"))
    assert {"59.3", "61.3", "printed, fine-tuned"} <= set(texts)
    assert not [text for text in texts if text.startswith("ours")]


def test_the_histogram_sets_printed_centres_beside_ours():
    texts = set(_texts(_full("histogram")))
    assert {"printed, mean 225", "printed, median 146", "ours, mean 47", "ours, median 47"} <= texts
    assert {"Words", "Clauses"} <= texts
    texts = set(_texts(draw("histogram", _histogram(False), "Words")))
    assert {text for text in texts if "mean" in text} == {"printed, mean 225"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_figure_without_values_says_so(kind):
    assert _texts(draw(kind, [], "Nothing")) == ["No value to draw"]


@pytest.mark.parametrize("kind", KINDS)
def test_letters_keep_nine_points_on_a_phone(kind):
    svg = _full(kind)
    width = float(re.search(r'viewBox="0 0 ([\d.]+) ', svg)[1])
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ([\d.]+)px", svg)]
    phone = 390 - 2 * 16  # pixels between the margins
    assert min(sizes) * phone / width * 0.75 >= 9


@pytest.mark.parametrize("kind", KINDS)
def test_ink_is_the_pages(kind):
    svg = _full(kind)
    colours = set(re.findall(r"#[0-9a-f]{6}", svg))
    assert "currentColor" in svg
    assert colours == {"#4a7fbf"}
    assert "<metadata" not in svg
    assert not re.search(r'(href|src)="http', svg)
