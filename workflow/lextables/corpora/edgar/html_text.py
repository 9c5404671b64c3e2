"""The text of an HTML body in paragraphs, with a form feed at each page break.

A block element is a paragraph, ``<br>`` and table rows begin a line, and cells are
separated by spaces.  Items of numbered lists have their numbers, and raised text, such
as the mark of a note, is separated from a figure.  Hidden and struck text is left out.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from selectolax.lexbor import LexborHTMLParser, LexborNode

from lextables.corpora.edgar.list_numbers import LISTS, NumberedList
from lextables.corpora.edgar.struck_tags import STRUCK, without_unclosed
from lextables.sources.characters import with_symbols

# An address in angle brackets, which an HTML parser takes for an element.
_ADDRESS = re.compile(
    r"<(\w[^\s<>=\"'/]{0,100}[.@][^\s<>=\"']{0,100}|(?:https?|ftp|mailto):[^\s<>\"']{1,300})>",
    re.IGNORECASE,
)
# Elements without text for a reader; `rp` and `datalist` are for old browsers.
_DROPPED = set(
    """
    -comment audio canvas datalist head iframe ix:header noembed noframes noscript rp script select style
    template title video
    """.split()
)
# Elements that begin and end a paragraph, unless their style says otherwise.
_BLOCKS = set(
    """
    address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption
    figure footer form h1 h2 h3 h4 h5 h6 header hgroup legend li listing main menu nav ol p pre search section
    summary table ul xmp
    """.split()
)
_KEPT_SPACE = ("pre", "listing", "xmp")
# These patterns are searched in the text of a style (`_Style.text`).
_BREAK = re.compile(r"break-(before|after):(?:always|page)")
_HIDDEN = re.compile(r"display:none|visibility:hidden")
_DISPLAY = re.compile(r"display:(inline|block|flex|grid|list-item|table)(?![\w-])")
# The first font.  After sizes (`font`) only the last word of its name is read.
_FONT = re.compile(r"(?<![\w-])font(?:-family:|:[^;,]{0,60} )[\"']?([\w ]+)")
# Raised by a keyword, or by a length above 0.
_RAISED = re.compile(r"vertical-align:(?:super|text-top|[1-9]|\.[1-9]|0\.\d*[1-9])")
# Endings of ordinal numbers in English and in Romance languages.
_ORDINAL = re.compile(r"st|nd|rd|d|th|o|a|er|[ºª]", re.IGNORECASE)
# Gaps between words, from narrow to wide.
_SPACE = 1
_LINE = 2
_PARAGRAPH = 3
_GAP = {0: "", _SPACE: " ", _LINE: "\n", _PARAGRAPH: "\n\n"}


@dataclass(frozen=True, slots=True)
class HtmlText:
    """The text of an HTML body, and the number of elements whose text was left out."""

    text: str
    hidden: int
    struck: int


def html_text(page: str) -> HtmlText:
    """Read an HTML body; its page breaks are ``<hr>``."""
    page = without_unclosed(_ADDRESS.sub(r"&lt;\1&gt;", page))
    root = LexborHTMLParser(page).body
    flow = _Flow()
    text = "" if root is None else flow.text_of(root)
    return HtmlText(text, flow.hidden, flow.struck)


@dataclass(frozen=True, slots=True)
class _Style:
    """What an attribute ``style`` says; ``text`` is in lower case, with one blank
    between words and none around signs.
    """

    text: str
    is_hidden: bool
    is_struck: bool
    is_block: bool | None  # None if the tag decides
    is_raised: bool
    font: str
    page_sides: tuple[str, ...]  # where a page begins: before, after


# The elements of a page have few different styles.
@lru_cache(maxsize=256)
def _style(attribute: str) -> _Style:
    """Return what a ``style`` says."""
    text = re.sub(" ?([:;,]) ?", r"\1", " ".join(attribute.lower().split()))
    display = _DISPLAY.search(text)
    font = _FONT.search(text)
    return _Style(
        text=text,
        is_hidden=_HIDDEN.search(text) is not None,
        is_struck="line-through" in text,
        is_block=display[1] != "inline" if display else None,
        is_raised=_RAISED.search(text) is not None,
        font=font[1] if font else "",
        page_sides=tuple(_BREAK.findall(text)),
    )


@dataclass(frozen=True, slots=True)
class _Element:
    """An element that is shown, and the name of its font, which may be empty."""

    node: LexborNode
    tag: str
    style: _Style
    font: str

    def is_block(self) -> bool:
        """Whether it begins and ends a paragraph."""
        is_block = self.style.is_block
        return self.tag in _BLOCKS if is_block is None else is_block

    def is_raised(self) -> bool:
        """Whether its text is raised; cells have other alignments."""
        if self.tag in ("table", "tbody", "thead", "tr", "td", "th"):
            return False
        return self.tag == "sup" or self.style.is_raised


def _has_text(node: LexborNode) -> bool:
    """Whether an element contains more than white space."""
    return bool(node.text(strip=True))


class _Flow:
    """Walks a tree and writes its text: words, and between them the widest of the gaps
    that elements request.
    """

    def __init__(self) -> None:
        self.hidden = 0  # elements with text that were left out because they are hidden
        self.struck = 0  # the same of struck elements
        self.out: list[str] = []  # pieces of the text
        self.gap = 0  # the widest gap requested since the last words, a key of `_GAP`
        self.open: list[_Element] = []
        self.pre = 0  # open elements whose white space is kept
        # For each open cell: the number of pieces written and the gap when it began.
        self.cells: list[tuple[int, int]] = []
        self.lists: list[NumberedList] = []
        self.markers: list[str] = []  # numbers of list items that have no words yet
        self.raised = 0  # open elements that raise their text
        self.after_raised = False  # whether the last words were raised

    def text_of(self, root: LexborNode) -> str:
        """Return the text of a tree."""
        # No recursion, because some filings nest thousands deep.
        open_ = self.open
        node: LexborNode | None = root
        while node is not None or open_:
            if node is None:
                element = open_.pop()
                self._leave(element)
                # The tree ends with its root, also if the root has siblings.
                node = element.node.next if open_ else None
            elif node.tag == "-text":
                self._write(node.text_content or "")
                node = node.next
            elif shown := self._shown(node):
                self._enter(shown)
                open_.append(shown)
                node = node.child
            else:
                node = node.next
        return "".join(self.out)

    def _shown(self, node: LexborNode) -> _Element | None:
        """Return the element of a node; None if it is not shown."""
        tag = node.tag or ""
        if tag in _DROPPED:
            return None
        attributes = node.attributes
        style = _style(attributes.get("style") or "")
        if "hidden" in attributes or style.is_hidden:
            self.hidden += _has_text(node)
            return None
        if tag in STRUCK or style.is_struck:
            self.struck += _has_text(node)
            return None
        outer = self.open[-1].font if self.open else ""
        return _Element(node, tag, style, style.font or attributes.get("face") or outer)

    def _enter(self, element: _Element) -> None:
        """Note what begins with an element: a page, a gap, a cell, a list."""
        tag = element.tag
        # A rule ends a page, but inside a table it is a line.
        if "before" in element.style.page_sides or (tag == "hr" and not self.cells):
            self._page()
        if tag == "hr":
            self._request_gap(_LINE)
        elif tag == "br":
            self._request_gap(_PARAGRAPH if self.gap == _LINE else _LINE)
        elif tag == "tr":
            self._request_gap(_LINE)
        elif tag in ("td", "th"):
            self._request_gap(_SPACE)
            self.cells.append((len(self.out), self.gap))
        elif element.is_block():
            self._request_gap(_PARAGRAPH)
        if tag in LISTS:
            self.lists.append(NumberedList.opened(element.node, element.style.text))
        elif tag == "li" and self.lists:
            self.markers.append(self.lists[-1].marker(element.node, element.style.text))
        self.pre += tag in _KEPT_SPACE
        self.raised += element.is_raised()

    def _leave(self, element: _Element) -> None:
        """Note what ends with an element."""
        tag = element.tag
        self.raised -= element.is_raised()
        self.pre -= tag in _KEPT_SPACE
        if tag in LISTS:
            self.lists.pop()
        elif tag == "li" and self.markers:
            self.markers.pop()
        if tag in ("td", "th"):
            written, gap = self.cells.pop()
            is_empty = written == len(self.out)
            self.gap = gap if is_empty else _SPACE
        elif tag == "tr":
            self._request_gap(_LINE)
        elif element.is_block():
            self._request_gap(_PARAGRAPH)
        if "after" in element.style.page_sides:
            self._page()

    def _request_gap(self, gap: int) -> None:
        """Widen the gap before the next words, if it is narrower than ``gap``."""
        # Before the first words of a cell its own gap remains: a block that opens the
        # cell stays on the row's line.
        if not self.cells or self.cells[-1][0] != len(self.out):
            self.gap = max(self.gap, gap)

    def _page(self) -> None:
        """Begin a page."""
        self.out.append("\f")
        self.gap = 0

    def _write(self, text: str) -> None:
        """Write the words of a text after the widest gap that is due."""
        words = text.replace("\r\n", "\n") if self.pre else " ".join(text.split())
        if not words:
            if text:  # white space
                self.gap = max(self.gap, _SPACE)
            return
        if (text[0].isspace() and not self.pre) or self._is_apart(words):
            self.gap = max(self.gap, _SPACE)
        self.out.append(_GAP[self.gap])
        if words.strip():
            self.out += [f"{marker} " for marker in self.markers if marker]
            self.markers = []
            self.after_raised = self.raised > 0
        self.out.append(with_symbols(words, self.open[-1].font))
        self.gap = _SPACE if text[-1].isspace() and not self.pre else 0

    def _is_apart(self, words: str) -> bool:
        """Whether ``words`` would change a figure that they directly follow.

        Raised text behind a figure or the end of a sentence is the mark of a note, an
        exponent or a fraction, unless it is the ending of an ordinal; a figure behind
        raised text is not part of it.
        """
        last = self.out[-1][-1:] if self.out else ""
        if self.raised and not self.after_raised:
            is_figure = last.isdigit() or last in (".", ",", "%", ")")
            return is_figure and not _ORDINAL.fullmatch(words)
        if self.after_raised and not self.raised:
            return last.isdigit() and words[0].isdigit()
        return False
