"""The body of a case, from the HTML of static.case.law or the XML of the former bulk
export.

Both mark opinions, paragraphs, the start and label of each printed page, footnotes and
footnote marks, under different names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lxml import etree, html

from lextables.corpora.caselaw.case import Unreadable
from lextables.corpora.caselaw.opinion import Page

Element = Any  # lxml has no public name of the type of an element
# Tab, line feed and carriage return are white space; every other control character is
# an error.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_ENTITIES = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
# In opinions converted from plain text, a paragraph with this mark precedes each
# footnote.
_FOOTNOTE_MARK = re.compile(r"\[Footnote (?:\d+/)?[\d*]+\]")
_FIRST_INDEX = "1"
BLOCKS = ("p", "blockquote", "h1", "h2", "h3", "h4", "li")
_THOUSANDS = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")


@dataclass(frozen=True)
class Part:
    """One opinion of a case body.

    ``pages`` are the page labels in the opinion's body, in order, with their offsets in
    ``text``; ``body_end`` is the offset at which the footnotes begin.
    """

    kind: str
    author: str
    text: str
    pages: tuple[Page, ...]
    body_end: int


@dataclass(frozen=True)
class Casebody:
    """The opinions of one case; ``head_page`` is the last page label before them, or
    empty.
    """

    head_page: str
    parts: tuple[Part, ...]


def from_html(data: str) -> Casebody:
    """Return the case body of a static.case.law HTML file.  Raises `Unreadable`."""
    try:
        root = html.document_fromstring(data)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"its HTML cannot be parsed ({error})") from error
    opinions = root.xpath("//article[contains(concat(' ', @class, ' '), ' opinion ')]")
    head = root.xpath("//a[@class='page-label'][not(ancestor::article)]")
    return Casebody(
        _last_label(head), tuple(_part(o, o.get("data-type") or "") for o in opinions)
    )


def from_xml(data: str) -> Casebody:
    """Return the case body of a bulk export row.

    Raises `Unreadable`, also for a document type or entity declaration: no real row has
    one.
    """
    if _ENTITIES.search(data):
        raise Unreadable("its XML declares entities, which are refused")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
    )
    try:
        root = etree.fromstring(data.encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"its XML cannot be parsed ({error})") from error
    for element in root.iter(etree.Element):
        element.tag = etree.QName(element).localname
    head = root.xpath("//page-number[not(ancestor::opinion)]")
    return Casebody(
        _last_label(head),
        tuple(_part(o, o.get("type") or "") for o in root.iter("opinion")),
    )


def _last_label(elements: list[Element]) -> str:
    labels = filter(None, map(_page_label, reversed(elements)))
    return next(labels, "")


def _page_label(element: Element) -> str:
    """The label of a page-start element; "" for other elements.

    A case printed in several reporters may have several paginations; only the first is
    used.
    """
    prefix = "data-"
    if element.tag == "page-number":
        prefix = ""
    elif element.tag != "a" or element.get("class") != "page-label":
        return ""
    if element.get(f"{prefix}citation-index") not in (None, _FIRST_INDEX):
        return ""
    return page_label(element.get(f"{prefix}label") or "")


def page_label(label: str) -> str:
    """Return the label of a page as citations write it: ``1,011`` is page 1011."""
    label = label.strip()
    if _THOUSANDS.fullmatch(label):
        return label.replace(",", "")
    return label


def _is_page(element: Element) -> bool:
    return element.tag == "page-number" or element.get("class") == "page-label"


def _is_footnote(element: Element) -> bool:
    return element.tag == "footnote" or (
        element.tag == "aside" and "footnote" in (element.get("class") or "")
    )


def _is_mark(element: Element) -> bool:
    return element.tag == "footnotemark" or element.get("class") == "footnotemark"


def _part(opinion: Element, kind: str) -> Part:
    """Return one opinion: its body, and its footnotes at the end of the text."""
    body = _Text()
    notes = _Text()
    author = ""
    for element in opinion:
        if not isinstance(element.tag, str):
            continue
        if _is_footnote(element):
            for paragraph in _blocks(element):
                notes.paragraph(paragraph, pages=False)
            continue
        start = len(body)
        for paragraph in _blocks(element):
            body.paragraph(paragraph, pages=True)
        if not author and (element.tag == "author" or element.get("class") == "author"):
            author = str(body)[start:].strip()
    text = "\n".join(filter(None, [str(body), str(notes)]))
    return Part(kind, author, text, tuple(body.pages), _footnotes_start(str(body)))


def _blocks(element: Element) -> Iterator[Element]:
    """The paragraphs of an element: those of its child blocks, or itself if it has none
    or begins with a text of its own.
    """
    inner = [child for child in element if child.tag in BLOCKS]
    if inner and not (element.text or "").strip():
        for child in inner:
            yield from _blocks(child)
    elif isinstance(element.tag, str):
        yield element


def _footnotes_start(body: str) -> int:
    """The offset of the footnotes at the end of an opinion's body, or the body's
    length.
    """
    offset = 0
    lines = body.split("\n")
    for line in lines:
        if _FOOTNOTE_MARK.fullmatch(line):
            return max(0, offset - 1)
        offset += len(line) + 1
    return len(body)


class _Text:
    """Builds text: collapses white space, drops footnote marks, records page starts."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._break = ""  # what separates the next words from the last: "", " " or "\n"
        self.pages: list[Page] = []

    def __len__(self) -> int:
        return self._length

    def __str__(self) -> str:
        return "".join(self._parts)

    def paragraph(self, element: Element, *, pages: bool) -> None:
        """Add an element on a new line; its page starts are recorded if ``pages``."""
        if self._length:
            self._break = "\n"
        self._element(element, pages)

    def _element(self, element: Element, pages: bool) -> None:
        """Add the text of an element, without footnote marks; note its pages if
        ``pages``.
        """
        self._add(element.text)
        for child in element:
            if isinstance(child.tag, str) and not _is_mark(child):
                if _is_page(child):
                    label = _page_label(child)
                    if pages and label:
                        self.pages.append(Page(label, self._length + len(self._break)))
                else:
                    self._element(child, pages)
            self._add(child.tail)

    def _add(self, text: str | None) -> None:
        """Add a text with collapsed white space, after the break that is due."""
        if not text:
            return
        words = CONTROL.sub(" ", text).split()
        if self._break != "\n" and self._length and text[0].isspace():
            self._break = " "
        if words:
            piece = self._break + " ".join(words)
            self._parts.append(piece)
            self._length += len(piece)
            self._break = " " if text[-1].isspace() else ""
