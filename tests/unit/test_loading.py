"""Loading and saving: missing weights raise, new heads depend on the seed, tokenizers
are complete.
"""

import pytest
import sentencepiece
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertModel,
    DebertaV2Tokenizer,
)
from transformers.utils import logging

from helpers import marked_contracts
from helpers.marked_contracts import equal, weights
from helpers.tokenizer_kinds import roberta
from helpers.wordpiece import wordpiece
from lextables.models import bi_encoder, cross_encoder, multi_head
from lextables.models.loading import load_span_model, quiet, save
from lextables.models.tokenizers import load_tokenizer
from lextables.pipeline.errors import BadInput

CPU = torch.device("cpu")
SIZE = {
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}


@pytest.fixture
def model(tmp_path):
    """Write a tiny model, without the tensors whose names contain ``drop``; return its
    folder.
    """

    def make(kind, drop=None, **settings):
        kind(BertConfig(vocab_size=8, **SIZE, **settings)).save_pretrained(tmp_path)
        wordpiece(["the", "contract", "ends"]).save_pretrained(tmp_path)
        path = tmp_path / "model.safetensors"
        tensors = load_file(path)
        for name in list(tensors):
            if drop and drop in name:
                del tensors[name]
        save_file(tensors, path, metadata={"format": "pt"})
        return str(tmp_path)

    return make


@pytest.mark.parametrize(
    ("load", "kind", "labels", "missing"),
    [
        (
            lambda folder: cross_encoder.load(folder, CPU, 16),
            BertForSequenceClassification,
            1,
            r"2 tensors, such as classifier\.bias;",
        ),
        (
            lambda folder: load_span_model(folder, CPU, trained=True),
            BertForQuestionAnswering,
            2,
            r"2 tensors, such as qa_outputs\.bias",
        ),
    ],
)
def test_a_missing_head_raises(model, load, kind, labels, missing):
    with pytest.raises(BadInput, match=f"the weights lack {missing}"):
        load(model(BertModel))
    load(model(kind, num_labels=labels))


def new_cross_encoder(folder, length):
    return cross_encoder.load(folder, CPU, length, fresh_head=True)


@pytest.mark.parametrize(
    ("load", "options"),
    [
        (load_span_model, [CPU]),
        (bi_encoder.load, [CPU]),
        (multi_head.load, [[2, 3], "family", 0]),
        (multi_head.load, [[2, 3], "own", 0]),
        (new_cross_encoder, [16]),
    ],
)
def test_a_missing_layer_raises_where_a_head_may_be_new(model, load, options):
    load(model(BertModel), *options)
    with pytest.raises(BadInput, match="the weights lack 16 tensors"):
        load(model(BertModel, drop="layer.1."), *options)


def test_a_cross_encoder_may_have_a_new_head(model):
    folder = model(BertModel)
    scores = []
    for seed in (0, 0, 1):
        loaded = cross_encoder.load(folder, CPU, 16, seed, fresh_head=True)
        scores.append(cross_encoder.score(loaded, [("the", "ends")]))
    assert scores[0] == scores[1] != scores[2]


def test_a_new_span_head_depends_on_the_seed(tmp_path, capfd):
    encoder = marked_contracts.save_encoder(tmp_path)
    capfd.readouterr()
    one, same, other = (load_span_model(encoder, CPU, seed) for seed in (3, 3, 4))
    assert equal(weights(one), weights(same))
    assert not torch.equal(one.qa_outputs.weight, other.qa_outputs.weight)
    assert equal(weights(one.bert), weights(other.bert))
    assert capfd.readouterr() == ("", "")


def test_saving_is_atomic(tmp_path):
    tokenizer = marked_contracts.tokenizer()
    model = BertForQuestionAnswering(marked_contracts.config(tokenizer))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "old").touch()
    save(model, tokenizer, folder)
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert "old" not in names
    again = load_span_model(str(folder), CPU, trained=True)
    assert equal(weights(again), weights(model))
    content = (folder / "model.safetensors").read_bytes()

    class Broken:
        def save_pretrained(self, path):
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        save(model, Broken(), folder)
    assert (folder / "model.safetensors").read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_messages_of_transformers_are_restored_after_an_error_in_quiet():
    def state():
        return logging.get_verbosity(), logging.is_progress_bar_enabled()

    def fails():
        with quiet():
            assert state() == (logging.ERROR, False)
            raise KeyError

    before = state()
    with pytest.raises(KeyError):
        fails()
    assert state() == before


# Tokenizers

TEXT = "the law of delaware governs this agreement and the services " * 40
SPECIAL = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}


@pytest.fixture(scope="module")
def deberta(tmp_path_factory):
    """A folder like DeBERTa's on the hub: it has a SentencePiece model, but no
    tokenizer.json.
    """
    folder = tmp_path_factory.mktemp("deberta")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([TEXT]),
        model_prefix=str(folder / "spm"),
        vocab_size=28,
        minloglevel=2,
        num_threads=1,
        **{f"{name}_id": at for at, name in enumerate(SPECIAL)},
        **{f"{name}_piece": piece for name, piece in SPECIAL.items()},
    )
    (folder / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "DebertaV2Tokenizer"}'
    )
    return folder


@pytest.mark.parametrize(
    ("text", "mapped"),
    [
        ("of\u00a0delaware", "of delaware"),
        ("ｌａｗ", "law"),
        ("aﬃ", "affi"),
        ("the\u2028law", "the law"),
    ],
)
def test_characters_are_normalised_as_in_transformers_4(
    text, mapped, deberta, tmp_path
):
    tokenizer = load_tokenizer(deberta)
    assert isinstance(tokenizer, DebertaV2Tokenizer)
    assert tokenizer.tokenize(text) == tokenizer.tokenize(mapped)
    tokenizer.save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.model"))
    again = load_tokenizer(tmp_path)
    assert again.tokenize(text) == tokenizer.tokenize(mapped)
    assert again.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()


def test_other_tokenizers_are_unchanged(tmp_path):
    roberta().save_pretrained(tmp_path)
    assert load_tokenizer(tmp_path).backend_tokenizer.normalizer is None
