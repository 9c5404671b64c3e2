"""The volumes of a shard, brought to their place one by one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from lextables.pipeline.errors import BadInput
from lextables.sources.fetch import NoRoom, fetch, kept
from lextables.sources.registry import Source, resolve
from lextables.sources.transfer import CLIENT, Client


def bring(
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
    """Bring each of ``volumes`` (`<reporter>/<volume>`) to ``folder``, with its provenance beside it.

    Returns the shard's record: ``volumes``, their provenance in order, and ``absent``, which could not
    be had.  What an earlier attempt brought stays, whatever becomes of the others.  Without ``skip``
    the first volume that cannot be had raises `BadInput`.  The address that has just failed is asked
    once for the next volume, and patiently again after it has answered.
    """
    found, absent = [], []
    patience = client
    for volume in volumes:
        wanted = resolve(registry, "caselaw", f"{volume}.zip")
        destination, variants = Path(folder, f"{volume}.zip"), wanted.variants_for(data)
        try:
            held = None if _in(mirrors, wanted.name) else kept(wanted, destination, variants)
            if held is None:
                held = fetch(
                    wanted, destination, mirrors=mirrors, variants=variants, client=patience, say=say
                )
                patience = client
        except NoRoom:
            raise
        except BadInput as fault:
            if not skip:
                do = "put it there, take it out of caselaw, or set bad_volumes to skip"
                raise BadInput(fault.what, where=fault.where, do=do) from fault
            say(f"{volume} is skipped: {fault}")
            absent.append(volume)
            patience = replace(client, attempts=1)
        else:
            found.append(asdict(held))
    return {"volumes": found, "absent": absent}


def _in(mirrors: Iterable[Path], name: str) -> bool:
    return any((mirror / name).is_file() for mirror in mirrors)
