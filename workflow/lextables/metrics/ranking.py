"""Ranking metrics: NDCG, recall, and ACORD's k-star precision as in its tables and as
in its text.

``qrels`` maps query id to {document id: gain}; ``run`` maps query id to document ids,
best first.  A hit without a judgement has gain 0.  In ACORD a gain is the number of
stars less one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytrec_eval

from lextables.pipeline.errors import BadInput

NAN = float("nan")
Qrels = Mapping[str, Mapping[str, int]]
Hits = Mapping[str, Sequence[str]]
# A metric returns {query id: score}, NaN where undefined.
Metric = Callable[[Qrels, Hits], dict[str, float]]


def by_name(metric: str) -> Metric:
    """Return the metric with this name: ``NDCG@k``, ``Recall@k`` or ``<n>-star
    precision@k``.

    Raises `BadInput` for any other name.
    """
    name, _, digits = metric.rpartition("@")
    if not digits.isdigit() or int(digits) < 1:
        what = f"the metric {metric!r} has no cutoff"
        raise BadInput(what, where="metrics", do="write it as NDCG@10")
    cutoff = int(digits)
    stars = re.fullmatch(r"([1-9])-star precision", name)
    if name == "NDCG":
        return lambda qrels, run: ndcg(qrels, run, (cutoff,))[cutoff]
    if name == "Recall":
        return partial(recall, cutoff=cutoff)
    if stars:
        return partial(star_precision_printed, stars=int(stars[1]), cutoff=cutoff)
    do = "choose from NDCG@k, Recall@k and <n>-star precision@k"
    raise BadInput(f"there is no metric {metric!r}", where="metrics", do=do)


def strict_reading(metric: str) -> Metric | None:
    """Return the metric as the paper's text defines it; None if the published tables
    agree with the text.
    """
    parsed = re.fullmatch(r"([1-9])-star precision@(\d+)", metric)
    if not parsed:
        return None
    stars = int(parsed[1])
    cutoff = int(parsed[2])
    return partial(star_precision_strict, stars=stars, cutoff=cutoff)


def recall(qrels: Qrels, run: Hits, cutoff: int) -> dict[str, float]:
    """Return {query id: share of its documents with a gain above 0 that are in the top
    ``cutoff``}.

    NaN where the query has no such document.
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
    """Return {cutoff: {query id: NDCG}} by trec_eval, with linear gains (ACORD F.1, Eq.
    1).

    trec_eval sorts hits by score and breaks ties by its own rule, so ranks are passed
    as scores.  A query without hits scores 0.
    """
    scored = {}
    for query, hits in run.items():
        scored[query] = {doc: -float(rank) for rank, doc in enumerate(hits)}
    judged = {query: dict(gains) for query, gains in qrels.items()}
    measure = "ndcg_cut." + ",".join(map(str, cutoffs))
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {measure})
    values = evaluator.evaluate(scored)
    by_cutoff: dict[int, dict[str, float]] = {}
    for cutoff in cutoffs:
        name = f"ndcg_cut_{cutoff}"
        query_values = {}
        for query in sorted(qrels):
            query_measures = values.get(query, {})
            query_values[query] = query_measures.get(name, 0.0)
        by_cutoff[cutoff] = query_values
    return by_cutoff


def star_precision_printed(
    qrels: Qrels, run: Hits, stars: int, cutoff: int = 5
) -> dict[str, float]:
    """Return {query id: share of clauses with at least ``stars`` among those returned
    in the top ``cutoff``}.

    This is the metric in ACORD's tables.  The denominator is the number of returned
    clauses, which may be below ``cutoff``, without the normalisation of Eq. 2.  NaN
    where the query has no such clause; means leave those queries out.
    """
    values = {}
    for query in sorted(qrels):
        gains = qrels[query]
        top = run.get(query, ())[:cutoff]
        values[query] = NAN
        if any(gain >= stars - 1 for gain in gains.values()):
            returned = max(len(top), 1)
            values[query] = _hits(gains, top, stars) / returned
    return values


def _hits(gains: Mapping[str, int], top: Sequence[str], stars: int) -> int:
    """The number of hits with at least this many stars."""
    return sum(gains.get(doc, 0) >= stars - 1 for doc in top)


def star_precision_strict(
    qrels: Qrels, run: Hits, stars: int, cutoff: int = 5
) -> dict[str, float]:
    """Return {query id: k-star precision} as ACORD's Eq. 2 defines it.

    The number of clauses of at least ``stars`` in the top ``cutoff``, divided by
    min(``cutoff``, number of such clauses of the query).  NaN where the query has no
    such clause.
    """
    values = {}
    for query in sorted(qrels):
        gains = qrels[query]
        top = run.get(query, ())[:cutoff]
        relevant = sum(gain >= stars - 1 for gain in gains.values())
        values[query] = NAN
        if relevant:
            values[query] = _hits(gains, top, stars) / min(cutoff, relevant)
    return values
