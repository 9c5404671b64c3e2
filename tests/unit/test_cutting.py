"""A text that is cut before it is tokenised has the same first tokens."""

import random
import re
from types import SimpleNamespace

import pytest
from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers

from helpers import tokenizer_kinds
from lextables import ROOT
from lextables.models import cutting
from lextables.models.cutting import cut, is_cuttable

KINDS = ("bert", "roberta", "albert")
PROSE = (ROOT / "resources/sample/caselaw/opinions.toml").read_text(encoding="utf-8")
PIECES = (
    *(
        "law ",
        "a",
        "1 ",
        "the law of Delaware",
        " ",
        " " * 40,
        "\n\n",
        "\t",
        ".",
        "§ 12",
    ),
    *("合同", "契約 ", "e\u0301", "\u0301" * 9, "ﬁ", "\u00a0", "\u200b", "™", "\u202f"),
    *("[SEP]", "<s>", "</s> ", " [MASK]", "<pad>", "😀", "Σ", "ΑΣ ", "İ", "x" * 60),
)


def strange_text(number):
    """A random text of strange pieces."""
    draw = random.Random(number)
    pieces = draw.sample(PIECES, draw.randint(1, 6))
    return "".join(draw.choices(pieces, k=draw.randint(1, 200)))


def texts():
    """Parts of opinions, and texts that are hard to split."""
    found = [PROSE[start : start + 3000] for start in range(0, 60_000, 1500)]
    found += [strange_text(number) for number in range(400)]
    return [*found, *PIECES, "", "ab " * 3000, "a" * 5000, " " * 5000]


@pytest.mark.parametrize("tokens", [6, 12, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_the_tokens_of_a_cut_text_are_the_first_of_the_whole(kind, tokens, monkeypatch):
    tokenizer = getattr(tokenizer_kinds, kind)()
    assert is_cuttable(tokenizer)
    monkeypatch.setattr(cutting, "CHARACTERS", 3)
    were_cut = 0
    for text in texts():
        part = cut(text, tokens)
        assert text.startswith(part)
        were_cut += part != text
        ids = tokenizer(part, add_special_tokens=False, verbose=False)["input_ids"]
        whole = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        assert ids == whole[: len(ids)], (text, part)
    assert were_cut > 50


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc def ghi jkl", "abc def"),  # within 8 characters
        ("abcdefgh", "abcdefgh"),
        ("abcdefgh ij", "abcdefgh ij"),  # the space is behind the limit
        ("abc  defgh ij", "abc  defgh ij"),  # two spaces
        ("abc. defgh ij", "abc. defgh ij"),
        ("abé defgh ij", "abé defgh ij"),
        ("ab a\u0301 defgh", "ab a\u0301 defgh"[:2]),
        (" bcdefgh ij", " bcdefgh ij"),
    ],
)
def test_a_text_is_cut_at_a_space_between_words(text, expected):
    assert cut(text, 1) == expected


def test_a_text_is_not_searched_for_a_space_over_its_whole_length():
    assert cut("ab cd" + "x" * 9000 + " e", 1000) != "ab"


def changed(kind, change):
    tokenizer = getattr(tokenizer_kinds, kind)()
    change(tokenizer, tokenizer.backend_tokenizer)
    return tokenizer


def setter(name, value):
    return lambda tokenizer, backend: setattr(backend, name, value)


SEQUENCE = pre_tokenizers.Sequence(
    [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
)
LATE = pre_tokenizers.Sequence(
    [pre_tokenizers.Digits(), pre_tokenizers.WhitespaceSplit()]
)


@pytest.mark.parametrize(
    ("kind", "change", "expected"),
    [
        ("albert", setter("pre_tokenizer", SEQUENCE), True),
        ("albert", setter("pre_tokenizer", LATE), False),
        (
            "albert",
            setter("pre_tokenizer", pre_tokenizers.Metaspace(split=False)),
            False,
        ),
        (
            "albert",
            setter("normalizer", normalizers.Replace(Regex(" {2,}"), " ")),
            True,
        ),
        ("albert", setter("normalizer", normalizers.Replace(Regex("a.*"), " ")), False),
        ("albert", setter("normalizer", normalizers.Replace("``", '"')), True),
        ("albert", setter("normalizer", normalizers.Replace("a b", "c")), False),
        (
            "roberta",
            setter("pre_tokenizer", pre_tokenizers.ByteLevel(use_regex=False)),
            False,
        ),
        (
            "bert",
            lambda tokenizer, _: setattr(tokenizer, "truncation_side", "left"),
            False,
        ),
        ("bert", lambda tokenizer, _: tokenizer.add_tokens(["of the"]), False),
        (
            "bert",
            lambda tokenizer, _: tokenizer.add_tokens([AddedToken("x", lstrip=True)]),
            False,
        ),
    ],
)
def test_only_tokenizers_that_split_at_spaces_are_cuttable(kind, change, expected):
    assert is_cuttable(changed(kind, change)) is expected


def test_a_tokenizer_written_in_python_is_not_cuttable():
    assert not is_cuttable(SimpleNamespace(is_fast=False, truncation_side="right"))


def test_pieces_have_an_ascii_boundary():
    assert re.search("[a-z0-9] [a-z0-9]", "".join(PIECES))
