"""The volumes that a configuration names, determined before anything is fetched.

A range is `<reporter>:<first>-<last>` or `<reporter>:<volume>`.  It is expanded with
static.case.law's list of volumes if a mirror has the list or it was fetched before; otherwise every number
in the range is taken. A reporter alone is all of its volumes in the list, or without a list in the mirrors.
`all` is every volume of the list.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from lextables import ROOT
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import Strict, json_value, typed
from lextables.sources.records import whole_number

LIST = "VolumesMetadata.json"
ALL = "all"
REPORTERS = ROOT / "resources/caselaw/reporters.txt"
# No series exceeds volume 999: West then begins the next series.
MOST = 999

Volumes = Mapping[int, Sequence[str]]


@dataclass(frozen=True)
class Collection:
    """The collection: its reporters, and the volumes of the listed ones.

    ``listed`` maps a reporter to the names of its volumes by number; a number may have several (`138`
    and `138-2`).  Without a list it is empty.  ``mirrored`` has the same for the volumes in the mirrors.
    """

    reporters: frozenset[str]
    listed: Mapping[str, Volumes] = field(default_factory=dict)
    mirrored: Mapping[str, Volumes] = field(default_factory=dict)

    def expanded(self, ranges: Iterable[str]) -> Iterator[str]:
        """Yield the ranges; `all` becomes one range per listed reporter.

        Raises `BadInput` for `all` without a list.
        """
        for text in ranges:
            if text != ALL:
                yield text
                continue
            if not self.listed:
                raise _bad_range(
                    text, f"needs the collection's {LIST}", "fetch it as in config.yaml"
                )
            for reporter, volumes in sorted(self.listed.items()):
                yield f"{reporter}:{min(volumes)}-{max(volumes)}"

    def volumes(self, text: str) -> Volumes:
        """Return the volumes that a range names.

        Raises `BadInput` for a reversed range, an unknown reporter, and more volumes than the reporter (if
        not listed: any reporter) has.
        """
        reporter, _, span = text.partition(":")
        if reporter not in self.reporters:
            near = get_close_matches(reporter, sorted(self.reporters), 3)
            advice = (
                f"use one such as {', '.join(near)}"
                if near
                else "see https://static.case.law"
            )
            raise _bad_range(
                text,
                f"has {reporter!r}, which is not a reporter of static.case.law",
                advice,
            )
        if not span:
            return self._all_volumes(text)
        start, _, end = span.partition("-")
        first, last = int(start), int(end or start)
        if last < first:
            raise _bad_range(text, "ends before it begins", "reverse the range")
        if reporter not in self.listed:
            if last - first >= MOST:
                what = f"has {last - first + 1:,} volumes, but no reporter has more than {MOST}"
                raise _bad_range(text, what, "use existing volumes")
            return {number: (str(number),) for number in range(first, last + 1)}
        listed = self.listed[reporter]
        if last > max(listed):
            beyond = f"goes beyond volume {max(listed)}, the last of {reporter}"
            raise _bad_range(text, beyond, "use existing volumes")
        in_range = {
            number: names
            for number, names in sorted(listed.items())
            if first <= number <= last
        }
        if not in_range:
            raise _bad_range(
                text, f"contains no volume of {reporter}", "use existing volumes"
            )
        return in_range

    def knows(self, reporter: str) -> bool:
        """Return whether the volumes of a reporter are known, from the list or from a mirror."""
        return reporter in self.listed or reporter in self.mirrored

    def _all_volumes(self, reporter: str) -> Volumes:
        if self.knows(reporter):
            return self.listed.get(reporter) or self.mirrored[reporter]
        raise _bad_range(
            reporter,
            f"needs the volumes of {reporter!r} in a mirror, or the collection's {LIST}",
            f"give a range such as {reporter}:1-100, or fetch the list as in config.yaml",
        )


def _bad_range(text: str, what: str, do: str) -> BadInput:
    return BadInput(f"caselaw = {text!r} {what}", where="config", do=do)


def known(mirrors: Sequence[Path], fetched: Path) -> Collection:
    """Return the collection as known from the mirrors' folders ``caselaw`` and the folder ``fetched``.

    The first `VolumesMetadata.json` is used; volumes in a mirror are added to it.  A fetched list that cannot
    be read counts as missing.  Raises `BadInput` for such a list in a mirror.
    """
    folders = [*(mirror / "caselaw" for mirror in mirrors), fetched]
    path = next(
        (folder / LIST for folder in folders if (folder / LIST).is_file()), None
    )
    listed = {}
    if path and not (path.parent == fetched and is_damaged(path)):
        listed = _listed(path)
    mirrored: dict[str, dict[int, list[str]]] = {}
    reporters = set(REPORTERS.read_text(encoding="utf-8").splitlines()[1:]) | set(
        listed
    )
    for folder in folders[:-1]:
        for inner in sorted(folder.iterdir()) if folder.is_dir() else ():
            stems = [file.stem for file in inner.glob("*.zip")]
            numbers = [stem for stem in stems if whole_number(stem) is not None]
            if numbers:
                reporters.add(inner.name)
            for name in numbers:
                mirrored.setdefault(inner.name, {})[int(name)] = [name]
                if inner.name in listed:
                    listed[inner.name].setdefault(int(name), [name])
    return Collection(frozenset(reporters), listed, mirrored)


class _Volume(Strict):
    volume_number: str
    reporter_slug: str
    volume_folder: str


def is_damaged(path: Path) -> bool:
    """Return whether a file is no `VolumesMetadata.json`."""
    try:
        _listed(path)
    except BadInput:
        return True
    return False


def _listed(path: Path) -> dict[str, dict[int, list[str]]]:
    """The volumes in a `VolumesMetadata.json` that have a number ("Index" has none)."""
    again = "fetch it again from static.case.law"
    listed = typed(
        list[_Volume], json_value(path.read_bytes(), str(path), again), str(path), again
    )
    by_reporter: dict[str, dict[int, list[str]]] = {}
    for volume in listed:
        number = whole_number(volume.volume_number)
        if number is not None:
            numbers = by_reporter.setdefault(volume.reporter_slug, {})
            numbers.setdefault(number, []).append(volume.volume_folder)
    return {
        reporter: {number: sorted(names) for number, names in numbers.items()}
        for reporter, numbers in by_reporter.items()
    }


def shards(
    ranges: Iterable[str], size: int, collection: Collection
) -> dict[str, list[str]]:
    """Cut ranges into shards of ``size`` volume numbers, named by their first volume.

    ``["us:436-438"]`` with size 2 is ``{"us-436": ["us/436", "us/437"], "us-438": ["us/438"]}``. Remainders
    and short reporters share shards, because most reporters have few volumes. Raises `BadInput` as
    `Collection.volumes` does, and for a volume that is named twice.
    """
    volumes_by_reporter: dict[str, dict[int, Sequence[str]]] = {}
    for text in collection.expanded(ranges):
        reporter = text.partition(":")[0]
        chosen, volumes = (
            volumes_by_reporter.setdefault(reporter, {}),
            collection.volumes(text),
        )
        if twice := sorted(chosen.keys() & volumes.keys()):
            raise BadInput(
                f"caselaw has {reporter}/{twice[0]} twice",
                where="config",
                do="list each volume once",
            )
        chosen.update(volumes)
    by_name: dict[str, list[str]] = {}
    shard: list[str] = []
    for reporter, volumes in volumes_by_reporter.items():
        for part in _parts(volumes, size):
            if not shard or len(shard) + len(part) > size:
                shard = by_name.setdefault(f"{reporter}-{part[0]}", [])
            shard += [f"{reporter}/{name}" for name in part]
    return by_name


def _parts(volumes: Volumes, size: int) -> Iterator[list[str]]:
    """The names of a reporter's volumes in parts of ``size`` volume numbers.

    Cutting by number means that a volume added later changes only one part.
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
