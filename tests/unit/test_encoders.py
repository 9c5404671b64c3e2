"""Encoders as they are loaded in a job: weights that would be drawn at random end it in a sentence."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification, BertModel

from lextables.models import bi_encoder, cross_encoder, loading, multi_head
from lextables.pipeline.errors import BadInput
from wordpiece import wordpiece

CPU = torch.device("cpu")
SIZE = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}


@pytest.fixture
def model(tmp_path):
    def make(kind, drop=None, **settings):
        kind(BertConfig(vocab_size=8, **SIZE, **settings)).save_pretrained(tmp_path)
        wordpiece(["the", "contract", "ends"]).save_pretrained(tmp_path)
        path = tmp_path / "model.safetensors"
        kept = {k: v for k, v in load_file(path).items() if drop is None or drop not in k}
        save_file(kept, path, metadata={"format": "pt"})
        return str(tmp_path)

    return make


def test_a_cross_encoder_as_it_is_needs_its_head(model):
    whole = model(BertForSequenceClassification, num_labels=1)
    scores = [cross_encoder.score(cross_encoder.load(whole, CPU, 16, s), [("the", "ends")]) for s in (0, 1)]
    assert scores[0] == scores[1]
    headless = model(BertModel)
    with pytest.raises(BadInput, match=r"the weights lack 2 tensors, such as classifier\.bias;"):
        cross_encoder.load(headless, CPU, 16)
    cross_encoder.load(headless, CPU, 16, fresh_head=True)


def test_a_bi_encoder_needs_all_its_layers(model):
    assert bi_encoder.encode(bi_encoder.load(model(BertModel), CPU), ["the contract"]).shape == (1, 8)
    with pytest.raises(BadInput, match="the weights lack 16 tensors, such as encoder"):
        bi_encoder.load(model(BertModel, drop="layer.1."), CPU)


def test_spans_are_read_with_a_trained_head_alone(model):
    headless = model(BertModel)
    loading.load_span_model(headless, CPU)
    with pytest.raises(BadInput, match=r"the weights lack 2 tensors, such as qa_outputs\.bias"):
        loading.load_span_model(headless, CPU, trained=True)
    loading.load_span_model(model(BertForQuestionAnswering), CPU, trained=True)


@pytest.mark.parametrize("kind", ["family", "own"])
def test_a_head_is_drawn_and_an_encoder_is_not(model, kind):
    multi_head.load(model(BertModel), [2, 3], kind, 0)
    with pytest.raises(BadInput, match="the weights lack 16 tensors"):
        multi_head.load(model(BertModel, drop="layer.1."), [2, 3], kind, 0)


def test_pairs_are_read_with_those_of_as_many_tokens_whatever_their_letters(model, monkeypatch):
    loaded = cross_encoder.load(model(BertForSequenceClassification, num_labels=1), CPU, 16)
    # An unknown word is one token, however long.
    pairs = [("the", ending) for ending in ("ends " * 5, "x" * 40, "ends", "the contract ends", "y" * 50)]
    wanted = [cross_encoder.score(loaded, [pair])[0] for pair in pairs]
    read, predict = [], loaded.predict
    monkeypatch.setattr(loaded, "predict", lambda part, **how: read.append(part) or predict(part, **how))
    assert cross_encoder.score(loaded, pairs, batch_size=2) == pytest.approx(wanted, abs=1e-6)
    assert read == [[pairs[0], pairs[3]], [pairs[1], pairs[2]], [pairs[4]]]
