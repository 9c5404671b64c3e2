"""Vectors that are kept: encoded once, lost by the shard at most, and never another model's."""

import json
import logging

import numpy as np
import pytest

from lextables.models import bi_encoder
from lextables.models.bi_encoder import VectorCache

TEXTS = ["a", "clause", "of", "five", "texts"]


def identity(**changes):
    about = {"data": {"weights": "m", "length": 16}, "code": "c", "libraries": {"torch": "2"}, "device": "d"}
    return about | changes


class Encoder:
    """Gives each text a vector of its own, and knows what it was asked."""

    def __init__(self, fails_after=None):
        self.asked, self.fails_after = [], fails_after

    def __call__(self, texts):
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise KeyboardInterrupt
        self.asked += texts
        return np.array([self.of(text) for text in texts], dtype=np.float32).reshape(len(texts), 3)

    @staticmethod
    def of(text):
        return [len(text), sum(map(ord, text)) / 7, 1 / 3]


def right(found, texts):
    return found.dtype == np.float32 and (found == Encoder()(texts)).all()


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(bi_encoder, "SHARD", 2)


def test_a_text_is_encoded_once_whatever_the_order_and_whoever_asks(tmp_path):
    encoder, again = Encoder(), Encoder()
    store = VectorCache(tmp_path, identity())
    assert right(store.encode([*TEXTS, "of"], encoder), [*TEXTS, "of"])
    assert sorted(encoder.asked) == sorted(TEXTS)
    assert right(store.encode(TEXTS[::-1], encoder), TEXTS[::-1])
    assert right(VectorCache(tmp_path, identity()).encode(["new", "texts"], again), ["new", "texts"])
    assert (len(encoder.asked), again.asked) == (5, ["new"])


def test_no_texts_are_what_the_encoder_makes_of_none(tmp_path):
    assert VectorCache(tmp_path, identity()).encode([], Encoder()).shape == (0, 3)
    assert not list(tmp_path.rglob("*.npz"))


def test_a_text_that_is_no_text_of_unicode_has_a_vector(tmp_path):
    assert right(VectorCache(tmp_path, identity()).encode(["\ud800"], Encoder()), ["\ud800"])


def test_a_kill_loses_no_more_than_a_shard(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        VectorCache(tmp_path, identity()).encode(TEXTS, Encoder(fails_after=2))
    rest = Encoder()
    assert right(VectorCache(tmp_path, identity()).encode(TEXTS, rest), TEXTS)
    assert sorted(rest.asked) == ["clause", "five", "texts"]
    assert not list(tmp_path.rglob("*.part"))


def test_two_jobs_that_encode_the_same_do_not_disturb_each_other(tmp_path):
    first, second = VectorCache(tmp_path, identity()), VectorCache(tmp_path, identity())

    def while_the_other_writes(texts):
        assert right(second.encode(texts, Encoder()), texts)
        return Encoder()(texts)

    assert right(first.encode(TEXTS, while_the_other_writes), TEXTS)
    assert right(second.encode([*TEXTS, "more"], Encoder()), [*TEXTS, "more"])
    last = Encoder()
    assert right(VectorCache(tmp_path, identity()).encode([*TEXTS, "more"], last), [*TEXTS, "more"])
    assert last.asked == []


def cut(shard):
    shard.write_bytes(shard.read_bytes()[:-40])


def emptied(shard):
    shard.write_bytes(b"")


def of_another_kind(shard):
    shard.write_text("no arrays", encoding="utf-8")


def turned(shard):
    """One bit of a vector."""
    data = bytearray(shard.read_bytes())
    at = data.rindex(np.float32(1 / 3).tobytes())
    data[at] ^= 1
    shard.write_bytes(data)


def without_vectors(shard):
    with np.load(shard) as file:
        keys = file["keys"]
    np.savez(shard, keys=keys)


@pytest.mark.parametrize("damaged", [cut, emptied, of_another_kind, turned, without_vectors])
@pytest.mark.parametrize("opened_before", [True, False])
def test_a_damaged_shard_is_noticed_and_encoded_again(tmp_path, caplog, damaged, opened_before):
    store = VectorCache(tmp_path, identity())
    store.encode(TEXTS, Encoder())
    damaged(sorted(store.folder.glob("*.npz"))[0])
    again = Encoder()
    with caplog.at_level(logging.WARNING, "lextables"):
        store = store if opened_before else VectorCache(tmp_path, identity())
        assert right(store.encode(TEXTS, again), TEXTS)
    assert 1 <= len(again.asked) <= 2
    assert len(caplog.messages) == 1 and "is damaged" in caplog.text
    last = Encoder()
    assert right(VectorCache(tmp_path, identity()).encode(TEXTS, last), TEXTS)
    assert last.asked == []


def test_a_shard_that_somebody_deletes_is_encoded_again(tmp_path):
    store = VectorCache(tmp_path, identity())
    store.encode(TEXTS, Encoder())
    for shard in store.folder.glob("*.npz"):
        shard.unlink()
    again = Encoder()
    assert right(store.encode(TEXTS, again), TEXTS)
    assert len(again.asked) == 5


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
def test_what_another_model_length_device_or_code_made_is_not_taken(tmp_path, changes, stays):
    before = VectorCache(tmp_path, identity())
    before.encode(TEXTS, Encoder())
    encoder = Encoder()
    after = VectorCache(tmp_path, identity(**changes))
    after.encode(TEXTS, encoder)
    assert sorted(encoder.asked) == sorted(TEXTS)
    # What earlier code or libraries made, nothing will use.
    assert before.folder.exists() == stays
    assert json.loads((after.folder / "identity.json").read_text()) == identity(**changes)


@pytest.mark.parametrize("made", [np.zeros((1, 3)), np.zeros(2)])
def test_an_encoder_that_gives_no_vector_a_text_is_refused_and_nothing_kept(tmp_path, made):
    store = VectorCache(tmp_path, identity())
    with pytest.raises(ValueError, match="the encoder returned shape"):
        store.encode(["a", "b"], lambda texts: made)
    assert not list(tmp_path.rglob("*.npz"))
