"""Fetch a source file from a mirror folder or a URL, check it, and write its provenance."""

import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lextables.pipeline.atomic import replacing, write_text
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_record, typed
from lextables.sources.registry import (
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
# Beginnings of files without data.
NO_DATA = {
    b"<!doctype html": "a web page, such as a login page",
    b"<html": "a web page, such as a login page",
    b"version https://git-lfs": "a pointer of Git LFS without data",
}


@dataclass(frozen=True)
class Provenance:
    """Provenance of a fetched file, as written to ``<file>.json``.

    ``obtained_from`` is an address or ``mirror``, because a folder's path differs between machines.
    ``digest`` is a SHA-256.
    """

    source: str
    file: str
    variant: str
    comparable: bool
    digest: str
    bytes: int
    obtained_from: str
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
    """A file must be downloaded manually and is in no mirror; ``record`` has the instructions."""

    def __init__(self, record: ManualDownload) -> None:
        self.record = record
        place = f"put it at <folder>/{record.source}/{record.file} and set mirror to that folder"
        super().__init__(record.sentence, do=place)


class WrongKind(DownloadFailed):
    """The address delivers something that is not of the kind that the file's name has."""


class DiskFull(BadInput):
    """The disk is too small for a file."""


def manual_download(
    entry: SourceFile, mirrors: Sequence[str | Path], variants: Iterable[str]
) -> ManualDownload | None:
    """Return the instructions for ``entry`` if it has no address and is in no mirror, else None.

    Only file names are checked, so that a run can be planned without reading files.
    """
    if entry.addresses or not entry.instructions or in_mirror(entry, mirrors, variants):
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
    """Fetch ``entry`` to ``destination`` and write and return its provenance, ``<destination>.json``.

    Mirror folders are searched first, for any of the allowed ``variants``.  If the published bytes are
    allowed, the addresses are tried next, in order.  ``free`` returns the free bytes of a folder's disk.

    Bytes without a registered digest are checked for the kind of file that the name has (`fault_of`).

    Raises `BadInput` if the mirror's file is no allowed variant or every address fails, `DiskFull`, and
    `NotFetched` if the file must be downloaded manually.  ``destination`` is then unchanged.
    """
    destination, allowed = Path(destination), tuple(variants)
    destination.parent.mkdir(parents=True, exist_ok=True)
    candidates = entry.among(allowed)

    def check_space(needed: int) -> None:
        have = free(destination.parent)
        if needed > have:
            where = f"the disk of {destination.parent} has {have:,}"
            what = f"{entry.name} needs {needed:,} bytes more, and {where}"
            raise DiskFull(what, do="free some space")

    mirrored = _in_mirror(entry, mirrors, candidates)
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
            what = f"{entry.name} ({' or '.join(allowed)}) is not in {folders}"
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
    write_text(destination.with_name(f"{destination.name}.json"), text)
    Part.of(destination).remove()
    if _state_licence(entry, destination) and candidate.variant != SAMPLE:
        say(f"{entry.title} ({entry.licence}); please cite {entry.citation}")
    return provenance


def fetched_before(
    entry: SourceFile, destination: str | Path, variants: Iterable[str] = PUBLISHED
) -> Provenance | None:
    """Return the provenance of the file that an earlier `fetch` wrote to ``destination``.

    None if there is no file, if its bytes are not those of its provenance or not of the kind that its name
    has, or if the registry has a different entry for them now.
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
    if candidate.digest is None and fault_of(destination):
        return None
    if candidate.variant != record.variant:
        return None
    if candidate.comparable != record.comparable:
        return None
    return record


def damaged(folder: str | Path) -> Iterator[tuple[Path, str]]:
    """Yield each download below ``folder`` that was stored without a digest and is not of its kind.

    With it comes the description of `fault_of`.  Copies of a mirror's files are not
    included, nor are files that have not changed since all were checked the last time:
    there may be tens of thousands.
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
                # The time of the last change of its content or name; it cannot be set.
                if file.stat().st_ctime_ns < checked_at or not _is_unverified(file):
                    continue
                # To read the directories of thousands of zips would take minutes.
                if file.suffix == ".zip" and zipfile.is_zipfile(file):
                    continue
                fault = fault_of(file)
                if fault:
                    yield file, fault


def _is_unverified(file: Path) -> bool:
    """Return whether a file is a download whose digest is not registered."""
    record = _provenance(file)
    if record is None or record.obtained_from == MIRROR:
        return False
    return record.variant == UNVERIFIED


def _provenance(file: Path) -> Provenance | None:
    """Return the provenance of a stored file; None if one of both is missing, or the record is damaged."""
    record_file = file.with_name(f"{file.name}.json")
    record = read_record(record_file, Provenance) if file.is_file() else None
    return record and typed(Provenance, record)


def content_key(
    entry: SourceFile,
    mirrors: Sequence[str | Path],
    variants: Iterable[str],
    fetched: Mapping[str, Any] | None,
    digest: Callable[[Path], str],
) -> str:
    """Return a key of the bytes that a fetch would bring now; a file is fetched again when its key changes.

    ``fetched`` is the provenance of the file fetched before, if there is one; ``digest`` returns a file's
    SHA-256.  The key depends on the bytes only: moving or removing a mirror does not change it.
    """
    candidates = entry.among(variants)
    mirrored = _in_mirror(entry, mirrors, candidates)
    fetched = fetched or {}
    if mirrored:
        mirror_digest = digest(mirrored)
        if mirror_digest != fetched.get("digest"):
            return mirror_digest
    if fetched.get("obtained_from") == MIRROR:
        return fetched["digest"]
    return " or ".join(candidate.pin for candidate in candidates)


def in_mirror(
    entry: SourceFile, mirrors: Sequence[str | Path], variants: Iterable[str]
) -> bool:
    """Return whether a mirror has a file with the name of an allowed variant; its bytes are not read."""
    return _in_mirror(entry, mirrors, entry.among(variants)) is not None


def _in_mirror(
    entry: SourceFile, mirrors: Sequence[str | Path], candidates: Iterable[Candidate]
) -> Path | None:
    """Return the first file in a mirror that has the name of a candidate."""
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
    """Copy a mirror's file and return the matching candidate.

    No link, because later changes to the results must not reach the mirror.
    """
    pinned = [c for c in entry.candidates if c.digest]
    digests = Digests({kind(c.digest) for c in pinned}, mirrored.stat().st_size)
    with replacing(destination) as temporary:
        with temporary.open("wb") as out:
            for data in chunks(mirrored):
                out.write(data)
                digests.update(data)
        candidate = _matching(candidates, digests)
        if candidate is None:
            other = _matching(pinned, digests)
            raise _wrong_file(entry, mirrored, digests, candidates, other)
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
    """Return the error for a mirror's file that is no allowed candidate; ``other`` is its variant, if any."""
    if other:
        return BadInput(
            f"this is the variant {other.variant!r} of {entry.name}, which this run may not use",
            where=str(mirrored),
        )
    kind_of_file = _no_data(mirrored)
    if kind_of_file:
        what = f"this is {kind_of_file}, not {entry.name}"
        do = "replace it by the published file"
        return BadInput(what, where=str(mirrored), do=do)
    sizes = [c.size for c in entry.candidates if c.variant in PUBLISHED and c.size]
    if sizes and digests.bytes < min(sizes):
        what = f"{digests.bytes:,} bytes, where {entry.name} as published has {min(sizes):,}"
        return BadInput(what, where=str(mirrored), do="copy or fetch it again")
    registered = ", ".join(c.pin for c in allowed)
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
    """Download from the first address that has the file; return this address and the digests."""
    part, failures = Part.of(destination), {}
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
            _check_download(release, digests, part.path, destination.name)
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
    release: Candidate, digests: Digests, path: Path, name: str
) -> None:
    """Raise `WrongContent` or `WrongKind` if a download is not the file ``name``."""
    if not release.digest:
        fault = fault_of(path, name)
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
    """Write a source's licence and citation to its folder; return False if they are there."""
    folder = destination.parents[len(PurePosixPath(entry.file).parts) - 1]
    text = f"{entry.title}\nLicence: {entry.licence}\nPlease cite: {entry.citation}\n{entry.homepage}\n"
    try:
        with (folder / "LICENCE.txt").open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def fault_of(path: Path, name: str = "") -> str:
    """Describe why a file is not of the kind that its suffix names; return "" if it is.

    ``name`` is the final name of a file that has another one now.  A zip must open, JSON and each line of
    JSON lines must be an object or a list, csv must be UTF-8, and parquet must have its footer.  No file may
    be empty or a web page.
    """
    suffix = Path(name or path.name).suffix
    fault = _no_data(path)
    if fault:
        return fault
    try:
        if suffix in CHECKS:
            CHECKS[suffix](path)
    except Exception as error:  # each kind of file has other errors
        return f"no {suffix} file ({quoted(error)})"
    return ""


def _check_zip(path: Path) -> None:
    zipfile.ZipFile(path).close()


def _check_json(path: Path) -> None:
    _check_container(path.read_bytes())


def _check_json_lines(path: Path) -> None:
    with path.open("rb") as file:
        for line in filter(bytes.strip, file):
            _check_container(line)


def _check_container(text: bytes) -> None:
    if not isinstance(json.loads(text), dict | list):
        raise ValueError("neither an object nor a list")


def _check_csv(path: Path) -> None:
    with path.open(encoding="utf-8") as file:
        while file.read(CHUNK):
            pass


def _check_parquet(path: Path) -> None:
    from pyarrow import parquet  # slow to import

    parquet.read_metadata(path)


CHECKS: dict[str, Callable[[Path], None]] = {
    ".zip": _check_zip,
    ".json": _check_json,
    ".ndjson": _check_json_lines,
    ".jsonl": _check_json_lines,
    ".csv": _check_csv,
    ".parquet": _check_parquet,
}


def _no_data(path: Path) -> str:
    """Describe a file that holds no data by its first bytes; return "" for any other file."""
    with path.open("rb") as file:
        start = file.read(512).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if not start:
        return "an empty file"
    for mark, kind_of_file in NO_DATA.items():
        if start.startswith(mark):
            return kind_of_file
    return ""
