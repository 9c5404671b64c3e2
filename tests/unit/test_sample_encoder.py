"""The encoder of the sample: that it is what its script makes, and that whatever reads a model loads it."""

import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import CrossEncoder
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
)

from lextables.models import bi_encoder, cross_encoder, loading, multi_head
from lextables.models.tokenizer import load_tokenizer

SAMPLE = Path(__file__).resolve().parents[2] / "resources/sample"
FOLDER = SAMPLE / "models/sample-encoder"
CPU = torch.device("cpu")
CLAUSES = [
    "The Supplier's liability under this Agreement shall not exceed the fees paid in the preceding year.",
    "Neither party may assign this Agreement without the prior written consent of the other party.",
    "This Agreement is governed by the laws of the State of Delaware.",
]


def test_it_is_what_its_script_makes():
    # Not an import: the script stands outside the package, and this leaves no __pycache__ beside the data.
    made = runpy.run_path(str(SAMPLE / "make_encoder.py"))["build"]()
    kept = {path.relative_to(FOLDER).as_posix(): path.read_bytes() for path in FOLDER.rglob("*.*")}
    assert made.keys() == kept.keys()
    assert not [name for name in made if made[name] != kept[name]]
    assert sum(map(len, made.values())) < 500_000


@pytest.mark.parametrize(
    "model",
    [AutoModel, AutoModelForSequenceClassification, AutoModelForQuestionAnswering, AutoModelForMaskedLM],
)
def test_it_loads_whole_but_for_heads(model):
    loaded, report = model.from_pretrained(FOLDER, output_loading_info=True)
    assert loaded.dtype == torch.float32
    assert not loading.fresh_encoder(loaded, report)
    assert loaded.config.max_position_embeddings == 512


def test_its_tokenizer_reads_words_of_the_sample_whole_and_any_other_by_its_letters():
    tokenizer = load_tokenizer(FOLDER)
    assert isinstance(tokenizer, PreTrainedTokenizerFast)
    assert tokenizer.tokenize("Limitation of Liability") == ["limitation", "of", "liability"]
    assert tokenizer.tokenize("Zyx") == ["z", "##y", "##x"]
    pair = tokenizer("the law", "the state", return_offsets_mapping=True)
    assert pair["token_type_ids"] == [0, 0, 0, 0, 1, 1, 1]
    assert pair["offset_mapping"][1:3] == [(0, 3), (4, 7)]
    assert tokenizer.convert_ids_to_tokens(pair["input_ids"])[::3] == ["[CLS]", "[SEP]", "[SEP]"]
    assert len(tokenizer) == AutoModel.from_pretrained(FOLDER).config.vocab_size == 2000


def test_as_a_bi_encoder_it_finds_the_clause_with_the_querys_words():
    model = bi_encoder.load(str(FOLDER), CPU)
    assert model.max_seq_length == 256
    vectors = bi_encoder.encode(model, [*CLAUSES, "governed by the laws of Delaware"])
    assert vectors.shape == (4, 32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert (vectors[:3] @ vectors[3]).argmax() == 2


def test_as_a_cross_encoder_it_gets_a_fresh_head():
    model = cross_encoder.load(str(FOLDER), CPU, 64, seed=1, fresh_head=True)
    assert isinstance(model, CrossEncoder)
    pairs = [("governing law", clause) for clause in CLAUSES]
    scores = cross_encoder.score(model, pairs)
    assert len(set(scores)) == 3
    again = cross_encoder.load(str(FOLDER), CPU, 64, seed=1, fresh_head=True)
    assert (cross_encoder.score(again, pairs) == scores).all()


@pytest.mark.parametrize("kind", ["family", "own"])
def test_as_a_classifier_it_has_a_head_for_each_question(kind):
    model = multi_head.load(str(FOLDER), (2, 3), kind, seed=0)
    ids = torch.tensor([[2, 100, 3]])
    represented = model.represent(ids, torch.ones_like(ids))
    assert [model.answer(represented, head).shape for head in (0, 1)] == [(1, 2), (1, 3)]


def test_inspection_finds_no_fault_with_it():
    assert [loading.said(FOLDER, kind, 512) for kind in ("bi-encoder", "encoder")] == ["", ""]
