"""The volumes that a configuration names, determined before anything is fetched.

A range is `<reporter>:<first>-<last>` or `<reporter>:<volume>`.  It is expanded with
static.case.law's list of volumes if a mirror has the list or it was fetched before;
otherwise every number in the range is taken.  A reporter alone is all of its volumes:
those in the list or, if the list lacks the reporter, those in the mirrors.  `all` is
every volume of the list.
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

Volumes = Mapping[int, Sequence[str]]  # {number: names of the volumes with it}


@dataclass(frozen=True)
class Collection:
    """The collection: its reporters, and the volumes of which it is known that they
    exist.
    """

    reporters: frozenset[str]
    listed: Mapping[str, Volumes] = field(default_factory=dict)
    """{reporter of the list: its volumes, in the list or in a mirror}; empty without
    the list.  A number may have several volumes (`138` and `138-2`).
    """
    mirrored: Mapping[str, Volumes] = field(default_factory=dict)
    """{reporter: its volumes in the mirrors}."""

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

        Raises `BadInput` for a reversed range, an unknown reporter, and more volumes
        than the reporter (if not listed: any reporter) has.
        """
        reporter, _, span = text.partition(":")
        if reporter not in self.reporters:
            what = f"has {reporter!r}, which is not a reporter of static.case.law"
            do = "see https://static.case.law"
            near = get_close_matches(reporter, sorted(self.reporters), 3)
            if near:
                do = f"use one such as {', '.join(near)}"
            raise _bad_range(text, what, do)
        if not span:
            return self._all_volumes(text)
        start, _, end = span.partition("-")
        first = int(start)
        last = int(end or start)
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
        numbers = [number for number in sorted(listed) if first <= number <= last]
        if not numbers:
            what = f"contains no volume of {reporter}"
            raise _bad_range(text, what, "use existing volumes")
        return {number: listed[number] for number in numbers}

    def knows(self, reporter: str) -> bool:
        """Return whether the volumes of a reporter are known, from the list or from a
        mirror.
        """
        return reporter in self.listed or reporter in self.mirrored

    def _all_volumes(self, reporter: str) -> Volumes:
        """Return all volumes of a reporter; `BadInput` if they are not known."""
        if self.knows(reporter):
            return self.listed.get(reporter) or self.mirrored[reporter]
        what = (
            f"needs the volumes of {reporter!r} in a mirror, or the collection's {LIST}"
        )
        do = f"give a range such as {reporter}:1-100, or fetch the list as in config.yaml"
        raise _bad_range(reporter, what, do)


def _bad_range(text: str, what: str, do: str) -> BadInput:
    return BadInput(f"caselaw = {text!r} {what}", where="config", do=do)


def read_collection(mirrors: Sequence[Path], fetched: Path) -> Collection:
    """Read the collection from the mirrors' folders ``caselaw`` and the folder
    ``fetched``.

    The first `VolumesMetadata.json` is used; volumes in a mirror are added to it.  A
    fetched list that cannot be read counts as missing.  Raises `BadInput` for such a
    list in a mirror.
    """
    listed = {}
    for folder in [*(mirror / "caselaw" for mirror in mirrors), fetched]:
        path = folder / LIST
        if path.is_file():
            if folder != fetched or not is_damaged(path):
                listed = _listed(path)
            break
    names = REPORTERS.read_text(encoding="utf-8").splitlines()[1:]
    reporters = {*names, *listed}
    mirrored: dict[str, dict[int, list[str]]] = {}
    for mirror in mirrors:
        for file in sorted(mirror.glob("caselaw/*/*.zip")):
            number = whole_number(file.stem)
            if number is None:
                continue
            reporter = file.parent.name
            reporters.add(reporter)
            mirrored.setdefault(reporter, {})[number] = [file.stem]
            if reporter in listed:
                listed[reporter].setdefault(number, [file.stem])
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
    content = json_value(path.read_bytes(), str(path), again)
    listed = typed(list[_Volume], content, str(path), again)
    by_reporter: dict[str, dict[int, list[str]]] = {}
    for volume in listed:
        number = whole_number(volume.volume_number)
        if number is not None:
            numbers = by_reporter.setdefault(volume.reporter_slug, {})
            numbers.setdefault(number, []).append(volume.volume_folder)
    for numbers in by_reporter.values():
        for names in numbers.values():
            names.sort()
    return by_reporter


def shards(
    ranges: Iterable[str], size: int, collection: Collection
) -> dict[str, list[str]]:
    """Cut ranges into shards of ``size`` volume numbers, named by their first volume.

    ``["us:436-438"]`` with size 2 is ``{"us-436": ["us/436", "us/437"], "us-438":
    ["us/438"]}``. Remainders and short reporters share shards, because most reporters
    have few volumes. Raises `BadInput` as `Collection.volumes` does, and for a volume
    that is named twice.
    """
    by_name: dict[str, list[str]] = {}
    shard: list[str] = []
    for reporter, volumes in _chosen(ranges, collection).items():
        for part in _parts(volumes, size):
            if not shard or len(shard) + len(part) > size:
                shard = []
                by_name[f"{reporter}-{part[0]}"] = shard
            for name in part:
                shard.append(f"{reporter}/{name}")
    return by_name


def _chosen(ranges: Iterable[str], collection: Collection) -> Mapping[str, Volumes]:
    """Return {reporter: its volumes in ``ranges``}; `BadInput` for a volume named
    twice.
    """
    chosen: dict[str, dict[int, Sequence[str]]] = {}
    for text in collection.expanded(ranges):
        reporter = text.partition(":")[0]
        known_volumes = chosen.setdefault(reporter, {})
        for number, names in sorted(collection.volumes(text).items()):
            if number in known_volumes:
                what = f"caselaw has {reporter}/{number} twice"
                raise BadInput(what, where="config", do="list each volume once")
            known_volumes[number] = names
    return chosen


def _parts(volumes: Volumes, size: int) -> Iterator[list[str]]:
    """The names of a reporter's volumes in parts of ``size`` volume numbers.

    Cutting by number means that a volume added later changes only one part.
    """
    first = 0
    part: list[str] = []
    for number, names in sorted(volumes.items()):
        if part and number >= first + size:
            yield part
            part = []
        if not part:
            first = number
        part += names
    yield part
