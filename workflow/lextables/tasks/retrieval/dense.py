"""The first stage by vectors: every document and query encoded, and the pool ranked by inner product."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import faiss
import numpy as np

from lextables.models.okapi import Paragraphs
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.schema import Hits

Encode = Callable[[Sequence[str]], np.ndarray]
Parts = Sequence[str]  # the texts of a document that are encoded, of which the nearest counts
Asked = tuple[str, str]  # a condition and the id of a query

# Texts that are encoded at once: enough of them are of one length, and those that a query cuts out of its
# documents are some 50 MB.
AT_ONCE = 16384


def retrieve(
    collection: Collection,
    settings: Mapping[str, Mapping[str, Any]],
    encode_document: Encode,
    encode_query: Encode,
) -> dict[str, Hits]:
    """Rank the pool of each validation and test query, ties by document id ascending; {condition: hits}.

    Each of ``settings``, by condition, names a form of the queries; what is read of a document is what its
    ``documents`` says (`READ`).  The encoders give float32 arrays (texts,
    dimensions) of unit vectors; a text is encoded once, whatever the number of forms and queries.  Documents
    are taken up one after another, so that memory is bounded by `AT_ONCE` texts and a number for each
    document of each pool.
    """
    hits: dict[str, Hits] = {}
    for read in sorted({run["documents"] for run in settings.values()}):
        alike = {name: run for name, run in settings.items() if run["documents"] == read}
        hits |= _retrieve(collection, alike, READ[read], encode_document, encode_query)
    return {name: hits[name] for name in settings}


def _retrieve(
    collection: Collection,
    settings: Mapping[str, Mapping[str, Any]],
    read: Callable[[str], Callable[[str], Parts]],
    encode_document: Encode,
    encode_query: Encode,
) -> dict[str, Hits]:
    """`retrieve` for conditions under which documents are read alike."""
    first = next(iter(settings.values()))
    texts = {
        (name, query_id): text
        for name, run in settings.items()
        for query_id, text in collection.texts(run["form"], ("validation", "test"), run["queries"]).items()
    }
    wanted = sorted(set(texts.values()))
    vectors = dict(zip(wanted, np.ascontiguousarray(encode_query(wanted)), strict=True))
    askers: dict[str, list[Asked]] = defaultdict(list)
    for asked in texts:
        for document in collection.pool(asked[1], first["pool"]):
            askers[document].append(asked)

    cut = (
        (document, {text: parts(text) for text in {texts[asked]: None for asked in askers[document]}})
        for document, parts in ((name, read(collection.documents[name])) for name in sorted(askers))
    )
    found: dict[Asked, dict[str, float]] = defaultdict(dict)
    for some in _batches(cut):
        unique = list(
            dict.fromkeys(part for _, by_text in some for parts in by_text.values() for part in parts)
        )
        encoded, place = encode_document(unique), {part: at for at, part in enumerate(unique)}
        for document, by_text in some:
            scores = {
                text: nearest(vectors[text], encoded[[place[part] for part in parts]])
                for text, parts in by_text.items()
            }
            for asked in askers[document]:
                found[asked][document] = scores[texts[asked]]
    hits: dict[str, Hits] = {name: {} for name in settings}
    for name, query_id in texts:
        scored = sorted(found[name, query_id].items(), key=lambda hit: (-hit[1], hit[0]))
        hits[name][query_id] = scored[: first["top"]]
    return hits


def _batches(
    cut: Iterable[tuple[str, dict[str, Parts]]],
) -> Iterator[list[tuple[str, dict[str, Parts]]]]:
    """Documents with their parts, as many as have `AT_ONCE` texts between them, or a few more."""
    batch, size = [], 0
    for document, by_text in cut:
        batch.append((document, by_text))
        size += len({part for parts in by_text.values() for part in parts})
        if size >= AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def whole(text: str) -> list[str]:
    """Return a document as one part, which an encoder cuts at its length."""
    return [text]


def paragraphs(text: str) -> list[str]:
    """Return a document's paragraphs, which are its lines with words; itself where it has none."""
    return [line for line in text.splitlines() if line.strip()] or [text]


def _alike(parts: Parts) -> Callable[[str], Parts]:
    return lambda query: parts


def filtered(text: str) -> Callable[[str], Parts]:
    """Return what gives, for a query, the paragraphs of a document that BM25 finds for it, as one part."""
    analysed = Paragraphs(text)
    return lambda query: [analysed.best(query)]


# Of a document's text, what gives the parts that a query is compared with.
READ: Mapping[str, Callable[[str], Callable[[str], Parts]]] = {
    "whole": lambda text: _alike(whole(text)),
    "paragraphs": lambda text: _alike(paragraphs(text)),
    "filtered": filtered,
}


def nearest(query: np.ndarray, parts: np.ndarray) -> float:
    """Return the largest inner product of a query's vector with those of a document's parts (parts, d).

    Both are float32.  Each product is computed separately, so equal vectors give equal products.
    """
    parts = np.ascontiguousarray(parts)
    products = np.empty(len(parts), dtype=np.float32)
    faiss.fvec_inner_products_ny(*map(faiss.swig_ptr, (products, query, parts)), parts.shape[1], len(parts))
    return float(products.max())
