"""ACORD's scores: what a mean is over, and the two readings side by side."""

import math

import pytest

from lextables.acord.scores import METRICS, STRICT, scores
from lextables.dataset import write
from lextables.run import SCORES

QUERIES = [
    {"query_id": "cap", "category": "Liability", "split": "test"},
    {"query_id": "tort", "category": "Liability", "split": "test"},
    {"query_id": "law", "category": "Law", "split": "test"},
    {"query_id": "seen", "category": "Law", "split": "train"},
]
GAINS = {"cap": {"a": 4, "b": 0, "c": 2}, "tort": {"a": 2, "b": 1}, "law": {"a": 1}, "seen": {"a": 4}}
JUDGEMENTS = [
    {"query_id": q, "clause_id": c, "score": s} for q, found in GAINS.items() for c, s in found.items()
]


def predictions(run):
    return [
        {"query_id": q, "rank": rank, "clause_id": c, "score": -rank}
        for q, found in run.items()
        for rank, c in enumerate(found, 1)
    ]


@pytest.fixture
def table():
    rows = scores(predictions({"cap": ["b", "a"], "tort": ["a", "x"], "seen": ["a"]}), JUDGEMENTS, QUERIES)
    return {(row["metric"], row["group"]): row for row in rows}


def test_a_query_without_hits_scores_nothing_but_counts(table):
    assert table["NDCG@5", "query: law"]["value"] == 0
    assert table["NDCG@5", "all"]["n"] == 3
    mean = math.fsum(table["NDCG@5", f"query: {q}"]["value"] for q in ("cap", "tort", "law")) / 3
    assert table["NDCG@5", "all"]["value"] == pytest.approx(mean)


def test_clauses_not_judged_are_not_hits(table):
    # Of tort's two hits one is judged, and it has three stars: the print divides by the one that is left.
    assert table["3-star precision@5", "query: tort"]["value"] == 1.0


def test_queries_without_such_a_clause_are_left_out(table):
    five = table["5-star precision@5", "all"]
    assert (five["n"], five["value"]) == (1, 0.5)
    assert math.isnan(table["5-star precision@5", "category: Law"]["value"])
    assert table["5-star precision@5" + STRICT, "all"]["value"] == 1.0


def test_training_queries_are_not_scored(table):
    assert ("NDCG@5", "query: seen") not in table
    assert {metric for metric, _ in table} == {*METRICS, *(m + STRICT for m in METRICS if "star" in m)}


def test_rows_fit_the_schema(tmp_path):
    rows = scores(predictions({"cap": ["a"]}), JUDGEMENTS, QUERIES)
    assert write(SCORES, rows, tmp_path / "scores.parquet") == len(rows)
