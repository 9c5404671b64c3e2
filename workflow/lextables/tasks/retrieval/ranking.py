"""The input of a ranker: the collection, the settings of its runs, and its files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, PositiveInt

from lextables.pipeline.entries import Entry
from lextables.pipeline.files import JsonObject, read_json
from lextables.tasks.retrieval.collection import Collection, ranked

Encode = Callable[[Sequence[str]], np.ndarray]
# Documents are cut to the paragraphs that BM25 finds for the query.
FILTERED = "filtered"


@dataclass(frozen=True)
class Encoders:
    """The functions of a bi-encoder: both return float32 (texts, dimensions).

    ``similarity`` compares the vectors, which have unit length for the cosine.
    """

    documents: Encode
    queries: Encode
    similarity: str = "cosine"


class Chunks(Entry):
    """How LawngNLI's released code cuts the rows of all queries with one label into
    chunks, which it ranks instead of the queries' pools
    (`rankers.okapi.released_chunks`).
    """

    number: PositiveInt
    """The number of chunks for each label."""
    by: str
    """The column of the queries with the label."""


class RankingSettings(BaseModel):
    """The settings of a run that all kinds of rankers share; a ranker adds its own."""

    model_config = ConfigDict(frozen=True)

    form: str
    """The column with the wording of the queries."""
    queries: tuple[str, ...] | None = None
    """The queries that are ranked; None for all."""
    documents: Literal["whole", "paragraphs", "filtered"] = "whole"
    """What is read of a document (`dense.READ`)."""
    pool: Literal["judged", "all"] = "judged"
    """Whether a retriever ranks the documents judged for a query, or all documents."""
    top: int | None = None
    """The number of hits of a query that are kept; None for all."""


Settings = TypeVar("Settings", bound=RankingSettings)


@dataclass(frozen=True)
class Ranking:
    """The runs of one system that a job makes: one for each condition."""

    collection: Collection
    settings: Mapping[str, JsonObject]
    """{condition: settings of its run}; the runs differ only in settings of
    `RankingSettings`.
    """
    hits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """{condition: files of the predictions that it reads}: several for a fusion, one
    for a reranker, none for a first stage.
    """
    trained: Sequence[str] = ()
    """The folder of another run's weights and its record; empty if the settings name
    the weights.
    """
    encoded: Sequence[str] = ()
    """The file with the vectors of texts, if another job encoded them."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """The config key ``device``."""
    vectors: str = ""
    """The folder of cached vectors."""
    asking: JsonObject = field(default_factory=dict)
    """The folder of cached answers (``kept``) and the ``limits`` of language models
    (`models.spending.Limits`).
    """
    records: Sequence[JsonObject] = ()
    """The records of the runs, in the order of ``settings``."""

    @property
    def model(self) -> JsonObject:
        """The settings of the first run; the model's settings are the same in all."""
        return next(iter(self.settings.values()))

    def runs(self, kind: type[Settings]) -> dict[str, Settings]:
        """Return {condition: typed settings of its run}."""
        return {name: kind(**settings) for name, settings in self.settings.items()}

    def texts(
        self, run: RankingSettings, parts: Sequence[str] = ("validation", "test")
    ) -> dict[str, str]:
        """Return {query id: text} of the queries of ``parts`` that a run ranks."""
        return self.collection.texts(run.form, parts, run.queries)

    @cached_property
    def first_hits(self) -> dict[str, dict[str, list[str]]]:
        """{condition: {query id: document ids of its hits, best first}} of the file
        that a reranker reads; empty for a retriever.
        """
        return {name: ranked(files[0]) for name, files in self.hits.items() if files}

    def note(self, **fields: Any) -> None:
        """Add ``fields`` to the records of all runs."""
        for record in self.records:
            record.update(fields)

    def note_training(self) -> None:
        """Add the record of the training to the records of all runs, if another run
        trained the weights.
        """
        if self.trained:
            self.note(trained=read_json(self.trained[1]))


def shared_out(
    files: Sequence[str], conditions: Iterable[str]
) -> dict[str, Sequence[str]]:
    """Return {condition: its files}.

    The ``files`` are listed condition by condition, and each has the same number.
    """
    names = list(conditions)
    size = len(files) // len(names)
    shares = {}
    for number, name in enumerate(names):
        start = number * size
        shares[name] = files[start : start + size]
    return shares
