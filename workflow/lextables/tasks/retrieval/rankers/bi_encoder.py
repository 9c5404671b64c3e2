"""A bi-encoder: a first stage, or a reranker of another system's hits; fine-tuned or as
it is.
"""

from lextables.tasks.retrieval import dense, encoders
from lextables.tasks.retrieval.collection import HitsByCondition
from lextables.tasks.retrieval.ranking import Ranking, RankingSettings


def rank(ranking: Ranking) -> HitsByCondition:
    """Rank the pool of each query, or its hits (`dense.retrieve`); {condition:
    hits}.
    """
    _, loaded = encoders.load(ranking)
    runs = ranking.runs(RankingSettings)
    if not ranking.first_hits:
        return dense.retrieve(ranking.collection, runs, loaded)
    hits = {}
    for condition, run in runs.items():
        candidates = ranking.collection.among(ranking.first_hits[condition])
        hits.update(dense.retrieve(candidates, {condition: run}, loaded))
    return hits
