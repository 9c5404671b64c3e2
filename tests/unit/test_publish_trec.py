"""Export of a retrieval data set in the formats of TREC, BEIR, mteb and submitted
predictions.
"""

import csv
import itertools
import json
import subprocess
from collections import defaultdict
from itertools import pairwise

import ir_measures
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from ir_measures import P, nDCG

from helpers.published_rows import data_set, export, file_of, harness, run
from lextables.pipeline.dataset import Column, Table
from lextables.publish import trec
from lextables.tasks.retrieval import collection, submitted
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows
from lextables.tasks.retrieval.scoring import scores

TASK = {
    "task": "retrieval",
    "names": {
        "documents": "clauses",
        "document": "clause_id",
        "text": "text",
        "gain": "score",
    },
    "forms": ["short", "long"],
    "training": "train",
    "validation": "valid",
    "test": "test",
    "pool": "judged",
    "metrics": ["NDCG@5", "NDCG@10", "3-star precision@5"],
    "groups": [],
}
CLAUSES = Table(
    "clauses",
    "Clauses.",
    (Column("clause_id", pa.string(), "id"), Column("text", pa.string(), "text")),
    key=("clause_id",),
)
QUERIES = Table(
    "queries",
    "Queries.",
    tuple(
        Column(name, pa.string(), name)
        for name in ("query_id", "split", "short", "long")
    ),
    key=("query_id",),
)
JUDGEMENTS = Table(
    "judgements",
    "Judgements.",
    (
        Column("query_id", pa.string(), "query"),
        Column("clause_id", pa.string(), "clause"),
        Column("score", pa.int8(), "gain"),
    ),
    key=("query_id", "clause_id"),
)
DOCUMENTS = [f"d{number}" for number in range(12)]
IDS = {
    '"as-is" clause': "test",
    "cap\tof 50% or 50%25": "test",
    "old": "train",
    "tuned": "valid",
    "ünter": "test",
}
GAINS = defaultdict(dict)
for _query, _number in itertools.product(IDS, range(8)):
    GAINS[_query][f"d{_number}"] = _number * (len(GAINS) + 1) % 5
# Many ties, hits without a judgement, and an order that neither ids nor rounded scores
# give.
SCORES = (3.0, 3.0, 1 + 1e-12, 1.0, 1.0, 0.0, 0.0, 0.0, -1e-40)
HITS = {
    query: [*zip(order, SCORES[: len(order)], strict=True)]
    for query, order in {
        '"as-is" clause': ("d3", "d9", "d1", "d4", "d0", "d7", "d2", "d11", "d5"),
        "cap\tof 50% or 50%25": ("d6", "d5", "d4", "d3", "d2", "d1", "d0", "d7", "d8"),
        "ünter": ("d0", "d1", "d2"),
    }.items()
}


POOLS = ("judged", "all")
# Runs the exported program of each folder; a process for each would take twice the
# time.
MTEB = """import os, runpy, sys
folders, sys.argv[1:] = sys.argv[1:], ["results"]
for folder in folders:
    os.chdir(folder)
    runpy.run_path("mteb_task.py", run_name="__main__")
"""


def tables():
    return {
        CLAUSES: [
            {"clause_id": name, "text": f"Text of {name}."}
            for name in sorted(DOCUMENTS)
        ],
        QUERIES: [
            {
                "query_id": name,
                "split": split,
                "short": name,
                "long": f"{name}, at length",
            }
            for name, split in sorted(IDS.items())
        ],
        JUDGEMENTS: [
            {"query_id": query, "clause_id": document, "score": GAINS[query][document]}
            for query, document in itertools.product(sorted(GAINS), DOCUMENTS[:8])
        ],
    }


def written_with(pool, root):
    """Export a data set with this pool, and a run, to ``root``/out.

    Return the exported data set, its collection, the scores of the run, and the folder.
    """
    task = TASK | {"pool": pool}
    census = data_set(root, "quill", tables())
    rows = prediction_rows(HITS)
    data = collection.load(
        [census.parent / f"{name}.parquet" for name in collection.files(task)], task
    )
    scored = scores(rows, data)
    predicted = run(root, "quill", PREDICTIONS, rows, scored)
    (exported,) = export([census], [predicted], {"quill": task}).sets
    trec.write(exported, root / "out")
    return exported, data, scored, root / "out"


@pytest.fixture(params=POOLS)
def written(request, tmp_path):
    return written_with(request.param, tmp_path)


def by_query(scored, metric):
    return {
        trec.trec_id(row["group"].removeprefix("query: ")): row["value"]
        for row in scored
        if row["metric"] == metric and row["group"].startswith("query: ")
    }


def test_ir_measures_computes_the_same_scores(written):
    exported, _, scored, out = written
    qrels = [*ir_measures.read_trec_qrels(str(out / "trec/qrels.test.txt"))]
    ranked = [
        *ir_measures.read_trec_run(str(out / f"trec/{exported.runs[0].name}.run"))
    ]
    for measure, metric in (
        (nDCG @ 5, "NDCG@5"),
        (nDCG @ 10, "NDCG@10"),
        (P(rel=2) @ 5, "3-star precision@5"),
    ):
        ours = by_query(scored, metric)
        theirs = {
            x.query_id: x.value for x in ir_measures.iter_calc([measure], qrels, ranked)
        }
        if metric == "3-star precision@5":
            # The published definition divides by the number of hits (`ünter`: three),
            # trec_eval by five.
            theirs[trec.trec_id("ünter")] *= 5 / 3
        assert theirs == pytest.approx(ours, abs=1e-12)
    whole = ir_measures.calc_aggregate([nDCG @ 10], qrels, ranked)[nDCG @ 10]
    (ours,) = [
        row["value"]
        for row in scored
        if (row["metric"], row["group"]) == ("NDCG@10", "all")
    ]
    assert whole == pytest.approx(ours, abs=1e-12)


def test_a_submitted_run_gets_the_same_scores(written):
    exported, data, scored, out = written
    path = out / f"trec/{exported.runs[0].name}.run"
    files = [exported.table(name) for name in collection.files(exported.task)]
    submission = submitted.predictions(file_of(path), "trec", files, exported.task)
    assert scores(submission.rows, data) == scored


def test_ids_in_a_run_file_have_no_white_space(written):
    exported, _, _, out = written
    lines = (
        (out / f"trec/{exported.runs[0].name}.run")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert {len(line.split()) for line in lines} == {6}
    ranks = defaultdict(list)
    for line in lines:
        query, _, _, rank, score, _ = line.split()
        ranks[query].append((int(rank), float(score)))
    for of_query in ranks.values():
        assert [rank for rank, _ in of_query] == [*range(1, len(of_query) + 1)]
        assert all(first[1] > second[1] for first, second in pairwise(of_query))
    assert {line.split()[0] for line in lines} == {
        '"as-is"%20clause',
        "cap%09of%2050%25%20or%2050%2525",
        "ünter",
    }


def test_beir_can_read_the_exported_folder(written):
    _, data, _, out = written
    corpus = {
        row["_id"]: row["text"]
        for row in map(json.loads, (out / "beir/corpus.jsonl").open())
    }
    assert corpus == data.documents
    queries = {
        row["_id"]: row
        for row in map(json.loads, (out / "beir/queries.jsonl").open(encoding="utf-8"))
    }
    assert queries["ünter"]["text"] == "ünter"
    assert queries["old"]["metadata"] == {"split": "train", "long": "old, at length"}
    # Read in the same way as by BEIR's loader.
    with (out / "beir/qrels/test.tsv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
    assert header == ["query-id", "corpus-id", "score"]
    test = {query for query, split in IDS.items() if split == "test"}
    found = defaultdict(dict)
    for query, document, gain in rows:
        found[query][document] = int(gain)
    assert found == {query: GAINS[query] for query in test}
    frame = pd.read_csv(out / "beir/qrels/test.tsv", sep="\t")
    assert set(frame["query-id"]) == test
    assert {path.stem for path in (out / "beir/qrels").iterdir()} == {
        "train",
        "dev",
        "test",
    }


def test_equal_scores_are_lowered_to_the_next_single_precision_number():
    scores_ = [3.0, 3.0, 1 + 1e-12, 1.0, 0.0, 0.0, -1e-40, -1e-40]
    lowered = trec.strictly_falling(scores_)
    assert all(before > after for before, after in pairwise(lowered))
    assert np.allclose(lowered, scores_, atol=1e-6)
    # Written as text and read in single precision, as in trec_eval, the scores do not
    # change.
    assert [np.float32(str(score)) for score in lowered] == lowered


def test_mteb_computes_the_same_scores(tmp_path):
    exports = [written_with(pool, tmp_path / pool) for pool in POOLS]
    program = [harness("mteb"), "-c", MTEB, *[export[-1] for export in exports]]
    result = subprocess.run(program, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-3000:]
    for exported, _, scored, out in exports:
        (file,) = (out / "results/results").rglob("quill.json")
        assert exported.runs[0].name in file.parts[-3]
        (scores,) = json.loads(file.read_text(encoding="utf-8"))["scores"]["test"]
        (ours,) = [
            row["value"]
            for row in scored
            if (row["metric"], row["group"]) == ("NDCG@10", "all")
        ]
        assert scores["ndcg_at_10_unrounded"] == pytest.approx(ours, abs=1e-6)
        rounded = scores["ndcg_at_10"]
        assert scores["main_score"] == rounded == pytest.approx(ours, abs=5.1e-6)
