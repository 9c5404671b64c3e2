"""A retrieval data set as its runs need it: documents, queries in several forms, judgements."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lextables.pipeline.dataset import Row, read

Task = Mapping[str, Any]  # a registry's `RetrievalTask`, as plain values


@dataclass(frozen=True)
class Collection:
    """The documents' texts, the queries, and for each query the gain of the documents judged for it."""

    documents: Mapping[str, str]
    queries: Mapping[str, Row]
    judged: Mapping[str, Mapping[str, int]]
    task: Task

    def of(self, *parts: str) -> dict[str, Row]:
        """The queries of these parts (`training`, `validation`, `test`), sorted by id."""
        splits = {self.task[part] for part in parts}
        return {name: query for name, query in sorted(self.queries.items()) if query["split"] in splits}

    def texts(self, form: str, parts: Iterable[str], only: Sequence[str] | None = None) -> dict[str, str]:
        """Return {query id: its wording in ``form``} of the queries of ``parts``, or of those in ``only``."""
        found = self.of(*parts)
        return {name: query[form] for name, query in found.items() if only is None or name in only}

    def among(self, hits: Mapping[str, Iterable[str]]) -> "Collection":
        """The collection in which a test query's pool is its ``hits``, for what ranks these anew."""
        queries = {name: query for name, query in self.of("test").items() if name in hits}
        judged = {
            name: {document: self.judged[name].get(document, 0) for document in hits[name]}
            for name in queries
        }
        return replace(self, queries=queries, judged=judged)

    def pool(self, query_id: str, pool: str) -> Iterable[str]:
        """The documents that may be returned for a query: the ``judged`` ones, or ``all``."""
        return self.judged[query_id] if pool == "judged" else self.documents


def files(task: Task) -> list[str]:
    """The data set's tables that a collection is read from, in the order of `load`."""
    return [task["names"]["documents"], "queries", "judgements"]


def load(paths: Sequence[str | Path], task: Task) -> Collection:
    """Read a collection from the parquet files of documents, queries and judgements."""
    documents, queries, judgements = paths
    names = task["names"]
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for row in read(judgements, ["query_id", names["document"], names["gain"]]):
        judged[row["query_id"]][row[names["document"]]] = row[names["gain"]]
    return Collection(
        {row[names["document"]]: row[names["text"]] for row in read(documents)},
        {row["query_id"]: row for row in read(queries)},
        judged,
        task,
    )
