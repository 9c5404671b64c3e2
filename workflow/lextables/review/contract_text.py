"""The text of a user's contract: plain text, PDF, Word or HTML, whatever the name of
the file.

There is no text recognition (OCR).  `Contract.notes` lists the parts that were not
read.
"""

import logging
import re
from collections.abc import Callable
from pathlib import Path

from lextables.corpora.edgar.submission import SUBMISSION
from lextables.pipeline.errors import BadInput
from lextables.review import contract_html
from lextables.review.contract import FILE_LIMIT, LIMIT, Contract, check_file, too_long
from lextables.review.contract_pdf import read_pdf
from lextables.review.contract_word import read_word
from lextables.review.readable import is_readable
from lextables.sources.characters import plain

BYTES_A_CHARACTER = 4  # at most, in UTF-8
MARKUP_LIMIT = 64 << 20  # bytes of HTML
BINARY = 0.01  # minimum share of control characters in binary data
HEAD = 1 << 16  # bytes that show the type of a file

# Control characters other than tab, line ends and page breaks: they do not occur in
# text files.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_LINE_END = re.compile("\r\n|[\r\v\f\x85]")
# Invalid in HTML and parquet: control characters and lone surrogates, which PDF fonts
# can produce.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

# Types that are refused, by their first bytes.
_REFUSED = {
    b"\xd0\xcf\x11\xe0": "an old Word file (.doc), an Outlook message or an encrypted Office file",
    b"{\\rtf": "rich text (RTF)",
    b"\xffWPC": "a WordPerfect document",
    b"%!PS": "a PostScript file",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"II*\x00": "a picture",
    b"MM\x00*": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"BZh91AY": "a compressed file",
    b"7z\xbc\xaf": "a compressed file",
    b"Rar!": "a compressed file",
    b"\xfd7zXZ": "a compressed file",
}
# What the suffix of a name promises.
_KINDS = {".pdf": "a PDF", ".docx": "a Word file", ".docm": "a Word file"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_ZIP = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
# The elements that may begin a fragment of HTML.
_BLOCK = (
    rb"(?:p|div|table|h[1-6]|font|center|ul|ol|pre|section|article|title|style|meta)"
)
# A PDF has its header at the start of a line, and maybe other lines before it.
_PDF = re.compile(rb"^[^\S\n]*%PDF-\d", re.MULTILINE)
# The first tag of a page, maybe behind a declaration of XML and comments.
_PAGE = re.compile(
    rb"^[^\S\n]*+(?:<[?!][^<>]*>\s*+)*<(?:!doctype\s+html|html|body)\b",
    re.IGNORECASE | re.MULTILINE,
)
# HTML without <html>: after comments a block element, and any end tag behind it.
_FRAGMENT = re.compile(
    rb"(?:\s*+<!--.*?-->)*+\s*+<" + _BLOCK + rb"\b[^<>]*>.*</",
    re.IGNORECASE | re.DOTALL,
)
# A web archive begins with the header lines of an e-mail.
_HEADER = re.compile(rb"\s*[A-Za-z-]+:[^\n]*\n")
_MIME = re.compile(rb"^MIME-Version:", re.IGNORECASE | re.MULTILINE)
_MIME_TYPE = re.compile(
    rb"^Content-Type:\s*(?:multipart/|text/html)", re.IGNORECASE | re.MULTILINE
)
_XML = re.compile(rb"\s*<\?xml\b", re.IGNORECASE)

log = logging.getLogger("lextables")


def read_contract(path: str | Path) -> Contract:
    """Return the text of a contract; the notes are also logged.

    The type of the file is recognised by its content.  Line ends and page breaks become
    ``\\n``, other control characters become spaces.  Raises `BadInput` if the file is
    missing, no regular file, of a type that is not read, damaged, encrypted or a scan,
    or if it has no text, no readable English text, or more than `LIMIT` characters.
    """
    path = Path(path)
    check_file(path)
    try:
        contract = _read(path)
    except OSError as error:  # for example missing permission
        raise BadInput(
            f"the file cannot be read ({error.strerror})",
            where=str(path),
            do="set config key contract to the path of a contract",
        ) from error
    except BadInput as error:
        raise BadInput(error.what, where=str(path), do=error.do) from error
    text = _UNPRINTABLE.sub(" ", _LINE_END.sub("\n", contract.text))
    if len(text) > LIMIT:
        raise too_long(path)
    if not is_readable(contract.text):
        raise BadInput(
            "the text has hardly any common English words",
            where=str(path),
            do="if it is a scan or letters are wrong, run OCR first; only English is read",
        )
    if not plain(text).text.strip():
        what = " ".join(
            ["the file contains no text that is read.", *contract.notes]
        ).removesuffix(".")
        raise BadInput(
            what, where=str(path), do="save the contract as PDF or plain text"
        )
    log.info("%s: %d characters", path, len(text))
    for note in contract.notes:
        log.warning("%s: %s", path, note)
    return Contract(text, contract.notes)


def _read(path: Path) -> Contract:
    """Return the text of a file by the type of its content."""
    with path.open("rb") as file:
        head = file.read(HEAD)
        if _PDF.search(head[:1024]):
            return _with_kind(path, "a PDF", read_pdf(path))
        if head.startswith(_ZIP):
            return _with_kind(path, "a Word file", read_word(path, _read_inserted))
        limit = FILE_LIMIT if SUBMISSION.match(head) else MARKUP_LIMIT
        data = head + file.read(limit + 1 - len(head))
    if len(data) > limit:
        raise too_long()
    return _with_kind(path, "a text or a web page", _read_text(data))


def _with_kind(path: Path, kind: str, contract: Contract) -> Contract:
    """Return a contract with a note if the name of its file promises another kind."""
    promised = _KINDS.get(path.suffix.lower(), kind)
    if promised == kind:
        return contract
    note = f"The name of the file ends in {path.suffix}, but it is {kind}."
    return Contract(contract.text, (note, *contract.notes))


def _read_inserted(data: bytes) -> Contract:
    """Read a part that is inserted into a Word file; a file in a file is not read."""
    if data.startswith((*_ZIP, b"%PDF-")):
        raise BadInput("a Word file or PDF in the file")
    return _read_text(data)


def _read_text(data: bytes) -> Contract:
    """Return the text of plain text, HTML, a web archive or an EDGAR submission."""
    if data.startswith(_UTF_16):
        data = _utf_8(data)
    for start, kind in _REFUSED.items():
        if data.startswith(start):
            raise BadInput(
                f"the file is {kind}",
                do="save the contract as .docx, PDF or plain text",
            )
    return _reader(data[:HEAD].removeprefix(b"\xef\xbb\xbf"))(data)


def _reader(head: bytes) -> Callable[[bytes], Contract]:
    """Return the reader of a text that begins with ``head``."""
    if SUBMISSION.match(head):
        return contract_html.read_submission
    if _HEADER.match(head) and _MIME.search(head) and _MIME_TYPE.search(head):
        return contract_html.read_archive
    # A tag within a sentence, or an address in angle brackets, is plain text.
    if _PAGE.search(head[:4096]) or _FRAGMENT.match(head):
        return contract_html.read_html
    if _XML.match(head):
        raise BadInput(
            "the file is XML", do="save the contract as .docx, PDF or plain text"
        )
    return _read_plain


def _utf_8(data: bytes) -> bytes:
    """Return text in UTF-16 or UTF-32, with a byte order mark, as UTF-8."""
    codec = "utf-32" if data.startswith(b"\xff\xfe\0\0") else "utf-16"
    try:
        return data.decode(codec).encode()
    except UnicodeError as error:
        raise BadInput(
            f"the {codec.upper()} text is damaged ({error})", do="save it as UTF-8"
        ) from None


def _read_plain(raw: bytes) -> Contract:
    """Return plain text in UTF-8, or else in Windows-1252 with a note."""
    if len(raw) > BYTES_A_CHARACTER * LIMIT:
        raise too_long()
    if b"\0" in raw:
        at = raw.index(b"\0")
        raise BadInput(
            f"byte {at:,} is NUL, so this is not text", do="save the contract as UTF-8"
        )
    notes: tuple[str, ...] = ()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        try:
            text = raw.decode("cp1252")
        except UnicodeDecodeError:
            raise _binary() from None
        notes = (
            f"The file is not UTF-8 (byte {error.start:,}); it was read as Windows-1252.",
        )
    if len(_CONTROLS.findall(text)) > BINARY * len(text):
        raise _binary()
    return Contract(text, notes)


def _binary() -> BadInput:
    return BadInput(
        "the file holds binary data, not text",
        do="save the contract as .docx, PDF or UTF-8",
    )
