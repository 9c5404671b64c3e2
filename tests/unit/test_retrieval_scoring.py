"""Retrieval scores: queries in a mean, hits that count, and the published and strict
definitions.
"""

import math

import pytest

from lextables.metrics import STRICT
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.scoring import scores

METRICS = ("NDCG@5", "Recall@2", *(f"{stars}-star precision@5" for stars in (3, 4, 5)))
TASK = {
    "test": "test",
    "pool": "judged",
    "metrics": METRICS,
    "groups": ("category", "origin"),
}
QUERIES = {
    "cap": {"category": "Liability", "origin": "one", "split": "test"},
    "tort": {"category": "Liability", "origin": "two", "split": "test"},
    "law": {"category": "Law", "origin": "two", "split": "test"},
    "seen": {"category": "Law", "origin": "one", "split": "train"},
}
GAINS = {
    "cap": {"a": 4, "b": 0, "c": 2},
    "tort": {"a": 2, "b": 1},
    "law": {"a": 1},
    "seen": {"a": 4},
}


def predictions(run):
    rows = []
    for query, found in run.items():
        for rank, document in enumerate(found, 1):
            rows.append({"query_id": query, "rank": rank, "document_id": document})
    return rows


def collection(task):
    return Collection({}, QUERIES, GAINS, task)


def scored(run, only=None, **task):
    rows = scores(predictions(run), collection(TASK | task), only)
    return {(row["metric"], row["group"]): row for row in rows}


RUN = {"cap": ["b", "a"], "tort": ["a", "x"], "seen": ["a"]}


@pytest.fixture
def table():
    return scored(RUN)


def test_a_query_without_hits_scores_zero_and_is_part_of_the_mean(table):
    assert table["NDCG@5", "query: law"]["value"] == 0
    assert table["NDCG@5", "all"]["n"] == 3
    mean = (
        math.fsum(
            table["NDCG@5", f"query: {q}"]["value"] for q in ("cap", "tort", "law")
        )
        / 3
    )
    assert table["NDCG@5", "all"]["value"] == pytest.approx(mean)


def test_hits_without_a_judgement_are_ignored(table):
    # One of tort's two hits has a judgement, three stars: the published definition
    # divides by this one hit.
    assert table["3-star precision@5", "query: tort"]["value"] == 1.0


def test_queries_without_a_clause_of_that_rating_are_ignored(table):
    five = table["5-star precision@5", "all"]
    assert (five["n"], five["value"]) == (1, 0.5)
    assert math.isnan(table["5-star precision@5", "category: Law"]["value"])
    assert table["5-star precision@5" + STRICT, "all"]["value"] == 1.0


def test_training_queries_are_not_scored(table):
    assert ("NDCG@5", "query: seen") not in table
    assert {metric for metric, _ in table} == {
        *METRICS,
        *(m + STRICT for m in METRICS if "star" in m),
    }


def test_hits_are_scored_by_rank_in_any_order_of_the_rows():
    rows = predictions({"cap": ["b", "a", "c"], "tort": ["b", "a"], "law": ["a"]})
    task = TASK | {"metrics": ("Recall@1",)}
    found = scores([rows[at] for at in (2, 4, 1, 5, 3, 0)], collection(task))
    shares = {row["group"]: row["value"] for row in found}
    # The first hits are b of no star, b of one star (of two clauses) and a.
    assert [shares[f"query: {name}"] for name in ("cap", "tort", "law")] == [0, 0.5, 1]


def test_a_document_that_is_ranked_twice_is_rejected():
    message = "a document is ranked twice for the query 'cap'; rank each document once"
    with pytest.raises(BadInput, match=message):
        scored({"cap": ["a", "b", "a"], "tort": ["a"]})
    # A document that is not judged is dropped, and training queries are not scored.
    scored({"cap": ["a", "x", "x"], "seen": ["a", "a"]})


def test_scores_are_computed_for_the_given_metrics_and_groups(table):
    assert table["Recall@2", "query: cap"]["value"] == 0.5
    assert (table["Recall@2", "all"]["value"], table["Recall@2", "all"]["n"]) == (
        (0.5 + 0.5 + 0) / 3,
        3,
    )
    assert {group for _, group in table if not group.startswith("query: ")} == {
        "all",
        "category: Liability",
        "category: Law",
        "origin: one",
        "origin: two",
    }
    assert table["NDCG@5", "origin: two"]["n"] == 2
    alone = scored(RUN, metrics=("NDCG@10",), groups=())
    assert set(alone) == {
        ("NDCG@10", group)
        for group in ("all", "query: cap", "query: law", "query: tort")
    }
    with pytest.raises(
        BadInput, match="there is no metric 'MRR@5'; choose from NDCG@k, Recall@k and"
    ):
        scored(RUN, metrics=("MRR@5",))


def test_with_pool_all_hits_without_a_judgement_keep_their_rank(table):
    hits = RUN | {"tort": ["x", "y", "a"]}
    judged, whole = scored(hits), scored(hits, pool="all")
    assert [found["Recall@2", "query: tort"]["value"] for found in (judged, whole)] == [
        0.5,
        0,
    ]
    assert [
        found["3-star precision@5", "query: tort"]["value"] for found in (judged, whole)
    ] == [1, 1 / 3]
    strict = "3-star precision@5" + STRICT
    assert whole[strict, "query: tort"] == judged[strict, "query: tort"]
    assert (
        whole["NDCG@5", "query: tort"]["value"]
        < judged["NDCG@5", "query: tort"]["value"]
    )
    assert whole["NDCG@5", "query: cap"] == judged["NDCG@5", "query: cap"]


def test_only_the_given_queries_are_scored(table):
    found = scored(RUN, ["cap", "seen"])
    assert {group for _, group in found if group.startswith("query: ")} == {
        "query: cap"
    }
    assert found["NDCG@5", "all"]["value"] == table["NDCG@5", "query: cap"]["value"]
