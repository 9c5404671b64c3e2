"""Exhibits of a filing: the documents of its full submission, and their text in
paragraphs.

A submission is SGML, read as a stream of lines.  Each document is between
``<DOCUMENT>`` and ``</DOCUMENT>``: a head of unclosed tags, one per line, then the body
between ``<TEXT>`` and ``</TEXT>``.

The text of an HTML or plain text body has paragraphs separated by a blank line.  A
plain text keeps its lines as filed.  In HTML a block element is a paragraph, ``<br>``
and table rows begin a line, and cells are separated by spaces.  Items of numbered lists
have the numbers that a browser shows, and raised text, such as the mark of a note, is
separated from a figure.  Hidden and struck text is left out.  Page breaks and page
numbers are dropped, and a sentence that runs over a page break is joined again.  A bare
number is a page number only if it continues the numbers of other pages.  Running heads
are kept because they cannot be distinguished from headings.
"""

import codecs
import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from lextables.sources.characters import INVISIBLE
from lextables.sources.records import whole_number

# The beginning of a submission: as EDGAR sends it, or without its header.
SUBMISSION = re.compile(
    rb"\s*(?:-----BEGIN PRIVACY-ENHANCED MESSAGE|<(?:SEC|IMS)-(?:DOCUMENT|HEADER)>"
    rb"|<(?:SUBMISSION|DOCUMENT|TYPE)>)",
    re.IGNORECASE,
)
_HEAD = re.compile(rb"\s*<(TYPE|SEQUENCE|FILENAME|DESCRIPTION)>(.*)", re.IGNORECASE)
_BINARY = re.compile(
    rb"\s*(?:<(?:PDF|ZIP|EXCEL|JPG|GIF)>|begin [0-7]{3} \S|%PDF-|PK\x03\x04)",
    re.IGNORECASE,
)
_CHARSET = re.compile(rb"charset\s*+=\s*+[\"']?\s*+([\w.:-]{1,40})", re.IGNORECASE)
_HEAD_TAG = re.compile(
    rb"(?=</?(?:DOCUMENT|TEXT)>|<(?:TYPE|SEQUENCE|FILENAME|DESCRIPTION)>)",
    re.IGNORECASE,
)
# A tag ends behind its name or has attributes; <p.roe@example.org> and "a <p or b> q"
# are no tags.
_HTML = re.compile(
    r"<(?:html|body|div|p|font|center|br|t[rdh])(?:\s*/?>|\s+(?:[\w:-]+\s*=|nowrap\b|hidden\b))",
    re.IGNORECASE,
)
# An address in angle brackets, which an HTML parser takes for an element.
_ADDRESS = re.compile(
    r"<(\w[^\s<>=\"'/]{0,100}[.@][^\s<>=\"']{0,100}|(?:https?|ftp|mailto):[^\s<>\"']{1,300})>",
    re.IGNORECASE,
)
# Elements that a parser compares with all that are open, and formats that it repeats in
# each paragraph.
_CONTAINERS = frozenset(
    """
    address applet article aside blockquote body center details dialog dir div dl fieldset figure footer form
    frameset h1 h2 h3 h4 h5 h6 header html main marquee menu nav object ol pre section select summary table
    template ul
    """.split()
)
_FORMATS = frozenset("b big code em font i small strike strong tt u".split())
_TAG = re.compile(
    rf"<(/?)({'|'.join(sorted(_CONTAINERS | _FORMATS))})(?![\w-])([^<>]{{0,200}})",
    re.IGNORECASE,
)
DEEPEST = 10_000  # open elements
MOST_FORMATS = 300  # open at one place, all different
# Old plain texts have the number of the page behind the tag.
_PAGE = re.compile(
    r"<PAGE(?:\s[^>\n]{0,20})?>(?:[ \t]{1,40}\d{1,4}(?=[ \t]{0,40}\r?\n))?",
    re.IGNORECASE,
)
# Tags with which plain texts mark up tables and footnotes.
_SGML = r"</?(?:TABLE|CAPTION|S|C|FN|F\d{1,3})>"
_SGML_LINE = re.compile(rf"^[ \t]*(?:{_SGML}[ \t]*)+\n", re.IGNORECASE | re.MULTILINE)
_SGML_TAG = re.compile(_SGML, re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d{1,6});", re.IGNORECASE)
_BREAK = re.compile(r"break-(before|after):(?:always|page)")
# A page number that cannot be anything else: "- 3 -", "Page 3", "3 of 10".
_MARKED_NUMBER = re.compile(
    r"(?:[-–—]\s*(?P<dashed>\d{1,4}|[ivxl]{1,6})\s*[-–—]"
    r"|[-–—\s]*page\s+(?:[a-z]{1,2}-)?(?P<page>\d{1,4}|[ivxl]{1,6})(?:\s+of\s+\d{1,4})?[-–—\s]*"
    r"|[-–—\s]*(?P<of>\d{1,4})\s+of\s+\d{1,4}[-–—\s]*)",
    re.IGNORECASE,
)
# A number alone, which may also be a figure, the number of a clause or a table's row.
_BARE_NUMBER = re.compile(r"(?P<prefix>[A-Za-z]{1,2}-)?(?P<number>\d{1,4}|[ivxl]{1,6})")
FARTHEST = 3  # pages between numbers that continue each other
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")

_PLAIN = str.maketrans({"\u00a0": " ", "\u2028": "\n", "\x85": "\n"})
_STRUCK = ("strike", "s", "del")
# Searched in a style attribute in lower case without white space, as are the other
# patterns of styles.
_HIDDEN = re.compile(r"display:none|visibility:hidden|line-through")
# Elements without text for a reader.
_DROPPED = set("script style head title template noscript ix:header -comment".split())
# Elements that begin and end a paragraph.
_BLOCKS = set(
    """
    address article blockquote body center dd div dl dt fieldset figure footer form
    h1 h2 h3 h4 h5 h6 header li main nav ol p pre section table td th ul
    """.split()
)
_RAISED = re.compile(r"vertical-align:(?:super|text-top|[1-9]|\.[1-9]|0\.\d*[1-9])")
# Endings of ordinal numbers in English and in Romance languages.
_ORDINAL = re.compile(r"st|nd|rd|d|th|o|a|er|[ºª]", re.IGNORECASE)
_LIST_STYLE = re.compile(
    r"list-style(?:-type)?:[^;]*?\b(none|decimal|lower-alpha|lower-latin|upper-alpha|"
    r"upper-latin|lower-roman|upper-roman|disc|circle|square)\b"
)
# {`type` of a list in HTML: its style in CSS}
_LIST_TYPES = {
    "1": "decimal",
    "a": "lower-alpha",
    "A": "upper-alpha",
    "i": "lower-roman",
    "I": "upper-roman",
}
_ROMAN = {
    "m": 1000,
    "cm": 900,
    "d": 500,
    "cd": 400,
    "c": 100,
    "xc": 90,
    "l": 50,
    "xl": 40,
    "x": 10,
    "ix": 9,
    "v": 5,
    "iv": 4,
    "i": 1,
}
# Gaps between words, from narrow to wide.
_SPACE = 1
_LINE = 2
_PARAGRAPH = 3
_GAP = {0: "", _SPACE: " ", _LINE: "\n", _PARAGRAPH: "\n\n"}


class CutShort(Exception):
    """The lines of a submission end inside a document."""


@dataclass(frozen=True)
class Document:
    """One document of a submission; ``sequence`` is None if the head gives no
    number.
    """

    type: str
    sequence: int | None
    filename: str
    description: str
    body: bytes


def in_families(families: Iterable[str]) -> Callable[[str], bool]:
    """Return the test whether an exhibit type belongs to one of ``families``.

    ``EX-10`` takes EX-10, EX-10.1, EX-10.(A) and EX-10-B, and neither EX-101.INS, which
    is XBRL, nor EX-100.
    """
    stems = "|".join(re.escape(family) for family in families)
    pattern = re.compile(rf"(?:{stems})(?!\d)", re.IGNORECASE)
    return lambda type_: pattern.match(type_) is not None


def documents(
    lines: Iterable[bytes], is_wanted: Callable[[str], bool]
) -> Iterator[Document]:
    """Yield the documents whose type ``is_wanted``, in order; the others are skipped.

    A document ends at ``</TEXT>`` or ``</DOCUMENT>``, or, if both are missing, where
    the next one begins.  One without ``<TEXT>`` has an empty body, or is skipped if it
    also has no ``</DOCUMENT>``.  Raises `CutShort` if the lines end inside a document;
    that one is not yielded.
    """
    head: dict[str, str] | None = None  # None outside a document
    body: list[bytes] | None = None  # None before <TEXT>
    # Whether the body is kept, and whether the submission is privacy-enhanced mail.
    take = dashed = False
    for number, line in enumerate(_sgml_lines(lines)):
        if number == 0:
            # Until 2000 texts went out as privacy-enhanced mail, which puts "- " before
            # a line that starts with a dash.
            dashed = line.startswith(b"-----BEGIN PRIVACY-ENHANCED MESSAGE")
        elif dashed and line.startswith(b"- "):
            line = line[2:]
        mark = line[:16].strip().upper() if b"<" in line[:16] else b""
        if mark.startswith(b"<DOCUMENT>"):
            if head is not None and body is not None and take:
                yield _document(head, body)
            head = {}
            body = None
            take = False
        elif head is None:
            continue
        elif mark.startswith(b"</DOCUMENT>") or (
            body is not None and mark.startswith(b"</TEXT>")
        ):
            if take or (body is None and is_wanted(head.get("TYPE", ""))):
                yield _document(head, body or [])
            head = None
            body = None
            take = False
        elif body is None and mark.startswith(b"<TEXT>"):
            body = [line.lstrip()[len(b"<TEXT>") :]]
            take = is_wanted(head.get("TYPE", ""))
        elif body is None:
            match = _HEAD.match(line)
            if match:
                head.setdefault(match[1].decode().upper(), _words(match[2]))
        elif take:
            body.append(line)
    if head is not None:
        raise CutShort("the submission ends inside a document, which is left out")


def _sgml_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines, also where only carriage returns end them.

    Tags that stand on the same line as ``<DOCUMENT>`` get lines of their own.
    """
    for joined in lines:
        for line in joined.splitlines(keepends=True):
            if line[:16].lstrip().upper().startswith(b"<DOCUMENT>"):
                yield from _HEAD_TAG.split(line)
            else:
                yield line


def _document(head: dict[str, str], body: list[bytes]) -> Document:
    """Return a document with the values of its head and the lines of its body."""
    return Document(
        type=head.get("TYPE", ""),
        sequence=whole_number(head.get("SEQUENCE", ""), digits=6),
        filename=head.get("FILENAME", ""),
        description=head.get("DESCRIPTION", ""),
        body=re.sub(rb"</TEXT>\s*\Z", b"", b"".join(body), flags=re.IGNORECASE),
    )


def _words(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return " ".join(text.split())


@dataclass(frozen=True)
class Text:
    """A text in paragraphs, its format as filed (``html`` or ``plain``), and its
    encoding fault or empty.
    """

    text: str
    format: str
    fault: str


class NoText(Exception):
    """A body without usable text; ``kind`` is ``binary``, ``empty`` or ``nested``."""

    def __init__(self, kind: str, what: str) -> None:
        self.kind = kind
        super().__init__(what)


def contract_text(body: bytes) -> Text:
    """Return the text of an exhibit's body.

    Raises `NoText` if the body is binary (a PDF or an encoded file), if its elements
    are nested too deeply to be read, or if no text is in it.
    """
    if _BINARY.match(body[:2048]):
        raise NoText("binary", "the exhibit is a PDF or another encoded file, not text")
    decoded, fault = _decoded(body)
    if _HTML.search(decoded):
        _check_nesting(decoded)
        text = _from_html(decoded)
        format_ = "html"
    else:
        text = _from_plain(decoded)
        format_ = "plain"
    if not text:
        raise NoText("empty", "the exhibit has no text")
    return Text(text, format_, fault)


def _check_nesting(text: str) -> None:
    """Raise `NoText` for HTML whose time to parse grows with the square of its
    length.
    """
    depth = 0
    formats: Counter[str] = Counter()  # open ones with their attributes
    last: dict[str, list[str]] = {}  # {name: open tags of it, the last one at the end}
    for closing, name, attributes in _TAG.findall(text):
        name = name.lower()
        if name in _CONTAINERS:
            depth = max(depth - 1 if closing else depth + 1, 0)
        elif not closing:
            tag = name + attributes
            formats[tag] += 1
            last.setdefault(name, []).append(tag)
        elif last.get(name):
            tag = last[name].pop()
            formats[tag] -= 1
            if not formats[tag]:
                del formats[tag]
        if depth > DEEPEST or len(formats) > MOST_FORMATS:
            raise NoText("nested", "the elements of the exhibit are nested too deeply")


def _decoded(body: bytes) -> tuple[str, str]:
    """Decode as UTF-8, else as declared, else as Windows-1252 with a fault."""
    try:
        return body.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        pass
    declared = _CHARSET.search(body[:4096])
    name = declared[1].decode("ascii") if declared else ""
    try:
        codec = codecs.lookup(name).name if name else ""
    except LookupError:
        codec = ""
    # As in browsers, Latin-1 and ASCII mean Windows-1252.  Of the codecs that are left
    # out, UTF-8 has failed, in UTF-16 the declaration could not be found as ASCII, and
    # idna and punycode encode names of hosts.
    if codec in ("iso8859-1", "ascii"):
        codec = "cp1252"
    if codec and not codec.startswith(("utf", "idna", "punycode")):
        try:
            return body.decode(codec), ""
        except (UnicodeError, LookupError):
            pass
    cause = "declares no charset, is not UTF-8,"
    if name:
        cause = f"declares {name}, which it is not,"
    fault = f"the exhibit {cause} and was read as Windows-1252"
    return body.decode("cp1252", "replace"), fault


def _from_plain(text: str) -> str:
    """The text of a plain text body, in paragraphs."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _SGML_TAG.sub("", _SGML_LINE.sub("", _PAGE.sub("\f", text)))
    text = _ENTITY.sub(lambda match: html.unescape(match[0].lower()), text)
    return _joined(text, "\n")


def _from_html(text: str) -> str:
    """The text of an HTML body, in paragraphs."""
    # <PAGE> is no HTML element; the parser would nest all following content in it.
    text = _ADDRESS.sub(r"&lt;\1&gt;", _PAGE.sub("<hr>", text.replace("\0", "")))
    root = LexborHTMLParser(text).body
    if root is None:
        return ""
    return _joined(_Flow(_struck_tags(text)).of(root), " ")


def _struck_tags(text: str) -> set[str]:
    """The tags of struck text that are closed each time; an open <S> is a column of an
    SGML table.
    """
    tags = set()
    for tag in _STRUCK:
        opened = len(re.findall(rf"<{tag}[\s>]", text, re.IGNORECASE))
        closed = len(re.findall(rf"</{tag}[\s>]", text, re.IGNORECASE))
        if opened == closed:
            tags.add(tag)
    return tags


@dataclass
class _List:
    """A list that is open: the style of its items' numbers, and the next number."""

    style: str
    number: int
    step: int

    @classmethod
    def opened(cls, node: LexborNode, style: str) -> "_List":
        """The list that begins with a node, which has this ``style`` attribute."""
        if node.tag != "ol":
            return cls("none", 1, 1)
        attributes = node.attributes
        named = _LIST_STYLE.search(style)
        type_ = _LIST_TYPES.get((attributes.get("type") or "1").strip(), "decimal")
        step = -1 if "reversed" in attributes else 1
        first = 1
        if step < 0:
            first = sum(child.tag == "li" for child in node.iter())
        start = _number_of(attributes.get("start"), first)
        return cls(named[1] if named else type_, start, step)

    def marker(self, value: str | None, style: str) -> str:
        """The number of the next item as a browser shows it; empty without one."""
        number = _number_of(value, self.number)
        self.number = number + self.step
        named = _LIST_STYLE.search(style)
        text = _numeral(number, named[1] if named else self.style)
        return f"{text}." if text else ""


def _number_of(text: str | None, default: int) -> int:
    """The whole number of an attribute; ``default`` for other texts."""
    if text and re.fullmatch(r"\s*-?\d{1,9}\s*", text):
        return int(text)
    return default


def _numeral(number: int, style: str) -> str:
    """A number of a list in a style of CSS; empty if its items have no numbers."""
    if style in ("none", "disc", "circle", "square"):
        return ""
    kind = style.split("-")[-1]
    text = str(number)
    if kind in ("alpha", "latin") and number > 0:
        text = ""
        while number:
            number, letter = divmod(number - 1, 26)
            text = chr(ord("a") + letter) + text
    elif kind == "roman" and 0 < number < 4000:
        text = ""
        for numeral, value in _ROMAN.items():
            count, number = divmod(number, value)
            text += numeral * count
    return text.upper() if style.startswith("upper") else text


class _Flow:
    """Walks a tree and writes its text: words, and the widest gap between them that the
    elements ask for.
    """

    def __init__(self, struck: Set[str]) -> None:
        """``struck`` are the tags whose text is left out because it is struck."""
        self.dropped = _DROPPED | struck
        self.out: list[str] = []  # pieces of the text
        self.gap = 0  # the widest gap requested since the last words, a key of `_GAP`
        self.pre = 0  # open elements whose white space is kept
        # For each open cell: the number of pieces written and the gap when it began.
        self.cells: list[tuple[int, int]] = []
        self.lists: list[_List] = []
        self.markers: list[str] = []  # numbers of list items that have no words yet
        self.raised = 0  # open elements that raise their text
        self.after_raised = False  # whether the last words were raised

    def of(self, root: LexborNode) -> str:
        """Return the text of a tree."""
        # An explicit stack, because some filings nest thousands deep: the open elements
        # with their tag, whether a page ends at them, and whether they raise text.
        open_: list[tuple[LexborNode, str, bool, bool]] = []
        node: LexborNode | None = root
        while node is not None or open_:
            if node is None:
                node, tag, breaks, is_raised = open_.pop()
                self._leave(tag, breaks)
                self.raised -= is_raised
                node = node.next if open_ else None
                continue
            tag = node.tag or ""
            if tag == "-text":
                self._write(node.text_content or "")
            elif tag not in self.dropped:
                attributes = node.attributes if tag != "br" else {}
                style = "".join((attributes.get("style") or "").lower().split())
                if "hidden" not in attributes and not _HIDDEN.search(style):
                    sides = _BREAK.findall(style) if "break-" in style else []
                    self._enter(tag, "before" in sides)
                    self._number(node, tag, style)
                    is_raised = tag == "sup" or _is_raised(tag, style)
                    self.raised += is_raised
                    open_.append((node, tag, "after" in sides, is_raised))
                    node = node.child
                    continue
            node = node.next
        return "".join(self.out)

    def _number(self, node: LexborNode, tag: str, style: str) -> None:
        """Open a list, or note the number of its next item."""
        if tag in ("ol", "ul"):
            self.lists.append(_List.opened(node, style))
        elif tag == "li" and self.lists:
            marker = self.lists[-1].marker(node.attributes.get("value"), style)
            self.markers.append(marker)

    def _enter(self, tag: str, breaks: bool) -> None:
        """Note the gaps before a tag; ``breaks``: a page begins at it."""
        # A rule ends a page, but inside a table it underlines a figure.
        if breaks or (tag == "hr" and not self.cells):
            self._page()
        if tag == "br":
            self._request_gap(_PARAGRAPH if self.gap == _LINE else _LINE)
        elif tag == "tr":
            self._request_gap(_LINE)
        elif tag in ("td", "th"):
            self._request_gap(_SPACE)
            self.cells.append((len(self.out), self.gap))
        elif tag in _BLOCKS:
            self._request_gap(_PARAGRAPH)
        self.pre += tag == "pre"

    def _leave(self, tag: str, breaks: bool) -> None:
        """Note the gaps after a tag; ``breaks``: a page ends at it."""
        self.pre -= tag == "pre"
        if tag in ("ol", "ul"):
            self.lists.pop()
        elif tag == "li" and self.markers:
            self.markers.pop()
        if tag in ("td", "th"):
            written, gap = self.cells.pop()
            self.gap = gap if written == len(self.out) else _SPACE
        elif tag == "tr":
            self._request_gap(_LINE)
        elif tag in _BLOCKS:
            self._request_gap(_PARAGRAPH)
        if breaks:
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
        if self.pre:
            if text:
                self.out += (_GAP[self.gap], text.replace("\r\n", "\n"))
                self.gap = 0
            return
        words = " ".join(text.split())
        if not words:
            self.gap = max(self.gap, _SPACE) if text else self.gap
            return
        if text[0].isspace() or self._is_apart(words):
            self.gap = max(self.gap, _SPACE)
        self.out.append(_GAP[self.gap])
        for marker in self.markers:
            self.out.append(f"{marker} " if marker else "")
        self.out.append(words)
        self.markers = []
        self.after_raised = self.raised > 0
        self.gap = _SPACE if text[-1].isspace() else 0

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


def _is_raised(tag: str, style: str) -> bool:
    """Whether the style of an element raises its text; cells have other alignments."""
    is_cell = tag in ("table", "tbody", "thead", "tr", "td", "th")
    return not is_cell and _RAISED.search(style) is not None


def _joined(text: str, within: str) -> str:
    """Join the pages of a text, which form feeds separate, without their numbers.

    ``within`` joins the halves of a sentence that runs over a page break.
    """
    text = text.translate(_PLAIN)
    pages = []
    for page in INVISIBLE.sub("", _CONTROL.sub("", text)).split("\f"):
        lines = [line.rstrip() for line in page.split("\n")]
        if any(lines):
            pages.append("\n".join(lines).strip("\n").split("\n"))
    if len(pages) > 1:
        pages = _without_numbers(pages)
    joined = ""
    for lines in pages:
        page = "\n".join(lines).strip("\n")
        if page and joined:
            joined += within if _runs_on(joined, page) else "\n\n"
        joined += page
    return re.sub(r"\n{3,}", "\n\n", joined).strip()


def _runs_on(before: str, page: str) -> bool:
    """Whether a sentence of the text ``before`` goes on at the beginning of a page."""
    is_open = before[-1].isalnum() or before[-1] in ",-"
    return is_open and page.lstrip()[0].islower()


def _without_numbers(pages: list[list[str]]) -> list[list[str]]:
    """The lines of pages without page numbers in the first or last line.

    A marked number ("Page 3") is always one.  A bare number is one if the same edge of
    a page at most `FARTHEST` pages away has the number that counting on gives.
    """
    tops = [_page_number(lines[0]) for lines in pages]
    bottoms = [_page_number(lines[-1]) for lines in pages]
    remaining = []
    for place, lines in enumerate(pages):
        first = _counts_on(tops, place)
        last = _counts_on(bottoms, place)
        end = len(lines) - 1 if last and len(lines) > first else len(lines)
        remaining.append(lines[int(first) : end])
    return remaining


@dataclass(frozen=True)
class _PageNumber:
    """A number at the edge of a page; numbers of one ``series`` count together."""

    series: str
    value: int
    is_marked: bool


def _page_number(line: str) -> _PageNumber | None:
    """The page number that a line may be; None if it has other words."""
    line = line.strip()
    marked = _MARKED_NUMBER.fullmatch(line)
    if marked:
        digits = marked["dashed"] or marked["page"] or marked["of"]
        return _PageNumber("", _value(digits), is_marked=True)
    bare = _BARE_NUMBER.fullmatch(line)
    if bare:
        prefix = bare["prefix"] or ""
        return _PageNumber(prefix, _value(bare["number"]), is_marked=False)
    return None


def _value(numeral: str) -> int:
    """The value of digits, or of a Roman numeral."""
    if numeral.isdigit():
        return int(numeral)
    rest = numeral.lower()
    value = 0
    for letters, number in _ROMAN.items():
        while rest.startswith(letters):
            value += number
            rest = rest[len(letters) :]
    return value


def _counts_on(numbers: list[_PageNumber | None], place: int) -> bool:
    """Whether the number at ``place`` is a page number; ``numbers`` are those at the
    same edge of all pages.
    """
    number = numbers[place]
    if number is None or number.is_marked:
        return number is not None
    first = max(place - FARTHEST, 0)
    for other_place in range(first, min(place + FARTHEST + 1, len(numbers))):
        other = numbers[other_place]
        if other is None or other_place == place:
            continue
        counted = number.value + other_place - place
        if (other.series, other.value) == (number.series, counted):
            return True
    return False
