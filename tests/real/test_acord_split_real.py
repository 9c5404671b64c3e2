"""ACORD's official split: test queries share relevant clauses with training and validation queries."""

from pathlib import Path

import pytest

from bench.measure_acord_split import by_other_queries, load, shared
from lextables.papers import packages
from lextables.papers.acord.raw import read_release
from lextables.papers.acord.schema import TABLES
from lextables.pipeline.dataset import write_all

PAPER = packages.load(Path(__file__).parents[2] / "resources/papers/acord.yaml")


@pytest.fixture(scope="module")
def data(mirror, tmp_path_factory):
    folder = tmp_path_factory.mktemp("acord")
    file = mirror / PAPER.data["acord"].files["release"]
    write_all(TABLES["acord"], vars(read_release(file, PAPER.categories, PAPER.query_aliases)), folder)
    return load(folder)


def test_two_in_five_relevant_test_clauses_are_relevant_to_another_splits_query(data):
    assert shared(data) == (254, 620)


def test_the_judgements_of_other_queries_alone_rank_the_test_clauses(data):
    assert round(by_other_queries(data, "NDCG@5"), 2) == 0.40
