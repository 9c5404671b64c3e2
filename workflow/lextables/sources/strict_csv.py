"""Rows of a released csv file, read strictly: a quote that is not doubled is a fault, not a guess."""

import csv
from collections.abc import Iterable, Iterator

from lextables.pipeline.errors import BadInput


def rows(lines: Iterable[bytes], name: str, delimiter: str = ",") -> Iterator[tuple[str, list[str]]]:
    """Yield (place, cells) for each row of a file in UTF-8, with or without a byte order mark.

    The place is ``name`` and the line, from 1, on which the row begins, as an editor counts them.  Lines
    without a cell are passed over; the other rows are as wide as the first.  No word is read as a missing
    value.  Raises `BadInput` for the first fault.
    """
    reader = csv.reader(_decoded(lines, name), delimiter=delimiter, strict=True)
    begins, width = 1, None
    try:
        for cells in reader:
            where = f"{name}, row {begins}"
            if cells:
                width = width or len(cells)
                if len(cells) != width:
                    raise BadInput(
                        f"has {len(cells)} cells where there should be {width}",
                        where=where,
                        do="quote the cells that hold a comma"
                        if delimiter == ","
                        else "restore the row from the release",
                    )
                yield where, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(
            f"the row that begins here is no csv ({error})",
            where=f"{name}, row {begins}",
            do="close its quotes, and double those inside a cell",
        ) from error
    if width is None:
        raise BadInput("the file is empty", where=name, do="fetch it again")


def _decoded(lines: Iterable[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            # The error's own bytes: its position does not count the byte order mark.
            raise BadInput(
                f"the byte 0x{error.object[error.start]:02x} is not UTF-8",
                where=f"{name}, row {number}",
                do="restore the file from the release",
            ) from None
