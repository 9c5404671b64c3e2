"""Fetching: a source file from a mirror folder or an address, checked, with its provenance beside it."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lextables.pipeline.atomic import replacing, write_text
from lextables.pipeline.errors import BadInput, NotNow
from lextables.sources.digest import Digests, chunks, kind
from lextables.sources.registry import PUBLISHED, Candidate, SourceFile
from lextables.sources.transfer import CLIENT, Client, OtherBytes, Part, Refused, download
from lextables.sources.untrusted import looks, misplaced

# What `Provenance.obtained_from` says of a mirror.
MIRROR = "mirror"


@dataclass(frozen=True)
class Provenance:
    """What a fetched file is, as written to ``<file>.json`` beside it.

    ``obtained_from`` is an address, or the word ``mirror``: a folder's path would differ between
    machines.  ``digest`` is always a SHA-256.
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
class ByHand:
    """A file that no program can fetch: what it is, and what a person does to get it."""

    source: str
    file: str
    licence: str
    homepage: str
    instructions: str

    @property
    def sentence(self) -> str:
        """The reason, for a table's reader or an error."""
        return f"{self.source}/{self.file} is fetched by hand: {self.instructions}"


class NotFetched(BadInput):
    """Raised for a gated file that is in no mirror; ``record`` has the instructions."""

    def __init__(self, record: ByHand) -> None:
        self.record = record
        place = f"put it at <folder>/{record.source}/{record.file} and set mirror to that folder"
        super().__init__(record.sentence, do=place)


class NoRoom(BadInput):
    """Raised when the disk is too small for a file; the next file would fare no better."""


def by_hand(wanted: SourceFile, mirrors: Sequence[str | Path], variants: Iterable[str]) -> ByHand | None:
    """The instructions for ``wanted`` where it has no address and no mirror has it, else None.

    Looks at names only, so that a run can be planned before anything is read.
    """
    if wanted.addresses or not wanted.instructions or in_mirror(wanted, mirrors, variants):
        return None
    return ByHand(wanted.source, wanted.file, wanted.licence, wanted.homepage, wanted.instructions)


def fetch(
    wanted: SourceFile,
    destination: str | Path,
    *,
    mirrors: Sequence[str | Path] = (),
    variants: Iterable[str] = PUBLISHED,
    client: Client = CLIENT,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
    say: Callable[[str], None] = print,
) -> Provenance:
    """Bring ``wanted`` to ``destination``, write ``<destination>.json`` beside it, and return its content.

    Mirror folders come first, and a file there may be any of the allowed ``variants``; then, where the
    published bytes are allowed, each address in order.  ``free`` returns the free bytes of a folder's disk.

    Raises `BadInput` when a mirror's file is none of these or every address fails, `NoRoom` when the
    disk is too small, and `NotFetched` when the file is gated.  ``destination`` then keeps what it held
    before.
    """
    destination, allowed = Path(destination), tuple(variants)
    destination.parent.mkdir(parents=True, exist_ok=True)
    candidates = wanted.among(allowed)

    def room(needed: int) -> None:
        if needed > (have := free(destination.parent)):
            where = f"the disk of {destination.parent} has {have:,}"
            raise NoRoom(f"{wanted.name} needs {needed:,} bytes more, and {where}", do="free some space")

    if found := _in_mirror(wanted, mirrors, candidates):
        say(f"{wanted.name}: {found.stat().st_size:,} bytes from the mirror")
        room(found.stat().st_size)
        candidate, digests = _copy(wanted, found, candidates, destination)
        place = MIRROR
    elif record := by_hand(wanted, mirrors, allowed):
        raise NotFetched(record)
    else:
        candidate = next((c for c in candidates if c.variant in PUBLISHED), None)
        if candidate is None:
            folders = ", ".join(map(str, mirrors)) or "a mirror, for none is set"
            what = f"{wanted.name} ({' or '.join(allowed)}) is not in {folders}"
            raise BadInput(what, do=f"put it there as {wanted.name}")
        place, digests = _from_addresses(wanted, candidate, destination, mirrors, room, client, say)
    provenance = Provenance(
        source=wanted.source,
        file=wanted.file,
        variant=candidate.variant,
        comparable=candidate.comparable,
        digest=digests.of("sha256"),
        bytes=digests.bytes,
        obtained_from=place,
        licence=wanted.licence,
        citation=wanted.citation,
        note=candidate.note,
    )
    text = json.dumps(asdict(provenance), indent=2, ensure_ascii=False) + "\n"
    write_text(destination.with_name(f"{destination.name}.json"), text)
    Part.of(destination).forget()
    _state_licence(wanted, destination, say)
    return provenance


def kept(
    wanted: SourceFile, destination: str | Path, variants: Iterable[str] = PUBLISHED
) -> Provenance | None:
    """Return the provenance of what an earlier `fetch` left at ``destination``, if it is still that.

    None where there is nothing, where its bytes are not those of its provenance, or where the registry
    has come to say something else of them.
    """
    destination = Path(destination)
    beside = destination.with_name(f"{destination.name}.json")
    if not (destination.is_file() and beside.is_file()):
        return None
    record = Provenance(**json.loads(beside.read_text(encoding="utf-8")))
    candidates = wanted.among(variants)
    digests = Digests({kind(c.digest) for c in candidates if c.digest}, destination.stat().st_size)
    for data in chunks(destination):
        digests.update(data)
    candidate = next((c for c in candidates if _is(c, digests)), None)
    same = candidate and (candidate.variant, candidate.comparable) == (record.variant, record.comparable)
    return record if same and digests.of("sha256") == record.digest else None


def standing(
    wanted: SourceFile,
    mirrors: Sequence[str | Path],
    variants: Iterable[str],
    fetched: Mapping[str, Any] | None,
    digest: Callable[[Path], str],
) -> str:
    """Say which bytes a fetch would bring now, so that other ones in a mirror's first place are fetched anew.

    ``fetched`` is the provenance of the file that is here, if it is; ``digest`` gives a file's SHA-256.  A
    place is no setting of the result: the same bytes in another one, or a mirror that is gone, change
    nothing.
    """
    candidates = wanted.among(variants)
    found = _in_mirror(wanted, mirrors, candidates)
    if found and (bytes_there := digest(found)) != (fetched or {}).get("digest"):
        return bytes_there
    if fetched and fetched["obtained_from"] == MIRROR:
        return fetched["digest"]
    return " or ".join(candidate.pin for candidate in candidates)


def in_mirror(wanted: SourceFile, mirrors: Sequence[str | Path], variants: Iterable[str]) -> bool:
    """Whether a mirror has a file of the name of an allowed variant; its bytes are not looked at."""
    return _in_mirror(wanted, mirrors, wanted.among(variants)) is not None


def _in_mirror(
    wanted: SourceFile, mirrors: Sequence[str | Path], candidates: Iterable[Candidate]
) -> Path | None:
    """The first file that bears a candidate's name in a mirror folder."""
    places = (Path(mirror, wanted.source, c.named) for mirror in mirrors for c in candidates)
    return next((place for place in places if place.is_file()), None)


def _copy(
    wanted: SourceFile, found: Path, candidates: Iterable[Candidate], destination: Path
) -> tuple[Candidate, Digests]:
    """Copy a mirror's file and return which candidate it is.

    A copy and not a link: what a later step does to the results must not reach the mirror.
    """
    pinned = [c for c in wanted.candidates if c.digest]
    digests = Digests({kind(c.digest) for c in pinned}, found.stat().st_size)
    with replacing(destination) as temporary:
        with temporary.open("wb") as out:
            for data in chunks(found):
                out.write(data)
                digests.update(data)
        candidate = next((c for c in candidates if _is(c, digests)), None)
        if candidate is None:
            other = next((c for c in pinned if _is(c, digests)), None)
            raise _stranger(wanted, found, digests, candidates, other)
    return candidate, digests


def _is(candidate: Candidate, digests: Digests) -> bool:
    """Whether bytes are the candidate's: by size, then by digest, where these are registered."""
    if candidate.size not in (None, digests.bytes):
        return False
    return candidate.digest is None or digests.of(kind(candidate.digest)) == candidate.digest


def _stranger(
    wanted: SourceFile,
    found: Path,
    digests: Digests,
    allowed: Iterable[Candidate],
    other: Candidate | None,
) -> BadInput:
    """The error for a mirror's file that is no allowed candidate; ``other`` is the variant that it is."""
    if other:
        return BadInput(
            f"this is the variant {other.variant!r} of {wanted.name}, which this run may not use",
            where=str(found),
        )
    if seen := looks(found):
        what, do = f"this is {seen}, and not {wanted.name}", "put the published file in its place"
        return BadInput(what, where=str(found), do=do)
    sizes = [c.size for c in wanted.candidates if c.variant in PUBLISHED and c.size]
    if sizes and digests.bytes < min(sizes):
        what = f"{digests.bytes:,} bytes, where {wanted.name} as published has {min(sizes):,}"
        return BadInput(what, where=str(found), do="copy or fetch it again")
    known = ", ".join(c.pin for c in allowed)
    return BadInput(
        f"{digests.bytes:,} bytes with digest {digests.of('sha256')} are none of those registered for"
        f" {wanted.name} ({known})",
        where=str(found),
        do="replace the file by the published one, or declare a variant in the registry",
    )


def _from_addresses(
    wanted: SourceFile,
    release: Candidate,
    destination: Path,
    mirrors: Sequence[str | Path],
    room: Callable[[int], None],
    client: Client,
    say: Callable[[str], None],
) -> tuple[str, Digests]:
    """Bring the release from the first address that has it; return that address."""
    part, faults = Part.of(destination), {}
    kinds = {kind(release.digest)} if release.digest else set()
    size = f"{release.size:,} bytes" if release.size is not None else "size not known"
    for address in wanted.addresses:
        say(f"{wanted.name}: {size} from {address}")
        try:
            digests = download(address, part, size=release.size, kinds=kinds, room=room, client=client)
            if release.digest and (got := digests.of(kind(release.digest))) != release.digest:
                raise OtherBytes(f"sent bytes with digest {got} where the registry has {release.digest}")
        except Refused as fault:
            if isinstance(fault, OtherBytes):
                part.forget()
            faults[address] = fault
            say(f"{wanted.name}: {address} {fault}")
        else:
            os.replace(part.path, destination)
            return address, digests
    reasons = ", and ".join(f"{address} {fault}" for address, fault in faults.items())
    what = f"{wanted.name} could not be fetched: {reasons}"
    if any(isinstance(fault, OtherBytes) for fault in faults.values()):
        do = f"see {wanted.homepage}, and correct the registry only if the publication has changed"
        raise BadInput(what, do=do)
    place = f"put the file at <folder>/{wanted.name} and set mirror to that folder"
    do = misplaced(wanted.source, wanted.file, mirrors) or f"try again later, or {place}"
    raise NotNow(what, do=do)


def _state_licence(wanted: SourceFile, destination: Path, say: Callable[[str], None]) -> None:
    """Say a source's licence and citation when its first file has come, and leave them in its folder."""
    folder = destination.parents[len(PurePosixPath(wanted.file).parts) - 1]
    text = f"{wanted.title}\nLicence: {wanted.licence}\nPlease cite: {wanted.citation}\n{wanted.homepage}\n"
    try:
        with (folder / "LICENCE.txt").open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return
    say(text.rstrip())
