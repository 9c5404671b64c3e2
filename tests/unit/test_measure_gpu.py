"""The GPU benchmark script, run on a processor with tiny sizes."""

import os

# These tests do not use the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import importlib.util
import json
from pathlib import Path

import pytest
import torch

CPU = torch.device("cpu")
SCRIPT = Path(__file__).parents[2] / "bench/measure_gpu.py"


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(SCRIPT.parent)
        return loaded()


def loaded():
    spec = importlib.util.spec_from_file_location("measure_gpu", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measured(script, tmp_path_factory):
    """{(stage, case): measurement} of all stages, for one architecture."""
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(script, "ARCHITECTURES", ("bert",))
        assert script.main([str(folder), "--device", "cpu", "--tiny"]) == 0
    report = json.loads((folder / "measured.json").read_text())
    assert {"torch", "transformers", "device"} <= report["about"].keys()
    return {(row["stage"], row["case"]): row for row in report["measured"]}


def test_stages_run_in_order(script, measured):
    assert [*dict.fromkeys(stage for stage, _ in measured)] == [*script.STAGES]


def test_correctness(measured):
    step = measured["correctness", "bert, one_step"]
    assert step["finite"]
    assert step["bf16_loss"] == pytest.approx(step["loss"], rel=0.02)
    # Zero would mean that both ran in single precision.
    assert 1e-5 < step["bf16_gradient_error"] < 0.1
    memory = measured["correctness", "bert, out_of_memory"]
    assert (memory["rows"], memory["halved_to"], memory["difference"]) == (8, 4, 0)
    resumed = measured["correctness", "bert, resumed"]
    assert (resumed["resumed_from"], resumed["difference"]) == (2, 0)


def test_speed(script, measured):
    rows = [
        measured["sweep", f"small, small, {parts} parts"]["rows_at_once"]
        for parts in (1, 2, 4, 8)
    ]
    assert rows == [8, 4, 2, 1]
    texts = script.trainer(
        script.classifier("bert", script.SMALL, 0.0), CPU, script.SMALL_WORK, 3
    ).train_dataset[8:]
    tokens = sum(len(text["input_ids"]) for text in texts)
    trained = [
        row for (stage, _), row in measured.items() if stage in ("sweep", "training")
    ]
    assert len(trained) == 8
    assert all(
        row["tokens"] == tokens and row["tokens_per_second"] > 0 for row in trained
    )


def test_other_cases_continue_after_an_error(script, tmp_path, monkeypatch):
    failing = {"first": lambda: 1 / 0, "second": lambda: {"tokens": 3}}
    monkeypatch.setattr(script, "cases", lambda *_: failing)
    assert script.main([str(tmp_path), "--stage", "sweep", "--device", "cpu"]) == 1
    first, second = json.loads((tmp_path / "measured.json").read_text())["measured"]
    assert first["failed"].startswith("ZeroDivisionError") and second["tokens"] == 3
