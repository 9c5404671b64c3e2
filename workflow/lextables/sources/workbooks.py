"""Excel workbooks of releases."""

import io
from typing import Any

import openpyxl

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import RESTORE
from lextables.sources.archives import Bounds, check_zip

BOUNDS = Bounds(member=64 << 20, volume=128 << 20)
# A few bytes can claim a row of 18,000 cells, or a million empty rows.
MAX_CELLS = 5_000_000


def sheets(content: bytes, name: str) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return the (title, rows) of each sheet of a workbook; a row is as wide as its
    last cell.

    Raises `BadInput` if it is damaged, or expands beyond `BOUNDS` or `MAX_CELLS`.
    """
    try:
        check_zip(content, BOUNDS)
        return _sheets(content)
    except MemoryError:
        raise
    except Exception as error:  # openpyxl has no error of its own for a damaged file
        what = f"the workbook cannot be read ({type(error).__name__}: {error})"
        raise BadInput(what, where=name, do=RESTORE) from error


def _sheets(content: bytes) -> list[tuple[str, list[tuple[Any, ...]]]]:
    """Return `sheets`; raise any error of openpyxl, and `ValueError` beyond
    `MAX_CELLS`.
    """
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    named_sheets = []
    cells = 0
    for sheet in book:
        sheet.reset_dimensions()  # a sheet may claim any size
        rows = []
        for row in sheet.iter_rows(values_only=True):
            cells += len(row) + 1
            if cells > MAX_CELLS:
                raise ValueError(f"it has more than {MAX_CELLS:,} cells")
            rows.append(row)
        named_sheets.append((sheet.title, rows))
    if not named_sheets:
        raise ValueError("it has no sheet")
    return named_sheets
