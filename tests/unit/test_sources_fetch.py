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

# The published content of the registered file, and other content of the same size.
BODY = bytes(range(256)) * 40
SIZE = len(BODY)
OTHER_BODY = BODY[::-1]
# ETags: versions of a file on the server.
VERSION_1 = '"one"'
VERSION_2 = '"two"'


def digest(body, kind="sha256"):
    """Return the digest of bytes as a registry writes it: `<kind>:<hexadecimal>`."""
    if kind == "git-blob":
        return "git-blob:" + hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()
    return f"{kind}:{hashlib.new(kind, body).hexdigest()}"


@dataclass
class Answer:
    """An answer of the server.

    It sends the first ``cut`` bytes of the requested range and announces ``length``
    bytes (None: the actual number; 0: no announcement).  ``version`` is its ETag.
    ``ranges`` says whether Range is honoured: "yes", "no", or "blindly" (without
    checking If-Range).  With ``stall`` it sends nothing for so many seconds after the
    first 100 bytes.
    """

    body: bytes = BODY
    status: int = 200
    version: str | None = VERSION_1
    headers: dict = field(default_factory=dict)
    cut: int | None = None
    length: int | None = None
    ranges: str = "yes"
    stall: float = 0

    def sent(self, request):
        """Return the pieces that this answer sends to a request."""
        body = self.body
        status = self.status
        headers = dict(self.headers)
        requested_range = request.headers.get("Range")
        if self.version:
            headers.setdefault("ETag", self.version)
        version = request.headers.get("If-Range")
        is_same_version = self.ranges == "blindly" or version in headers.values()
        honours_range = self.ranges != "no" and is_same_version
        if status == 200 and requested_range and honours_range:
            start = int(requested_range.removeprefix("bytes=").removesuffix("-"))
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
    """A server that sends its ``answers`` ({path: list}) in turn, and the last one of a
    path again and again.
    """
    answers = {}

    def respond(request):
        waiting = answers[request.path]
        next_answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return next_answer.sent(request)

    with serving(respond) as running:
        running.answers = answers
        yield running


@dataclass
class Fetcher:
    """A registry with one file, ``acord/data.bin``, and what fetching it does.

    ``sleeps`` are the seconds between attempts, ``messages`` what the user is told.
    """

    folder: object
    server: object
    sleeps: list = field(default_factory=list)
    messages: list = field(default_factory=list)

    def registered(self, name="data.bin", **changes):
        """Return the registry's entry of a file, with these keys changed."""
        file = {
            "addresses": [f"{self.server.url}/a"],
            "size": SIZE,
            "digest": digest(BODY),
        } | changes
        return resolve(registry(self.folder, "acord", {name: file}), "acord", name)

    def fetch(self, source_file, attempts=5, timeouts=(5, 5), **options):
        client = Client(attempts=attempts, timeouts=timeouts, sleep=self.sleeps.append)
        place = self.folder / "results" / source_file.source / source_file.file
        return fetch(
            source_file, place, client=client, say=self.messages.append, **options
        )

    def error(self, source_file, **options):
        """Return the error of fetching a file; S is the server, T the test's folder."""
        with pytest.raises(BadInput) as raised:
            self.fetch(source_file, **options)
        message = str(raised.value).replace(self.server.url, "S")
        return message.replace(str(self.folder), "T")

    def mirror(self, body, name="data.bin", folder="mirror"):
        """Write a file of a mirror, and return the mirror's folder."""
        path = self.folder / folder / "acord" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        return self.folder / folder

    @property
    def file(self):
        """The path of the fetched file."""
        return self.folder / "results/acord/data.bin"

    @property
    def files(self):
        """The names of all files in its folder, without stored digests."""
        names = sorted(path.name for path in self.file.parent.glob("*"))
        return [name for name in names if not name.endswith(".json.sha256")]

    @property
    def requests(self):
        """(path, Range, If-Range) of each request."""
        requests = []
        for request in self.server.requests:
            headers = request.headers
            range_and_version = (headers.get("Range"), headers.get("If-Range"))
            requests.append((request.path, *range_and_version))
        return requests

    @property
    def ranges(self):
        """(Range, If-Range) of each request."""
        return [request[1:] for request in self.requests]


@pytest.fixture
def fetcher(tmp_path, server):
    return Fetcher(tmp_path, server)


# The files after a complete and after an interrupted download.
COMPLETE = ["LICENCE.txt", "data.bin", "data.bin.json"]
PARTIAL = ["data.bin.part", "data.bin.part.json"]
# (Range, If-Range) of requests.
WHOLE = (None, None)
FROM_4000 = ("bytes=4000-", VERSION_1)
# Keys of a file without a digest in the registry.
UNPINNED = {"digest": None, "unpinned": "none is published"}
# The ends of errors.
LATER = "try again later, or put the file at <folder>/acord/data.bin and set mirror to that folder."
CHANGED = "see https://example.org, and correct the registry only if the publication has changed."


# Over HTTP


def test_a_file_is_fetched_with_provenance_and_messages(fetcher, server):
    server.answers["/a"] = [Answer()]
    fetcher.fetch(fetcher.registered())
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
    assert fetcher.files == COMPLETE
    assert fetcher.ranges == [WHOLE]
    assert fetcher.sleeps == []
    # The licence is reported once per source.
    fetcher.fetch(fetcher.registered("us/1.zip"))
    assert fetcher.messages.count(licence) == 1
    assert not (fetcher.file.parent / "us/LICENCE.txt").exists()


@pytest.mark.parametrize("kind", ["sha256", "md5", "git-blob"])
def test_each_kind_of_digest_is_checked(fetcher, server, kind):
    server.answers["/a"] = [Answer()]
    source_file = fetcher.registered(digest=digest(BODY, kind), size=None)
    assert fetcher.fetch(source_file).digest == digest(BODY)
    assert (
        fetcher.fetch(source_file, mirrors=[fetcher.mirror(BODY)]).variant == "release"
    )
    sent = digest(BODY, kind)
    registered = digest(OTHER_BODY, kind)
    message = f"sent bytes with digest {sent} where the registry has {registered}"
    assert message in fetcher.error(fetcher.registered(digest=registered))


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"
CHANGED_BLINDLY = Answer(OTHER_BODY, version=VERSION_2, ranges="blindly")
# An answer that announces another range than the one requested.
SHIFTED = Answer(headers={"Content-Range": f"bytes 4001-{SIZE - 1}/{SIZE}"})
# Parts that are no rest of the file: one that ends before it, one without a length that
# is cut, and one that is compressed.
SHORT = Answer(cut=3000, length=3000)
CUT_UNANNOUNCED = Answer(cut=3000, length=0)
COMPRESSED = Answer(headers={"Content-Encoding": "gzip"})


def cut_and_whole(version, **headers):
    """Return two answers with this ETag and these headers; the first is cut after 4,000
    bytes.
    """
    return [Answer(cut=cut, version=version, headers=headers) for cut in (4000, None)]


# {case: (answers of the server, content of the fetched file, (Range, If-Range) of the
# requests after the first, seconds between attempts)}
INTERRUPTED_DOWNLOADS = {
    "cut twice": (
        [Answer(cut=4000), Answer(cut=3000), Answer()],
        BODY,
        [FROM_4000, ("bytes=7000-", VERSION_1)],
        [1, 2],
    ),
    "Range ignored": ([Answer(cut=4000), Answer(ranges="no")], BODY, [FROM_4000], [1]),
    "changed file": (
        [Answer(cut=4000), Answer(OTHER_BODY, version=VERSION_2)],
        OTHER_BODY,
        [FROM_4000],
        [1],
    ),
    "changed file, If-Range ignored": (
        [Answer(cut=4000), CHANGED_BLINDLY, CHANGED_BLINDLY],
        OTHER_BODY,
        [FROM_4000, WHOLE],
        [1, 2],
    ),
    "another part": (
        [Answer(cut=4000), SHIFTED, Answer()],
        BODY,
        [FROM_4000, WHOLE],
        [1, 2],
    ),
    "part of the rest": (
        [Answer(cut=4000), SHORT, Answer()],
        BODY,
        [FROM_4000, ("bytes=7000-", VERSION_1)],
        [1, 2],
    ),
    "part without a length": (
        [Answer(cut=4000), CUT_UNANNOUNCED, Answer()],
        BODY,
        [FROM_4000, ("bytes=7000-", VERSION_1)],
        [1, 2],
    ),
    "compressed part": (
        [Answer(cut=4000), COMPRESSED, Answer()],
        BODY,
        [FROM_4000, WHOLE],
        [1, 2],
    ),
    "no version": (cut_and_whole(None), BODY, [WHOLE], [1]),
    "weak ETag": (cut_and_whole('W/"weak"'), BODY, [WHOLE], [1]),
    "Last-Modified": (
        cut_and_whole(None, **{"Last-Modified": DATE}),
        BODY,
        [("bytes=4000-", DATE)],
        [1],
    ),
    "Last-Modified and weak ETag": (
        cut_and_whole('W/"weak"', **{"Last-Modified": DATE}),
        BODY,
        [("bytes=4000-", DATE)],
        [1],
    ),
    "no data for a while": (
        [Answer(stall=0.6), Answer()],
        BODY,
        [("bytes=100-", VERSION_1)],
        [1],
    ),
}


@pytest.mark.parametrize("case", INTERRUPTED_DOWNLOADS)
def test_an_interrupted_download_is_resumed_if_the_file_is_the_same(
    fetcher, server, case
):
    answers, body, ranges, sleeps = INTERRUPTED_DOWNLOADS[case]
    server.answers["/a"] = list(answers)
    fetcher.fetch(fetcher.registered(size=None, **UNPINNED), timeouts=(5, 0.2))
    assert fetcher.file.read_bytes() == body
    assert fetcher.ranges == [WHOLE, *ranges]
    assert fetcher.sleeps == sleeps
    assert fetcher.files == COMPLETE


def test_a_later_run_resumes_the_partial_file_of_a_failed_run(fetcher, server):
    server.answers["/a"] = [Answer(cut=4000)]
    assert fetcher.error(fetcher.registered(), attempts=1) == (
        "acord/data.bin could not be fetched: S/a was cut after 4,000 bytes at the last of 1 attempts; "
        + LATER
    )
    assert fetcher.files == PARTIAL
    assert (fetcher.file.parent / "data.bin.part").read_bytes() == BODY[:4000]
    server.answers["/a"] = [Answer()]
    # Only the missing bytes need space.
    fetcher.fetch(fetcher.registered(), free=lambda _: SIZE - 4000)
    assert fetcher.file.read_bytes() == BODY
    assert fetcher.ranges[1:] == [FROM_4000]


def test_a_partial_file_is_not_resumed_from_another_address(fetcher, server):
    server.answers |= {"/a": [Answer(cut=4000), Answer(status=404)], "/b": [Answer()]}
    fetcher.fetch(fetcher.registered(addresses=[f"{server.url}/a", f"{server.url}/b"]))
    assert fetcher.requests == [("/a", *WHOLE), ("/a", *FROM_4000), ("/b", *WHOLE)]
    assert fetcher.file.read_bytes() == BODY


def test_a_damaged_partial_file_is_fetched_again_or_rejected(fetcher, server):
    part = fetcher.file.parent / "data.bin.part"
    cut = Answer(cut=4000)
    whole = Answer()
    server.answers["/a"] = [cut, whole, whole, cut, whole]
    # A partial file as large as the whole one: nothing is left to fetch.
    fetcher.error(fetcher.registered(), attempts=1)
    part.write_bytes(OTHER_BODY)
    fetcher.fetch(fetcher.registered())
    assert fetcher.file.read_bytes() == BODY
    # A partial file with other bytes: the digest of the whole file is wrong.
    fetcher.error(fetcher.registered(), attempts=1)
    part.write_bytes(OTHER_BODY[:4000])
    spliced = digest(OTHER_BODY[:4000] + BODY[4000:])
    message = f"sent bytes with digest {spliced} where"
    assert message in fetcher.error(fetcher.registered())
    assert not part.exists()
    whole_part = (f"bytes={SIZE}-", VERSION_1)
    assert fetcher.ranges == [WHOLE, whole_part, WHOLE, WHOLE, FROM_4000]


def test_wrong_bytes_are_rejected_and_the_previous_file_is_kept(fetcher, server):
    fetcher.file.parent.mkdir(parents=True)
    fetcher.file.write_bytes(b"before")
    server.answers["/a"] = [Answer(OTHER_BODY)]
    for _ in range(2):
        assert fetcher.error(fetcher.registered()) == (
            f"acord/data.bin could not be fetched: S/a sent bytes with digest {digest(OTHER_BODY)}"
            f" where the registry has {digest(BODY)}; {CHANGED}"
        )
        assert fetcher.files == ["data.bin"]
        assert fetcher.file.read_bytes() == b"before"
    assert fetcher.ranges == [WHOLE, WHOLE]
    assert fetcher.sleeps == []


def test_the_next_address_is_tried_immediately_after_404_or_wrong_bytes(
    fetcher, server
):
    server.answers |= {
        "/a": [Answer(status=404)],
        "/b": [Answer(OTHER_BODY)],
        "/c": [Answer()],
    }
    addresses = [f"{server.url}/{letter}" for letter in "abc"]
    provenance = fetcher.fetch(fetcher.registered(addresses=addresses))
    assert provenance.obtained_from == addresses[2]
    assert fetcher.file.read_bytes() == BODY
    assert fetcher.sleeps == []
    assert [path for path, _, _ in fetcher.requests] == ["/a", "/b", "/c"]
    message = f"acord/data.bin: {addresses[0]} answered 404 Not Found"
    assert fetcher.messages[1] == message


def test_if_all_addresses_fail_the_error_gives_each_reason(fetcher, server):
    server.answers |= {"/a": [Answer(status=404)], "/b": [Answer(status=503)]}
    closed = "http://127.0.0.1:9/c"
    source_file = fetcher.registered(
        addresses=[f"{server.url}/a", f"{server.url}/b", closed]
    )
    assert fetcher.error(source_file, attempts=2) == (
        "acord/data.bin could not be fetched: S/a answered 404 Not Found, and"
        " S/b answered 503 Service Unavailable at the last of 2 attempts, and"
        f" {closed} gave no answer (ConnectionError) at the last of 2 attempts; {LATER}"
    )
    # One second between the two attempts of each of the last two addresses.
    assert fetcher.sleeps == [1, 1]
    assert fetcher.files == []


@pytest.mark.parametrize(
    ("status", "retry_after", "seconds"),
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
    fetcher, server, status, retry_after, seconds
):
    headers = {"Retry-After": retry_after} if retry_after else {}
    server.answers["/a"] = [Answer(b"", status=status, headers=headers), Answer()]
    fetcher.fetch(fetcher.registered())
    assert fetcher.file.read_bytes() == BODY
    assert fetcher.sleeps == [seconds]
    assert len(server.requests) == 2


PACKED = Answer(gzip.compress(BODY), headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    # The answer; the registered size, None if none; the error, and its end.
    ("answer", "size", "reason", "end"),
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
def test_a_wrong_length_or_encoding_raises(fetcher, server, answer, size, reason, end):
    server.answers["/a"] = [answer]
    message = fetcher.error(fetcher.registered(size=size), attempts=1)
    assert message.startswith(f"acord/data.bin could not be fetched: S/a {reason}")
    assert message.endswith(end)
    assert not fetcher.file.exists()


def test_an_unknown_length_is_accepted_except_for_a_git_blob(fetcher, server):
    server.answers["/a"] = [Answer(length=0)]
    fetcher.fetch(fetcher.registered(size=None))
    assert fetcher.file.read_bytes() == BODY
    git_blob = digest(BODY, "git-blob")
    error = fetcher.error(fetcher.registered(size=None, digest=git_blob))
    message = "S/a does not say how long the file is, which its git-blob digest covers;"
    assert message in error
    # The registered size says how long it is.
    fetcher.fetch(fetcher.registered(digest=git_blob))


def test_chunks_are_joined_and_a_missing_chunk_causes_a_retry(fetcher, server):
    half = SIZE // 2
    # Two chunks, each with its length in hexadecimal before it.
    chunks = b""
    for part in (BODY[:half], BODY[half:]):
        chunks += b"%x\r\n%s\r\n" % (half, part)
    chunked = {
        "length": 0,
        "headers": {"Transfer-Encoding": "chunked"},
        "version": None,
    }
    server.answers["/a"] = [
        # Cut after the length of the second chunk.
        Answer(chunks, cut=6 + half + 8, **chunked),
        # With the empty chunk that ends an answer.
        Answer(chunks + b"0\r\n\r\n", **chunked),
    ]
    fetcher.fetch(fetcher.registered(size=None))
    assert fetcher.file.read_bytes() == BODY
    assert fetcher.ranges == [WHOLE, WHOLE]
    assert fetcher.sleeps == [1]


def test_a_full_disk_raises_before_the_download(fetcher, server):
    server.answers["/a"] = [Answer()]
    assert fetcher.error(fetcher.registered(), free=lambda _: SIZE - 1) == (
        "acord/data.bin needs 10,240 bytes more, and the disk of T/results/acord has 10,239; free some space."
    )
    assert server.requests == []
    # Without a registered size, that of the mirror's file or of the answer counts.
    message = "needs 10,240 bytes more, and the disk of T/results/acord has 12;"
    for mirrors in ([fetcher.mirror(BODY)], []):
        source_file = fetcher.registered(size=None)
        error = fetcher.error(source_file, free=lambda _: 12, mirrors=mirrors)
        assert message in error
        assert not {"data.bin", "data.bin.part"} & {*fetcher.files}
    fetcher.fetch(fetcher.registered(), free=lambda _: SIZE)


# From a mirror

# Variants of the file, by name, as the registry has them: one built again from other
# sources, one with other data in its place, and the one of the sample.
REBUILT = {
    "rebuilt": {
        "comparable": True,
        "note": "built again",
        "size": SIZE,
        "digest": digest(OTHER_BODY),
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
    mirror = fetcher.mirror(BODY)
    provenance = fetcher.fetch(
        fetcher.registered(), mirrors=[fetcher.folder / "none", mirror]
    )
    assert provenance.variant == "release"
    assert provenance.comparable
    assert provenance.obtained_from == "mirror"
    assert fetcher.file.read_bytes() == BODY
    assert fetcher.files == COMPLETE
    assert server.requests == []
    assert fetcher.messages[0] == "acord/data.bin: 10,240 bytes from the mirror"
    # It is a copy, and no link to the mirror.
    fetcher.file.write_bytes(b"changed")
    assert (mirror / "acord/data.bin").read_bytes() == BODY
    assert not fetcher.file.is_symlink()


def test_the_record_of_a_file_from_a_mirror_does_not_depend_on_its_location(fetcher):
    mirror = fetcher.mirror(BODY)
    record = fetcher.file.parent / "data.bin.json"
    fetcher.fetch(fetcher.registered(), mirrors=[fetcher.folder / "none", mirror])
    first_record = record.read_bytes()
    assert str(fetcher.folder).encode() not in first_record
    fetcher.file.write_bytes(b"changed")
    fetcher.fetch(fetcher.registered(), mirrors=[mirror])
    assert record.read_bytes() == first_record


def test_a_variant_is_accepted_only_if_it_is_allowed(fetcher, server):
    source_file = fetcher.registered(variants=REBUILT | STAND_IN)
    mirror = fetcher.mirror(OTHER_BODY)
    assert fetcher.error(source_file, mirrors=[mirror]) == (
        "T/mirror/acord/data.bin: this is the variant 'rebuilt' of acord/data.bin,"
        " which this run may not use."
    )
    assert fetcher.files == []
    assert server.requests == []
    provenance = fetcher.fetch(
        source_file, mirrors=[mirror], variants=["release", "rebuilt"]
    )
    assert provenance.variant == "rebuilt"
    assert provenance.comparable
    assert provenance.note == "built again"


def test_a_stand_in_with_another_name_replaces_another_variant(fetcher):
    source_file = fetcher.registered(variants=REBUILT | STAND_IN)
    mirror = fetcher.mirror(OTHER_BODY)
    fetcher.fetch(source_file, mirrors=[mirror], variants=["release", "rebuilt"])
    mirror = fetcher.mirror(b"x", "other.bin", "second")
    provenance = fetcher.fetch(
        source_file, mirrors=[mirror], variants=["release", "stand_in"]
    )
    assert provenance.variant == "stand_in"
    assert not provenance.comparable
    assert fetcher.file.read_bytes() == b"x"


WEB_PAGE = "this is a web page, such as a login page, not acord/data.bin; replace it by the published"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b"short",
            f"5 bytes, where acord/data.bin as published has {SIZE:,}; copy or fetch it again.",
        ),
        (
            OTHER_BODY + b"longer",
            "are not registered for acord/data.bin (release sha256:",
        ),
        (
            OTHER_BODY[1:] + b"x",
            f"{SIZE:,} bytes with digest {digest(OTHER_BODY[1:] + b'x')} are not registered",
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
    source_file = fetcher.registered(variants=REBUILT)
    mirror = fetcher.mirror(body)
    error = fetcher.error(
        source_file, mirrors=[mirror], variants=["release", "rebuilt"]
    )
    assert error.startswith("T/mirror/acord/data.bin: ")
    assert message in error
    assert fetcher.files == []
    assert server.requests == []


def test_bytes_without_a_digest_are_unverified(fetcher, server):
    server.answers["/a"] = [Answer()]
    source_file = fetcher.registered(**UNPINNED, size=None, variants=REBUILT)
    allowed = source_file.variants_for("release")
    # A variant with a digest is recognised.
    mirror = fetcher.mirror(OTHER_BODY)
    provenance = fetcher.fetch(source_file, mirrors=[mirror], variants=allowed)
    assert provenance.variant == "rebuilt"
    # Other bytes, from a mirror or from the server, are unverified.
    for mirrors in ([fetcher.mirror(BODY)], []):
        provenance = fetcher.fetch(source_file, mirrors=mirrors, variants=allowed)
        assert provenance.variant == "unverified"
        assert not provenance.comparable
        assert provenance.note == "none is published"


def test_bytes_without_a_digest_must_have_the_registered_size(fetcher):
    mirror = fetcher.mirror(b"too long" * SIZE)
    error = fetcher.error(fetcher.registered(**UNPINNED), mirrors=[mirror])
    message = "are not registered for acord/data.bin (unverified without a digest);"
    assert message in error


def test_a_fetched_file_is_recognised_while_bytes_and_registry_are_unchanged(
    fetcher, server
):
    server.answers["/a"] = [Answer()]
    pinned = fetcher.registered()
    unpinned = fetcher.registered(**UNPINNED, size=None)
    assert fetched_before(pinned, fetcher.file) is None
    for source_file, other_entry in ((pinned, unpinned), (unpinned, pinned)):
        provenance = fetcher.fetch(source_file)
        assert fetched_before(source_file, fetcher.file) == provenance
        # With another entry in the registry, or with other bytes.
        assert fetched_before(other_entry, fetcher.file) is None
        fetcher.file.write_bytes(BODY[:-1] + b"x")
        assert fetched_before(source_file, fetcher.file) is None
    fetcher.file.unlink()
    assert fetched_before(unpinned, fetcher.file) is None


def test_sample_files_are_used_only_by_runs_on_the_sample(fetcher, server):
    source_file = fetcher.registered(variants=SAMPLE)
    sample = fetcher.mirror(b"ours", folder="sample")
    provenance = fetcher.fetch(
        source_file, mirrors=[sample], variants=source_file.variants_for("sample")
    )
    assert provenance.variant == "sample"
    assert not provenance.comparable
    assert fetcher.file.read_bytes() == b"ours"
    assert fetcher.messages == []
    message = fetcher.error(
        source_file, mirrors=[sample], variants=source_file.variants_for("release")
    )
    assert message.startswith(
        "T/sample/acord/data.bin: 4 bytes, where acord/data.bin as published has"
    )
    assert fetcher.error(
        source_file, mirrors=["resources/none"], variants=["sample"]
    ) == (
        "acord/data.bin (sample) is not in resources/none; put it there as acord/data.bin."
    )
    assert server.requests == []


def test_a_gated_file_gives_instructions_unless_a_mirror_contains_it(fetcher):
    source_file = fetcher.registered(
        addresses=None, size=None, gated={"instructions": "ask A"}, **UNPINNED
    )
    record = ManualDownload("acord", "data.bin", "CC0", "https://example.org", "ask A")
    assert manual_download(source_file, [], ["unverified"]) == record
    with pytest.raises(NotFetched) as error:
        fetcher.fetch(source_file)
    assert error.value.record == record
    assert str(error.value) == (
        "acord/data.bin must be downloaded manually: ask A;"
        " put it at <folder>/acord/data.bin and set mirror to that folder."
    )
    mirror = fetcher.mirror(BODY)
    assert manual_download(source_file, [mirror], ["unverified"]) is None
    assert fetcher.fetch(source_file, mirrors=[mirror]).digest == digest(BODY)


@pytest.mark.parametrize("pin", ["md5:1", None], ids=["pinned", "unpinned"])
def test_the_content_key_depends_on_bytes_and_not_on_their_location(tmp_path, pin):
    candidate = Candidate(RELEASE, "f.zip", 1, pin, True, "")
    source_file = SourceFile(
        "src", "f.zip", "", "", "", "", ("http://x",), None, (candidate,)
    )

    def key(*mirrors, fetched=None, origin="mirror"):
        """Return the key with these bytes in the mirrors, after a fetch of the bytes
        ``fetched`` from ``origin``.
        """
        folders = []
        for number, body in enumerate(mirrors):
            folder = tmp_path / str(number)
            (folder / "src").mkdir(parents=True, exist_ok=True)
            (folder / "src/f.zip").write_bytes(body)
            folders.append(folder)
        record = None
        if fetched:
            record = {"digest": digest(fetched), "obtained_from": origin}
        return content_key(
            source_file,
            folders,
            [RELEASE],
            record,
            lambda path: digest(path.read_bytes()),
        )

    before_fetch = key(b"a")
    assert key(b"a", fetched=b"a") == before_fetch
    # Another file in a later mirror.
    assert key(b"a", b"b", fetched=b"a") == before_fetch
    # The mirror was removed.
    assert key(fetched=b"a") == before_fetch
    # Another file in an earlier mirror.
    assert key(b"b", b"a", fetched=b"a") not in ("", before_fetch)
    # The file in the mirror counts, whatever was fetched from there.
    assert key(b"b", fetched=b"b") == key(b"b", fetched=b"a")
    # A file from an address keeps its key while a mirror has the same bytes, or none.
    without_mirror = key()
    assert key(fetched=b"a", origin="http://x") == without_mirror
    assert key(b"a", fetched=b"a", origin="http://x") == without_mirror
    assert key(b"b", fetched=b"a", origin="http://x") != without_mirror
