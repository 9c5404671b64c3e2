"""Verdicts have power on the real queries: wrong rankings are off on Table D-3's metrics.

In most of these cases the published value lies in the sampling interval over the 57 queries, so that interval
decides no verdict.
"""

from pathlib import Path

import pytest

from acord_rows import METRICS, collected, judged, without_first_hits
from lextables.papers.packages import load
from lextables.tables.published import load as load_published
from lextables.tasks.retrieval.lexical import retrieve

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "resources/papers/acord.yaml")
PRINTED = [
    cell for cell in load_published(ROOT / "resources/published/acord.csv") if cell.table == "table_d3"
]
BM25 = "BM25 / None"


@pytest.fixture(scope="module")
def data(release_results):
    return release_results / "data/acord"


@pytest.fixture(scope="module")
def ranked(data):
    """{(k1, b): hits of BM25 with an index a query}."""
    collection, top = collected(data, PAPER), PAPER.tasks["acord"].top

    def hits(k1, b):
        settings = {"index": "query", "k1": k1, "b": b, "pool": "judged", "top": top, "queries": None}
        return retrieve(collection, {"short": settings})["short"]

    return {parameters: hits(*parameters) for parameters in ((0.9, 0.4), (3, 1))}


def verdicts(data, row, hits):
    printed = [cell for cell in PRINTED if cell.row == row and cell.column in METRICS]
    assert len(printed) == len(METRICS)
    return judged(data, PAPER, printed, row, hits)


def test_bm25_as_the_paper_has_it_matches(data, ranked):
    assert {line.verdict for line in verdicts(data, BM25, ranked[0.9, 0.4]).values()} == {"match"}


def test_bm25_without_its_first_hits_is_off(data, ranked):
    lines = verdicts(data, BM25, without_first_hits(ranked[0.9, 0.4]))
    assert [line.verdict for line in lines.values()] == ["off"] * 5
    assert all(float(line.low) <= float(line.published) <= float(line.high) for line in lines.values())


def test_bm25_with_other_parameters_is_off(data, ranked):
    lines = verdicts(data, BM25, ranked[3, 1])
    assert [line.verdict for line in lines.values()] == ["off"] * 5


@pytest.mark.parametrize(
    "row",
    ["Bi-Encoder-MiniLM / None", "OpenAI embeddings (small) / None", "BM25 / Cross-Encoder-MiniLM"],
)
def test_bm25_is_off_the_rows_of_other_systems(data, ranked, row):
    lines = verdicts(data, row, ranked[0.9, 0.4])
    assert [line.verdict for line in lines.values()] == ["off"] * 5
