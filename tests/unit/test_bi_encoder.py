"""Encoding by tiny bi-encoders: the vectors are sentence-transformers' own, unpadded and kept."""

import threading

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch.nn import functional

import tiny_encoders
from lextables.models import bi_encoder
from lextables.models.precision import linear_by_onednn

CPU = torch.device("cpu")
SHORT = ["the company", "shall", "the company shall", "close the merger", "buy stock"]
TEXTS = [*SHORT, " ".join(tiny_encoders.WORDS), "cash " * 40, "stock " * 50, ""]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


def plain(folder, texts, length=None):
    model = SentenceTransformer(folder, device="cpu")
    model.max_seq_length = length or model.max_seq_length
    return model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)


def test_a_batch_is_of_one_length_and_holds_its_tokens():
    lengths = [3, 9, 3, 4, 3, 9, 40, 0, 3]
    found = list(bi_encoder.batches(lengths, 10))
    assert [[lengths[at] for at in batch] for batch in found] == [[40], [9], [9], [4], [3, 3, 3], [3], [0]]
    assert sorted(at for batch in found for at in batch) == list(range(len(lengths)))
    assert list(bi_encoder.batches([], 10)) == []


@pytest.mark.parametrize("family", ["bert", "roberta", "deberta", "modernbert"])
def test_vectors_are_those_of_sentence_transformers(folders, family, monkeypatch):
    monkeypatch.setitem(bi_encoder.TOKENS, "cpu", 16)
    monkeypatch.setattr(bi_encoder, "COUNTED", 2)
    model = bi_encoder.load(folders[family], CPU, 32)
    found = bi_encoder.encode(model, TEXTS)
    assert (found.dtype, found.shape) == (np.float32, (len(TEXTS), 32))
    assert found == pytest.approx(plain(folders[family], TEXTS, 32), abs=1e-6)
    # Both are longer than the model reads, and alike as far as it does.
    assert not np.allclose(found[6], found[7])
    for texts in (TEXTS[::-1], [*TEXTS[3:], *TEXTS]):
        expected = np.stack([found[TEXTS.index(text)] for text in texts])
        assert bi_encoder.encode(model, texts) == pytest.approx(expected, abs=1e-6)
    alone = np.concatenate([bi_encoder.encode(model, [text]) for text in TEXTS])
    assert alone == pytest.approx(found, abs=1e-6)


def test_texts_of_one_length_meet_no_padding(folders, monkeypatch):
    model = bi_encoder.load(folders["bert"], CPU)
    masks = []
    model[0].register_forward_pre_hook(lambda _, given: masks.append(given[0]["attention_mask"]))
    bi_encoder.encode(model, TEXTS)
    assert len(masks) > 2 and all(mask.all() for mask in masks)


def test_as_many_batches_run_at_once_as_there_are_threads(folders, monkeypatch):
    monkeypatch.setitem(bi_encoder.TOKENS, "cpu", 16)
    model, before, seen = bi_encoder.load(folders["bert"], CPU), torch.get_num_threads(), set()
    model[0].register_forward_pre_hook(
        lambda *_: seen.add((threading.current_thread().name, torch.get_num_threads()))
    )
    texts = [f"{word} {other}" for word in tiny_encoders.WORDS for other in tiny_encoders.WORDS]
    vectors = {}
    for threads in (1, 3):
        torch.set_num_threads(threads)
        try:
            vectors[threads] = bi_encoder.encode(model, texts)
            assert torch.get_num_threads() == threads
        finally:
            torch.set_num_threads(before)
        assert {each for _, each in seen} == {1}
        assert (threads > 1) == (len(seen) > 1) and len(seen) <= threads
        seen.clear()
    assert (vectors[1] == vectors[3]).all()


def test_what_fails_in_a_thread_ends_the_encoding(folders, monkeypatch):
    model, before = bi_encoder.load(folders["bert"], CPU), torch.get_num_threads()
    monkeypatch.setattr(model, "encode", lambda texts, **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bi_encoder.encode(model, SHORT)
    assert torch.get_num_threads() == before


def test_no_texts_have_no_vectors_of_the_right_size(folders):
    assert bi_encoder.encode(bi_encoder.load(folders["bert"], CPU), []).shape == (0, 32)


def test_onednn_differs_by_rounding_alone_and_leaves_the_rest_to_torch():
    generator = torch.Generator().manual_seed(0)
    data, weight, bias = (torch.randn(size, generator=generator) for size in ((3, 5, 64), (48, 64), (48,)))
    expected = functional.linear(data, weight, bias), functional.linear(data, weight)
    half = functional.linear(data.bfloat16(), weight.bfloat16())
    with torch.inference_mode(), linear_by_onednn(CPU):
        torch.testing.assert_close(functional.linear(data, weight, bias), expected[0], rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(functional.linear(data, weight), expected[1], rtol=1e-5, atol=1e-5)
        assert functional.linear(data, weight=weight).equal(expected[1])
        assert functional.linear(data.bfloat16(), weight.bfloat16()).equal(half)
    assert functional.linear(data, weight, bias).equal(expected[0])


def settings(**changes):
    return {"model": "tiny", "weights": "mirror:tiny", "revision": None, "content": "sha256:1"} | changes


def test_what_is_kept_is_not_encoded_again(folders, tmp_path, monkeypatch):
    model = bi_encoder.load(folders["bert"], CPU)
    found = bi_encoder.cached(bi_encoder.encode, model, settings(), tmp_path)(TEXTS)
    assert (found == bi_encoder.encode(model, TEXTS)).all()
    asked = []
    monkeypatch.setattr(model, "encode", lambda texts, **_: asked.append(texts))
    assert (bi_encoder.cached(bi_encoder.encode, model, settings(), tmp_path)(TEXTS) == found).all()
    assert asked == []


@pytest.mark.parametrize(
    ("changes", "length", "how"),
    [
        ({"content": "sha256:2"}, 16, bi_encoder.encode),
        ({"content": None, "revision": "f" * 40}, 16, bi_encoder.encode),
        ({}, 8, bi_encoder.encode),
        ({}, 16, bi_encoder.encode_queries),
    ],
)
def test_other_weights_another_length_and_queries_are_kept_apart(folders, tmp_path, changes, length, how):
    first = bi_encoder.load(folders["bert"], CPU, 16)
    bi_encoder.cached(bi_encoder.encode, first, settings(), tmp_path)(TEXTS)
    other = bi_encoder.load(folders["bert"], CPU, length)
    found = bi_encoder.cached(how, other, settings(**changes), tmp_path)(TEXTS)
    assert found == pytest.approx(plain(folders["bert"], TEXTS, length), abs=1e-6)
    assert len(list((tmp_path / "tiny").iterdir())) == 2


def test_of_weights_that_nothing_pins_nothing_is_kept(folders, tmp_path):
    model = bi_encoder.load(folders["bert"], CPU)
    given = settings(weights="own-model", content=None)
    assert bi_encoder.cached(bi_encoder.encode, model, given, tmp_path)(SHORT).shape == (5, 32)
    assert not list(tmp_path.iterdir())
