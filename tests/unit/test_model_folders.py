"""A model folder with a fault gets one sentence: what is wrong, and what to do."""

import json
import shutil
from pathlib import Path

import pytest

from lextables.models import folders

SAMPLE = Path(__file__).parents[2] / "resources/sample/models/sample-encoder"
WEIGHTS = "model.safetensors"
# Weights in two files, with an index of the tensors.
PART_1 = "model-00001-of-00002.safetensors"
PART_2 = "model-00002-of-00002.safetensors"
INDEX_FILE = "model.safetensors.index.json"
INDEX = {"weight_map": {"a": PART_1, "b": PART_2}}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
NO_FILE = None


def replace_files(folder, files):
    """Replace files of a folder; ``files`` is {name: bytes, JSON or `NO_FILE`}."""
    for name, content in files.items():
        path = folder / name
        path.unlink(missing_ok=True)
        if content is NO_FILE:
            continue
        path.parent.mkdir(exist_ok=True)
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        path.write_bytes(content)


def sentence(folder):
    """Return the sentence on a folder's fault; empty for a complete model."""
    fault = folders.fault(folder)
    return f"{fault.what}; {fault.do}" if fault else ""


ADAPTER = {"adapter_config.json": {"peft_type": "LORA"}, WEIGHTS: NO_FILE}


@pytest.mark.parametrize(
    # Replaced files of a complete model, and a part of the sentence.
    ("files", "expected"),
    [
        ({}, ""),
        (ADAPTER, "contains only an adapter; merge it into its model"),
        (ADAPTER | {"config.json": NO_FILE}, "contains only an adapter"),
        ({"adapter_config.json": b"["}, ""),
        (
            {"adapter_config.json": {}, "adapter_model.safetensors": b"x"},
            "contains a model and an adapter; merge it into its model",
        ),
        (
            {WEIGHTS: NO_FILE, INDEX_FILE: INDEX, PART_1: b"weights"},
            f"contains no weights ({PART_2})",
        ),
        ({INDEX_FILE: ["a"]}, f"{INDEX_FILE} is damaged; copy or fetch the file again"),
        ({INDEX_FILE: {"weight_map": 3}}, f"{INDEX_FILE} is damaged"),
        ({WEIGHTS: NO_FILE, "pytorch_model.bin": b"x"}, f"no weights ({WEIGHTS})"),
        ({WEIGHTS: NO_FILE, "onnx/model.onnx": b"x"}, "save them as safetensors"),
        ({WEIGHTS: b""}, f"{WEIGHTS} is empty; copy or fetch the file again"),
        ({WEIGHTS: POINTER}, "is a pointer of Git LFS; run git lfs pull there"),
        ({"tokenizer.json": POINTER}, "tokenizer.json is a pointer of Git LFS"),
        ({"tokenizer.json": NO_FILE}, "contains no tokenizer"),
        ({"1_Pooling/config.json": NO_FILE}, "1_Pooling' contains no config.json"),
        ({"config.json": NO_FILE}, "contains no config.json; name a folder saved by"),
    ],
)
def test_a_folder_with_a_fault_gets_one_sentence(tmp_path, files, expected):
    folder = shutil.copytree(SAMPLE, tmp_path / "mine")
    replace_files(folder, files)
    if not expected:
        assert sentence(folder) == ""
        return
    assert expected in sentence(folder)
    assert "\n" not in sentence(folder)
    assert sentence(folder).count("; ") == 1


def test_a_link_to_nothing_is_a_missing_file(tmp_path):
    for name in ("config.json", WEIGHTS, "tokenizer.json"):
        folder = shutil.copytree(SAMPLE, tmp_path / name)
        (folder / name).unlink()
        (folder / name).symlink_to(folder / "gone")
        assert "contains no " in sentence(folder)


@pytest.mark.parametrize("subfolder", ["checkpoint-500", f"snapshots/{'c' * 40}"])
def test_the_sentence_on_a_folder_around_a_model_names_the_models_folder(
    tmp_path, subfolder
):
    model = shutil.copytree(SAMPLE, tmp_path / subfolder)
    assert sentence(tmp_path).endswith(f"contains no config.json; name {str(model)!r}")
    assert sentence(model) == ""
    assert "does not exist" in sentence(tmp_path / "none")
