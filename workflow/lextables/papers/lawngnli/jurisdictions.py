"""Rows parted by the jurisdiction of their premise, on disk, for steps that go a jurisdiction at a time."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lextables.pipeline.dataset import Table

# Rows in memory at a time.
BATCH = 4096

Row = Mapping[str, Any]


def part(rows: Iterable[Row], table: Table, folder: Path) -> list[Path]:
    """Write ``rows`` to a file for each ``cited_jurisdiction``, in their order; return the files by its name.

    They have the columns of ``table``, whatever else a row holds.
    """
    folder.mkdir(parents=True)
    paths: dict[str, Path] = {}
    with ExitStack() as files:
        writers: dict[str, pq.ParquetWriter] = {}
        for place, found in _by_place(rows):
            if place not in writers:
                paths[place] = folder / f"{len(paths)}.parquet"
                writers[place] = files.enter_context(
                    pq.ParquetWriter(paths[place], table.schema, compression="zstd")
                )
            writers[place].write_batch(pa.RecordBatch.from_pylist(found, table.schema))
    return [path for _, path in sorted(paths.items())]


def _by_place(rows: Iterable[Row]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each batch, those of one jurisdiction together."""
    read = iter(rows)
    while batch := list(islice(read, BATCH)):
        places: dict[str, list[Row]] = {}
        for row in batch:
            places.setdefault(row["cited_jurisdiction"], []).append(row)
        yield from places.items()
