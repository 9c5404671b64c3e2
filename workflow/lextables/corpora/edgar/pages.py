"""Pages of the archive, fetched once within EDGAR's rate limit and cached by address.

EDGAR allows ten requests per second.  The limit for all jobs of one machine uses a
locked file (on a disk without locks, jobs that start a request at the same moment may
exceed it).  A Snakemake resource would count jobs instead of requests, and is not
shared with other Snakemake processes, checkouts or scripts.  The file has the time of
the next free slot.  A process waits for that slot and advances the time; after a
refusal it advances it further, so that all processes wait.  On a cluster the rule runs
on the machine of the Snakemake process, because EDGAR counts by network address.
"""

import gzip
import re
import time
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlsplit

import requests

from lextables.corpora.edgar.submission import SUBMISSION
from lextables.pipeline.atomic import MARK, replacing
from lextables.pipeline.cache import make_cache, user_cache
from lextables.pipeline.errors import BadInput
from lextables.pipeline.locks import exclusive
from lextables.sources.archives import OverBounds
from lextables.sources.records import whole_number
from lextables.sources.transfer import (
    TEMPORARY,
    Client,
    DownloadFailed,
    TemporaryFailure,
    quoted,
    retry_after,
)

# EDGAR allows ten and counts arrivals.  Requests sent a tenth of a second apart can
# arrive eleven in a second, so the pace leaves a tenth of a second for what the network
# adds.
PER_SECOND = 9.0
# The longest wait that a refusal may ask for.
LONGEST_HOLD = 3600.0
# With a first wait of one second the waits double to 1,023 s in all: a block lasts ten
# minutes.
CLIENT = Client(attempts=11, patience=LONGEST_HOLD, timeouts=(30, 120))
LARGEST = 1 << 30  # bytes of a page; the largest filings have some hundred million

_CHUNK = 1 << 18  # bytes that are read at once
_CONTACT = re.compile(
    r"(?P<name>[ -~]*[A-Za-z][ -~]*?)\s+<?(?P<mail>[^@\s<>]+@[^@\s<>.]+(?:\.[^@\s<>.]+)+)>?"
)
_GONE = re.compile(rb"<Code>(?:AccessDenied|NoSuchKey)</Code>")
_WEB_PAGE = re.compile(rb"\s*<(?:!doctype|html)", re.IGNORECASE)


def default_file() -> Path:
    """The file of `Pace` that all jobs of a user share, outside any checkout."""
    return make_cache(user_cache()) / "edgar.pace"


class Pace:
    """Slots for requests, shared through ``path`` by every process and thread that
    names it.
    """

    def __init__(self, path: str | Path, per_second: float = PER_SECOND) -> None:
        self.path = Path(path)
        self.per_second = per_second

    def wait(self) -> None:
        """Take the next free slot when it comes."""
        apart = 1 / self.per_second  # seconds between two slots
        while True:
            with exclusive(self.path):
                now = time.time()
                ahead = _next_time(self.path, now) - now
                if ahead <= apart:
                    # Sleep under the lock: a process that wakes late delays the slots
                    # of the others too.
                    time.sleep(max(0.0, ahead))
                    _store(self.path, time.time() + apart)
                    return
            time.sleep(ahead)

    def hold(self, seconds: float) -> None:
        """Let no process send a request for ``seconds``."""
        until = time.time() + min(seconds, LONGEST_HOLD)
        with exclusive(self.path):
            _store(self.path, max(_next_time(self.path, time.time()), until))


def _next_time(path: Path, now: float) -> float:
    """Return the time of the next free slot; ``now`` if none is stored, or one that is
    too far ahead to come from a refusal.

    A refusal's is at most `LONGEST_HOLD` ahead of the clock by which it was stored.
    Twice as much is kept, for a clock that is up to `LONGEST_HOLD` behind that one, or
    was set back by as much.
    """
    try:
        stored = float(path.read_bytes())
    except ValueError:
        return now
    return stored if stored <= now + 2 * LONGEST_HOLD else now


def _store(path: Path, moment: float) -> None:
    """Store the time of the next free slot."""
    # One write of fixed width: a kill leaves the old time or the new one.
    with path.open("r+b", buffering=0) as file:
        file.write(b"%020.6f" % moment)


class Gone(Exception):
    """The archive has no page at this address."""


class _Refused(TemporaryFailure):
    """A refusal after which all jobs wait."""


def user_agent(contact: str) -> str:
    """Return the user agent that declares ``contact``, a name and an e-mail address.

    Raises `BadInput` if it is absent or malformed: EDGAR blocks anonymous clients.
    """
    do = "set it to your name and e-mail address, in plain ASCII, such as 'Jane Doe jane.doe@university.edu'"
    match = _CONTACT.fullmatch(contact.strip())
    if not contact.strip():
        what = "edgar_contact is empty, and EDGAR wants to know who asks"
        raise BadInput(what, where="config", do=do)
    if match is None or not contact.isascii():
        what = f"edgar_contact = {contact!r} is not a name and an e-mail address"
        raise BadInput(what, where="config", do=do)
    return f"{match['name']} {match['mail']}"


class Pages:
    """The archive below ``base``, cached in ``folder``.

    A page is stored at ``<folder>/<host>/<path>.gz``, completely or not at all.  While
    a process fetches a page, other processes wait for it.
    """

    def __init__(
        self,
        contact: str,
        folder: str | Path,
        pace: Pace,
        *,
        base: str,
        client: Client = CLIENT,
    ) -> None:
        """Open a session; ``contact`` is declared to the server (`user_agent`)."""
        self.base = base
        self.pace = pace
        self.client = client
        self.folder = Path(folder)
        self.session = requests.Session()
        self.session.headers.update(
            {
                "User-Agent": user_agent(contact),
                "Accept-Encoding": "gzip",
                "Accept": "*/*",
            }
        )

    def address(self, path: str) -> str:
        """The address of the page at ``path`` below the base."""
        return self.base + quote(path)

    def cache_path(self, path: str) -> Path:
        """The path of a page in the cache, whether or not it exists."""
        parts = urlsplit(self.address(path))
        folders = [part for part in parts.path.split("/") if part.strip(".")]
        place = self.folder.joinpath(quote(parts.netloc, safe=""), *folders)
        return place.with_name(place.name + ".gz")

    def lines(self, path: str) -> Iterator[bytes]:
        """Yield the page's lines with their ends, fetching it first if it is not
        cached.

        Raises `Gone` if there is no such page, and `BadInput` if EDGAR keeps refusing
        or the cached page is damaged.
        """
        file = self.fetch(path)
        try:
            with gzip.open(file) as page:
                yield from page
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadInput(
                f"the cached page is damaged ({error})",
                where=str(file),
                do="remove it, and run again",
            ) from error

    def fetch(self, path: str) -> Path:
        """Fetch the page unless it is cached, and return its path."""
        cached = self.cache_path(path)
        if cached.exists():
            return cached
        # Pages share 256 files of locks.
        number = zlib.crc32(str(cached).encode()) % 256
        with exclusive(self.folder / ".locks" / f"{number:02x}") as locked:
            if cached.exists():
                return cached
            # Left by a killed process, if this one has the lock: a live one would have
            # it.
            if locked:
                for stale in cached.parent.glob(f".{cached.name}.*.{MARK}.part"):
                    stale.unlink()
            self._fetch(self.address(path), cached)
        return cached

    def _fetch(self, address: str, cached: Path) -> None:
        """Fetch a page to the cache; raise `Gone`, or `BadInput` if it cannot be
        had.
        """

        def hold(failure: BaseException, seconds: float) -> None:
            """Let all jobs wait after a refusal."""
            if isinstance(failure, _Refused):
                self.pace.hold(seconds)

        try:
            self.client.repeated(
                partial(self._ask, address, cached), urlsplit(address).netloc, hold
            )
        except OverBounds as error:
            raise BadInput(
                str(error), where=address, do="leave out its quarter"
            ) from None
        except DownloadFailed as failure:
            do = "check edgar_base"
            if isinstance(failure, TemporaryFailure):
                do = "run again later; pages fetched before are cached"
            raise BadInput(f"the server {failure}", where=address, do=do) from failure

    def _ask(self, address: str, cached: Path) -> None:
        """Make one request; raise `Gone`, `TemporaryFailure` or `DownloadFailed`."""
        self.pace.wait()
        with self.client.ask(
            self.session.get, address, allow_redirects=False
        ) as answer:
            if answer.status_code == 200:
                self._write_cached(answer, cached)
                return
            status = f"answered {answer.status_code} {quoted(answer.reason)}"
            after = retry_after(answer.headers.get("Retry-After", ""))
            # The store behind EDGAR answers 404 or 403 in XML for what it does not
            # have; EDGAR's own refusal is a web page.
            beginning = b""
            if answer.status_code == 403:
                beginning = next(self.client.body(answer, decoded=True), b"")
        if answer.status_code in (404, 410) or _GONE.search(beginning):
            raise Gone(address)
        if answer.status_code in (403, 429):
            raise _Refused(status, after)
        if answer.status_code >= 500 or answer.status_code in TEMPORARY:
            raise TemporaryFailure(status, after)
        raise DownloadFailed(status)

    def _write_cached(self, answer: requests.Response, cached: Path) -> None:
        """Write the body of an answer to the cache; raise `TemporaryFailure` if it is
        cut.
        """
        encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("gzip", "x-gzip", "identity", ""):
            raise TemporaryFailure(f"sent a page encoded as {quoted(encoding)}")
        received = 0
        with replacing(cached) as part:
            # Gzip answers are stored as received, others are compressed to about a
            # fifth.
            with (
                part.open("wb")
                if "gzip" in encoding
                else gzip.open(part, "wb", compresslevel=6) as out
            ):
                for chunk in self.client.body(answer):
                    received += len(chunk)
                    out.write(chunk)
            declared = whole_number(answer.headers.get("Content-Length", ""))
            if declared is not None and received != declared:
                raise TemporaryFailure(f"sent {received:,} of {declared:,} bytes")
            _check(part, cached.name.removesuffix(".gz"))


def _check(part: Path, name: str) -> None:
    """Read a packed page to its end; EDGAR has also answered with its refusal under
    status 200.
    """
    try:
        with gzip.open(part) as page:
            beginning = page.read(2048)
            size = len(beginning)
            is_submission = bool(SUBMISSION.match(beginning))
            for chunk in iter(partial(page.read, _CHUNK), b""):
                is_submission = is_submission or b"<DOCUMENT>" in chunk
                size += len(chunk)
                if size > LARGEST:
                    raise OverBounds(f"the page expands beyond {LARGEST:,} bytes")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TemporaryFailure(f"sent damaged gzip ({quoted(error)})") from error
    if not beginning.strip():
        raise TemporaryFailure("sent an empty page")
    if _WEB_PAGE.match(beginning):
        raise _Refused("sent a web page instead of a page of the archive")
    is_index = name.endswith(".idx") and b"|" in beginning
    if not is_submission and not is_index:
        words = quoted(beginning.decode(errors="replace"))
        raise _Refused(f"sent another text instead of a page of the archive ({words})")
