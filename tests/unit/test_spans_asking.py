"""Span extraction by a language model: pieces of contracts, quotes, and counts of
answers.
"""

import itertools
import re
from itertools import pairwise

import pytest

from helpers.fake_language_model import FakeModel
from lextables.models.language_model import Message
from lextables.models.prompts import Template
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.asking import (
    AskingSettings,
    Extracted,
    Reader,
    asked_questions,
    nbest,
    parts,
    quotes,
    where,
)

CLAUSE = Template(
    (Message("user", "${fence}\n${text}\n${fence}\n${question}\nQuote it."),)
)
PRESENCE = Template(
    (Message("user", "${fence}\n${text}\n${fence}\n${question}\nYes or No?"),)
)
TEXT = "The term is\n two  years. The law of Delaware governs. Nobody may assign this."
LAW = {
    "question_id": "c__Law",
    "contract_id": "c",
    "question": "Which law?",
    "split": "test",
}
TERM = {
    "question_id": "c__Term",
    "contract_id": "c",
    "question": "Which term?",
    "split": "test",
}
SETTINGS = AskingSettings(
    model="fake",
    weights="fake",
    revision=None,
    found="here",
    kind="language-model",
    clause=CLAUSE.plain(),
    presence=PRESENCE.plain(),
    words=1000,
    tokens=20,
    least=0.01,
    n_best=2,
)
ANSWERS = {
    "Which law?": "The law of Delaware governs.",
    "Which term?": '- "The term is two years."',
}


def question_of(text):
    """Return the question of a prompt, which follows the fenced text."""
    return re.search(r"Which \w+\?", text.split("=====")[-1])[0]


def read(model, questions=(LAW, TERM), text=TEXT, **settings):
    chosen = SETTINGS.model_copy(update=settings)
    reader, found = Reader(model, chosen), Extracted()
    for piece in reader.pieces("c", text, questions):
        reader.read(piece, text, questions, found)
    return found


def knows(text, seed=0):
    """Write the answer of `ANSWERS` if the prompt's piece has it, else NONE."""
    answer = ANSWERS[question_of(text)]
    return answer if where(answer, text.split("=====")[1]) else "NONE"


def sure(text):
    """Return probabilities of Yes and No: Yes is likely where `knows` has an answer."""
    return (
        {"Yes": 0.8, " No": 0.2}
        if knows(text) != "NONE"
        else {"No": 0.999, "Yes": 0.001}
    )


def test_quotes_become_spans_with_the_probability_of_yes():
    answers = read(FakeModel(sure, knows))
    ((start, end),) = answers.spans["c__Law"]
    assert TEXT[start:end] == "The law of Delaware governs."
    ((start, end),) = answers.spans["c__Term"]
    assert TEXT[start:end] == "The term is\n two  years."
    assert answers.spans["c__Law"] == {(25, 53): pytest.approx(0.8)}
    assert answers.counts == {
        "requests": 4,
        "answered": 4,
        "quotes": 2,
        "unanswered": 0,
        "unparseable": 0,
        "cut_answers": 0,
    }


def test_without_probabilities_a_quote_has_probability_1():
    assert [*read(FakeModel(None, knows)).spans["c__Law"].values()] == [1.0]


def test_no_quote_is_requested_if_the_answer_is_almost_certainly_no():
    model = FakeModel(lambda text: {"No": 0.9999}, knows)
    assert not read(model).spans and model.written == []


@pytest.mark.parametrize(("least", "asked"), [(0.5, True), (0.51, False)])
def test_a_quote_is_requested_from_the_least_probability_on(least, asked):
    model = FakeModel(lambda text: {"Yes": 0.5, "No": 0.5}, knows)
    assert bool(read(model, [LAW], least=least).spans) == asked


def test_quotes_that_are_not_in_the_contract_are_counted():
    model = FakeModel(
        sure,
        lambda text, seed: "The law of France governs.\n\nThe law of Delaware governs.",
    )
    answers = read(model, [LAW])
    assert len(answers.spans["c__Law"]) == 1
    assert (answers.counts["quotes"], answers.counts["unparseable"]) == (2, 1)


def test_answers_other_than_yes_and_no_give_no_spans_and_are_counted():
    answers = read(
        FakeModel(lambda text: {"As": 1.0}, lambda text, seed: "As a model, I cannot.")
    )
    assert not answers.spans and answers.counts["unanswered"] == 2


def test_a_long_contract_is_read_in_pieces_that_fit_the_window():
    text = "Nothing is said here at all. " * 40 + TEXT
    model = FakeModel(sure, knows, window=80)
    answers = read(model, [LAW], text=text)
    ((start, end),) = answers.spans["c__Law"]
    assert text[start:end] == "The law of Delaware governs."
    assert len(model.weighed) > 5
    assert all(
        model.tokens(prompt) + 20 <= 80 for prompt in [*model.weighed, *model.written]
    )


def test_a_window_that_is_too_small_raises_before_any_request():
    model = FakeModel(sure, knows, window=25)
    with pytest.raises(
        BadInput, match="fake: a question and one word do not fit its window"
    ):
        read(model)
    assert model.weighed == []


def test_pieces_overlap_and_contain_every_word():
    text = " ".join(f"w{number}" for number in range(1000))
    found = [text[start:end].split() for start, end in parts(text, 300)]
    assert all(len(words) <= 300 for words in found)
    words = itertools.chain.from_iterable(found)
    assert list(dict.fromkeys(words)) == text.split()
    assert all(first[-75:] == second[:75] for first, second in pairwise(found))
    assert parts("", 10) == []
    assert parts("  one two ", 10) == [(2, 9)]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("NONE", []),
        ("none.", []),
        ('"NONE"', []),
        ("", []),
        ("One.\n\n Two.  ", ["One.", "Two."]),
        ("NONE\nThree.", ["Three."]),
        # The first letters of "Notice" are no passage.
        ("No.", []),
        ("**Yes**\nThree.", ["Three."]),
        ("1.\nThree.\n(b)\niii.\n12", ["Three."]),
        ("1. 1/2/99", ["1. 1/2/99"]),
    ],
)
def test_each_line_of_an_answer_is_a_quote(answer, found):
    assert quotes(answer) == found


def test_quotes_are_found_despite_different_white_space():
    assert where("The term is two years.", TEXT) == (0, 24)
    assert where("“two years.”", TEXT) == (13, 24)
    assert where("(a+)$ {text}", TEXT) is None
    assert where("•", TEXT) is None


@pytest.mark.parametrize(
    ("quote", "place"),
    [
        ("1.", None),
        ("law", (9, 12)),  # not in "outlaws"
        ("The term is five", (17, 33)),
        ("rm is five", None),
        ("The term is fi", None),
        ("1. The term is five", (17, 33)),
        ('- (a) "The term is five"', (17, 33)),
        ("11. The", (13, 20)),
    ],
)
def test_a_quote_is_found_as_whole_words_and_without_a_list_mark(quote, place):
    assert where(quote, "Outlaws, law 11. The term is five years.") == place


def test_only_test_questions_are_asked_grouped_by_contract():
    other = LAW | {"question_id": "b__Law", "contract_id": "b"}
    rows = [
        TERM,
        LAW,
        other,
        TERM | {"question_id": "d__Term", "contract_id": "d", "split": "train"},
    ]
    assert asked_questions(rows, None) == {"b": [other], "c": [LAW, TERM]}
    assert asked_questions(rows, 1) == {"b": [other], "c": [LAW]}


def test_predictions_have_the_format_of_the_task():
    spans = {(0, 24): 0.6, (25, 53): 0.9, (14, 24): 0.6}
    rows = list(nbest("c__Law", TEXT, spans, 2))
    assert [(row["rank"], row["released_text"], row["start"]) for row in rows] == [
        (0, "The law of Delaware governs.", 25),
        (1, "The term is two years.", 0),
        (2, "", -1),
    ]
    assert rows[1]["text"] == "The term is\n two  years."
    assert [row["probability"] for row in rows] == [0.9, 0.6, pytest.approx(0.1)]
    (empty,) = nbest("c__Law", TEXT, {}, 2)
    assert (empty["probability"], empty["start"], empty["text"]) == (1.0, -1, "")
