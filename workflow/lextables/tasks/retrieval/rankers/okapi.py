"""gensim's BM25, as in LawngNLI (Tables 6 and 17).

It is a first stage, or a reranker of another system's hits.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter

import numpy as np

from lextables.models.okapi import OkapiBM25
from lextables.tasks.retrieval.collection import Collection, HitsByCondition, Pair
from lextables.tasks.retrieval.documents import in_order
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.ranking import Chunks, Ranking, RankingSettings

# Pools whose filtered documents are in memory together: with 1,000 documents each, some
# 200 MB.
POOL_BATCH = 64

# The documents that BM25 reads as one collection, each with the id of its own query.
Pool = Sequence[Pair]
ScoredRow = tuple[str, str, float]  # query id, document id, score


class OkapiSettings(RankingSettings):
    """The settings of a run with gensim's BM25."""

    chunks: Chunks | None = None
    """The chunks that the released code reads as collections; None for one pool a
    query.
    """


def rank(ranking: Ranking) -> HitsByCondition:
    """Rank the pool of each query, or the hits of another system; {condition: hits}.

    Documents are whole or filtered.  Ties go to the lower document id, and in the
    released code's chunks to the row that comes first.
    """
    hits: HitsByCondition = {}
    for condition, run in ranking.runs(OkapiSettings).items():
        collection = ranking.collection
        if condition in ranking.first_hits:
            collection = collection.among(ranking.first_hits[condition])
        texts = collection.texts(run.form, ("validation", "test"), run.queries)
        if run.chunks:
            pools = released_chunks(collection, list(texts), run.chunks)
        else:
            pools = pools_of_queries(collection, list(texts), run)
        score = _filtered_scores if run.documents == "filtered" else _whole_scores
        scored_rows = score(collection.documents, texts, pools)
        hits[condition] = {}
        # The rows of a query are consecutive, even if they are in two chunks.
        for query_id, rows in groupby(scored_rows, key=itemgetter(0)):
            query_hits = [(document, value) for _, document, value in rows]
            query_hits.sort(key=lambda hit: -hit[1])  # stable: ties keep their order
            hits[condition][query_id] = query_hits[: run.top]
    return hits


def pools_of_queries(
    collection: Collection, queries: Sequence[str], run: OkapiSettings
) -> list[Pool]:
    """Return the pool of each query that has one, by document id."""
    pools: list[Pool] = []
    for query_id in queries:
        documents = sorted(collection.pool(query_id, run.pool))
        if documents:
            pools.append([(query_id, document) for document in documents])
    return pools


def released_chunks(
    collection: Collection, queries: Sequence[str], chunks: Chunks
) -> list[Pool]:
    """Return the collections that LawngNLI's released code scores instead of the
    queries' pools.

    `src/zero_shot_retrieval.py` (Table 17) and `src/retrieval.py` (Table 6) put the
    pools of the queries with one label behind each other and cut these rows with
    `numpy.array_split` into as many chunks as a pool has documents (1,000 and 100),
    where as many as there are queries was meant (1,322 and 668).  All rows of a chunk
    are scored with the hypothesis of its first row, so that most documents get the
    score of another query.  Queries without a relevant document are left out before,
    and have no hits.

    A pool has the order of the judgements or of the hits.  The order of the queries,
    which the paper does not state, is that of ``queries``.
    """
    rows_by_label: dict[str, list[Pair]] = defaultdict(list)
    for query_id in queries:
        gains = collection.judged[query_id]
        if any(gains.values()):
            label = collection.queries[query_id][chunks.by]
            rows_by_label[label] += [(query_id, document) for document in gains]
    pools: list[Pool] = []
    for rows in rows_by_label.values():
        for places in np.array_split(np.arange(len(rows)), chunks.number):
            if len(places):
                pools.append(rows[places[0] : places[-1] + 1])
    return pools


def _whole_scores(
    documents: Mapping[str, str], texts: Mapping[str, str], pools: Sequence[Pool]
) -> Iterator[ScoredRow]:
    """Yield the scored rows of the pools, whose documents are read whole.

    All rows of a pool are scored with the query of its first row.  ``texts`` are {query
    id: text}.
    """
    pooled: set[str] = set()
    for pool in pools:
        pooled.update(document for _, document in pool)
    collection = in_order(pooled, documents)
    place_of = {document: place for place, document in enumerate(collection)}
    model = OkapiBM25(documents[document] for document in collection)
    for pool in pools:
        first_query, _ = pool[0]
        places = [place_of[document] for _, document in pool]
        scores = model.scores(texts[first_query], places)
        for (query_id, document), score in zip(pool, scores.tolist(), strict=True):
            yield query_id, document, score


def _filtered_scores(
    documents: Mapping[str, str], texts: Mapping[str, str], pools: Sequence[Pool]
) -> Iterator[ScoredRow]:
    """As `_whole_scores`, with each document cut to its paragraphs for its own query.

    In the released code's chunks, a document may be scored with another query than the
    one for which it was cut.  Pools are read in batches, so that memory holds few
    filtered texts.
    """
    remaining = iter(pools)
    while batch := list(islice(remaining, POOL_BATCH)):
        pairs = []
        for pool in batch:
            pairs += [(texts[query_id], document) for query_id, document in pool]
        filtered = iter(read_as("filtered", documents, pairs))
        for pool in batch:
            first_query, _ = pool[0]
            model = OkapiBM25(islice(filtered, len(pool)))
            scores = model.scores(texts[first_query], range(len(pool)))
            for (query_id, document), score in zip(pool, scores.tolist(), strict=True):
                yield query_id, document, score
