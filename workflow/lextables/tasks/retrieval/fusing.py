"""A first stage of several: the weighted mean of their standardised scores."""

from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev

from lextables.tasks.retrieval.schema import Hits

Scores = Mapping[str, Mapping[str, float]]


def fuse(systems: Sequence[Scores], shares: Sequence[float], top: int) -> Hits:
    """Rank what any of the systems returned by the mean of their standardised scores, ties by id ascending.

    ``systems`` map a query to {document: score}, and count by their ``shares``; at most ``top`` hits a query
    are kept.  A document that a system did not return has the lowest score of those that it did, which is the
    most that it can have.  Scores are standardised within a query (less their mean, by their deviation) over
    the documents that any system returned; a system that gives all of them one score says nothing.
    """
    queries = sorted({query for system in systems for query in system})
    return {query: _ranked([system.get(query, {}) for system in systems], shares, top) for query in queries}


def _ranked(
    found: Sequence[Mapping[str, float]], shares: Sequence[float], top: int
) -> list[tuple[str, float]]:
    documents = sorted({document for scores in found for document in scores})
    columns = [_standardised(scores, documents) for scores in found]
    means = [(document, fmean(scores, shares)) for document, *scores in zip(documents, *columns, strict=True)]
    return sorted(means, key=lambda hit: (-hit[1], hit[0]))[:top]


def _standardised(scores: Mapping[str, float], documents: Sequence[str]) -> list[float]:
    lowest = min(scores.values(), default=0.0)
    whole = [scores.get(document, lowest) for document in documents]
    mean, deviation = fmean(whole), pstdev(whole)
    return [(score - mean) / deviation if deviation else 0.0 for score in whole]
