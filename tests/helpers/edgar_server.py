"""A loopback server with EDGAR's layout and rules, and builders for the pages it
serves.

It returns 403 for a user agent without an e-mail address, and 429 for more than ten
requests in one second from all clients together.  Pages are below ``/Archives/``;
unknown pages return 404.  It logs every request, and can return other answers before a
page.
"""

import gzip
import re
import subprocess
import sys
import threading
import time
from bisect import bisect_left
from collections import defaultdict, deque
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from helpers import http_server
from helpers.http_server import answer
from lextables.corpora.edgar import contracts
from lextables.corpora.edgar.pages import Pace, Pages
from lextables.sources.transfer import Client

PREFIX = "/Archives/"
BLOCK = b"<!DOCTYPE html><html><body><h1>Your request rate is over the limit</h1></body></html>"


@dataclass(frozen=True)
class Seen:
    """One request: time (seconds), path below the base URL, status of the answer."""

    at: float
    path: str
    status: int


class EdgarServer:
    """Serves ``pages``, {path below the base URL: content}.

    It allows ``per_second`` requests in a second.  With ``packs``, pages are compressed
    for clients that accept it.
    """

    def __init__(self, pages, per_second, packs):
        self.pages = dict(pages)
        self.per_second = per_second
        self.packs = packs
        self.base = ""  # in place of ``https://www.sec.gov/Archives/``
        self.log: list[Seen] = []
        # {path: answers before its page}
        self.first: defaultdict[str, deque[bytes]] = defaultdict(deque)
        # A request for this page sets `noticed`, and then gets no answer until the test
        # ends.
        self.hung = ""
        self.noticed = threading.Event()
        self.released = threading.Event()
        self.lock = threading.Lock()
        self.arrivals: deque[float] = deque()

    def answered(self):
        """Return the paths of the pages that were sent, in order."""
        with self.lock:
            return [seen.path for seen in self.log if seen.status == 200]

    def busiest_second(self):
        """Return the largest number of requests within one second."""
        times = sorted(seen.at for seen in self.log)
        ends = [bisect_left(times, start + 1) for start in times]
        return max(end - number for number, end in enumerate(ends))

    def respond(self, request):
        """Return the answer to a request, and log it."""
        now = time.monotonic()
        path = request.path.removeprefix(PREFIX)
        if path == self.hung:
            self.noticed.set()
            self.released.wait(30)
            return b""
        with self.lock:
            self.arrivals.append(now)
            while self.arrivals[0] <= now - 1:
                self.arrivals.popleft()
            sent = self._answer(path, request.headers)
            _, status, _ = sent.split(b" ", 2)
            self.log.append(Seen(now, path, int(status)))
        return sent

    def _answer(self, path, headers):
        if not re.search(r"[^\s@]+@[^\s@]+\.[^\s@]+", headers.get("User-Agent", "")):
            return answer(BLOCK, status=403)
        if len(self.arrivals) > self.per_second:
            return answer(BLOCK, "Retry-After: 1", status=429)
        if self.first[path]:
            return self.first[path].popleft()
        if path not in self.pages:
            missing = b"<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>"
            return answer(missing, status=404)
        body = self.pages[path]
        if self.packs and "gzip" in headers.get("Accept-Encoding", ""):
            return answer(gzip.compress(body, mtime=0), "Content-Encoding: gzip")
        return answer(body)


@contextmanager
def serving(pages, per_second=10, *, packs=True):
    """Run an `EdgarServer` until the end of the ``with`` block."""
    edgar = EdgarServer(pages, per_second, packs)
    with http_server.serving(edgar.respond) as server:
        edgar.base = f"{server.url}{PREFIX}"
        try:
            yield edgar
        finally:
            edgar.released.set()


def index_page(rows):
    """Return a ``master.idx`` with ``rows``, each ``CIK|Company Name|Form Type|Date
    Filed|Filename``.
    """
    head = (
        "Description:           Master Index of EDGAR Dissemination Feed",
        "Last Data Received:    March 31, 2020",
        "Comments:              webmaster@sec.gov",
        " ",
        "CIK|Company Name|Form Type|Date Filed|Filename",
        "-" * 80,
    )
    return "\n".join((*head, *rows, "")).encode()


def row(cik, company, form, filed, accession):
    """Return one line of the index."""
    return f"{cik}|{company}|{form}|{filed}|{submission_path(cik, accession)}"


def submission_path(cik, accession):
    """Return the path of a full submission text below the base URL."""
    return f"edgar/data/{cik}/{accession}.txt"


def document(type_, sequence, body, description="", filename=""):
    """Return one document of a submission."""
    head = f"<DOCUMENT>\n<TYPE>{type_}\n<SEQUENCE>{sequence}\n"
    if filename:
        head += f"<FILENAME>{filename}\n"
    if description:
        head += f"<DESCRIPTION>{description}\n"
    text = body.encode() if isinstance(body, str) else body
    return head.encode() + b"<TEXT>\n" + text + b"\n</TEXT>\n</DOCUMENT>\n"


def submission(accession, *documents):
    """Return a full submission text."""
    head = f"<SEC-DOCUMENT>{accession}.txt : 20200102\n<SEC-HEADER>{accession}.hdr.sgml : 20200102\n"
    filer = "FILER:\n\n\tCOMPANY DATA:\t\n\t\tCOMPANY CONFORMED NAME:\t\t\tACME CORP\n</SEC-HEADER>\n"
    return (head + filer).encode() + b"".join(documents) + b"</SEC-DOCUMENT>\n"


def small_quarter(year, number, filings):
    """Return pages of a quarter with ``filings`` 8-Ks; each has one exhibit EX-10.1 and
    a press release.
    """
    month = number * 3 - 2
    rows = []
    pages = {}
    for n in range(filings):
        cik = 1000 + n
        accession = f"{n:010d}-{year % 100:02d}-{number:06d}"
        filed = f"{year}-{month:02d}-{n % 27 + 1:02d}"
        rows.append(row(cik, f"COMPANY {n} INC", "8-K", filed, accession))
        report = "<html><body><p>Current report</p></body></html>"
        lease = f"<p>LEASE No. {n}</p><p>The parties agree.</p>"
        pages[submission_path(cik, accession)] = submission(
            accession,
            document("8-K", 1, report),
            document("EX-10.1", 2, f"<html><body>{lease}</body></html>"),
            document("EX-99.1", 3, "A press release."),
        )
    pages[f"edgar/full-index/{year}/QTR{number}/master.idx"] = index_page(rows)
    return pages


CONTACT = "Jane Doe jane.doe@university.edu"


def client(server, folder, tries=4):
    """Return a client of the server with a cache in ``folder``."""
    pace = Pace(folder / "pace", per_second=500)
    limits = Client(attempts=tries, first_wait=0.01)
    return Pages(CONTACT, folder / "pages", pace, base=server.base, client=limits)


def collect(quarter, pages, path, forms=("8-K",), exhibits=("EX-10",)):
    """Collect the contracts of a quarter."""
    return contracts.collect(quarter, pages, path, forms=forms, exhibits=exhibits)


# The program of `start_job`.
JOB = """
import sys
from lextables.corpora.edgar.contracts import Quarter, collect
from lextables.corpora.edgar import contracts
from lextables.corpora.edgar.pages import Pace, Pages
year, base, folder, per_second = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
pace = Pace(folder + "/pace", float(per_second))
pages = Pages("Jane Doe jane.doe@university.edu", folder + "/pages", pace, base=base)
path = f"{folder}/{year}.parquet"
collect(Quarter(int(year), 1), pages, path, forms=["8-K"], exhibits=["EX-10"])
"""


def start_job(server, folder, year, per_second=9):
    """Start a process that reads a line and then collects the first quarter of
    ``year``.
    """
    arguments = [str(year), server.base, str(folder), str(per_second)]
    job = subprocess.Popen(
        [sys.executable, "-c", JOB, *arguments],
        env={
            "PYTHONPATH": str(Path(__file__).parents[2] / "workflow"),
            "PATH": "",
            "OMP_NUM_THREADS": "1",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert job.stdout.readline() == b"ready\n"
    return job


def go(job):
    """Tell a started job to collect."""
    job.stdin.write(b"go\n")
    job.stdin.close()
