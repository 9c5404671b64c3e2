"""Pages of the archive, fetched once within EDGAR's rate limit and cached by address.

EDGAR allows ten requests per second.  The limit for all jobs of one machine uses a locked file (on a disk
without locks, jobs that start a request at the same moment may exceed it).  A Snakemake
resource would count jobs instead of requests, and is not shared with other Snakemake processes, checkouts or
scripts.  The file has the time of the next free slot.  A process waits for that slot and advances the time;
after a refusal it advances it further, so that all processes wait.  On a cluster the rule runs on the machine
of the Snakemake process, because EDGAR counts by network address.
"""

import gzip
import logging
import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import requests
import urllib3

from lextables.pipeline.atomic import replacing
from lextables.pipeline.cache import make_cache, user_cache
from lextables.pipeline.errors import BadInput
from lextables.pipeline.locks import exclusive
from lextables.sources.archives import OverBounds
from lextables.sources.records import whole_number
from lextables.sources.transfer import retry_after

BASE = "https://www.sec.gov/Archives/"
# With a first wait of one second the waits double to 1,023 s in all: a block lasts ten minutes.
TRIES = 11
FIRST_WAIT = 1.0
TIMEOUT = (30, 120)
# EDGAR allows ten and counts arrivals.  Requests sent a tenth of a second apart can arrive eleven in a
# second, so the pace leaves a tenth of a second for what the network adds.
PER_SECOND = 9.0
# The longest wait that a refusal may ask for.  A time further ahead comes from a clock that was set back.
LONGEST_HOLD = 3600.0
LARGEST = 1 << 30  # bytes of a page; the largest filings have some hundred million

_CHUNK = 1 << 18
_CONTACT = re.compile(
    r"(?P<name>[ -~]*[A-Za-z][ -~]*?)\s+<?(?P<mail>[^@\s<>]+@[^@\s<>.]+(?:\.[^@\s<>.]+)+)>?"
)
_GONE = re.compile(rb"<Code>(?:AccessDenied|NoSuchKey)</Code>")
_WEB_PAGE = re.compile(rb"\s*<(?:!doctype|html)", re.IGNORECASE)

_log = logging.getLogger("lextables.corpora.edgar")


def default_file() -> Path:
    """The file that all jobs of a user share, outside any checkout."""
    return make_cache(user_cache()) / "edgar.pace"


class Pace:
    """Slots for requests, shared through ``path`` by every process and thread that names it."""

    def __init__(self, path: str | Path, per_second: float = PER_SECOND) -> None:
        self.path, self.per_second = Path(path), per_second

    def wait(self) -> None:
        """Take the next free slot when it comes."""
        apart = 1 / self.per_second
        while True:
            with exclusive(self.path):
                now = time.time()
                ahead = _next_time(self.path, now) - now
                if ahead <= apart:
                    # Sleep under the lock: a process that wakes late delays the slots of the others too.
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
    try:
        stored = float(path.read_bytes())
    except ValueError:
        return now
    return stored if stored <= now + 2 * LONGEST_HOLD else now


def _store(path: Path, moment: float) -> None:
    # One write of fixed width: a kill leaves the old time or the new one.
    with path.open("r+b", buffering=0) as file:
        file.write(b"%020.6f" % moment)


class Gone(Exception):
    """The archive has no page at this address."""


class _Retry(Exception):
    """An answer that justifies another attempt; ``everyone`` if all jobs must wait."""

    def __init__(self, reason: str, *, after: float = 0.0, everyone: bool = False) -> None:
        self.after, self.everyone = after, everyone
        super().__init__(reason)


def user_agent(contact: str | None) -> str:
    """Return the user agent that declares ``contact``, a name and an e-mail address.

    Raises `BadInput` if it is absent or malformed: EDGAR blocks anonymous clients.
    """
    do = "set it to your name and e-mail address, in plain ASCII, such as 'Jane Doe jane.doe@university.edu'"
    if not contact or not str(contact).strip():
        raise BadInput("edgar_contact is empty, and EDGAR wants to know who asks", where="config", do=do)
    match = _CONTACT.fullmatch(str(contact).strip())
    if match is None or not str(contact).isascii():
        raise BadInput(
            f"edgar_contact = {contact!r} is not a name and an e-mail address", where="config", do=do
        )
    return f"{match['name']} {match['mail']}"


class Pages:
    """The archive below ``base``, cached in ``folder``.

    A page is stored at ``<folder>/<host>/<path>.gz``, completely or not at all.  While a process fetches
    a page, other processes wait for it.  Waits after a refusal start at
    ``first_wait`` seconds and double; a Retry-After header sets their minimum.
    """

    def __init__(
        self,
        contact: str | None,
        folder: str | Path,
        pace: Pace,
        *,
        base: str = BASE,
        tries: int = TRIES,
        first_wait: float = FIRST_WAIT,
    ) -> None:
        if not re.fullmatch(r"https?://[^/\s]+/(?:\S*/)?", base):
            raise BadInput(
                f"edgar_base = {base!r} is not a web address that ends in a slash",
                where="config",
                do=f"leave it out for {BASE}",
            )
        self.base, self.pace, self.tries, self.first_wait = (base, pace, tries, first_wait)
        self.folder = Path(folder)
        self.session = requests.Session()
        self.session.headers.update(
            {"User-Agent": user_agent(contact), "Accept-Encoding": "gzip", "Accept": "*/*"}
        )

    def address(self, path: str) -> str:
        """The address of the page at ``path`` below the base."""
        return self.base + quote(path)

    def cache_path(self, path: str) -> Path:
        """The path of a page in the cache, whether or not it exists."""
        parts = urlsplit(self.address(path))
        place = Path(
            quote(parts.netloc, safe=""), *(part for part in parts.path.split("/") if part.strip("."))
        )
        return self.folder / place.with_name(place.name + ".gz")

    def lines(self, path: str) -> Iterator[bytes]:
        """Yield the page's lines with their ends, fetching it first if it is not cached.

        Raises `Gone` if there is no such page, and `BadInput` if EDGAR keeps refusing or the cached page is
        damaged.
        """
        file = self.fetch(path)
        try:
            with gzip.open(file) as page:
                yield from page
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadInput(
                f"the cached page is damaged ({error})", where=str(file), do="remove it, and run again"
            ) from error

    def fetch(self, path: str) -> Path:
        """Fetch the page unless it is cached, and return its path."""
        cached = self.cache_path(path)
        if cached.exists():
            return cached
        with exclusive(self.folder / ".locks" / f"{zlib.crc32(str(cached).encode()) % 256:02x}") as locked:
            if cached.exists():
                return cached
            # Left by a killed process, if this one has the lock: a live one would have it.
            stale_parts = cached.parent.glob(f".{cached.name}.*.part") if locked else ()
            for stale in stale_parts:
                stale.unlink()
            self._fetch(self.address(path), cached)
        return cached

    def _fetch(self, address: str, cached: Path) -> None:
        for attempt in range(1, self.tries + 1):
            self.pace.wait()
            try:
                self._ask(address, cached)
                return
            except _Retry as temporary:
                if attempt == self.tries or temporary.after > LONGEST_HOLD:
                    raise BadInput(
                        f"the page is not available now ({temporary}, try {attempt})",
                        where=address,
                        do="run again later; pages fetched before are cached",
                    ) from temporary
                wait = max(self.first_wait * 2 ** (attempt - 1), temporary.after)
                _log.info(
                    "%s: %s; %s for %.1f s",
                    address,
                    temporary,
                    "all jobs wait" if temporary.everyone else "wait",
                    wait,
                )
                if temporary.everyone:
                    self.pace.hold(wait)
                else:
                    time.sleep(wait)

    def _ask(self, address: str, cached: Path) -> None:
        try:
            with self.session.get(address, stream=True, timeout=TIMEOUT, allow_redirects=False) as answer:
                if answer.status_code == 200:
                    _write_cached(answer, cached)
                    return
                beginning = answer.raw.read(2048, decode_content=True) or b""
                status, after = (
                    answer.status_code,
                    retry_after(answer.headers.get("Retry-After", "")) or 0.0,
                )
        except OverBounds as error:
            raise BadInput(str(error), where=address, do="leave out its quarter") from None
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise _Retry(f"the connection failed, {type(error).__name__}") from error
        # The store behind EDGAR answers 404 or 403 in XML for what it does not have; EDGAR's own refusal is a
        # web page.
        if status in (404, 410) or (status == 403 and _GONE.search(beginning)):
            raise Gone(address)
        if status in (403, 429):
            raise _Retry(f"EDGAR refuses, status {status}", after=after, everyone=True)
        if status >= 500 or status == 408:
            raise _Retry(f"status {status}", after=after)
        raise BadInput(f"EDGAR answers with status {status}", where=address, do="check edgar_base")


def _write_cached(answer: requests.Response, cached: Path) -> None:
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("gzip", "x-gzip", "identity", ""):
        raise _Retry(f"the page is encoded as {encoding!r}, which was not asked for")
    received = 0
    with replacing(cached) as part:
        # Gzip answers are stored as received, others are compressed to about a fifth.
        with part.open("wb") if "gzip" in encoding else gzip.open(part, "wb", compresslevel=6) as out:
            for chunk in answer.raw.stream(_CHUNK, decode_content=False):
                received += len(chunk)
                out.write(chunk)
        declared = whole_number(answer.headers.get("Content-Length", ""))
        if declared is not None and received != declared:
            raise _Retry(f"{received} bytes came of {declared} declared")
        _check(part)


def _check(part: Path) -> None:
    """Read a packed page to its end; EDGAR has also answered with its refusal under status 200."""
    try:
        with gzip.open(part) as page:
            beginning = page.read(2048)
            size = len(beginning)
            while chunk := page.read(_CHUNK):
                size += len(chunk)
                if size > LARGEST:
                    raise OverBounds(f"the page expands beyond {LARGEST:,} bytes")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _Retry(f"the gzip on the wire is damaged, {error}") from error
    if not beginning.strip():
        raise _Retry("the page is empty")
    if _WEB_PAGE.match(beginning):
        raise _Retry("a web page came where an archive page should be", everyone=True)
