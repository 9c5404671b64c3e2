"""The published files that data were read from, as pages and cards show them."""

from collections import defaultdict
from collections.abc import (
    Iterable,
    Mapping,
)
from dataclasses import dataclass
from typing import Any

from lextables.sources.licences import licence_of
from lextables.sources.registry import SAMPLE


@dataclass(frozen=True)
class SourceFiles:
    """Published files of one source with the same variant, licence and note.

    ``file`` is the file's name, or the source and the number of its files.  ``size`` is in bytes, and
    ``digest`` that of a single file.  ``origin`` is an address or a kind of folder.
    """

    file: str
    variant: str
    size: int
    origin: str
    digest: str
    licence: str
    note: str


def source_files(sources: Iterable[Mapping[str, Any]]) -> list[SourceFiles]:
    """Return the files in provenance records, grouped by source, variant, licence and note."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for source in sources:
        licence = licence_of(source).statement
        key = (source["source"], source["variant"], licence, source["note"])
        groups[key].append(source)
    rows = []
    for (name, variant, licence, note), files in groups.items():
        file, digest = f"{name}, {len(files)} files", ""
        if len(files) == 1:
            file, digest = f"{name}/{files[0]['file']}", files[0].get("digest", "")
        size = sum(each["bytes"] for each in files)
        origins = {_origin(each) for each in files}
        origin = origins.pop() if len(origins) == 1 else "several addresses"
        rows.append(SourceFiles(file, variant, size, origin, digest, licence, note))
    return rows


def _origin(source: Mapping[str, Any]) -> str:
    """The address of a file, or the kind of its folder."""
    if source["obtained_from"] != "mirror":
        return source["obtained_from"]
    return "resources/sample" if source["variant"] == SAMPLE else "a mirror folder"
