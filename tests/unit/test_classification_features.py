"""The tokens that a classifier reads, and batches of them."""

import os

# Nothing here is on the hub.
os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import pyarrow.parquet as pq
import pytest

import tiny_encoders
from lextables.dataset import read
from lextables.errors import BadInput
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.reading import padded
from tiny_encoders import IDS


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


def test_each_text_is_tokenised_once_and_cut_where_it_is_too_long(folders, tmp_path):
    pairs = [("b", "merger " * 5), ("a", "cash stock"), ("b", "merger " * 5), ("c", "buy " * 30)]
    counts = tokenise(pairs, folders["bert"], 10, tmp_path / "tokens.parquet")
    assert counts == {"texts": 3, "cut": 1, "longest": 32}
    found = read_tokens(tmp_path / "tokens.parquet")
    assert found["a"].tolist() == [0, IDS["cash"], IDS["stock"], 2]
    assert found["b"].tolist() == [0, *[IDS["merger"]] * 5, 2]
    assert found["c"].tolist() == [0, *[IDS["buy"]] * 8, 2]
    assert [row["length"] for row in read(tmp_path / "tokens.parquet")] == [7, 4, 32]


def test_tokens_are_written_in_small_row_groups(folders, tmp_path):
    many = ((f"{i:04}", "cash " * (1 + i % 7)) for i in range(600))
    assert tokenise(many, folders["bert"], 10, tmp_path / "tokens.parquet")["texts"] == 600
    with pq.ParquetFile(tmp_path / "tokens.parquet") as file:
        assert [file.metadata.row_group(i).num_rows for i in range(3)] == [256, 256, 88]
    found = read_tokens(tmp_path / "tokens.parquet")
    assert all(len(found[f"{i:04}"]) == 3 + i % 7 for i in range(600))


@pytest.mark.parametrize(
    ("pairs", "family", "length", "message"),
    [
        ([("a", " \n")], "bert", 10, "text a: the text is empty"),
        ([("a", "cash"), ("a", "stock")], "bert", 10, "text a: one id stands for two texts"),
        ([("a", "cash")], "bert", 65, "max_length = 65 where the model reads 64 tokens"),
        ([("a", "cash")], "roberta", 65, "max_length = 65 where the model reads 64 tokens"),
    ],
)
def test_texts_that_cannot_be_read_are_named(folders, tmp_path, pairs, family, length, message):
    with pytest.raises(BadInput, match=message):
        tokenise(pairs, folders[family], length, tmp_path / "tokens.parquet")
    assert not (tmp_path / "tokens.parquet").exists()


def test_a_batch_is_padded_to_its_longest_text():
    batch = padded([np.array([5, 6]), np.array([7, 8, 9])], 1)
    assert batch["input_ids"].tolist() == [[5, 6, 1], [7, 8, 9]]
    assert batch["attention_mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
