"""Fusion of the hits of several systems, and feedback by the first hits."""

import numpy as np
import pytest

from helpers.retrieval_hits import documents, names
from helpers.small_collection import COLLECTION, DOCUMENTS
from lextables.tasks.retrieval.rankers.feedback import (
    FeedbackSettings,
    fuse_with_feedback,
)
from lextables.tasks.retrieval.rankers.fusion import fuse
from lextables.tasks.retrieval.ranking import Encoders, Ranking


def test_fusion_computes_the_mean_of_standardised_scores():
    # Over a, b, c: the first has mean 4 and standard deviation sqrt(8/3), the second
    # mean 1 and sqrt(2/3).
    systems = [
        {"q": {"a": 6.0, "b": 4.0, "c": 2.0}},
        {"q": {"a": 0.0, "b": 2.0, "c": 1.0}},
    ]
    step = 1.5**0.5
    wanted = {"b": step / 2, "a": 0, "c": -step / 2}
    scaled = {name: 100 * score - 7 for name, score in systems[1]["q"].items()}
    for second in (systems[1], {"q": scaled}):
        hits = fuse([systems[0], second], (1, 1), 10)["q"]
        assert names(hits) == list(wanted)
        assert dict(hits) == pytest.approx(wanted)


def test_systems_are_weighted_by_their_shares():
    systems = [{"q": {"a": 1.0, "b": -1.0}}, {"q": {"a": -5.0, "b": 5.0}}]
    for shares, score in (((1, 2), -1 / 3), ((3, 1), 1 / 2)):
        hits = fuse(systems, shares, 10)["q"]
        assert dict(hits) == pytest.approx({"a": score, "b": -score})
        assert hits == sorted(hits, key=lambda hit: -hit[1])


def test_documents_that_are_not_returned_get_the_lowest_score():
    lists = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"c": 0.9, "a": 0.5}}]
    filled = [
        {"q": {"a": 3.0, "b": 1.0, "c": 1.0}},
        {"q": {"c": 0.9, "a": 0.5, "b": 0.5}},
    ]
    assert fuse(lists, (1, 1), 10) == fuse(filled, (1, 1), 10)


def test_ties_are_sorted_by_id_and_only_the_top_hits_are_kept():
    systems = [
        {"q": {"b": 1.0, "a": 1.0, "c": 0.0}},
        {"q": {"a": 5.0, "b": 5.0, "c": 5.0}},
    ]
    assert names(fuse(systems, (1, 1), 2)["q"]) == ["a", "b"]


def test_a_query_with_hits_of_only_one_system_is_ranked_by_it():
    systems = [{"q": {"a": 1.0, "b": 2.0}}, {}]
    assert names(fuse(systems, (1, 1), 5)["q"]) == ["b", "a"]


def test_feedback_prefers_documents_similar_to_the_first_hits():
    vectors = {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0.6, 0, 0.8), "d": (0, 0.6, 0.8)}
    of_text = {DOCUMENTS[name]: vector for name, vector in vectors.items()}
    query = np.array([[0.6, 0.8, 0]], dtype=np.float32)
    systems = [
        {"cap": {"b": 3.0, "a": 1.0}},
        {"cap": {"b": 0.8, "a": 0.6, "d": 0.48, "c": 0.36}},
    ]
    settings = {"form": "short", "feedback": 2, "shares": (1, 2), "top": 3}
    ranking = Ranking(COLLECTION, {})

    def moved(weights):
        """The fused ranking if feedback adds a, b, c and d to the query vector with
        these weights.
        """
        added = np.average(list(vectors.values()), axis=0, weights=weights)
        vector = query[0] + 2 * added
        similarities = {
            name: round(float(vector @ of), 6) for name, of in vectors.items()
        }
        return fuse([systems[0], {"cap": similarities}], (1, 2), 3)["cap"]

    def found(**changes):
        asked = []
        encoders = Encoders(
            lambda texts: np.array([of_text[text] for text in texts], dtype=np.float32),
            lambda texts: asked.extend(texts) or query,
        )
        run = FeedbackSettings(**settings | changes)
        hits = fuse_with_feedback(ranking, run, systems, encoders)
        assert asked == ["cap on liability"]
        return [(name, pytest.approx(score)) for name, score in hits["cap"]]

    assert documents(fuse(systems, (1, 2), 3)) == {"cap": ["b", "a", "d"]}
    assert moved([1, 2, 0, 0]) == found()
    assert moved([0, 1, 0, 0]) == found(feedback=1)
    assert names(moved([0, 1, 0, 0])) == ["b", "d", "a"]
    # More than the four hits: b, a, d, c.
    assert moved([6, 12, 3, 4]) == found(feedback=9)
