"""Okapi BM25, compared with gensim."""

import random

import numpy as np
import pytest

from helpers.retrieval_hits import gensim_scores
from lextables.models.okapi import OkapiBM25, Paragraphs

WORDS = "a b c d e f g h the rent Rent rent, été a\u0301 \U0001d538x x\u00ady § 1812"
WORDS = WORDS.split(" ")
SPACES = [" ", "  ", "\t", "\u00a0", "\u2003", "\x0b", "\x1c", "\u2028", "\r"]


def text_of(drawn: random.Random, paragraphs: int) -> str:
    lines = []
    for _ in range(paragraphs):
        words = drawn.choices(WORDS, k=drawn.randrange(1, 12))
        lines.append("".join(word + drawn.choice(SPACES) for word in words))
        lines += drawn.choices(["", " ", "\u00a0\t"], k=drawn.randrange(2))
    return "\n".join(lines)


def test_scores_and_choices_equal_gensims_for_any_white_space():
    drawn = random.Random(1)
    for _ in range(60):
        text = text_of(drawn, drawn.randrange(1, 30))
        lines = text.split("\n")
        query = " ".join(drawn.choices([*WORDS, "unknown"], k=drawn.randrange(1, 9)))
        paragraphs = Paragraphs(text)
        expected = gensim_scores(query, lines)
        assert len(paragraphs) == len(lines)
        assert paragraphs.scores(query) == pytest.approx(expected)
        rounded = np.round(expected, 9)
        chosen = sorted(np.argsort(-rounded, kind="stable")[:5].tolist())
        if len(lines) > 5 and len(set(rounded)) == len(rounded):
            assert paragraphs.chosen(query) == chosen
            assert paragraphs.best(query) == "\n".join(lines[at] for at in chosen)


def test_paragraphs_and_okapi_bm25_give_equal_scores():
    drawn = random.Random(2)
    text = text_of(drawn, 40)
    lines = text.split("\n")
    query = "the rent was Rent, a b"
    whole = OkapiBM25(lines).scores(query, range(len(lines)))
    assert Paragraphs(text).scores(query) == pytest.approx(whole)


def test_ties_select_earlier_paragraphs_and_keep_the_order_of_the_text():
    text = "a b\nrent is due\nc d\nrent is due\ne f\nrent is due\ng h\nrent rent due\ni j\nk l\nm n"
    assert Paragraphs(text).chosen("rent", most=3) == [1, 3, 7]
    assert Paragraphs(text).best("rent", most=2) == "rent is due\nrent rent due"


def test_a_word_in_most_paragraphs_has_a_negative_score_as_in_gensim():
    rent, no = ["rent is due"], ["no"]
    lines = [*no, *rent, "no no", *rent, *rent, *no, "rent rent due", *rent]
    expected = gensim_scores("rent", lines)
    assert expected[1] < 0
    scores = Paragraphs("\n".join(lines)).scores("rent")
    assert scores == pytest.approx(expected)


def test_a_query_without_matches_selects_the_first_paragraphs():
    text = "\n".join("abcdefgh")
    assert Paragraphs(text).chosen("zzz") == [0, 1, 2, 3, 4]
    assert Paragraphs(text).chosen("") == [0, 1, 2, 3, 4]


def test_blank_lines_are_paragraphs_as_in_the_released_code():
    # Without the blank lines, "tax" would be in half of the lines and have the score 0.
    text = "rent\n\ntax\n \nrent\ntax\n"
    assert len(Paragraphs(text)) == 7
    scores = Paragraphs(text).scores("tax")
    assert scores == pytest.approx(gensim_scores("tax", text.split("\n")))
    assert scores[2] == scores[5] > 0
    assert scores[1] == scores[0] == 0
    assert Paragraphs(text).chosen("tax", most=3) == [0, 2, 5]
    # The lines before them have the same score.
    assert Paragraphs(text).best("tax", most=4) == "rent\n\ntax\ntax"


@pytest.mark.parametrize(
    "text", ["", "\n \n", "\n \n\n\n\n\n\n", "one", " a\n\nb\nc \n e"]
)
def test_a_text_with_few_paragraphs_or_words_is_returned_unchanged(text):
    assert Paragraphs(text).best("a b") == text


@pytest.mark.parametrize("text", ["", "one", " a\n\nb\nc \n e"])
def test_all_of_a_few_paragraphs_are_chosen(text):
    assert Paragraphs(text).chosen("a b") == list(range(len(Paragraphs(text))))
