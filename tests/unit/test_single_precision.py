"""Weights in half precision are loaded and trained in single precision."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertForSequenceClassification, TrainingArguments

from helpers.model_copies import (
    FINETUNED,
    copy_with_tensors,
    loaders,
    save_models,
    trained,
)
from helpers.optimisers import LINEAR
from lextables.models.checkpoints import arguments
from lextables.models.in_parts import InParts
from lextables.models.settings import Optimiser

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folders of `save_models`."""
    return save_models(tmp_path_factory.mktemp("models"))


def copy_in_precision(folder, target, dtype):
    """Copy a model to ``target`` in the precision ``dtype``, which its configuration
    names too; return ``target``.
    """
    copy_with_tensors(Path(folder), target, lambda _, values: values.to(dtype))
    config = json.loads((target / "config.json").read_text())
    config["dtype"] = str(dtype).removeprefix("torch.")
    (target / "config.json").write_text(json.dumps(config))
    return target


@pytest.mark.parametrize(
    ("kind", "dtype"), list(product(FINETUNED, [torch.float16, torch.bfloat16]))
)
def test_weights_are_trained_in_single_precision(folders, tmp_path, kind, dtype):
    name = "bert" if kind == "bi-encoder" else "classifier"
    folder = Path(folders[name])
    # Two files with the same numbers: one in half precision, the other in single.
    half = copy_in_precision(folder, tmp_path / "half", dtype)
    single = copy_with_tensors(
        half, tmp_path / "single", lambda _, values: values.float()
    )
    trained_from_half = trained(kind, str(half), tmp_path / "work of half")
    trained_from_single = trained(kind, single, tmp_path / "work of single")
    for name, values in trained_from_half.items():
        assert values.dtype == torch.float32
        assert torch.equal(values, trained_from_single[name])
    assert trained_from_half.keys() == trained_from_single.keys()
    # In half precision most of these small updates would be lost.
    before = load_file(half / "model.safetensors")
    changed_shares = []
    for name, values in before.items():
        # Words that no text has keep their vectors, and the pooler is not trained.
        if "word_embeddings" in name or "pooler" in name:
            continue
        # In the trained model a name may have a prefix.
        after = [
            tensor for full, tensor in trained_from_half.items() if full.endswith(name)
        ]
        if after:
            changed_shares.append((after[0] != values.float()).float().mean().item())
    assert np.median(changed_shares) > 0.9


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_kind_of_model_is_loaded_in_single_precision(folders, tmp_path, dtype):
    encoder = copy_in_precision(folders["bert"], tmp_path / "encoder", dtype)
    classifier = copy_in_precision(
        folders["classifier"], tmp_path / "classifier", dtype
    )
    for load in loaders(str(encoder), str(classifier)):
        dtypes = {values.dtype for values in load().parameters()}
        assert dtypes == {torch.float32}


def test_a_trainer_converts_weights_in_half_precision_to_single(folders, tmp_path):
    model = BertForSequenceClassification.from_pretrained(folders["classifier"])
    common = arguments(tmp_path, 1, seed=0, save_every=0, device=CPU)
    options = {"mixed": False, "optimiser": Optimiser(**LINEAR)}
    InParts(model=model.half(), args=TrainingArguments(**common), **options)
    assert {values.dtype for values in model.parameters()} == {torch.float32}
