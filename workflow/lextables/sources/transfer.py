"""Download of one file over HTTP(S), with resumption, retries and digests.

The bytes are collected in ``<name>.part``; ``<name>.part.json`` stores their address and the version of the
file (ETag or Last-Modified).  Both survive a failure.  A download is resumed only for the same address and
version.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import requests
import urllib3
from tqdm import tqdm

from lextables.pipeline.atomic import write_text
from lextables.sources.records import whole_number

CHUNK = 1 << 20


def kind(digest: str) -> str:
    """Return the kind of a registered digest: ``sha256``, ``md5`` or ``git-blob``."""
    return digest.partition(":")[0]


class Digests:
    """Running digests of one stream: SHA-256, and the other requested kinds.

    A ``git-blob`` digest is git's object id: SHA-1 of a header with the file's length, then the file.  It
    needs ``length`` (bytes) in advance.
    """

    def __init__(self, kinds: Iterable[str] = (), length: int | None = None) -> None:
        self.bytes = 0
        self._running = {kind: _new_digest(kind, length) for kind in sorted({"sha256", *kinds})}

    def update(self, data: bytes) -> None:
        """Add the next bytes of the stream."""
        self.bytes += len(data)
        for running in self._running.values():
            running.update(data)

    def of(self, kind: str) -> str:
        """Return the digest so far, as written in the registry: ``kind:hex``."""
        return f"{kind}:{self._running[kind].hexdigest()}"


def _new_digest(kind: str, length: int | None) -> "hashlib._Hash":
    if kind == "git-blob":
        if length is None:
            raise ValueError("a git-blob digest needs the length of the file")
        return hashlib.sha1(b"blob %d\0" % length, usedforsecurity=False)
    return hashlib.new(kind, usedforsecurity=False)


def chunks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in chunks of one mebibyte."""
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            yield data


class DownloadFailed(Exception):
    """The address does not deliver the file; the message gives the reason."""


class _TemporaryFailure(Exception):
    """A failure that justifies another attempt, after ``wait`` seconds if the server says so."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class WrongContent(DownloadFailed):
    """The address delivers other bytes than the registered ones."""


@dataclass(frozen=True)
class Client:
    """User agent, number of attempts, and waits and timeouts in seconds."""

    agent: str = "lextables"
    attempts: int = 5
    first_wait: float = 1
    longest_wait: float = 120
    timeouts: tuple[float, float] = (20, 60)  # to connect, and between two reads
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def wait(self, attempt: int, asked: float | None) -> None:
        """Sleep after the failed ``attempt`` (from 1): ``asked`` seconds, or twice as long each time."""
        seconds = self.first_wait * 2 ** (attempt - 1) if asked is None else asked
        self.sleep(min(seconds, self.longest_wait))


CLIENT = Client()


@dataclass(frozen=True)
class Part:
    """The partial download of a file, with its address and version."""

    path: Path

    @classmethod
    def of(cls, destination: Path) -> "Part":
        """Return the part that belongs to ``destination``."""
        return cls(destination.with_name(f"{destination.name}.part"))

    @property
    def mark(self) -> Path:
        """The file with the address and the version."""
        return self.path.with_name(f"{self.path.name}.json")

    def resumable(self, address: str) -> tuple[int, str]:
        """Return (bytes, version) of the partial download of ``address``; (0, "") if it cannot be resumed."""
        if self.path.exists() and self.mark.exists():
            mark = json.loads(self.mark.read_text(encoding="utf-8"))
            if mark["address"] == address and mark["version"]:
                return self.path.stat().st_size, mark["version"]
        return 0, ""

    def begin(self, address: str, version: str) -> None:
        """Delete the partial download and record the address and version of the next one."""
        self.remove()
        write_text(self.mark, json.dumps({"address": address, "version": version}) + "\n")

    def remove(self) -> None:
        """Delete the bytes first, then their address and version."""
        self.path.unlink(missing_ok=True)
        self.mark.unlink(missing_ok=True)


def download(
    address: str,
    part: Part,
    *,
    size: int | None,
    kinds: Iterable[str],
    check_space: Callable[[int], None],
    client: Client,
) -> Digests:
    """Download ``address`` into ``part`` and return its digests: sha256 and ``kinds``.

    ``size`` is the registered number of bytes.  ``check_space`` is called with the number of bytes to
    download before the first one, and raises if the disk is too small.  Raises `DownloadFailed` if the
    address answers with something else, or after the client's last attempt.
    """
    kinds = tuple(kinds)
    for attempt in range(1, client.attempts + 1):
        try:
            return _attempt(address, part, size, kinds, check_space, client)
        except _TemporaryFailure as failure:
            if attempt == client.attempts:
                raise DownloadFailed(f"{failure} at the last of {attempt} attempts") from failure
            client.wait(attempt, failure.wait)
    raise ValueError("attempts must be at least 1")


def _attempt(
    address: str,
    part: Part,
    size: int | None,
    kinds: tuple[str, ...],
    check_space: Callable[[int], None],
    client: Client,
) -> Digests:
    received, version = part.resumable(address)
    if size is not None:
        check_space(size - received)
    # With transport compression the bytes would differ from the published ones.
    headers = {"User-Agent": client.agent, "Accept-Encoding": "identity"}
    if received:
        headers |= {"Range": f"bytes={received}-", "If-Range": version}
    try:
        answer = requests.get(address, headers=headers, stream=True, timeout=client.timeouts)
    except (requests.ConnectionError, requests.Timeout) as error:
        raise _TemporaryFailure(f"gave no answer ({type(error).__name__})") from error
    except requests.RequestException as error:
        raise DownloadFailed(f"cannot be asked ({error})") from error
    with answer:
        start = _start(answer, part, received, version)
        total = _total(answer, start, size)
        if total is None and "git-blob" in kinds:
            raise DownloadFailed("does not say how long the file is, which its git-blob digest covers")
        if start == 0:
            part.begin(address, _version(answer))
        if size is None and total is not None:
            check_space(total - start)
        return _receive(answer, part, start, total, Digests(kinds, total))


def _start(answer: requests.Response, part: Part, received: int, version: str) -> int:
    """Return the offset of the first byte of the body, or raise for an error status."""
    status = f"answered {answer.status_code} {answer.reason}"
    if answer.status_code == 206:
        sent = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
        if received and sent and int(sent[1]) == received and _version(answer) in ("", version):
            return received
        part.remove()
        raise _TemporaryFailure("sent another part than the one asked for", wait=0)
    if answer.status_code == 416:
        part.remove()
        raise _TemporaryFailure(status, wait=0)
    if answer.status_code == 429 or answer.status_code >= 500:
        raise _TemporaryFailure(status, retry_after(answer.headers.get("Retry-After", "")))
    if answer.status_code != 200:
        raise DownloadFailed(status)
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise DownloadFailed(f"sent the file encoded as {answer.headers['Content-Encoding']}")
    return 0


def _total(answer: requests.Response, start: int, size: int | None) -> int | None:
    """Return the length of the complete file in bytes, as announced or registered; both must agree."""
    body = whole_number(answer.headers.get("Content-Length", ""))
    if body is None:
        return size
    total = start + body
    if size is not None and total != size:
        raise WrongContent(f"announces {total:,} bytes where the registry has {size:,}")
    return total


def _version(answer: requests.Response) -> str:
    """Return the version for If-Range: ETag or Last-Modified.  A weak ETag does not promise equal bytes."""
    etag = answer.headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified", "")


def retry_after(value: str) -> float | None:
    """Return the seconds of a Retry-After header, a number or an HTTP date; None if it is neither."""
    value = value.strip()
    if value.isdecimal():
        return float(value)
    try:
        at = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _receive(
    answer: requests.Response, part: Part, start: int, total: int | None, digests: Digests
) -> Digests:
    """Append the body to the ``start`` bytes in ``part`` and return the digests of the file."""
    if start:
        for data in chunks(part.path):
            digests.update(data)
    with (
        part.path.open("ab" if start else "wb") as file,
        # Progress is logged every ten seconds.
        tqdm(
            total=total, initial=start, desc=part.path.stem, unit="B", unit_scale=True, mininterval=10
        ) as bar,
    ):
        try:
            # read1 returns the bytes received so far; read waits for a full chunk and loses it if cut.
            while data := answer.raw.read1(CHUNK):
                file.write(data)
                digests.update(data)
                bar.update(len(data))
                if total is not None and digests.bytes > total:
                    raise WrongContent(f"sends more than the {total:,} bytes that the registry has")
        except urllib3.exceptions.HTTPError as error:
            raise _TemporaryFailure(f"was cut after {digests.bytes:,} bytes") from error
        if total is not None and digests.bytes < total:
            raise _TemporaryFailure(f"was cut after {digests.bytes:,} bytes")
        file.flush()
        os.fsync(file.fileno())
    return digests
