"""A shard of volumes: the record of what was fetched, and the report of what was read and left out.

The record is `sources/caselaw/<shard>.json`, the report `data/caselaw/<shard>.json`.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lextables.pipeline.errors import BadInput

AGAIN = "fetch it again with --forcerun caselaw_volumes"


def name(path: Path) -> str:
    """Return `<reporter>/<volume>` of a volume's file."""
    return f"{path.parent.name}/{path.stem}"


def paths(record: Mapping[str, Any], folder: str | Path) -> list[Path]:
    """Return the paths of a shard's volumes.

    Raises `BadInput` if a volume is missing, or differs from the one that was fetched.
    """
    files = []
    for volume in record["volumes"]:
        path = Path(folder, volume["file"])
        if not path.is_file():
            raise BadInput("the volume is missing", where=str(path), do=AGAIN)
        with path.open("rb") as file:
            if f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" != volume["digest"]:
                raise BadInput("the volume differs from the one that was fetched", where=str(path), do=AGAIN)
        files.append(path)
    return files


def report(record: Mapping[str, Any], done: Any) -> dict[str, Any]:
    """Return the number of opinions, the volumes that were left out, and one sentence per fault.

    ``done`` says what was read (`ingest.Ingested`).  ``set_aside`` lists, as `<reporter>/<volume>`, the volumes
    that were not available (``absent`` in the record) and those that could not be read.
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
