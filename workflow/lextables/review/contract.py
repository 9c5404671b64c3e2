"""The text of a user's contract, and the limits that all readers of files share."""

import stat
from dataclasses import dataclass
from pathlib import Path

from lextables.pipeline.errors import BadInput

LIMIT = 5_000_000  # characters
FILE_LIMIT = 256 << 20  # bytes of a file, with its pictures


@dataclass(frozen=True)
class Contract:
    """A contract's text, with ``\\n`` as the only line end, and notes on the parts that
    were not read.
    """

    text: str
    notes: tuple[str, ...] = ()


def too_long(path: Path | str = "") -> BadInput:
    """Return the error for a contract of more than `LIMIT` characters."""
    return BadInput(
        f"the contract has more than {LIMIT:,} characters",
        where=str(path),
        do="split it, or check that the file is one contract",
    )


def check_file(path: Path) -> None:
    """Raise `BadInput` unless ``path`` is a regular file of 1 to `FILE_LIMIT` bytes; it
    is not opened.
    """
    where = str(path.absolute())
    do = "set config key contract to the path of a contract"
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        do += """; on the command line, put a name with #, ": " or a line break in brackets and quotes, """
        do += """as in contract='["Lease #4.txt"]'"""
        raise BadInput("there is no such file", where=where, do=do) from None
    except (
        OSError,
        ValueError,
    ) as error:  # missing permission, a name that is too long or has a NUL
        reason = getattr(error, "strerror", None) or error
        raise BadInput(
            f"the file cannot be read ({reason})", where=where, do=do
        ) from error
    if stat.S_ISDIR(state.st_mode):
        raise BadInput("this is a folder", where=where, do=do)
    if not stat.S_ISREG(state.st_mode):
        raise BadInput("this is a pipe or a device, not a file", where=where, do=do)
    if state.st_size == 0:
        raise BadInput("the file is empty", where=where, do=do)
    if state.st_size > FILE_LIMIT:
        what = f"the file has {state.st_size:,} bytes, more than the {FILE_LIMIT:,} allowed"
        raise BadInput(
            what, where=where, do="save the contract without pictures, or as plain text"
        )
