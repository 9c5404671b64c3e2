"""Download the volumes of a shard, one by one."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from lextables.corpora.caselaw.case import Unreadable
from lextables.corpora.caselaw.volume import case_ids, ids_of
from lextables.pipeline.content import sha256_of
from lextables.pipeline.errors import BadInput
from lextables.sources.fetch import MIRROR, DiskFull, Provenance, fetch, fetched_before
from lextables.sources.registry import UNVERIFIED, Source, resolve
from lextables.sources.transfer import CLIENT, Client

BULK = (".jsonl", ".jsonl.xz")


def fetch_volumes(
    volumes: Sequence[str],
    folder: str | Path,
    registry: Mapping[str, Source],
    *,
    mirrors: Sequence[Path],
    data: str,
    skip: bool,
    cases: Set[int] | None = None,
    bulk: str | Path = "",
    client: Client = CLIENT,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Fetch ``volumes`` (`<reporter>/<volume>`) to ``folder``, each with a provenance file.

    With ``cases``, case ids, only volumes that have one of them are fetched; those of a volume that is not
    here are looked up in its CasesMetadata.json.  A volume that is a file of the former bulk export, in the
    folder ``bulk``, stays there.

    Returns the shard's record: ``volumes``, the provenance of each in order, ``absent``, the volumes
    that are not available, and, with ``cases``, ``without``, those that have none of them. Volumes fetched by
    an earlier attempt are kept. Unless ``skip``, the first
    unavailable volume raises `BadInput`; with ``skip``, it is raised if no volume is available. After a
    failure the next volume gets a single attempt; after a success all attempts are allowed again.
    """
    fetched, absent, without = [], [], []
    current_client = client
    for volume in volumes:
        if volume.endswith(BULK):
            fetched.append(_bulk_file(Path(bulk, volume), registry))
            continue
        file = resolve(registry, "caselaw", f"{volume}.zip")
        destination, variants = Path(folder, f"{volume}.zip"), file.variants_for(data)
        try:
            if cases is not None and cases.isdisjoint(
                _cases_of(volume, folder, registry, mirrors, current_client, say)
            ):
                without.append(volume)
                continue
            provenance = (
                None
                if _is_in(mirrors, file.name)
                else fetched_before(file, destination, variants)
            )
            if provenance is None:
                provenance = fetch(
                    file,
                    destination,
                    mirrors=mirrors,
                    variants=variants,
                    client=current_client,
                    say=say,
                )
                current_client = client
        except DiskFull:
            raise
        except BadInput as fault:
            if not skip:
                do = "put it there, take it out of caselaw, or set bad_volumes to skip"
                raise BadInput(fault.what, where=fault.where, do=do) from fault
            say(f"{volume} is skipped: {fault}")
            absent.append(volume)
            if len(absent) == len(volumes):
                what = f"no volume from {volumes[0]} to {volume} is available ({fault.what})"
                raise BadInput(
                    what, do="try again later, or take them out of caselaw"
                ) from fault
            current_client = replace(client, attempts=1)
        else:
            fetched.append(asdict(provenance))
    return {"volumes": fetched, "absent": absent} | (
        {} if cases is None else {"without": without}
    )


def _cases_of(
    volume: str,
    folder: str | Path,
    registry: Mapping[str, Source],
    mirrors: Sequence[Path],
    client: Client,
    say: Callable[[str], None],
) -> set[int]:
    """The ids of a volume's cases, from the volume if it is here, else from its metadata."""
    zips = [
        *(mirror / f"caselaw/{volume}.zip" for mirror in mirrors),
        Path(folder, f"{volume}.zip"),
    ]
    if local := next(filter(is_zipfile, zips), None):
        return case_ids(local)
    metadata = Path(folder, volume, "CasesMetadata.json")
    if metadata.is_file():
        with suppress(Unreadable):  # it is fetched again
            return ids_of(metadata.read_bytes())
    file = resolve(registry, "caselaw", f"{volume}/{metadata.name}")
    fetch(file, metadata, mirrors=mirrors, client=client, say=say)
    try:
        return ids_of(metadata.read_bytes())
    except Unreadable as error:
        raise BadInput(
            f"it is no list of cases ({error})", where=str(metadata), do="try later"
        ) from error


def _bulk_file(path: Path, registry: Mapping[str, Source]) -> dict[str, Any]:
    """The provenance of a file of the bulk export, whose digest nobody published."""
    entry = registry["caselaw"]
    return asdict(
        Provenance(
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
    )


def _is_in(mirrors: Iterable[Path], name: str) -> bool:
    return any((mirror / name).is_file() for mirror in mirrors)
