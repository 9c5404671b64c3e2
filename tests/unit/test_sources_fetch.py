"""Fetching: from a mirror folder, and over real HTTP from a server that misbehaves in every way we know."""

import gzip
import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from lextables.pipeline.errors import BadInput
from lextables.sources.fetch import ByHand, NotFetched, by_hand, fetch, kept, standing
from lextables.sources.registry import RELEASE, Candidate, SourceFile, load, resolve
from lextables.sources.transfer import Client

BODY = bytes(range(256)) * 40
SIZE = len(BODY)
OTHER = BODY[::-1]
ONE, TWO = '"one"', '"two"'


def digest(body, kind="sha256"):
    if kind == "git-blob":
        return "git-blob:" + hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
    return f"{kind}:{hashlib.new(kind, body).hexdigest()}"


@dataclass
class Answer:
    """One answer of the server.

    It sends the first ``cut`` bytes of what was asked for, announces ``length`` bytes (None: as many as
    there are; 0: says nothing), and honours Range and If-Range where ``ranges`` says so: "yes", "no", or
    "blindly", without a look at If-Range.
    """

    body: bytes = BODY
    status: int = 200
    version: str | None = ONE
    headers: dict = field(default_factory=dict)
    cut: int | None = None
    length: int | None = None
    ranges: str = "yes"
    stall: float = 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        asked, version = self.headers.get("Range"), self.headers.get("If-Range")
        self.server.requests.append((self.path, asked, version))
        answers = self.server.answers[self.path]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        body, status, headers = answer.body, answer.status, dict(answer.headers)
        if answer.version:
            headers.setdefault("ETag", answer.version)
        fresh = answer.ranges == "blindly" or version in headers.values()
        if status == 200 and asked and answer.ranges != "no" and fresh:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            status = 206 if start < len(body) else 416
            headers.setdefault("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
            body = body[start:]
        if answer.length != 0:
            headers["Content-Length"] = str(answer.length or len(body))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if answer.stall:
            self.wfile.write(body[:100])
            self.wfile.flush()
            time.sleep(answer.stall)
            return
        # HTTP/1.0: the connection closes after the answer, so what is missing stays missing.
        self.wfile.write(body[: answer.cut])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.answers, running.requests = {}, []
        running.at = f"http://127.0.0.1:{running.server_port}"
        threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield running
        running.shutdown()


@dataclass
class Desk:
    """A registry with one file, ``acord/data.bin``, and everything that fetching it did."""

    folder: object
    server: object
    sleeps: list = field(default_factory=list)
    said: list = field(default_factory=list)

    def wanted(self, name="data.bin", **file):
        file = {"addresses": [f"{self.server.at}/a"], "size": SIZE, "digest": digest(BODY)} | file
        entry = {"title": "A", "licence": "CC0", "citation": "A 2020", "homepage": "https://example.org"}
        content = {"acord": entry | {"files": {name: {k: v for k, v in file.items() if v is not None}}}}
        path = self.folder / "sources.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return resolve(load(path), "acord", name)

    def fetch(self, wanted, attempts=5, timeouts=(5, 5), **options):
        client = Client(attempts=attempts, timeouts=timeouts, sleep=self.sleeps.append)
        place = self.folder / "results" / wanted.source / wanted.file
        return fetch(wanted, place, client=client, say=self.said.append, **options)

    def refusal(self, wanted, **options):
        with pytest.raises(BadInput) as error:
            self.fetch(wanted, **options)
        return str(error.value).replace(self.server.at, "S").replace(str(self.folder), "T")

    def mirror(self, body, name="data.bin", folder="mirror"):
        path = self.folder / folder / "acord" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        return self.folder / folder

    @property
    def file(self):
        return self.folder / "results/acord/data.bin"

    @property
    def left(self):
        return sorted(p.name for p in self.file.parent.iterdir()) if self.file.parent.exists() else []

    @property
    def ranges(self):
        return [(asked, version) for _, asked, version in self.server.requests]


@pytest.fixture
def desk(tmp_path, server):
    return Desk(tmp_path, server)


FETCHED = ["LICENCE.txt", "data.bin", "data.bin.json"]
PART = ["data.bin.part", "data.bin.part.json"]
WHOLE = (None, None)
LATER = "try again later, or put the file at <folder>/acord/data.bin and set mirror to that folder."
CHANGED = "see https://example.org, and correct the registry only if the publication has changed."


# ---------------------------------------------------------------------------------------- over HTTP


def test_a_file_comes_with_its_provenance_and_says_first_what_it_does(desk, server):
    server.answers["/a"] = [Answer()]
    desk.fetch(desk.wanted())
    assert desk.file.read_bytes() == BODY
    assert json.loads((desk.file.parent / "data.bin.json").read_text()) == {
        "source": "acord",
        "file": "data.bin",
        "variant": "release",
        "comparable": True,
        "digest": digest(BODY),
        "bytes": SIZE,
        "obtained_from": f"{server.at}/a",
        "licence": "CC0",
        "citation": "A 2020",
        "note": "",
    }
    assert desk.said == [
        f"acord/data.bin: 10,240 bytes from {server.at}/a",
        "A\nLicence: CC0\nPlease cite: A 2020\nhttps://example.org",
    ]
    assert (desk.left, desk.ranges, desk.sleeps) == (FETCHED, [WHOLE], [])


def test_the_licence_is_said_once_a_source_whatever_folder_the_file_is_in(desk, server):
    server.answers["/a"] = [Answer()]
    for name in ("data.bin", "us/1.zip", "us/2.zip"):
        desk.fetch(desk.wanted(name))
    assert sum("Licence: CC0" in line for line in desk.said) == 1
    assert not (desk.file.parent / "us/LICENCE.txt").exists()


@pytest.mark.parametrize("kind", ["sha256", "md5", "git-blob"])
def test_every_kind_of_digest_is_checked(desk, server, kind):
    server.answers["/a"] = [Answer()]
    assert desk.fetch(desk.wanted(digest=digest(BODY, kind), size=None)).digest == digest(BODY)
    desk.file.unlink()
    sentence = desk.refusal(desk.wanted(digest=digest(OTHER, kind)))
    assert (
        f"sent bytes with digest {digest(BODY, kind)} where the registry has {digest(OTHER, kind)}"
        in sentence
    )


def test_a_cut_transfer_goes_on_where_it_stopped(desk, server):
    server.answers["/a"] = [Answer(cut=4000), Answer(cut=3000), Answer()]
    desk.fetch(desk.wanted())
    assert desk.file.read_bytes() == BODY
    assert desk.ranges == [WHOLE, ("bytes=4000-", ONE), ("bytes=7000-", ONE)]
    assert (desk.sleeps, desk.left) == ([1, 2], FETCHED)


def test_a_later_run_goes_on_from_the_part_that_a_failed_one_kept(desk, server):
    server.answers["/a"] = [Answer(cut=4000)]
    assert desk.refusal(desk.wanted(), attempts=1) == (
        "acord/data.bin could not be fetched: S/a was cut after 4,000 bytes at the last of 1 attempts; "
        + LATER
    )
    assert (desk.left, (desk.file.parent / "data.bin.part").read_bytes()) == (PART, BODY[:4000])
    server.answers["/a"] = [Answer()]
    desk.fetch(desk.wanted())
    assert (desk.file.read_bytes(), desk.ranges[1:]) == (BODY, [("bytes=4000-", ONE)])


def test_a_server_that_ignores_range_starts_the_file_over(desk, server):
    server.answers["/a"] = [Answer(cut=4000), Answer(ranges="no")]
    desk.fetch(desk.wanted())
    assert (desk.file.read_bytes(), desk.ranges) == (BODY, [WHOLE, ("bytes=4000-", ONE)])


def test_a_file_that_changed_between_two_attempts_is_not_spliced(desk, server):
    server.answers["/a"] = [Answer(cut=4000), Answer(OTHER, version=TWO)]
    desk.fetch(desk.wanted(digest=None, unpinned="none is published"))
    assert (desk.file.read_bytes(), desk.ranges) == (OTHER, [WHOLE, ("bytes=4000-", ONE)])


def test_nor_is_it_when_the_server_ignores_if_range(desk, server):
    changed = Answer(OTHER, version=TWO, ranges="blindly")
    server.answers["/a"] = [Answer(cut=4000), changed, changed]
    desk.fetch(desk.wanted(digest=None, unpinned="none is published"))
    assert (desk.file.read_bytes(), desk.ranges) == (OTHER, [WHOLE, ("bytes=4000-", ONE), WHOLE])
    assert desk.sleeps == [1, 0]


def test_another_part_than_the_one_asked_for_is_not_spliced(desk, server):
    shifted = Answer(headers={"Content-Range": f"bytes 4001-{SIZE - 1}/{SIZE}"})
    server.answers["/a"] = [Answer(cut=4000), shifted, Answer()]
    desk.fetch(desk.wanted())
    assert (desk.file.read_bytes(), desk.ranges) == (BODY, [WHOLE, ("bytes=4000-", ONE), WHOLE])


def test_a_part_of_one_address_is_not_continued_from_another(desk, server):
    server.answers |= {"/a": [Answer(cut=4000), Answer(status=404)], "/b": [Answer()]}
    desk.fetch(desk.wanted(addresses=[f"{server.at}/a", f"{server.at}/b"]))
    assert server.requests == [("/a", *WHOLE), ("/a", "bytes=4000-", ONE), ("/b", *WHOLE)]
    assert desk.file.read_bytes() == BODY


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize(
    ("version", "headers", "second"),
    [
        (None, {}, WHOLE),
        ('W/"weak"', {}, WHOLE),
        (None, {"Last-Modified": DATE}, ("bytes=4000-", DATE)),
        ('W/"weak"', {"Last-Modified": DATE}, ("bytes=4000-", DATE)),
    ],
    ids=["nothing", "a weak ETag", "Last-Modified", "Last-Modified beside a weak ETag"],
)
def test_only_what_names_a_version_is_continued(desk, server, version, headers, second):
    server.answers["/a"] = [
        Answer(cut=4000, version=version, headers=headers),
        Answer(version=version, headers=headers),
    ]
    desk.fetch(desk.wanted())
    assert (desk.file.read_bytes(), desk.ranges) == (BODY, [WHOLE, second])


def test_a_part_that_is_as_long_as_the_file_is_fetched_again(desk, server):
    server.answers["/a"] = [Answer(cut=4000)]
    desk.refusal(desk.wanted(), attempts=1)
    (desk.file.parent / "data.bin.part").write_bytes(OTHER)
    server.answers["/a"] = [Answer()]
    desk.fetch(desk.wanted())
    assert (desk.file.read_bytes(), desk.ranges[1:]) == (BODY, [(f"bytes={SIZE}-", ONE), WHOLE])


def test_a_spoilt_part_is_found_out_by_the_digest(desk, server):
    server.answers["/a"] = [Answer(cut=4000)]
    desk.refusal(desk.wanted(), attempts=1)
    (desk.file.parent / "data.bin.part").write_bytes(OTHER[:4000])
    server.answers["/a"] = [Answer()]
    spliced = digest(OTHER[:4000] + BODY[4000:])
    assert f"sent bytes with digest {spliced} where" in desk.refusal(desk.wanted())
    assert desk.left == []


def test_wrong_bytes_are_answered_by_a_sentence_and_not_kept(desk, server):
    server.answers["/a"] = [Answer(OTHER)]
    sentence = (
        f"acord/data.bin could not be fetched: S/a sent bytes with digest {digest(OTHER)}"
        f" where the registry has {digest(BODY)}; {CHANGED}"
    )
    assert desk.refusal(desk.wanted()) == sentence
    assert desk.left == []
    assert desk.refusal(desk.wanted()) == sentence
    assert (desk.ranges, desk.sleeps) == ([WHOLE, WHOLE], [])


def test_a_failure_keeps_the_file_that_was_there(desk, server):
    desk.file.parent.mkdir(parents=True)
    desk.file.write_bytes(b"before")
    server.answers["/a"] = [Answer(OTHER)]
    desk.refusal(desk.wanted())
    assert desk.file.read_bytes() == b"before"


def test_the_next_address_is_asked_at_once_after_404_or_wrong_bytes(desk, server):
    server.answers |= {"/a": [Answer(status=404)], "/b": [Answer(OTHER)], "/c": [Answer()]}
    addresses = [f"{server.at}/{letter}" for letter in "abc"]
    assert desk.fetch(desk.wanted(addresses=addresses)).obtained_from == addresses[2]
    assert (desk.file.read_bytes(), desk.sleeps) == (BODY, [])
    assert [path for path, _, _ in server.requests] == ["/a", "/b", "/c"]
    assert desk.said[1] == f"acord/data.bin: {addresses[0]} answered 404 Not Found"


def test_when_every_address_fails_each_has_its_reason(desk, server):
    server.answers |= {"/a": [Answer(status=404)], "/b": [Answer(status=503)]}
    gone = "http://127.0.0.1:9/c"
    wanted = desk.wanted(addresses=[f"{server.at}/a", f"{server.at}/b", gone])
    assert desk.refusal(wanted, attempts=2) == (
        "acord/data.bin could not be fetched: S/a answered 404 Not Found, and"
        " S/b answered 503 Service Unavailable at the last of 2 attempts, and"
        f" {gone} gave no answer (ConnectionError) at the last of 2 attempts; {LATER}"
    )
    assert (desk.sleeps, desk.left) == ([1, 1], [])


def test_the_waits_double_and_end(desk, server):
    server.answers["/a"] = [Answer(status=503)]
    desk.refusal(desk.wanted())
    assert (desk.sleeps, len(server.requests)) == ([1, 2, 4, 8], 5)


@pytest.mark.parametrize(
    ("status", "retry_after", "slept"),
    [
        (503, None, 1),
        (500, "soon", 1),
        (503, "7", 7),
        (429, "7", 7),
        (429, "86400", 120),
        (429, "Wed, 21 Oct 2015 07:28:00 GMT", 0),
        (429, "Wed, 21 Oct 2215 07:28:00 GMT", 120),
    ],
)
def test_retry_after_is_honoured_in_seconds_or_as_a_date(desk, server, status, retry_after, slept):
    headers = {"Retry-After": retry_after} if retry_after else {}
    server.answers["/a"] = [Answer(b"", status=status, headers=headers), Answer()]
    desk.fetch(desk.wanted())
    assert (desk.file.read_bytes(), desk.sleeps, len(server.requests)) == (BODY, [slept], 2)


@pytest.mark.parametrize(
    ("answer", "size", "reason", "do"),
    [
        (Answer(length=SIZE + 5), SIZE, "announces 10,245 bytes where the registry has 10,240", CHANGED),
        (Answer(length=5), SIZE, "announces 5 bytes where the registry has 10,240", CHANGED),
        (Answer(length=SIZE + 5), None, "was cut after 10,240 bytes at the last of 1 attempts", LATER),
        (Answer(length=0, cut=9), SIZE, "was cut after 9 bytes at the last of 1 attempts", LATER),
        (
            Answer(BODY + b"x", length=0),
            SIZE,
            "sends more than the 10,240 bytes that the registry has",
            CHANGED,
        ),
        (
            Answer(length=5),
            None,
            f"sent bytes with digest {digest(BODY[:5])} where the registry has {digest(BODY)}",
            CHANGED,
        ),
        (
            Answer(gzip.compress(BODY), headers={"Content-Encoding": "gzip"}),
            None,
            "sent the file encoded as gzip",
            LATER,
        ),
    ],
)
def test_a_server_that_lies_about_the_length_is_found_out(desk, server, answer, size, reason, do):
    server.answers["/a"] = [answer]
    sentence = desk.refusal(desk.wanted(size=size), attempts=1)
    assert sentence == f"acord/data.bin could not be fetched: S/a {reason}; {do}"
    assert not desk.file.exists()


def test_a_length_that_nobody_gives_is_lived_with_except_under_a_git_blob(desk, server):
    server.answers["/a"] = [Answer(length=0)]
    desk.fetch(desk.wanted(size=None))
    assert desk.file.read_bytes() == BODY
    sentence = desk.refusal(desk.wanted(size=None, digest=digest(BODY, "git-blob")))
    assert "S/a does not say how long the file is, which its git-blob digest covers;" in sentence
    desk.fetch(desk.wanted(digest=digest(BODY, "git-blob")))


def test_a_file_in_chunks_is_put_together_and_a_missing_chunk_is_a_cut(desk, server):
    half = SIZE // 2
    chunks = b"".join(b"%x\r\n%s\r\n" % (half, part) for part in (BODY[:half], BODY[half:]))
    chunked = {"Transfer-Encoding": "chunked"}
    server.answers["/a"] = [
        Answer(chunks, length=0, headers=chunked, version=None, cut=6 + half + 8),
        Answer(chunks + b"0\r\n\r\n", length=0, headers=chunked, version=None),
    ]
    desk.fetch(desk.wanted(size=None))
    assert (desk.file.read_bytes(), desk.ranges, desk.sleeps) == (BODY, [WHOLE, WHOLE], [1])


def test_silence_in_the_middle_is_a_cut(desk, server):
    server.answers["/a"] = [Answer(stall=0.6), Answer()]
    desk.fetch(desk.wanted(), timeouts=(5, 0.2))
    assert (desk.file.read_bytes(), desk.ranges) == (BODY, [WHOLE, ("bytes=100-", ONE)])


def test_a_disk_without_room_is_named_before_anything_is_asked(desk, server):
    server.answers["/a"] = [Answer()]
    assert desk.refusal(desk.wanted(), free=lambda _: SIZE - 1) == (
        "acord/data.bin needs 10,240 bytes more, and the disk of T/results/acord has 10,239; free some space."
    )
    assert server.requests == []
    desk.fetch(desk.wanted(), free=lambda _: SIZE)


def test_a_file_of_unknown_size_is_measured_by_its_announcement(desk, server):
    server.answers["/a"] = [Answer()]
    sentence = desk.refusal(desk.wanted(size=None), free=lambda _: 12)
    assert "needs 10,240 bytes more, and the disk of T/results/acord has 12;" in sentence
    assert not (desk.file.parent / "data.bin.part").exists()


def test_only_what_is_still_to_come_needs_room(desk, server):
    server.answers["/a"] = [Answer(cut=4000), Answer()]
    desk.refusal(desk.wanted(), attempts=1)
    desk.fetch(desk.wanted(), free=lambda _: SIZE - 4000)
    assert desk.file.read_bytes() == BODY


def test_progress_goes_to_standard_error(desk, server, capsys):
    server.answers["/a"] = [Answer()]
    desk.fetch(desk.wanted())
    assert "data.bin: 100%" in capsys.readouterr().err


# --------------------------------------------------------------------------------------- by a mirror

REBUILT = {"rebuilt": {"comparable": True, "note": "built again", "size": SIZE, "digest": digest(OTHER)}}
STAND_IN = {"stand_in": {"comparable": False, "note": "others", "digest": digest(b"x"), "named": "other.bin"}}
SAMPLE = {"sample": {"comparable": False, "note": "ours", "unpinned": "kept with the code"}}


def test_a_mirror_goes_before_every_address_and_is_not_recorded_by_its_path(desk, server):
    mirror = desk.mirror(BODY)
    came = desk.fetch(desk.wanted(), mirrors=[desk.folder / "none", mirror])
    assert (came.variant, came.comparable, came.obtained_from) == ("release", True, "mirror")
    assert (desk.file.read_bytes(), desk.left, server.requests) == (BODY, FETCHED, [])
    assert desk.said[0] == "acord/data.bin: 10,240 bytes from the mirror"
    assert str(desk.folder) not in (desk.file.parent / "data.bin.json").read_text()


def test_the_copy_is_a_file_of_its_own(desk):
    mirror = desk.mirror(BODY)
    desk.fetch(desk.wanted(), mirrors=[mirror])
    desk.file.write_bytes(b"changed")
    assert (mirror / "acord/data.bin").read_bytes() == BODY
    assert not desk.file.is_symlink()


def test_a_declared_variant_is_accepted_under_its_name_where_it_is_allowed(desk):
    wanted = desk.wanted(variants=REBUILT | STAND_IN)
    came = desk.fetch(wanted, mirrors=[desk.mirror(OTHER)], variants=["release", "rebuilt"])
    assert (came.variant, came.comparable, came.note, came.digest) == (
        "rebuilt",
        True,
        "built again",
        digest(OTHER),
    )
    other = desk.mirror(b"x", "other.bin", "second")
    came = desk.fetch(wanted, mirrors=[other], variants=["release", "stand_in"])
    assert (came.variant, came.comparable, desk.file.read_bytes()) == ("stand_in", False, b"x")


def test_a_declared_variant_is_refused_where_it_is_not_allowed(desk, server):
    sentence = desk.refusal(desk.wanted(variants=REBUILT), mirrors=[desk.mirror(OTHER)])
    assert sentence == (
        "T/mirror/acord/data.bin: this is the variant 'rebuilt' of acord/data.bin,"
        " which this run may not use."
    )
    assert (desk.left, server.requests) == ([], [])


@pytest.mark.parametrize(
    "body", [OTHER + b"longer", OTHER[1:] + b"x"], ids=["a greater size", "the same size"]
)
def test_other_bytes_in_a_mirror_are_answered_by_a_sentence(desk, server, body):
    wanted = desk.wanted(variants=REBUILT)
    assert desk.refusal(wanted, mirrors=[desk.mirror(body)], variants=["release", "rebuilt"]) == (
        f"T/mirror/acord/data.bin: {len(body):,} bytes with digest {digest(body)} are none of those"
        f" registered for acord/data.bin (release {digest(BODY)}, rebuilt {digest(OTHER)});"
        " replace the file by the published one, or declare a variant in the registry."
    )
    assert (desk.left, server.requests) == ([], [])


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        (b"", "an empty file"),
        (
            b"\xef\xbb\xbf\n <!DOCTYPE HTML><title>Sign in</title>",
            "a web page, such as one that asks to log in",
        ),
        (b"<html>" * SIZE, "a web page, such as one that asks to log in"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS, which holds no data"),
    ],
)
def test_what_lies_in_place_of_a_file_is_named(desk, body, seen):
    assert desk.refusal(desk.wanted(), mirrors=[desk.mirror(body)]) == (
        f"T/mirror/acord/data.bin: this is {seen}, and not acord/data.bin;"
        " put the published file in its place."
    )


@pytest.mark.parametrize(
    ("place", "do"),
    [
        ("data.bin", "T/m/data.bin has its name: move it to T/m/acord/data.bin."),
        ("acord/data (1).bin", "rename T/m/acord/data (1).bin to data.bin if it is that."),
        (
            "acord/data.bin/part",
            "T/m/acord/data.bin is a folder: put the file itself there, as it was published.",
        ),
        (
            "acord/readme.txt",
            "try again later, or put the file at <folder>/acord/data.bin and set mirror to that",
        ),
    ],
)
def test_a_file_beside_its_place_is_found_where_no_address_answers(desk, server, tmp_path, place, do):
    server.answers["/a"] = [Answer(status=404)]
    (tmp_path / "m" / place).parent.mkdir(parents=True)
    (tmp_path / "m" / place).write_bytes(BODY)
    assert f"; {do}" in desk.refusal(desk.wanted(), mirrors=[tmp_path / "m"])


@pytest.mark.parametrize("kind", ["sha256", "md5", "git-blob"])
def test_a_mirror_is_checked_by_every_kind_of_digest(desk, kind):
    came = desk.fetch(desk.wanted(digest=digest(BODY, kind), size=None), mirrors=[desk.mirror(BODY)])
    assert (came.variant, came.digest) == ("release", digest(BODY))


def test_a_pinned_variant_is_told_from_bytes_that_nothing_pins(desk):
    wanted = desk.wanted(digest=None, size=None, unpinned="none is published", variants=REBUILT)
    allowed = wanted.variants_for("release")
    assert desk.fetch(wanted, mirrors=[desk.mirror(OTHER)], variants=allowed).variant == "rebuilt"
    came = desk.fetch(wanted, mirrors=[desk.mirror(BODY)], variants=allowed)
    assert (came.variant, came.comparable, came.note) == ("unverified", False, "none is published")


def test_what_an_address_gives_unchecked_is_unverified(desk, server):
    server.answers["/a"] = [Answer()]
    came = desk.fetch(desk.wanted(digest=None, size=None, unpinned="none is published"))
    assert (came.variant, came.comparable) == ("unverified", False)


def test_what_was_fetched_is_known_again_while_it_is_that(desk, server):
    server.answers["/a"] = [Answer()]
    wanted = desk.wanted()
    assert kept(wanted, desk.file) is None
    came = desk.fetch(wanted)
    assert kept(wanted, desk.file) == came
    unpinned = desk.wanted(digest=None, size=None, unpinned="none is published")
    assert kept(unpinned, desk.file) is None, "the registry no longer says what these bytes are"
    desk.file.write_bytes(BODY[:-1] + b"x")
    assert kept(wanted, desk.file) is None
    desk.file.unlink()
    assert kept(wanted, desk.file) is None


def test_bytes_that_nothing_pins_are_held_to_their_own_provenance(desk, server):
    server.answers["/a"] = [Answer()]
    wanted = desk.wanted(digest=None, size=None, unpinned="none is published")
    came = desk.fetch(wanted)
    assert kept(wanted, desk.file) == came
    desk.file.write_bytes(OTHER)
    assert kept(wanted, desk.file) is None


def test_a_size_is_checked_where_no_digest_is(desk):
    wanted = desk.wanted(digest=None, unpinned="none is published")
    sentence = desk.refusal(wanted, mirrors=[desk.mirror(b"too long" * SIZE)])
    assert "are none of those registered for acord/data.bin (unverified without a digest);" in sentence
    sentence = desk.refusal(wanted, mirrors=[desk.mirror(b"short")])
    assert sentence == (
        f"T/mirror/acord/data.bin: 5 bytes, where acord/data.bin as published has {SIZE:,};"
        " copy or fetch it again."
    )


def test_the_sample_is_taken_only_by_a_run_on_the_sample(desk, server):
    wanted = desk.wanted(variants=SAMPLE)
    sample = desk.mirror(b"ours", folder="sample")
    came = desk.fetch(wanted, mirrors=[sample], variants=wanted.variants_for("sample"))
    assert (came.variant, came.comparable, desk.file.read_bytes()) == ("sample", False, b"ours")
    refused = desk.refusal(wanted, mirrors=[sample], variants=wanted.variants_for("release"))
    assert refused.startswith("T/sample/acord/data.bin: 4 bytes, where acord/data.bin as published has")
    assert server.requests == []


def test_a_run_on_the_sample_asks_no_address(desk, server):
    wanted = desk.wanted(variants=SAMPLE)
    assert desk.refusal(wanted, mirrors=["resources/none"], variants=["sample"]) == (
        "acord/data.bin (sample) is not in resources/none; put it there as acord/data.bin."
    )
    assert server.requests == []


def test_a_disk_without_room_for_a_mirrors_file_is_named(desk):
    sentence = desk.refusal(desk.wanted(), mirrors=[desk.mirror(BODY)], free=lambda _: 12)
    assert "needs 10,240 bytes more, and the disk of T/results/acord has 12;" in sentence
    assert desk.left == []


def test_a_gated_file_gives_its_instructions_as_a_record_until_a_mirror_has_it(desk):
    wanted = desk.wanted(
        addresses=None, digest=None, size=None, unpinned="none is published", gated={"instructions": "ask A"}
    )
    record = ByHand("acord", "data.bin", "CC0", "https://example.org", "ask A")
    assert by_hand(wanted, [], ["unverified"]) == record
    with pytest.raises(NotFetched) as error:
        desk.fetch(wanted)
    assert error.value.record == record
    assert str(error.value) == (
        "acord/data.bin is fetched by hand: ask A;"
        " put it at <folder>/acord/data.bin and set mirror to that folder."
    )
    mirror = desk.mirror(BODY)
    assert by_hand(wanted, [mirror], ["unverified"]) is None
    assert desk.fetch(wanted, mirrors=[mirror]).digest == digest(BODY)


def test_the_same_bytes_give_the_same_provenance(desk):
    mirror, written = desk.mirror(BODY), desk.folder / "results/acord/data.bin.json"
    desk.fetch(desk.wanted(), mirrors=[mirror])
    first = written.read_bytes()
    desk.fetch(desk.wanted(), mirrors=[mirror])
    assert written.read_bytes() == first


PINNED, UNPINNED = (
    SourceFile("src", "f.zip", "", "", "", "", ("http://x",), None, (candidate,))
    for candidate in (Candidate(RELEASE, "f.zip", 1, pin, True, "") for pin in ("md5:1", None))
)


@pytest.fixture
def stands(tmp_path):
    """What stands for a file: bytes of the mirrors, in order, after a fetch of bytes from a place."""

    def ask(wanted, *mirrors, fetched=None, place="mirror"):
        folders = [tmp_path / str(number) for number in range(len(mirrors))]
        for folder, body in zip(folders, mirrors, strict=True):
            (folder / "src").mkdir(parents=True, exist_ok=True)
            (folder / "src/f.zip").write_bytes(body)
        record = {"digest": digest(fetched), "obtained_from": place} if fetched else None
        return standing(wanted, folders, [RELEASE], record, lambda path: digest(path.read_bytes()))

    return ask


@pytest.mark.parametrize("wanted", [PINNED, UNPINNED], ids=["pinned", "unpinned"])
def test_what_stands_for_a_file_changes_with_the_bytes_and_not_with_the_place(stands, wanted):
    first = stands(wanted, b"a")
    assert stands(wanted, b"a", fetched=b"a") == first  # the plan after the fetch
    assert stands(wanted, b"a", b"b", fetched=b"a") == first  # another file behind it
    assert stands(wanted, fetched=b"a") == first  # the mirror is gone
    assert stands(wanted, b"b", b"a", fetched=b"a") not in ("", first)  # another file before it
    assert stands(wanted, b"b", fetched=b"b") == stands(wanted, b"b", fetched=b"a")  # after that fetch


@pytest.mark.parametrize("wanted", [PINNED, UNPINNED], ids=["pinned", "unpinned"])
def test_what_came_from_an_address_stands_until_a_mirror_has_other_bytes(stands, wanted):
    first = stands(wanted)
    assert stands(wanted, fetched=b"a", place="http://x") == first
    assert stands(wanted, b"a", fetched=b"a", place="http://x") == first
    assert stands(wanted, b"b", fetched=b"a", place="http://x") != first
