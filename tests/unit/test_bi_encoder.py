"""Bi-encoders: vectors equal those of sentence-transformers, use no padding, and are
cached.
"""

import json
import logging
import threading
from itertools import permutations

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import AutoModel, AutoTokenizer, Qwen2Config

from helpers import tiny_encoders
from lextables.models import bi_encoder, tokenised
from lextables.models.bi_encoder import VectorCache
from lextables.pipeline.errors import BadInput

CPU = torch.device("cpu")
SHORT = ["the company", "shall", "the company shall", "close the merger", "buy stock"]
TEXTS = [*SHORT, " ".join(tiny_encoders.WORDS), "cash " * 40, "stock " * 50, ""]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


def reference(folder, texts, length=None):
    model = SentenceTransformer(folder, device="cpu")
    model.max_seq_length = length or model.max_seq_length
    return model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)


def test_batches_contain_texts_of_one_length():
    lengths = [3, 9, 3, 4, 3, 9, 40, 0, 3]
    batches = list(bi_encoder.batches(lengths, 10))
    positions = [batch.tolist() for batch in batches]
    assert positions == [[6], [1], [5], [3], [0, 2, 4], [8], [7]]
    assert list(bi_encoder.batches([], 10)) == []


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta", "modernbert"])
def test_vectors_equal_those_of_sentence_transformers(folders, family, monkeypatch):
    monkeypatch.setitem(bi_encoder.TOKENS, "cpu", 16)
    monkeypatch.setattr(tokenised, "AT_ONCE", 2)
    monkeypatch.setattr(bi_encoder, "SHARD", 5)
    model = bi_encoder.load(folders[family], CPU, 32)
    model.train()  # as during a training
    masks = []
    model[0].register_forward_pre_hook(
        lambda _, inputs: masks.append(inputs[0]["attention_mask"])
    )
    vectors = bi_encoder.encode(model, TEXTS)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(TEXTS), 32))
    assert vectors == pytest.approx(reference(folders[family], TEXTS, 32), abs=1e-6)
    # Several batches, and no padding in any.
    assert len(masks) > 2
    assert all(mask.all() for mask in masks)
    # Both texts are truncated, but they differ before the cut.
    assert not np.allclose(vectors[6], vectors[7])
    for texts in (TEXTS[::-1], [*TEXTS[3:], *TEXTS], TEXTS[:1]):
        expected = np.stack([vectors[TEXTS.index(text)] for text in texts])
        assert bi_encoder.encode(model, texts) == pytest.approx(expected, abs=1e-6)
    assert bi_encoder.encode(model, []).shape == (0, 32)


def test_a_model_without_a_dimension_is_refused(folders, monkeypatch):
    model = bi_encoder.load(folders["bert"], CPU)
    monkeypatch.setattr(model, "get_embedding_dimension", lambda: None)
    with pytest.raises(BadInput, match="does not give the dimension"):
        bi_encoder.encode(model, TEXTS)


def test_each_thread_encodes_its_own_batch(folders, monkeypatch):
    monkeypatch.setitem(bi_encoder.TOKENS, "cpu", 16)
    model = bi_encoder.load(folders["bert"], CPU)
    before = torch.get_num_threads()
    seen = set()  # (thread, its number of PyTorch threads) of each batch
    model[0].register_forward_pre_hook(
        lambda *_: seen.add((threading.current_thread().name, torch.get_num_threads()))
    )
    texts = list(map(" ".join, permutations(tiny_encoders.WORDS, 2)))
    vectors = {}
    for threads in (1, 3):
        torch.set_num_threads(threads)
        try:
            vectors[threads] = bi_encoder.encode(model, texts)
            assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)
        assert {torch_threads for _, torch_threads in seen} == {1}
        assert (threads > 1) == (len(seen) > 1)
        assert len(seen) <= threads
        seen.clear()
    assert (vectors[1] == vectors[3]).all()
    model.register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bi_encoder.encode(model, SHORT)
    assert torch.get_num_threads() == before


# Cached vectors


SETTINGS = {"model": "tiny", "weights": "mirror:tiny", "content": "sha256:1"}


@pytest.mark.parametrize(
    ("changes", "length", "encode", "same"),
    [
        ({}, 16, bi_encoder.encode, True),
        ({"content": "sha256:2"}, 16, bi_encoder.encode, False),
        ({"content": None, "revision": "f" * 40}, 16, bi_encoder.encode, False),
        ({}, 8, bi_encoder.encode, False),
        ({}, 16, bi_encoder.encode_queries, False),
    ],
)
def test_cached_vectors_are_reused_only_for_the_same_model_length_and_encoding(
    folders, tmp_path, monkeypatch, changes, length, encode, same
):
    first = bi_encoder.load(folders["bert"], CPU, 16)
    vectors = bi_encoder.cached(bi_encoder.encode, first, SETTINGS, tmp_path)(TEXTS)
    assert (vectors == bi_encoder.encode(first, TEXTS)).all()
    model = bi_encoder.load(folders["bert"], CPU, length)
    if same:
        monkeypatch.setattr(
            model, "encode", lambda *_, **__: pytest.fail("it encoded again")
        )
    again = bi_encoder.cached(encode, model, SETTINGS | changes, tmp_path)(TEXTS)
    assert again == pytest.approx(reference(folders["bert"], TEXTS, length), abs=1e-6)
    assert len(list((tmp_path / "tiny").iterdir())) == (1 if same else 2)


def test_nothing_is_cached_for_unidentified_weights(folders, tmp_path):
    model = bi_encoder.load(folders["bert"], CPU)
    for revision in (None, "main"):  # a branch moves
        settings = {"weights": "own-model", "content": None, "revision": revision}
        encode = bi_encoder.cached(
            bi_encoder.encode, model, SETTINGS | settings, tmp_path
        )
        assert encode(SHORT).shape == (5, 32)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("pooling", ["cls", "mean", "lasttoken"])
def test_the_first_token_of_a_decoder_is_no_vector_of_a_text(
    folders, tmp_path, pooling
):
    config = Qwen2Config(**tiny_encoders.SMALL, num_key_value_heads=1)
    body = tmp_path / "body"
    AutoModel.from_config(config).save_pretrained(body)
    AutoTokenizer.from_pretrained(folders["bert"]).save_pretrained(body)
    modules = [Transformer(str(body)), Pooling(32, pooling)]
    model = SentenceTransformer(modules=modules, device="cpu")
    model.save_pretrained(str(tmp_path / "encoder"), create_model_card=False)
    if pooling == "cls":
        with pytest.raises(BadInput, match="first token's vector is the same for"):
            bi_encoder.load(str(tmp_path / "encoder"), CPU)
    else:
        assert bi_encoder.load(str(tmp_path / "encoder"), CPU).max_seq_length


CACHED_TEXTS = ["a", "clause", "of", "five", "texts"]
IDENTITY = {
    "data": {"weights": "m", "length": 16},
    "code": "c",
    "libraries": {"torch": "2"},
    "device": "d",
}


class Encoder:
    """Returns a different vector for each text, and records the texts."""

    def __init__(self, fails_after=None):
        self.texts = []
        self.fails_after = fails_after

    def __call__(self, texts):
        if self.fails_after is not None and len(self.texts) >= self.fails_after:
            raise KeyboardInterrupt
        self.texts += texts
        rows = [[len(text), sum(map(ord, text)) / 7, 1 / 3] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), 3)


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Return a function that asserts that a cache returns the right vectors and encodes
    only ``missing``.
    """
    monkeypatch.setattr(bi_encoder, "SHARD", 2)

    def check(texts, missing, cache=None):
        encoder = Encoder()
        vectors = (cache or VectorCache(tmp_path, IDENTITY)).encode(texts, encoder)
        assert vectors.dtype == np.float32
        assert (vectors == Encoder()(texts)).all()
        assert sorted(encoder.texts) == sorted(missing)

    return check


def test_a_text_is_encoded_once(tmp_path, check):
    cache = VectorCache(tmp_path, IDENTITY)
    check([], [], cache)
    check([*CACHED_TEXTS, "of"], CACHED_TEXTS, cache)
    check(CACHED_TEXTS[::-1], [], cache)
    check(["new", "texts", "\ud800"], ["new", "\ud800"])
    for shard in cache.folder.glob("*.npz"):
        shard.unlink()
    check(CACHED_TEXTS, CACHED_TEXTS, cache)


def test_a_kill_loses_at_most_one_shard(tmp_path, check):
    with pytest.raises(KeyboardInterrupt):
        VectorCache(tmp_path, IDENTITY).encode(CACHED_TEXTS, Encoder(fails_after=2))
    check(CACHED_TEXTS, ["clause", "five", "texts"])
    assert not list(tmp_path.rglob("*.part"))


def test_a_bar_counts_all_parts(check, capsys):
    check(CACHED_TEXTS, CACHED_TEXTS)
    bar = capsys.readouterr().err
    assert "parts of 2 texts: 100%" in bar and "3/3" in bar
    check(CACHED_TEXTS, [])
    assert not capsys.readouterr().err


def test_two_jobs_may_encode_the_same_texts(tmp_path, check):
    first = VectorCache(tmp_path, IDENTITY)
    second = VectorCache(tmp_path, IDENTITY)

    def while_the_other_writes(texts):
        check(texts, texts, second)
        return Encoder()(texts)

    assert (
        first.encode(CACHED_TEXTS, while_the_other_writes) == Encoder()(CACHED_TEXTS)
    ).all()
    check([*CACHED_TEXTS, "more"], ["more"], second)
    check([*CACHED_TEXTS, "more"], [])


def flip_bit(shard):
    data = bytearray(shard.read_bytes())
    data[data.rindex(np.float32(1 / 3).tobytes())] ^= 1
    shard.write_bytes(data)


def drop_vectors(shard):
    with np.load(shard) as file:
        keys = file["keys"]
    np.savez(shard, keys=keys)


@pytest.mark.parametrize(
    "damage",
    [
        lambda shard: shard.write_bytes(shard.read_bytes()[:-40]),
        lambda shard: shard.write_bytes(b""),
        lambda shard: shard.write_text("no arrays"),
        flip_bit,
        drop_vectors,
    ],
    ids=["truncated", "empty", "other content", "flipped bit", "no vectors"],
)
@pytest.mark.parametrize("opened_before", [True, False])
def test_a_damaged_shard_is_encoded_again(
    tmp_path, caplog, check, damage, opened_before
):
    cache = VectorCache(tmp_path, IDENTITY)
    cache.encode(CACHED_TEXTS, Encoder())
    shard = sorted(cache.folder.glob("*.npz"))[0]
    with np.load(shard) as file:
        lost = len(file["keys"])
    damage(shard)
    with caplog.at_level(logging.WARNING, "lextables"):
        cache = cache if opened_before else VectorCache(tmp_path, IDENTITY)
        encoder = Encoder()
        assert (cache.encode(CACHED_TEXTS, encoder) == Encoder()(CACHED_TEXTS)).all()
    assert len(encoder.texts) == lost
    assert len(caplog.messages) == 1
    assert "is damaged" in caplog.text
    check(CACHED_TEXTS, [])


@pytest.mark.parametrize(
    ("changes", "stays"),
    [
        ({"data": {"weights": "other", "length": 16}}, True),
        ({"data": {"weights": "m", "length": 8}}, True),
        ({"device": "another"}, True),
        ({"code": "c2"}, False),
        ({"libraries": {"torch": "3"}}, False),
    ],
)
def test_vectors_of_another_identity_are_not_used(tmp_path, check, changes, stays):
    before = VectorCache(tmp_path, IDENTITY)
    before.encode(CACHED_TEXTS, Encoder())
    after = VectorCache(tmp_path, IDENTITY | changes)
    check(CACHED_TEXTS, CACHED_TEXTS, after)
    # Vectors of earlier code or libraries are deleted.
    assert before.folder.exists() == stays
    about = json.loads((after.folder / "identity.json").read_text())
    assert about == IDENTITY | changes


@pytest.mark.parametrize("vectors", [np.zeros((1, 3)), np.zeros(2)])
def test_vectors_of_the_wrong_shape_are_not_cached(tmp_path, vectors):
    cache = VectorCache(tmp_path, IDENTITY)
    with pytest.raises(ValueError, match="the encoder returned shape"):
        cache.encode(["a", "b"], lambda texts: vectors)
    assert not list(tmp_path.rglob("*.npz"))
