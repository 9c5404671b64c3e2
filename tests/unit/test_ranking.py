"""NDCG and k-star precision on hand-made rankings, in both readings."""

import math

import pytest

from lextables.metrics.ranking import ndcg, star_precision_printed, star_precision_strict

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
