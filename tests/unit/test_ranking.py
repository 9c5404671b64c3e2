"""NDCG, recall and k-star precision on small rankings, with the published and the
strict definition.
"""

import math

import pytest

from lextables.metrics.ranking import by_name, strict_reading
from lextables.pipeline.errors import BadInput

QRELS = {
    "q": {"a": 4, "b": 3, "c": 0, "d": 2, "e": 0, "f": 0, "g": 3},
    "none": {"a": 0, "b": 1},
}


def test_ndcg_equals_a_value_computed_by_hand():
    run = {"q": ["c", "a", "g"], "none": []}
    dcg = 4 / math.log2(3) + 3 / math.log2(4)
    ideal = 4 + 3 / math.log2(3) + 3 / math.log2(4) + 2 / math.log2(5)
    assert by_name("NDCG@5")(QRELS, run)["q"] == pytest.approx(dcg / ideal)
    assert by_name("NDCG@10")(QRELS, run)["none"] == 0.0


def test_ndcg_uses_the_order_of_the_hits_and_not_their_ids():
    first, second = (
        by_name("NDCG@5")({"q": {"a": 1, "z": 0}}, {"q": hits})["q"]
        for hits in ("za", "az")
    )
    assert first < second == 1


@pytest.mark.parametrize(
    ("hits", "stars", "printed", "strict"),
    [
        (
            ["a", "b", "c", "d", "e"],
            4,
            2 / 5,
            2 / 3,
        ),  # three clauses have 4 stars: Eq. 2 divides by 3
        (["a", "c"], 5, 1 / 2, 1.0),  # two hits: the published definition divides by 2
        ([], 4, 0.0, 0.0),
        (["c", "e", "f", "d", "b", "a"], 5, 0.0, 0.0),  # rank six is below the cutoff
        (["a", "b", "g", "d", "c"], 3, 4 / 5, 1.0),
        (["x", "a"], 4, 1 / 2, 1 / 3),  # a hit without a judgement has no stars
    ],
)
def test_star_precision_has_a_published_and_a_strict_definition(
    hits, stars, printed, strict
):
    name = f"{stars}-star precision@5"
    for function, value in ((by_name(name), printed), (strict_reading(name), strict)):
        found = function(QRELS, {"q": hits, "none": ["a"]})
        assert found["q"] == pytest.approx(value) and math.isnan(found["none"])
    assert strict_reading("NDCG@5") is strict_reading("Recall@5") is None


@pytest.mark.parametrize(
    ("hits", "cutoff", "share"),
    [
        (["a", "c", "b", "d", "g"], 3, 2 / 4),
        (["a", "c", "b", "d", "g"], 5, 1.0),
        (["unjudged", "a"], 1, 0.0),
        ([], 5, 0.0),
    ],
)
def test_recall_is_the_share_of_relevant_documents_that_are_returned(
    hits, cutoff, share
):
    found = by_name(f"Recall@{cutoff}")(
        QRELS | {"empty": {"a": 0}}, {"q": hits, "empty": ["a"]}
    )
    assert found["q"] == pytest.approx(share) and math.isnan(found["empty"])


def test_the_lowest_positive_gain_is_relevant():
    assert by_name("Recall@1")({"q": {"a": 1, "b": 0}}, {"q": ["a"]}) == {"q": 1}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("NDCG", "metrics: the metric 'NDCG' has no cutoff; write it as NDCG@10."),
        ("NDCG@0", "metrics: the metric 'NDCG@0' has no cutoff; write it as NDCG@10."),
        (
            "NDCG@ten",
            "metrics: the metric 'NDCG@ten' has no cutoff; write it as NDCG@10.",
        ),
        (
            "MAP@5",
            "metrics: there is no metric 'MAP@5'; choose from NDCG@k, Recall@k and <n>-star",
        ),
        (
            "0-star precision@5",
            "metrics: there is no metric '0-star precision@5'; choose from",
        ),
    ],
)
def test_an_invalid_metric_name_raises_with_the_valid_forms(name, sentence):
    with pytest.raises(BadInput) as error:
        by_name(name)
    assert str(error.value).startswith(sentence)
