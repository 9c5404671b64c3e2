"""A retrieval data set as its runs read it (documents, queries, judgements), and
predictions: ranked hits.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from lextables.pipeline.dataset import Column, Row, Table, read
from lextables.tasks.retrieval.documents import Documents

Task = Mapping[str, Any]  # fields of a registry's `RetrievalTask`, as plain values
# {query id: [(document id, score), best first]}
Hits = dict[str, list[tuple[str, float]]]
# The hits of the runs of one system, which differ in their condition.
HitsByCondition = dict[str, Hits]
Pair = tuple[str, str]  # the ids of a query and a document
TextPair = tuple[str, str]  # the texts of a query and a document

PREDICTIONS = Table(
    "predictions",
    "The documents that a system returns for each query, best first.",
    (
        Column("query_id", pa.string(), "the query"),
        Column("rank", pa.int32(), "1-based rank"),
        Column("document_id", pa.string(), "the document"),
        Column(
            "score",
            pa.float64(),
            "the system's own score; comparable within a query only",
        ),
    ),
    key=("query_id", "rank"),
)

TRIED = Table(
    "predictions",
    "The relevance that a model gives each candidate after each number of updates of the grid.",
    (
        Column("updates", pa.int32(), "optimiser updates done"),
        Column("query_id", pa.string(), "a validation query"),
        Column(
            "document_id",
            pa.string(),
            "a document among the first hits of some retriever",
        ),
        Column("score", pa.float64(), "relevance"),
    ),
    key=("updates", "query_id", "document_id"),
)


@dataclass(frozen=True)
class Collection:
    """The documents, queries and judgements of a data set."""

    documents: Mapping[str, str]
    """{document id: text}."""
    queries: Mapping[str, Row]
    """{query id: row of the table of queries}, of all splits."""
    judged: Mapping[str, Mapping[str, int]]
    """{query id: {document id: gain}}."""
    task: Task

    def of(self, *parts: str) -> dict[str, Row]:
        """Return the queries of these parts (`training`, `validation`, `test`), sorted
        by id.
        """
        splits = {self.task[part] for part in parts}
        queries = {}
        for name, query in sorted(self.queries.items()):
            if query["split"] in splits:
                queries[name] = query
        return queries

    def texts(
        self, form: str, parts: Iterable[str], only: Sequence[str] | None = None
    ) -> dict[str, str]:
        """Return {query id: its text in ``form``} of the queries of ``parts``.

        Of these, only queries in ``only`` are returned, or all if it is None.
        """
        texts = {}
        for name, query in self.of(*parts).items():
            if only is None or name in only:
                texts[name] = query[form]
        return texts

    def among(self, hits: Mapping[str, Iterable[str]]) -> "Collection":
        """Return the collection with the pool of each test query restricted to its
        ``hits``.
        """
        queries = {}
        judged = {}
        for name, query in self.of("test").items():
            if name not in hits:
                continue
            gains = self.judged[name]
            queries[name] = query
            judged[name] = {document: gains.get(document, 0) for document in hits[name]}
        return replace(self, queries=queries, judged=judged)

    def pool(self, query_id: str, pool: str) -> Iterable[str]:
        """Return the documents to rank for a query: the ``judged`` ones, or ``all``."""
        return self.judged[query_id] if pool == "judged" else self.documents


def files(task: Mapping[str, Any]) -> list[str]:
    """Return the names of the tables whose files `load` reads, in its order."""
    return [task["names"]["documents"], "queries", "judgements"]


def load(paths: Sequence[str | Path], task: Task) -> Collection:
    """Read a collection from the parquet files of documents, queries and judgements.

    Texts of documents are read when they are needed (`Documents`).  If the task has an
    ``order``, the judged documents of a query are sorted by this column, descending.
    """
    documents, queries, judgements = paths
    names = task["names"]
    document = names["document"]
    gain = names["gain"]
    order = names.get("order")
    columns = ["query_id", document, gain]
    if order:
        columns.append(order)
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    rows = read(judgements, columns)
    for query_id, query_rows in groupby(rows, key=itemgetter("query_id")):
        pool = list(query_rows)
        if order:
            pool.sort(key=lambda row: -row[order])
        for row in pool:
            # The same document is in many pools: its id is in memory once.
            judged[query_id][sys.intern(row[document])] = row[gain]
    return Collection(
        documents=Documents(documents, document, names["text"]),
        queries={row["query_id"]: row for row in read(queries)},
        judged=judged,
        task=task,
    )


def prediction_rows(hits: Hits) -> list[Row]:
    """Return the hits as rows of `PREDICTIONS`, sorted by its key."""
    rows: list[Row] = []
    for query_id, ranking in sorted(hits.items()):
        for rank, (document_id, score) in enumerate(ranking, 1):
            row = {
                "query_id": query_id,
                "rank": rank,
                "document_id": document_id,
                "score": score,
            }
            rows.append(row)
    return rows


def ranked(path: str | Path) -> dict[str, list[str]]:
    """Read a run's predictions as {query id: document ids, best first}."""
    hits: dict[str, list[str]] = defaultdict(list)
    for row in read(path, ["query_id", "rank", "document_id"]):
        hits[row["query_id"]].append(row["document_id"])
    return hits


def scored(path: str | Path) -> dict[str, dict[str, float]]:
    """Read a run's predictions as {query id: {document id: score}}."""
    hits: dict[str, dict[str, float]] = defaultdict(dict)
    for row in read(path, ["query_id", "document_id", "score"]):
        query_scores = hits[row["query_id"]]
        query_scores[row["document_id"]] = row["score"]
    return hits


def best_first(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return (document id, score) by descending score, ties by id ascending."""
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def reorder(hits: Mapping[str, Iterable[str]], scores: Mapping[Pair, float]) -> Hits:
    """Reorder each query's hits by ``scores`` of (query id, document id); ties keep
    their order.
    """
    reordered = {}
    for query_id, documents in sorted(hits.items()):
        scored = [(document, scores[query_id, document]) for document in documents]
        reordered[query_id] = sorted(scored, key=lambda hit: -hit[1])
    return reordered
