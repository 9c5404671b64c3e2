"""Compressed input read within bounds, so that a zip bomb costs a sentence and not the machine."""

import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

CHUNK = 1 << 20


class OverBounds(Exception):
    """Compressed input that expands, or claims to expand, beyond its bounds."""


@dataclass(frozen=True)
class Bounds:
    """How far compressed input may expand, in bytes.

    ``ratio`` is the most that a member over one mebibyte may grow; case law grows about tenfold.
    """

    member: int = 64 << 20
    volume: int = 2 << 30
    ratio: int = 200
    xz_memory: int = 256 << 20


BOUNDS = Bounds()
# A file that is one text, such as a user's predictions, may be larger than a member of a volume.
WHOLE = Bounds(member=1 << 30)
# What a release's members may claim together, by the size of the zip; text shrinks to a tenth or a fifth.
RELEASE_RATIO = 100


def check_release(archive: zipfile.ZipFile, size: int) -> None:
    """Raise `OverBounds` if the members of a zip of ``size`` bytes claim together what no release holds.

    Python reads no more of a member than it claims, so that nothing has to be counted afterwards.
    """
    claimed = sum(member.file_size for member in archive.infolist())
    if claimed > max(CHUNK, RELEASE_RATIO * size):
        raise OverBounds(f"it claims to expand to {claimed:,} bytes, {claimed // size:,} times its size")


def gunzipped(data: bytes, bounds: Bounds = WHOLE) -> bytes:
    """Return what gzip packed into ``data``.

    Raises `OverBounds`, and of gzip's own for what is damaged: gzip.BadGzipFile, EOFError and zlib.error.
    """
    most = min(bounds.member, max(CHUNK, bounds.ratio * len(data)))
    with gzip.open(io.BytesIO(data)) as file:
        return _read(file, most)


def check_volume(archive: zipfile.ZipFile, bounds: Bounds) -> None:
    """Raise `OverBounds` if the members together claim more than a volume may hold."""
    total = sum(member.file_size for member in archive.infolist())
    if total > bounds.volume:
        raise OverBounds(f"it claims to expand to {total:,} bytes, more than the {bounds.volume:,} allowed")


def check_members(archive: zipfile.ZipFile, bounds: Bounds) -> None:
    """Raise `OverBounds` if a member, or all of them together, claim more than they may."""
    check_volume(archive, bounds)
    for member in archive.infolist():
        if member.file_size > bounds.member:
            raise OverBounds(f"{member.filename} claims to expand to {member.file_size:,} bytes")


def read_member(archive: zipfile.ZipFile, name: str, bounds: Bounds) -> bytes:
    """Return the bytes of one member.

    The claimed size and ratio are checked before the member is opened, the true size while it is
    read.  Raises `OverBounds`, KeyError if there is no such member, and zipfile.BadZipFile for
    every way in which its bytes can be broken.
    """
    member = archive.getinfo(name)
    if member.file_size > bounds.member:
        raise OverBounds(f"it claims {member.file_size:,} bytes, more than the {bounds.member:,} allowed")
    if member.file_size > CHUNK and member.file_size > bounds.ratio * max(1, member.compress_size):
        raise OverBounds(f"it claims to expand more than {bounds.ratio} times")
    try:
        with archive.open(member) as stream:
            return _read(stream, bounds.member)
    except (zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        # RuntimeError is zipfile's word for an encrypted member.
        raise zipfile.BadZipFile(str(error)) from error


def _read(stream: IO[bytes], most: int) -> bytes:
    """Return what a stream gives; `OverBounds` as soon as that is more than ``most`` bytes."""
    parts, size = [], 0
    while chunk := stream.read(CHUNK):
        size += len(chunk)
        if size > most:
            raise OverBounds(f"it expands beyond {most:,} bytes")
        parts.append(chunk)
    return b"".join(parts)


def lines(path: Path, bounds: Bounds) -> Iterator[bytes]:
    """Yield the lines of a file, or of an .xz file, without their line ends, one in memory at a time.

    Raises `OverBounds` for a line longer than a member may be, and lzma.LZMAError or EOFError for
    a broken or cut .xz file.
    """
    rest = b""
    for chunk in _chunks(path, bounds):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        if len(rest) > bounds.member:
            raise OverBounds(f"a line is longer than {bounds.member:,} bytes")
    if rest:
        yield rest


def _chunks(path: Path, bounds: Bounds) -> Iterator[bytes]:
    with path.open("rb") as file:
        if path.suffix != ".xz":
            while chunk := file.read(CHUNK):
                yield chunk
            return
        pending = file.read(CHUNK)
        # An .xz file may hold several streams, with zero padding between them.
        while pending:
            decoder = lzma.LZMADecompressor(memlimit=bounds.xz_memory)
            chunk = decoder.decompress(pending, max_length=CHUNK)
            while True:
                if chunk:
                    yield chunk
                if decoder.eof:
                    break
                data = file.read(CHUNK) if decoder.needs_input else b""
                if decoder.needs_input and not data:
                    raise EOFError("the compressed data end early")
                chunk = decoder.decompress(data, max_length=CHUNK)
            pending = decoder.unused_data.lstrip(b"\0") or file.read(CHUNK).lstrip(b"\0")
