"""ACORD's first stage and zero-shot reranking: from queries and clauses to ranked hits.

What needs torch is imported where it is used: BM25 must not wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lextables.dataset import Row, read
from lextables.models.weights import weights_folder

if TYPE_CHECKING:
    import numpy as np
    import torch

    from lextables.models.cross_encoder import CrossEncoder

SCORED_SPLITS = ("valid", "test")
Hits = dict[str, list[tuple[str, float]]]
Search = Callable[[Mapping[str, str]], Hits]


@dataclass(frozen=True)
class Collection:
    """The clauses' texts, the queries, and for each query the clauses judged for it."""

    clauses: Mapping[str, str]
    queries: Mapping[str, Row]
    judged: Mapping[str, Mapping[str, int]]

    def texts(self, style: str, only: Sequence[str] | None = None) -> dict[str, str]:
        """Return {query id: text in format ``style``} of the validation and test queries, or of ``only``."""
        return {
            query_id: query[style]
            for query_id, query in sorted(self.queries.items())
            if query["split"] in SCORED_SPLITS and (only is None or query_id in only)
        }


def load_collection(folder: str) -> Collection:
    """Read ACORD's data sets from ``folder``."""
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for row in read(f"{folder}/judgements.parquet", ["query_id", "clause_id", "score"]):
        judged[row["query_id"]][row["clause_id"]] = row["score"]
    return Collection(
        {row["clause_id"]: row["text"] for row in read(f"{folder}/clauses.parquet", ["clause_id", "text"])},
        {row["query_id"]: row for row in read(f"{folder}/queries.parquet")},
        judged,
    )


def retrieve(
    collection: Collection, settings: Mapping[str, Mapping[str, Any]], device: torch.device | None
) -> dict[str, Hits]:
    """Rank the judged clauses of each validation and test query; {format: hits}.

    ``settings`` maps each query format to its run's settings, alike but for the format, so that the
    clauses are analysed or encoded once.
    """
    first = next(iter(settings.values()))
    texts = {style: collection.texts(style, run["queries"]) for style, run in settings.items()}
    if first["kind"] == "bm25":
        search = _bm25(collection, first)
    else:
        search = _dense(collection, first, texts, device)
    return {style: search(texts[style]) for style in settings}


def _bm25(collection: Collection, settings: Mapping[str, Any]) -> Search:
    from lextables.models import bm25

    terms = {clause_id: bm25.analyze(text) for clause_id, text in collection.clauses.items()}
    parameters = {"k1": settings["k1"], "b": settings["b"]}
    whole = bm25.BM25Index(terms, **parameters) if settings["index"] == "corpus" else None

    def search(texts: Mapping[str, str]) -> Hits:
        hits = {}
        for query_id, text in texts.items():
            judged = collection.judged[query_id]
            if whole is None:
                index = bm25.BM25Index({clause_id: terms[clause_id] for clause_id in judged}, **parameters)
                hits[query_id] = index.search(bm25.analyze(text), settings["top"])
            else:
                found = whole.search(bm25.analyze(text), len(terms))
                hits[query_id] = [hit for hit in found if hit[0] in judged][: settings["top"]]
        return hits

    return search


def _dense(
    collection: Collection,
    settings: Mapping[str, Any],
    texts: Mapping[str, Mapping[str, str]],
    device: torch.device | None,
) -> Search:
    from lextables.models import bi_encoder, embedding_api

    if settings["kind"] == "embedding-api":

        def encode(batch: Sequence[str]) -> np.ndarray:
            return embedding_api.embed(settings["api"], settings["weights"], batch)
    else:
        folder = weights_folder(settings)
        model = bi_encoder.load(folder, device, settings["max_length"])

        def encode(batch: Sequence[str]) -> np.ndarray:
            return bi_encoder.encode(model, batch)

    clause_ids = sorted(collection.clauses)
    vectors = dict(zip(clause_ids, encode([collection.clauses[c] for c in clause_ids]), strict=True))
    wanted = sorted({text for style in texts.values() for text in style.values()})
    query_vectors = dict(zip(wanted, encode(wanted), strict=True))

    def search(style: Mapping[str, str]) -> Hits:
        return bi_encoder.rank(
            {query_id: query_vectors[text] for query_id, text in style.items()},
            vectors,
            {query_id: list(collection.judged[query_id]) for query_id in style},
            settings["top"],
        )

    return search


def rerank(
    collection: Collection,
    hits: Mapping[str, Mapping[str, Sequence[str]]],
    settings: Mapping[str, Mapping[str, Any]],
    device: torch.device,
) -> dict[str, Hits]:
    """Reorder first-stage hits of the test queries by a cross-encoder as it is; {format: hits}.

    ``hits`` and ``settings`` are by query format.
    """
    from lextables.models import cross_encoder

    first = next(iter(settings.values()))
    folder = weights_folder(first)
    model = cross_encoder.load(folder, device, first["max_length"])
    reranked = {}
    for style, run in settings.items():
        texts = collection.texts(style, run["queries"])
        found = {
            query_id: hits[style].get(query_id, [])
            for query_id in texts
            if collection.queries[query_id]["split"] == "test"
        }
        reranked[style] = reorder(found, pair_scores(model, collection, texts, found))
    return reranked


def pair_scores(
    model: CrossEncoder, collection: Collection, texts: Mapping[str, str], hits: Mapping[str, Iterable[str]]
) -> dict[tuple[str, str], float]:
    """Return {(query id, clause id): logit} for every hit."""
    from lextables.models import cross_encoder

    pairs = [(query_id, clause_id) for query_id in sorted(hits) for clause_id in hits[query_id]]
    logits = (
        cross_encoder.score(model, [(texts[q], collection.clauses[c]) for q, c in pairs]) if pairs else ()
    )
    return dict(zip(pairs, map(float, logits), strict=True))


def reorder(hits: Mapping[str, Sequence[str]], scores: Mapping[tuple[str, str], float]) -> Hits:
    """Reorder each query's hits by ``scores`` of (query id, clause id), ties in the first ranking's order."""
    return {
        query_id: sorted(((c, scores[query_id, c]) for c in clause_ids), key=lambda hit: -hit[1])
        for query_id, clause_ids in sorted(hits.items())
    }


def prediction_rows(hits: Hits) -> list[Row]:
    """The hits as rows of `scores.PREDICTIONS`, sorted by its key."""
    return [
        {"query_id": query_id, "rank": rank, "clause_id": clause_id, "score": score}
        for query_id, found in sorted(hits.items())
        for rank, (clause_id, score) in enumerate(found, 1)
    ]


def ranked_clauses(path: str) -> dict[str, list[str]]:
    """Read a run's predictions as {query id: clause ids, best first}."""
    hits: dict[str, list[str]] = defaultdict(list)
    for row in read(path, ["query_id", "rank", "clause_id"]):
        hits[row["query_id"]].append(row["clause_id"])
    return hits
