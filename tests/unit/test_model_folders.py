"""One sentence for each folder that is no complete model."""

import json
import shutil
from pathlib import Path

import pytest

from lextables.models import folders

SAMPLE = Path(__file__).parents[2] / "resources/sample/models/sample-encoder"
COMMIT = "c" * 40
INDEX = {
    "weight_map": {
        "a": "model-00001-of-00002.safetensors",
        "b": "model-00002-of-00002.safetensors",
    }
}


@pytest.fixture
def folder(tmp_path):
    """A copy of a complete sentence encoder."""
    return shutil.copytree(SAMPLE, tmp_path / "mine")


def sentence(folder):
    found = folders.fault(folder)
    return f"{found.what}; {found.do}" if found else ""


def write(name, content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()

    def change(folder):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)

    return change


def drop(*names):
    def change(folder):
        for name in names:
            (folder / name).unlink()

    return change


def link(folder):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(folder / "blobs" / "gone")


def adapter(folder, kind="LORA", **about):
    """Leave only an adapter with its tokenizer."""
    drop("config.json", "model.safetensors", "modules.json")(folder)
    write("adapter_model.safetensors", b"weights")(folder)
    write(
        "adapter_config.json",
        {"peft_type": kind, "base_model_name_or_path": "org/base"} | about,
    )(folder)


def moved(name, top="."):
    """Move the model into a folder below; ``top`` is added beside it."""

    def change(folder):
        files = [*folder.iterdir()]
        (folder / name).mkdir(parents=True)
        (folder / top).mkdir(exist_ok=True)
        for file in files:
            file.rename(folder / name / file.name)

    return change


def other_format(name):
    def change(folder):
        drop("model.safetensors")(folder)
        write(name, b"weights")(folder)

    return change


def some_parts(folder):
    drop("model.safetensors")(folder)
    write("model.safetensors.index.json", INDEX)(folder)
    write("model-00001-of-00002.safetensors", b"weights")(folder)


MERGE = "merge it into that model first (merge_and_unload of the package peft) and name the merged folder"
CONVERT = "convert them to model.safetensors"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda folder: None, ""),
        (adapter, f"contains only an adapter (LORA) of the model org/base; {MERGE}"),
        (
            lambda folder: adapter(folder, "IA3"),
            "contains only an adapter (IA3) of the model org/base;",
        ),
        (
            lambda folder: adapter(folder, "P_TUNING"),
            "since such an adapter cannot be merged",
        ),
        (
            lambda folder: adapter(folder, base_model_name_or_path=None),
            "of the model (not named in",
        ),
        (
            lambda folder: (
                adapter(folder),
                write("config.json", {"model_type": "bert"})(folder),
            ),
            "only an adapter (LORA)",
        ),
        (
            moved(f"snapshots/{COMMIT}", "blobs"),
            "is a folder of the hub's cache, since it contains no",
        ),
        (
            moved("checkpoint-500"),
            "mine' is no model's folder, since it contains no config.json; name '",
        ),
        (moved("checkpoint-500"), "mine/checkpoint-500'"),
        (
            lambda folder: (
                [
                    shutil.copytree(SAMPLE, folder / f"checkpoint-{at}")
                    for at in range(4)
                ]
                + [drop("config.json", "modules.json")(folder)]
            ),
            "checkpoint-0' or '",
        ),
        (
            some_parts,
            "no weights (model-00002-of-00002.safetensors), which model.safetensors.index",
        ),
        (
            other_format("pytorch_model.bin"),
            f"only as a pickle (pytorch_model.bin); {CONVERT}",
        ),
        (
            other_format("pytorch_model-00001-of-00002.bin"),
            "only as a pickle (pytorch_model.bin)",
        ),
        (other_format("consolidated.00.pth"), "only as a pickle (.pth)"),
        (other_format("tf_model.h5"), "only as TensorFlow's (tf_model.h5)"),
        (other_format("model.ckpt.index"), "only as a checkpoint (.ckpt)"),
        (other_format("flax_model.msgpack"), "only as Flax's (flax_model.msgpack)"),
        (other_format("model.onnx"), "only as ONNX"),
        (other_format("onnx/model.onnx"), "only as ONNX"),
        (other_format("openvino/openvino_model.xml"), "only as OpenVINO's"),
        (other_format("model-q4.gguf"), "only as GGUF"),
        (drop("model.safetensors"), "contains no weights (model.safetensors)"),
        (
            write("model.safetensors", b""),
            "is no complete safetensors file (it is empty)",
        ),
        (link, "model.safetensors is a link to a file that does not exist"),
        (
            write(
                "model.safetensors",
                b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            ),
            "is a pointer of Git LFS in place of the file; run git lfs pull there",
        ),
        (
            write(
                "tokenizer.json",
                b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            ),
            "tokenizer.json is a pointer of Git LFS",
        ),
        (drop("tokenizer.json"), "contains no tokenizer"),
        (drop("1_Pooling/config.json"), "1_Pooling' contains no config.json"),
        (drop("config.json"), "contains no config.json"),
        (write("adapter_config.json", b"["), ""),
        (write("model.safetensors.index.json", ["a"]), ""),
    ],
)
def test_each_incomplete_folder_has_its_sentence(folder, change, says):
    change(folder)
    found = sentence(folder)
    assert says in found and bool(says) == bool(found)
    assert "\n" not in found and found.count("; ") == bool(found)


def test_a_folder_of_the_hubs_cache_names_the_snapshot(tmp_path):
    root = tmp_path / "models--org--enc"
    for name in ("blobs", "refs", "snapshots"):
        (root / name).mkdir(parents=True)
    for place in (root, root / "snapshots", root / "blobs"):
        assert (
            "of the hub's cache has no model in snapshots/<commit>; fetch the model again"
            in sentence(place)
        )
    snapshot = shutil.copytree(SAMPLE, root / "snapshots" / COMMIT)
    for place in (root, root / "snapshots", root / "blobs", root / "refs"):
        assert sentence(place).endswith(
            f"contains no config.json; name {str(snapshot)!r}"
        )
    assert sentence(snapshot) == ""
