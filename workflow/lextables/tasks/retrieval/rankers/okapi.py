"""gensim's BM25, as in LawngNLI (Table 17): a first stage, or a reranker of another system's hits."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice

from lextables.models.okapi import OkapiBM25
from lextables.tasks.retrieval.collection import HitsByCondition, best_first
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.ranking import Ranking, RankingSettings

# Queries whose filtered pools are in memory together: with 1,000 documents each, some 200 MB.
QUERY_BATCH = 64

Pools = Mapping[str, Sequence[str]]  # {query id: sorted ids of the documents to rank}
Scores = Iterator[
    tuple[str, list[float]]
]  # (query id, score of each document of its pool)


def rank(ranking: Ranking) -> HitsByCondition:
    """Rank the pool of each query, or its hits; ties by document id ascending.

    Each pool is a collection of its own for BM25.  Documents are whole or filtered.  Returns
    {condition: hits}.
    """
    hits = {}
    for condition, run in ranking.runs(RankingSettings).items():
        collection = ranking.collection
        if condition in ranking.first_hits:
            collection = collection.among(ranking.first_hits[condition])
        texts = collection.texts(run.form, ("validation", "test"), run.queries)
        pools = {
            query_id: sorted(collection.pool(query_id, run.pool)) for query_id in texts
        }
        scores = _filtered_scores if run.documents == "filtered" else _whole_scores
        hits[condition] = {}
        for query_id, values in scores(collection.documents, texts, pools):
            scored = dict(zip(pools[query_id], values, strict=True))
            hits[condition][query_id] = best_first(scored)[: run.top]
    return hits


def _whole_scores(
    documents: Mapping[str, str], texts: Mapping[str, str], pools: Pools
) -> Scores:
    """Return the scores of each query's documents, which are read as a whole."""
    names = sorted(set(chain(*pools.values())))
    place = {document: at for at, document in enumerate(names)}
    model = OkapiBM25(documents[document] for document in names)
    for query_id, text in texts.items():
        pool = [place[document] for document in pools[query_id]]
        if pool:
            scores = model.scores(text, pool)
            yield query_id, scores.tolist()


def _filtered_scores(
    documents: Mapping[str, str], texts: Mapping[str, str], pools: Pools
) -> Scores:
    """Yield the scores of a batch of queries at a time, so that memory holds few filtered texts."""
    queries = iter(texts)
    while batch := list(islice(queries, QUERY_BATCH)):
        pairs = []
        for query_id in batch:
            pairs += [(texts[query_id], document) for document in pools[query_id]]
        filtered = iter(read_as("filtered", documents, pairs))
        for query_id in batch:
            pool = list(islice(filtered, len(pools[query_id])))
            if pool:
                scores = OkapiBM25(pool).scores(texts[query_id], range(len(pool)))
                yield query_id, scores.tolist()
