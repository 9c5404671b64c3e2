"""One sentence for each folder that is no complete model."""

import json
import shutil
from pathlib import Path

import pytest

from lextables.models import folders

SAMPLE = Path(__file__).parents[2] / "resources/sample/models/sample-encoder"
PARTS = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
INDEX = {"weight_map": dict(zip("ab", PARTS, strict=True))}
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"
WEIGHTS, SHARDS = "model.safetensors", "model.safetensors.index.json"
NOTHING = None  # in place of a file


def change(folder, files):
    """Replace files, {name: bytes, JSON or `NOTHING`}."""
    for name, content in files.items():
        (folder / name).unlink(missing_ok=True)
        if content is not NOTHING:
            (folder / name).parent.mkdir(exist_ok=True)
            if not isinstance(content, bytes):
                content = json.dumps(content).encode()
            (folder / name).write_bytes(content)


def sentence(folder):
    found = folders.fault(folder)
    return f"{found.what}; {found.do}" if found else ""


ADAPTER = {"adapter_config.json": {"peft_type": "LORA"}, WEIGHTS: NOTHING}


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, ""),
        (ADAPTER, "contains only an adapter; merge it into its model"),
        (ADAPTER | {"config.json": NOTHING}, "contains only an adapter"),
        ({"adapter_config.json": b"["}, ""),
        (
            {WEIGHTS: NOTHING, SHARDS: INDEX, PARTS[0]: b"weights"},
            f"contains no weights ({PARTS[1]})",
        ),
        ({SHARDS: ["a"]}, f"{SHARDS} is damaged; copy or fetch the file again"),
        ({SHARDS: {"weight_map": 3}}, f"{SHARDS} is damaged"),
        ({WEIGHTS: NOTHING, "pytorch_model.bin": b"x"}, f"no weights ({WEIGHTS})"),
        ({WEIGHTS: NOTHING, "onnx/model.onnx": b"x"}, "save them as safetensors"),
        ({WEIGHTS: b""}, f"{WEIGHTS} is empty; copy or fetch the file again"),
        ({WEIGHTS: POINTER}, "is a pointer of Git LFS; run git lfs pull there"),
        ({"tokenizer.json": POINTER}, "tokenizer.json is a pointer of Git LFS"),
        ({"tokenizer.json": NOTHING}, "contains no tokenizer"),
        ({"1_Pooling/config.json": NOTHING}, "1_Pooling' contains no config.json"),
        ({"config.json": NOTHING}, "contains no config.json; name a folder saved by"),
    ],
)
def test_each_incomplete_folder_has_its_sentence(tmp_path, files, says):
    folder = shutil.copytree(SAMPLE, tmp_path / "mine")
    change(folder, files)
    found = sentence(folder)
    assert says in found and bool(says) == bool(found)
    assert "\n" not in found and found.count("; ") == bool(found)


def test_a_link_to_nothing_is_a_missing_file(tmp_path):
    for name in ("config.json", WEIGHTS, "tokenizer.json"):
        folder = shutil.copytree(SAMPLE, tmp_path / name)
        (folder / name).unlink()
        (folder / name).symlink_to(folder / "gone")
        assert "contains no " in sentence(folder)


@pytest.mark.parametrize("inside", ["checkpoint-500", f"snapshots/{'c' * 40}"])
def test_a_folder_around_a_model_names_the_models_folder(tmp_path, inside):
    model = shutil.copytree(SAMPLE, tmp_path / inside)
    assert sentence(tmp_path).endswith(f"contains no config.json; name {str(model)!r}")
    assert sentence(model) == ""
    assert "does not exist" in sentence(tmp_path / "none")
