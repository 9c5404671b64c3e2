"""A first stage with BM25."""

from collections.abc import Iterable
from typing import Literal

from lextables.models.bm25 import BM25Index, analyze
from lextables.tasks.retrieval.collection import HitsByCondition
from lextables.tasks.retrieval.ranking import Ranking, RankingSettings


class BM25Settings(RankingSettings):
    """The settings of a run with BM25."""

    index: Literal["query", "corpus"]
    """Whether each query has an index of its pool, or all queries one of all
    documents.
    """
    k1: float
    """Saturation of the frequency of a term."""
    b: float
    """Share of the normalisation by the length of a document."""


def rank(ranking: Ranking) -> HitsByCondition:
    """Rank the pool of each validation and test query; {condition: hits}.

    Documents are analysed once for all forms of the queries.
    """
    documents = ranking.collection.documents
    terms = {document: analyze(text) for document, text in documents.items()}
    runs = ranking.runs(BM25Settings)
    first = next(iter(runs.values()))  # k1, b, index, pool and top are the same in all

    def index_of(pool: Iterable[str]) -> BM25Index:
        pool_terms = {name: terms[name] for name in pool}
        return BM25Index(pool_terms, k1=first.k1, b=first.b)

    corpus = None
    if first.index == "corpus":
        corpus = index_of(terms)

    def search(query_id: str, text: str) -> list[tuple[str, float]]:
        """Return the best documents of the query's pool, with their scores."""
        query = analyze(text)
        pool = ranking.collection.pool(query_id, first.pool)
        if corpus is None:
            return index_of(pool).search(query, first.top)
        if first.pool == "all":
            return corpus.search(query, first.top)
        hits = corpus.search(query, len(terms))
        pool_hits = [hit for hit in hits if hit[0] in pool]
        return pool_hits[: first.top]

    hits: HitsByCondition = {}
    for condition, run in runs.items():
        hits[condition] = {}
        for query_id, text in ranking.texts(run).items():
            hits[condition][query_id] = search(query_id, text)
    return hits
