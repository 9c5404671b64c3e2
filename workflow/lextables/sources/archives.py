"""Members of released zips, read in place: nothing is unpacked onto the disk."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lextables.pipeline.errors import BadInput
from lextables.sources.bounded import OverBounds, check_release


@contextmanager
def opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open the zip at ``path``.

    Raises `BadInput` where it, or a member that is read, is cut short or damaged, and where its members
    claim to be so much larger than the zip that it is made to fill a memory or a disk.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            check_release(archive, Path(path).stat().st_size)
            yield archive
    except OverBounds as error:
        raise BadInput(str(error), where=Path(path).name, do="take the zip of the release") from None
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
