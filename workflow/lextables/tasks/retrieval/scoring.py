"""From hits to scores: over all test queries, by group, and a query at a time."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter

from lextables.metrics import STRICT
from lextables.metrics.ranking import by_name, strict_reading
from lextables.pipeline.dataset import Row
from lextables.tasks.retrieval.collection import Collection


def scores(
    predictions: Iterable[Row], collection: Collection, only: Sequence[str] | None = None
) -> list[Row]:
    """Score the hits of one run on the test queries, or on those in ``only``; rows as `run.SCORES`, sorted.

    With the pool ``judged`` ranking is over the documents judged for a query: other hits are dropped, since
    their gain is unknown (ACORD, Appendix C.5.2).  With the pool ``all`` they stay, and gain nothing.  A
    metric of which the text and the printed tables differ has a reading `, strict` too, the text's.  Groups
    are ``all``, each value of the task's columns ``groups``, and each query.
    """
    task = collection.task
    queries = {name: row for name, row in collection.of("test").items() if only is None or name in only}
    qrels = {name: dict(collection.judged[name]) for name in queries}
    run: dict[str, list[str]] = defaultdict(list)
    for row in sorted(predictions, key=lambda row: (row["query_id"], row["rank"])):
        query, document = row["query_id"], row["document_id"]
        if query in qrels and (task["pool"] == "all" or document in qrels[query]):
            run[query].append(document)

    lengths = {document: len(text) for document, text in collection.documents.items()}
    values: dict[str, Mapping[str, float]] = {}
    for metric in task["metrics"]:
        values[metric] = by_name(metric, lengths)(qrels, run)
        if strict := strict_reading(metric):
            values[metric + STRICT] = strict(qrels, run)
    rows = []
    for metric, by_query in values.items():
        rows += _grouped(metric, by_query, lambda query: "all")
        for column in task["groups"]:
            rows += _grouped(
                metric, by_query, lambda query, column=column: f"{column}: {queries[query][column]}"
            )
        rows += _grouped(metric, by_query, lambda query: f"query: {query}")
    return sorted(rows, key=lambda row: (row["metric"], row["group"]))


def by_query(scored: Iterable[Row], collection: Collection) -> list[Row]:
    """Return what each query adds to the ``scored`` groups that are means over queries, as `units.UNITS`.

    These are ``all`` and each value of the task's columns ``groups``; a query for which a metric is not
    defined adds nothing.
    """
    queries = collection.of("test")
    rows = []
    for row in scored:
        kind, _, query = row["group"].partition(": ")
        if kind == "query" and not math.isnan(row["value"]):
            columns = (f"{column}: {queries[query][column]}" for column in collection.task["groups"])
            unit = {"metric": row["metric"], "unit": query, "value": row["value"]}
            rows += [unit | {"group": group} for group in ("all", *columns)]
    return sorted(rows, key=itemgetter("metric", "group", "unit"))


def _grouped(metric: str, by_query: Mapping[str, float], group: Callable[[str], str]) -> list[Row]:
    members: dict[str, list[float]] = defaultdict(list)
    for query, value in sorted(by_query.items()):
        members[group(query)].append(value)
    rows = []
    for name, found in members.items():
        defined = [value for value in found if not math.isnan(value)]
        mean = math.fsum(defined) / len(defined) if defined else math.nan
        rows.append({"metric": metric, "group": name, "value": mean, "n": len(defined)})
    return rows
