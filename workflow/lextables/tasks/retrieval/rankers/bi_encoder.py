"""A bi-encoder, fine-tuned or not: a first stage, or a reranker of another system's
hits.
"""

from lextables.tasks.retrieval import dense, encoders
from lextables.tasks.retrieval.collection import HitsByCondition
from lextables.tasks.retrieval.ranking import FILTERED, Ranking, RankingSettings


def rank(ranking: Ranking) -> HitsByCondition:
    """Rank the pool of each query, or the hits of another system; {condition: hits}."""
    runs = ranking.runs(RankingSettings)
    if not ranking.first_hits:
        return first_stage(ranking, runs)
    loaded = encoders.load(ranking)
    hits = {}
    for condition, run in runs.items():
        candidates = ranking.collection.among(ranking.first_hits[condition])
        hits.update(dense.retrieve(candidates, {condition: run}, loaded))
    return hits


def first_stage(ranking: Ranking, runs: dict[str, RankingSettings]) -> HitsByCondition:
    """Rank the pool of each query; {condition: hits}.

    If another job has encoded texts, its vectors are used, except for filtered
    documents: they depend on the query and are encoded here.
    """
    encoded = {}
    others = {}
    for name, run in runs.items():
        if ranking.encoded and run.documents != FILTERED:
            encoded[name] = run
        else:
            others[name] = run
    hits: HitsByCondition = {}
    if encoded:
        stored = encoders.stored(ranking)
        hits.update(dense.retrieve(ranking.collection, encoded, stored))
    if others:
        loaded = encoders.load(ranking)
        hits.update(dense.retrieve(ranking.collection, others, loaded))
    return {name: hits[name] for name in runs}
