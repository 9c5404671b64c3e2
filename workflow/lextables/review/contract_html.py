"""The text of a contract in HTML: a web page, a web archive (MHTML), or a document of
an EDGAR submission.
"""

import email
import email.policy
import re
from collections import Counter
from collections.abc import Iterator
from email.message import EmailMessage

from selectolax.lexbor import LexborHTMLParser

from lextables.corpora.edgar.exhibits import NoText, contract_text
from lextables.corpora.edgar.submission import (
    CutShort,
    Document,
    documents,
    in_families,
)
from lextables.pipeline.errors import BadInput
from lextables.review.contract import Contract

# Exhibits that are contracts (Regulation S-K, item 601).
CONTRACTS = ("EX-10", "EX-1", "EX-2", "EX-4")
_STYLE_SHEETS = "style sheets, which may hide or number text"
# Rules of a style sheet that hide, strike out or number text.
_RULE = re.compile(
    r"counter|content\s*:|list-style|display\s*:\s*none|visibility\s*:|line-through",
    re.IGNORECASE,
)
# CSS selectors of content that is not read, with the name for it in the note.
_UNREAD = {
    "img[src], svg, canvas, object, embed, video": "pictures and objects",
    "iframe[src], frame[src]": "pages in frames",
    "input:not([type=hidden]), select, textarea": "form fields",
    "link[rel=stylesheet i]": _STYLE_SHEETS,
}


def read_html(raw: bytes) -> Contract:
    """Return the text of a web page in paragraphs.

    The charset is UTF-8, the declared one, or Windows-1252.
    """
    # With the tag in front, a fragment is recognised as HTML too.
    return _read_exhibit(b"<html>" + raw.removeprefix(b"\xef\xbb\xbf"))


def _read_exhibit(body: bytes) -> Contract:
    """Return the text of HTML or plain text, with notes on what is not read."""
    try:
        text = contract_text(body)
    except NoText as error:
        raise BadInput(
            str(error).replace("exhibit", "file"),
            do="save the contract as .docx or PDF",
        ) from None
    notes = []
    if text.format == "html":
        tree = LexborHTMLParser(body)
        unread: Counter[str] = Counter()
        for selector, name in _UNREAD.items():
            unread[name] = len(tree.css(selector))
        for sheet in tree.css("style"):
            unread[_STYLE_SHEETS] += bool(_RULE.search(sheet.text()))
        unread["hidden text"] = text.hidden
        unread["struck text, as it is not in force"] = text.struck
        listed = [f"{name} ({count})" for name, count in unread.items() if count]
        if listed:
            notes.append(f"Not read from the HTML: {', '.join(listed)}.")
    if text.fault:
        notes.append(f"{text.fault.replace('the exhibit', 'The file', 1)}.")
    return Contract(f"{text.text}\n", tuple(notes))


def read_archive(raw: bytes) -> Contract:
    """Return the text of the first HTML page of a web archive (MHTML)."""
    try:
        message = email.message_from_bytes(raw, policy=email.policy.default)
    except RecursionError as error:
        what = "the parts of the web archive are nested too deeply"
        raise BadInput(what, do="save it as .docx or PDF") from error
    page = None
    unread: Counter[str] = Counter()
    for part in message.walk():
        kind = part.get_content_type()
        if part.is_multipart():
            continue
        if kind == "text/html" and page is None:
            page = part
        # Styles show nothing, and a plain text repeats the page.
        elif kind not in ("text/css", "text/plain"):
            unread[kind] += 1
    if page is None:
        raise BadInput(
            "the file is a web archive or an e-mail without HTML",
            do="save it as .docx or PDF",
        )
    contract = read_html(_page(page))
    if not unread:
        return contract
    listed = ", ".join(f"{kind} ({count})" for kind, count in unread.items())
    note = f"Not read from the web archive: {listed}."
    return Contract(contract.text, (*contract.notes, note))


def _page(part: EmailMessage) -> bytes:
    """Return a page in UTF-8, or as it is if its charset is unknown or wrong."""
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return b""
    charset = part.get_content_charset("utf-8")
    try:
        return raw.decode(charset).encode()
    except (LookupError, UnicodeError):
        return raw


def read_submission(raw: bytes) -> Contract:
    """Return the text of the first contract of an EDGAR submission, or else of its
    first document.
    """
    if re.match(rb"\s*<TYPE>", raw, re.IGNORECASE):
        raw = b"<DOCUMENT>\n" + raw
    notes = []
    try:
        types, chosen = _first_contract(raw)
    except CutShort:
        notes.append("The EDGAR file ends inside a document: its end is missing.")
        types, chosen = _first_contract(raw + b"\n</TEXT>\n</DOCUMENT>\n")
    if chosen is None:
        raise BadInput(
            "the EDGAR file has no document", do="save the contract as plain text"
        )
    if types:
        notes.append(
            f"Only {chosen.type or 'one document'} was read; not read: {_listed(types)}."
        )
    contract = _read_exhibit(chosen.body)
    return Contract(contract.text, (*contract.notes, *notes))


def _first_contract(raw: bytes) -> tuple[list[str], Document | None]:
    """Return the types of the other documents, and the first contract, else the first
    document.
    """
    is_contract = in_families(CONTRACTS)
    types: list[str] = []
    chosen = None
    place = 0  # of the chosen document's type in `types`
    for document in documents(_lines(raw), lambda type_: True):
        # The first document is replaced by the first contract only.
        is_better = chosen is None
        if chosen and is_contract(document.type):
            is_better = not is_contract(chosen.type)
        if is_better:
            chosen = document
            place = len(types)
        types.append(document.type or "a document without type")
    if types:
        del types[place]
    return types, chosen


def _lines(raw: bytes) -> Iterator[bytes]:
    """Yield the lines with their ends, which are line feeds only."""
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start) + 1 or len(raw)
        yield raw[start:end]
        start = end


def _listed(names: list[str], most: int = 10) -> str:
    listed = ", ".join(names[:most])
    if len(names) <= most:
        return listed
    return f"{listed} and {len(names) - most} more documents"
