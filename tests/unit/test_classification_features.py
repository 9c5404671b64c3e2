"""Tokens of texts and text pairs for a classifier, and batches of them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from transformers import AutoModel, BertConfig

from helpers import tiny_encoders, tokenizer_kinds
from helpers.tiny_encoders import IDS
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification import features
from lextables.tasks.classification.examples import Text, texts_of
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.inference import inputs


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))


def alone(**texts):
    return [Text((text_id, ""), text) for text_id, text in texts.items()]


@pytest.fixture
def asked(tmp_path):
    """Return the texts that examples refer to: a single text or a pair of texts
    each.
    """

    def ask(texts, *keys):
        rows = [dict(zip(("text_id", "pair_id"), key, strict=False)) for key in keys]
        stored = [{"text_id": text_id, "text": text} for text_id, text in texts.items()]
        for name, content in (("examples", rows), ("texts", stored)):
            pq.write_table(pa.Table.from_pylist(content), tmp_path / name)
        return list(texts_of(tmp_path / "examples", tmp_path / "texts"))

    return ask


SAID = {"a": "cash stock", "b": "merger", "c": "buy", "d": "sell"}


def test_texts_of_returns_each_used_text_once(asked):
    found = asked(SAID, ("c",), ("a",), ("c",))
    assert found == alone(a="cash stock", c="buy")


def test_texts_of_returns_each_used_pair_once_and_rejects_a_missing_text(asked):
    found = asked(SAID, ("c", "a"), ("a", None), ("c", "b"), ("c", "a"), ("b", "c"))
    assert found == [
        Text(("a", ""), "cash stock"),
        Text(("b", "c"), "merger", "buy"),
        Text(("c", "a"), "buy", "cash stock"),
        Text(("c", "b"), "buy", "merger"),
    ]
    with pytest.raises(
        BadInput, match=r"texts: the text 'z' of the column pair_id is not there\."
    ):
        asked(SAID, ("a", "z"), ("a", "b"))


def test_a_text_that_is_too_long_is_truncated(folders, tmp_path):
    texts = alone(b="merger " * 5, a="cash stock", c="buy " * 30)
    counts = tokenise(texts, folders["bert"], 10, tmp_path / "tokens.parquet")
    assert counts == {"texts": 3, "cut": 1, "longest": 32}
    tokens = read_tokens(tmp_path / "tokens.parquet")
    assert tokens["a", ""].tolist() == [0, IDS["cash"], IDS["stock"], 2]
    assert tokens["b", ""].tolist() == [0, *[IDS["merger"]] * 5, 2]
    assert tokens["c", ""].tolist() == [0, *[IDS["buy"]] * 8, 2]
    assert [tokens.first((name, "")) for name in "abc"] == [4, 7, 10]
    assert [row["length"] for row in read(tmp_path / "tokens.parquet")] == [7, 4, 32]


def test_the_longer_text_of_a_pair_is_truncated_first(folders, tmp_path):
    texts = [
        Text(("a", "b"), "cash stock", "buy sell"),
        Text(("a", "c"), "cash stock", "buy " * 30),
        Text(("c", "a"), "buy " * 30, "cash stock"),
        Text(("c", "d"), "buy " * 30, "sell " * 30),
        Text(("a", ""), "cash stock"),
    ]
    counts = tokenise(texts, folders["bert"], 11, tmp_path / "tokens.parquet")
    assert counts == {"texts": 5, "cut": 3, "longest": 63}
    tokens = read_tokens(tmp_path / "tokens.parquet")
    cash, stock, buy, sell = (IDS[word] for word in ("cash", "stock", "buy", "sell"))
    assert {
        key: (tokens[key].tolist(), tokens.first(key)) for key in tokens.position
    } == {
        ("a", "b"): ([0, cash, stock, 2, buy, sell, 2], 4),
        ("a", "c"): ([0, cash, stock, 2, *[buy] * 6, 2], 4),
        ("c", "a"): ([0, *[buy] * 6, 2, cash, stock, 2], 8),
        ("c", "d"): ([0, *[buy] * 4, 2, *[sell] * 4, 2], 6),
        ("a", ""): ([0, cash, stock, 2], 4),
    }


def test_a_model_without_token_types_gets_no_second_segment(folders, tmp_path):
    texts = [Text(("a", "b"), "cash stock", "buy sell")]
    for family, first in (
        ("bert", 4),
        ("roberta", 7),
        ("deberta", 7),
        ("modernbert", 7),
    ):
        tokenise(texts, folders[family], 11, tmp_path / family)
        assert read_tokens(tmp_path / family).first(("a", "b")) == first, family


STRANGE = (
    "cash",
    "",
    "  cash   stock\n\n",
    "the Agreement of Delaware governs this law. " * 9,
    " " * 300 + "law",
    "合同双方同意" * 30,
    "a" * 400,
    "e\u0301\u0301\u200b\ufb01 \u00a0™" * 20,
    "<s> </s> [SEP] [MASK] <pad> law" * 8,
    "\U0001f600\ud83d".encode("utf-16", "surrogatepass").decode("utf-16", "ignore"),
)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", ["bert", "roberta", "albert"])
def test_ids_are_those_of_the_tokenizer_alone(kind, side, tmp_path, monkeypatch):
    tokenizer = getattr(tokenizer_kinds, kind)()
    tokenizer.truncation_side = side
    # A tokenizer may come with a truncation and a padding of its own.
    tokenizer.backend_tokenizer.enable_truncation(3)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    monkeypatch.setattr(features, "load_tokenizer", lambda folder: tokenizer)
    monkeypatch.setattr(features, "AT_ONCE", 7)
    folder = tmp_path / "model"
    BertConfig(max_position_embeddings=64).save_pretrained(folder)
    texts = []
    for number, first in enumerate(STRANGE):
        if first.strip():
            texts.append(Text((f"{number}", ""), first))
        for other, second in enumerate(STRANGE):
            if (first + second).strip():
                texts.append(Text((f"{number}", f"{other}"), first, second))
    tokenise(texts, str(folder), 20, tmp_path / "tokens")
    rows = {(row["text_id"], row["pair_id"]): row for row in read(tmp_path / "tokens")}
    assert len(rows) == len(texts) > 90
    options = {"verbose": False, "return_token_type_ids": True}
    lengths = set()
    for text in texts:
        pair = text.text, text.second
        whole = tokenizer(*pair, truncation=False, padding=False, **options)
        cut = tokenizer(*pair, truncation="longest_first", max_length=20, **options)
        row = rows[text.key]
        assert list(row["ids"]) == cut["input_ids"], text
        assert row["length"] == len(whole["input_ids"])
        types = cut["token_type_ids"]
        assert row["first"] == (types.index(1) if 1 in types else len(types))
        lengths.add(row["length"] > 20)
    assert lengths == {True, False}


def test_a_tokenizer_written_in_python_gives_the_same_tokens(tmp_path, monkeypatch):
    tokenizer = tokenizer_kinds.bert()
    texts = [Text(("a", "b"), "cash " * 30, "stock"), Text(("c", ""), "cash")]
    found = {}
    for is_fast in (True, False):
        monkeypatch.setattr(type(tokenizer), "is_fast", is_fast)
        encodings = features._encodings(tokenizer, texts, 9)
        found[is_fast] = [(list(each.ids), each.length) for each in encodings]
    assert found[True] == found[False]
    assert [length for _, length in found[True]] == [34, 3]


def test_tokens_are_written_in_small_row_groups(folders, tmp_path):
    many = (Text((f"{i:04}", ""), "cash " * (1 + i % 7)) for i in range(600))
    path = tmp_path / "tokens.parquet"
    assert tokenise(many, folders["bert"], 10, path)["texts"] == 600
    with pq.ParquetFile(path) as file:
        assert [file.metadata.row_group(i).num_rows for i in range(3)] == [256, 256, 88]
    tokens = read_tokens(path)
    assert all(len(tokens[f"{i:04}", ""]) == 3 + i % 7 for i in range(600))


@pytest.mark.parametrize(
    ("texts", "length", "message"),
    [
        (alone(a=" \n"), 10, "text a: the text is empty"),
        ([Text(("a", "b"), "", " ")], 10, "text a: the text is empty"),
        (alone(a="cash") * 2, 10, r"row 2: the key \('a', ''\) repeats"),
        (alone(a="cash"), 65, "max_length = 65 where the model reads 64 tokens"),
    ],
)
def test_invalid_texts_are_named_in_the_error(
    folders, tmp_path, texts, length, message
):
    # RoBERTa's positions start after that of the padding token.
    with pytest.raises(BadInput, match=message):
        tokenise(texts, folders["roberta"], length, tmp_path / "tokens.parquet")
    assert not (tmp_path / "tokens.parquet").exists()


def test_token_types_of_a_batch_distinguish_the_two_texts_of_a_pair(folders, tmp_path):
    texts = [
        Text(("a", "b"), "cash stock", "buy"),
        Text(("c", ""), "sell"),
        Text(("c", "a"), "sell", "cash"),
    ]
    tokenise(texts, folders["bert"], 10, tmp_path / "tokens.parquet")
    tokens = read_tokens(tmp_path / "tokens.parquet")
    batch = inputs(tokens, [text.key for text in texts], 1)
    assert batch["attention_mask"].tolist() == [
        [1] * 6,
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 1, 0],
    ]
    assert batch["token_type_ids"].tolist() == [
        [0, 0, 0, 0, 1, 1],
        [0] * 6,
        [0, 0, 0, 1, 1, 0],
    ]
    # A single text has no second segment, and its output does not depend on the batch.
    assert "token_type_ids" not in inputs(tokens, [("c", "")], 1)
    model = AutoModel.from_pretrained(folders["bert"]).eval()
    with torch.no_grad():
        among = model(**batch)[0]
        lone = model(**inputs(tokens, [("c", "")], 1))[0]
    assert torch.allclose(among[1, :3], lone[0], atol=1e-6)
