"""Texts and tokens of examples under views.

A view names the column of an example that is the text, and the column that is the other
text of a pair; a side may be blank.
"""

import shutil

import pytest

from helpers import tiny_encoders, tokenizer_kinds
from helpers.viewed_examples import (
    ALONE,
    BLANK_FIRST,
    LONG,
    SHORT,
    examples,
    texts_by_id,
    write_files,
)
from lextables.tasks.classification.examples import Text, key_of, texts_of, under_view
from lextables.tasks.classification.features import read_tokens, tokenise
from lextables.tasks.classification.inference import inputs
from lextables.tasks.classification.settings import View

BLANK_SECOND = View(text="short", pair="blank")


@pytest.fixture
def files(tmp_path):
    return write_files(tmp_path)


def test_texts_of_all_views_are_returned_once_in_the_order_of_the_texts(files):
    texts = texts_by_id()
    hypotheses = []  # alone
    pairs = []  # of a premise and a hypothesis
    for name, text in texts.items():
        if name.startswith("h"):
            hypotheses.append(Text((name, ""), text))
            continue
        for hypothesis in ("h0", "h1", "h2", "h3"):
            pairs.append(Text((name, hypothesis), text, texts[hypothesis]))
    assert list(texts_of(*files, [ALONE, ALONE])) == hypotheses
    assert list(texts_of(*files, [SHORT, ALONE, LONG])) == [*pairs, *hypotheses]


def test_a_view_with_a_blank_side_pairs_each_text_with_a_space(files):
    texts = texts_by_id()
    pairs = []
    for name in ("s3", "s2", "s1", "s0"):  # in the order of the texts
        pairs.append(Text((name, "blank"), texts[name], " "))
    for name in ("h0", "h1", "h2", "h3"):
        pairs.append(Text(("blank", name), " ", texts[name]))
    assert list(texts_of(*files, [BLANK_FIRST, BLANK_SECOND])) == pairs


def test_no_text_is_paired_with_a_space_if_no_view_has_a_blank_side(files):
    for text in texts_of(*files, [SHORT, ALONE]):
        assert "blank" not in text.key


def test_the_key_of_an_example_has_the_id_blank_for_a_blank_side():
    row = examples()[0]
    assert key_of(row, BLANK_FIRST) == ("blank", row["hypothesis"])
    assert key_of(row, BLANK_SECOND) == (row["short"], "blank")
    (row_under_view,) = under_view([row], BLANK_SECOND)
    assert row_under_view["text_id"] == row["short"]
    assert row_under_view["pair_id"] == "blank"


@pytest.mark.parametrize("make", [tokenizer_kinds.roberta, tokenizer_kinds.bert])
def test_the_tokens_of_a_side_alone_are_those_of_a_pair_with_a_space(
    files, folders, tmp_path, make
):
    """As in the released code: ``tokenizer(" ", hypothesis)`` and ``tokenizer(premise,
    " ")``.
    """
    tokenizer = make()
    folder = tmp_path / "encoder"
    is_bert = make is tokenizer_kinds.bert
    shutil.copytree(folders["bert" if is_bert else "roberta"], folder)
    tokenizer.model_max_length = 60
    tokenizer.save_pretrained(folder)
    views = [BLANK_FIRST, BLANK_SECOND]
    tokenise(texts_of(*files, views), folder, 60, tmp_path / "tokens.parquet")
    tokens = read_tokens(tmp_path / "tokens.parquet")
    texts = texts_by_id()
    start, end = tokenizer.cls_token_id, tokenizer.sep_token_id
    # BERT drops the space; RoBERTa has a token for it, and two separators.
    space = [] if is_bert else [tokenizer.convert_tokens_to_ids("Ġ")]
    separator = [end] if is_bert else [end, end]
    for key in (("blank", "h0"), ("s0", "blank")):
        pair = [" " if name == "blank" else texts[name] for name in key]
        first, second = (
            space
            if text == " "
            else tokenizer(text, add_special_tokens=False)["input_ids"]
            for text in pair
        )
        expected = [start, *first, *separator, *second, end]
        of_pair = tokenizer(*pair)
        assert tokens[key].tolist() == expected == of_pair["input_ids"]
        segments = inputs(tokens, [key], 0).get("token_type_ids")
        if is_bert:
            assert segments.tolist()[0] == of_pair["token_type_ids"]
        else:
            assert segments is None


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """{architecture: the folder of a tiny encoder}."""
    return tiny_encoders.save(tmp_path_factory.mktemp("encoders"))
