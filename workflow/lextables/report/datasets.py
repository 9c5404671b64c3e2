"""A page for each data set: columns, sources, first rows, and how to load it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lextables.pipeline.dataset import parquet_file
from lextables.pipeline.files import read_json
from lextables.pipeline.run import Counts
from lextables.pipeline.table_texts import (
    SPLIT,
    config_name,
    description_of,
    key_of,
    type_name,
)
from lextables.pipeline.version import snakemake_path
from lextables.report.exhibits import cut
from lextables.report.layout import Link, Page
from lextables.report.results import Part, Record, owner
from lextables.sources.entries import with_registry_texts
from lextables.sources.provenance import SourceFiles, source_files
from lextables.tables import render

TEMPLATE = "dataset.html.j2"
ROWS = 10  # of a table that are shown
LETTERS = 140  # of a text in them
VALUES = 12  # up to which a label's histogram is drawn


@dataclass(frozen=True)
class DataTable:
    """A table of a data set: its columns as (name, type, description), and its first
    rows as texts.

    ``file`` is its place below the results.
    """

    name: str
    description: str
    key: Sequence[str]
    columns: Sequence[tuple[str, str, str]]
    rows: Sequence[Sequence[str]]
    file: str


@dataclass(frozen=True)
class DataSet:
    """A data set, its census, and its tables in the folder of the census."""

    name: str
    census: Record
    tables: Sequence[DataTable]

    @property
    def path(self) -> str:
        """The place of its page."""
        return f"data/{self.name}.html"

    @property
    def rows(self) -> int:
        """The total number of rows of its tables."""
        return sum(counts["rows"] for counts in self.census["data"].values())


def read(census: str | Path, texts: Record | None = None) -> DataSet:
    """Read a data set's census, and the schema and first rows of each of its tables.

    ``texts`` are the current texts of the sources' registry (`registry_texts`).
    """
    folder = Path(census).parent
    counts = read_json(census, Counts)
    sources = counts.get("sources", [])
    counts["sources"] = with_registry_texts(sources, texts or {})
    tables = []
    for name in counts["data"]:
        file = folder / f"{name}.parquet"
        if file.exists():
            tables.append(_table(file))
    return DataSet(folder.name, counts, tables)


def _table(path: Path) -> DataTable:
    """Read the schema and the first rows of a table."""
    with parquet_file(path) as file:
        schema = file.schema_arrow
        empty = pa.RecordBatch.from_pylist([], schema)
        rows = next(file.iter_batches(batch_size=ROWS), empty).to_pylist()
    columns = []
    for column in schema:
        text = description_of(column.metadata)
        columns.append((column.name, type_name(column), text))
    return DataTable(
        path.stem,
        description_of(schema.metadata),
        key_of(schema),
        columns,
        [list(map(_text, row.values())) for row in rows],
        f"data/{path.parent.name}/{path.name}",
    )


def _text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return cut(" ".join(str(value).split()), LETTERS)


@dataclass(frozen=True)
class LabelColumn:
    """A label column: its number of values, and (value, count, per cent of the largest)
    if they are few.
    """

    name: str
    values: int
    bars: Sequence[tuple[str, int, float]]


@dataclass(frozen=True)
class ShownTable:
    """A table with the number and the digest of its rows, and its labels."""

    table: DataTable
    rows: int
    digest: str
    labels: Sequence[LabelColumn]


@dataclass(frozen=True)
class DataSetPage:
    """The content of a data set's page; ``load`` is code by the library that runs
    it.
    """

    dataset: DataSet
    task: str
    earlier: bool
    data_note: str
    sources: Sequence[SourceFiles]
    tables: Sequence[ShownTable]
    counts: Sequence[tuple[str, float]]
    load: Sequence[tuple[str, str]]


def page(dataset: DataSet, parts: Sequence[Part], root: str) -> Page:
    """Return the page of a data set; ``root`` is the folder of the results as code
    names it.
    """
    part = owner(dataset.name, parts)
    census = dataset.census
    tables = []
    for table in dataset.tables:
        counts = census["data"][table.name]
        labels = [_label(*label) for label in counts.get("labels", {}).items()]
        digest = counts["rows_sha256"]
        tables.append(ShownTable(table, counts["rows"], digest, labels))
    content = DataSetPage(
        dataset=dataset,
        task=part.tasks[dataset.name] if part else "",
        earlier=bool(part and part.earlier),
        data_note=render.data_note(census["sources"]),
        sources=source_files(census["sources"]),
        tables=tables,
        counts=[
            (name.replace("_", " "), count)
            for name, count in census.get("notes", {}).items()
            if isinstance(count, int | float)
        ],
        load=load(dataset, root, part),
    )
    title = f"The data set {dataset.name}"
    trail = [Link(part.short, f"papers/{part.name}.html")] if part else []
    trail.append(Link(title, dataset.path))
    return Page(dataset.path, title, TEMPLATE, content, trail)


def _label(name: str, counts: Mapping[str, int]) -> LabelColumn:
    """A label column from the counts of its values."""
    bars = []
    if len(counts) <= VALUES:
        largest = max(counts.values(), default=0) or 1
        for value, n in counts.items():
            length = round(100 * n / largest, 1)
            bars.append((value, n, length))
    return LabelColumn(name, len(counts), bars)


def load(dataset: DataSet, root: str, part: Part | None) -> list[tuple[str, str]]:
    """How to load the tables of a data set: (library, code)."""
    code = ["import pandas as pd"]
    for table in dataset.tables:
        code.append(f'{table.name} = pd.read_parquet("{root}/{table.file}")')
    ways = [("With pandas", "\n".join(code))]
    name = dataset.name
    # Auxiliary data sets are not part of a paper's export.
    if part and dataset.tables and (name == part.name or part.tasks[name]):
        folder = "" if name == part.name else name
        config = config_name(dataset.tables[0].name, folder)
        place = f'"{root}/publish/{part.name}"'
        call = f'rows = load_dataset({place}, "{config}", split="{SPLIT}")'
        what = f"With datasets, after {snakemake_path()} --cores 4 publish"
        ways.append((what, f"from datasets import load_dataset\n{call}"))
    return ways
