"""The text of an exhibit: HTML or plain text in any encoding, in paragraphs.

Paragraphs are separated by a blank line.  A plain text keeps its lines as filed.
"""

import codecs
import html
import re
from dataclasses import dataclass, replace

from lextables.corpora.edgar.html_nesting import is_too_deep
from lextables.corpora.edgar.html_text import HtmlText, html_text
from lextables.corpora.edgar.page_breaks import joined_pages

_BINARY = re.compile(
    rb"\s*(?:<(?:PDF|ZIP|EXCEL|JPG|GIF)>|begin [0-7]{3} \S|%PDF-|PK\x03\x04)",
    re.IGNORECASE,
)
_CHARSET = re.compile(rb"charset\s*+=\s*+[\"']?\s*+([\w.:-]{1,40})", re.IGNORECASE)
# A tag ends behind its name or has attributes; <p.roe@example.org> and "a <p or b> q"
# are no tags.
_HTML = re.compile(
    r"<(?:html|body|div|p|font|center|br|t[rdh])(?:\s*/?>|\s+(?:[\w:-]+\s*=|nowrap\b|hidden\b))",
    re.IGNORECASE,
)
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


@dataclass(frozen=True)
class Text:
    """A text in paragraphs, and its format as filed (``html`` or ``plain``).

    ``fault`` says what is wrong with its encoding; empty if nothing is.  ``hidden`` and
    ``struck`` are numbers of elements whose text was left out.
    """

    text: str
    format: str
    fault: str
    hidden: int
    struck: int


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
        if is_too_deep(decoded):
            raise NoText("nested", "the elements of the exhibit are nested too deeply")
        content = _from_html(decoded)
        format_ = "html"
    else:
        content = HtmlText(_from_plain(decoded), hidden=0, struck=0)
        format_ = "plain"
    if not content.text:
        raise NoText("empty", "the exhibit has no text")
    return Text(content.text, format_, fault, content.hidden, content.struck)


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
    return joined_pages(text, "\n")


def _from_html(text: str) -> HtmlText:
    """The text of an HTML body, in paragraphs."""
    # <PAGE> is no HTML element; the parser would nest all following content in it.
    content = html_text(_PAGE.sub("<hr>", text.replace("\0", "")))
    return replace(content, text=joined_pages(content.text, " "))
