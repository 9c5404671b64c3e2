"""Styles of a Word file: hidden and struck text, and automatic numbers, by the rules of ISO 29500, 17.7."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lxml import etree

TOGGLES = ("vanish", "strike")  # toggle properties (17.7.3)
FALSE = {"0", "false", "off"}


def name_of(element: etree._Element) -> str:
    """Return the local name of an element."""
    return etree.QName(element).localname


def attribute(element: etree._Element, name: str) -> str:
    """Return an attribute by its local name; "" if it is absent."""
    for key, value in element.attrib.items():
        if etree.QName(key).localname == name:
            return value
    return ""


def child(element: etree._Element | None, *path: str) -> etree._Element | None:
    """Return the first element at this path of local names below an element, or None."""
    for name in path:
        if element is None:
            return None
        found = (
            inside
            for inside in element.iterchildren(etree.Element)
            if name_of(inside) == name
        )
        element = next(found, None)
    return element


def is_on(element: etree._Element | None) -> bool:
    """Whether an element that switches something is there and not set to false."""
    return element is not None and attribute(element, "val").lower() not in FALSE


def value_of(element: etree._Element | None, *path: str) -> str:
    """Return the ``val`` of the element at this path; "" if it is absent."""
    found = child(element, *path)
    return "" if found is None else attribute(found, "val")


@dataclass
class Styles:
    """The styles of a document; without ``root`` there are none."""

    root: etree._Element | None
    of_id: dict[tuple[str, str], etree._Element] = field(default_factory=dict)
    default_id: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for style in () if self.root is None else self.root.iter("{*}style"):
            kind, name = (
                attribute(style, "type") or "paragraph",
                attribute(style, "styleId"),
            )
            self.of_id[kind, name] = style
            if attribute(style, "default").lower() not in {"", *FALSE}:
                self.default_id[kind] = name

    def chain(self, kind: str, name: str) -> list[etree._Element]:
        """Return a style (the default one for "") and the styles on which it is based, nearest first."""
        chain, seen = [], set()
        name = name or self.default_id.get(kind, "")
        while (kind, name) in self.of_id and name not in seen:
            seen.add(name)
            chain.append(self.of_id[kind, name])
            name = value_of(chain[-1], "basedOn")
        return chain

    def is_set(
        self, name: str, run: etree._Element | None, styles: Iterable[tuple[str, str]]
    ) -> bool:
        """Whether the property ``name`` holds for text with the direct properties ``run``.

        ``styles`` are (kind, id) of the table's, the paragraph's and the run's style.  Direct properties
        decide; without them a toggle property is on if an odd number of the styles set it.
        """
        direct = child(run, name)
        if direct is not None:
            return is_on(direct)
        default = child(self.root, "docDefaults", "rPrDefault", "rPr", name)
        if is_on(default):
            return True
        number = 0
        for kind, style_id in styles:
            values = (child(style, "rPr", name) for style in self.chain(kind, style_id))
            nearest = next((value for value in values if value is not None), None)
            number += is_on(nearest)
        return number % 2 == 1 if name in TOGGLES else number > 0

    def is_numbered(self, paragraph: etree._Element | None) -> bool:
        """Whether a paragraph with these direct properties has an automatic number or bullet."""
        chain = self.chain("paragraph", value_of(paragraph, "pStyle"))
        candidates = [
            child(paragraph, "numPr"),
            *(child(style, "pPr", "numPr") for style in chain),
        ]
        for numbering in candidates:
            # A style may give only the level, and the list is that of the style below it.
            if numbering is not None:
                return value_of(numbering, "numId") != "0"
        return False
