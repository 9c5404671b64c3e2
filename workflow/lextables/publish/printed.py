"""The published values of all papers as one tidy csv."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path

from lextables.tables.published import load

COLUMNS = ("paper", "table", "row", "column", "value", "number", "margin", "decimals", "where")


def to_csv(published: Iterable[str | Path]) -> str:
    """Return the cells of the files in resources/published as csv text with `COLUMNS`.

    ``number`` is the published number in the table's own unit (54.0 for `54.0%`) and ``margin`` the published
    error (0.014 for `0.742 ± 0.014`); both are empty for text.  See `tables.published` for the other columns.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for path in map(Path, published):
        for cell in load(path):
            writer.writerow([path.stem, *(getattr(cell, name) for name in COLUMNS[1:])])
    return out.getvalue()
