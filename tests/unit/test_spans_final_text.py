"""The text of a span, held to what transformers 4.57.6's get_final_text gives.

The oracle read the spans' tokens as its slow tokenizers write them out (convert_tokens_to_string), or for
SentencePiece with U+2581 as a blank, and the words of the span joined by blanks.
"""

import hashlib

import pytest

from lextables.tasks.spans.reading import FinalText, Spelling, basic_words
from lextables.tasks.spans.squad import collapsed
from lextables.tasks.spans.tokens import tokenise
from tokenizer_kinds import albert, bert, roberta
from wordpiece import wordpiece

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
    found = contract(kind, text)
    names = TOKENIZERS[kind].convert_ids_to_tokens(found.tokens.ids.tolist())
    first = next(at for at in range(len(names)) if names[at : at + len(tokens)] == tokens)
    start, end = found.place(first, first + len(tokens) - 1)
    return collapsed(text[start:end])


@pytest.mark.parametrize(
    ("kind", "text", "tokens", "expected"),
    [
        # BERT's tokens are those of the basic tokenizer, so that a span is found ...
        ("bert", TEXTS[0], ["met", "##life"], "MetLife"),
        ("bert", TEXTS[0], ["(", "“", "met"], "(“Met"),
        ("bert", TEXTS[1], ["wi", "##dgets", ",", "inc"], "Widgets, Inc"),
        ("bert", TEXTS[11], ["cafe"], "café"),
        # ... but for one that begins within a word, or holds an unknown character.
        ("bert", TEXTS[0], ["##life", ","], "MetLife,"),
        ("bert", TEXTS[10], ["law", "[UNK]"], "law ∀s"),
        # Of places alike the first is taken.
        ("bert", TEXTS[2], ["-", "nan"], "-nan"),
        ("bert", TEXTS[2], ["nan"], "NaN"),
        # Characters that the basic tokenizer drops, and white space that parts no words, leave no alignment.
        ("bert", TEXTS[3], ["bu", "##ro"], "Bü\u00adro"),
        ("bert", TEXTS[5], ["law"], "law\u00a0of"),
        ("bert", TEXTS[9], ["the"], "The\u200b"),
        # RoBERTa's tokens are found only where no mark stands beside a word.
        ("roberta", TEXTS[4], ["ĠBÃ", "¼ro"], "Büro"),
        ("roberta", TEXTS[4], ["ĠBÃ", "¼ro", "ĠNo", "rd"], "Büro Nord"),
        ("roberta", TEXTS[1], ["Wi", "dg", "ets"], "Widgets"),
        ("roberta", TEXTS[1], ["Wi", "dg", "ets", ","], "Acme-Widgets,"),
        ("roberta", TEXTS[1], ["Wi", "dg", "ets", ",", "ĠIn"], "Acme-Widgets, Inc."),
        # Half a character, and a blank alone.
        ("roberta", TEXTS[8], ["Â"], "§"),
        ("roberta", TEXTS[2], ["Ġ"], "NaN-nan"),
        # One character more and one less cancel out, and what lies between is off by one.
        ("roberta", TEXTS[6], ["a"], "b"),
        ("albert", TEXTS[4], ["▁", "b", "u"], "Bü"),
        ("albert", TEXTS[10], ["▁agree", "ment"], "agreement"),
        ("albert", TEXTS[10], ["▁law", "▁"], "law"),
        ("albert", TEXTS[10], ["<unk>", "s"], "∀s"),
        ("albert", TEXTS[11], ["i"], "İ"),
    ],
)
def test_released_text(kind, text, tokens, expected):
    assert released(kind, text, tokens) == expected


@pytest.mark.parametrize(
    ("kind", "spans", "digest"),
    [
        ("bert", 267, "9369d12bfe9e781b0b2c3655a0e0bdbc6a4f2fe35a6f17462701ec864ab73309"),
        ("roberta", 1078, "344e80ede106292e3c45d8b15b05b7985dce3adea40a6cc02014b5b58db9c25e"),
        ("albert", 1287, "14ac334ac81be1fda0807a1097b74167b828e26a2f6763ae608fc8bca2308bef"),
    ],
)
def test_every_span_of_the_texts(kind, spans, digest):
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
def test_a_slice_is_within_the_words_of_its_span(kind, text):
    one = contract(kind, text)
    for first in range(len(one.tokens)):
        for last in range(first, len(one.tokens)):
            start, end = one.marked(first, last)
            assert text[start:end].strip() == text[start:end] != ""
            low = text.rfind(" ", 0, int(one.tokens.starts[first])) + 1
            assert low <= start and end <= len(text)


def test_a_tokenizer_that_keeps_capitals_is_not_lowered():
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
def test_basic_words(word, lower, expected):
    assert basic_words(word, lower) == expected
