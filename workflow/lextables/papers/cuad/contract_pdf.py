"""The text of a contract in a PDF file."""

from pathlib import Path

from pypdf import PasswordType, PdfReader
from pypdf.errors import DependencyError

from lextables.papers.cuad.contract import LIMIT, Contract, too_long
from lextables.pipeline.errors import BadInput


def read_pdf(path: Path) -> Contract:
    """Return the text of a PDF, with a blank line between pages.

    Raises `BadInput` if it is damaged, encrypted or a scan.
    """
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
                raise too_long(path)
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
