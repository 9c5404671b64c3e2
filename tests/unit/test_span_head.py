"""Models whose head marks spans: a head is drawn by a seed, an encoder never."""

import pytest
import torch
from transformers import BertModel

import marked_contracts
from lextables.models import loading
from lextables.pipeline.errors import BadInput
from marked_contracts import config, equal, weights

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> str:
    return marked_contracts.save_encoder(tmp_path_factory.mktemp("encoder"))


def test_a_fresh_head_is_drawn_by_the_seed_in_silence(encoder, capfd):
    one, same, other = (loading.load_span_model(encoder, CPU, seed) for seed in (3, 3, 4))
    assert equal(weights(one), weights(same))
    assert not torch.equal(one.qa_outputs.weight, other.qa_outputs.weight)
    assert equal(weights(one.bert), weights(other.bert))
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_the_encoder_is_refused(tmp_path):
    words = marked_contracts.tokenizer()
    small = config(words)
    small.num_hidden_layers = 1
    BertModel(small).save_pretrained(tmp_path)
    config(words).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="lack 16 tensors, such as bert.encoder.layer.1"):
        loading.load_span_model(str(tmp_path), CPU)
