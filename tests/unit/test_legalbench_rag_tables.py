"""LegalBench-RAG's tables: means over benchmarks, intervals over files, chance, and the planned rows."""

import math
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from lextables.metrics.intervals import jackknife_interval
from lextables.models.resolve import load_models
from lextables.papers import planning
from lextables.papers.legalbench_rag import tables
from lextables.papers.legalbench_rag.schema import DOCUMENTS, QUERIES
from lextables.papers.packages import load
from lextables.pipeline.config import load as load_config
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.tables.cells import build
from lextables.tables.inputs import Inputs
from lextables.tables.published import load as load_published
from lextables.tasks.plan import Context

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "resources/papers/legalbench_rag.yaml")
PRINTED = load_published(ROOT / "resources/published/legalbench_rag.csv")
MODELS = load_models(ROOT / "resources/models.yaml")
SYSTEM = {"averages": 1, "baseline": False, "lenient": False, "reason": "", "trained": False}
# Three files with one passage each, of 10, 10 and 20 characters; two queries are about file b.
ASKED = {"cuad-0001": "a", "maud-0001": "b", "maud-0002": "b", "maud-0003": "c"}
VALUES = dict(zip(ASKED, (0.8, 0.1, 0.3, 0.5), strict=True))


@pytest.fixture
def found(tmp_path):
    """The lines of a table by row and column; one system ran and the other did not."""
    data, run = tmp_path / "data", "runs/x"
    passages = [
        {"document_id": f"{at:03d}-0000000", "file": file, "start": 0, "end": end, "text": "x" * end}
        for at, (file, end) in enumerate((("a", 10), ("b", 10), ("c", 20)), 1)
    ]
    queries = [
        {
            "query_id": name, "text": "x", "benchmark": name.partition("-")[0], "file": file,
            "characters": 4, "split": "test",
        }
        for name, file in ASKED.items()
    ]  # fmt: skip
    scores = [
        {"metric": metric, "group": f"query: {name}", "value": value, "n": 1}
        for metric, _ in sorted(tables.columns())
        for name, value in VALUES.items()
    ]
    (tmp_path / run).mkdir(parents=True)
    data.mkdir()
    write(DOCUMENTS, passages, data / "documents.parquet")
    write(QUERIES, queries, data / "queries.parquet")
    write(SCORES, scores, tmp_path / run / "scores.parquet")
    rows = [
        SYSTEM | {"retriever": "BM25", "runs": {"text": [run]}},
        SYSTEM | {"retriever": "Absent", "runs": {}, "reason": "it is not here"},
    ]
    cells = tables.cells("table_naive", Inputs(data, tmp_path, rows, PRINTED, PAPER, "table_naive"))
    return {(line.row, line.column): line for line in build(PRINTED, cells, comparable=False)}


def test_the_overall_score_is_the_mean_of_the_benchmarks_means(found):
    shown = {name: found[f"BM25 / {name}", "Precision@8"].ours for name in ("all", "cuad", "maud")}
    assert shown == {"all": "55.00", "cuad": "80.00", "maud": "30.00"}  # (80 + (10 + 30 + 50) / 3) / 2


def test_intervals_are_computed_over_files(found):
    maud = found["BM25 / maud", "Recall@1"]
    low, high = jackknife_interval(30.0, np.array([50.0, 20.0]), (0, 100))  # without b, without c
    assert (maud.low, maud.high) == (f"{low:.2f}", f"{high:.2f}")
    assert (found["BM25 / cuad", "Recall@1"].low, found["BM25 / cuad", "Recall@1"].high) == ("", "")


def test_the_mean_is_nan_without_the_only_file_of_a_benchmark():
    queries = [tables.Query(name, name.partition("-")[0], file, 4) for name, file in ASKED.items()]
    assert tables.mean(queries, VALUES, without="b") == pytest.approx(fmean((0.8, 0.5)))
    assert math.isnan(tables.mean(queries, VALUES, without="a"))


def test_chance_finds_all_passages_with_equal_probability(found):
    row = {column: found["a random order, as expected / all", column].ours for _, column in tables.columns()}
    assert row["Recall@1"] == "33.33"
    assert row["Recall@2"] == "66.67"
    assert row["Recall@4"] == row["Recall@64"] == "100.00"
    assert {row[f"Precision@{cutoff}"] for cutoff in tables.CUTOFFS} == {"10.00"}  # 4 of 40 characters


def test_rows_that_did_not_run_have_a_reason_and_others_have_no_verdict(found):
    absent = found["Absent / maud", "Precision@1"]
    assert (absent.verdict, absent.reason) == ("not run", "it is not here")
    assert {line.verdict for line in found.values() if line.ours} == {""}
    assert len(found) == 3 * 3 * 2 * len(tables.CUTOFFS)


def test_all_rows_are_additional_rows():
    config = load_config({"papers": "legalbench_rag"}, ["legalbench_rag"], ROOT)
    plan = planning.plan(PAPER, Context(config, MODELS, ROOT, False))
    assert PRINTED == []
    for name, rows in plan.rows.items():
        assert rows, name
        assert all(row["additional"] for row in rows)
        retrievers = [row["retriever"] for row in rows if row["runs"]]
        assert retrievers[:2] == ["BM25", "all-MiniLM-L6-v2"]
    assert {run.experiment for run in plan.specs} == {"retrieve", "fuse"}
    assert {run.paper for run in plan.specs} == set(PAPER.data)
