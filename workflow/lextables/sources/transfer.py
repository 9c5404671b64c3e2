"""Download of one file over HTTP(S), with resumption, retries and digests.

The bytes are collected in ``<name>.part``; ``<name>.part.json`` stores their address
and the version of the file (ETag or Last-Modified).  Both survive a failure.  A
download is resumed only for the same address and version.
"""

import hashlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from tenacity import RetryCallState, RetryError, Retrying, retry_if_exception_type
from tqdm import tqdm

from lextables.pipeline.atomic import write_text
from lextables.sources.records import whole_number

T = TypeVar("T")
CHUNK = 1 << 20
_WHOLE = re.compile("[0-9]+")
_HEADER = re.compile("[ -~]{1,200}")  # a value that can be sent back
# Content-Range of a part: its first byte, and the length of the whole file.
_PART = re.compile("bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})")
# Statuses of servers that do not accept the range or the version.
_NOT_RESUMED = (400, 412, 416, 431)
TEMPORARY = (408, 425, 429)  # statuses of temporary failures, beside 500 and above
_log = logging.getLogger("lextables.sources")


def kind(digest: str) -> str:
    """Return the kind of a registered digest: ``sha256``, ``md5`` or ``git-blob``."""
    return digest.partition(":")[0]


class Digests:
    """Running digests of one stream: SHA-256, and the other requested kinds.

    A ``git-blob`` digest is git's object id: SHA-1 of a header with the file's length,
    then the file.  It needs ``length`` (bytes) in advance.
    """

    def __init__(self, kinds: Iterable[str] = (), length: int | None = None) -> None:
        self.bytes = 0
        self._running = {
            kind: _new_digest(kind, length) for kind in sorted({"sha256", *kinds})
        }

    def update(self, data: bytes) -> None:
        """Add the next bytes of the stream."""
        self.bytes += len(data)
        for running in self._running.values():
            running.update(data)

    def of(self, kind: str) -> str:
        """Return the digest so far, as written in the registry: ``kind:hex``."""
        return f"{kind}:{self._running[kind].hexdigest()}"


def _new_digest(kind: str, length: int | None) -> Any:
    """Return a new hash object of hashlib; a git-blob needs the ``length`` of the
    file.
    """
    if kind == "git-blob":
        if length is None:
            raise ValueError("a git-blob digest needs the length of the file")
        return hashlib.sha1(b"blob %d\0" % length, usedforsecurity=False)
    return hashlib.new(kind, usedforsecurity=False)


def chunks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in chunks of one mebibyte."""
    with path.open("rb") as file:
        yield from iter(partial(file.read, CHUNK), b"")


class DownloadFailed(Exception):
    """The address does not deliver the file; the message gives the reason."""


class TemporaryFailure(DownloadFailed):
    """A failure that justifies another attempt, after ``wait`` seconds if the server
    asks for that.
    """

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class WrongContent(DownloadFailed):
    """The address delivers other bytes than the registered ones."""


def _failure(attempt: Future | None) -> TemporaryFailure:
    """The failure after which an attempt is repeated: no other is."""
    failure = attempt.exception() if attempt else None
    assert isinstance(failure, TemporaryFailure)
    return failure


@dataclass(frozen=True)
class Client:
    """How addresses are asked: attempts, waits and limits.  Times are in seconds."""

    attempts: int = 5
    first_wait: float = 1
    """The wait after the first attempt; it doubles after each further one."""
    patience: float = 600
    """The limit of the sum of all waits for an address."""
    timeouts: tuple[float, float] = (20, 60)
    """To connect, and between two reads."""
    minimum_rate: float = 1000
    """Bytes per second."""
    window: float = 30
    """The time over which the rate is measured."""
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    say: Callable[[str], None] = field(default=print, repr=False)
    """Shows each wait on the screen."""

    def repeated(
        self,
        attempt: Callable[[], T],
        host: str,
        on_wait: Callable[[BaseException, float], None] = lambda failure, seconds: None,
    ) -> T:
        """Return the result of ``attempt``, which is repeated after each
        `TemporaryFailure`.

        The wait doubles each time, and is at least as long as the server asks for.
        ``on_wait`` is called with the failure and the seconds before each wait.  Raises
        the last failure, with the number of attempts, after the last attempt or if the
        waits would exceed the patience.
        """

        def seconds(state: RetryCallState) -> float:
            doubled = self.first_wait * 2 ** (state.attempt_number - 1)
            return max(doubled, _failure(state.outcome).wait)

        def is_over(state: RetryCallState) -> bool:
            waits = state.idle_for + state.upcoming_sleep
            return state.attempt_number >= self.attempts or waits > self.patience

        def announce(state: RetryCallState) -> None:
            failure = _failure(state.outcome)
            wait = state.upcoming_sleep
            text = f"waiting {wait:,.0f} s for {host}, which {failure}"
            _log.info("%s", text)
            self.say(text)
            on_wait(failure, wait)

        retrying = Retrying(
            sleep=self.sleep,
            stop=is_over,
            wait=seconds,
            retry=retry_if_exception_type(TemporaryFailure),
            before_sleep=announce,
        )
        try:
            return retrying(attempt)
        except RetryError as error:
            last = error.last_attempt
            failure = _failure(last)
            reason = f"{failure} at the last of {last.attempt_number} attempts"
            if failure.wait > self.patience:
                reason += f" and asks for a wait of {failure.wait:,.0f} s"
            raise TemporaryFailure(reason) from failure

    def ask(
        self, get: Callable[..., requests.Response], address: str, **options: Any
    ) -> requests.Response:
        """Return the answer of ``address``, with its body unread; ``get`` is that of
        requests.

        Raises `TemporaryFailure` if no answer comes, and `DownloadFailed` for an answer
        that cannot be used.
        """
        ask = partial(get, address, stream=True, timeout=self.timeouts, **options)
        try:
            return _within(max(self.timeouts), ask)
        except (requests.ConnectionError, TimeoutError, requests.Timeout) as error:
            raise TemporaryFailure(
                f"gave no answer ({type(error).__name__})"
            ) from error
        except Exception as error:  # a redirect or a header that no library expects
            raise DownloadFailed(
                f"cannot be asked ({type(error).__name__}: {quoted(error)})"
            ) from error

    def body(
        self, answer: requests.Response, start: int = 0, decoded: bool = False
    ) -> Iterator[bytes]:
        """Yield the bytes of an answer, from byte ``start`` of the file, as they are
        sent or ``decoded``.

        Raises `TemporaryFailure` if the connection is lost, and `DownloadFailed` below
        the minimum rate.
        """
        # Offsets in the file: of the last byte, and of the beginning of the window.
        received = counted = start
        since = time.monotonic()
        while True:
            try:
                # read1 returns the bytes received so far; read waits for a full chunk
                # and loses it if cut.
                data = _within(
                    self.timeouts[1], partial(answer.raw.read1, CHUNK, decoded)
                )
            except Exception as error:  # of urllib3, http.client or the socket
                # An abandoned thread that still reads would block the end of the
                # answer.  The errors mean that it is closed already.
                with suppress(ValueError, RuntimeError, OSError):
                    answer.raw.shutdown()
                raise TemporaryFailure(f"was cut after {received:,} bytes") from error
            if not data:
                return
            yield data
            received += len(data)
            passed = time.monotonic() - since
            if passed < self.window:
                continue
            rate = (received - counted) / passed
            if rate < self.minimum_rate:
                limit = f"fewer than the {self.minimum_rate:,.0f} of config key download_minimum_rate"
                raise DownloadFailed(f"sends {rate:,.0f} bytes a second, {limit}")
            since = time.monotonic()
            counted = received


CLIENT = Client()


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Return the result of ``call``, or raise its exception; `TimeoutError` after
    ``seconds``.

    The call runs in a thread, because requests limits the time between two bytes but
    not that of an answer. A late call is abandoned: its thread ends with its connection
    or with this process.
    """
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(call())
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return result.result(seconds)


def quoted(text: object) -> str:
    """Return the text of a server or a library, for a message: one line of at most 100
    characters.
    """
    return shorten(str(text), 100, placeholder=" …")


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
        """Return (bytes, version) of the partial download of ``address``; (0, "") if it
        cannot be resumed.
        """
        if self.path.is_symlink():
            return 0, ""
        try:
            mark = json.loads(self.mark.read_text(encoding="utf-8"))
            if mark["address"] == address and _HEADER.fullmatch(mark["version"]):
                return self.path.stat().st_size, mark["version"]
        # No mark, or a damaged one.
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            pass
        return 0, ""

    def begin(self, address: str, version: str) -> None:
        """Delete the partial download and record the address and version of the next
        one.
        """
        self.remove()
        write_text(
            self.mark, json.dumps({"address": address, "version": version}) + "\n"
        )

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

    ``size`` is the registered number of bytes.  ``check_space`` is called with the
    number of bytes to download before the first one, and raises if the disk is too
    small.  Raises `DownloadFailed` if the address answers with something else, or after
    the client's last attempt.  After its last attempt the client starts again if its
    attempts together added a mebibyte.
    """
    attempt = partial(_attempt, address, part, size, tuple(kinds), check_space, client)
    while True:
        before, _ = part.resumable(address)
        try:
            return client.repeated(attempt, urlsplit(address).netloc)
        except TemporaryFailure:
            received, _ = part.resumable(address)
            if received < before + CHUNK:
                raise


def _attempt(
    address: str,
    part: Part,
    size: int | None,
    kinds: tuple[str, ...],
    check_space: Callable[[int], None],
    client: Client,
) -> Digests:
    """Make one attempt of a `download`; return the digests of the complete file."""
    received, version = part.resumable(address)
    if size is not None:
        check_space(size - received)
    # With transport compression the bytes would differ from the published ones.
    headers = {"User-Agent": "lextables", "Accept-Encoding": "identity"}
    if received:
        headers |= {"Range": f"bytes={received}-", "If-Range": version}
    answer = client.ask(requests.get, address, headers=headers)
    with answer:
        start = _start(answer, part, received, version)
        total = _total(answer, start, size)
        if total is None and "git-blob" in kinds:
            raise DownloadFailed(
                "does not say how long the file is, which its git-blob digest covers"
            )
        if start == 0:
            part.begin(address, _version(answer))
        if size is None and total is not None:
            check_space(total - start)
        return _receive(
            client.body(answer, start), part, start, total, Digests(kinds, total)
        )


def _start(answer: requests.Response, part: Part, received: int, version: str) -> int:
    """Return the offset of the first byte of the body, or raise for an error status."""
    status = f"answered {answer.status_code} {quoted(answer.reason)}"
    encoding = answer.headers.get("Content-Encoding", "").strip().lower()
    is_plain = encoding in ("", "identity")
    if answer.status_code == 206:
        sent = _PART.fullmatch(answer.headers.get("Content-Range", "").strip())
        is_next = received and sent is not None and int(sent[1]) == received
        if is_next and is_plain and _version(answer) in ("", version):
            return received
        part.remove()
        raise TemporaryFailure("sent another part than the one asked for")
    if received and answer.status_code in _NOT_RESUMED:
        part.remove()
        raise TemporaryFailure(status)
    if answer.status_code in TEMPORARY or answer.status_code >= 500:
        raise TemporaryFailure(
            status, retry_after(answer.headers.get("Retry-After", ""))
        )
    if answer.status_code != 200:
        raise DownloadFailed(status)
    if not is_plain:
        raise DownloadFailed(f"sent the file encoded as {quoted(encoding)}")
    return 0


def _total(answer: requests.Response, start: int, size: int | None) -> int | None:
    """Return the length of the complete file in bytes, as announced or registered; both
    must agree.

    From byte ``start`` on it is that of Content-Range, because a server may send less
    than the rest of the file.
    """
    total = whole_number(answer.headers.get("Content-Length", ""))
    sent = _PART.fullmatch(answer.headers.get("Content-Range", "").strip())
    if start and sent is not None:
        total = int(sent[2])
    if total is None:
        return size
    if size is not None and total != size:
        raise WrongContent(f"announces {total:,} bytes where the registry has {size:,}")
    return total


def _version(answer: requests.Response) -> str:
    """Return the version for If-Range: ETag or Last-Modified.

    A weak ETag does not promise equal bytes.
    """
    version = answer.headers.get("ETag", "")
    if not version or version.startswith("W/"):
        version = answer.headers.get("Last-Modified", "")
    return version if _HEADER.fullmatch(version) else ""


def retry_after(value: str) -> float:
    """Return the seconds of a Retry-After header, a number or an HTTP date; 0 if it is
    neither.
    """
    value = value.strip()
    if _WHOLE.fullmatch(value):
        return float(value)
    try:
        at = parsedate_to_datetime(value)
        return max(0.0, at.replace(tzinfo=at.tzinfo or UTC).timestamp() - time.time())
    except (ValueError, OverflowError):
        return 0.0


def _receive(
    body: Iterator[bytes], part: Part, start: int, total: int | None, digests: Digests
) -> Digests:
    """Append the body to the ``start`` bytes in ``part`` and return the digests of the
    file.
    """
    if start:
        for data in chunks(part.path):
            digests.update(data)
    with (
        part.path.open("ab" if start else "xb") as file,
        # Progress is logged every ten seconds.
        tqdm(
            total=total,
            initial=start,
            desc=part.path.stem,
            unit="B",
            unit_scale=True,
            mininterval=10,
        ) as bar,
    ):
        for data in body:
            file.write(data)
            digests.update(data)
            bar.update(len(data))
            if total is not None and digests.bytes > total:
                raise WrongContent(
                    f"sends more than the {total:,} bytes that the registry has"
                )
        if total is not None and digests.bytes < total:
            raise TemporaryFailure(f"was cut after {digests.bytes:,} bytes")
        file.flush()
        os.fsync(file.fileno())
    return digests
