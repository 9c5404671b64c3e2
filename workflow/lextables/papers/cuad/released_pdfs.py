"""The PDFs of CUAD_v1.zip: their folder is a contract's type (Table 3), and their pages are counted there.

The release keeps them as ``full_contract_pdf/Part_I/Consulting Agreements/<title>.pdf``, in folders that are
spelled otherwise from part to part.
"""

import io
import logging
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pypdf import PdfReader

_UTF_8 = 0x800  # the flag of a zip's entry whose name is UTF-8; without it Python reads the name as cp437
_MAC = "__MACOSX"  # beside each file, what its Mac kept of it

log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Pdf:
    """A PDF of the release: its path in the zip, its name without the ending, its folder and its pages.

    ``pages`` is None where they cannot be counted.
    """

    member: str
    name: str
    folder: str
    pages: int | None


def read_pdfs(archive: zipfile.ZipFile) -> Iterator[Pdf]:
    """Yield the PDFs of the release, sorted by their paths, one in memory at a time."""
    for entry in sorted(archive.infolist(), key=lambda entry: entry.filename):
        path = PurePosixPath(_name(entry))
        if path.suffix.casefold() == ".pdf" and not entry.is_dir() and _MAC not in path.parts:
            yield Pdf(str(path), path.stem, path.parent.name, _pages(archive.read(entry), path))


def _name(entry: zipfile.ZipInfo) -> str:
    """An entry's name; some packers write UTF-8 and do not say so."""
    if not entry.flag_bits & _UTF_8:
        try:
            return entry.filename.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return entry.filename


def _pages(content: bytes, path: PurePosixPath) -> int | None:
    try:
        return len(PdfReader(io.BytesIO(content)).pages) or None
    except Exception as error:  # a damaged PDF can fail in any way
        log.warning("%s: the pages cannot be counted (%s: %s)", path, type(error).__name__, error)
        return None
