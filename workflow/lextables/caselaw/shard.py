"""The record of a shard's volumes, `<shard>.json`: where they lie, held to what was brought."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lextables.errors import BadInput

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
