"""Scores of a run's hits, and the choice of hyperparameters by validation scores."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from lextables.metrics import STRICT
from lextables.metrics.ranking import by_name, strict_reading
from lextables.pipeline.dataset import Row, read
from lextables.tasks.retrieval.collection import Collection, reorder


def scores(
    predictions: Iterable[Row],
    collection: Collection,
    only: Sequence[str] | None = None,
) -> list[Row]:
    """Score the hits of a run on the test queries, or those in ``only``; sorted rows of `run.SCORES`.

    With the pool ``judged`` only the documents judged for a query are ranked: other hits are dropped, since
    their gain is unknown (ACORD, Appendix C.5.2).  With the pool ``all`` they remain, with gain 0.  A metric
    that the paper's text defines differently from its tables also has the reading `, strict`, the text's.
    Groups are ``all``, each value of the task's columns ``groups``, and each query.
    """
    task = collection.task
    queries = {
        name: row
        for name, row in collection.of("test").items()
        if only is None or name in only
    }
    qrels = {name: dict(collection.judged[name]) for name in queries}
    run: dict[str, list[str]] = defaultdict(list)
    for row in sorted(predictions, key=lambda row: (row["query_id"], row["rank"])):
        query, document = row["query_id"], row["document_id"]
        if query in qrels and (task["pool"] == "all" or document in qrels[query]):
            run[query].append(document)
    values: dict[str, Mapping[str, float]] = {}
    for metric in task["metrics"]:
        values[metric] = by_name(metric)(qrels, run)
        if strict := strict_reading(metric):
            values[metric + STRICT] = strict(qrels, run)
    rows = []
    for metric, of_queries in values.items():
        rows += _grouped(metric, of_queries, lambda query: "all")
        for column in task["groups"]:
            rows += _grouped(
                metric,
                of_queries,
                lambda query, column=column: f"{column}: {queries[query][column]}",
            )
        rows += _grouped(metric, of_queries, lambda query: f"query: {query}")
    return sorted(rows, key=lambda row: (row["metric"], row["group"]))


def by_query(scored: Iterable[Row], collection: Collection) -> list[Row]:
    """Return each query's contribution to the means over queries in ``scored``, as rows of `units.UNITS`.

    The groups are ``all`` and each value of the task's columns ``groups``.  Queries for which a metric is
    undefined are left out.
    """
    queries = collection.of("test")
    rows = []
    for row in scored:
        kind, _, query = row["group"].partition(": ")
        if kind == "query" and not math.isnan(row["value"]):
            columns = (
                f"{column}: {queries[query][column]}"
                for column in collection.task["groups"]
            )
            unit = {"metric": row["metric"], "unit": query, "value": row["value"]}
            rows += [unit | {"group": group} for group in ("all", *columns)]
    return sorted(rows, key=itemgetter("metric", "group", "unit"))


def _grouped(
    metric: str, of_queries: Mapping[str, float], group: Callable[[str], str]
) -> list[Row]:
    members: dict[str, list[float]] = defaultdict(list)
    for query, value in sorted(of_queries.items()):
        members[group(query)].append(value)
    rows = []
    for name, values in members.items():
        defined = [value for value in values if not math.isnan(value)]
        mean = math.fsum(defined) / len(defined) if defined else math.nan
        rows.append({"metric": metric, "group": name, "value": mean, "n": len(defined)})
    return rows


def choose(
    runs: Mapping[tuple[float, int], str | Path],
    collection: Collection,
    hits: Mapping[str, Sequence[str]] | None,
) -> tuple[dict[str, Any], list[Row]]:
    """Choose learning rate and updates by validation queries (ACORD, Section F.2).

    ``runs`` maps (learning rate, seed) to a file of `collection.TRIED`.  ``hits`` is the ranking that is
    reordered; None if the model is itself a retriever, which ranks everything that it scored.  Returns the
    trial with the highest mean of the task's ``choose_by`` over queries and seeds, and the table of means.
    Ties go to fewer updates, then to the lower rate.
    """
    metric = collection.task["choose_by"]
    qrels = {
        query_id: dict(collection.judged[query_id])
        for query_id in collection.of("validation")
    }
    values: dict[tuple[float, int], list[float]] = defaultdict(list)
    for (rate, _), path in sorted(runs.items()):
        for updates, relevance in _by_updates(path).items():
            candidates = _candidates(relevance) if hits is None else hits
            reordered = reorder(
                {query: candidates.get(query, ()) for query in qrels}, relevance
            )
            run = {
                query: [document for document, _ in ranking]
                for query, ranking in reordered.items()
            }
            of_queries = by_name(metric)(qrels, run)
            values[rate, updates].append(sum(of_queries.values()) / len(of_queries))
    name = f"validation {metric}"
    means = [
        {
            "learning_rate": rate,
            "updates": updates,
            name: sum(each) / len(each),
            "seeds": len(each),
        }
        for (rate, updates), each in sorted(values.items())
    ]
    best = min(
        means, key=lambda row: (-row[name], row["updates"], row["learning_rate"])
    )
    return {"learning_rate": best["learning_rate"], "updates": [best["updates"]]}, means


def _candidates(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    documents: dict[str, list[str]] = defaultdict(list)
    for query, document in sorted(pairs):
        documents[query].append(document)
    return documents


def _by_updates(path: str | Path) -> dict[int, dict[tuple[str, str], float]]:
    scores: dict[int, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in read(path):
        scores[row["updates"]][row["query_id"], row["document_id"]] = row["score"]
    return scores
