"""Ranking metrics: NDCG, recall and ACORD's k-star precision in two readings.

``qrels`` maps query id to {document id: gain}; ``run`` maps query id to document ids, best first.  A hit
without a judgement has gain 0.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytrec_eval

from lextables.pipeline.errors import BadInput

NAN = float("nan")
Qrels = Mapping[str, Mapping[str, int]]
Hits = Mapping[str, Sequence[str]]
Metric = Callable[
    [Qrels, Hits], dict[str, float]
]  # {query id: score}, NaN where undefined


def by_name(metric: str) -> Metric:
    """Return the metric with this name: ``NDCG@k``, ``Recall@k`` or ``<n>-star precision@k``.

    Raises `BadInput` for any other name.
    """
    name, _, cutoff = metric.rpartition("@")
    if not cutoff.isdigit() or int(cutoff) < 1:
        raise BadInput(
            f"the metric {metric!r} has no cutoff",
            where="metrics",
            do="write it as NDCG@10",
        )
    if name == "NDCG":
        return lambda qrels, run: ndcg(qrels, run, (int(cutoff),))[int(cutoff)]
    if name == "Recall":
        return partial(recall, cutoff=int(cutoff))
    if stars := re.fullmatch(r"([1-9])-star precision", name):
        return partial(star_precision_printed, stars=int(stars[1]), cutoff=int(cutoff))
    raise BadInput(
        f"there is no metric {metric!r}",
        where="metrics",
        do="choose from NDCG@k, Recall@k and <n>-star precision@k",
    )


def strict_reading(metric: str) -> Metric | None:
    """Return the metric as the paper's text defines it; None if the published tables agree with the text."""
    if parsed := re.fullmatch(r"([1-9])-star precision@(\d+)", metric):
        return partial(
            star_precision_strict, stars=int(parsed[1]), cutoff=int(parsed[2])
        )
    return None


def recall(qrels: Qrels, run: Hits, cutoff: int) -> dict[str, float]:
    """Return {query id: share of its documents with a gain above 0 that are in the top ``cutoff``}.

    NaN where the query has none.
    """
    values = {}
    for query in sorted(qrels):
        relevant = {doc for doc, gain in qrels[query].items() if gain > 0}
        hits = relevant.intersection(run.get(query, ())[:cutoff])
        values[query] = len(hits) / len(relevant) if relevant else NAN
    return values


def ndcg(
    qrels: Qrels, run: Hits, cutoffs: Sequence[int]
) -> dict[int, dict[str, float]]:
    """Return {cutoff: {query id: NDCG}} by trec_eval, with linear gains (ACORD F.1, Eq. 1).

    trec_eval sorts hits by score and breaks ties by its own rule, so ranks are passed as scores.  A query
    without hits scores 0.
    """
    scored = {
        query: {doc: -float(rank) for rank, doc in enumerate(hits)}
        for query, hits in run.items()
    }
    measure = "ndcg_cut." + ",".join(str(cutoff) for cutoff in cutoffs)
    values = pytrec_eval.RelevanceEvaluator(
        {q: dict(d) for q, d in qrels.items()}, {measure}
    ).evaluate(scored)
    return {
        cutoff: {
            query: values.get(query, {}).get(f"ndcg_cut_{cutoff}", 0.0)
            for query in sorted(qrels)
        }
        for cutoff in cutoffs
    }


def star_precision_printed(
    qrels: Qrels, run: Hits, stars: int, cutoff: int = 5
) -> dict[str, float]:
    """Return {query id: share of clauses with at least ``stars`` among those returned in the top ``cutoff``}.

    This is the metric in ACORD's tables.  The denominator is the number of returned clauses, which may be
    below ``cutoff``, without the normalisation of Eq. 2.  NaN where the query has no such clause; means leave
    those queries out.
    """
    return {
        query: _printed(qrels[query], run.get(query, ())[:cutoff], stars - 1)
        for query in sorted(qrels)
    }


def _printed(gains: Mapping[str, int], top: Sequence[str], least: int) -> float:
    if not any(gain >= least for gain in gains.values()):
        return NAN
    return sum(gains.get(doc, 0) >= least for doc in top) / len(top) if top else 0.0


def star_precision_strict(
    qrels: Qrels, run: Hits, stars: int, cutoff: int = 5
) -> dict[str, float]:
    """Return {query id: k-star precision} as ACORD's Eq. 2 defines it.

    The number of clauses of at least ``stars`` in the top ``cutoff``, divided by min(``cutoff``, number of
    such clauses of the query).  NaN where the query has none.
    """
    values = {}
    for query in sorted(qrels):
        gains, least = qrels[query], stars - 1
        relevant = sum(gain >= least for gain in gains.values())
        hits = sum(gains.get(doc, 0) >= least for doc in run.get(query, ())[:cutoff])
        values[query] = hits / min(cutoff, relevant) if relevant else NAN
    return values
