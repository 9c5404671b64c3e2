"""Fetching files from a mirror folder, and over HTTP from a server that gives
errors.
"""

import gzip
import hashlib
import json
from dataclasses import dataclass, field

import pytest

from helpers.http_server import answer, serving
from helpers.source_registry import registry
from lextables.pipeline.errors import BadInput
from lextables.sources.entries import RELEASE, Candidate, SourceFile, resolve
from lextables.sources.fetch import (
    ManualDownload,
    NotFetched,
    content_key,
    fetch,
    fetched_before,
    manual_download,
)
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
    """An answer of the server.

    It sends the first ``cut`` bytes of the requested range and announces ``length``
    bytes (None: the actual number; 0: no announcement).  ``ranges`` says whether Range
    is honoured: "yes", "no", or "blindly" (without checking If-Range).
    """

    body: bytes = BODY
    status: int = 200
    version: str | None = ONE
    headers: dict = field(default_factory=dict)
    cut: int | None = None
    length: int | None = None
    ranges: str = "yes"
    stall: float = 0

    def sent(self, request):
        """The pieces that this answer sends to a request."""
        body, status, headers = self.body, self.status, dict(self.headers)
        asked = request.headers.get("Range")
        if self.version:
            headers.setdefault("ETag", self.version)
        version = request.headers.get("If-Range")
        fresh = self.ranges == "blindly" or version in headers.values()
        if status == 200 and asked and self.ranges != "no" and fresh:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            status = 206 if start < len(body) else 416
            part = f"bytes {start}-{len(body) - 1}/{len(body)}"
            headers.setdefault("Content-Range", part)
            body = body[start:]
        lines = [f"{name}: {value}" for name, value in headers.items()]
        length = len(body) if self.length is None else self.length
        head = answer(b"", *lines, status=status, length=length)
        if self.stall:
            return [head, body[:100], self.stall]
        return [head, body[: self.cut]]


@pytest.fixture
def server():
    """Sends the answers of each path in turn, and the last one again."""
    answers = {}

    def respond(request):
        of_path = answers[request.path]
        return (of_path.pop(0) if len(of_path) > 1 else of_path[0]).sent(request)

    with serving(respond) as running:
        running.answers = answers
        yield running


@dataclass
class Fetcher:
    """A registry with one file, ``acord/data.bin``, and the waits and messages of
    fetching it.
    """

    folder: object
    server: object
    sleeps: list = field(default_factory=list)
    messages: list = field(default_factory=list)

    def wanted(self, name="data.bin", **changes):
        file = {
            "addresses": [f"{self.server.url}/a"],
            "size": SIZE,
            "digest": digest(BODY),
        } | changes
        return resolve(registry(self.folder, "acord", {name: file}), "acord", name)

    def fetch(self, wanted, attempts=5, timeouts=(5, 5), **options):
        client = Client(attempts=attempts, timeouts=timeouts, sleep=self.sleeps.append)
        place = self.folder / "results" / wanted.source / wanted.file
        return fetch(wanted, place, client=client, say=self.messages.append, **options)

    def error(self, wanted, **options):
        with pytest.raises(BadInput) as raised:
            self.fetch(wanted, **options)
        message = str(raised.value).replace(self.server.url, "S")
        return message.replace(str(self.folder), "T")

    def mirror(self, body, name="data.bin", folder="mirror"):
        path = self.folder / folder / "acord" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        return self.folder / folder

    @property
    def file(self):
        return self.folder / "results/acord/data.bin"

    @property
    def files(self):
        names = sorted(path.name for path in self.file.parent.glob("*"))
        return [name for name in names if not name.endswith(".json.sha256")]

    @property
    def requests(self):
        """(path, Range, If-Range) of each request."""
        requests = []
        for request in self.server.requests:
            asked = request.headers.get("Range"), request.headers.get("If-Range")
            requests.append((request.path, *asked))
        return requests

    @property
    def ranges(self):
        return [asked[1:] for asked in self.requests]


@pytest.fixture
def fetcher(tmp_path, server):
    return Fetcher(tmp_path, server)


COMPLETE = ["LICENCE.txt", "data.bin", "data.bin.json"]
PART = ["data.bin.part", "data.bin.part.json"]
WHOLE = (None, None)
FROM_4000 = ("bytes=4000-", ONE)
UNPINNED = {"digest": None, "unpinned": "none is published"}
LATER = "try again later, or put the file at <folder>/acord/data.bin and set mirror to that folder."
CHANGED = "see https://example.org, and correct the registry only if the publication has changed."


# Over HTTP


def test_a_file_is_fetched_with_provenance_and_messages(fetcher, server):
    server.answers["/a"] = [Answer()]
    fetcher.fetch(fetcher.wanted())
    assert fetcher.file.read_bytes() == BODY
    assert json.loads((fetcher.file.parent / "data.bin.json").read_text()) == {
        "source": "acord",
        "file": "data.bin",
        "variant": "release",
        "comparable": True,
        "digest": digest(BODY),
        "bytes": SIZE,
        "obtained_from": f"{server.url}/a",
        "licence": "CC0",
        "citation": "A 2020",
        "note": "",
    }
    licence = "A (CC0); please cite A 2020"
    assert fetcher.messages == [
        f"acord/data.bin: 10,240 bytes from {server.url}/a",
        licence,
    ]
    assert (fetcher.files, fetcher.ranges, fetcher.sleeps) == (COMPLETE, [WHOLE], [])
    # The licence is reported once per source.
    fetcher.fetch(fetcher.wanted("us/1.zip"))
    assert fetcher.messages.count(licence) == 1
    assert not (fetcher.file.parent / "us/LICENCE.txt").exists()


@pytest.mark.parametrize("kind", ["sha256", "md5", "git-blob"])
def test_each_kind_of_digest_is_checked(fetcher, server, kind):
    server.answers["/a"] = [Answer()]
    wanted = fetcher.wanted(digest=digest(BODY, kind), size=None)
    assert fetcher.fetch(wanted).digest == digest(BODY)
    assert fetcher.fetch(wanted, mirrors=[fetcher.mirror(BODY)]).variant == "release"
    message = fetcher.error(fetcher.wanted(digest=digest(OTHER, kind)))
    assert (
        f"sent bytes with digest {digest(BODY, kind)} where the registry has {digest(OTHER, kind)}"
        in message
    )


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
CHANGED_BLINDLY = Answer(OTHER, version=TWO, ranges="blindly")
SHIFTED = Answer(headers={"Content-Range": f"bytes 4001-{SIZE - 1}/{SIZE}"})


def versions(version, **headers):
    """Two answers with this ETag and these headers; the first is cut."""
    return [Answer(cut=cut, version=version, headers=headers) for cut in (4000, None)]


RESUMED = {
    "cut twice": (
        [Answer(cut=4000), Answer(cut=3000), Answer()],
        BODY,
        [FROM_4000, ("bytes=7000-", ONE)],
        [1, 2],
    ),
    "Range ignored": ([Answer(cut=4000), Answer(ranges="no")], BODY, [FROM_4000], [1]),
    "changed file": (
        [Answer(cut=4000), Answer(OTHER, version=TWO)],
        OTHER,
        [FROM_4000],
        [1],
    ),
    "changed file, If-Range ignored": (
        [Answer(cut=4000), CHANGED_BLINDLY, CHANGED_BLINDLY],
        OTHER,
        [FROM_4000, WHOLE],
        [1, 2],
    ),
    "another part": (
        [Answer(cut=4000), SHIFTED, Answer()],
        BODY,
        [FROM_4000, WHOLE],
        [1, 2],
    ),
    "no version": (versions(None), BODY, [WHOLE], [1]),
    "weak ETag": (versions('W/"weak"'), BODY, [WHOLE], [1]),
    "Last-Modified": (
        versions(None, **{"Last-Modified": DATE}),
        BODY,
        [("bytes=4000-", DATE)],
        [1],
    ),
    "Last-Modified and weak ETag": (
        versions('W/"weak"', **{"Last-Modified": DATE}),
        BODY,
        [("bytes=4000-", DATE)],
        [1],
    ),
    "no data for a while": (
        [Answer(stall=0.6), Answer()],
        BODY,
        [("bytes=100-", ONE)],
        [1],
    ),
}


@pytest.mark.parametrize("case", RESUMED)
def test_an_interrupted_download_is_resumed_if_the_file_is_the_same(
    fetcher, server, case
):
    server.answers["/a"], body, ranges, sleeps = map(list, RESUMED[case])
    fetcher.fetch(fetcher.wanted(**UNPINNED), timeouts=(5, 0.2))
    assert fetcher.file.read_bytes() == bytes(body)
    assert (fetcher.ranges, fetcher.sleeps, fetcher.files) == (
        [WHOLE, *ranges],
        sleeps,
        COMPLETE,
    )


def test_a_later_run_resumes_the_partial_file_of_a_failed_run(fetcher, server):
    server.answers["/a"] = [Answer(cut=4000)]
    assert fetcher.error(fetcher.wanted(), attempts=1) == (
        "acord/data.bin could not be fetched: S/a was cut after 4,000 bytes at the last of 1 attempts; "
        + LATER
    )
    assert (fetcher.files, (fetcher.file.parent / "data.bin.part").read_bytes()) == (
        PART,
        BODY[:4000],
    )
    server.answers["/a"] = [Answer()]
    # Only the missing bytes need space.
    fetcher.fetch(fetcher.wanted(), free=lambda _: SIZE - 4000)
    assert (fetcher.file.read_bytes(), fetcher.ranges[1:]) == (BODY, [FROM_4000])


def test_a_partial_file_is_not_resumed_from_another_address(fetcher, server):
    server.answers |= {"/a": [Answer(cut=4000), Answer(status=404)], "/b": [Answer()]}
    fetcher.fetch(fetcher.wanted(addresses=[f"{server.url}/a", f"{server.url}/b"]))
    assert fetcher.requests == [("/a", *WHOLE), ("/a", *FROM_4000), ("/b", *WHOLE)]
    assert fetcher.file.read_bytes() == BODY


def test_a_damaged_partial_file_is_fetched_again_or_rejected(fetcher, server):
    part = fetcher.file.parent / "data.bin.part"
    cut, whole = Answer(cut=4000), Answer()
    server.answers["/a"] = [cut, whole, whole, cut, whole]
    fetcher.error(fetcher.wanted(), attempts=1)
    part.write_bytes(OTHER)
    fetcher.fetch(fetcher.wanted())
    assert fetcher.file.read_bytes() == BODY
    fetcher.error(fetcher.wanted(), attempts=1)
    part.write_bytes(OTHER[:4000])
    spliced = digest(OTHER[:4000] + BODY[4000:])
    message = f"sent bytes with digest {spliced} where"
    assert message in fetcher.error(fetcher.wanted())
    assert not part.exists()
    whole_part = (f"bytes={SIZE}-", ONE)
    assert fetcher.ranges == [WHOLE, whole_part, WHOLE, WHOLE, FROM_4000]


def test_wrong_bytes_are_rejected_and_the_previous_file_is_kept(fetcher, server):
    fetcher.file.parent.mkdir(parents=True)
    fetcher.file.write_bytes(b"before")
    server.answers["/a"] = [Answer(OTHER)]
    for _ in range(2):
        assert fetcher.error(fetcher.wanted()) == (
            f"acord/data.bin could not be fetched: S/a sent bytes with digest {digest(OTHER)}"
            f" where the registry has {digest(BODY)}; {CHANGED}"
        )
        assert (fetcher.files, fetcher.file.read_bytes()) == (["data.bin"], b"before")
    assert (fetcher.ranges, fetcher.sleeps) == ([WHOLE, WHOLE], [])


def test_the_next_address_is_tried_immediately_after_404_or_wrong_bytes(
    fetcher, server
):
    server.answers |= {
        "/a": [Answer(status=404)],
        "/b": [Answer(OTHER)],
        "/c": [Answer()],
    }
    addresses = [f"{server.url}/{letter}" for letter in "abc"]
    assert (
        fetcher.fetch(fetcher.wanted(addresses=addresses)).obtained_from == addresses[2]
    )
    assert (fetcher.file.read_bytes(), fetcher.sleeps) == (BODY, [])
    assert [path for path, _, _ in fetcher.requests] == ["/a", "/b", "/c"]
    assert (
        fetcher.messages[1] == f"acord/data.bin: {addresses[0]} answered 404 Not Found"
    )


def test_if_all_addresses_fail_the_error_gives_each_reason(fetcher, server):
    server.answers |= {"/a": [Answer(status=404)], "/b": [Answer(status=503)]}
    closed = "http://127.0.0.1:9/c"
    wanted = fetcher.wanted(addresses=[f"{server.url}/a", f"{server.url}/b", closed])
    assert fetcher.error(wanted, attempts=2) == (
        "acord/data.bin could not be fetched: S/a answered 404 Not Found, and"
        " S/b answered 503 Service Unavailable at the last of 2 attempts, and"
        f" {closed} gave no answer (ConnectionError) at the last of 2 attempts; {LATER}"
    )
    assert (fetcher.sleeps, fetcher.files) == ([1, 1], [])


@pytest.mark.parametrize(
    ("status", "retry_after", "slept"),
    [
        (503, None, 1),
        (500, "soon", 1),
        (503, "7", 7),
        (429, "599", 599),
        (408, "0", 1),
        (429, "Wed, 21 Oct 2015 07:28:00 GMT", 1),
    ],
)
def test_retry_after_is_honoured_in_seconds_or_as_a_date(
    fetcher, server, status, retry_after, slept
):
    headers = {"Retry-After": retry_after} if retry_after else {}
    server.answers["/a"] = [Answer(b"", status=status, headers=headers), Answer()]
    fetcher.fetch(fetcher.wanted())
    assert (fetcher.file.read_bytes(), fetcher.sleeps, len(server.requests)) == (
        BODY,
        [slept],
        2,
    )


PACKED = Answer(gzip.compress(BODY), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    ("answer", "size", "reason", "do"),
    [
        (
            Answer(length=SIZE + 5),
            SIZE,
            "announces 10,245 bytes where the registry has 10,240",
            CHANGED,
        ),
        (
            Answer(length=5),
            SIZE,
            "announces 5 bytes where the registry has 10,240",
            CHANGED,
        ),
        (
            Answer(length=SIZE + 5),
            None,
            "was cut after 10,240 bytes at the last of 1 attempts",
            LATER,
        ),
        (
            Answer(length=0, cut=9),
            SIZE,
            "was cut after 9 bytes at the last of 1 attempts",
            LATER,
        ),
        (
            Answer(BODY + b"x", length=0),
            SIZE,
            "sends more than the 10,240 bytes that the reg",
            CHANGED,
        ),
        (
            Answer(length=5),
            None,
            f"sent bytes with digest {digest(BODY[:5])} where",
            CHANGED,
        ),
        (PACKED, None, "sent the file encoded as gzip", LATER),
    ],
)
def test_a_wrong_length_or_encoding_raises(fetcher, server, answer, size, reason, do):
    server.answers["/a"] = [answer]
    message = fetcher.error(fetcher.wanted(size=size), attempts=1)
    assert message.startswith(
        f"acord/data.bin could not be fetched: S/a {reason}"
    ) and message.endswith(do)
    assert not fetcher.file.exists()


def test_an_unknown_length_is_accepted_except_for_a_git_blob(fetcher, server):
    server.answers["/a"] = [Answer(length=0)]
    fetcher.fetch(fetcher.wanted(size=None))
    assert fetcher.file.read_bytes() == BODY
    message = fetcher.error(fetcher.wanted(size=None, digest=digest(BODY, "git-blob")))
    assert (
        "S/a does not say how long the file is, which its git-blob digest covers;"
        in message
    )
    fetcher.fetch(fetcher.wanted(digest=digest(BODY, "git-blob")))


def test_chunks_are_joined_and_a_missing_chunk_causes_a_retry(fetcher, server):
    half = SIZE // 2
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (half, part) for part in (BODY[:half], BODY[half:])
    )
    chunked = {
        "length": 0,
        "headers": {"Transfer-Encoding": "chunked"},
        "version": None,
    }
    server.answers["/a"] = [
        Answer(chunks, cut=6 + half + 8, **chunked),
        Answer(chunks + b"0\r\n\r\n", **chunked),
    ]
    fetcher.fetch(fetcher.wanted(size=None))
    assert (fetcher.file.read_bytes(), fetcher.ranges, fetcher.sleeps) == (
        BODY,
        [WHOLE, WHOLE],
        [1],
    )


def test_a_full_disk_raises_before_the_download(fetcher, server):
    server.answers["/a"] = [Answer()]
    assert fetcher.error(fetcher.wanted(), free=lambda _: SIZE - 1) == (
        "acord/data.bin needs 10,240 bytes more, and the disk of T/results/acord has 10,239; free some space."
    )
    assert server.requests == []
    for options in ({"mirrors": [fetcher.mirror(BODY)]}, {}):
        message = fetcher.error(fetcher.wanted(size=None), free=lambda _: 12, **options)
        assert (
            "needs 10,240 bytes more, and the disk of T/results/acord has 12;"
            in message
        )
        assert not {"data.bin", "data.bin.part"} & {*fetcher.files}
    fetcher.fetch(fetcher.wanted(), free=lambda _: SIZE)


# From a mirror

REBUILT = {
    "rebuilt": {
        "comparable": True,
        "note": "built again",
        "size": SIZE,
        "digest": digest(OTHER),
    }
}
STAND_IN = {
    "stand_in": {
        "comparable": False,
        "note": "others",
        "digest": digest(b"x"),
        "named": "other.bin",
    }
}
SAMPLE = {
    "sample": {"comparable": False, "note": "ours", "unpinned": "kept with the code"}
}


def test_a_mirror_has_priority_and_its_file_is_copied(fetcher, server):
    mirror, record = fetcher.mirror(BODY), fetcher.file.parent / "data.bin.json"
    provenance = fetcher.fetch(
        fetcher.wanted(), mirrors=[fetcher.folder / "none", mirror]
    )
    assert (provenance.variant, provenance.comparable, provenance.obtained_from) == (
        "release",
        True,
        "mirror",
    )
    assert (fetcher.file.read_bytes(), fetcher.files, server.requests) == (
        BODY,
        COMPLETE,
        [],
    )
    assert fetcher.messages[0] == "acord/data.bin: 10,240 bytes from the mirror"
    before = record.read_bytes()
    assert str(fetcher.folder).encode() not in before
    fetcher.file.write_bytes(b"changed")
    assert (mirror / "acord/data.bin").read_bytes() == BODY
    assert not fetcher.file.is_symlink()
    fetcher.fetch(fetcher.wanted(), mirrors=[mirror])
    assert record.read_bytes() == before


def test_a_variant_is_accepted_only_if_it_is_allowed(fetcher, server):
    wanted, mirror = fetcher.wanted(variants=REBUILT | STAND_IN), fetcher.mirror(OTHER)
    assert fetcher.error(wanted, mirrors=[mirror]) == (
        "T/mirror/acord/data.bin: this is the variant 'rebuilt' of acord/data.bin,"
        " which this run may not use."
    )
    assert (fetcher.files, server.requests) == ([], [])
    found = fetcher.fetch(wanted, mirrors=[mirror], variants=["release", "rebuilt"])
    assert (found.variant, found.comparable, found.note) == (
        "rebuilt",
        True,
        "built again",
    )
    other = fetcher.mirror(b"x", "other.bin", "second")
    found = fetcher.fetch(wanted, mirrors=[other], variants=["release", "stand_in"])
    assert (found.variant, found.comparable, fetcher.file.read_bytes()) == (
        "stand_in",
        False,
        b"x",
    )


WEB_PAGE = "this is a web page, such as a login page, not acord/data.bin; replace it by the published"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b"short",
            f"5 bytes, where acord/data.bin as published has {SIZE:,}; copy or fetch it again.",
        ),
        (OTHER + b"longer", "are not registered for acord/data.bin (release sha256:"),
        (
            OTHER[1:] + b"x",
            f"{SIZE:,} bytes with digest {digest(OTHER[1:] + b'x')} are not registered",
        ),
        (b"", "this is an empty file, not acord/data.bin;"),
        (b"\xef\xbb\xbf\n <!DOCTYPE HTML><title>Sign in</title>", WEB_PAGE),
        (b"<html>" * SIZE, WEB_PAGE),
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "this is a pointer of Git LFS without data",
        ),
    ],
)
def test_the_error_describes_a_wrong_file_in_a_mirror(fetcher, server, body, message):
    wanted = fetcher.wanted(variants=REBUILT)
    found = fetcher.error(
        wanted, mirrors=[fetcher.mirror(body)], variants=["release", "rebuilt"]
    )
    assert found.startswith("T/mirror/acord/data.bin: ") and message in found
    assert (fetcher.files, server.requests) == ([], [])


def test_bytes_without_a_digest_are_unverified(fetcher, server):
    server.answers["/a"] = [Answer()]
    wanted = fetcher.wanted(**UNPINNED, size=None, variants=REBUILT)
    allowed = wanted.variants_for("release")
    assert (
        fetcher.fetch(wanted, mirrors=[fetcher.mirror(OTHER)], variants=allowed).variant
        == "rebuilt"
    )
    for mirrors in ([fetcher.mirror(BODY)], []):
        found = fetcher.fetch(wanted, mirrors=mirrors, variants=allowed)
        assert (found.variant, found.comparable, found.note) == (
            "unverified",
            False,
            "none is published",
        )
    message = fetcher.error(
        fetcher.wanted(**UNPINNED), mirrors=[fetcher.mirror(b"too long" * SIZE)]
    )
    assert (
        "are not registered for acord/data.bin (unverified without a digest);"
        in message
    )


def test_a_fetched_file_is_recognised_while_bytes_and_registry_are_unchanged(
    fetcher, server
):
    server.answers["/a"] = [Answer()]
    pinned, unpinned = fetcher.wanted(), fetcher.wanted(**UNPINNED, size=None)
    assert fetched_before(pinned, fetcher.file) is None
    for wanted, other in ((pinned, unpinned), (unpinned, pinned)):
        provenance = fetcher.fetch(wanted)
        assert fetched_before(wanted, fetcher.file) == provenance
        assert fetched_before(other, fetcher.file) is None
        fetcher.file.write_bytes(BODY[:-1] + b"x")
        assert fetched_before(wanted, fetcher.file) is None
    fetcher.file.unlink()
    assert fetched_before(unpinned, fetcher.file) is None


def test_sample_files_are_used_only_by_runs_on_the_sample(fetcher, server):
    wanted = fetcher.wanted(variants=SAMPLE)
    sample = fetcher.mirror(b"ours", folder="sample")
    found = fetcher.fetch(
        wanted, mirrors=[sample], variants=wanted.variants_for("sample")
    )
    assert (found.variant, found.comparable, fetcher.file.read_bytes()) == (
        "sample",
        False,
        b"ours",
    )
    assert fetcher.messages == []
    message = fetcher.error(
        wanted, mirrors=[sample], variants=wanted.variants_for("release")
    )
    assert message.startswith(
        "T/sample/acord/data.bin: 4 bytes, where acord/data.bin as published has"
    )
    assert fetcher.error(wanted, mirrors=["resources/none"], variants=["sample"]) == (
        "acord/data.bin (sample) is not in resources/none; put it there as acord/data.bin."
    )
    assert server.requests == []


def test_a_gated_file_gives_instructions_unless_a_mirror_contains_it(fetcher):
    wanted = fetcher.wanted(
        addresses=None, size=None, gated={"instructions": "ask A"}, **UNPINNED
    )
    record = ManualDownload("acord", "data.bin", "CC0", "https://example.org", "ask A")
    assert manual_download(wanted, [], ["unverified"]) == record
    with pytest.raises(NotFetched) as error:
        fetcher.fetch(wanted)
    assert error.value.record == record
    assert str(error.value) == (
        "acord/data.bin must be downloaded manually: ask A;"
        " put it at <folder>/acord/data.bin and set mirror to that folder."
    )
    mirror = fetcher.mirror(BODY)
    assert manual_download(wanted, [mirror], ["unverified"]) is None
    assert fetcher.fetch(wanted, mirrors=[mirror]).digest == digest(BODY)


@pytest.mark.parametrize("pin", ["md5:1", None], ids=["pinned", "unpinned"])
def test_the_content_key_depends_on_bytes_and_not_on_their_location(tmp_path, pin):
    candidate = Candidate(RELEASE, "f.zip", 1, pin, True, "")
    wanted = SourceFile(
        "src", "f.zip", "", "", "", "", ("http://x",), None, (candidate,)
    )

    def key(*mirrors, fetched=None, place="mirror"):
        """The key with these bytes in the mirrors, after a fetch of ``fetched`` from
        ``place``.
        """
        folders = [tmp_path / str(number) for number in range(len(mirrors))]
        for folder, body in zip(folders, mirrors, strict=True):
            (folder / "src").mkdir(parents=True, exist_ok=True)
            (folder / "src/f.zip").write_bytes(body)
        record = (
            {"digest": digest(fetched), "obtained_from": place} if fetched else None
        )
        return content_key(
            wanted, folders, [RELEASE], record, lambda path: digest(path.read_bytes())
        )

    first = key(b"a")
    assert key(b"a", fetched=b"a") == first  # after the fetch
    assert key(b"a", b"b", fetched=b"a") == first  # another file in a later mirror
    assert key(fetched=b"a") == first  # mirror removed
    assert key(b"b", b"a", fetched=b"a") not in (
        "",
        first,
    )  # another file in an earlier mirror
    assert key(b"b", fetched=b"b") == key(b"b", fetched=b"a")
    without_mirror = key()
    assert key(fetched=b"a", place="http://x") == without_mirror
    assert key(b"a", fetched=b"a", place="http://x") == without_mirror
    assert key(b"b", fetched=b"a", place="http://x") != without_mirror
