"""What a killed run or a wrong clock left among the results, put right before the next run is planned.

Only where nothing else works in the folder, which `lextables.leases.settle` tells.
"""

import os
import re
import shutil
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

# What `lextables.atomic` writes before it has its name, or moves out of the way.
UNFINISHED = re.compile(r"\..+\.\d+\.(part|old)")


def drop_unfinished(folder: str | Path) -> None:
    """Delete what processes that were killed had begun to write below ``folder``."""
    for place, folders, files in os.walk(folder):
        for name in filter(UNFINISHED.fullmatch, files):
            with suppress(OSError):
                Path(place, name).unlink()
        for name in filter(UNFINISHED.fullmatch, [*folders]):
            shutil.rmtree(Path(place, name), ignore_errors=True)
            folders.remove(name)


def redate(folders: Iterable[str | Path], but: Iterable[str | Path] = ()) -> int:
    """Give files of the future below ``folders``, but not below ``but``, the present time; return how many.

    A clock that was ahead dates files so.  Which is older than which stays as it was, and with it what
    Snakemake makes anew.  Left alone, all that is made of such a file would count as older than it, and fail,
    until the clock comes to its time.
    """
    now = time.time_ns()
    dated = {path: time_ns for path, time_ns in _dated(folders, {*map(Path, but)}) if time_ns > now}
    times = sorted({*dated.values()})
    present = {then: now - len(times) + rank for rank, then in enumerate(times)}
    changed = 0
    for path, then in dated.items():
        with suppress(OSError):  # another user's: what is made of it says so
            os.utime(path, ns=(present[then], present[then]))
            changed += 1
    return changed


def _dated(folders: Iterable[str | Path], but: Container[Path]) -> Iterator[tuple[Path, int]]:
    for folder in folders:
        for place, below, files in os.walk(folder):
            below[:] = [name for name in below if Path(place, name) not in but]
            for path in (Path(place, name) for name in files):
                with suppress(OSError):
                    yield path, path.lstat().st_mtime_ns
