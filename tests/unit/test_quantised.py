"""Weights of integers are refused: of users' models, in mirrors, and as released."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers import planned_project, tiny_encoders
from helpers.loading_faults import loading_fault
from lextables.models import inspection, quantised
from lextables.pipeline.errors import BadInput
from lextables.tasks.job import Job
from lextables.tasks.spans.actions import release

NAME = "encoder.layer.0.output.dense.weight"
SENTENCE = f"its weights are quantised: {NAME} in model.safetensors has integers (I8)"


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


@pytest.fixture
def encoder(encoders, tmp_path):
    """Return a copy of a tiny encoder."""
    return Path(shutil.copytree(encoders["bert"], tmp_path / "mine"))


def change(folder, kind=torch.int8, names=(NAME,), **others):
    """Store tensors of a model as integers, and add ``others``."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name in names:
        tensors[name] = (tensors[name] * 1000).to(kind)
    save_file(tensors | others, path, metadata={"format": "pt"})


@pytest.mark.parametrize("kind", [torch.int8, torch.uint8, torch.int32])
def test_weights_of_integers_are_a_fault(encoder, kind):
    change(encoder, kind)
    fault = quantised.fault(encoder)
    assert fault is not None
    assert NAME in fault.what
    assert fault.do == "use the model before it was quantised"


def test_a_users_model_with_weights_of_integers_is_refused(encoder, monkeypatch):
    monkeypatch.setattr(inspection, "_loading_fault", lambda *_: None)
    change(encoder)
    with pytest.raises(BadInput) as error:
        inspection.check(encoder, "encoder", "Mine")
    assert str(error.value).startswith(f"config, extra_models, Mine: {SENTENCE}")


def test_loading_alone_does_not_find_weights_of_integers(encoder):
    before = loading_fault(str(encoder), "bi-encoder", 0)
    change(encoder)
    assert loading_fault(str(encoder), "bi-encoder", 0) == before


@pytest.mark.parametrize("family", tiny_encoders.CONFIGS)
def test_complete_models_have_no_weights_of_integers(encoders, family):
    assert quantised.fault(encoders[family]) is None


def test_integers_of_buffers_are_allowed(encoder):
    ids = torch.arange(64)[None]
    mask = torch.ones(4, 4, dtype=torch.uint8)
    change(encoder, names=(), **{"embeddings.position_ids": ids, "h.0.attn.bias": mask})
    assert quantised.fault(encoder) is None


def test_a_model_with_the_settings_of_its_quantisation_is_left_to_transformers(encoder):
    change(encoder)
    path = encoder / "config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps(settings | {"quantization_config": {"bits": 8}}))
    assert quantised.fault(encoder) is None


def test_a_quantised_copy_that_is_not_loaded_is_allowed(encoder):
    tensors = load_file(encoder / "model.safetensors")
    quantised_copy = tensors | {NAME: tensors[NAME].to(torch.int8)}
    save_file(quantised_copy, encoder / "model_int8.safetensors")
    assert quantised.fault(encoder) is None
    # Files of an index are all loaded.
    (encoder / "model.safetensors").rename(encoder / "model-1-of-2.safetensors")
    assert quantised.fault(encoder) is not None


@pytest.mark.parametrize("settings", ["null", "{}"])
def test_empty_settings_say_nothing_about_a_quantisation(encoder, settings):
    change(encoder)
    config = json.loads((encoder / "config.json").read_text())
    config["quantization_config"] = json.loads(settings)
    (encoder / "config.json").write_text(json.dumps(config))
    assert quantised.fault(encoder) is not None


@pytest.mark.parametrize(
    "content", [b"", b"short", b"\xff" * 40, b"\x02" + b"\0" * 7 + b"[]"]
)
def test_a_damaged_file_is_left_to_the_loading(encoder, content):
    (encoder / "model.safetensors").write_bytes(content)
    assert quantised.fault(encoder) is None


def test_a_mirror_with_a_quantised_model_stops_the_plan(encoder, tmp_path, monkeypatch):
    change(encoder)
    folder = tmp_path / "mirror/models/all-minilm-l6-v2"
    folder.parent.mkdir(parents=True)
    shutil.copytree(encoder, folder)
    with pytest.raises(BadInput) as error:
        planned_project.load_with_mirror(monkeypatch, tmp_path, tmp_path / "mirror")
    assert str(error.value).startswith(f"{folder}: {SENTENCE}")


def test_released_weights_of_integers_are_refused(encoder, tmp_path):
    change(encoder)
    archive = tmp_path / "theirs.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for file in encoder.iterdir():
            opened.write(file, f"theirs/{file.name}")
    provenance = {
        "source": "cuad_checkpoints",
        "file": "theirs.zip",
        "variant": "release",
        "comparable": True,
        "digest": "sha256:ab",
    }
    archive.with_name("theirs.zip.json").write_text(json.dumps(provenance))
    outputs = {"record": [str(tmp_path / "run.json")], "weights": [str(tmp_path / "w")]}
    with pytest.raises(BadInput, match="its weights are quantised"):
        release.run(Job({"archive": [str(archive)]}, outputs, {}))
