"""The fusion of several systems by the means of their standardised scores."""

from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev

from lextables.tasks.retrieval.collection import (
    Hits,
    HitsByCondition,
    best_first,
    scored,
)
from lextables.tasks.retrieval.ranking import Ranking, RankingSettings

Scores = Mapping[str, Mapping[str, float]]  # {query id: {document id: score}}


class FusionSettings(RankingSettings):
    """The settings of a fusion."""

    shares: tuple[float, ...]
    """The weight of each system."""


def rank(ranking: Ranking) -> HitsByCondition:
    """Fuse the systems whose hits the job reads; {condition: hits}."""
    hits = {}
    for condition, run in ranking.runs(FusionSettings).items():
        systems = [scored(path) for path in ranking.hits[condition]]
        hits[condition] = fuse(systems, run.shares, run.top)
    return hits


def fuse(systems: Sequence[Scores], shares: Sequence[float], top: int | None) -> Hits:
    """Rank documents by the weighted mean of the systems' standardised scores.

    ``shares`` are the weights of the ``systems``; at most ``top`` hits per query are
    kept, ties by id ascending.  A document that a system did not return gets that
    system's lowest score, since its unknown score is not higher.  Scores are
    standardised within a query over the documents that any system returned; a system
    with equal scores for all of them has no influence.
    """
    queries: set[str] = set()
    for system in systems:
        queries.update(system)
    hits = {}
    for query in sorted(queries):
        system_scores = [system.get(query, {}) for system in systems]
        documents = sorted(set().union(*system_scores))
        columns = [_standardised(scores, documents) for scores in system_scores]
        means = {}
        for document, *scores in zip(documents, *columns, strict=True):
            means[document] = fmean(scores, shares)
        hits[query] = best_first(means)[:top]
    return hits


def _standardised(scores: Mapping[str, float], documents: Sequence[str]) -> list[float]:
    """Return the score of each document in standard deviations from the mean; 0 if all
    are equal.
    """
    lowest = min(scores.values(), default=0.0)
    values = [scores.get(document, lowest) for document in documents]
    mean = fmean(values)
    deviation = pstdev(values)
    if not deviation:
        return [0.0] * len(values)
    return [(value - mean) / deviation for value in values]
