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
from lextables.tables.inputs import data_note

TEMPLATE = "dataset.html.j2"
SHOWN_ROWS = 10  # first rows of a table
SHOWN_CHARACTERS = 140  # of a text in these rows
MAX_BARS = 12  # a label with more values has no histogram


@dataclass(frozen=True)
class DataTable:
    """A table of a data set: its columns as (name, type, description), and its first
    rows as texts.

    ``key`` are the columns that identify a row, and ``file`` is its place below the
    results.
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
        tables = self.census["data"].values()
        return sum(table["rows"] for table in tables)


def read(census: str | Path, texts: Record | None = None) -> DataSet:
    """Read a data set's census, and the schema and first rows of each of its tables.

    ``texts`` are the current texts of the sources' registry (`registry_texts`).
    """
    folder = Path(census).parent
    record = read_json(census, Counts)
    sources = record.get("sources", [])
    record["sources"] = with_registry_texts(sources, texts or {})
    tables = []
    for name in record["data"]:
        file = folder / f"{name}.parquet"
        if file.exists():
            tables.append(_table(file))
    return DataSet(folder.name, record, tables)


def _table(path: Path) -> DataTable:
    """Read the schema and the first rows of a table."""
    with parquet_file(path) as file:
        schema = file.schema_arrow
        empty = pa.RecordBatch.from_pylist([], schema)
        rows = next(file.iter_batches(batch_size=SHOWN_ROWS), empty).to_pylist()
    columns = []
    for column in schema:
        text = description_of(column.metadata)
        columns.append((column.name, type_name(column), text))
    return DataTable(
        name=path.stem,
        description=description_of(schema.metadata),
        key=key_of(schema),
        columns=columns,
        rows=[list(map(_text, row.values())) for row in rows],
        file=f"data/{path.parent.name}/{path.name}",
    )


def _text(value: object) -> str:
    """Return a value as a page shows it: on one line, a long text cut."""
    if value is None:
        return "null"
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return cut(" ".join(str(value).split()), SHOWN_CHARACTERS)


@dataclass(frozen=True)
class LabelColumn:
    """A label column: its number of distinct values, and, if they are few, ``bars``:
    (value, count, per cent of the largest count).
    """

    name: str
    values: int
    bars: Sequence[tuple[str, int, float]]


@dataclass(frozen=True)
class ShownTable:
    """A table with the number and the digest of all its rows, and its label columns."""

    table: DataTable
    rows: int
    digest: str
    labels: Sequence[LabelColumn]


@dataclass(frozen=True)
class DataSetPage:
    """The content of a data set's page.

    ``task`` is the task of its paper, empty for a data set without one.  ``earlier``
    states whether it was left by an earlier run.  ``data_note`` says that the data are
    not the paper's, and is empty if they are.  ``counts`` are the other counts of the
    census, (what was counted, number).  ``load`` is how to load it: (library, code).
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
    """Return the page of a data set; ``root`` is the folder of the results in the code
    that loads it.
    """
    paper = owner(dataset.name, parts)
    census = dataset.census
    tables = []
    for table in dataset.tables:
        record = census["data"][table.name]
        labels = []
        for column, counts in record.get("labels", {}).items():
            labels.append(_label(column, counts))
        digest = record["rows_sha256"]
        tables.append(ShownTable(table, record["rows"], digest, labels))
    counted = []
    for name, value in census.get("notes", {}).items():
        if isinstance(value, int | float):
            counted.append((name.replace("_", " "), value))
    content = DataSetPage(
        dataset=dataset,
        task=paper.tasks[dataset.name] if paper else "",
        earlier=bool(paper and paper.earlier_day),
        data_note=data_note(census["sources"]),
        sources=source_files(census["sources"]),
        tables=tables,
        counts=counted,
        load=load(dataset, root, paper),
    )
    title = f"The data set {dataset.name}"
    trail = [Link(paper.short, f"papers/{paper.name}.html")] if paper else []
    trail.append(Link(title, dataset.path))
    return Page(dataset.path, title, TEMPLATE, content, trail)


def _label(name: str, counts: Mapping[str, int]) -> LabelColumn:
    """Return a label column; ``counts`` are {value: number of rows}."""
    bars = []
    if len(counts) <= MAX_BARS:
        largest = max(counts.values(), default=0) or 1
        for value, count in counts.items():
            length = round(100 * count / largest, 1)
            bars.append((value, count, length))
    return LabelColumn(name, len(counts), bars)


def load(dataset: DataSet, root: str, paper: Part | None) -> list[tuple[str, str]]:
    """Return how to load the tables of a data set: (library, code)."""
    code = ["import pandas as pd"]
    for table in dataset.tables:
        code.append(f'{table.name} = pd.read_parquet("{root}/{table.file}")')
    ways = [("With pandas", "\n".join(code))]
    name = dataset.name
    # Auxiliary data sets are not part of a paper's export.
    if paper and dataset.tables and (name == paper.name or paper.tasks[name]):
        folder = "" if name == paper.name else name
        config = config_name(dataset.tables[0].name, folder)
        place = f'"{root}/publish/{paper.name}"'
        call = f'rows = load_dataset({place}, "{config}", split="{SPLIT}")'
        what = f"With datasets, after {snakemake_path()} --cores 4 publish"
        ways.append((what, f"from datasets import load_dataset\n{call}"))
    return ways
