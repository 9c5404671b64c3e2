"""Files that were cut short after they had been made: by a disk, a copy that broke off, or by hand.

What the project writes appears whole or not at all, and nothing looks through it again before it is used.  So
where a job fails, its input is looked at.
"""

import json
import os
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def cut_short(paths: Iterable[str | Path]) -> Path | None:
    """Return the first of these files, or of the files below these folders, that has lost its end."""
    for path in map(Path, paths):
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            with suppress(OSError):  # gone, or not to be read, is another fault
                if file.is_file() and not _whole(file):
                    return file
    return None


def _whole(path: Path) -> bool:
    """Whether a file is as long as the record of its fetching says, or else ends as its form has it end.

    True of a form that does not show it.
    """
    if (fetched := _fetched_bytes(path)) is not None:
        return path.stat().st_size == fetched
    match path.suffix:
        case ".parquet":
            return _has_footer(path)
        case ".zip" | ".npz":
            return zipfile.is_zipfile(path)
        case ".json":
            return _is_json(path)
        case ".safetensors":
            return path.stat().st_size == _safetensors_size(path)
    return True


def _fetched_bytes(path: Path) -> int | None:
    """How many bytes came, by the provenance that stands beside a source's file; None where none does."""
    with suppress(OSError, ValueError):
        record = json.loads(path.with_name(f"{path.name}.json").read_bytes())
        return record.get("bytes") if isinstance(record, dict) else None
    return None


def _has_footer(path: Path) -> bool:
    """Whether a parquet file ends with its footer, the footer's length and the mark of the form."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        length, mark = file.read(4), file.read()
    return mark == b"PAR1" and size >= 12 + int.from_bytes(length, "little")


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _safetensors_size(path: Path) -> int | None:
    """How many bytes a file of tensors has by its header; None where that is cut short itself."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        try:
            header = json.loads(file.read(length))
        except ValueError:
            return None
    ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
    return 8 + length + max(ends, default=0)
