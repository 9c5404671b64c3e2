"""The GPU benchmark script, run on a CPU to find errors before GPU time is used."""

import os

# These tests do not use the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModel

import marked_contracts

SCRIPT = Path(__file__).parents[2] / "bench/measure_gpu.py"
CLAUSES = {"c1": "w1 w2 w3", "c2": "w4 w5 w6 w7 w8 w9", "c3": "w3"}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("measure_gpu", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def carried(script, tmp_path_factory):
    """The folder with packed small data sets and a tiny encoder."""
    root = tmp_path_factory.mktemp("results")
    splits = {"c1": "train", "c2": "train", "c3": "train", "c4": "test"}
    marked_contracts.data_set(root / "data/cuad", splits, 0)
    for table, rows in tables().items():
        path = root / f"data/{table}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), path)
    encoder = marked_contracts.save_encoder(root / "encoder")
    assert script.main(["pack", str(root), encoder, str(root / "carried"), "--contracts", "2"]) == 0
    return root / "carried"


def tables():
    texts = {f"t{number}": " ".join(f"w{at % 30}" for at in range(3 + 5 * number)) for number in range(6)}
    return {
        "maud/texts": [{"text_id": text_id, "text": text} for text_id, text in texts.items()],
        "maud/questions": [{"head_id": head, "answers": ["no", "yes"]} for head in ("1", "2")],
        "maud/examples": [
            {
                "example_id": f"{head}/{text_id}",
                **{"head_id": head, "text_id": text_id, "label": int(text_id in ("t1", "t4"))},
                "split": "dev" if text_id > "t3" else "train",
            }
            for head in ("1", "2")
            for text_id in texts
        ],
        "acord/clauses": [{"clause_id": name, "text": text} for name, text in CLAUSES.items()],
        "acord/queries": [
            {"query_id": name, "short": f"which {name}", "medium": "", "long": "", "split": split}
            for name, split in {"term": "train", "party": "test"}.items()
        ],
        "acord/judgements": [
            {"query_id": query, "clause_id": clause, "split": "", "score": score}
            for query in ("term", "party")
            for clause, score in zip(CLAUSES, (4, 0, 2), strict=True)
        ],
    }


def test_only_training_data_is_packed(carried):
    contracts = pq.read_table(carried / "cuad/contracts.parquet").to_pydict()
    assert contracts["contract_id"] == ["c1", "c2"]
    for name in ("questions", "training_examples"):
        assert {*pq.read_table(carried / f"cuad/{name}.parquet")["contract_id"].to_pylist()} == {"c1", "c2"}
    assert pq.read_table(carried / "acord/pairs.parquet").to_pylist() == [
        {"query": "which term", "clause": clause, "target": target}
        for clause, target in zip(CLAUSES.values(), (1.0, 0.0, 0.5), strict=True)
    ]
    assert AutoModel.from_pretrained(carried / "weights", dtype="auto").dtype == torch.float16


def test_every_case_is_measured_even_if_another_case_fails(script, carried, tmp_path, monkeypatch, capsys):
    first, *_, unpadded, _, halved = script.cases()
    assert unpadded.name == "+ unpadding"
    cases = [
        replace(unpadded, parts=halved.parts),
        replace(first, name="fails", compiled=True, compiler="nothing"),
    ]
    # Worker processes of the data loaders take seconds to start.
    monkeypatch.setattr(script, "cases", lambda: [replace(case, workers=0) for case in cases])
    options = ["--device", "cpu", "--steps", "1", "--warm", "1", "--seconds", "60"]
    assert script.main(["measure", str(carried), str(tmp_path), *options]) == 1
    about = json.loads((tmp_path / "measured.json").read_text())
    rows = {(row["work"], row["case"]): row for row in about["measured"]}
    for work in ("CUAD", "MAUD", "ACORD"):
        assert rows[work, "fails"]["failed"].startswith("InvalidBackend: ")
        for case in cases[:-1]:
            row = rows[work, case.name]
            assert "failed" not in row, row
            assert row["updates"] == 1
            assert row["tokens_per_second"] > 0
            assert row["said"].startswith("unpadded") == case.unpadded
    read = [row for (work, _), row in rows.items() if work == "MAUD, reading"]
    assert [row["batches"] for row in read] == [1, 1, 1]
    assert capsys.readouterr().out.endswith((tmp_path / "measured.md").read_text() + "\n")
