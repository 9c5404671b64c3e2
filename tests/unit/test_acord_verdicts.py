"""Verdicts have power: what is wrong with a ranking comes out off, though the sampling interval holds it."""

import random
from pathlib import Path

import pytest

from acord_rows import METRICS, judged, without_first_hits
from lextables.papers.acord.schema import CLAUSES, JUDGEMENTS, QUERIES
from lextables.papers.packages import load
from lextables.pipeline.dataset import write
from lextables.tables.published import PublishedCell

PAPER = load(Path(__file__).parents[2] / "resources/papers/acord.yaml")
ROW = "BM25 / None"


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """57 queries with 30 clauses each, and a noisy ranking of them."""
    folder, drawn = tmp_path_factory.mktemp("acord"), random.Random(0)
    queries, judgements, hits = [], [], {}
    clauses = [{"clause_id": f"c{n:02}", "text": "a clause", "words": 2} for n in range(30)]
    for number in range(1, 58):
        query = f"query {number:02}"
        queries.append(
            {
                "number": number, "query_id": query, "short": query, "medium": query, "long": query,
                "category": "Term", "split": "test", "origin": "cuad1",
            }
        )  # fmt: skip
        stars = {c["clause_id"]: drawn.choice([1] * 12 + [2, 2, 3, 3, 4, 5]) for c in clauses}
        stars["c00"], stars["c01"] = 5, 4
        judgements += [
            {"query_id": query, "clause_id": clause, "split": "test", "score": n - 1, "stars": n}
            for clause, n in sorted(stars.items())
        ]
        relevance = {clause: n + drawn.gauss(0, 4) for clause, n in stars.items()}
        hits[query] = sorted(relevance.items(), key=lambda hit: -hit[1])
    for table, rows in ((CLAUSES, clauses), (QUERIES, queries), (JUDGEMENTS, judgements)):
        write(table, rows, folder / f"{table.name}.parquet")
    return folder, hits


def printed(lines):
    """The row printed as these lines have it."""
    return [PublishedCell("table_d3", ROW, metric, lines[metric].reproduced, 3, "") for metric in METRICS]


def test_a_ranking_without_its_first_hits_is_off(collection):
    folder, hits = collection
    blank = [PublishedCell("table_d3", ROW, metric, "0.000", 3, "") for metric in METRICS]
    right = printed(judged(folder, PAPER, blank, ROW, hits))
    assert {line.verdict for line in judged(folder, PAPER, right, ROW, hits).values()} == {"match"}
    for line in judged(folder, PAPER, right, ROW, without_first_hits(hits)).values():
        assert line.verdict == "off"
        difference = float(line.reproduced) - float(line.published)
        assert line.difference == f"{difference:+.3f}"
    held = [
        line
        for line in judged(folder, PAPER, right, ROW, without_first_hits(hits)).values()
        if float(line.low) <= float(line.published) <= float(line.high)
    ]
    assert held  # what an interval over queries would have called near
