"""Styles of a Word file: hidden and struck text, and automatic numbers, by the rules of
ISO 29500, 17.7.

Elements and attributes have their local names (`contract_word`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

# An element of a tree of lxml, which documents no name for its class.
Element = Any

TOGGLES = ("vanish", "strike")  # toggle properties (17.7.3)
FALSE = ("0", "false", "off")


def is_on(element: Element | None) -> bool:
    """Whether an element that switches something is there and not set to false."""
    return element is not None and element.get("val", "").lower() not in FALSE


def value_at(element: Element, path: str) -> str:
    """Return the ``val`` of the element at this path; "" if it is absent."""
    child = element.find(path)
    return "" if child is None else child.get("val", "")


class Styles:
    """The styles of a document, which are below ``root``."""

    def __init__(self, root: Element) -> None:
        """Index the styles by (kind, id), and the id of each kind's default style."""
        self.root = root
        self.of_id: dict[tuple[str, str], Element] = {}
        self.default_id: dict[str, str] = {}
        for style in self.root.iter("style"):
            kind = style.get("type") or "paragraph"
            style_id = style.get("styleId", "")
            is_default = style.get("default") or "0"
            self.of_id[kind, style_id] = style
            if is_default.lower() not in FALSE:
                self.default_id[kind] = style_id
        # Cached answers for styles, since the chain of a style may be long.
        self.set_by: dict[tuple[str, str, str], bool] = {}
        self.numbered_by: dict[str, bool] = {}
        self.defaults = self.root.find("docDefaults/rPrDefault")

    def chain(self, kind: str, style_id: str) -> Iterator[Element]:
        """Yield a style (the default one for "") and the styles on which it is based,
        nearest first.
        """
        seen = set()
        style_id = style_id or self.default_id.get(kind, "")
        while (kind, style_id) in self.of_id and style_id not in seen:
            seen.add(style_id)
            style = self.of_id[kind, style_id]
            yield style
            style_id = value_at(style, "basedOn")

    def is_set(self, name: str, run: Element, styles: Mapping[str, str]) -> bool:
        """Whether the property ``name`` holds for the text of a run.

        ``styles`` maps the kinds table, paragraph and character to a style's id.
        Direct properties decide.  Without them it holds if the defaults of the document
        set it; else a toggle property holds if an odd number of the styles set it, and
        another one if any does.
        """
        path = f"rPr/{name}"
        direct = run.find(path)
        if direct is not None:
            return is_on(direct)
        if self.defaults is not None and is_on(self.defaults.find(path)):
            return True
        styles_that_set = 0
        for kind, style_id in styles.items():
            key = (path, kind, style_id)
            if key not in self.set_by:
                elements = (style.find(path) for style in self.chain(kind, style_id))
                first = next((each for each in elements if each is not None), None)
                self.set_by[key] = is_on(first)
            styles_that_set += self.set_by[key]
        if name in TOGGLES:
            return styles_that_set % 2 == 1
        return styles_that_set > 0

    def is_numbered(self, paragraph: Element) -> bool:
        """Whether a paragraph has an automatic number or bullet."""
        numbering = paragraph.find("pPr/numPr")
        if numbering is not None:
            return value_at(numbering, "numId") != "0"
        style_id = value_at(paragraph, "pPr/pStyle")
        if style_id not in self.numbered_by:
            chain = self.chain("paragraph", style_id)
            # A style may give only the level; its list is that of the style on which it
            # is based.
            elements = (style.find("pPr/numPr") for style in chain)
            first = next((each for each in elements if each is not None), None)
            is_numbered = first is not None and value_at(first, "numId") != "0"
            self.numbered_by[style_id] = is_numbered
        return self.numbered_by[style_id]
