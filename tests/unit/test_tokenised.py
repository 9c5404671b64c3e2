"""Texts are tokenised once, by several threads, and results equal those of the
library.
"""

import os

# These tests do not use the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from helpers import tiny_encoders
from lextables.models import bi_encoder, cross_encoder, tokenised

CPU = torch.device("cpu")
TEXTS = [
    "the company",
    "",
    "shall not close the merger",
    "cash " * 40,
    "stock " * 50,
    "sell",
]
PAIRS = [("the company shall", text) for text in TEXTS]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


@pytest.fixture
def counted(monkeypatch):
    """(inputs, whether threads were allowed) of each call of the models'
    `preprocess`.
    """
    calls = []
    for kind in (SentenceTransformer, cross_encoder.CrossEncoder):

        def preprocess(self, inputs, original=kind.preprocess, **options):
            calls.append((inputs, os.environ["TOKENIZERS_PARALLELISM"]))
            return original(self, inputs, **options)

        monkeypatch.setattr(kind, "preprocess", preprocess)
    monkeypatch.setattr(tokenised, "AT_ONCE", 4)
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    return calls


@pytest.mark.parametrize("prompt", [None, "stock could"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_scores_of_pairs_equal_the_library(
    folders, counted, monkeypatch, family, side, prompt
):
    model = cross_encoder.load(folders[family], CPU, 32, fresh_head=True)
    model.tokenizer.padding_side = side
    if prompt:
        model.prompts, model.default_prompt_name = {"own": prompt}, "own"
    monkeypatch.setattr(cross_encoder, "TOKENISED", 5)
    model.train()  # as during a training
    # With padding on the left these models score otherwise, in the library too.
    scores = cross_encoder.score(model, PAIRS, batch_size=2 if side == "right" else 1)
    assert [len(inputs) for inputs, _ in counted] == [4, 1, 1]
    assert {threads for _, threads in counted} == {"true"}
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"
    expected = [
        model.predict([pair], activation_fn=torch.nn.Identity())[0] for pair in PAIRS
    ]
    assert scores.dtype == np.float64
    assert scores == pytest.approx(expected, abs=1e-6)
    assert cross_encoder.score(model, []).shape == (0,)


@pytest.mark.parametrize("side", ["left", "right"])
def test_batches_are_padded_on_the_side_of_the_tokenizer(folders, side):
    model = cross_encoder.load(folders["bert"], CPU, 32, fresh_head=True)
    model.tokenizer.padding_side = side
    inputs = tokenised.tokenised(model, PAIRS[2::-1])
    batch = inputs.batch([1, 2])
    columns = [0, -1] if side == "left" else [-1, 0]
    shortest, longest = sorted(inputs.lengths()[1:])
    assert batch["attention_mask"].shape == (2, longest) and shortest < longest
    assert batch["attention_mask"].sum(1).tolist() == [shortest, longest]
    assert (
        batch["input_ids"][0, columns] == model.tokenizer.pad_token_id
    ).tolist() == [True, False]


def test_threads_are_restored_after_an_error(folders, monkeypatch):
    def broken(*_, **options):
        raise ValueError("broken")

    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    model = bi_encoder.load(folders["bert"], CPU, 32)
    monkeypatch.setattr(model, "preprocess", broken)
    with pytest.raises(ValueError, match="broken"):
        tokenised.tokenised(model, TEXTS)
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"


@pytest.mark.parametrize("prompt", [None, "stock could"])
def test_long_texts_are_cut_and_have_the_same_tokens(folders, monkeypatch, prompt):
    model = bi_encoder.load(folders["bert"], CPU, 32)
    options = {"prompt": prompt}
    texts = ["cash " * 900, "x" * 900 + " cash" * 9, " " * 2000 + "cash sell", "cash"]
    texts += [
        "adverse, " * 40,
        "merger  " * 500,
        "sell buy " + "y" * 900,
        "",
        "的" * 400,
    ]
    read = []
    preprocess = model.preprocess
    monkeypatch.setattr(
        model,
        "preprocess",
        lambda part, **o: read.append(part) or preprocess(part, **o),
    )
    found = tokenised.tokenised(model, texts, **options)
    expected = tokenised._whole(model, texts, options)
    assert found.lengths() == expected.lengths()
    for row, whole in zip(found.rows, expected.rows, strict=True):
        assert row.keys() == whole.keys()
        assert all(torch.equal(row[name], whole[name]) for name in row)
    # The first text is cut.  One that was cut to too few tokens is read again, whole.
    assert len(read[0][0]) <= 8 * 32
    assert read[1] == [texts[6]]
