"""The content of an export: the tables of its data sets, their provenance, and
predictions of runs.

An export is a folder for one paper, or for one of its data sets.  The data set that it
is named after is at the top, each other one in a folder of its name:

    README.md, croissant.json, CITATION.bib, LICENSE.md
    data/<table>.parquet, and the formats of the task (`publish.folder.WRITERS`)
    <other data set>/data/<table>.parquet, ...
"""

import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from lextables.pipeline.dataset import Census, parquet_file, row_groups
from lextables.pipeline.entries import Entry
from lextables.pipeline.files import read_json
from lextables.pipeline.table_texts import config_name, description_of, key_of
from lextables.registry.paper import Publication, Responsible
from lextables.sources.entries import SAMPLE, with_registry_texts

TABLES = "data"  # the folder of a data set's tables
Record = Mapping[
    str, Any
]  # a JSON object: a census, a task or a source as plain values


@dataclass(frozen=True)
class PublishedTable:
    """A table of a data set: its path, its name in `load_dataset`, and its ``file`` in
    the export.
    """

    name: str
    config: str
    path: Path
    file: str

    @cached_property
    def schema(self) -> pa.Schema:
        """The written schema, with a description of each column."""
        with parquet_file(self.path) as file:
            return file.schema_arrow

    @cached_property
    def rows(self) -> int:
        """The number of rows."""
        with parquet_file(self.path) as file:
            return file.metadata.num_rows

    @property
    def description(self) -> str:
        """The description of the table."""
        return description_of(self.schema.metadata)

    @property
    def key(self) -> list[str]:
        """The columns that identify a row."""
        return key_of(self.schema)


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run.

    It is `results/runs/<data set>/<experiment>/<model>/<condition>/seed<k>`.
    """

    folder: Path

    @property
    def data_set(self) -> str:
        """The data set of the run."""
        return self.folder.parts[-5]

    @property
    def name(self) -> str:
        """The other parts joined by dots: the name of its files in an export and its
        tag in TREC runs.
        """
        return ".".join(self.folder.parts[-4:])


@dataclass(frozen=True)
class PublishedRun(RunFolder):
    """A run with exported predictions, and the table rows that show it."""

    rows: Sequence[str]

    @property
    def predictions(self) -> Path:
        """The file of its predictions."""
        return self.folder / "predictions.parquet"

    @property
    def scores(self) -> Path:
        """The file of its scores, with every group."""
        return self.folder / "scores.parquet"


@dataclass(frozen=True)
class PublishedSet:
    """A data set of the export: its tables, census, task (if any), runs, and folders of
    weights.

    ``folder`` is its folder in the export, empty for the data set that the export is
    named after.
    """

    name: str
    folder: str
    data: Path
    census: Record
    task: Record
    runs: Sequence[PublishedRun]
    weights: Sequence[Path] = ()

    @cached_property
    def tables(self) -> list[PublishedTable]:
        """Its tables, sorted."""
        tables = []
        for name in sorted(self.census["data"]):
            file = Path(self.folder) / TABLES / f"{name}.parquet"
            config = config_name(name, self.folder)
            tables.append(
                PublishedTable(name, config, self.table(name), file.as_posix())
            )
        return tables

    def table(self, name: str) -> Path:
        """The file of one of its tables."""
        return self.data / f"{name}.parquet"


class Format(NamedTuple):
    """Files in another tool's format, and their description."""

    files: str
    description: str


@dataclass(frozen=True)
class Origin:
    """How an export was made: by a version of lextables, with a command that reproduces
    it.
    """

    made_by: str = ""
    command: str = ""


@dataclass(frozen=True)
class Export:
    """The content of one export.

    ``title`` is that of the paper, or of a data set with an export of its own.
    """

    name: str
    title: str
    citation: str
    publication: Publication
    responsible: Responsible
    sets: Sequence[PublishedSet]
    sources: Sequence[Record]
    origin: Origin

    @property
    def tables(self) -> list[PublishedTable]:
        """The tables of all its data sets."""
        return list(itertools.chain(*(data_set.tables for data_set in self.sets)))

    @property
    def runs(self) -> list[PublishedRun]:
        """The runs with exported predictions."""
        return list(itertools.chain(*(data_set.runs for data_set in self.sets)))

    @property
    def redistribution(self) -> str:
        """Restrictions on redistributing the paper's texts; the sample has none."""
        return "" if self.sample else self.publication.redistribution

    @property
    def sample(self) -> bool:
        """Whether any of it is from the sample."""
        return any(source["variant"] == SAMPLE for source in self.sources)


class About(Entry):
    """The part of a paper's registry file that an export shows, with the settings of
    its tasks.
    """

    title: str
    citation: str
    publish: Publication
    tasks: Mapping[str, Record]


def gather(
    name: str,
    about: About,
    census: Sequence[Path],
    runs: Sequence[PublishedRun],
    source_texts: Record,
    weights: Sequence[Path] = (),
    origin: Origin = Origin(),
) -> Export:
    """Collect the content of the export ``name``.

    ``census`` are the census files of its data sets, ``source_texts`` the registry's
    current texts about their sources (`sources.entries.registry_texts`), and
    ``weights`` the folders of weights in the folders of runs.
    """
    folders = {path.parent.name: path.parent for path in census}
    # The data set at the top has the name of the export, or else is the first one.
    top = name if name in folders else next(iter(folders))
    sets = []
    for data_set in sorted(folders, key=lambda each: (each != top, each)):
        published = PublishedSet(
            name=data_set,
            folder="" if data_set == top else data_set,
            data=folders[data_set],
            census=read_json(folders[data_set] / "census.json", Census),
            task=about.tasks.get(data_set, {}),
            runs=[run for run in runs if run.data_set == data_set],
            weights=[
                path for path in weights if RunFolder(path.parent).data_set == data_set
            ],
        )
        sets.append(published)
    # The entry of a data set that has an export of its own.
    alone = about.publish.apart.get(name)
    return Export(
        name=name,
        title=alone.title if alone else about.title,
        citation=about.citation,
        publication=about.publish,
        responsible=(alone or about.publish).responsible,
        sets=sets,
        sources=_sources(sets, source_texts),
        origin=origin,
    )


def _sources(sets: Sequence[PublishedSet], source_texts: Record) -> list[Record]:
    """Return the provenance of all sources, each once."""
    sources = {}
    for data_set in sets:
        for source in with_registry_texts(data_set.census["sources"], source_texts):
            place = source["source"], source["file"]
            sources[*place, source["variant"], source["obtained_from"]] = source
    return [source for _, source in sorted(sources.items())]


def link_table(source: Path, target: Path) -> None:
    """Hard-link or copy a parquet file; `BadInput` if any part of it is damaged."""
    for _ in row_groups(source):
        pass
    link(source, target)


def link(source: Path, target: Path) -> None:
    """Hard-link ``source`` as ``target``, or copy it to another disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)
