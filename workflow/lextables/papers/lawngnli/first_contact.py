"""Readers of the authors' two ID files for the target `first_contact`.

The target reads every source once, most sources with the readers of the data sets that
the registry lists.  No listed data set reads the ID files, so their readers are here.
"""

from pathlib import Path

from lextables.papers.lawngnli.released import ids


def _read_ids(path: Path) -> str:
    """Read the whole file of ids; return the number of its rows as text."""
    rows = sum(1 for _ in ids.read_ids(path))
    return f"{rows:,} rows"


def _read_masks(path: Path) -> str:
    """Read the whole file of masks; return the names of the masks as text."""
    return f"masks of {', '.join(ids.read_masks(path))}"


# {source file: its reader}
READERS = {
    "lawngnli_ids/LawngNLI_minus_case_text.xz": _read_ids,
    "lawngnli_ids/LawngNLI_filter.xz": _read_masks,
}
