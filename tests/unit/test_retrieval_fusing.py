"""A first stage of several: standardised scores and their mean, by hand."""

import pytest

from lextables.tasks.retrieval.lexical import fuse


def test_the_mean_of_standardised_scores():
    # Over a, b, c the first has mean 4 and deviation sqrt(8/3), the second mean 1 and sqrt(2/3) likewise.
    systems = [{"q": {"a": 6.0, "b": 4.0, "c": 2.0}}, {"q": {"a": 0.0, "b": 2.0, "c": 1.0}}]
    step = 1.5**0.5
    (hits,) = fuse(systems, (1, 1), 10).values()
    assert [document for document, _ in hits] == ["b", "a", "c"]
    assert [score for _, score in hits] == pytest.approx([step / 2, 0, -step / 2])
    scaled = [systems[0], {"q": {name: 100 * score - 7 for name, score in systems[1]["q"].items()}}]
    assert fuse(scaled, (1, 1), 10)["q"] == [(name, pytest.approx(score)) for name, score in hits]


def test_systems_count_by_their_weights():
    systems = [{"q": {"a": 1.0, "b": -1.0}}, {"q": {"a": -5.0, "b": 5.0}}]
    assert fuse(systems, (1, 2), 10) == {"q": [("b", pytest.approx(1 / 3)), ("a", pytest.approx(-1 / 3))]}
    assert fuse(systems, (3, 1), 10) == {"q": [("a", pytest.approx(1 / 2)), ("b", pytest.approx(-1 / 2))]}


def test_what_a_system_did_not_return_has_its_lowest_score():
    lists = [{"q": {"a": 3.0, "b": 1.0}}, {"q": {"c": 0.9, "a": 0.5}}]
    filled = [{"q": {"a": 3.0, "b": 1.0, "c": 1.0}}, {"q": {"c": 0.9, "a": 0.5, "b": 0.5}}]
    assert fuse(lists, (1, 1), 10) == fuse(filled, (1, 1), 10)


def test_ties_go_by_id_and_no_more_than_the_top_are_kept():
    systems = [{"q": {"b": 1.0, "a": 1.0, "c": 0.0}}, {"q": {"a": 5.0, "b": 5.0, "c": 5.0}}]
    assert [document for document, _ in fuse(systems, (1, 1), 2)["q"]] == ["a", "b"]


def test_a_query_that_one_system_alone_answers_is_ranked_by_it():
    assert [document for document, _ in fuse([{"q": {"a": 1.0, "b": 2.0}}, {}], (1, 1), 5)["q"]] == ["b", "a"]
