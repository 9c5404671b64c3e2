"""One file over HTTP(S): resumed where it was cut, retried where that helps, hashed as it comes.

The bytes gather in ``<name>.part``, and ``<name>.part.json`` remembers the address and the version of
the file (its ETag or Last-Modified) that they belong to.  Both outlive a failure; only bytes of the
same version from the same address are ever continued.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

import requests
import urllib3
from tqdm import tqdm

from lextables.pipeline.atomic import write_text
from lextables.sources.digest import CHUNK, Digests, chunks


class Refused(Exception):
    """An address that does not give the file; the message is the reason, for the user to read."""


class Passing(Exception):
    """A fault that may pass; ``wait`` is the number of seconds that the server asked for, if it did."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class OtherBytes(Refused):
    """An address that gives something, but not the registered bytes."""


@dataclass(frozen=True)
class Client:
    """How this program behaves towards a server: what it calls itself, and how patient it is.

    Times are in seconds.  Some servers, EDGAR's among them, want a contact address in ``agent``.
    """

    agent: str = "lextables"
    attempts: int = 5
    first_wait: float = 1
    longest_wait: float = 120
    timeouts: tuple[float, float] = (20, 60)  # to connect, and between two reads
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def wait(self, attempt: int, asked: float | None) -> None:
        """Sleep after the failed ``attempt`` (from 1): as asked, or twice as long each time."""
        seconds = self.first_wait * 2 ** (attempt - 1) if asked is None else asked
        self.sleep(min(seconds, self.longest_wait))


CLIENT = Client()


@dataclass(frozen=True)
class Part:
    """The bytes of a file that have come so far, and what they are bytes of."""

    path: Path

    @classmethod
    def of(cls, destination: Path) -> "Part":
        """The part that lies beside ``destination``."""
        return cls(destination.with_name(f"{destination.name}.part"))

    @property
    def mark(self) -> Path:
        """The sidecar with the address and the version."""
        return self.path.with_name(f"{self.path.name}.json")

    def held(self, address: str) -> tuple[int, str]:
        """How many bytes of ``address`` there are, and of which version; (0, "") where none can be used."""
        if self.path.exists() and self.mark.exists():
            mark = json.loads(self.mark.read_text(encoding="utf-8"))
            if mark["address"] == address and mark["version"]:
                return self.path.stat().st_size, mark["version"]
        return 0, ""

    def begin(self, address: str, version: str) -> None:
        """Drop what is there, and mark what comes next."""
        self.forget()
        write_text(self.mark, json.dumps({"address": address, "version": version}) + "\n")

    def forget(self) -> None:
        """Drop the bytes, and only then what they are bytes of."""
        self.path.unlink(missing_ok=True)
        self.mark.unlink(missing_ok=True)


def download(
    address: str,
    part: Part,
    *,
    size: int | None,
    kinds: Iterable[str],
    room: Callable[[int], None],
    client: Client,
) -> Digests:
    """Bring the file at ``address`` into ``part`` and return its digests, of sha256 and ``kinds``.

    ``size`` is the registered number of bytes; ``room`` is called with the number of bytes still to
    come before the first of them does, and raises if the disk has no room for them.
    Raises `Refused` when the address answers with something else, or the client's attempts are spent.
    """
    kinds = tuple(kinds)
    for attempt in range(1, client.attempts + 1):
        try:
            return _attempt(address, part, size, kinds, room, client)
        except Passing as fault:
            if attempt == client.attempts:
                raise Refused(f"{fault} at the last of {attempt} attempts") from fault
            client.wait(attempt, fault.wait)
    raise ValueError("a client makes one attempt at least")


def _attempt(
    address: str,
    part: Part,
    size: int | None,
    kinds: tuple[str, ...],
    room: Callable[[int], None],
    client: Client,
) -> Digests:
    held, version = part.held(address)
    if size is not None:
        room(size - held)
    # Compressed on the way, the bytes would not be the published ones.
    headers = {"User-Agent": client.agent, "Accept-Encoding": "identity"}
    if held:
        headers |= {"Range": f"bytes={held}-", "If-Range": version}
    try:
        answer = requests.get(address, headers=headers, stream=True, timeout=client.timeouts)
    except (requests.ConnectionError, requests.Timeout) as error:
        raise Passing(f"gave no answer ({type(error).__name__})") from error
    except requests.RequestException as error:
        raise Refused(f"cannot be asked ({error})") from error
    with answer:
        start = _start(answer, part, held, version)
        total = _total(answer, start, size)
        if total is None and "git-blob" in kinds:
            raise Refused("does not say how long the file is, which its git-blob digest covers")
        if start == 0:
            part.begin(address, _version(answer))
        if size is None and total is not None:
            room(total - start)
        return _receive(answer, part, start, total, Digests(kinds, total))


def _start(answer: requests.Response, part: Part, held: int, version: str) -> int:
    """The offset of the first byte of the answer's body, or the fault that it stands for."""
    status = f"answered {answer.status_code} {answer.reason}"
    if answer.status_code == 206:
        came = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
        if held and came and int(came[1]) == held and _version(answer) in ("", version):
            return held
        part.forget()
        raise Passing("sent another part than the one asked for", wait=0)
    if answer.status_code == 416:
        part.forget()
        raise Passing(status, wait=0)
    if answer.status_code == 429 or answer.status_code >= 500:
        raise Passing(status, retry_after(answer.headers.get("Retry-After", "")))
    if answer.status_code != 200:
        raise Refused(status)
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise Refused(f"sent the file encoded as {answer.headers['Content-Encoding']}")
    return 0


def _total(answer: requests.Response, start: int, size: int | None) -> int | None:
    """The length of the whole file in bytes: as announced, which agrees with ``size``, or registered."""
    body = answer.headers.get("Content-Length", "")
    if not body.isdecimal():
        return size
    total = start + int(body)
    if size is not None and total != size:
        raise OtherBytes(f"announces {total:,} bytes where the registry has {size:,}")
    return total


def _version(answer: requests.Response) -> str:
    """What If-Range can name the file's version by; a weak ETag does not promise equal bytes."""
    etag = answer.headers.get("ETag", "")
    return etag if etag and not etag.startswith("W/") else answer.headers.get("Last-Modified", "")


def retry_after(value: str) -> float | None:
    """Seconds from now by a Retry-After header: a number, or an HTTP date; None if it is neither."""
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
    """Write the answer's body after the ``start`` bytes in ``part``, and return the digests of both."""
    if start:
        for data in chunks(part.path):
            digests.update(data)
    with (
        part.path.open("ab" if start else "wb") as file,
        # A line of the job's log every ten seconds.
        tqdm(
            total=total, initial=start, desc=part.path.stem, unit="B", unit_scale=True, mininterval=10
        ) as bar,
    ):
        try:
            # read1 gives what has come; the usual readers wait for a full chunk, and lose it in a cut.
            while data := answer.raw.read1(CHUNK):
                file.write(data)
                digests.update(data)
                bar.update(len(data))
                if total is not None and digests.bytes > total:
                    raise OtherBytes(f"sends more than the {total:,} bytes that the registry has")
        except urllib3.exceptions.HTTPError as error:
            raise Passing(f"was cut after {digests.bytes:,} bytes") from error
        if total is not None and digests.bytes < total:
            raise Passing(f"was cut after {digests.bytes:,} bytes")
        file.flush()
        os.fsync(file.fileno())
    return digests
