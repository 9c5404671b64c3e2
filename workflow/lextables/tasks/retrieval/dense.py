"""First stages with vectors: documents and queries are encoded, and the pool is ranked by similarity."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import faiss
import numpy as np

from lextables.models.okapi import Paragraphs
from lextables.models.own_settings import COSINE, PRODUCTS, closeness
from lextables.tasks.retrieval.collection import Collection, Hits

Encode = Callable[[Sequence[str]], np.ndarray]
Parts = Sequence[str]  # the encoded texts of a document; the nearest one counts
RunQuery = tuple[str, str]  # a condition and a query id

# Texts encoded together: many enough to sort by length; filtered ones of 16,384 documents take some 50 MB.
BATCH = 16384


def retrieve(
    collection: Collection,
    settings: Mapping[str, Mapping[str, Any]],
    encode_document: Encode,
    encode_query: Encode,
    similarity: str = COSINE,
) -> dict[str, Hits]:
    """Rank the pool of each validation and test query, ties by document id ascending; {condition: hits}.

    ``settings`` are by condition: each has a form of the queries, and ``documents``, what is read of a
    document (`READ`).  The encoders return float32 (texts, dimensions): vectors that ``similarity`` compares,
    with unit rows for the cosine.  Every text is encoded once for all forms and queries.  Documents are
    processed in batches: memory holds `BATCH` texts and one number for each document of each pool.
    """
    hits: dict[str, Hits] = {}
    for read in sorted({run["documents"] for run in settings.values()}):
        of_kind = {
            name: run for name, run in settings.items() if run["documents"] == read
        }
        hits |= _retrieve(
            collection, of_kind, READ[read], encode_document, encode_query, similarity
        )
    return {name: hits[name] for name in settings}


def _retrieve(
    collection: Collection,
    settings: Mapping[str, Mapping[str, Any]],
    read: Callable[[str], Callable[[str], Parts]],
    encode_document: Encode,
    encode_query: Encode,
    similarity: str,
) -> dict[str, Hits]:
    """`retrieve` for conditions that read the same of documents."""
    first = next(iter(settings.values()))
    texts = {
        (name, query_id): text
        for name, run in settings.items()
        for query_id, text in collection.texts(
            run["form"], ("validation", "test"), run["queries"]
        ).items()
    }
    distinct = sorted(set(texts.values()))
    vectors = dict(
        zip(distinct, np.ascontiguousarray(encode_query(distinct)), strict=True)
    )
    queries_of: dict[str, list[RunQuery]] = defaultdict(list)
    for query in texts:
        for document in collection.pool(query[1], first["pool"]):
            queries_of[document].append(query)
    parts_of = (
        (
            document,
            {
                text: parts(text)
                for text in {texts[query]: None for query in queries_of[document]}
            },
        )
        for document, parts in (
            (name, read(collection.documents[name])) for name in sorted(queries_of)
        )
    )
    scores: dict[RunQuery, dict[str, float]] = defaultdict(dict)
    for batch in _batches(parts_of):
        unique = list(
            dict.fromkeys(
                part
                for _, by_text in batch
                for parts in by_text.values()
                for part in parts
            )
        )
        encoded, place = (
            encode_document(unique),
            {part: at for at, part in enumerate(unique)},
        )
        for document, by_text in batch:
            by_query_text = {
                text: nearest(
                    vectors[text], encoded[[place[part] for part in parts]], similarity
                )
                for text, parts in by_text.items()
            }
            for query in queries_of[document]:
                scores[query][document] = by_query_text[texts[query]]
    hits: dict[str, Hits] = {name: {} for name in settings}
    for name, query_id in texts:
        ranking = sorted(
            scores[name, query_id].items(), key=lambda hit: (-hit[1], hit[0])
        )
        hits[name][query_id] = ranking[: first["top"]]
    return hits


def _batches(
    documents: Iterable[tuple[str, dict[str, Parts]]],
) -> Iterator[list[tuple[str, dict[str, Parts]]]]:
    """Yield batches of documents with at least `BATCH` texts, except the last one."""
    batch, size = [], 0
    for document, by_text in documents:
        batch.append((document, by_text))
        size += len({part for parts in by_text.values() for part in parts})
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def whole(text: str) -> list[str]:
    """Return a document as one part, which the encoder truncates at its maximum length."""
    return [text]


def paragraphs(text: str) -> list[str]:
    """Return a document's paragraphs (its lines that are not blank); the document if it has none."""
    return [line for line in text.splitlines() if line.strip()] or [text]


def _for_every_query(parts: Parts) -> Callable[[str], Parts]:
    return lambda query: parts


def filtered(text: str) -> Callable[[str], Parts]:
    """Return a function of a query: the best paragraphs of the document for it, as one part."""
    analysed = Paragraphs(text)
    return lambda query: [analysed.best(query)]


# From a document's text, a function of a query that returns the parts to compare with it.
READ: Mapping[str, Callable[[str], Callable[[str], Parts]]] = {
    "whole": lambda text: _for_every_query(whole(text)),
    "paragraphs": lambda text: _for_every_query(paragraphs(text)),
    "filtered": filtered,
}


def nearest(query: np.ndarray, parts: np.ndarray, similarity: str = COSINE) -> float:
    """Return the largest similarity of a query's vector with those of a document's parts (parts, d).

    Both are float32; with `PRODUCTS` the similarity is their inner product, else the negative distance.  Each
    is computed separately, so equal vectors give equal similarities.
    """
    parts = np.ascontiguousarray(parts)
    if similarity not in PRODUCTS:
        return float(closeness(query, parts, similarity).max())
    products = np.empty(len(parts), dtype=np.float32)
    faiss.fvec_inner_products_ny(
        *map(faiss.swig_ptr, (products, query, parts)), parts.shape[1], len(parts)
    )
    return float(products.max())
