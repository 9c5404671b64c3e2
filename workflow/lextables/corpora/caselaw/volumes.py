"""Which volumes a configuration names, from what is known before anything is fetched.

A range is `<reporter>:<first>-<last>` or `<reporter>:<volume>`.  It is expanded from static.case.law's
own list of volumes where that lies in a mirror or was fetched before, and else taken as it stands; `all`
is every volume of that list.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import orjson

from lextables import ROOT
from lextables.pipeline.errors import BadInput

LIST = "VolumesMetadata.json"
ALL = "all"
REPORTERS = ROOT / "resources/caselaw/reporters.txt"
# No series has gone beyond volume 999: West begins the next one after it.
MOST = 999

Volumes = Mapping[int, Sequence[str]]


@dataclass(frozen=True)
class Collection:
    """What is known of the collection: its reporters, and for those that are listed their volumes.

    ``listed`` maps a reporter to the names of its volumes by number; a number may have several (`138`
    and `138-2`).  Without a list it is empty.
    """

    reporters: frozenset[str]
    listed: Mapping[str, Volumes] = field(default_factory=dict)

    def spelt_out(self, ranges: Iterable[str]) -> Iterator[str]:
        """Yield the ranges, and for `all` one of each reporter that is listed, which wants a list."""
        for text in ranges:
            if text != ALL:
                yield text
                continue
            if not self.listed:
                raise _fault(text, f"wants the collection's {LIST}", "fetch it, by config.yaml's command")
            for reporter, volumes in sorted(self.listed.items()):
                yield f"{reporter}:{min(volumes)}-{max(volumes)}"

    def volumes(self, text: str) -> Volumes:
        """Return the volumes that a range names.

        Raises `BadInput` for a range that is turned round, an unknown reporter, and more volumes than
        the reporter, or any reporter, has.
        """
        reporter, _, span = text.partition(":")
        start, _, end = span.partition("-")
        first, last = int(start), int(end or start)
        if last < first:
            raise _fault(text, "ends before it begins", "turn the range round")
        if reporter not in self.reporters:
            near = get_close_matches(reporter, sorted(self.reporters), 3)
            known = f"use one such as {', '.join(near)}" if near else "see https://static.case.law"
            raise _fault(text, f"names {reporter!r}, which is no reporter of static.case.law", known)
        if reporter not in self.listed:
            if last - first >= MOST:
                asked = f"names {last - first + 1:,} volumes, and no reporter has more than {MOST}"
                raise _fault(text, asked, "name those that there are")
            return {number: (str(number),) for number in range(first, last + 1)}
        listed = self.listed[reporter]
        if last > max(listed):
            beyond = f"goes beyond volume {max(listed)}, the last of {reporter}"
            raise _fault(text, beyond, "name those that there are")
        found = {number: names for number, names in sorted(listed.items()) if first <= number <= last}
        if not found:
            raise _fault(text, f"names no volume that {reporter} has", "name those that there are")
        return found


def _fault(text: str, what: str, do: str) -> BadInput:
    return BadInput(f"caselaw = {text!r} {what}", where="config", do=do)


def known(mirrors: Sequence[Path], fetched: Path) -> Collection:
    """Return what the mirrors' folders ``caselaw`` say of the collection, and ``fetched``, one like them.

    The first `VolumesMetadata.json` counts; a volume that a mirror holds is known whatever the list says.
    """
    folders = [*(mirror / "caselaw" for mirror in mirrors), fetched]
    lists = (folder / LIST for folder in folders)
    path = next((path for path in lists if path.is_file()), None)
    listed = _listed(path) if path else {}
    reporters = set(REPORTERS.read_text(encoding="utf-8").splitlines()[1:]) | set(listed)
    for folder in folders[:-1]:
        for inner in sorted(folder.iterdir()) if folder.is_dir() else ():
            held = [file.stem for file in inner.glob("*.zip") if file.stem.isdecimal()]
            if held:
                reporters.add(inner.name)
            if inner.name in listed:
                for name in held:
                    listed[inner.name].setdefault(int(name), [name])
    return Collection(frozenset(reporters), listed)


def _listed(path: Path) -> dict[str, dict[int, list[str]]]:
    """The volumes of a `VolumesMetadata.json`; those without a number ("Index") cannot be in a range."""
    found: dict[str, dict[int, list[str]]] = {}
    try:
        volumes = orjson.loads(path.read_bytes())
        if not isinstance(volumes, list):
            raise TypeError("not a list")
        for volume in volumes:
            if volume["volume_number"].isdecimal():
                numbers = found.setdefault(volume["reporter_slug"], {})
                numbers.setdefault(int(volume["volume_number"]), []).append(volume["volume_folder"])
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
        raise BadInput(
            f"it is no list of volumes ({error!r})", where=str(path), do="fetch it again from static.case.law"
        ) from error
    return {
        reporter: {number: sorted(names) for number, names in numbers.items()}
        for reporter, numbers in found.items()
    }


def shards(ranges: Iterable[str], size: int, collection: Collection) -> dict[str, list[str]]:
    """Cut ranges into shards of ``size`` volume numbers, named by their first volume.

    ``["us:436-438"]`` with size 2 is ``{"us-436": ["us/436", "us/437"], "us-438": ["us/438"]}``.  What is
    left over of one reporter and all of a short one share a shard, for most reporters have few volumes.
    Raises `BadInput` as `Collection.volumes` does, and when a volume is named twice.
    """
    named: dict[str, dict[int, Sequence[str]]] = {}
    for text in collection.spelt_out(ranges):
        reporter = text.partition(":")[0]
        chosen, volumes = named.setdefault(reporter, {}), collection.volumes(text)
        if twice := sorted(chosen.keys() & volumes.keys()):
            raise BadInput(
                f"caselaw names {reporter}/{twice[0]} twice", where="config", do="give each volume once"
            )
        chosen.update(volumes)
    found: dict[str, list[str]] = {}
    shard: list[str] = []
    for reporter, volumes in named.items():
        for part in _parts(volumes, size):
            if not shard or len(shard) + len(part) > size:
                shard = found.setdefault(f"{reporter}-{part[0]}", [])
            shard += [f"{reporter}/{name}" for name in part]
    return found


def _parts(volumes: Volumes, size: int) -> Iterator[list[str]]:
    """The names of a reporter's volumes, those of ``size`` numbers together.

    Cut by number, so that a volume that is found later changes one part.
    """
    first, part = 0, list[str]()
    for number, names in sorted(volumes.items()):
        if part and number >= first + size:
            yield part
            part = []
        if not part:
            first = number
        part += names
    yield part
