"""The census of the finished LawngNLI in addition to its tables: the funnel, and its sources."""

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
    """Return the sum over shards of the counts of each step (records of `steps.write_counts`).

    The funnel has the steps in the order of their first occurrence, so each shard must list them in order.
    """
    funnel: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for step in steps:
        funnel.update(step["funnel"])
        counts.update(step["counts"])
    return StepCounts(dict(funnel), dict(counts))


def check_left(counts: Iterable[tuple[str, int]]) -> None:
    """Raise `BadInput` with the first step that left nothing: training on an empty data set is impossible."""
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

    ``reports`` are those next to the files of opinions (`caselaw.ingest.report`).
    """
    reports = list(reports)
    set_aside = [volume for report in reports for volume in report["set_aside"]]
    notes = {
        name: sum(report[name] for report in reports)
        for name in ("opinions", "cases left out")
    }
    return notes | {"volumes set aside": len(set_aside)}, set_aside


def volume_sources(shards: Iterable[Record]) -> list[dict[str, Any]]:
    """Return the provenance of the volumes in the shards' records (`caselaw.fetching.fetch_volumes`).

    Volumes with the same source, variant, licence and host of the address have one entry.  They were chosen
    by the user and are not the paper's export, so they are never comparable.
    """
    alike: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for volume in chain.from_iterable(shard["volumes"] for shard in shards):
        entry = {
            key: volume[key] for key in ("source", "variant", "licence", "citation")
        }
        entry["obtained_from"] = _host(volume["obtained_from"])
        alike.setdefault(tuple(entry.items()), []).append(volume["bytes"])
    return [
        dict(entry)
        | {
            "file": f"{len(sizes)} volumes",
            "bytes": sum(sizes),
            "comparable": False,
            "note": NOTE,
        }
        for entry, sizes in alike.items()
    ]


def _host(place: str) -> str:
    """The host of an address; a path unchanged."""
    parts = urlsplit(place)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.path
