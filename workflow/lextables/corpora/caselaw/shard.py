"""A shard of volumes: its record, held to what was brought, and the report of what was read and set aside.

The record is `sources/caselaw/<shard>.json`, the report `data/caselaw/<shard>.json`.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lextables.pipeline.errors import BadInput

if TYPE_CHECKING:
    from lextables.corpora.caselaw.ingest import Ingested

AGAIN = "bring it again with --forcerun caselaw_volumes"


def name(path: Path) -> str:
    """Return `<reporter>/<volume>` of a volume's file."""
    return f"{path.parent.name}/{path.stem}"


def paths(record: Mapping[str, Any], folder: str | Path) -> list[Path]:
    """Return where the volumes of a shard's record lie.

    Raises `BadInput` for one that is no longer there, or is another than was brought.
    """
    found = []
    for volume in record["volumes"]:
        path = Path(folder, volume["file"])
        if not path.is_file():
            raise BadInput("the volume is gone", where=str(path), do=AGAIN)
        with path.open("rb") as file:
            if f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" != volume["digest"]:
                raise BadInput("the volume is another than was brought", where=str(path), do=AGAIN)
        found.append(path)
    return found


def report(record: Mapping[str, Any], done: "Ingested") -> dict[str, Any]:
    """Return how many opinions were read, which volumes were set aside, and each fault in a sentence.

    Set aside are the volumes that could not be had (``absent`` in the record) and those that could not be
    read, as `<reporter>/<volume>`.
    """
    absent = record["absent"]
    return {
        "opinions": done.opinions,
        "set_aside": [*absent, *map(name, done.set_aside)],
        "faults": [
            *(f"{volume}: it could not be had; the volume is set aside." for volume in absent),
            *map(str, done.faults),
        ],
    }
