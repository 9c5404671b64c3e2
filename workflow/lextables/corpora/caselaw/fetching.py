"""Download the volumes of a shard, one by one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lextables.pipeline.errors import BadInput
from lextables.sources.fetch import DiskFull, fetch, fetched_before
from lextables.sources.registry import Source, resolve
from lextables.sources.transfer import CLIENT, Client


def fetch_volumes(
    volumes: Iterable[str],
    folder: str | Path,
    registry: Mapping[str, Source],
    *,
    mirrors: Sequence[Path],
    data: str,
    skip: bool,
    client: Client = CLIENT,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Fetch ``volumes`` (`<reporter>/<volume>`) to ``folder``, each with a provenance file.

    Returns the shard's record: ``volumes``, the provenance of each in order, and ``absent``, the volumes
    that are not available. Volumes fetched by an earlier attempt are kept. Unless ``skip``, the first
    unavailable volume raises `BadInput`. After a failure the next volume gets a single attempt; after a
    success all attempts are allowed again.
    """
    fetched, absent = [], []
    current_client = client
    for volume in volumes:
        file = resolve(registry, "caselaw", f"{volume}.zip")
        destination, variants = Path(folder, f"{volume}.zip"), file.variants_for(data)
        try:
            provenance = None if _is_in(mirrors, file.name) else fetched_before(file, destination, variants)
            if provenance is None:
                provenance = fetch(
                    file, destination, mirrors=mirrors, variants=variants, client=current_client, say=say
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
            current_client = replace(client, attempts=1)
        else:
            fetched.append(asdict(provenance))
    return {"volumes": fetched, "absent": absent}


def _is_in(mirrors: Iterable[Path], name: str) -> bool:
    return any((mirror / name).is_file() for mirror in mirrors)
