"""The published files that data were read from, as pages and cards show them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lextables.sources.entries import SAMPLE
from lextables.sources.licences import licence_of


@dataclass(frozen=True)
class SourceFiles:
    """Published files of one source with the same variant, licence and note."""

    file: str
    """The name of a single file, or the source and the number of its files."""
    variant: str
    size: int
    """Bytes of all files together."""
    origin: str
    """The address or the kind of folder that all files are from, or `several
    addresses`.
    """
    digest: str
    """That of a single file; empty for several."""
    licence: str
    note: str


def source_files(sources: Iterable[Mapping[str, Any]]) -> list[SourceFiles]:
    """Return the files in provenance records, grouped by source, variant, licence and
    note.
    """
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for source in sources:
        key = (
            source["source"],
            source["variant"],
            licence_of(source).statement,
            source["note"],
        )
        groups[key].append(source)
    rows = []
    for (name, variant, licence, note), files in groups.items():
        file = f"{name}, {len(files)} files"
        digest = ""
        if len(files) == 1:
            (only,) = files
            file = f"{name}/{only['file']}"
            digest = only.get("digest", "")
        row = SourceFiles(
            file=file,
            variant=variant,
            size=sum(each["bytes"] for each in files),
            origin=_origin(files),
            digest=digest,
            licence=licence,
            note=note,
        )
        rows.append(row)
    return rows


def _origin(sources: Iterable[Mapping[str, Any]]) -> str:
    """Return the address of files, or the kind of their folder; `several addresses` if
    they are not from one place.
    """
    origins = set()
    for source in sources:
        origin = source["obtained_from"]
        if origin == "mirror":
            is_sample = source["variant"] == SAMPLE
            origin = "resources/sample" if is_sample else "a mirror folder"
        origins.add(origin)
    if len(origins) > 1:
        return "several addresses"
    return origins.pop()
