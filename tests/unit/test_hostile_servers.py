"""Hostile and broken answers: each is a failure of its address, and the next address is
tried.
"""

import gzip
import json
import lzma
import re
import time
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from helpers.http_server import answer, serving_in_turn
from helpers.source_registry import registry
from lextables.pipeline.content import sha256_of
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import doubt
from lextables.sources import fetch as fetching
from lextables.sources.entries import resolve
from lextables.sources.fetch import damaged, fault_of, fetch
from lextables.sources.transfer import Client, retry_after

LIMITS = {"attempts": 2, "timeouts": (0.5, 0.5), "window": 0.3, "minimum_rate": 200}
NINES = "9" * 5000
LOGIN = b"<!DOCTYPE html><title>Sign in</title>"


def zipped(**members):
    """The bytes of a zip with these members."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return out.getvalue()


GOOD = zipped(a="text " * 2000)
LONG = zipped(
    a="".join(map(str, range(60_000)))
)  # longer than the part that shows a kind


WHOLE = answer(GOOD)


def redirect(to):
    return answer(b"", f"Location: {to}", status="302 Found")


def slowly(start, drops, seconds=0.05):
    """An answer whose bytes ``drops`` come one at a time."""
    pieces = [start]
    for byte in drops:
        pieces += [seconds, bytes([byte])]
    return pieces


def registered(tmp_path, addresses, name="data.zip"):
    file = {"addresses": addresses, "unpinned": "none is published"}
    return resolve(registry(tmp_path, "acord", {name: file}), "acord", name)


def get(tmp_path, *addresses, name="data.zip", **limits):
    """Fetch a file without a digest; return it, its provenance, the messages and the
    waits.
    """
    messages, waits = [], []
    client = Client(**LIMITS | limits, sleep=waits.append, say=messages.append)
    file = tmp_path / "results" / name
    provenance = fetch(
        registered(tmp_path, list(addresses), name),
        file,
        client=client,
        say=messages.append,
    )
    return file, provenance, messages, waits


CUT = "was cut after [0-9,]+ bytes at the last of 2 attempts"
NONE = r"gave no answer \(\w+\) at the last of 2 attempts"
UNUSABLE = r"cannot be asked \(\w+: .{1,100}\)"
NOT_A_ZIP = r"sent no \.zip file \(File is not a zip file\)"
PAGE = "sent a web page, such as a login page"
SLOW = "sends [0-9]+ bytes a second, fewer than the 200 of config key download_minimum_rate"
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
HOSTILE = {
    "login page": (answer(LOGIN), PAGE),
    "login page after a redirect": (
        [answer(b"", "Location: /login", status="302 Found")],
        None,
    ),
    "empty body": (answer(b""), "sent an empty file"),
    "white space": (answer(b" \n\t"), "sent an empty file"),
    "no body and no length": (answer(b"", length=0), "sent an empty file"),
    "cut without a length": (answer(GOOD[:5000], length=0), NOT_A_ZIP),
    "cut with a length": (WHOLE[:-500], CUT),
    "text": (answer(b"down for maintenance"), NOT_A_ZIP),
    "JSON in place of a zip": (answer(b"{}"), NOT_A_ZIP),
    "zip with a damaged directory": (
        answer(GOOD.replace(b"PK\1\2", b"PK\1\3")),
        r"sent no \.zip file \(",
    ),
    "git-lfs pointer": (
        answer(b"version https://git-lfs.github.com/spec/v1\n"),
        "sent a pointer of Git LFS",
    ),
    "gzip in place of a zip": (answer(gzip.compress(GOOD)), NOT_A_ZIP),
    "Content-Encoding: gzip": (
        answer(gzip.compress(GOOD), "Content-Encoding: gzip"),
        "sent the file enc",
    ),
    "long Content-Encoding": (
        answer(GOOD, "Content-Encoding: " + "x" * 5000),
        "sent the file encoded as …",
    ),
    "404": (answer(LOGIN, status="404 Not Found"), "answered 404 Not Found"),
    "204": (answer(b"", status="204 No Content"), "answered 204 No Content"),
    "206 without a range": (
        answer(GOOD, status="206 Partial Content"),
        "sent another part than the one asked for",
    ),
    "416": (answer(b"", status="416 Range Not Satisfiable"), "answered 416"),
    "304": (answer(b"", status="304 Not Modified"), "answered 304"),
    "503 forever": (
        answer(b"", status="503 Busy"),
        "answered 503 Busy at the last of 2 attempts",
    ),
    "status 999": (
        answer(b"", status="999 Denied"),
        "answered 999 Denied at the last of 2 attempts",
    ),
    "long reason": (
        answer(b"", status="404 " + "ab " * 20000),
        "answered 404 ab ab .{,100}…",
    ),
    "reason of other letters": (
        answer(b"", status="404 \xe9\xff\x1b[2J"),
        "answered 404 ",
    ),
    "no reason": (answer(b"", status="404"), "answered 404 "),
    "5,000 digits of Content-Range": (
        answer(
            GOOD,
            f"Content-Range: bytes {NINES}-{NINES}/{NINES}",
            status="206 Partial Content",
        ),
        "sent another part",
    ),
    "Retry-After of an hour": (
        answer(b"", "Retry-After: 3600", status="429 Too Many Requests"),
        "answered 429 Too Many Requests at the last of 1 attempts and asks for a wait of 3,600 s",
    ),
    "Retry-After of 5,000 digits": (
        answer(b"", f"Retry-After: {NINES}", status="503 Busy"),
        "asks for a",
    ),
    "Location of two dots": (redirect("http://a..b/"), UNUSABLE),
    "Location of an open bracket": (redirect("http://[::1/"), UNUSABLE),
    "Location of 300 letters": (redirect(f"http://{'a' * 300}/"), f"{UNUSABLE}|{NONE}"),
    "Location of 60,000 letters": (
        redirect(f"http://{'a.' * 30000}/"),
        f"{UNUSABLE}|{NONE}",
    ),
    "Location of a file": (redirect("file:///etc/passwd"), UNUSABLE),
    "Location of an FTP server": (redirect("ftp://example.org/x"), UNUSABLE),
    "Location with port 99999": (
        redirect("http://127.0.0.1:99999/"),
        f"{UNUSABLE}|{NONE}",
    ),
    "Location with a port of letters": (redirect("http://127.0.0.1:x/"), UNUSABLE),
    "Location of other bytes": (redirect("http://\xff\xfe/"), f"{UNUSABLE}|{NONE}"),
    "Location of nothing": (redirect("http://"), UNUSABLE),
    "no Location": (answer(b"", status="302 Found"), "answered 302 Found"),
    "redirect to itself": (redirect("/a"), UNUSABLE),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n", NONE),
    "nothing": (b"", NONE),
    "half a header": (HEAD + b"Content-Le", f"{NONE}|{NOT_A_ZIP}|sent an empty file"),
    "101 headers": (answer(GOOD, *(f"X-{n}: 1" for n in range(101))), NONE),
    "header of 70,000 letters": (answer(GOOD, "X: " + "x" * 70000), NONE),
    "two lengths": (answer(GOOD, "Content-Length: 5"), f"{NONE}|{UNUSABLE}"),
    "chunk of no size": (CHUNKED + b"zz\r\nabc\r\n", CUT),
    "chunk of negative size": (CHUNKED + b"-5\r\nabc\r\n", CUT),
    "chunk of 5,000 digits": (CHUNKED + NINES.encode() + b"\r\nabc\r\n", CUT),
    "chunk that is cut": (CHUNKED + b"ff\r\nabc", CUT),
    "chunks without an end": (CHUNKED + b"3\r\nabc\r\n", CUT),
    "never an answer": ([3], NONE),
    "header in drops": (slowly(HEAD, b"X: " + b"x" * 40), NONE),
    "body in drops": (slowly(answer(GOOD)[:200], GOOD[:60], 0.02), SLOW),
    "body in drops without a length": (slowly(HEAD + b"\r\n", GOOD[:60], 0.02), SLOW),
    "chunk size in drops": (slowly(CHUNKED, b"1;" + b"x" * 200), CUT),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_after_a_hostile_answer_the_next_address_is_tried(tmp_path, case):
    hostile, reason = HOSTILE[case]
    answers = [hostile]
    if reason is None:
        answers, reason = [*hostile, answer(LOGIN)], PAGE
    with serving_in_turn(*answers) as first, serving_in_turn(WHOLE) as second:
        before = time.monotonic()
        file, provenance, messages, _ = get(tmp_path, first.file_url, second.file_url)
    assert time.monotonic() - before < 5
    assert provenance.obtained_from == second.file_url
    assert file.read_bytes() == GOOD
    failures = [
        text
        for text in messages
        if text.startswith(f"acord/data.zip: {first.file_url} ")
    ]
    assert len(failures) == 1 and re.search(reason, failures[0]), messages
    assert max(map(len, messages)) < 400
    assert {path.name for path in file.parent.iterdir()} == {
        ".data.zip.json.sha256",
        "LICENCE.txt",
        "data.zip",
        "data.zip.json",
    }


@pytest.mark.parametrize(
    "header",
    ["-5", "1_000", "+5", "many", NINES, "\xb2", "", "5, 5", "0x10", "1e3", " "],
)
def test_a_strange_length_is_ignored_or_a_failure(tmp_path, header):
    strange = answer(GOOD, f"Content-Length: {header}", length=0)
    with serving_in_turn(strange) as first, serving_in_turn(WHOLE) as second:
        file, provenance, _, _ = get(tmp_path, first.file_url, second.file_url)
    assert file.read_bytes() == GOOD and provenance.bytes == len(GOOD)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "-5",
        "+5",
        "1_000",
        "٣",
        "1.5",
        "nan",
        "inf",
        "\x00",
        *(
            f"Wed, 21 Oct 2015 07:28:00 {zone}"
            for zone in ("GMT", "+9999", "-9999999", f"+{NINES}", "+" + "9" * 20, "XYZ")
        ),
        *(
            f"Wed, 21 Oct {year} 07:28:00 GMT"
            for year in ("1970", "0", "1", "-1", NINES)
        ),
        "Wed, 99 Oct 2030 07:28:00 GMT",
        "Wed, 21 Oct 2030 99:99:99 GMT",
        "Thu, 01 Jan 0001 00:00:00 +2359",
        ",",
        "()",
        "(" * 5000,
        "1 " * 5000,
    ],
)
def test_a_strange_time_of_retry_after_is_no_wait(value):
    assert retry_after(value) == 0


def test_waits_are_announced_and_limited_for_each_address(tmp_path, caplog):
    busy = answer(b"", "Retry-After: 250", status="429 Too Many Requests")
    with (
        caplog.at_level("INFO"),
        serving_in_turn(busy) as first,
        serving_in_turn(WHOLE) as second,
    ):
        _, provenance, messages, waits = get(
            tmp_path, first.file_url, second.file_url, attempts=9
        )
    assert provenance.obtained_from == second.file_url
    assert waits == [250, 250]  # a third wait would exceed ten minutes
    host = first.file_url.removeprefix("http://").removesuffix("/a")
    said = f"waiting 250 s for {host}, which answered 429 Too Many Requests"
    assert messages.count(said) == 2
    assert caplog.messages.count(said) == 2


def test_a_download_that_goes_on_is_not_given_up(tmp_path):
    body = zipped(a=bytes(5 << 20))
    step, pieces = 1 << 20, []
    for start in range(0, len(body), step):
        rest = body[start:]
        lines = ['ETag: "one"', f"Content-Length: {len(rest)}"]
        status = "200 OK"
        if start:
            lines.append(f"Content-Range: bytes {start}-{len(body) - 1}/{len(body)}")
            status = "206 Partial Content"
        pieces.append(answer(rest[:step], *lines, status=status, length=0))
    with serving_in_turn(*pieces) as server:
        file, _, _, _ = get(tmp_path, server.file_url, attempts=1)
    assert file.read_bytes() == body
    assert len(server.requests) == len(pieces) == 6


def test_a_download_that_starts_again_is_given_up(tmp_path):
    cut = answer(bytes(3 << 20), 'ETag: "one"')[:-500]
    with serving_in_turn(cut) as server, pytest.raises(BadInput, match="was cut after"):
        get(tmp_path, server.file_url)
    assert len(server.requests) <= 4


@pytest.mark.parametrize(
    "mark",
    [
        "{",
        "[]",
        "null",
        '{"address": 1}',
        '{"address": "ADDRESS", "version": 5}',
        '{"address": "ADDRESS", "version": "a\\nX: y"}',
        '{"address": "ADDRESS", "version": "\\u00e9"}',
    ],
)
def test_a_damaged_record_of_a_partial_file_is_not_used(tmp_path, mark):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "data.zip.part").write_bytes(b"x")
    with serving_in_turn(WHOLE) as server:
        (folder / "data.zip.part.json").write_text(
            mark.replace("ADDRESS", server.file_url)
        )
        file, _, _, _ = get(tmp_path, server.file_url)
    assert file.read_bytes() == GOOD
    assert "Range" not in server.requests[0].headers


@pytest.mark.parametrize(
    "status", ["400 Bad Request", "412 Precondition Failed", "416 Too Far", "431 Large"]
)
def test_a_server_that_does_not_resume_is_asked_for_the_whole_file(tmp_path, status):
    cut, refused = answer(GOOD, 'ETag: "one"')[:-100], answer(b"", status=status)
    with serving_in_turn(cut, refused, WHOLE) as server:
        file, _, _, _ = get(tmp_path, server.file_url, attempts=3)
    assert file.read_bytes() == GOOD
    assert ["Range" in request.headers for request in server.requests] == [
        False,
        True,
        False,
    ]


def test_a_version_that_cannot_be_sent_back_is_not_stored(tmp_path):
    for version in ("\xe9", "x" * 5000, '"a\x0b"'):
        with serving_in_turn(answer(GOOD, f"ETag: {version}")[:-100], WHOLE) as server:
            file, _, _, _ = get(tmp_path, server.file_url)
        assert file.read_bytes() == GOOD
        assert "If-Range" not in server.requests[1].headers


KINDS = [
    ("a.json", b'{"a": 1}', b'{"a": 1'),
    ("a.json", b"\xef\xbb\xbf[]", b"null"),
    ("a.json", b"[1]", b"[" * 100_000),
    ("a.json", b"[1]", b"[" + b"9" * 6000 + b"]"),
    ("a.ndjson", b'{}\n\n{"a": 1}\n', b"{}\n{"),
    ("a.jsonl", b"{}", b"Error"),
    ("a.csv", "a,é\n".encode(), "a,é\n".encode("latin-1")),
    ("a.parquet", None, b"PAR1"),
    ("a.zip", GOOD, GOOD[:-1]),
    ("a.zip", zipped(a=b"x"), zipped()),
    ("a.zip", zipped(a=b"x"), b"PK\3\4"),
    ("a.zip", zipped(a=b"x"), zipped(a=b"")),
    ("a.zip", LONG, LONG[:-200] + bytes([LONG[-200] ^ 1]) + LONG[-199:]),
    ("a.zip", GOOD, GOOD[:60] + bytes([GOOD[60] ^ 1]) + GOOD[61:]),
    ("a.zip", zipped(**{"a.json": b"[1]"}), zipped(**{"a.json": b"[1"})),
    ("a.zip", zipped(**{"a.html": b"<p>1"}), zipped(**{"a.csv": b"<html>Sign in"})),
    ("a.zip", zipped(**{"a.htm": b"<html>"}), zipped(**{"a.json": b'{"error": "no"}'})),
    ("a.zip", zipped(**{"._a.json": b"x", "a.py": b""}), b"<Error><Code>Denied</Code>"),
    ("a.zip", zipped(a=b"x"), b'{"message": "Not Found", "status": 404}'),
    ("a.idx", b"CIK|Name\n1|A\n", b"Request rate threshold exceeded"),
    ("a.idx", b"CIK|Name\n1|A\n", b'{"detail": "a|b"}'),
    ("a.csv", b"a,b\n1,2\n", b"Too many requests, in words without a row"[:17]),
    ("a.csv", b"a\n1\n", b'{"errors": ["quota"]}'),
    ("a.csv", b"a,b\n1,2\n", b"<?xml version='1.0'?><error/>"),
    ("a.xz", lzma.compress(b"a" * 9), lzma.compress(b"a" * 999)[:-9]),
    ("a.xz", lzma.compress(b"a" * 9), lzma.compress(b"<html>Sign in")),
    ("a.xz", lzma.compress(b"a" * 9), b'{"error": "not found"}'),
    ("a.gz", gzip.compress(b"a" * 9), gzip.compress(bytes(range(256)))[:-4]),
    ("a.gz", gzip.compress(b"a" * 9), gzip.compress(bytes(9 << 20))),
    ("a.json", b'{"data": [], "version": 1}', b'{"Message": "Rate limit", "code": 7}'),
    ("a.json", b'{"status": "ok", "rows": []}', b'{"error": {"code": 500}}'),
    ("a.jsonl", b'{"a": 1}', b'{"fault": "x"}'),
    ("a.txt", b"x", b"\n<html><body>Sign in"),
    ("a.md", b"# A", b""),
]


@pytest.mark.parametrize(("name", "right", "wrong"), KINDS)
def test_each_kind_of_file_is_checked(tmp_path, name, right, wrong):
    file = tmp_path / name
    if right is not None:
        file.write_bytes(right)
        assert fault_of(file) == ""
    file.write_bytes(wrong)
    fault = fault_of(file)
    assert fault and len(fault) < 150 and "\n" not in fault


def test_a_stored_download_of_the_wrong_kind_is_found(tmp_path):
    with serving_in_turn(WHOLE) as server:
        file, provenance, _, _ = get(tmp_path, server.file_url)
    entry = registered(tmp_path, [server.file_url])
    assert [*damaged(tmp_path)] == []
    assert fetching.fetched_before(entry, file) == provenance
    file.write_bytes(LOGIN)
    record_file = file.with_name("data.zip.json")
    record = json.loads(record_file.read_text())
    # A check that was interrupted is repeated; a file is read again only after a
    # change.
    assert next(damaged(tmp_path)) == (file, "a web page, such as a login page")
    assert len([*damaged(tmp_path)]) == 1
    assert [*damaged(tmp_path)] == []
    # With the digest of the login page, as an earlier version stored it.
    record |= {"digest": f"sha256:{sha256_of(file)}", "bytes": len(LOGIN)}
    record_file.write_text(json.dumps(record))
    assert fetching.fetched_before(entry, file) is None
    # The file of a mirror, and a file with a digest, are not this program's downloads.
    for other in ({"obtained_from": "mirror"}, {"variant": "release"}):
        record_file.write_text(json.dumps(record | other))
        file.write_bytes(LOGIN)
        assert [*damaged(tmp_path)] == []


def test_a_link_to_nothing_is_no_damaged_download_and_is_replaced(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/data.zip").symlink_to(tmp_path / "absent/data.zip")
    assert [*damaged(tmp_path)] == []
    with serving_in_turn(WHOLE) as server:
        file, _, _, _ = get(tmp_path, server.file_url)
    assert not file.is_symlink()


def test_a_zip_without_its_members_is_refused(tmp_path):
    file = tmp_path / "a.zip"
    for name, fault in (
        ("top/metadata/A.json", ""),
        ("metadata\\a.JSON", ""),
        ("metadata/B.json", "no"),
    ):
        file.write_bytes(zipped(**{name: b"[1]"}))
        expected = "no .zip file (it has no metadata/A.json)" if fault else ""
        assert fault_of(file, members=["metadata/A.json"]) == expected


def test_a_download_that_a_job_could_not_read_is_fetched_again_once(tmp_path):
    with serving_in_turn(WHOLE) as server:
        file, _, _, _ = get(tmp_path, server.file_url)
    assert [*damaged(tmp_path)] == []
    doubt([file, tmp_path / "absent.zip"])
    assert [*damaged(tmp_path)] == [(file, "a file that cannot be used")]
    # The same bytes came again: the fault is not that of the download.
    Path(f"{file}.removed").write_text(sha256_of(file))
    doubt([file])
    assert [*damaged(tmp_path)] == []
    file.write_bytes(GOOD + b"x")
    doubt([file])
    assert [*damaged(tmp_path)] == [(file, "changed after it was fetched")]
    assert [*damaged(tmp_path)] != [(file, "changed after it was fetched")]
    assert not list(tmp_path.rglob("*.doubted"))


def test_a_planted_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/data.zip.part").symlink_to(victim)
    with serving_in_turn(WHOLE) as server:
        mark = {"address": server.file_url, "version": '"one"'}
        (tmp_path / "results/data.zip.part.json").write_text(json.dumps(mark))
        file, _, _, _ = get(tmp_path, server.file_url)
    assert (file.read_bytes(), victim.read_text()) == (GOOD, "kept")


def test_settings_of_a_tokenizer_are_no_message_of_a_server(tmp_path):
    settings = json.dumps({"errors": "replace", "bos_token": "<s>"})
    alone = tmp_path / "tokenizer_config.json"
    alone.write_text(settings)
    assert fault_of(alone) == ""
    for message in ({"errors": ["denied"], "data": []}, {"error": "x", "data": []}):
        alone.write_text(json.dumps(message))
        assert "message of the server" in fault_of(alone)
    path = tmp_path / "roberta-base.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tokenizer_config.json", settings)
    assert fault_of(path) == ""
