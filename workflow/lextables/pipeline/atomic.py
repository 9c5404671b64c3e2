"""Atomic writes of files and folders: complete or not at all.

A temporary file or folder is called `.<name>.<process id>.lextables.part`, or `.old` at
the end for a replaced folder, so that no file of a user has such a name.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "lextables"  # in temporary names, before .part or .old


def digest_file(path: Path) -> Path:
    """Return the path of the hidden file beside ``path`` that has the digest of
    ``path``; `files.replacing_result` writes it.
    """
    return path.with_name(f".{path.name}.sha256")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path next to ``path``; on success flush it to disk and rename
    it to ``path``.

    On any error the temporary file is removed and ``path`` is unchanged.  The digest of
    the replaced file (`digest_file`) is deleted.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(path, "part")
    try:
        # Start with a new file, not with a file or link that already has this name.
        temporary.unlink(missing_ok=True)
        temporary.touch(exist_ok=False)
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        digest_file(path).unlink(missing_ok=True)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Delete a file with its digest, or a folder with its files."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
        digest_file(path).unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write ``text`` to ``path`` atomically, as UTF-8 with Unix line ends."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def replacing_folder(folder: str | Path) -> Iterator[Path]:
    """Yield an empty folder next to ``folder``; on success flush its files and replace
    ``folder`` by it.

    On any error the temporary folder is removed and ``folder`` is unchanged.
    """
    folder = Path(folder)
    temporary = _temporary(folder, "part")
    old = _temporary(folder, "old")
    for left in (temporary, old):  # left by a killed process with the same number
        if left.is_symlink():
            left.unlink()
        shutil.rmtree(left, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        flush(temporary)
        if folder.exists():
            folder.rename(old)
        temporary.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _temporary(path: Path, kind: str) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{MARK}.{kind}")


def flush(folder: str | Path) -> None:
    """Flush all files below ``folder`` to disk, so that they survive a power cut."""
    for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
        with path.open("rb") as written:
            os.fsync(written.fileno())
