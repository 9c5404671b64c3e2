"""What a retrieval task predicts: hits."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyarrow as pa

from lextables.pipeline.dataset import Column, Row, Table, read

Hits = dict[str, list[tuple[str, float]]]

PREDICTIONS = Table(
    "predictions",
    "The documents that a system returns for each query, best first.",
    (
        Column("query_id", pa.string(), "the query"),
        Column("rank", pa.int32(), "1-based rank"),
        Column("document_id", pa.string(), "the document"),
        Column("score", pa.float64(), "the system's own score; comparable within a query only"),
    ),
    key=("query_id", "rank"),
)
TRIED = Table(
    "predictions",
    "The relevance that a model gives each candidate after each number of updates of the grid.",
    (
        Column("updates", pa.int32(), "optimiser updates done"),
        Column("query_id", pa.string(), "a validation query"),
        Column("document_id", pa.string(), "a document among the first hits of some retriever"),
        Column("score", pa.float64(), "relevance"),
    ),
    key=("updates", "query_id", "document_id"),
)


def prediction_rows(hits: Hits) -> list[Row]:
    """The hits as rows of `PREDICTIONS`, sorted by its key."""
    return [
        {"query_id": query_id, "rank": rank, "document_id": document_id, "score": score}
        for query_id, found in sorted(hits.items())
        for rank, (document_id, score) in enumerate(found, 1)
    ]


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
        hits[row["query_id"]][row["document_id"]] = row["score"]
    return hits


def reorder(hits: Mapping[str, Iterable[str]], scores: Mapping[tuple[str, str], float]) -> Hits:
    """Reorder each query's hits by ``scores`` of (query id, document id), ties as they were ranked."""
    return {
        query_id: sorted(((d, scores[query_id, d]) for d in documents), key=lambda hit: -hit[1])
        for query_id, documents in sorted(hits.items())
    }
