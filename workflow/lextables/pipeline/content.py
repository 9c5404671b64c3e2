"""Digests of the content of files and folders, which identify what a user passes by
path.

Digests are cached by path, size and times, so that unchanged files are not read again.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_record, write_result


class _Fetched(BaseModel):
    """The part of a download's provenance that is read here."""

    digest: str


class Contents:
    """Digests of files and folders, cached in the folder ``kept`` if it is writable.

    The cache has a JSON file for each path that is asked for: {name of a file: [[size,
    modification time, time of the last change of content or metadata], digest]}.
    """

    def __init__(self, kept: str | Path) -> None:
        self.kept = Path(kept)

    def file(self, path: str | Path) -> str:
        """Return ``sha256:…`` of a file."""
        path = Path(path).absolute()
        return self._each(path, [path])[path.name]

    def folder(
        self, path: str | Path, files: Iterable[str | Path] | None = None
    ) -> str:
        """Return ``sha256:…`` over the names and digests of ``files`` below a folder
        (None: all of them).

        Hidden files and folders, such as those of git or a file manager, are ignored.
        """
        path = Path(path).absolute()
        if files is None:
            files = _files_below(path)
        inside = sorted(path / file for file in files)
        return _together(self._each(path, inside))

    def _each(self, path: Path, files: list[Path]) -> dict[str, str]:
        """Return {name: digest} of ``files``, and update the cache of ``path``.

        Names are relative to the folder ``path``.  If ``path`` is itself the only file,
        it has its own name.
        """
        cache_file = self.kept / f"{_sha256(str(path))}.json"
        cached = read_record(cache_file, dict[str, tuple[list[int], str]]) or {}
        updated = {}
        digests = {}
        for file in files:
            name = path.name
            if file != path:
                name = file.relative_to(path).as_posix()
            stat = file.stat()
            # `st_ctime_ns` also changes if a tool restores the modification time of
            # changed content.
            state = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
            cached_state, digest = cached.get(name, [None, ""])
            if cached_state != state:
                digest = _digest(file)
            updated[name] = [state, digest]
            digests[name] = digest
        if updated != cached:
            # A read-only results folder only makes planning slower.
            with contextlib.suppress(OSError):
                text = json.dumps(updated, indent=1, sort_keys=True) + "\n"
                write_result(cache_file, text)
        return digests


def folder_content(path: str | Path) -> str:
    """Return ``sha256:…`` over the names and digests of all files below a rule's output
    folder that are not hidden.

    The result is equal to that of `Contents.folder`, but nothing is cached.  Hidden
    files do not count, because Snakemake and file managers add them after the job.
    """
    digests = {}
    for file in _files_below(Path(path)):
        digests[file.relative_to(path).as_posix()] = _digest(file)
    return _together(digests)


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hex digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_downloads(paths: Iterable[str | Path]) -> None:
    """Raise `BadInput` for a download among ``paths``, the inputs of a job, that has
    changed since it was fetched.

    A download is a file with a record of its provenance (see `files.doubt`).
    """
    for path in paths:
        fetched = read_record(f"{path}.json", _Fetched)
        if fetched and fetched["digest"] != _digest(Path(path)):
            what = "the file changed after it was fetched"
            do = "repeat the command, which fetches it again"
            raise BadInput(what, where=str(path), do=do)


def _together(digests: Mapping[str, str]) -> str:
    """Return ``sha256:…`` over {name: digest}."""
    lines = [f"{name}\0{digest}\n" for name, digest in sorted(digests.items())]
    return f"sha256:{_sha256(''.join(lines))}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _files_below(folder: Path) -> list[Path]:
    """Return the files below ``folder`` that are not hidden, nor in a hidden folder."""
    files = []
    for file in folder.rglob("*"):
        parts = file.relative_to(folder).parts
        if file.is_file() and not any(part.startswith(".") for part in parts):
            files.append(file)
    return files


def _digest(path: Path) -> str:
    return f"sha256:{sha256_of(path)}"
