"""A first stage that reads no query: it ranks documents by their gains for the training
queries, or by their length.
"""

from collections import Counter
from typing import Literal

from lextables.tasks.retrieval.collection import HitsByCondition, best_first
from lextables.tasks.retrieval.ranking import Ranking, RankingSettings

TRAINING_PARTS = ("training", "validation")


class PriorSettings(RankingSettings):
    """The settings of a run that reads no query."""

    by: Literal["gain", "length"]
    """`gain`: the documents with the highest sum of gains for the training and
    validation queries come first.  `length`: those with the fewest words do.
    """


def rank(ranking: Ranking) -> HitsByCondition:
    """Rank the pool of each test query; {condition: hits}."""
    collection = ranking.collection
    runs = ranking.runs(PriorSettings)
    any_run = next(iter(runs.values()))  # all runs of a system have the same `by`
    scores: Counter[str] = Counter()
    if any_run.by == "gain":
        for query_id in collection.of(*TRAINING_PARTS):
            scores.update(collection.judged[query_id])
    else:
        for document, text in collection.documents.items():
            scores[document] = -len(text.split())
    hits: HitsByCondition = {}
    for condition, run in runs.items():
        hits[condition] = {}
        for query_id in ranking.texts(run, ("test",)):
            pool = collection.pool(query_id, run.pool)
            ordered = best_first({name: float(scores[name]) for name in pool})
            hits[condition][query_id] = ordered[: run.top]
    return hits
