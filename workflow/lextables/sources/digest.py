"""Digests of a stream of bytes, in the kinds that publishers give."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

CHUNK = 1 << 20


def kind(digest: str) -> str:
    """The kind of a registered digest: ``sha256``, ``md5`` or ``git-blob``."""
    return digest.partition(":")[0]


class Digests:
    """Running digests of one stream: its SHA-256, and every other kind asked for.

    A ``git-blob`` digest is the id that git gives a file: SHA-1 over a header with the file's length,
    then the file.  It needs ``length`` (bytes) before the first byte.
    """

    def __init__(self, kinds: Iterable[str] = (), length: int | None = None) -> None:
        self.bytes = 0
        self._running = {kind: _start(kind, length) for kind in sorted({"sha256", *kinds})}

    def update(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.bytes += len(data)
        for running in self._running.values():
            running.update(data)

    def of(self, kind: str) -> str:
        """The digest so far, written as in the registry: ``kind:hex``."""
        return f"{kind}:{self._running[kind].hexdigest()}"


def _start(kind: str, length: int | None) -> "hashlib._Hash":
    if kind == "git-blob":
        if length is None:
            raise ValueError("a git-blob digest needs the length of the file")
        return hashlib.sha1(b"blob %d\0" % length, usedforsecurity=False)
    return hashlib.new(kind, usedforsecurity=False)


def chunks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, a mebibyte at a time."""
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            yield data
