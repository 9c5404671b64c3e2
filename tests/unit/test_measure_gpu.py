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
    """The module of the script."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(SCRIPT.parent)
        spec = importlib.util.spec_from_file_location("measure_gpu", SCRIPT)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


@pytest.fixture(scope="module")
def measurements(script, tmp_path_factory):
    """{(stage, case): measurement} of all stages, for one architecture."""
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(script, "ARCHITECTURES", ("bert",))
        assert script.main([str(folder), "--device", "cpu", "--tiny"]) == 0
    report = json.loads((folder / "measured.json").read_text())
    assert {"torch", "transformers", "device"} <= report["about"].keys()
    return {(row["stage"], row["case"]): row for row in report["measured"]}


def test_stages_run_in_order(script, measurements):
    stages = dict.fromkeys(stage for stage, _ in measurements)
    assert list(stages) == list(script.STAGES)


def test_a_step_in_bfloat16_differs_a_little_from_one_in_single_precision(measurements):
    step = measurements["correctness", "bert, one_step"]
    assert step["finite"]
    assert step["bf16_loss"] == pytest.approx(step["loss"], rel=0.02)
    # Zero would mean that both ran in single precision.
    assert 1e-5 < step["bf16_gradient_error"] < 0.1


def test_a_training_without_memory_goes_on_with_half_the_rows(measurements):
    memory = measurements["correctness", "bert, out_of_memory"]
    assert memory["rows"] == 8
    assert memory["halved_to"] == 4
    assert memory["difference"] == 0


def test_a_resumed_training_has_the_weights_of_an_uninterrupted_one(measurements):
    resumed = measurements["correctness", "bert, resumed"]
    assert resumed["resumed_from"] == 2
    assert resumed["difference"] == 0


def test_a_batch_in_parts_has_as_many_rows_at_once_as_a_part(measurements):
    rows = []
    for parts in (1, 2, 4, 8):
        measurement = measurements["sweep", f"small, small, {parts} parts"]
        rows.append(measurement["rows_at_once"])
    assert rows == [8, 4, 2, 1]


def test_the_speed_is_that_of_the_texts_after_the_first_update(script, measurements):
    model = script.classifier("bert", script.SMALL, 0.0)
    texts = script.trainer(model, CPU, script.SMALL_WORK, 3).train_dataset[8:]
    tokens = sum(len(text["input_ids"]) for text in texts)
    count = 0
    for (stage, _), measurement in measurements.items():
        if stage in ("sweep", "training"):
            count += 1
            assert measurement["tokens"] == tokens
            assert measurement["tokens_per_second"] > 0
    assert count == 8


def test_other_cases_continue_after_an_error(script, tmp_path, monkeypatch):
    failing = {"first": lambda: 1 / 0, "second": lambda: {"tokens": 3}}
    monkeypatch.setattr(script, "cases", lambda *_: failing)
    assert script.main([str(tmp_path), "--stage", "sweep", "--device", "cpu"]) == 1
    first, second = json.loads((tmp_path / "measured.json").read_text())["measured"]
    assert first["failed"].startswith("ZeroDivisionError")
    assert second["tokens"] == 3
