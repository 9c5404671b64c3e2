"""Digests of the content of files and folders, which identify what a user passes by path.

Digests are cached by path, size and times, so that unchanged files are not read again.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from lextables.pipeline.atomic import write_text
from lextables.pipeline.files import read_record


class Contents:
    """Digests of files and folders, cached in the folder ``kept`` if it is writable."""

    def __init__(self, kept: str | Path) -> None:
        self.kept = Path(kept)

    def file(self, path: str | Path) -> str:
        """Return ``sha256:…`` of a file."""
        path = Path(path).absolute()
        return self._each(path, [path])[path.name]

    def folder(
        self, path: str | Path, files: Iterable[str | Path] | None = None
    ) -> str:
        """Return ``sha256:…`` over the names and digests of ``files`` below a folder (None: all of them).

        Hidden files and folders, such as those of git or a file manager, are ignored.
        """
        path = Path(path).absolute()
        if files is None:
            files = [
                f
                for f in path.rglob("*")
                if f.is_file() and not _hidden(f.relative_to(path))
            ]
        return _together(self._each(path, sorted(path / f for f in files)))

    def _each(self, path: Path, files: list[Path]) -> dict[str, str]:
        """Return {name below the folder ``path``, or name of the file ``path``: digest}."""
        place = (
            self.kept
            / f"{hashlib.sha256(str(path).encode('utf-8', 'surrogateescape')).hexdigest()}.json"
        )
        old = read_record(place, dict[str, tuple[list[int], str]]) or {}
        new = {}
        for file in files:
            stat = file.stat()
            # The time of the last metadata change detects content with a restored modification time.
            state = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
            name = path.name if file == path else file.relative_to(path).as_posix()
            known = old.get(name, [None, ""])
            new[name] = known if known[0] == state else [state, _digest(file)]
        if new != old:
            # A read-only results folder only makes planning slower.
            with contextlib.suppress(OSError):
                write_text(place, json.dumps(new, indent=1, sort_keys=True) + "\n")
        return {name: digest for name, (_, digest) in new.items()}


def folder_content(path: str | Path) -> str:
    """Return ``sha256:…`` over the names and digests of all files below a rule's output folder."""
    files = sorted(file for file in Path(path).rglob("*") if file.is_file())
    return _together(
        {file.relative_to(path).as_posix(): _digest(file) for file in files}
    )


def sha256_of(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hex digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _together(digests: Mapping[str, str]) -> str:
    text = "".join(f"{name}\0{digest}\n" for name, digest in sorted(digests.items()))
    return (
        f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()}"
    )


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _digest(path: Path) -> str:
    return f"sha256:{sha256_of(path)}"
