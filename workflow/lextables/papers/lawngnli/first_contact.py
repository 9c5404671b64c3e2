"""First contact with the authors' ID files, which no data set of the registry has."""

from pathlib import Path

from lextables.papers.lawngnli.released import ids


def _read_ids(path: Path) -> str:
    rows = sum(1 for _ in ids.read_ids(path))
    return f"{rows:,} rows"


def _read_masks(path: Path) -> str:
    return f"masks of {', '.join(ids.read_masks(path))}"


READERS = {
    "lawngnli_ids/LawngNLI_minus_case_text.xz": _read_ids,
    "lawngnli_ids/LawngNLI_filter.xz": _read_masks,
}
