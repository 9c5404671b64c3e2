"""The text of a span equals the output of get_final_text in transformers 4.57.6.

The expected values were computed from the words of the span, joined by spaces, and from
its tokens, joined by the slow tokenizers (convert_tokens_to_string) or, for
SentencePiece, with U+2581 replaced by a space.
"""

import hashlib

import pytest

from helpers.tokenizer_kinds import albert, bert, roberta
from helpers.wordpiece import wordpiece
from lextables.tasks.spans.inference import FinalText, Spelling, basic_words
from lextables.tasks.spans.squad import collapsed
from lextables.tasks.spans.tokens import tokenise

TOKENIZERS = {"bert": bert(), "roberta": roberta(), "albert": albert()}
TEXTS = [
    "MetLife, Inc. (“MetLife”)",
    "Acme-Widgets,\n Inc.",
    "NaN-nan term",
    "Bü\u00adro Nord",
    "Büro  Nord",
    "law\u00a0of Delaware's",
    "\u0958ab\u00ad Nord",
    "合同 law",
    "§ 2 law",
    "The\u200b \u200d law",
    "law ∀s of agreement",
    "e\u0301tude (café) İd",
    "[UNK] ## x#y",
    "A.B.C. Ltd.\u202fnorm",
    "straße ﬁne",
]


def contract(kind: str, text: str) -> FinalText:
    tokens = tokenise(TOKENIZERS[kind], text, "a contract")
    return FinalText(Spelling(TOKENIZERS[kind]), text, tokens)


def released(kind: str, text: str, tokens: list[str]) -> str:
    """The released text of the first span of ``text`` with these tokens."""
    final_text = contract(kind, text)
    names = TOKENIZERS[kind].convert_ids_to_tokens(final_text.tokens.ids.tolist())
    first = next(
        at for at in range(len(names)) if names[at : at + len(tokens)] == tokens
    )
    start, end = final_text.place(first, first + len(tokens) - 1)
    return collapsed(text[start:end])


@pytest.mark.parametrize(
    ("kind", "text", "tokens", "expected"),
    [
        # BERT's tokens come from the basic tokenizer, so a span is found ...
        ("bert", TEXTS[0], ["met", "##life"], "MetLife"),
        ("bert", TEXTS[0], ["(", "“", "met"], "(“Met"),
        ("bert", TEXTS[1], ["wi", "##dgets", ",", "inc"], "Widgets, Inc"),
        ("bert", TEXTS[11], ["cafe"], "café"),
        # ... except if it begins inside a word or contains an unknown character.
        ("bert", TEXTS[0], ["##life", ","], "MetLife,"),
        ("bert", TEXTS[10], ["law", "[UNK]"], "law ∀s"),
        # If a text occurs several times, the first occurrence is returned.
        ("bert", TEXTS[2], ["-", "nan"], "-nan"),
        ("bert", TEXTS[2], ["nan"], "NaN"),
        # No alignment: the basic tokenizer drops characters, or white space does not
        # separate words.
        ("bert", TEXTS[3], ["bu", "##ro"], "Bü\u00adro"),
        ("bert", TEXTS[5], ["law"], "law\u00a0of"),
        ("bert", TEXTS[9], ["the"], "The\u200b"),
        # RoBERTa's tokens are found only if no punctuation is next to a word.
        ("roberta", TEXTS[4], ["ĠBÃ", "¼ro"], "Büro"),
        ("roberta", TEXTS[4], ["ĠBÃ", "¼ro", "ĠNo", "rd"], "Büro Nord"),
        ("roberta", TEXTS[1], ["Wi", "dg", "ets"], "Widgets"),
        ("roberta", TEXTS[1], ["Wi", "dg", "ets", ","], "Acme-Widgets,"),
        ("roberta", TEXTS[1], ["Wi", "dg", "ets", ",", "ĠIn"], "Acme-Widgets, Inc."),
        # Half a character, and a single space.
        ("roberta", TEXTS[8], ["Â"], "§"),
        ("roberta", TEXTS[2], ["Ġ"], "NaN-nan"),
        # An added and a removed character cancel out, and the text between them is
        # shifted by one.
        ("roberta", TEXTS[6], ["a"], "b"),
        ("albert", TEXTS[4], ["▁", "b", "u"], "Bü"),
        ("albert", TEXTS[10], ["▁agree", "ment"], "agreement"),
        ("albert", TEXTS[10], ["▁law", "▁"], "law"),
        ("albert", TEXTS[10], ["<unk>", "s"], "∀s"),
        ("albert", TEXTS[11], ["i"], "İ"),
    ],
)
def test_the_text_of_a_span_equals_the_released_text(kind, text, tokens, expected):
    assert released(kind, text, tokens) == expected


@pytest.mark.parametrize(
    ("kind", "spans", "digest"),
    [
        (
            "bert",
            267,
            "9369d12bfe9e781b0b2c3655a0e0bdbc6a4f2fe35a6f17462701ec864ab73309",
        ),
        (
            "roberta",
            1078,
            "344e80ede106292e3c45d8b15b05b7985dce3adea40a6cc02014b5b58db9c25e",
        ),
        (
            "albert",
            1287,
            "14ac334ac81be1fda0807a1097b74167b828e26a2f6763ae608fc8bca2308bef",
        ),
    ],
)
def test_the_texts_of_all_spans_equal_the_released_ones(kind, spans, digest):
    found = []
    for text in TEXTS:
        one = contract(kind, text)
        for first in range(len(one.tokens)):
            for last in range(first, len(one.tokens)):
                start, end = one.place(first, last)
                found.append(collapsed(text[start:end]))
    assert len(found) == spans
    assert hashlib.sha256("\n".join(found).encode()).hexdigest() == digest


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_marked_span_stays_within_its_words(kind, text):
    one = contract(kind, text)
    for first in range(len(one.tokens)):
        for last in range(first, len(one.tokens)):
            start, end = one.marked(first, last)
            assert text[start:end].strip() == text[start:end] != ""
            low = text.rfind(" ", 0, int(one.tokens.starts[first])) + 1
            assert low <= start and end <= len(text)


def test_text_is_not_lowercased_for_a_cased_tokenizer():
    tokenizer = wordpiece(["Law", "law", ","])
    text = "Law, law"
    one = FinalText(Spelling(tokenizer), text, tokenise(tokenizer, text, "a contract"))
    assert one.place(2, 2) == (5, 8)
    assert not Spelling(tokenizer).lower and Spelling(TOKENIZERS["bert"]).lower


@pytest.mark.parametrize(
    ("word", "lower", "expected"),
    [
        ("(U.S.A.)", False, ["(", "U", ".", "S", ".", "A", ".", ")"]),
        ("Café", True, ["cafe"]),
        ("Cafe\u0301", False, ["Café"]),
        ("a\u00a0b\u0085c", False, ["a", "bc"]),
        ("合同x", False, ["合", "同", "x"]),
        ("$5^2`", False, ["$", "5", "^", "2", "`"]),
        ("–½€", False, ["–", "½€"]),
        ("\u200b\ufffd\x00", False, []),
        ("ΑΣ", True, ["ας"]),
    ],
)
def test_basic_words_equal_those_of_the_basic_tokenizer(word, lower, expected):
    assert basic_words(word, lower) == expected
