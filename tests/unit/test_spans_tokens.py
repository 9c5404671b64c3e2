"""Tokens and words of a contract, and tokens of an answer."""

import numpy as np
import pytest
from transformers import AlbertTokenizer

from helpers.tokenizer_kinds import QUESTION, albert, bert, roberta
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import tokens as span_tokens
from lextables.tasks.spans.tokens import (
    MAX_CHARACTERS,
    Words,
    answer_tokens,
    layout,
    question_ids,
    tokenise,
)

TOKENIZERS = {"bert": bert(), "roberta": roberta(), "albert": albert()}
BERT = TOKENIZERS["bert"]
each_tokenizer = pytest.mark.parametrize(
    "tokenizer", TOKENIZERS.values(), ids=TOKENIZERS
)


@pytest.mark.parametrize(
    ("name", "prefix", "middle", "suffix", "contract_type"),
    [
        ("bert", ["[CLS]"], ["[SEP]"], ["[SEP]"], 1),
        ("roberta", ["<s>"], ["</s>", "</s>"], ["</s>"], 0),
        ("albert", ["[CLS]"], ["[SEP]"], ["[SEP]"], 1),
    ],
)
def test_layout(name, prefix, middle, suffix, contract_type):
    tokenizer = TOKENIZERS[name]
    found = layout(tokenizer)
    for ids, tokens in (
        (found.prefix, prefix),
        (found.middle, middle),
        (found.suffix, suffix),
    ):
        assert tokenizer.convert_ids_to_tokens(list(ids)) == tokens
    assert (found.question_type, found.contract_type) == (0, contract_type)
    assert found.special == len(prefix + middle + suffix)


@pytest.mark.parametrize(
    ("pair", "fault"),
    [
        (
            "$A:0 [SEP]:0 $B:1 [SEP]:1 [CLS]:2",
            "does not begin sequences with its classification token",
        ),
        (
            "[SEP]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            "does not begin sequences with its classification token",
        ),
        (
            "[CLS]:0 $B:0 [SEP]:0 $A:1 [SEP]:1",
            "puts the second text of a pair before the first",
        ),
    ],
)
def test_unsupported_tokenizers_are_rejected(pair, fault):
    with pytest.raises(BadInput, match=fault):
        layout(albert(pair=pair))


def test_slow_tokenizers_are_rejected():
    class Slow:
        is_fast = False

    with pytest.raises(
        BadInput, match="Slow: the tokenizer does not report the characters"
    ):
        layout(Slow())


def test_no_space_is_added_before_a_text_that_begins_with_white_space():
    """As in RoBERTa's slow tokenizer, for every kind of white space."""
    tokenizer = TOKENIZERS["roberta"]
    text = "\u00a0law of"
    tokens = tokenise(tokenizer, text, "a contract")
    names = tokenizer.convert_ids_to_tokens(tokens.ids.tolist())
    assert "".join(names).count("Ġ") == 1
    assert "".join(names) == "ÂłlawĠof"
    assert tokens.ends[-1] == len(text)


@each_tokenizer
def test_tokens_are_slices_of_the_text_without_surrounding_white_space(tokenizer):
    text = "  The agreement\n\nof\tDelaware \u202f Büro governs. "
    tokens = tokenise(tokenizer, text, "a contract")
    pieces = [
        text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)
    ]
    assert all(piece == piece.strip() for piece in pieces)
    assert tokens.ids.dtype == tokens.starts.dtype == tokens.ends.dtype == np.int32
    covered = set()
    for start, end in zip(tokens.starts, tokens.ends, strict=True):
        covered.update(range(start, end))
    assert covered == {at for at, letter in enumerate(text) if not letter.isspace()}


@each_tokenizer
def test_tokens_do_not_depend_on_white_space_or_neighbouring_words(
    tokenizer, monkeypatch
):
    text = "The law of the agreement of the law, the law."
    plain = tokenise(tokenizer, text, "a contract")
    spaced = tokenise(tokenizer, text.replace(" ", " \r\n \t\u202f"), "a contract")
    alone = [tokenise(tokenizer, word, "a word").ids for word in text.split()]
    assert plain.ids.tolist() == spaced.ids.tolist() == np.concatenate(alone).tolist()
    monkeypatch.setattr(span_tokens, "_WORDS_A_CALL", 3)
    in_parts = tokenise(tokenizer, text, "a contract")
    for name in ("ids", "starts", "ends"):
        assert getattr(in_parts, name).tolist() == getattr(plain, name).tolist()


def test_an_earlier_call_with_truncation_does_not_truncate_a_contract():
    tokenizer = bert()
    tokenizer(
        "one two three four five", truncation=True, max_length=4, padding="max_length"
    )
    assert len(tokenise(tokenizer, "a b " * 20, "a contract")) == 40


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "",
            "contracts.parquet, row 1: the contract is empty; give its text or leave it out",
        ),
        (" \n\t ", "the contract is empty"),
        ("\u200b", "the contract is empty"),  # BERT's tokenizer drops it
        (
            "a" * (MAX_CHARACTERS + 1),
            "has 5,000,001 characters, more than the maximum of 5,000,000",
        ),
    ],
)
def test_empty_and_too_long_contracts_are_rejected(text, fault):
    with pytest.raises(BadInput, match=fault):
        tokenise(BERT, text, "contracts.parquet, row 1")


def test_long_questions_are_truncated_at_the_end():
    ids = question_ids(BERT, QUESTION, 4)
    assert BERT.convert_ids_to_tokens(ids.tolist()) == [
        "highlight",
        "the",
        "parts",
        "(",
    ]
    assert len(question_ids(BERT, QUESTION, 64)) == 10


# Answer tokens from squad_convert_example_to_features in transformers 4.57.6, with slow
# tokenizers of the same vocabularies; None if it creates no example.
ANSWERS = [
    ("bert", "a nonrenewal clause", "renewal", ["non", "##ren", "##ew", "##al"]),
    ("bert", "law of Delaware", " of ", ["of"]),
    ("bert", "law of Delaware", " ", ["law"]),
    ("bert", "(the “Agreement”)", "Agreement", ["agreement"]),
    ("bert", "MetLife, Inc. (“MetLife”)", "MetLife", ["met", "##life"]),
    ("bert", "the law of\u00a0Delaware", "of\u00a0Delaware", None),
    ("bert", "the law of\u00a0Delaware", "Delaware", ["delaware"]),
    ("bert", " law", " ", None),
    ("roberta", "law of Delaware", " Delaware", ["ĠDe", "laware"]),
    ("roberta", "law § Delaware", "§", ["Â", "§"]),
    ("roberta", "(the “Agreement”)", "Agreement", ["Agreement"]),
    (
        "roberta",
        "Acme-Widgets, Inc. (“Acme”)",
        "Acme",
        ["ĠAcm", "e", "-", "Wi", "dg", "ets", ","],
    ),
    ("roberta", "the Agreements", "Agreement", ["ĠAgreement", "s"]),
    ("roberta", "(the Agreement)", "(the Agreement)", ["Ġ(", "the", "ĠAgreement", ")"]),
    ("roberta", "the(Agreement)", "(Agreement)", ["(", "Agreement", ")"]),
    ("roberta", "the law of\u00a0Delaware", "of\u00a0Delaware", None),
    ("roberta", "law  of\nthe Agreement", "of\nthe", ["Ġof", "Ġthe"]),
    ("roberta", "law  of\nthe Agreement", "\nthe", ["Ġof", "Ġthe"]),
    # Computed by the rule of the released conversion, which itself would need a
    # SentencePiece model.
    ("albert", "law ∀s of", "∀s", ["▁", "<unk>", "s"]),
    ("albert", "the Agreements", "Agreement", ["▁agree", "ment"]),
    ("albert", "law ∀∃s of", "∃s", ["▁", "<unk>", "s"]),
]


@pytest.mark.parametrize(("name", "text", "answer", "expected"), ANSWERS)
def test_tokens_of_an_answer_equal_those_of_the_released_conversion(
    name, text, answer, expected
):
    tokenizer = TOKENIZERS[name]
    tokens = tokenise(tokenizer, text, "a contract")
    start = text.index(answer)
    found = answer_tokens(
        tokenizer, text, tokens, Words.of(text, tokens), start, start + len(answer)
    )
    if expected is None:
        assert found is None
    else:
        first, last = found
        assert (
            tokenizer.convert_ids_to_tokens(tokens.ids[first : last + 1].tolist())
            == expected
        )


@each_tokenizer
def test_words_and_their_tokens(tokenizer):
    text = "\tThe\u200b \u200d law\u00a0of\n Delaware "
    tokens = tokenise(tokenizer, text, "a contract")
    words = Words.of(text, tokens)
    assert [
        text[start:end] for start, end in zip(words.starts, words.ends, strict=True)
    ] == ["The\u200b", "\u200d", "law\u00a0of", "Delaware"]
    assert words.token_from[0] == 0 and words.token_from[-1] == len(tokens)
    for word, (start, end) in enumerate(zip(words.starts, words.ends, strict=True)):
        for token in range(words.token_from[word], words.token_from[word + 1]):
            assert start <= tokens.starts[token] <= tokens.ends[token] <= end
    # White space belongs to the word before it.
    assert words.of_characters(0, 1) == (-1, -1)
    assert words.of_characters(5, 6) == (0, 0)
    assert words.of_characters(4, 9) == (0, 2)
    # BERT's tokenizer drops a word that is only a zero-width joiner.
    assert (words.token_from[1] == words.token_from[2]) == (
        tokenizer is TOKENIZERS["bert"]
    )


def test_albert_makes_a_comma_after_a_digit_a_separate_token():
    special = ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    pieces = ["▁1,", "▁1", "▁", "1", "0", "000,", ",", "▁law,", "▁may", "▁,"]
    tokenizer = AlbertTokenizer(
        vocab=[(piece, -float(at)) for at, piece in enumerate([*special, *pieces])]
    )
    text = "may 1, 1,000, law, ,"
    tokens = tokenise(tokenizer, text, "a contract")
    # As in the slow tokenizer of transformers 4, which tokenizes 000 again after
    # separating its comma.
    assert [
        (name, text[start:end])
        for name, start, end in zip(
            tokenizer.convert_ids_to_tokens(tokens.ids.tolist()),
            tokens.starts,
            tokens.ends,
            strict=True,
        )
    ] == [
        ("▁may", "may"),
        ("▁1", "1"),
        (",", ","),
        ("▁1", "1"),
        (",", ","),
        ("0", "0"),
        ("0", "0"),
        ("0", "0"),
        (",", ","),
        ("▁law,", "law,"),
        ("▁,", ","),
    ]
    assert tokenizer.convert_ids_to_tokens(
        question_ids(tokenizer, "may 1,", 9).tolist()
    ) == ["▁may", "▁1", ","]
