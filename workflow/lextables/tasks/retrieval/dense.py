"""First stages with vectors: documents and queries are encoded, and the pool is ranked
by similarity.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from lextables.models.okapi import Paragraphs
from lextables.models.own_settings import COSINE, PRODUCTS, closeness
from lextables.tasks.retrieval.collection import Collection, HitsByCondition, best_first
from lextables.tasks.retrieval.documents import in_order
from lextables.tasks.retrieval.ranking import Encoders, RankingSettings

Parts = Sequence[str]  # the texts of a document that are encoded; the nearest counts
RunQuery = tuple[str, str]  # a condition and a query id

# Texts that the encoder gets together: so many that sorting them by length saves
# padding.  As whole opinions they take some 600 MB, filtered ones 50 MB.
BATCH = 16384


def retrieve(
    collection: Collection, runs: Mapping[str, RankingSettings], encoders: Encoders
) -> HitsByCondition:
    """Rank the pool of each validation and test query, ties by document id ascending.

    ``runs`` are by condition.  Every text is encoded once for all forms and queries.
    Documents are processed in batches: memory holds `BATCH` texts and one number for
    each document of each pool.  Returns {condition: hits}.
    """
    hits: HitsByCondition = {}
    for read in sorted({run.documents for run in runs.values()}):
        same = {name: run for name, run in runs.items() if run.documents == read}
        hits.update(_retrieve(collection, same, READ[read], encoders))
    return {name: hits[name] for name in runs}


def _retrieve(
    collection: Collection,
    runs: Mapping[str, RankingSettings],
    read: Callable[[str], Callable[[str], Parts]],
    encoders: Encoders,
) -> HitsByCondition:
    """`retrieve` for conditions whose documents are read in the same way, ``read``
    (`READ`).
    """
    first = next(iter(runs.values()))  # pool and top are the same for all runs
    texts: dict[RunQuery, str] = {}
    for name, run in runs.items():
        form_texts = collection.texts(run.form, ("validation", "test"), run.queries)
        for query_id, text in form_texts.items():
            texts[name, query_id] = text
    distinct = sorted(set(texts.values()))
    encoded = encoders.queries(distinct)
    vectors = dict(zip(distinct, encoded, strict=True))

    queries_of: dict[str, list[RunQuery]] = defaultdict(list)
    for name, query_id in texts:
        for document in collection.pool(query_id, first.pool):
            queries_of[document].append((name, query_id))

    scores: dict[RunQuery, dict[str, float]] = defaultdict(dict)
    for batch in _batches(collection, queries_of, texts, read):
        nearest_part = _similarities(batch, vectors, encoders)
        for document in batch:
            for query in queries_of[document]:
                scores[query][document] = nearest_part[document, texts[query]]

    hits: HitsByCondition = {name: {} for name in runs}
    for name, query_id in texts:
        ranking = best_first(scores[name, query_id])
        hits[name][query_id] = ranking[: first.top]
    return hits


# A batch: {document id: {text of a query: the parts that are compared with it}}.
Batch = dict[str, dict[str, Parts]]


def _batches(
    collection: Collection,
    queries_of: Mapping[str, Sequence[RunQuery]],
    texts: Mapping[RunQuery, str],
    read: Callable[[str], Callable[[str], Parts]],
) -> Iterator[Batch]:
    """Yield batches of documents with at least `BATCH` texts, except the last one.

    ``queries_of`` are {document id: the queries that have it in their pool}, and
    ``texts`` are {query: its text}.
    """
    batch: Batch = {}
    size = 0
    for document in in_order(queries_of.keys(), collection.documents):
        parts_for = read(collection.documents[document])
        by_text = {}
        for query in queries_of[document]:
            text = texts[query]
            if text not in by_text:
                by_text[text] = parts_for(text)
        batch[document] = by_text
        size += len(set(chain(*by_text.values())))
        if size >= BATCH:
            yield batch
            batch = {}
            size = 0
    if batch:
        yield batch


def _similarities(
    batch: Batch, vectors: Mapping[str, np.ndarray], encoders: Encoders
) -> dict[tuple[str, str], float]:
    """Return {(document id, text of a query): similarity}; each distinct part is
    encoded once.
    """
    row_of: dict[str, int] = {}
    for by_text in batch.values():
        for part in chain(*by_text.values()):
            row_of.setdefault(part, len(row_of))
    encoded = encoders.documents(list(row_of))
    similarities = {}
    for document, by_text in batch.items():
        for text, parts in by_text.items():
            rows = [row_of[part] for part in parts]
            value = nearest(vectors[text], encoded[rows], encoders.similarity)
            similarities[document, text] = value
    return similarities


def nearest(query: np.ndarray, parts: np.ndarray, similarity: str = COSINE) -> float:
    """Return the largest similarity of a query's vector to the vector of a document's
    part.

    ``query`` is float32 (d,), ``parts`` float32 (parts, d).  With `PRODUCTS` the
    similarity is the inner product, else the negative distance.  `einsum` sums each
    product separately, unlike a matrix product, so equal vectors give equal
    similarities.
    """
    if similarity in PRODUCTS:
        similarities = np.einsum("ij,j->i", parts, query)
    else:
        similarities = closeness(query, parts, similarity)
    return float(similarities.max())


# Ways to read a document.  Each function analyses the text of a document, once for all
# queries, and returns a second function.  This takes the text of a query and returns
# the parts of the document that are compared with the query.


def whole(text: str) -> Callable[[str], Parts]:
    """Read a document as one part, which the encoder truncates at its maximum
    length.
    """
    return lambda query: [text]


def paragraphs(text: str) -> Callable[[str], Parts]:
    """Read a document's paragraphs (its lines that are not blank); the document if it
    has none.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    return lambda query: lines or [text]


def filtered(text: str) -> Callable[[str], Parts]:
    """Read the best paragraphs of the document for the query, as one part."""
    analysed = Paragraphs(text)
    return lambda query: [analysed.best(query)]


READ: Mapping[str, Callable[[str], Callable[[str], Parts]]] = {
    "whole": whole,
    "paragraphs": paragraphs,
    "filtered": filtered,
}
