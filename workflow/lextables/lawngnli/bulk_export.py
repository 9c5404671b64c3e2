"""The Caselaw Access Project's former bulk export, from which the released LawngNLI is rebuilt."""

from pathlib import Path

from lextables.errors import BadInput


def bulk_files(folder: str | Path) -> list[Path]:
    """Return the files of the former bulk export in ``folder``, sorted."""
    return sorted([*Path(folder).glob("*.jsonl"), *Path(folder).glob("*.jsonl.xz")])


def chosen_bulk(folder: str) -> list[Path]:
    """Return the `bulk_files` of the folder that the config names; `BadInput` where it names none."""
    found = bulk_files(folder) if folder else []
    if not found:
        raise BadInput(
            f"bulk_export = {folder!r} names no folder with .jsonl or .jsonl.xz files",
            where="config",
            do="name the folder of the Caselaw Access Project's former bulk export",
        )
    return found
