"""ACORD's official split: test queries share relevant clauses with training and validation queries."""

import pytest

from bench.measure_acord_split import by_other_queries, load, shared


@pytest.fixture(scope="module")
def data(release_results):
    return load(release_results / "data/acord")


def test_two_in_five_relevant_test_clauses_are_relevant_to_another_splits_query(data):
    assert shared(data) == (254, 620)


def test_the_judgements_of_other_queries_alone_rank_the_test_clauses(data):
    assert round(by_other_queries(data, "NDCG@5"), 2) == 0.40
