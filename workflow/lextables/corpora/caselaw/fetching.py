"""Download the volumes of a shard, one by one."""

from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from zipfile import is_zipfile

from lextables.corpora.caselaw.case import Unreadable
from lextables.corpora.caselaw.volume import case_ids, ids_of, other_volume
from lextables.pipeline.content import sha256_of
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.sources.entries import UNVERIFIED, Registry, resolve
from lextables.sources.fetch import MIRROR, DiskFull, Provenance, fetch, fetched_before
from lextables.sources.transfer import CLIENT, Client

BULK = (".jsonl", ".jsonl.xz")  # suffixes of the former bulk export


@dataclass(frozen=True)
class Source:
    """Where volumes are fetched from, and the folder that they are stored in."""

    folder: Path
    """The folder that they are stored in."""
    registry: Registry
    mirrors: Sequence[Path]
    data: str
    """The config key `data`: `sample` or `release`."""
    bulk: Path = Path()
    """The folder of the former bulk export."""
    client: Client = CLIENT
    say: Callable[[str], None] = print
    """Writes a line for the user."""

    def is_in_mirror(self, name: str) -> bool:
        """Return whether a mirror has the file of this name."""
        return any((mirror / name).is_file() for mirror in self.mirrors)

    def fetch(self, volume: str, client: Client) -> tuple[Provenance, bool]:
        """Return the provenance of ``volume`` (`<reporter>/<volume>`), and whether it
        was fetched now.

        Raises `BadInput` if the file at its address or in a mirror is another volume;
        it is not kept.
        """
        number = volume.rpartition("/")[2]
        file = resolve(self.registry, "caselaw", f"{volume}.zip")
        destination = self.folder / f"{volume}.zip"
        variants = file.variants_for(self.data)
        if not self.is_in_mirror(file.name):
            earlier = fetched_before(file, destination, variants)
            if earlier and not other_volume(destination, number):
                return earlier, False
        provenance = fetch(
            file,
            destination,
            mirrors=self.mirrors,
            variants=variants,
            client=client,
            say=self.say,
        )
        other = other_volume(destination, number)
        if other:
            destination.unlink()
            what = f"{file.name} from {provenance.obtained_from} is {other}"
            raise BadInput(what, do="replace it by the published file")
        return provenance, True

    def cases_of(self, volume: str, client: Client) -> set[int]:
        """Return the ids of a volume's cases, from the volume if it is here, else from
        its metadata.
        """
        zips = [mirror / f"caselaw/{volume}.zip" for mirror in self.mirrors]
        zips.append(self.folder / f"{volume}.zip")
        for path in filter(is_zipfile, zips):
            return case_ids(path)
        metadata = self.folder / volume / "CasesMetadata.json"
        if metadata.is_file():
            with suppress(Unreadable):  # it is fetched again
                return ids_of(metadata.read_bytes())
        file = resolve(self.registry, "caselaw", f"{volume}/{metadata.name}")
        fetch(file, metadata, mirrors=self.mirrors, client=client, say=self.say)
        try:
            return ids_of(metadata.read_bytes())
        except Unreadable as error:
            what = f"it is no list of cases ({error})"
            raise BadInput(what, where=str(metadata), do="try later") from error

    def bulk_file(self, volume: str) -> Provenance:
        """Return the provenance of a file of the bulk export, whose digest nobody
        published.
        """
        path = self.bulk / volume
        entry = self.registry["caselaw"]
        return Provenance(
            source="caselaw",
            file=str(path.resolve()),
            variant=UNVERIFIED,
            comparable=False,
            digest=f"sha256:{sha256_of(path)}",
            bytes=path.stat().st_size,
            obtained_from=MIRROR,
            licence=entry.licence,
            citation=entry.citation,
            note="the former bulk export",
        )


def fetch_volumes(
    volumes: Sequence[str], source: Source, *, skip: bool, cases: Set[int] | None = None
) -> JsonObject:
    """Fetch ``volumes`` (`<reporter>/<volume>`), each with a provenance file.

    With ``cases``, case ids, only volumes that have one of them are fetched; those of a
    volume that is not here are looked up in its CasesMetadata.json.  A file of the
    former bulk export stays where it is.

    Returns the shard's record: ``volumes``, the provenance of each in order,
    ``absent``, the volumes that are not available, and, with ``cases``, ``without``,
    those that have none of them. Volumes fetched by an earlier attempt are kept. Unless
    ``skip``, the first unavailable volume raises `BadInput`; with ``skip``, it is
    raised if no volume is available. After a failure the next volume gets a single
    attempt; after a success all attempts are allowed again.
    """
    fetched = []
    absent = []
    without = []
    client = source.client
    for volume in volumes:
        if volume.endswith(BULK):
            fetched.append(asdict(source.bulk_file(volume)))
            continue
        try:
            if cases is not None and cases.isdisjoint(source.cases_of(volume, client)):
                without.append(volume)
                continue
            provenance, is_new = source.fetch(volume, client)
        except DiskFull:
            raise
        except BadInput as fault:
            if not skip:
                do = "put it there, take it out of caselaw, or set bad_volumes to skip"
                raise BadInput(fault.what, where=fault.where, do=do) from fault
            source.say(f"{volume} is skipped: {fault}")
            absent.append(volume)
            if len(absent) == len(volumes):
                what = f"no volume from {volumes[0]} to {volume} is available ({fault.what})"
                do = "try again later, or take them out of caselaw"
                raise BadInput(what, do=do) from fault
            client = replace(client, attempts=1)
        else:
            fetched.append(asdict(provenance))
            if is_new:
                client = source.client
    record: JsonObject = {"volumes": fetched, "absent": absent}
    if cases is not None:
        record["without"] = without
    return record
