"""Writing a data set: the rows of its reader as parquet, checked against the registered
census.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.pipeline.dataset import (
    Published,
    Rows,
    Table,
    check_census,
    write_all,
    write_census,
)
from lextables.pipeline.files import JsonObject

Reader = Callable[[str, Published], Rows]


def write_data_set(
    name: str,
    reader: Reader,
    tables: Iterable[Table],
    published: Published,
    sources: Sequence[JsonObject],
    census: Mapping[str, Any],
    folder: str | Path,
) -> JsonObject:
    """Write the tables of a data set and its `census.json` to ``folder``; return the
    census.

    ``sources`` are the provenances of the published files, and ``census`` is {variant
    of the first file: the registered census}.  Raises `BadInput` for files that cannot
    be read or another census.
    """
    rows = reader(name, published)
    counts = write_all(tables, rows.of, folder)
    # The data are those of the first file; the others have variants of their own.
    variant = sources[0]["variant"]
    check_census(counts, census.get(variant, {}), f"{name}, {variant}")
    record = {"data": counts, "notes": rows.notes, "sources": list(sources)}
    write_census(Path(folder) / "census.json", record)
    return record
