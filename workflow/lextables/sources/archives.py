"""Compressed files: zips read in place, and gzip and xz, with limits on their expanded
size.

The limits turn a zip bomb into an error message before it fills memory or disk.
"""

import errno
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import utf8

CHUNK = 1 << 20  # bytes
# A release's members may expand to this multiple of its zip; text compresses to a tenth
# or a fifth.
RELEASE_RATIO = 100


class OverBounds(Exception):
    """Compressed input that expands, or declares that it expands, beyond its limits."""


@dataclass(frozen=True)
class Bounds:
    """How far compressed input may expand, in bytes."""

    member: int = 64 << 20
    """Of one member of a zip, or one line of a compressed file."""
    volume: int = 2 << 30
    """Of all members of a zip together."""
    ratio: int = 200
    """How often a member over one mebibyte may be as large as its compressed bytes;
    case law expands about tenfold.
    """
    xz_memory: int = 256 << 20
    """Memory of the decompression of an .xz file."""


BOUNDS = Bounds()
# A file that is a single text, such as a user's predictions, may be larger than a
# member of a volume.
SINGLE_FILE = Bounds(member=1 << 30)


@contextmanager
def _damage() -> Iterator[None]:
    """Raise zipfile.BadZipFile for any error of zipfile about the content of a zip.

    zipfile has many: RuntimeError for an encrypted member, NotImplementedError for an
    unknown compression, OverflowError for a wrong position.  KeyError, for no such
    member, is not changed.
    """
    try:
        yield
    except (zipfile.BadZipFile, OverBounds, KeyError):
        raise
    except Exception as error:
        number = getattr(error, "errno", None)
        if number not in (None, errno.EINVAL):  # an error of the disk
            raise
        raise zipfile.BadZipFile(str(error)) from error


class _Release(zipfile.ZipFile):
    """The zip of a release, whose damage is zipfile.BadZipFile when it or a member is
    opened.
    """

    def __init__(self, file: str | Path | IO[bytes]) -> None:
        with _damage():
            super().__init__(file)

    def open(self, *args: Any, **options: Any) -> IO[bytes]:
        with _damage():
            return super().open(*args, **options)


@contextmanager
def opened(path: str | Path) -> Iterator[zipfile.ZipFile]:
    """Open the zip of a release.

    Raises `BadInput` if the zip, or a member that is read, is truncated, damaged or
    encrypted, or if the declared sizes exceed `RELEASE_RATIO` times the zip's size.
    Python reads at most the declared size of a member.
    """
    try:
        with _Release(path) as archive:
            declared = _declared_size(archive)
            size = Path(path).stat().st_size
            if declared > max(CHUNK, RELEASE_RATIO * size):
                raise OverBounds(
                    f"it claims to expand to {declared:,} bytes,"
                    f" {declared // size:,} times its size"
                )
            yield archive
    except OverBounds as error:
        raise BadInput(
            str(error), where=Path(path).name, do="take the zip of the release"
        ) from None
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
        # bz2 raises an OSError without a number for damage
        if getattr(error, "errno", None):
            raise
        raise BadInput(
            f"the zip is cut short or damaged ({error})",
            where=Path(path).name,
            do="fetch it again",
        ) from error


def member(archive: zipfile.ZipFile, name: str) -> str:
    """Return the only member whose path ends in ``name``, under any top folder.

    Raises `BadInput` if there is none, or more than one.
    """
    names = archive.namelist()
    paths = [path for path in names if f"/{path}".endswith(f"/{name}")]
    if len(paths) != 1:
        raise BadInput(
            f"holds {len(paths)} files called {name} where there should be one",
            where=Path(archive.filename or "").name,
            do="fetch it again",
        )
    return paths[0]


def file_or_only_member(path: Path, suffix: str) -> bytes:
    """Return the bytes of a file; of a zip, those of its only member whose name ends in
    ``suffix``.

    Raises `BadInput` for a zip that has no such member or several, or cannot be read.
    """
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    names = []
    with opened(path) as archive:
        for name in archive.namelist():
            if name.lower().endswith(suffix) and not name.startswith("__MACOSX/"):
                names.append(name)
        if len(names) != 1:
            what = f"holds {len(names)} {suffix} files where there should be one"
            raise BadInput(what, where=path.name, do="unpack it, and name the file")
        return read_member(archive, names[0], SINGLE_FILE)


def text(archive: zipfile.ZipFile, name: str) -> str:
    """Return a member as text; raises `BadInput` if it is not UTF-8."""
    return utf8(archive.read(name), name, encoding="utf-8")


def _declared_size(archive: zipfile.ZipFile) -> int:
    return sum(info.file_size for info in archive.infolist())


def check_volume(archive: zipfile.ZipFile, bounds: Bounds) -> None:
    """Raise `OverBounds` if the members together declare more than ``bounds.volume``
    bytes.
    """
    total = _declared_size(archive)
    limit = bounds.volume
    if total > limit:
        what = (
            f"it claims to expand to {total:,} bytes, more than the {limit:,} allowed"
        )
        raise OverBounds(what)


def check_members(archive: zipfile.ZipFile, bounds: Bounds) -> None:
    """Raise `OverBounds` if a member, or all members together, declare more than
    allowed.
    """
    check_volume(archive, bounds)
    for info in archive.infolist():
        if info.file_size > bounds.member:
            raise OverBounds(
                f"{info.filename} claims to expand to {info.file_size:,} bytes"
            )


def check_zip(content: bytes, bounds: Bounds) -> None:
    """Check the members of a zip inside another file; raises zipfile.BadZipFile, and
    `OverBounds`.
    """
    with _Release(io.BytesIO(content)) as archive:
        check_members(archive, bounds)


def read_member(archive: zipfile.ZipFile, name: str, bounds: Bounds) -> bytes:
    """Return the bytes of one member.

    Its declared size and ratio are checked before it is opened, its real size while it
    is read.  Raises `OverBounds`, KeyError if there is no such member, and
    zipfile.BadZipFile for any damage.
    """
    info = archive.getinfo(name)
    size = info.file_size
    limit = bounds.member
    if size > limit:
        raise OverBounds(f"it claims {size:,} bytes, more than the {limit:,} allowed")
    largest = bounds.ratio * max(1, info.compress_size)
    if size > max(CHUNK, largest):
        raise OverBounds(f"it claims to expand more than {bounds.ratio} times")
    with _damage(), archive.open(info) as stream:
        return _read(stream, limit)


def gunzipped(data: bytes, bounds: Bounds = SINGLE_FILE) -> bytes:
    """Return the decompressed bytes of a gzip file.

    Raises `OverBounds`, and for damaged data gzip.BadGzipFile, EOFError or zlib.error.
    """
    limit = min(bounds.member, max(CHUNK, bounds.ratio * len(data)))
    with gzip.open(io.BytesIO(data)) as file:
        return _read(file, limit)


def _read(stream: IO[bytes] | gzip.GzipFile, limit: int) -> bytes:
    """Return all bytes of a stream; `OverBounds` beyond ``limit`` of them."""
    content = bytearray()
    for chunk in chunks(stream):
        content += chunk
        if len(content) > limit:
            raise OverBounds(f"it expands beyond {limit:,} bytes")
    return bytes(content)


def chunks(stream: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    """Yield the bytes of an open file in chunks of one mebibyte."""
    yield from iter(partial(stream.read, CHUNK), b"")


def lines(path: Path, bounds: Bounds) -> Iterator[bytes]:
    """Yield the lines of a plain or .xz file without their line ends, with one line in
    memory at a time.

    Raises `OverBounds` for a line longer than ``bounds.member``, and lzma.LZMAError or
    EOFError for a damaged or truncated .xz file.
    """
    rest = b""
    for chunk in _chunks(path, bounds):
        *complete, rest = (rest + chunk).split(b"\n")
        yield from complete
        if len(rest) > bounds.member:
            raise OverBounds(f"a line is longer than {bounds.member:,} bytes")
    if rest:
        yield rest


def _chunks(path: Path, bounds: Bounds) -> Iterator[bytes]:
    """Yield the bytes of a plain or .xz file, decompressed."""
    with path.open("rb") as file:
        if path.suffix != ".xz":
            yield from chunks(file)
            return
        pending = file.read(CHUNK)
        # An .xz file may hold several streams, with zero padding between them.
        while pending:
            decoder = lzma.LZMADecompressor(memlimit=bounds.xz_memory)
            yield from _stream(decoder, pending, file)
            pending = decoder.unused_data.lstrip(b"\0")
            if not pending:
                pending = file.read(CHUNK).lstrip(b"\0")


def _stream(
    decoder: lzma.LZMADecompressor, beginning: bytes, file: IO[bytes]
) -> Iterator[bytes]:
    """Yield the content of one stream of an .xz file, of which ``beginning`` was
    read.
    """
    chunk = decoder.decompress(beginning, max_length=CHUNK)
    while True:
        if chunk:
            yield chunk
        if decoder.eof:
            return
        data = b""
        if decoder.needs_input:
            data = file.read(CHUNK)
            if not data:
                raise EOFError("the compressed data end early")
        chunk = decoder.decompress(data, max_length=CHUNK)
