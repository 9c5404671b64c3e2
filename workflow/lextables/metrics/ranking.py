"""Ranking metrics for graded relevance: NDCG, and ACORD's k-star precision in two readings.

Ranking is over the clauses judged for a query.  ``qrels`` maps query id to {document id: gain};
``run`` maps query id to document ids, best first.
"""

from collections.abc import Mapping, Sequence

import pytrec_eval

NAN = float("nan")
Qrels = Mapping[str, Mapping[str, int]]
Hits = Mapping[str, Sequence[str]]


def ndcg(qrels: Qrels, run: Hits, cutoffs: Sequence[int]) -> dict[int, dict[str, float]]:
    """Return {cutoff: {query id: NDCG}} by trec_eval, gains as they are (ACORD F.1, Eq. 1).

    trec_eval orders hits by score and breaks ties by its own rule, so it is given ranks, which have
    none.  A query that the run returned nothing for scores 0.
    """
    scored = {query: {doc: -float(rank) for rank, doc in enumerate(hits)} for query, hits in run.items()}
    measure = "ndcg_cut." + ",".join(str(cutoff) for cutoff in cutoffs)
    values = pytrec_eval.RelevanceEvaluator({q: dict(d) for q, d in qrels.items()}, {measure}).evaluate(
        scored
    )
    return {
        cutoff: {query: values.get(query, {}).get(f"ndcg_cut_{cutoff}", 0.0) for query in sorted(qrels)}
        for cutoff in cutoffs
    }


def star_precision_printed(qrels: Qrels, run: Hits, stars: int, cutoff: int = 5) -> dict[str, float]:
    """Return {query id: share of clauses of at least ``stars`` among those returned in the top ``cutoff``}.

    This is what ACORD's tables print.  The share is of the clauses that came back, which may be fewer
    than ``cutoff``; it is not normalised as Eq. 2 says.  NaN where the query has no such clause: those
    queries are left out of means.
    """
    return {query: _printed(qrels[query], run.get(query, ())[:cutoff], stars - 1) for query in sorted(qrels)}


def _printed(gains: Mapping[str, int], top: Sequence[str], least: int) -> float:
    if not any(gain >= least for gain in gains.values()):
        return NAN
    return sum(gains[doc] >= least for doc in top) / len(top) if top else 0.0


def star_precision_strict(qrels: Qrels, run: Hits, stars: int, cutoff: int = 5) -> dict[str, float]:
    """Return {query id: k-star precision} as ACORD's Eq. 2 defines it.

    The number of clauses of at least ``stars`` in the top ``cutoff``, over min(``cutoff``, the number
    that the query has).  NaN where the query has none.
    """
    values = {}
    for query in sorted(qrels):
        gains, least = qrels[query], stars - 1
        viable = sum(gain >= least for gain in gains.values())
        found = sum(gains[doc] >= least for doc in run.get(query, ())[:cutoff])
        values[query] = found / min(cutoff, viable) if viable else NAN
    return values
