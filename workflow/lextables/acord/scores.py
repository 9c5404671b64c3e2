"""From ACORD predictions to scores: over all test queries, by category, and a query at a time."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa

from lextables.dataset import Column, Row, Table
from lextables.metrics.ranking import ndcg, star_precision_printed, star_precision_strict

PREDICTIONS = Table(
    "predictions",
    "The clauses that a system returns for each query, best first.",
    (
        Column("query_id", pa.string(), "the query"),
        Column("rank", pa.int32(), "1-based rank"),
        Column("clause_id", pa.string(), "the clause"),
        Column("score", pa.float64(), "the system's own score; comparable within a query only"),
    ),
    key=("query_id", "rank"),
)
STARS = (3, 4, 5)
METRICS = ("NDCG@5", "NDCG@10", *(f"{stars}-star precision@5" for stars in STARS))
STRICT = ", strict"


def scores(
    predictions: Iterable[Row], judgements: Iterable[Row], queries: Iterable[Row], split: str = "test"
) -> list[Row]:
    """Score the hits of one run on the queries of ``split``; rows as `run.SCORES`, sorted by its key.

    Ranking is over the clauses judged for a query: other hits are dropped, since their score is
    unknown (Appendix C.5.2).  NDCG is over all queries; k-star precision leaves out queries that have
    no clause of k stars.  The `, strict` metrics follow Eq. 2 instead of the printed tables.
    """
    category = {query["query_id"]: query["category"] for query in queries if query["split"] == split}
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for row in judgements:
        if row["query_id"] in category:
            qrels[row["query_id"]][row["clause_id"]] = row["score"]
    run: dict[str, list[str]] = defaultdict(list)
    for row in sorted(predictions, key=lambda row: (row["query_id"], row["rank"])):
        if row["clause_id"] in qrels.get(row["query_id"], ()):
            run[row["query_id"]].append(row["clause_id"])

    values: dict[str, Mapping[str, float]] = {f"NDCG@{k}": by for k, by in ndcg(qrels, run, (5, 10)).items()}
    for stars in STARS:
        values[f"{stars}-star precision@5"] = star_precision_printed(qrels, run, stars)
        values[f"{stars}-star precision@5{STRICT}"] = star_precision_strict(qrels, run, stars)
    rows = []
    for metric, by_query in values.items():
        rows += _grouped(metric, by_query, lambda query: "all")
        rows += _grouped(metric, by_query, lambda query: f"category: {category[query]}")
        rows += _grouped(metric, by_query, lambda query: f"query: {query}")
    return sorted(rows, key=lambda row: (row["metric"], row["group"]))


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
