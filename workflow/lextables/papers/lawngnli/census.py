"""What the census of the finished LawngNLI says beside its tables: the funnel, and what went into it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from lextables.papers.lawngnli.steps import StepCounts
from lextables.pipeline.errors import BadInput

Record = Mapping[str, Any]

NOTE = "rebuilt from chosen volumes, where the paper had the whole corpus of April 2021"


def total(steps: Iterable[Record]) -> StepCounts:
    """Add up what each step counted in each shard, records of `steps.write_counts`.

    The funnel has the steps in the order in which they first come, so a shard's are to come in theirs.
    """
    funnel: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for step in steps:
        funnel.update(step["funnel"])
        counts.update(step["counts"])
    return StepCounts(dict(funnel), dict(counts))


def check_left(counts: Iterable[tuple[str, int]]) -> None:
    """Raise `BadInput` naming the first step that left nothing: no one can train on an empty data set."""
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
    """Return the notes on the opinions that were read, and the volumes that were set aside.

    ``reports`` are those beside the files of opinions (`caselaw.ingest.report`).
    """
    reports = list(reports)
    set_aside = [volume for report in reports for volume in report["set_aside"]]
    opinions = sum(report["opinions"] for report in reports)
    return {"opinions": opinions, "volumes set aside": len(set_aside)}, set_aside


def volume_sources(shards: Iterable[Record]) -> list[dict[str, Any]]:
    """Return the provenance of the volumes in the shards' records (`caselaw.fetching.fetch_volumes`).

    Volumes that are alike have one entry; of an address only the host is the same for all.  They were chosen,
    and are not the paper's export: never comparable, whatever the bytes.
    """
    alike: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for volume in chain.from_iterable(shard["volumes"] for shard in shards):
        entry = {key: volume[key] for key in ("source", "variant", "licence", "citation")}
        entry["obtained_from"] = _host(volume["obtained_from"])
        alike.setdefault(tuple(entry.items()), []).append(volume["bytes"])
    return [
        dict(entry)
        | {"file": f"{len(sizes)} volumes", "bytes": sum(sizes), "comparable": False, "note": NOTE}
        for entry, sizes in alike.items()
    ]


def _host(place: str) -> str:
    """The host of an address; a path as it is."""
    parts = urlsplit(place)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.path
