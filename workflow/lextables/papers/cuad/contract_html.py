"""The text of a contract in HTML: a web page, a web archive (MHTML), or a document of an EDGAR submission."""

import email
import email.policy
import re
from collections.abc import Iterator
from email.message import EmailMessage

from selectolax.lexbor import LexborHTMLParser

from lextables.corpora.edgar import exhibits
from lextables.papers.cuad.contract import Contract
from lextables.pipeline.errors import BadInput

# CSS selectors of content that is not read, with the name for it in the note.
_UNREAD = {
    "img[src], svg, canvas, object, embed, video": "pictures and objects",
    "iframe[src], frame[src]": "pages in frames",
    "input:not([type=hidden]), select, textarea": "form fields",
    '[style*="display:none" i], [style*="display: none" i]': "hidden text",
}


def read_html(raw: bytes) -> Contract:
    """Return the text of a web page in paragraphs; the charset is UTF-8, as declared, or Windows-1252."""
    # The tag in front shows that the text is HTML, also if it is a fragment.
    return _read_exhibit(b"<html>" + raw.removeprefix(b"\xef\xbb\xbf"))


def _read_exhibit(body: bytes) -> Contract:
    try:
        text = exhibits.contract_text(body)
    except exhibits.NoText as error:
        raise BadInput(
            str(error).replace("exhibit", "file"), do="save the contract as .docx or PDF"
        ) from None
    notes = []
    if text.format == "html":
        tree = LexborHTMLParser(body)
        counts = {name: len(tree.css(selector)) for selector, name in _UNREAD.items()}
        listed = ", ".join(f"{name} ({count})" for name, count in counts.items() if count)
        if listed:
            notes.append(f"Not read from the HTML: {listed}.")
    if text.fault:
        notes.append(f"{text.fault.replace('the exhibit', 'The file', 1)}.")
    return Contract(f"{text.text}\n", tuple(notes))


def read_archive(raw: bytes) -> Contract:
    """Return the text of the first HTML page of a web archive (MHTML)."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    pages, others = [], []
    for part in message.walk():
        if part.get_content_type() == "text/html":
            pages.append(part)
        elif not part.is_multipart():
            others.append(part.get_content_type())
    if not pages:
        raise BadInput("the file is a web archive or an e-mail without HTML", do="save it as .docx or PDF")
    contract = read_html(_page(pages[0]))
    others += [part.get_content_type() for part in pages[1:]]
    unseen = sorted({kind for kind in others if kind not in ("text/css", "text/plain")})
    if not unseen:
        return contract
    note = f"Not read: {len(others)} other parts of the web archive ({', '.join(unseen)})."
    return Contract(contract.text, (*contract.notes, note))


def _page(part: EmailMessage) -> bytes:
    raw = part.get_payload(decode=True) or b""
    charset = part.get_content_charset("utf-8")
    try:
        return raw.decode(charset).encode()
    except (LookupError, UnicodeError):
        return raw


def read_submission(raw: bytes) -> Contract:
    """Return the text of the first contract of an EDGAR submission, or else of its first document."""
    if re.match(rb"\s*<TYPE>", raw, re.IGNORECASE):
        raw = b"<DOCUMENT>\n" + raw
    notes = []
    try:
        documents = list(exhibits.documents(_lines(raw), lambda type_: True))
    except exhibits.CutShort:
        notes.append("The EDGAR file ends inside a document: its end is missing.")
        closed = raw + b"\n</TEXT>\n</DOCUMENT>\n"
        documents = list(exhibits.documents(_lines(closed), lambda type_: True))
    if not documents:
        raise BadInput("the EDGAR file has no document", do="save the contract as plain text")
    is_contract = exhibits.in_families(exhibits.EXHIBITS)
    chosen = next((document for document in documents if is_contract(document.type)), documents[0])
    others = [document.type or "no type" for document in documents if document is not chosen]
    if others:
        notes.append(f"Only {chosen.type or 'the first document'} was read; not read: {_listed(others)}.")
    contract = _read_exhibit(chosen.body)
    return Contract(contract.text, (*contract.notes, *notes))


def _lines(raw: bytes) -> Iterator[bytes]:
    start = 0
    while start < len(raw):
        end = raw.find(b"\n", start) + 1 or len(raw)
        yield raw[start:end]
        start = end


def _listed(names: list[str], most: int = 10) -> str:
    listed = ", ".join(names[:most])
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more documents"
