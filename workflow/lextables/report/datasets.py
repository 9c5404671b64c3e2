"""A page for each data set: columns, sources, first rows, and how to load it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from lextables.report.layout import Found, Page, ticked
from lextables.report.results import Part
from lextables.report.wording import sources_in_words
from lextables.sources.registry import with_registry_texts
from lextables.tables import render

TEMPLATE = "dataset.html.j2"
ROWS = 10  # of a table that are shown
LETTERS = 140  # of a text in them
VALUES = 12  # up to which a label's histogram is drawn


@dataclass(frozen=True)
class DataTable:
    """A table of a data set: its columns as (name, type, description), and its first rows as texts.

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
    census: Mapping[str, Any]
    tables: Sequence[DataTable]

    @property
    def path(self) -> str:
        """The place of its page."""
        return f"data/{self.name}.html"

    @property
    def rows(self) -> int:
        """The total number of rows of its tables."""
        return sum(counts["rows"] for counts in self.census["data"].values())


def read(census: str | Path, texts: Mapping[str, Any] | None = None) -> DataSet:
    """Read a data set's census, and the schema and first rows of each of its tables."""
    folder = Path(census).parent
    counts = read_json(census, Counts)
    counts["sources"] = with_registry_texts(counts.get("sources", []), texts or {})
    files = [folder / f"{name}.parquet" for name in counts["data"]]
    return DataSet(
        folder.name, counts, [_table(file) for file in files if file.exists()]
    )


def _table(path: Path) -> DataTable:
    with parquet_file(path) as file:
        schema = file.schema_arrow
        rows = next(
            file.iter_batches(batch_size=ROWS), pa.RecordBatch.from_pylist([], schema)
        ).to_pylist()
    columns = [
        (column.name, type_name(column), description_of(column.metadata))
        for column in schema
    ]
    texts = [[_text(row[name]) for name, *_ in columns] for row in rows]
    place = f"data/{path.parent.name}/{path.name}"
    return DataTable(
        path.stem,
        description_of(schema.metadata),
        key_of(schema),
        columns,
        texts,
        place,
    )


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return cut(" ".join(str(value).split()), LETTERS)


def pages(datasets: Iterable[DataSet], parts: Sequence[Part], root: str) -> list[Page]:
    """Return a page for each data set; ``root`` is the folder of the results as code names it."""
    return [page(dataset, parts, root) for dataset in datasets]


def owner(dataset: str, parts: Iterable[Part]) -> Part | None:
    """The paper whose data set this is."""
    return next((part for part in parts if dataset in part.tasks), None)


def page(dataset: DataSet, parts: Sequence[Part], root: str) -> Page:
    """Return the page of one data set."""
    part = owner(dataset.name, parts)
    trail = [(part.short, f"papers/{part.name}.html")] if part else []
    tables = [
        {
            "table": table,
            "columns": [
                (name, kind, ticked(description))
                for name, kind, description in table.columns
            ],
            "rows": dataset.census["data"][table.name]["rows"],
            "digest": dataset.census["data"][table.name]["rows_sha256"],
            "labels": _histograms(dataset.census["data"][table.name].get("labels", {})),
        }
        for table in dataset.tables
    ]
    counted = {
        name.replace("_", " "): n
        for name, n in dataset.census.get("notes", {}).items()
        if isinstance(n, int | float)
    }
    values = {
        "dataset": dataset,
        "task": part.tasks[dataset.name] if part else "",
        "tables": tables,
        "earlier": bool(part and part.earlier),
        "counted": counted,
        "load": load(dataset, root, part),
        "sources": sources_in_words(dataset.census["sources"]),
        "data_note": render.data_note(dataset.census["sources"]),
    }
    entries = [
        Found(f"{dataset.name}, {table.name}", "data", f"{dataset.path}#{table.name}")
        for table in dataset.tables
    ]
    title = f"The data set {dataset.name}"
    return Page(
        dataset.path,
        title,
        TEMPLATE,
        values,
        "data set",
        [*trail, (title, dataset.path)],
        entries,
    )


Bar = tuple[
    str, int, float
]  # a value, its count, and this as per cent of the most frequent value's


def _histograms(
    labels: Mapping[str, Mapping[str, int]],
) -> list[tuple[str, int, list[Bar]]]:
    """Each label with its number of values, and with their bars if these are few."""
    histograms = []
    for label, values in labels.items():
        largest = max(values.values(), default=0) or 1
        few = values.items() if len(values) <= VALUES else ()
        histograms.append(
            (
                label,
                len(values),
                [(value, n, round(100 * n / largest, 1)) for value, n in few],
            )
        )
    return histograms


def load(dataset: DataSet, root: str, part: Part | None) -> list[tuple[str, str]]:
    """How to load the tables of a data set: (library, code)."""
    frames = [
        f'{table.name} = pd.read_parquet("{root}/{table.file}")'
        for table in dataset.tables
    ]
    ways = [("With pandas", "\n".join(["import pandas as pd", *frames]))]
    # Auxiliary data sets are not part of a paper's export.
    if (
        part
        and dataset.tables
        and (dataset.name == part.name or part.tasks[dataset.name])
    ):
        name = config_name(
            dataset.tables[0].name, "" if dataset.name == part.name else dataset.name
        )
        call = f'rows = load_dataset("{root}/publish/{part.name}", "{name}", split="{SPLIT}")'
        what = f"With datasets, after {snakemake_path()} --cores 4 publish"
        ways.append((what, f"from datasets import load_dataset\n{call}"))
    return ways
