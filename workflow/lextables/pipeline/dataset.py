"""Data sets: parquet tables with a schema, and a census (counts and hashes) to check
them.

A `Table` describes each column; the descriptions are stored in the parquet file as
field metadata. Rows are written in the order given, in row groups of fixed size, so
that the same rows give the same bytes and memory stays bounded by one row group.
"""

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import (
    JsonObject,
    damage_named,
    replacing_result,
    verify,
    write_result,
)
from lextables.pipeline.finite import OTHER_WEIGHTS, first_not_finite, is_of_floats

ROW_GROUP = 4096  # rows
# Each page of a file has a checksum, which is compared when it is read.  A page without
# one, of an earlier version, is read as it is.
PARQUET: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}
# The metadata of a column of decimal numbers: its key, and which numbers are allowed.
NUMBERS = b"numbers"
DEFINED = b"finite"
DEFINED_OR_NAN = b"finite or NaN"

Row = Mapping[str, Any]
Item = TypeVar("Item")
Batch = TypeVar("Batch", pa.Table, pa.RecordBatch)


@dataclass(frozen=True)
class Column:
    """One column: its name, Arrow type, and a description (with its unit).

    Decimal numbers must be finite.  With ``undefined`` NaN is also allowed, and stands
    for a value that is not defined.
    """

    name: str
    type: pa.DataType
    description: str
    nullable: bool = False
    undefined: bool = False

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """What is stored about the column in a file."""
        metadata = {b"description": self.description.encode()}
        if is_of_floats(self.type):
            metadata[NUMBERS] = DEFINED_OR_NAN if self.undefined else DEFINED
        return metadata


@dataclass(frozen=True)
class Table:
    """The schema of one parquet file.

    ``key`` names the columns that identify a row; rows come sorted by it unless
    ``ordered`` is False (the order of the source then carries meaning).  ``labels``
    names the columns whose histogram belongs in the census.
    """

    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    labels: tuple[str, ...] = ()
    ordered: bool = True
    row_group: int = field(default=ROW_GROUP, repr=False)

    @cached_property
    def whole_numbers(self) -> list[str]:
        """The names of the columns of whole numbers."""
        columns = self.columns
        return [column.name for column in columns if pa.types.is_integer(column.type)]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with the descriptions as field metadata."""
        fields = []
        for column in self.columns:
            field = pa.field(column.name, column.type, column.nullable, column.metadata)
            fields.append(field)
        metadata = {
            "table": self.name,
            "description": self.description,
            "key": ",".join(self.key),
        }
        return pa.schema(fields, metadata)


class Source(BaseModel):
    """Keys that the provenance of a published file must have; it may have more."""

    source: str
    file: str
    variant: str
    comparable: bool


class Sources(BaseModel):
    """The part of a census on the published files of a data set."""

    sources: list[Source]


class Census(Sources):
    """Keys that a census must have; ``data`` is {table: its counts and hashes}."""

    data: dict[str, JsonObject]


@dataclass(frozen=True)
class Published:
    """The input of the reader of one data set."""

    files: Mapping[str, Sequence[Path]]
    """The published files, by their names in the registry."""
    facts: Mapping[str, Path]
    """Files of `resources/facts`, by their names in the registry."""
    given: JsonObject
    """The values of those keys of the paper's file that the data set names."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """{name in ``files``: the variant of its first file}."""

    def file(self, name: str) -> Path:
        """The one file of this name."""
        (path,) = self.files[name]
        return path


@dataclass(frozen=True)
class Rows:
    """The output of a reader."""

    of: Mapping[str, Iterable[Row]]
    """{table: its rows}."""
    notes: JsonObject
    """Counts and other notes about the rows, for the census."""


Reader = Callable[[str, Published], Rows]  # of a paper package


def write(
    table: Table,
    rows: Iterable[Row],
    path: str | Path,
    about: Mapping[str, str] | None = None,
) -> int:
    """Stream ``rows`` to ``path`` as parquet and return how many there were.

    ``about`` is stored in the file's metadata. Raises `BadInput` if a key is repeated,
    if a sorted table is out of order, or if a value does not fit its column; the file
    is then unchanged.
    """
    count = 0
    keys = _Keys(table)
    with (
        replacing_result(path) as temporary,
        pq.ParquetWriter(temporary, table.schema, **PARQUET) as out,
    ):
        for batch in batched(rows, table.row_group):
            first = count + 1
            where = f"{Path(path).name}, rows {first}-{count + len(batch)}"
            try:
                for row in batch:
                    count += 1
                    keys.add(row, f"{Path(path).name}, row {count}")
                    _check_whole_numbers(row, table)
                plain = [dict(row) for row in batch]
                arrow = pa.RecordBatch.from_pylist(plain, table.schema)
                out.write_batch(_finite(arrow, where))
            except (
                pa.ArrowException,
                LookupError,
                ValueError,
                TypeError,
                OverflowError,
            ) as error:
                what = f"a value does not fit its column ({error})"
                raise BadInput(what, where=where) from error
        out.add_key_value_metadata(about or {})
    return count


def _finite(data: Batch, where: str = "") -> Batch:
    """Return the rows; `BadInput` for a number that its column does not allow
    (`Column.metadata`).
    """
    for number, column in enumerate(data.schema):
        allowed = (column.metadata or {}).get(NUMBERS)
        if allowed is None:
            continue
        wrong = first_not_finite(
            data.column(number), undefined=allowed == DEFINED_OR_NAN
        )
        if wrong is not None:
            what = f"the column {column.name!r} has {wrong}, which is no finite number"
            raise BadInput(what, where=where, do=OTHER_WEIGHTS)
    return data


class _Keys:
    """The keys of the rows of a table so far; of a sorted table only the last."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.last: tuple[Any, ...] | None = None
        self.seen: set[tuple[Any, ...]] = set()

    def add(self, row: Row, where: str) -> None:
        """Raise `BadInput` if the key of the next row is repeated or out of order."""
        key = tuple(row[name] for name in self.table.key)
        if key == self.last or key in self.seen:
            raise BadInput(f"the key {key!r} repeats", where=where)
        if not self.table.ordered:
            self.seen.add(key)
        elif self.last is not None and key < self.last:
            raise BadInput(f"the key {key!r} is out of order", where=where)
        self.last = key


def _check_whole_numbers(row: Row, table: Table) -> None:
    """Raise `ValueError` for decimals in a column of whole numbers, which Arrow would
    cut.
    """
    for name in table.whole_numbers:
        value = row[name]
        if isinstance(value, float) and value != int(value):
            raise ValueError(f"{name} = {value} is no whole number")


def batched(rows: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of ``size`` rows in their order, of which the last may be shorter."""
    iterator = iter(rows)
    batch = list(itertools.islice(iterator, size))
    while batch:
        yield batch
        batch = list(itertools.islice(iterator, size))


def opened(path: str | Path, **options: Any) -> pq.ParquetFile:
    """Open a parquet file of the results; ``options`` are those of
    `pyarrow.parquet.ParquetFile`.

    Raises `BadInput` if the file is damaged.
    """
    with damage_named(path):
        verify(path)
        return pq.ParquetFile(path, page_checksum_verification=True, **options)


@contextmanager
def parquet_file(
    path: str | Path, columns: Sequence[str] | None = None, **options: Any
) -> Iterator[pq.ParquetFile]:
    """Open a parquet file as `opened` does; `BadInput` if it lacks one of ``columns``.

    The block must only read the file: any error in it is reported as damage.
    """
    with opened(path, **options) as file, damage_named(path):
        missing = set(columns or ()) - set(file.schema_arrow.names)
        if missing:
            raise BadInput(f"the column {min(missing)!r} is missing")
        yield file


def read_table(
    path: str | Path, columns: Sequence[str] | None = None, **options: Any
) -> pa.Table:
    """Return a parquet file, or its ``columns``; ``options`` are those of `opened`."""
    with parquet_file(path, columns, **options) as file:
        return _finite(file.read(columns))


def row_groups(
    path: str | Path, columns: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """Yield a parquet file, or its ``columns``, one row group in memory at a time."""
    with parquet_file(path, columns) as file:
        for group in range(file.num_row_groups):
            yield _finite(file.read_row_group(group, columns=columns))


def batches(
    path: str | Path, columns: Sequence[str] | None = None, size: int = 1 << 16
) -> Iterator[pa.RecordBatch]:
    """Yield a parquet file, or its ``columns``, in batches of at most ``size`` rows."""
    with parquet_file(path, columns) as file:
        for batch in file.iter_batches(size, columns=columns, use_threads=False):
            yield _finite(batch)


def read(
    path: str | Path, columns: Sequence[str] | None = None
) -> Iterator[JsonObject]:
    """Yield the rows of a parquet file as dicts, one row group in memory at a time."""
    for group in row_groups(path, columns):
        with damage_named(path):
            rows = group.to_pylist()
        yield from rows


def row_hash(row: Row) -> str:
    """The first 16 hex digits of the SHA-256 of a row as canonical JSON."""
    text = json.dumps(
        row, sort_keys=True, ensure_ascii=False, default=str, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def census(table: Table, path: str | Path) -> JsonObject:
    """Count what is in a parquet file: rows, label histograms, hashes of three rows and
    of all.

    ``rows_sha256`` covers every row in order, so two files with one census hold the
    same data whichever version of the parquet library wrote them.
    """
    with parquet_file(path) as file:
        total = file.metadata.num_rows
    # In a table of one or two rows, a row with several of these names has the last one.
    marks = {0: "first", total // 2: "middle", total - 1: "last"}
    histograms: dict[str, Counter[str]] = {label: Counter() for label in table.labels}
    hashes: dict[str, str] = {}
    all_rows = hashlib.sha256()
    for index, row in enumerate(read(path)):
        digest = row_hash(row)
        all_rows.update(digest.encode())
        for label, histogram in histograms.items():
            histogram[str(row[label])] += 1
        if index in marks:
            hashes[marks[index]] = digest
    labels = {label: dict(sorted(h.items())) for label, h in histograms.items()}
    return {
        "rows": total,
        "labels": labels,
        "row_hashes": hashes,
        "rows_sha256": all_rows.hexdigest(),
    }


def write_all(
    tables: Iterable[Table], rows: Mapping[str, Iterable[Row]], folder: str | Path
) -> JsonObject:
    """Write each table to ``folder`` from the rows under its name; return {name: its
    census}.
    """
    counts = {}
    for table in tables:
        path = Path(folder) / f"{table.name}.parquet"
        write(table, rows[table.name], path)
        counts[table.name] = census(table, path)
    return counts


def write_census(path: str | Path, record: JsonObject) -> None:
    """Write a census as indented JSON, readable for people and ``diff``."""
    write_result(
        path, json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    )


def check_census(
    found: Mapping[str, Any], expected: Mapping[str, Any], where: str
) -> None:
    """Compare a table's census with the registered one, which may have fewer figures.

    Raises `BadInput` with the first figure that differs, so that no run starts on other
    data.
    """
    for key, want in expected.items():
        have = found.get(key)
        if isinstance(want, Mapping) and isinstance(have, Mapping):
            check_census(have, want, f"{where}, {key}")
        elif have != want:
            what = f"the census says {key} = {have!r} where the registry has {want!r}"
            do = "rebuild from checked sources, or register the new figure if the change is meant"
            raise BadInput(what, where=where, do=do)


def write_data_set(
    name: str,
    reader: Reader,
    tables: Iterable[Table],
    published: Published,
    sources: Sequence[JsonObject],
    registered: Mapping[str, Any],
    folder: str | Path,
) -> JsonObject:
    """Write the tables of a data set and its `census.json` to ``folder``; return the
    census.

    ``sources`` are the provenances of the published files, in their order, and
    ``registered`` is {variant of the first file: the registered census}.  Raises
    `BadInput` for files that cannot be read, or if the census is not the registered
    one.
    """
    rows = reader(name, published)
    counts = write_all(tables, rows.of, folder)
    # The variant of the first file counts; other files may have other variants.
    variant = sources[0]["variant"]
    check_census(counts, registered.get(variant, {}), f"{name}, {variant}")
    record = {"data": counts, "notes": rows.notes, "sources": list(sources)}
    write_census(Path(folder) / "census.json", record)
    return record
