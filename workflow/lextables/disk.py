"""The disk that results are written to: whether it can be, and what an error of it is in words."""

import errno
import os
import shutil
from pathlib import Path

ROOM = 1 << 20  # bytes: with less a job cannot even write its log
FULL = (errno.ENOSPC, errno.EDQUOT)
FULL_WORDS = "No space left on device"  # of libraries whose errors carry no number


def unusable(folder: str | Path) -> str | None:
    """Return in a sentence why ``folder``, which need not be there yet, cannot be written to; else None."""
    place = _nearest(folder)
    if not place.is_dir():
        return f"{place}: this is a file where a folder has to be; move it, and run the same command again."
    if not os.access(place, os.W_OK | os.X_OK):
        return _read_only(place)
    return _full(place) if shutil.disk_usage(place).free < ROOM else None


def fault(error: BaseException, folder: str | Path) -> str | None:
    """Return the sentence for an error of the disk that ``folder`` is on; None for any other error."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    numbers = [cause.errno for cause in causes if isinstance(cause, OSError)]
    if set(numbers) & set(FULL) or any(FULL_WORDS in str(cause) for cause in causes):
        return _full(folder)
    if errno.EROFS in numbers:
        return _read_only(folder)
    # Some libraries say only that a file could not be written.
    return _full(folder) if shutil.disk_usage(_nearest(folder)).free < ROOM else None


def _nearest(path: str | Path) -> Path:
    """``path``, or the nearest folder above it that is there."""
    path = Path(path).absolute()
    return next(place for place in (path, *path.parents) if place.exists())


def _full(folder: str | Path) -> str:
    return f"{_nearest(folder)}: no space is left on this disk; free some, and run the same command again."


def _read_only(folder: str | Path) -> str:
    return (
        f"{_nearest(folder)}: nothing can be written here; make it writable, "
        "or name another folder with --directory."
    )
