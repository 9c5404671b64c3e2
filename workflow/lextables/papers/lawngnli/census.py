"""What LawngNLI's census has besides the counts of its tables: the funnel (how many
candidates are left after each step), what was read, and the provenance of the volumes.

`check_examples_left` stops a construction that is left without examples.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from lextables.papers.lawngnli.steps import StepCounts
from lextables.pipeline.errors import BadInput

Record = Mapping[str, Any]

# The note in the provenance of every volume.
NOTE = "rebuilt from chosen volumes, where the paper had the whole corpus of April 2021"


def total(steps: Iterable[Record]) -> StepCounts:
    """Return the counts of all shards together.

    ``steps`` are the records that `steps.write_counts` wrote, one for each step and
    shard.  The funnel has the steps in the order of their first occurrence, so the
    records of an earlier step must come first.
    """
    funnel: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for step in steps:
        funnel.update(step["funnel"])
        counts.update(step["counts"])
    return StepCounts(dict(funnel), dict(counts))


def check_examples_left(counts: Iterable[tuple[str, int]]) -> None:
    """Raise `BadInput` if one of the steps left nothing: an empty data set trains no
    model.

    ``counts`` has (step, how many are left after it), in the order of the steps.
    """
    previous = ""
    for step, remaining in counts:
        if not remaining:
            raise BadInput(
                f"no example is left: 0 after the step {step!r}{previous}",
                where="LawngNLI",
                do="name more volumes in caselaw, such as those that these cite",
            )
        previous = f", {remaining:,} before it"


def ingested(reports: Iterable[Record]) -> tuple[dict[str, int], list[str]]:
    """Return what was counted when the volumes were read, for the census's notes, and
    the volumes that were set aside.

    ``reports`` are the files next to the files of opinions (`caselaw.ingest.report`).
    """
    notes = {"opinions": 0, "cases left out": 0}
    set_aside: list[str] = []
    for report in reports:
        set_aside += report["set_aside"]
        for name in notes:
            notes[name] += report[name]
    return notes | {"volumes set aside": len(set_aside)}, set_aside


def volume_sources(shards: Iterable[Record]) -> list[Record]:
    """Return the provenance of the volumes in the shards' records
    (`caselaw.fetching.fetch_volumes`).

    Volumes with the same source, variant, licence, citation and host of the address
    have one entry.  They were chosen by the user and are not the paper's export, so
    they are never comparable.
    """
    fields = ("source", "variant", "licence", "citation")
    sizes: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for shard in shards:
        for volume in shard["volumes"]:
            values = [volume[field] for field in fields]
            host = _host(volume["obtained_from"])
            sizes[*values, host].append(volume["bytes"])
    sources: list[Record] = []
    for entry, volumes in sizes.items():
        source: dict[str, Any] = {}
        source.update(zip((*fields, "obtained_from"), entry, strict=True))
        source["file"] = f"{len(volumes)} volumes"
        source["bytes"] = sum(volumes)
        source["comparable"] = False
        source["note"] = NOTE
        sources.append(source)
    return sources


def _host(place: str) -> str:
    """The scheme and host of an address; `mirror` unchanged."""
    parts = urlsplit(place)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.path
