"""Batches of an inference are halved after an error out of memory, which is
simulated.
"""

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

from helpers import marked_contracts
from helpers.small_trainings import (
    OTHER_ERRORS,
    OUT_OF_MEMORY,
    Memory,
    save_windows,
    small,
)
from lextables.models import bi_encoder, cross_encoder, loading, multi_head
from lextables.models.in_parts import in_parts_that_fit
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded
from lextables.tasks.classification.examples import key_of
from lextables.tasks.classification.inference import read_heads
from lextables.tasks.spans import inference
from lextables.tasks.spans.settings import NbestSettings

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """The training windows, the folder of a model with dropout, and the texts of the
    contracts.
    """
    return save_windows(tmp_path_factory.mktemp("train"))


@pytest.fixture
def sentence_encoder(tmp_path):
    small().save_pretrained(tmp_path / "body")
    marked_contracts.tokenizer().save_pretrained(tmp_path / "body")
    return SentenceTransformer(
        modules=[Transformer(str(tmp_path / "body")), Pooling(32)], device="cpu"
    )


class Tokens(dict):
    """The tokens of single texts (not pairs), with the interface of
    `features.Tokens`.
    """

    def first(self, key):
        return len(self[key])


def readers(learnt, sentence_encoder, folder):
    """{kind: (model, function that predicts with it and returns numbers)}."""
    dataset, trained, contracts = learnt
    texts = [f"w{at} w1" for at in range(10)]
    small().save_pretrained(folder)
    dataset.tokenizer.save_pretrained(folder)
    pairs = cross_encoder.load(str(folder), CPU, 16, fresh_head=True)
    marks = loading.load_span_model(trained, CPU)
    heads = multi_head.load(str(folder), [2], "own", seed=0)
    rows = [{"text_id": text, "pair_id": "", "example_id": text} for text in texts]
    tokens = Tokens({key_of(row): np.arange(3 + at) for at, row in enumerate(rows)})

    def vectors_of():
        return bi_encoder.encode(sentence_encoder, texts)

    def scores_of():
        return cross_encoder.score(pairs, [("which term", text) for text in texts])

    def spans_of():
        options = {"n_best": 20, "max_answer_length": 512, "bf16": False}
        settings = NbestSettings(windows_per_question=None, **options)
        found = inference.predict(marks, dataset, contracts, settings, batch_size=8)
        return [row["start_logit"] for row in found]

    def classes_of():
        found = read_heads(heads, ["1"], {"1": rows}, tokens, CPU)
        return [row["logits"] for row in found]

    return {
        "vectors": (sentence_encoder, vectors_of),
        "pairs": (pairs, scores_of),
        "spans": (marks, spans_of),
        "classes": (heads, classes_of),
    }


@pytest.mark.parametrize("kind", ["vectors", "pairs", "spans", "classes"])
def test_inference_with_halved_batches_gives_the_same_values(
    learnt, sentence_encoder, tmp_path, kind
):
    model, read = readers(learnt, sentence_encoder, tmp_path / "encoder")[kind]
    with Memory(3).of(model), recorded(tmp_path / "run.json", {}):
        parts = read()
    assert np.allclose(parts, read(), atol=1e-5)
    if kind != "vectors":  # its threads on a CPU record nothing
        assert read_json(tmp_path / "run.json")["read_at_once"] == 2
    with Memory(0).of(model), pytest.raises(BadInput, match="one text does not fit"):
        read()


@pytest.mark.parametrize("error", [*OUT_OF_MEMORY, *OTHER_ERRORS], ids=repr)
def test_only_out_of_memory_errors_are_caught(error):
    def work(part):
        if len(part) > 1:
            raise error
        return list(part)

    if error in OTHER_ERRORS:
        with pytest.raises(type(error)):
            [*in_parts_that_fit(range(2), 2, work)]
    else:
        assert [*in_parts_that_fit(range(2), 2, work)] == [[0], [1]]


def test_parts_keep_their_order_and_the_smaller_size():
    tried = []

    def work(part):
        tried.append(len(part))
        if len(part) > 3:
            raise torch.OutOfMemoryError
        return list(part)

    assert [*in_parts_that_fit(range(8), 8, work)] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert tried == [8, 4, 2, 2, 2, 2]
    assert [*in_parts_that_fit([], 8, work)] == []
