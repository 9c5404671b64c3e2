"""What the target `first_contact` reads of the authors' two ID files.

It tries every source, most of them through the readers of the data sets that the
registry lists.  No listed data set has these files, so they have readers here.
"""

from pathlib import Path

from lextables.papers.lawngnli.released import ids


def _read_ids(path: Path) -> str:
    """Read the whole file; return what it has, in words."""
    rows = sum(1 for _ in ids.read_ids(path))
    return f"{rows:,} rows"


def _read_masks(path: Path) -> str:
    """Read the whole file; return what it has, in words."""
    return f"masks of {', '.join(ids.read_masks(path))}"


# {source file: its reader}
READERS = {
    "lawngnli_ids/LawngNLI_minus_case_text.xz": _read_ids,
    "lawngnli_ids/LawngNLI_filter.xz": _read_masks,
}
