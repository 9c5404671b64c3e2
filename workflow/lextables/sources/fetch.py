"""Fetch a source file from a mirror folder or a URL, check it, and write its
provenance.
"""

import csv
import gzip
import json
import lzma
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from lextables.pipeline.atomic import replacing
from lextables.pipeline.content import sha256_of
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import DOUBTED, read_record, typed, write_result
from lextables.sources.archives import RELEASE_RATIO
from lextables.sources.entries import (
    PUBLISHED,
    SAMPLE,
    UNVERIFIED,
    Candidate,
    SourceFile,
)
from lextables.sources.transfer import (
    CHUNK,
    CLIENT,
    Client,
    Digests,
    DownloadFailed,
    Part,
    WrongContent,
    chunks,
    download,
    kind,
    quoted,
)

MIRROR = "mirror"  # `Provenance.obtained_from` of a file from a mirror
CHECKED = ".checked"  # its modification time is that of the last check of all downloads
# {pattern of the beginning of a file without data, in small letters: what it is}
NO_DATA = {
    rb"<(?:!doctype html|html|head|body|title|meta|script)\b": "a web page, such as a login page",
    rb"version https://git-lfs": "a pointer of Git LFS without data",
}
HEAD = 1 << 16  # bytes that show whether a file holds data
MARKUP_SUFFIXES = (".html", ".htm", ".xhtml", ".xml", ".svg", ".xsd")
MARKUP = re.compile(rb"<[a-z!?]")
# Keys of a JSON object with which a server refuses a request: one of the first, or only
# some of both.
ERROR_KEYS = frozenset("error errors errormessage exception fault".split())
MESSAGE_KEYS = frozenset(
    "code detail details documentation_url instance message msg ok path reason request_id requestid status "
    "statuscode success timestamp title type".split()
)


@dataclass(frozen=True)
class Provenance:
    """Provenance of a fetched file, as written to ``<file>.json``."""

    source: str
    file: str
    variant: str
    comparable: bool
    digest: str
    """Its SHA-256."""
    bytes: int
    obtained_from: str
    """An address or `mirror`, because a folder's path differs between machines."""
    licence: str
    citation: str
    note: str


@dataclass(frozen=True)
class ManualDownload:
    """A file that must be downloaded manually, with instructions."""

    source: str
    file: str
    licence: str
    homepage: str
    instructions: str

    @property
    def sentence(self) -> str:
        """The reason, for a table or an error message."""
        return f"{self.source}/{self.file} must be downloaded manually: {self.instructions}"


class NotFetched(BadInput):
    """A file must be downloaded manually and is in no mirror; ``record`` has the
    instructions.
    """

    def __init__(self, record: ManualDownload) -> None:
        self.record = record
        place = f"put it at <folder>/{record.source}/{record.file} and set mirror to that folder"
        super().__init__(record.sentence, do=place)


class WrongKind(DownloadFailed):
    """The address delivers something that is not of the kind that the file's name
    has.
    """


class DiskFull(BadInput):
    """The disk is too small for a file."""


def manual_download(
    entry: SourceFile, mirrors: Sequence[str | Path], variants: Iterable[str]
) -> ManualDownload | None:
    """Return the instructions for ``entry`` if it has no address and is in no mirror,
    else None.

    Only file names are checked, so that a run can be planned without reading files.
    """
    if (
        entry.addresses
        or not entry.instructions
        or mirror_file(entry, mirrors, variants)
    ):
        return None
    return ManualDownload(
        entry.source, entry.file, entry.licence, entry.homepage, entry.instructions
    )


def fetch(
    entry: SourceFile,
    destination: str | Path,
    *,
    mirrors: Sequence[str | Path] = (),
    variants: Iterable[str] = PUBLISHED,
    client: Client = CLIENT,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    say: Callable[[str], None] = print,
) -> Provenance:
    """Fetch ``entry`` to ``destination`` and write and return its provenance,
    ``<destination>.json``.

    Mirror folders are searched first, for any of the allowed ``variants``.  If the
    published bytes are allowed, the addresses are tried next, in order.  ``free``
    returns the free bytes of a folder's disk.

    Bytes without a registered digest are checked for the kind of file that the name has
    (`fault_of`).

    Raises `BadInput` if the mirror's file is no allowed variant or every address fails,
    `DiskFull`, and `NotFetched` if the file must be downloaded manually.
    ``destination`` is then unchanged.
    """
    destination = Path(destination)
    allowed = tuple(variants)
    destination.parent.mkdir(parents=True, exist_ok=True)
    candidates = entry.among(allowed)

    def check_space(needed: int) -> None:
        """Raise `DiskFull` if the disk has fewer free bytes than ``needed``."""
        have = free(destination.parent)
        if needed > have:
            where = f"the disk of {destination.parent} has {have:,}"
            what = f"{entry.name} needs {needed:,} bytes more, and {where}"
            raise DiskFull(what, do="free some space")

    mirrored = mirror_file(entry, mirrors, allowed)
    if mirrored:
        if SAMPLE not in allowed:
            say(f"{entry.name}: {mirrored.stat().st_size:,} bytes from the mirror")
        check_space(mirrored.stat().st_size)
        candidate, digests = _copy(entry, mirrored, candidates, destination)
        place = MIRROR
    else:
        record = manual_download(entry, mirrors, allowed)
        if record:
            raise NotFetched(record)
        published = [each for each in candidates if each.variant in PUBLISHED]
        if not published:
            folders = ", ".join(map(str, mirrors)) or "a mirror, for none is set"
            variants = f" ({' or '.join(allowed)})" if allowed else ""
            what = f"{entry.name}{variants} is not in {folders}"
            raise BadInput(what, do=f"put it there as {entry.name}")
        candidate = published[0]
        place, digests = _from_addresses(
            entry, candidate, destination, check_space, client, say
        )
    provenance = Provenance(
        source=entry.source,
        file=entry.file,
        variant=candidate.variant,
        comparable=candidate.comparable,
        digest=digests.of("sha256"),
        bytes=digests.bytes,
        obtained_from=place,
        licence=entry.licence,
        citation=entry.citation,
        note=candidate.note,
    )
    text = json.dumps(asdict(provenance), indent=2, ensure_ascii=False) + "\n"
    write_result(destination.with_name(f"{destination.name}.json"), text)
    Part.of(destination).remove()
    if _state_licence(entry, destination) and candidate.variant != SAMPLE:
        say(f"{entry.title} ({entry.licence}); please cite {entry.citation}")
    return provenance


def fetched_before(
    entry: SourceFile, destination: str | Path, variants: Iterable[str] = PUBLISHED
) -> Provenance | None:
    """Return the provenance of the file that an earlier `fetch` wrote to
    ``destination``.

    None if there is no file, if its bytes are not those of its provenance or not of the
    kind that its name has, or if the registry has a different entry for them now.
    """
    destination = Path(destination)
    record = _provenance(destination)
    if record is None:
        return None
    candidates = entry.among(variants)
    kinds = {kind(each.digest) for each in candidates if each.digest}
    digests = Digests(kinds, destination.stat().st_size)
    for data in chunks(destination):
        digests.update(data)
    candidate = _matching(candidates, digests)
    if candidate is None or digests.of("sha256") != record.digest:
        return None
    is_download = candidate.digest is None and record.obtained_from != MIRROR
    if is_download and fault_of(destination, entry.kind_name, entry.members):
        return None
    if candidate.variant != record.variant:
        return None
    if candidate.comparable != record.comparable:
        return None
    return record


def damaged(folder: str | Path) -> Iterator[tuple[Path, str]]:
    """Yield each download below ``folder`` that must be fetched again, and why.

    This is a file without a registered digest that is not of its kind (`fault_of`).
    There may be tens of thousands, so a file is checked only if it has changed since
    all were checked the last time, and copies of a mirror's files never.

    It is also a file that a job could not read (`files.doubt`), if `_doubt_of` gives a
    reason.
    """
    if not Path(folder).is_dir():
        return
    mark = Path(folder, CHECKED)
    checked_at = mark.stat().st_mtime_ns if mark.is_file() else 0
    with replacing(mark) as new_mark:
        new_mark.touch()
        for place, _, names in os.walk(folder):
            for name in sorted(names):
                file = Path(place, name)
                if name.endswith(DOUBTED):
                    file.unlink()
                    file = file.with_name(name.removesuffix(DOUBTED))
                    fault = _doubt_of(file)
                elif _is_to_check(file, checked_at):
                    fault = fault_of(file)
                else:
                    continue
                if fault:
                    yield file, fault


def _is_to_check(file: Path, checked_at: int) -> bool:
    """Return whether a file is a download without a registered digest that has changed
    since ``checked_at``, in nanoseconds.
    """
    # A link may lead nowhere.
    if Path(f"{file}{DOUBTED}").exists() or not file.exists():
        return False
    # The time of the last change of its content or name; it cannot be set.
    if file.stat().st_ctime_ns < checked_at or not _is_unverified(file):
        return False
    # To read the directories of thousands of zips would take minutes.
    return not (file.suffix == ".zip" and zipfile.is_zipfile(file))


def _doubt_of(file: Path) -> str:
    """Describe why a file that a job could not read is fetched again; return "" if it
    is not.

    It is fetched again if it has changed, or if it has no registered digest and the
    address has not yet sent the same bytes a second time.
    """
    record = _provenance(file)
    if record is None:
        return ""
    if f"sha256:{sha256_of(file)}" != record.digest:
        return "changed after it was fetched"
    # The digest of the file that was removed before this one was fetched.
    removed = Path(f"{file}.removed")
    is_same = removed.is_file() and removed.read_text("utf-8") in record.digest
    return "" if is_same or not _is_unverified(file) else "a file that cannot be used"


def _is_unverified(file: Path) -> bool:
    """Return whether a file is a download whose digest is not registered."""
    record = _provenance(file)
    if record is None or record.obtained_from == MIRROR:
        return False
    return record.variant == UNVERIFIED


def _provenance(file: Path) -> Provenance | None:
    """Return the provenance of a stored file; None if one of both is missing, or the
    record is damaged.
    """
    record_file = file.with_name(f"{file.name}.json")
    record = read_record(record_file, Provenance) if file.is_file() else None
    return record and typed(Provenance, record)


def content_key(
    entry: SourceFile,
    mirrors: Sequence[str | Path],
    variants: Collection[str],
    fetched: Mapping[str, Any] | None,
    digest: Callable[[Path], str],
) -> str:
    """Return a key of the bytes that a fetch would bring now; a file is fetched again
    when its key changes.

    ``fetched`` is the provenance of the file fetched before, if there is one;
    ``digest`` returns a file's SHA-256.  The key depends on the bytes only: moving or
    removing a mirror does not change it.
    """
    candidates = entry.among(variants)
    mirrored = mirror_file(entry, mirrors, variants)
    fetched = fetched or {}
    if mirrored:
        mirror_digest = digest(mirrored)
        if mirror_digest != fetched.get("digest"):
            return mirror_digest
    if fetched.get("obtained_from") == MIRROR:
        return fetched["digest"]
    return " or ".join(candidate.pin for candidate in candidates)


def mirror_file(
    entry: SourceFile, mirrors: Sequence[str | Path], variants: Iterable[str]
) -> Path | None:
    """Return the first file in a mirror that has the name of an allowed variant; its
    bytes are not read.
    """
    candidates = entry.among(variants)
    for mirror in mirrors:
        for candidate in candidates:
            place = Path(mirror, entry.source, candidate.named)
            if place.is_file():
                return place
    return None


def _copy(
    entry: SourceFile,
    mirrored: Path,
    candidates: Iterable[Candidate],
    destination: Path,
) -> tuple[Candidate, Digests]:
    """Copy a mirror's file, and return the matching candidate and the digests.

    No link, because later changes to the results must not reach the mirror.
    """
    pinned = [candidate for candidate in entry.candidates if candidate.digest]
    kinds = {kind(candidate.digest) for candidate in pinned if candidate.digest}
    digests = Digests(kinds, mirrored.stat().st_size)
    with replacing(destination) as temporary:
        with temporary.open("wb") as out:
            for data in chunks(mirrored):
                out.write(data)
                digests.update(data)
        candidate = _matching(candidates, digests)
        if candidate is None:
            other = _matching(pinned, digests)
            raise _wrong_file(entry, mirrored, digests, candidates, other)
        if candidate.digest is None:
            fault = fault_of(temporary, entry.kind_name, entry.members)
            if fault:
                what = f"this is {fault}, where {entry.name} is expected"
                do = "replace it by the published file"
                raise BadInput(what, where=str(mirrored), do=do)
    return candidate, digests


def _matching(candidates: Iterable[Candidate], digests: Digests) -> Candidate | None:
    """Return the first candidate whose registered size and digest are these."""
    for candidate in candidates:
        digest = candidate.digest
        if candidate.size not in (None, digests.bytes):
            continue
        if digest is None or digests.of(kind(digest)) == digest:
            return candidate
    return None


def _wrong_file(
    entry: SourceFile,
    mirrored: Path,
    digests: Digests,
    allowed: Iterable[Candidate],
    other: Candidate | None,
) -> BadInput:
    """Return the error for a mirror's file that is no allowed candidate; ``other`` is
    its variant, if any.
    """
    if other:
        return BadInput(
            f"this is the variant {other.variant!r} of {entry.name}, which this run may not use",
            where=str(mirrored),
        )
    with mirrored.open("rb") as file:
        kind_of_file = _no_data(file.read(HEAD), mirrored.suffix)
    if kind_of_file:
        what = f"this is {kind_of_file}, not {entry.name}"
        do = "replace it by the published file"
        return BadInput(what, where=str(mirrored), do=do)
    sizes = [c.size for c in entry.candidates if c.variant in PUBLISHED and c.size]
    if sizes and digests.bytes < min(sizes):
        what = f"{digests.bytes:,} bytes, where {entry.name} as published has {min(sizes):,}"
        return BadInput(what, where=str(mirrored), do="copy or fetch it again")
    registered = ", ".join(candidate.pin for candidate in allowed)
    return BadInput(
        f"{digests.bytes:,} bytes with digest {digests.of('sha256')} are not registered for {entry.name}"
        f" ({registered})",
        where=str(mirrored),
        do="replace the file by the published one, or declare a variant in the registry",
    )


def _from_addresses(
    entry: SourceFile,
    release: Candidate,
    destination: Path,
    check_space: Callable[[int], None],
    client: Client,
    say: Callable[[str], None],
) -> tuple[str, Digests]:
    """Download from the first address that has the file; return this address and the
    digests.
    """
    part = Part.of(destination)
    failures = {}
    kinds = {kind(release.digest)} if release.digest else set()
    size = f"{release.size:,} bytes" if release.size is not None else "size not known"
    for address in entry.addresses:
        say(f"{entry.name}: {size} from {address}")
        try:
            digests = download(
                address,
                part,
                size=release.size,
                kinds=kinds,
                check_space=check_space,
                client=client,
            )
            _check_download(entry, release, digests, part.path)
        except DownloadFailed as failure:
            if isinstance(failure, WrongContent | WrongKind):
                part.remove()
            failures[address] = failure
            say(f"{entry.name}: {address} {failure}")
        else:
            os.replace(part.path, destination)
            return address, digests
    reasons = ", and ".join(
        f"{address} {failure}" for address, failure in failures.items()
    )
    what = f"{entry.name} could not be fetched: {reasons}"
    if any(isinstance(failure, WrongContent) for failure in failures.values()):
        do = f"see {entry.homepage}, and correct the registry only if the publication has changed"
        raise BadInput(what, do=do)
    place = f"put the file at <folder>/{entry.name} and set mirror to that folder"
    raise BadInput(what, do=f"try again later, or {place}")


def _check_download(
    entry: SourceFile, release: Candidate, digests: Digests, path: Path
) -> None:
    """Raise `WrongContent` or `WrongKind` if a download is not the file of
    ``entry``.
    """
    if not release.digest:
        fault = fault_of(path, entry.kind_name, entry.members)
        if fault:
            raise WrongKind(f"sent {fault}")
        return
    digest = digests.of(kind(release.digest))
    if digest != release.digest:
        what = (
            f"sent bytes with digest {digest} where the registry has {release.digest}"
        )
        raise WrongContent(what)


def _state_licence(entry: SourceFile, destination: Path) -> bool:
    """Write a source's licence and citation to its folder; return False if they are
    there.
    """
    folder = destination.parents[len(PurePosixPath(entry.file).parts) - 1]
    text = f"{entry.title}\nLicence: {entry.licence}\nPlease cite: {entry.citation}\n{entry.homepage}\n"
    try:
        with (folder / "LICENCE.txt").open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def fault_of(path: Path, name: str = "", members: Iterable[str] = ()) -> str:
    """Describe why a file is not of the kind that its suffix names; return "" if it is.

    ``name`` is the final name of a file that has another one now.  A zip must have the
    ``members``, and each member must be intact and of its own kind; .gz and .xz must
    decompress, JSON and each line of JSON lines must be an object or a list, csv must
    be UTF-8, and parquet must have its footer.  No file may be empty, a web page or
    another message of a server instead of data.
    """
    suffix = Path(name or path.name).suffix.lower()
    with path.open("rb") as file:
        fault = _no_data(file.read(HEAD), suffix)
    if fault:
        return fault
    try:
        if suffix == ".zip":
            _check_zip(path, members)
        elif suffix in CHECKS:
            CHECKS[suffix](path)
    except Exception as error:  # each kind of file has other errors
        return f"no {suffix} file ({quoted(error)})"
    return ""


# The checks of `fault_of`: each raises any error if a file is not of its kind.


def _check_zip(path: Path, members: Iterable[str]) -> None:
    with zipfile.ZipFile(path) as archive:
        declared = sum(info.file_size for info in archive.infolist())
        if declared > max(CHUNK, RELEASE_RATIO * path.stat().st_size):
            raise ValueError(f"it expands more than {RELEASE_RATIO} times")
        names = [f"/{name}".replace("\\", "/").lower() for name in archive.namelist()]
        for member in members:
            if not any(name.endswith(f"/{member.lower()}") for name in names):
                raise ValueError(f"it has no {member}")
        if not declared:
            raise ValueError("it is empty")
        damaged_member = archive.testzip()
        if damaged_member:
            raise ValueError(f"{damaged_member} in it is damaged")
        for info in archive.infolist():
            place = PurePosixPath(info.filename)
            # Files that macOS adds are of another kind than their suffix says.
            if info.is_dir() or place.name.startswith("._"):
                continue
            with archive.open(info) as file:
                fault = _no_data(file.read(HEAD), place.suffix.lower())
            # Empty files, such as __init__.py, are usual.
            if fault and info.file_size:
                raise ValueError(f"{info.filename} in it is {fault}")
            if place.suffix.lower() == ".json":
                _check_json_text(archive.read(info), info.filename)


def _check_json(path: Path) -> None:
    _check_json_text(path.read_bytes(), path.name)


def _check_json_lines(path: Path) -> None:
    with path.open("rb") as file:
        for line in filter(bytes.strip, file):
            _check_json_text(line, path.name)


def _check_json_text(text: bytes, name: str) -> None:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: {error}") from None
    if not isinstance(content, dict | list):
        raise ValueError("neither an object nor a list")
    if _is_refusal(content):
        raise ValueError(
            f"{name} is a message of the server: {quoted(text.decode(errors='replace'))}"
        )


def _is_refusal(content: Any) -> bool:
    """Whether a JSON value is what a server says instead of data."""
    if not isinstance(content, dict):
        return False
    keys = {key.lower() for key in content}
    if keys and keys <= ERROR_KEYS | MESSAGE_KEYS:
        return True
    # Settings of a tokenizer have a word as "errors"; a server has a list or an object.
    if isinstance(content.get("errors"), str):
        keys.discard("errors")
    return bool(keys & ERROR_KEYS)


def _check_csv(path: Path) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        first = next(rows)
        if len(first) == 1 and not next(rows, None):
            raise ValueError(f"it is the one line {first[0]!r}")
        while file.read(CHUNK):
            pass


def _check_index(path: Path) -> None:
    with path.open("rb") as file:
        if b"|" not in file.read(HEAD):
            raise ValueError("it has no columns")


def _check_compressed(read: Callable[..., Any], path: Path) -> None:
    """Decompress a file to its end; ``read`` opens it."""
    limit = max(CHUNK, RELEASE_RATIO * path.stat().st_size)
    with read(path) as content:
        start = content.read(HEAD)
        size = len(start)
        while size <= limit and (chunk := content.read(CHUNK)):
            size += len(chunk)
    fault = _no_data(start, "")
    if fault or size > limit:
        raise ValueError(fault or f"it expands more than {RELEASE_RATIO} times")


def _check_parquet(path: Path) -> None:
    from pyarrow import parquet  # slow to import

    parquet.read_metadata(path)


CHECKS: dict[str, Callable[[Path], None]] = {
    ".json": _check_json,
    ".ndjson": _check_json_lines,
    ".jsonl": _check_json_lines,
    ".csv": _check_csv,
    ".idx": _check_index,
    ".gz": partial(_check_compressed, gzip.open),
    ".xz": partial(_check_compressed, lzma.open),
    ".parquet": _check_parquet,
}


def _no_data(start: bytes, suffix: str) -> str:
    """Describe a file that holds no data by its first `HEAD` bytes; return "" for any
    other file.
    """
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        return "an empty file"
    if suffix in MARKUP_SUFFIXES:
        return ""
    for mark, kind_of_file in NO_DATA.items():
        if re.match(mark, text.lower()):
            return kind_of_file
    if suffix and MARKUP.match(text.lower()):
        return "a message of the server in XML or HTML"
    if suffix != ".json" and text.startswith(b"{") and len(start) < HEAD:
        with suppress(ValueError, RecursionError):
            if _is_refusal(json.loads(text)):
                return (
                    f"a message of the server: {quoted(text.decode(errors='replace'))}"
                )
    return ""
