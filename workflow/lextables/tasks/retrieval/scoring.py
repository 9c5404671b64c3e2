"""Scores of a run's hits, and the choice of hyperparameters by validation scores."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from operator import itemgetter
from pathlib import Path

from lextables.metrics import STRICT
from lextables.metrics.ranking import by_name, strict_reading
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.tasks.retrieval.collection import Collection, Pair, Task, reorder
from lextables.tasks.search import best_trial


def scores(
    predictions: Iterable[Row],
    collection: Collection,
    only: Sequence[str] | None = None,
) -> list[Row]:
    """Score the hits of a run on the test queries, or only on the queries ``only``;
    return sorted rows of `run.SCORES`.

    With the pool ``judged`` only the documents judged for a query are ranked: other
    hits are dropped, since their gain is unknown (ACORD, Appendix C.5.2).  With the
    pool ``all`` they remain, with gain 0.  If the paper's text defines a metric
    differently from its tables, the metric of the text is computed too; its name ends
    with `, strict`.  Groups are ``all``, each value of the task's columns ``groups``,
    and each query.  Raises `BadInput` for a document that is ranked twice for a query.
    """
    task = collection.task
    queries = {}
    qrels = {}
    for name, query in collection.of("test").items():
        if only is None or name in only:
            queries[name] = query
            qrels[name] = dict(collection.judged[name])
    run: dict[str, list[str]] = defaultdict(list)
    for row in sorted(predictions, key=itemgetter("query_id", "rank")):
        query = row["query_id"]
        document = row["document_id"]
        if query in qrels and (task["pool"] == "all" or document in qrels[query]):
            run[query].append(document)

    for query_id, ranking in run.items():
        if len(set(ranking)) < len(ranking):
            what = f"a document is ranked twice for the query {query_id!r}"
            do = "rank each document once"
            raise BadInput(what, where="predictions", do=do)

    values: dict[str, Mapping[str, float]] = {}
    for metric in task["metrics"]:
        values[metric] = by_name(metric)(qrels, run)
        strict = strict_reading(metric)
        if strict:
            values[metric + STRICT] = strict(qrels, run)

    rows = []
    for metric, query_values in values.items():
        members: dict[str, list[float]] = defaultdict(list)
        for query_id, value in sorted(query_values.items()):
            members[f"query: {query_id}"].append(value)
            for group in _groups(queries[query_id], task):
                members[group].append(value)
        for group, group_values in members.items():
            mean, n = _mean(group_values)
            row = {"metric": metric, "group": group, "value": mean, "n": n}
            rows.append(row)
    return sorted(rows, key=itemgetter("metric", "group"))


def _groups(query: Row, task: Task) -> list[str]:
    """Return the groups of a query: ``all``, and its value of each column in the task's
    ``groups``.
    """
    groups = ["all"]
    for column in task["groups"]:
        groups.append(f"{column}: {query[column]}")
    return groups


def _mean(values: Iterable[float]) -> tuple[float, int]:
    """Return the mean of the values that are defined, NaN without any, and their
    number.
    """
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return math.nan, 0
    return math.fsum(defined) / len(defined), len(defined)


def by_query(scored: Iterable[Row], collection: Collection) -> list[Row]:
    """Return each query's contribution to the means over queries in ``scored``, as rows
    of `units.UNITS`.

    The groups are ``all`` and each value of the task's columns ``groups``.  Queries for
    which a metric is undefined are left out.
    """
    queries = collection.of("test")
    rows = []
    for row in scored:
        kind, _, query = row["group"].partition(": ")
        if kind == "query" and not math.isnan(row["value"]):
            unit = {"metric": row["metric"], "unit": query, "value": row["value"]}
            for group in _groups(queries[query], collection.task):
                rows.append({**unit, "group": group})
    return sorted(rows, key=itemgetter("metric", "group", "unit"))


def choose(
    runs: Mapping[tuple[float, int], str | Path],
    collection: Collection,
    hits: Mapping[str, Sequence[str]] | None,
) -> tuple[JsonObject, list[Row]]:
    """Choose learning rate and updates by validation queries (ACORD, Section F.2).

    ``runs`` maps (learning rate, seed) to a file of `collection.TRIED`.  ``hits`` is
    the ranking that is reordered; None if the model is itself a retriever, which ranks
    everything that it scored.  Returns the trial with the highest mean of the task's
    ``choose_by`` over queries and seeds, and the table of means, in which ``diverged``
    is the number of seeds without scores.  Ties go to fewer updates, then to the lower
    rate.
    """
    metric = collection.task["choose_by"]
    values = _validation_means(runs, collection, hits)
    # A seed whose training diverged has no mean from then on.
    seeds = len({seed for _, seed in runs})
    means: list[Row] = []
    by_updates = {}
    tried_updates = sorted({updates for _, updates in values})
    for updates, rate in product(tried_updates, sorted({rate for rate, _ in runs})):
        seed_means = values.get((rate, updates), [])
        by_updates[rate, updates] = seed_means
        trial: JsonObject = {
            "learning_rate": rate,
            "updates": updates,
            "seeds": len(seed_means),
        }
        if len(seed_means) == seeds:
            trial[f"validation {metric}"] = sum(seed_means) / seeds
        else:
            trial["diverged"] = seeds - len(seed_means)
        means.append(trial)
    rate, updates = best_trial(by_updates, seeds)
    means.sort(key=itemgetter("learning_rate", "updates"))
    return {"learning_rate": rate, "updates": [updates]}, means


def _validation_means(
    runs: Mapping[tuple[float, int], str | Path],
    collection: Collection,
    hits: Mapping[str, Sequence[str]] | None,
) -> dict[tuple[float, int], list[float]]:
    """Return {(learning rate, updates): the mean over validation queries of each seed}.

    The arguments are those of `choose`.
    """
    metric = by_name(collection.task["choose_by"])
    validation = collection.of("validation")
    qrels = {query_id: dict(collection.judged[query_id]) for query_id in validation}
    means: dict[tuple[float, int], list[float]] = defaultdict(list)
    for (rate, _), path in sorted(runs.items()):
        for updates, relevance in _by_updates(path).items():
            candidates = _candidates(relevance) if hits is None else hits
            query_candidates = {query: candidates.get(query, ()) for query in qrels}
            run = {}
            for query, ranking in reorder(query_candidates, relevance).items():
                run[query] = [document for document, _ in ranking]
            query_scores = metric(qrels, run)
            mean = sum(query_scores.values()) / len(query_scores)
            means[rate, updates].append(mean)
    return means


def _candidates(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Return {query id: its document ids, sorted}."""
    documents: dict[str, list[str]] = defaultdict(list)
    for query, document in sorted(pairs):
        documents[query].append(document)
    return documents


def _by_updates(path: str | Path) -> dict[int, dict[Pair, float]]:
    """Return {updates: {(query id, document id): score}} of a file of
    `collection.TRIED`.
    """
    scores: dict[int, dict[Pair, float]] = defaultdict(dict)
    for row in read(path):
        pair = row["query_id"], row["document_id"]
        scores[row["updates"]][pair] = row["score"]
    return scores
