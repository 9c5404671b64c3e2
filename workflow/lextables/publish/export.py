"""The content of an export: the tables of its data sets, their provenance, and predictions of runs.

An export is a folder for one paper, or for one of its data sets.  The data set that it is named after is at
the top, each other one in a folder of its name:

    README.md, croissant.json, CITATION.bib, LICENSE.md
    data/<table>.parquet, and the formats of the task (`publish.folder.WRITERS`)
    <other data set>/data/<table>.parquet, ...
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lextables.papers.registry import Publication, Responsible
from lextables.pipeline.registry import Entry
from lextables.sources.registry import SAMPLE, with_registry_texts

TABLES = "data"  # the folder of a data set's tables


@dataclass(frozen=True)
class PublishedTable:
    """A table of a data set: its path, its name in `load_dataset`, and its ``file`` in the export."""

    name: str
    config: str
    path: Path
    file: str

    @cached_property
    def schema(self) -> pa.Schema:
        """The written schema, with a description of each column."""
        return pq.read_schema(self.path)

    @cached_property
    def rows(self) -> int:
        """How many rows it has."""
        return pq.read_metadata(self.path).num_rows

    @property
    def description(self) -> str:
        """What its rows are."""
        return said(self.schema.metadata)

    @property
    def key(self) -> list[str]:
        """The columns that identify a row."""
        return (self.schema.metadata or {}).get(b"key", b"").decode().split(",")


def said(metadata: Mapping[bytes, bytes] | None) -> str:
    """The description in a schema's or a field's metadata; empty where nothing wrote one."""
    return (metadata or {}).get(b"description", b"").decode()


def config_name(table: str, folder: str) -> str:
    """The name in `load_dataset` of a table of the data set in ``folder`` (empty: at the top)."""
    return f"{folder}-{table}" if folder else table


@dataclass(frozen=True)
class PublishedRun:
    """A run whose predictions are in the export, and the rows of tables that show it."""

    folder: Path
    rows: Sequence[str]

    @property
    def data_set(self) -> str:
        """The data set that it predicts."""
        return self.folder.parts[-5]

    @property
    def name(self) -> str:
        """The parts of its folder joined by dots: the name of its files, and the tag in TREC runs."""
        return ".".join(self.folder.parts[-4:])

    @property
    def predictions(self) -> Path:
        """The file of what it predicts."""
        return self.folder / "predictions.parquet"

    @property
    def scores(self) -> Path:
        """The file of what it scores, with every group."""
        return self.folder / "scores.parquet"


@dataclass(frozen=True)
class PublishedSet:
    """A data set of the export: its tables, its census, its task if it has one, and the runs on it.

    ``folder`` is where its files lie in the export, empty for the one that the export is named after.
    """

    name: str
    folder: str
    data: Path
    census: Mapping[str, Any]
    task: Mapping[str, Any]
    runs: Sequence[PublishedRun]

    @cached_property
    def tables(self) -> list[PublishedTable]:
        """Its tables, sorted."""
        return [
            PublishedTable(
                table,
                config_name(table, self.folder),
                self.data / f"{table}.parquet",
                (Path(self.folder) / TABLES / f"{table}.parquet").as_posix(),
            )
            for table in sorted(self.census["data"])
        ]

    def table(self, name: str) -> Path:
        """The file of one of its tables."""
        return self.data / f"{name}.parquet"


class Form(NamedTuple):
    """Files in another tool's format, and their description."""

    files: str
    words: str


@dataclass(frozen=True)
class Export:
    """What one export holds.

    ``made_by`` is the version of lextables in words and ``command`` what makes it again.  ``title`` is the
    paper's, or that of the data set that stands alone.
    """

    name: str
    title: str
    citation: str
    publication: Publication
    responsible: Responsible
    sets: Sequence[PublishedSet]
    sources: Sequence[Mapping[str, Any]]
    made_by: str
    command: str

    @property
    def tables(self) -> list[PublishedTable]:
        """The tables of all its data sets."""
        return [table for one in self.sets for table in one.tables]

    @property
    def runs(self) -> list[PublishedRun]:
        """The runs whose predictions it holds."""
        return [run for one in self.sets for run in one.runs]

    @property
    def redistribution(self) -> str:
        """Restrictions on redistributing the paper's texts; the sample has none."""
        return "" if self.sample else self.publication.redistribution

    @property
    def sample(self) -> bool:
        """Whether any of it is from the sample, which says nothing about the paper."""
        return any(source["variant"] == SAMPLE for source in self.sources)


class About(Entry):
    """What an export shows of a paper's registry file, with the settings of its tasks."""

    title: str
    citation: str
    publish: Publication
    tasks: Mapping[str, Mapping[str, Any]]


def gather(
    name: str,
    about: About,
    census: Sequence[Path],
    runs: Sequence[PublishedRun],
    words: Mapping[str, Any],
    *,
    made_by: str,
    command: str,
) -> Export:
    """Collect the content of the export ``name``.

    ``census`` are the files of its data sets, ``words`` what the registry of sources says of theirs today
    (`registry_texts`).
    """
    alone = about.publish.apart.get(name)
    names = [path.parent.name for path in census]
    top = name if name in names else names[0]
    sets = [
        PublishedSet(
            one,
            "" if one == top else one,
            path.parent,
            json.loads(path.read_text(encoding="utf-8")),
            about.tasks.get(one, {}),
            [run for run in runs if run.data_set == one],
        )
        for one, path in sorted(zip(names, census, strict=True), key=lambda found: (found[0] != top, found))
    ]
    return Export(
        name,
        alone.title if alone else about.title,
        about.citation,
        about.publish,
        alone.responsible if alone else about.publish.responsible,
        sets,
        _sources(sets, words),
        made_by,
        command,
    )


def _sources(sets: Sequence[PublishedSet], words: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The provenance of all sources, each once."""
    found = {}
    for one in sets:
        for source in with_registry_texts(one.census["sources"], words):
            known = tuple(source[key] for key in ("source", "file", "variant", "obtained_from"))
            found[known] = {"digest": ""} | source
    return [source for _, source in sorted(found.items())]


# Licences, as the model hub and Croissant name them

OTHER = "other"  # what the hub calls a licence that it has no name for


@dataclass(frozen=True)
class Licence:
    """A licence: ``words`` as stated, its ``hub`` id, the ``url`` of its text (empty: none is known)."""

    words: str
    hub: str = OTHER
    url: str = ""


_CREATIVE_COMMONS = "https://creativecommons.org/licenses"
LICENCES = {
    "CC BY 4.0": ("cc-by-4.0", f"{_CREATIVE_COMMONS}/by/4.0/"),
    "CC BY 3.0": ("cc-by-3.0", f"{_CREATIVE_COMMONS}/by/3.0/"),
    "CC BY-SA 4.0": ("cc-by-sa-4.0", f"{_CREATIVE_COMMONS}/by-sa/4.0/"),
    "CC BY-SA 3.0": ("cc-by-sa-3.0", f"{_CREATIVE_COMMONS}/by-sa/3.0/"),
    "CC BY-NC 4.0": ("cc-by-nc-4.0", f"{_CREATIVE_COMMONS}/by-nc/4.0/"),
    "CC BY-NC-SA 4.0": ("cc-by-nc-sa-4.0", f"{_CREATIVE_COMMONS}/by-nc-sa/4.0/"),
    "CC0": ("cc0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "ODC-BY 1.0": ("odc-by", "https://opendatacommons.org/licenses/by/1-0/"),
    "MIT": ("mit", "https://opensource.org/license/mit"),
    "Apache-2.0": ("apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
}
SAMPLE_LICENCE = "Apache-2.0"  # of the sample, which was written for this project


def licence_of(source: Mapping[str, Any]) -> Licence:
    """Return the licence of a provenance record; the sample has `SAMPLE_LICENCE`."""
    words = SAMPLE_LICENCE if source["variant"] == SAMPLE else source["licence"]
    # Text after the name (`CC BY 4.0, as MAUD`) is only in the words.
    name = words.split(",")[0].split(";")[0].strip()
    return Licence(words, *LICENCES.get(name, ()))


def licences_of(sources: Iterable[Mapping[str, Any]]) -> list[Licence]:
    """Return the different licences of ``sources``, in the order of their words."""
    return sorted({licence_of(source) for source in sources}, key=lambda licence: licence.words)
