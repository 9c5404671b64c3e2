"""The text of a user's contract: plain text, PDF or Word.

There is no text recognition (OCR).  `Contract.notes` lists the parts that were not read.
"""

import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import docx
from lxml import etree
from pypdf import PasswordType, PdfReader
from pypdf.errors import DependencyError

from lextables.pipeline.errors import BadInput
from lextables.sources.archives import Bounds, OverBounds, check_members

LIMIT = 5_000_000  # characters
BYTES_A_CHARACTER = 4  # at most, in UTF-8
# A Word file is a zip of XML, which takes thirty times its size in memory.
WORD = Bounds(member=64 << 20, volume=128 << 20)
BINARY = 0.01  # minimum share of control characters in binary data

# Control characters other than tab, line ends and page breaks: they do not occur in text files.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
_LINE_END = re.compile("\r\n|[\r\v\f\x85]")
# Invalid in HTML and parquet: control characters and lone surrogates, which PDF fonts can produce.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_MAGIC = {
    b"%PDF-": ("a PDF", "change its suffix to .pdf"),
    b"PK\x03\x04": ("a zip or a Word file", "change a Word file's suffix to .docx"),
    b"\xd0\xcf\x11\xe0": ("an old Word file", "save it as .docx or as plain text"),
    b"{\\rtf": ("rich text", "save it as .docx or as plain text"),
    b"\xff\xfe": ("UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save it as UTF-8"),
}

log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Contract:
    """A contract's text, with ``\\n`` as the only line end, and notes on the parts that were not read."""

    text: str
    notes: tuple[str, ...] = ()


def read_contract(path: str | Path) -> Contract:
    """Return the text of a ``.txt``, ``.md``, ``.pdf`` or ``.docx`` file; the notes are also logged.

    Line ends and page breaks become ``\\n``, other control characters become spaces.  Raises `BadInput` if
    the file is missing, of another type, damaged, encrypted or a scan, or if it has no text or more than
    `LIMIT` characters.
    """
    path = Path(path)
    try:
        return _read(path)
    except OSError as error:  # for example missing permission, or a name that is too long
        raise BadInput(
            f"the file cannot be read ({error.strerror})",
            where=str(path),
            do="set config key contract to the path of a contract",
        ) from error


def _read(path: Path) -> Contract:
    read = READERS.get(path.suffix.lower())
    if not path.is_file():
        what = "this is a folder" if path.is_dir() else "there is no such file"
        raise BadInput(
            what, where=str(path.absolute()), do="set config key contract to the path of a contract"
        )
    if read is None:
        raise BadInput(
            f"the file type {path.suffix!r} is unknown",
            where=str(path),
            do=f"save the contract as {', '.join(list(READERS)[:-1])} or {list(READERS)[-1]}",
        )
    contract = read(path)
    text = _UNPRINTABLE.sub(" ", _LINE_END.sub("\n", contract.text))
    if not text.strip():
        raise BadInput("the file contains no text", where=str(path))
    if len(text) > LIMIT:
        raise _too_long(path)
    log.info("%s: %d characters", path, len(text))
    for note in contract.notes:
        log.warning("%s: %s", path, note)
    return Contract(text, contract.notes)


def _too_long(path: Path) -> BadInput:
    return BadInput(
        f"the contract has more than {LIMIT:,} characters",
        where=str(path),
        do="split it, or check that the file is one contract",
    )


def _read_plain(path: Path) -> Contract:
    if path.stat().st_size > BYTES_A_CHARACTER * LIMIT:
        raise _too_long(path)
    raw = path.read_bytes()
    for start, (kind, do) in _MAGIC.items():
        if raw.startswith(start):
            raise BadInput(f"the file is {kind}, not UTF-8 text", where=str(path), do=do)
    if b"\0" in raw:
        at = raw.index(b"\0")
        raise BadInput(f"byte {at:,} is NUL, so this is not text", where=str(path), do="save it as UTF-8")
    try:
        text, notes = raw.decode("utf-8-sig"), ()
    except UnicodeDecodeError as error:
        try:
            text = raw.decode("cp1252")
        except UnicodeDecodeError:
            raise _binary(path) from None
        notes = (f"The file is not UTF-8 (byte {error.start:,}); it was read as Windows-1252.",)
    if len(_CONTROLS.findall(text)) > BINARY * len(text):
        raise _binary(path)
    return Contract(text, notes)


def _binary(path: Path) -> BadInput:
    return BadInput("the file holds binary data, not text", where=str(path), do="save the contract as UTF-8")


def _read_pdf(path: Path) -> Contract:
    try:
        reader = PdfReader(path)
        # The empty password opens a PDF that only restricts printing or changes.
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise _encrypted(path)
        pages, size = [], 0
        for page in reader.pages:
            pages.append(page.extract_text())
            size += len(pages[-1])
            if size > LIMIT:
                raise _too_long(path)
        fields = (reader.get_fields() or {}).values()
    except (BadInput, OSError):
        raise
    except DependencyError as error:  # AES needs another library
        raise _encrypted(path) from error
    except Exception as error:  # pypdf raises many types for damaged files; the log has the traceback
        raise BadInput(
            f"the PDF is damaged ({type(error).__name__}: {error})",
            where=str(path),
            do="save it again, or as plain text",
        ) from error
    blank = [number for number, page in enumerate(pages, 1) if not page.strip()]
    if len(blank) == len(pages):
        raise BadInput(
            "the PDF has no text, only pictures of pages",
            where=str(path),
            do="run text recognition (OCR) on it first",
        )
    notes = []
    if blank:
        notes.append(f"No text was found on page{'s' * (len(blank) > 1)} {_ranges(blank)} of {len(pages)}.")
    if any(field.get("/V") not in (None, "", "/Off") for field in fields):
        notes.append("The content of form fields was not read.")
    return Contract("\n\n".join(pages), tuple(notes))


def _encrypted(path: Path) -> BadInput:
    return BadInput("the PDF is encrypted", where=str(path), do="save a copy without protection")


def _ranges(numbers: list[int]) -> str:
    """Return sorted page numbers as text: ``1, 3-5``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


# Word's elements, by local name.  Tracked changes are read as accepted.
_SKIPPED = {"del", "moveFrom", "Fallback", "instrText", "pPr", "rPr", "sdtPr", "tblPr", "sectPr"}
_LITERAL = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_UNREAD = {
    "headerReference": "headers",
    "footerReference": "footers",
    "footnoteReference": "footnotes",
    "endnoteReference": "endnotes",
    "commentReference": "comments",
    "del": "tracked deletions",
    "numPr": "automatic numbers of clauses and lists",
    "blip": "pictures",
    "imagedata": "pictures",
    "sym": "symbols",
}


def _read_docx(path: Path) -> Contract:
    with path.open("rb") as file:
        if file.read(4) == b"\xd0\xcf\x11\xe0":
            raise BadInput(
                "the file is encrypted, or an old Word file",
                where=str(path),
                do="save it as .docx without a password",
            )
    try:
        with zipfile.ZipFile(path) as package:
            check_members(package, WORD)
        body = docx.Document(str(path)).element.body
        # python-docx's paragraphs omit tracked insertions, content controls and text boxes.
        text = "".join(_pieces(body))
    except OSError:
        raise
    except OverBounds as error:
        raise BadInput(str(error), where=str(path), do="save it without pictures, or as plain text") from None
    except Exception as error:  # python-docx raises many types for damaged files; the log has the traceback
        raise BadInput(
            f"the Word file is damaged ({type(error).__name__})",
            where=str(path),
            do="save it again as .docx, or as plain text",
        ) from error
    names = {_name(element) for element in body.iter(etree.Element)}
    unread = list(dict.fromkeys(content for name, content in _UNREAD.items() if name in names))
    notes = (f"Not read from the Word file: {', '.join(unread)}.",) if unread else ()
    return Contract(re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n", notes)


def _pieces(element: etree._Element) -> Iterator[str]:
    """Yield an element's text in reading order: blank lines between paragraphs, a line for a table row."""
    name = _name(element)
    if name in _SKIPPED:
        return
    if name == "t":
        yield element.text or ""
    elif name == "tr":
        cells = (" ".join("".join(_pieces(cell)).split()) for cell in element.iterchildren(etree.Element))
        yield "\t".join(filter(None, cells)) + "\n"
    elif name in _LITERAL:
        yield _LITERAL[name]
    else:
        if name == "txbxContent":
            yield "\n\n"
        for child in element.iterchildren(etree.Element):
            yield from _pieces(child)
        if name in ("p", "tbl"):
            yield "\n\n"


def _name(element: etree._Element) -> str:
    return etree.QName(element).localname


READERS: dict[str, Callable[[Path], Contract]] = {
    ".txt": _read_plain,
    ".md": _read_plain,
    ".pdf": _read_pdf,
    ".docx": _read_docx,
}
