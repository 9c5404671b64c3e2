"""Members of released zips, read in place: nothing is unpacked onto the disk."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lextables.errors import BadInput


@contextmanager
def opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open the zip at ``path``; `BadInput` where it, or a member that is read, is cut short or damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise BadInput(
            f"the zip is cut short or damaged ({error})", where=Path(path).name, do="fetch it again"
        ) from error


def member(archive: zipfile.ZipFile, name: str) -> str:
    """Return the one member whose path ends in ``name``: the top folder's name is not part of a format.

    Raises `BadInput` where there is none, or more than one.
    """
    found = [path for path in archive.namelist() if path == name or path.endswith(f"/{name}")]
    if len(found) != 1:
        raise BadInput(
            f"holds {len(found)} files called {name} where there should be one",
            where=Path(archive.filename or "").name,
            do="fetch it again",
        )
    return found[0]
