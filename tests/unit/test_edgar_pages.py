"""Pages of EDGAR: fetched within the rate limit, retried and cached."""

import errno
import fcntl
import gzip
import os
import time
from collections import defaultdict
from pathlib import Path

import pytest

from helpers.edgar_server import BLOCK, client, go, serving, small_quarter, start_job
from helpers.http_server import answer
from lextables.corpora.edgar import pages
from lextables.corpora.edgar.contracts import Quarter
from lextables.corpora.edgar.pages import LONGEST_HOLD, Gone, Pace, Pages
from lextables.pipeline.errors import BadInput

PATH = "edgar/data/1/0000000001-20-000001.txt"
BODY = b"<SEC-DOCUMENT>0000000001-20-000001.txt\n" + b"line\n" * 1000


@pytest.fixture
def server():
    with serving({PATH: BODY}, per_second=1000) as running:
        yield running


@pytest.mark.parametrize(
    "contact",
    [
        "",
        "  ",
        "jane@university.edu",
        "Jane Doe",
        "Jane jane@university",
        "J\nX: y j@u.edu",
        "Zoë z@u.edu",
    ],
)
def test_a_missing_or_malformed_contact_raises(contact, tmp_path):
    with pytest.raises(BadInput) as error:
        Pages(contact, tmp_path, Pace(tmp_path / "pace"), base="https://x.org/")
    assert str(error.value).startswith("config: edgar_contact ")
    assert "set it to your name and e-mail address" in str(error.value)


def test_a_page_that_is_too_large_after_decompression_is_not_cached(
    server, tmp_path, monkeypatch
):
    monkeypatch.setattr(pages, "LARGEST", 1 << 20)
    server.pages[PATH] = bytes(16 << 20)
    with pytest.raises(
        BadInput, match=rf"{PATH}: the page expands beyond 1,048,576 bytes; leave out"
    ):
        client(server, tmp_path).fetch(PATH)
    assert len(server.log) == 1
    assert not list((tmp_path / "pages").rglob("*.gz*"))


def test_requests_without_a_contact_are_rejected_by_the_server(server, tmp_path):
    pages = client(server, tmp_path, tries=2)
    pages.session.headers["User-Agent"] = "python-requests"
    with pytest.raises(
        BadInput,
        match="answered 403 Forbidden at the last of 2 attempts; run again later",
    ):
        pages.fetch(PATH)
    assert [seen.status for seen in server.log] == [403, 403]


@pytest.mark.parametrize("packs", [True, False], ids=["gzip", "identity"])
def test_a_page_is_fetched_once_and_cached_completely(server, tmp_path, packs):
    server.packs = packs
    for _ in range(2):
        assert b"".join(client(server, tmp_path).lines(PATH)) == BODY
    assert server.answered() == [PATH]
    kept = client(server, tmp_path).cache_path(PATH)
    assert (
        kept.relative_to(tmp_path / "pages").as_posix().endswith(f"/Archives/{PATH}.gz")
    )
    assert gzip.decompress(kept.read_bytes()) == BODY


@pytest.mark.parametrize(
    "bad",
    [
        answer(BLOCK, status=429),
        answer(BLOCK, status=403),
        answer(status=500),
        answer(b"busy", status=503),
        answer(BODY, length=len(BODY) + 100),
        answer(),
        answer(b"<!DOCTYPE html><html>undeclared automated tool"),
        answer(b"Request rate threshold exceeded"),
        answer(b'{"error": "undeclared automated tool"}'),
        answer(b"<?xml version='1.0'?><Error><Code>SlowDown</Code></Error>"),
        answer(b"<error>no</error>"),
        answer(b"CIK|Name|Form Type"),
        answer(b"\n\nPlease try again later.\n" * 500),
        answer(gzip.compress(BODY, mtime=0)[:50], "Content-Encoding: gzip"),
        answer(BODY, "Content-Encoding: br"),
    ],
    ids=lambda bad: str(bad[:40]),
)
def test_temporary_errors_are_retried(server, tmp_path, bad):
    server.first[PATH].extend([bad, bad])
    assert b"".join(client(server, tmp_path).lines(PATH)) == BODY
    assert len(server.log) == 3
    assert not list((tmp_path / "pages").rglob("*.part"))


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_pages_are_fetched_on_a_disk_without_locks(server, tmp_path, monkeypatch, code):
    def refused(*_):
        raise OSError(code, os.strerror(code))

    pages = client(server, tmp_path)
    pages.pace.per_second = 20
    live = pages.cache_path(PATH).with_name(f".{Path(PATH).name}.gz.1.lextables.part")
    live.parent.mkdir(parents=True)
    live.touch()
    monkeypatch.setattr(fcntl, "flock", refused)
    before = time.monotonic()
    for _ in range(4):
        pages.pace.wait()
    assert time.monotonic() - before >= 0.14
    assert b"".join(pages.lines(PATH)) == BODY
    assert live.exists()  # another job may be writing it
    monkeypatch.undo()
    pages.cache_path(PATH).unlink()
    pages.fetch(PATH)
    assert not live.exists()


def test_a_rejected_request_makes_every_job_wait(server, tmp_path):
    server.first[PATH].append(answer(BLOCK, "Retry-After: 1", status=429))
    before = time.monotonic()
    client(server, tmp_path).fetch(PATH)
    assert time.monotonic() - before >= 1
    Pace(tmp_path / "pace", per_second=500).hold(0.3)
    before = time.monotonic()
    Pace(tmp_path / "pace", per_second=500).wait()
    assert time.monotonic() - before >= 0.29


@pytest.mark.parametrize(
    "denied", [[], [b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"]]
)
def test_a_missing_page_raises_without_a_retry(server, tmp_path, denied):
    server.first["nowhere.txt"].extend(answer(body, status=403) for body in denied)
    with pytest.raises(Gone):
        client(server, tmp_path).fetch("nowhere.txt")
    assert len(server.log) == 1


def test_other_status_codes_raise(server, tmp_path):
    server.first[PATH].append(answer(b"", "Location: /elsewhere", status=301))
    with pytest.raises(
        BadInput, match="answered 301 Moved Permanently; check edgar_base"
    ):
        client(server, tmp_path).fetch(PATH)


def test_an_unreachable_server_raises(tmp_path):
    with serving({}) as server:
        pages = client(server, tmp_path, tries=2)
    with pytest.raises(
        BadInput, match=r"gave no answer \(ConnectionError\) at the last of 2 attempts"
    ):
        pages.fetch(PATH)


def test_a_damaged_cached_page_raises(server, tmp_path):
    pages = client(server, tmp_path)
    kept = pages.fetch(PATH)
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(
        BadInput, match="the cached page is damaged .* remove it, and run again"
    ):
        list(pages.lines(PATH))
    kept.unlink()
    assert b"".join(pages.lines(PATH)) == BODY


def test_partial_files_of_a_killed_process_are_removed(server, tmp_path):
    pages = client(server, tmp_path)
    kept = pages.cache_path(PATH)
    kept.parent.mkdir(parents=True)
    left = kept.with_name(f".{kept.name}.4711.lextables.part")
    left.write_bytes(b"half")
    pages.fetch(PATH)
    assert kept.exists()
    assert not left.exists()


@pytest.mark.timeout(10)  # an obeyed time would be a wait of three hours
def test_an_invalid_or_future_time_in_the_pace_file_is_ignored(tmp_path):
    for stored in (b"", b"rubbish", f"{time.time() + 3 * LONGEST_HOLD:.6f}".encode()):
        (tmp_path / "pace").write_bytes(stored)
        before = time.monotonic()
        Pace(tmp_path / "pace").wait()
        assert time.monotonic() - before < 1


def test_the_default_pace_is_below_edgars_limit_of_ten_requests_per_second(tmp_path):
    # https://www.sec.gov/os/accessing-edgar-data: 10 requests per second.
    assert 0 < Pace(tmp_path / "pace").per_second < 10


def test_a_page_is_tried_for_longer_than_edgar_blocks_an_address():
    # https://www.sec.gov/os/accessing-edgar-data: a block lasts ten minutes.
    limits = pages.CLIENT
    waits = [limits.first_wait * 2**wait for wait in range(limits.attempts - 1)]
    assert 600 < sum(waits) <= limits.patience


def test_three_processes_together_send_at_most_ten_requests_per_second(tmp_path):
    years = (2001, 2002, 2003)
    pages = {}
    for year in years:
        pages |= small_quarter(year, 1, 8)
    with serving(pages) as server:
        # All three start at the same time, however long the imports take.
        jobs = [start_job(server, tmp_path, year) for year in years]
        before = time.monotonic()
        for job in jobs:
            go(job)
        assert [job.wait(60) for job in jobs] == [0, 0, 0]
        took = time.monotonic() - before
        for job in jobs:
            job.stdout.close()
    assert sorted(server.answered()) == sorted(pages)
    assert {seen.status for seen in server.log} == {200}
    assert server.busiest_second() <= 10
    assert took >= (len(pages) - 1) / 10
    # The three ran at the same time, not one after another.
    times = defaultdict(list)
    for seen in server.log:
        times[_year(seen.path)].append(seen.at)
    assert max(map(min, times.values())) < min(map(max, times.values()))


def _year(path):
    index = [year for year in (2001, 2002, 2003) if path == Quarter(year, 1).path]
    return index[0] if index else 2000 + int(path[-13:-11])
