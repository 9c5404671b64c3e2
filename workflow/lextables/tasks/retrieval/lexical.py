"""First stages without training: BM25, gensim's BM25 (Okapi), and fusion of rankings, with feedback too.

Also the texts of documents after LawngNLI's paragraph filter, and reranking by a model that reads pairs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from lextables.models.bm25 import BM25Index, analyze
from lextables.models.okapi import OkapiBM25, Paragraphs
from lextables.tasks.retrieval.collection import Collection, Hits, reorder

QUERY_BATCH = 64  # queries whose filtered pools are in memory together: with 1,000 documents each, some 200 MB

FEEDBACK_SHARE = 2.0
DIGITS = 6  # of a similarity; the number of threads changes only later digits

Encode = Callable[[Sequence[str]], np.ndarray]
Settings = Mapping[str, Mapping[str, Any]]
Scores = Mapping[str, Mapping[str, float]]


def retrieve_bm25(collection: Collection, settings: Settings) -> dict[str, Hits]:
    """Rank the pool of each validation and test query by BM25; {form: hits}.

    ``settings`` maps each form of the queries to its run's settings, which differ in ``queries`` only:
    documents are analysed once.
    """
    terms = {document: analyze(text) for document, text in collection.documents.items()}
    first = next(iter(settings.values()))
    parameters = {"k1": first["k1"], "b": first["b"]}
    corpus = BM25Index(terms, **parameters) if first["index"] == "corpus" else None

    def search(query_id: str, text: str) -> list[tuple[str, float]]:
        pool = collection.pool(query_id, first["pool"])
        if corpus is None:
            index = BM25Index(
                {document: terms[document] for document in pool}, **parameters
            )
            return index.search(analyze(text), first["top"])
        if first["pool"] == "all":
            return corpus.search(analyze(text), first["top"])
        hits = corpus.search(analyze(text), len(terms))
        return [hit for hit in hits if hit[0] in pool][: first["top"]]

    return {
        form: {
            query_id: search(query_id, text)
            for query_id, text in collection.texts(
                form, ("validation", "test"), run["queries"]
            ).items()
        }
        for form, run in settings.items()
    }


# gensim's BM25, as in LawngNLI (Table 17).


def retrieve_okapi(collection: Collection, settings: Settings) -> dict[str, Hits]:
    """Rank the pool of each validation and test query, ties by document id ascending; {condition: hits}.

    Each pool is a collection of its own for BM25.  Documents are ``whole`` or ``filtered`` (`read_as`).
    """
    hits: dict[str, Hits] = {}
    for name, run in settings.items():
        texts = collection.texts(run["form"], ("validation", "test"), run["queries"])
        pools = {
            query_id: sorted(collection.pool(query_id, run["pool"]))
            for query_id in texts
        }
        hits[name] = rank_okapi(
            collection.documents, texts, pools, run["documents"], run["top"]
        )
    return hits


def rank_okapi(
    documents: Mapping[str, str],
    texts: Mapping[str, str],
    pools: Mapping[str, Sequence[str]],
    read: str,
    top: int | None = None,
) -> Hits:
    """Rank each query's pool; ties keep the order of the pool.  ``texts`` and ``pools`` are by query."""
    scores = _filtered_scores if read == "filtered" else _whole_scores
    return {
        query_id: sorted(
            zip(pools[query_id], values, strict=True), key=lambda hit: -hit[1]
        )[:top]
        for query_id, values in scores(documents, texts, pools)
    }


def _whole_scores(
    documents: Mapping[str, str],
    texts: Mapping[str, str],
    pools: Mapping[str, Sequence[str]],
) -> Iterator[tuple[str, list[float]]]:
    names = sorted({document for pool in pools.values() for document in pool})
    place = {document: at for at, document in enumerate(names)}
    model = OkapiBM25(documents[document] for document in names)
    for query_id, text in texts.items():
        if pool := [place[document] for document in pools[query_id]]:
            yield query_id, model.scores(text, pool).tolist()


def _filtered_scores(
    documents: Mapping[str, str],
    texts: Mapping[str, str],
    pools: Mapping[str, Sequence[str]],
) -> Iterator[tuple[str, list[float]]]:
    queries = iter(texts)
    while batch := list(islice(queries, QUERY_BATCH)):
        pairs = [
            (texts[query_id], document)
            for query_id in batch
            for document in pools[query_id]
        ]
        filtered = iter(read_as("filtered", documents, pairs))
        for query_id in batch:
            if pool := list(islice(filtered, len(pools[query_id]))):
                yield (
                    query_id,
                    OkapiBM25(pool).scores(texts[query_id], range(len(pool))).tolist(),
                )


def read_as(
    how: str, documents: Mapping[str, str], pairs: Sequence[tuple[str, str]]
) -> list[str]:
    """Return the document's text for each (query's text, document id), ``whole`` or ``filtered``.

    Filtered texts are those of `Paragraphs.best`; a document is analysed once for all its pairs.
    """
    if how != "filtered":
        return [documents[document] for _, document in pairs]
    by_document: dict[str, list[int]] = defaultdict(list)
    for at, (_, document) in enumerate(pairs):
        by_document[document].append(at)
    texts = [""] * len(pairs)
    for document, places in by_document.items():
        paragraphs = Paragraphs(documents[document])
        for at in places:
            texts[at] = paragraphs.best(pairs[at][0])
    return texts


def rerank(
    collection: Collection,
    hits: Mapping[str, Mapping[str, Sequence[str]]],
    settings: Settings,
    score: Callable[[Sequence[tuple[str, str]]], Sequence[float]],
) -> dict[str, Hits]:
    """Reorder first-stage hits of the test queries by a model; {form: hits}.

    ``hits`` and ``settings`` are by form; the settings' ``documents`` are `whole` (the default) or
    `filtered`.  ``score`` returns the relevance of each (query, document) text.
    """
    reranked = {}
    for form, run in settings.items():
        texts = collection.texts(form, ("test",), run["queries"])
        candidates = {query_id: hits[form].get(query_id, []) for query_id in texts}
        pairs = [
            (query_id, document)
            for query_id in sorted(texts)
            for document in candidates[query_id]
        ]
        asked = [(texts[query_id], document) for query_id, document in pairs]
        documents = read_as(run.get("documents", "whole"), collection.documents, asked)
        read = [
            (text, document)
            for (text, _), document in zip(asked, documents, strict=True)
        ]
        scores = score(read) if pairs else ()
        reranked[form] = reorder(
            candidates, dict(zip(pairs, map(float, scores), strict=True))
        )
    return reranked


# Fusion.


def fuse(systems: Sequence[Scores], shares: Sequence[float], top: int | None) -> Hits:
    """Rank documents by the weighted mean of the systems' standardised scores, ties by id ascending.

    ``systems`` map queries to {document: score}; ``shares`` are their weights; at most ``top`` hits per query
    are kept.  A document that a system did not return gets that system's lowest score, its upper bound.
    Scores are standardised within a query over the documents that any system returned; a system with equal
    scores for all of them has no influence.
    """
    queries = sorted({query for system in systems for query in system})
    return {
        query: _fused([system.get(query, {}) for system in systems], shares, top)
        for query in queries
    }


def fuse_with_feedback(
    collection: Collection,
    systems: Sequence[Scores],
    settings: Mapping[str, Any],
    encode_document: Encode,
    encode_query: Encode,
) -> Hits:
    """Fuse, move each query's vector towards its first hits, and fuse again; ties as in `fuse`.

    Pseudo-relevance feedback (Rocchio 1971); no judgement is used.  To the query's unit vector the mean of
    its first ``feedback`` hits' is added, weighted by 1/rank, `FEEDBACK_SHARE` times.  The similarities to
    the sum replace the scores of the last of ``systems``, which are the encoder's, for all documents that any
    system returned.  ``settings``: ``form``, ``feedback``, and ``shares`` and ``top`` as for `fuse`.  The
    encoders return float32 (texts, dimensions) with unit rows.
    """
    first = fuse(systems, settings["shares"], None)
    names = sorted({document for hits in first.values() for document, _ in hits})
    rows = {document: row for row, document in enumerate(names)}
    documents = encode_document([collection.documents[name] for name in names]).astype(
        np.float64
    )
    queries = encode_query(
        [collection.queries[query][settings["form"]] for query in first]
    )
    similarities = {}
    for (query, hits), vector in zip(
        first.items(), queries.astype(np.float64), strict=True
    ):
        of_hits = documents[[rows[document] for document, _ in hits]]
        ranks = np.arange(1, min(settings["feedback"], len(hits)) + 1)
        moved = vector + FEEDBACK_SHARE * np.average(
            of_hits[: len(ranks)], axis=0, weights=1 / ranks
        )
        scores = np.round(of_hits @ moved, DIGITS).tolist()
        similarities[query] = {
            document: score for (document, _), score in zip(hits, scores, strict=True)
        }
    return fuse([*systems[:-1], similarities], settings["shares"], settings["top"])


def _fused(
    systems: Sequence[Mapping[str, float]], shares: Sequence[float], top: int | None
) -> list[tuple[str, float]]:
    documents = sorted({document for scores in systems for document in scores})
    columns = [_standardised(scores, documents) for scores in systems]
    means = [
        (document, fmean(scores, shares))
        for document, *scores in zip(documents, *columns, strict=True)
    ]
    return sorted(means, key=lambda hit: (-hit[1], hit[0]))[:top]


def _standardised(scores: Mapping[str, float], documents: Sequence[str]) -> list[float]:
    lowest = min(scores.values(), default=0.0)
    values = [scores.get(document, lowest) for document in documents]
    mean, deviation = fmean(values), pstdev(values)
    return [(value - mean) / deviation if deviation else 0.0 for value in values]
