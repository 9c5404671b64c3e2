"""The text of a user's contract: plain text, PDF or Word.

There is no text recognition (OCR).  `Contract.notes` lists the parts that were not read.
"""

import logging
import re
from collections.abc import Callable
from pathlib import Path

from lextables.papers.cuad.contract import LIMIT, Contract, too_long
from lextables.papers.cuad.contract_pdf import read_pdf
from lextables.papers.cuad.contract_word import read_docx
from lextables.papers.cuad.readable import is_readable
from lextables.pipeline.errors import BadInput
from lextables.sources.characters import plain

BYTES_A_CHARACTER = 4  # at most, in UTF-8
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


def read_contract(path: str | Path) -> Contract:
    """Return the text of a ``.txt``, ``.md``, ``.pdf`` or ``.docx`` file; the notes are also logged.

    Line ends and page breaks become ``\\n``, other control characters become spaces.  Raises `BadInput` if
    the file is missing, of another type, damaged, encrypted or a scan, or if it has no text, no readable
    English text, or more than `LIMIT` characters.
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
    if not plain(contract.text).text.strip():
        raise BadInput("the file contains no text", where=str(path))
    if len(text) > LIMIT:
        raise too_long(path)
    if not is_readable(contract.text):
        raise BadInput(
            "the text has hardly any common English words",
            where=str(path),
            do="if it is a scan or letters are wrong, run OCR first; only English is read",
        )
    log.info("%s: %d characters", path, len(text))
    for note in contract.notes:
        log.warning("%s: %s", path, note)
    return Contract(text, contract.notes)


def _read_plain(path: Path) -> Contract:
    if path.stat().st_size > BYTES_A_CHARACTER * LIMIT:
        raise too_long(path)
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


READERS: dict[str, Callable[[Path], Contract]] = {
    ".txt": _read_plain,
    ".md": _read_plain,
    ".pdf": read_pdf,
    ".docx": read_docx,
}
