"""NDCG and k-star precision on hand-made rankings, in both readings."""

import math

import pytest

from lextables.metrics.ranking import (
    by_name,
    ndcg,
    recall,
    star_precision_printed,
    star_precision_strict,
    strict_reading,
)
from lextables.pipeline.errors import BadInput

QRELS = {"q": {"a": 4, "b": 3, "c": 0, "d": 2, "e": 0, "f": 0, "g": 3}, "none": {"a": 0, "b": 1}}


def test_ndcg_by_hand():
    values = ndcg(QRELS, {"q": ["c", "a", "g"], "none": []}, (5, 10))
    dcg = 4 / math.log2(3) + 3 / math.log2(4)
    ideal = 4 + 3 / math.log2(3) + 3 / math.log2(4) + 2 / math.log2(5)
    assert values[5]["q"] == pytest.approx(dcg / ideal)
    assert values[10]["none"] == 0.0


def test_ndcg_follows_the_order_given_not_the_ids():
    qrels = {"q": {"a": 1, "z": 0}}
    assert ndcg(qrels, {"q": ["z", "a"]}, (5,))[5]["q"] < ndcg(qrels, {"q": ["a", "z"]}, (5,))[5]["q"] == 1


@pytest.mark.parametrize(
    ("hits", "stars", "printed", "strict"),
    [
        (["a", "b", "c", "d", "e"], 4, 2 / 5, 2 / 3),  # three clauses of 4 stars: Eq. 2 divides by 3
        (["a", "c"], 5, 1 / 2, 1.0),  # two came back: the print divides by 2
        ([], 4, 0.0, 0.0),
        (["c", "e", "f", "d", "b", "a"], 5, 0.0, 0.0),  # rank six is too late
        (["a", "b", "g", "d", "c"], 3, 4 / 5, 1.0),
    ],
)
def test_star_precision(hits, stars, printed, strict):
    run = {"q": hits, "none": ["a"]}
    assert star_precision_printed(QRELS, run, stars)["q"] == pytest.approx(printed)
    assert star_precision_strict(QRELS, run, stars)["q"] == pytest.approx(strict)
    assert math.isnan(star_precision_printed(QRELS, run, stars)["none"])
    assert math.isnan(star_precision_strict(QRELS, run, stars)["none"])


@pytest.mark.parametrize(
    ("hits", "cutoff", "share"),
    [
        (["a", "c", "b", "d", "g"], 3, 2 / 4),
        (["a", "c", "b", "d", "g"], 5, 1.0),
        (["unjudged", "a"], 1, 0.0),
        ([], 5, 0.0),
    ],
)
def test_recall_is_the_share_of_documents_with_a_gain_that_came_back(hits, cutoff, share):
    assert recall(QRELS, {"q": hits}, cutoff)["q"] == pytest.approx(share)


def test_recall_of_a_query_without_such_a_document_is_not_defined():
    assert math.isnan(recall({"q": {"a": 0}}, {"q": ["a"]}, 5)["q"])


@pytest.mark.parametrize("function", [star_precision_printed, star_precision_strict])
def test_a_hit_that_is_not_judged_has_no_star(function):
    assert function(QRELS, {"q": ["x", "a"]}, 4)["q"] == function(QRELS, {"q": ["c", "a"]}, 4)["q"]


RUN = {"q": ["c", "a", "g"], "none": ["b"]}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("NDCG@5", ndcg(QRELS, RUN, (5,))[5]),
        ("NDCG@10", ndcg(QRELS, RUN, (10,))[10]),
        ("Recall@2", recall(QRELS, RUN, 2)),
        ("3-star precision@5", star_precision_printed(QRELS, RUN, 3, 5)),
        ("4-star precision@1", star_precision_printed(QRELS, RUN, 4, 1)),
    ],
)
def test_a_metric_is_found_by_its_name(name, values):
    found = by_name(name)(QRELS, RUN)
    assert found.keys() == values.keys()
    for query, value in values.items():
        assert found[query] == pytest.approx(value, nan_ok=True)


def test_only_star_precision_is_read_in_two_ways():
    assert strict_reading("NDCG@5") is strict_reading("Recall@5") is None
    found = strict_reading("4-star precision@2")
    assert found(QRELS, RUN) == pytest.approx(star_precision_strict(QRELS, RUN, 4, 2), nan_ok=True)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("NDCG", "metrics: the metric 'NDCG' has no cutoff; write it as NDCG@10."),
        ("NDCG@0", "metrics: the metric 'NDCG@0' has no cutoff; write it as NDCG@10."),
        ("NDCG@ten", "metrics: the metric 'NDCG@ten' has no cutoff; write it as NDCG@10."),
        ("MAP@5", "metrics: there is no metric 'MAP@5'; choose from NDCG@k, Recall@k and <n>-star"),
        ("0-star precision@5", "metrics: there is no metric '0-star precision@5'; choose from"),
    ],
)
def test_a_name_of_no_metric_is_answered_by_what_there_is(name, sentence):
    with pytest.raises(BadInput) as error:
        by_name(name)
    assert str(error.value).startswith(sentence)
