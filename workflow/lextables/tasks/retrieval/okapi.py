"""The first stage by words as LawngNLI has it: gensim's BM25 over each query's pool (Table 17)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from lextables.models.okapi import OkapiBM25
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.filtering import filtered
from lextables.tasks.retrieval.schema import Hits

# Queries whose pools are cut at once: of 1,000 documents each, some 200 MB of text.
AT_ONCE = 64


def retrieve(collection: Collection, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Hits]:
    """Rank the pool of each validation and test query, ties by document id ascending; {condition: hits}."""
    found: dict[str, Hits] = {}
    for name, run in settings.items():
        texts = collection.texts(run["form"], ("validation", "test"), run["queries"])
        pools = {query_id: sorted(collection.pool(query_id, run["pool"])) for query_id in texts}
        found[name] = ranked(collection.documents, texts, pools, run["documents"], run["top"])
    return found


def ranked(
    documents: Mapping[str, str], texts: Mapping[str, str], pools: Mapping[str, Sequence[str]], read: str,
    top: int | None = None,
) -> Hits:  # fmt: skip
    """Rank each query's pool, which is the BM25's collection: of ``whole`` documents, or ``filtered`` ones.

    ``texts`` and ``pools`` are by query; of equal scores the document goes first that does in the pool.
    """
    scores = _filtered if read == "filtered" else _whole
    return {
        query_id: sorted(zip(pools[query_id], found, strict=True), key=lambda hit: -hit[1])[:top]
        for query_id, found in scores(documents, texts, pools)
    }


def _whole(
    documents: Mapping[str, str], texts: Mapping[str, str], pools: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, list[float]]]:
    names = sorted({document for pool in pools.values() for document in pool})
    place = {document: at for at, document in enumerate(names)}
    counted = OkapiBM25(documents[document] for document in names)
    for query_id, text in texts.items():
        if pool := [place[document] for document in pools[query_id]]:
            yield query_id, counted.scores(text, pool).tolist()


def _filtered(
    documents: Mapping[str, str], texts: Mapping[str, str], pools: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, list[float]]]:
    queries = iter(texts)
    while some := list(islice(queries, AT_ONCE)):
        pairs = [(texts[query_id], document) for query_id in some for document in pools[query_id]]
        cut = iter(filtered(documents, pairs))
        for query_id in some:
            if pool := list(islice(cut, len(pools[query_id]))):
                yield query_id, OkapiBM25(pool).scores(texts[query_id], range(len(pool))).tolist()
