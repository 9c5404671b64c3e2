"""Multiple-choice questions: distributions, counts, and instructions inside texts."""

import re

import pytest

from helpers.fake_language_model import FakeModel
from lextables.models.language_model import Message
from lextables.models.multiple_choice import ChoiceQuestion, ask, counts, parsed
from lextables.models.prompts import Template
from lextables.pipeline.errors import BadInput

TEMPLATE = Template(
    (Message("user", "${fence}\n${text}\n${fence}\n${question}\n${options}\nLetter:"),)
)
OPTIONS = ("Yes", "No", "It does not say")


def question(options=OPTIONS, text="The term is two years.", asked="Is there a term?"):
    return ChoiceQuestion(TEMPLATE, {"text": text, "question": asked}, options)


def letter_of(option, text):
    return re.search(rf"^([A-Z])\. {re.escape(option)}$", text, re.M)[1]


def knows(option, share=0.9):
    """Gives probability ``share`` to the letter of an option, at any position, and the
    rest to `I`.
    """
    return lambda text: {letter_of(option, text): share, "I": 1 - share}


def test_options_have_the_probabilities_of_their_letters():
    model = FakeModel(lambda text: {"A": 0.3, " A": 0.1, " B": 0.4, "Z": 0.2})
    (answer,) = ask(model, [question()], samples=5)
    assert answer.probabilities == pytest.approx((0.5, 0.5, 0))
    counted = counts([answer])
    assert (counted["outside"], counted["ties"], counted["first_listed"]) == (0.2, 1, 0)
    assert model.written == []


def test_two_orders_agree_if_the_model_knows_the_answer():
    (answer,) = ask(FakeModel(knows("No")), [question()], samples=5, orders=2)
    assert answer.probabilities == pytest.approx((0, 1, 0))
    assert not answer.disagree and counts([answer])["first_listed"] == 0


def test_a_preference_for_the_first_position_is_counted_and_averaged_out():
    model = FakeModel(lambda text: {"A": 0.8, "B": 0.1, "C": 0.1})
    (once,) = ask(model, [question()], samples=5)
    (twice,) = ask(model, [question()], samples=5, orders=2)
    assert once.probabilities == pytest.approx((0.8, 0.1, 0.1))
    assert twice.probabilities == pytest.approx((0.45, 0.1, 0.45))
    assert twice.disagree and not once.disagree
    counted = counts([twice])
    assert counted["first_listed"] == 1 and counted[
        "first_listed_by_chance"
    ] == pytest.approx(1 / 3, abs=1e-4)
    assert counted["disagreements"] == 1


def test_without_probabilities_answers_are_sampled():
    answers = ["A", "I would rather not.", "No", "(a) Yes"]
    model = FakeModel(None, lambda text, seed: answers[seed])
    (answer,) = ask(model, [question()], samples=4)
    assert answer.probabilities == pytest.approx((2 / 3, 1 / 3, 0))
    (order,) = answer.orders
    assert (order.drawn, order.unparseable, order.outside) == (4, 1, 0.25)


def test_the_distribution_is_uniform_if_no_option_is_named():
    for model in (
        FakeModel(None, lambda text, seed: "As an assistant..."),
        FakeModel(lambda text: {"X": 1.0}),
    ):
        (answer,) = ask(model, [question()], samples=3)
        assert answer.probabilities == pytest.approx((1 / 3,) * 3)
        counted = counts([answer])
        assert (counted["unanswered"], counted["first_listed"]) == (1, 0)
        assert counted["outside"] == 1


def test_an_order_without_a_named_option_is_ignored_in_the_average():
    model = FakeModel(
        lambda text: {"A": 1.0} if text.index("Yes") < text.index("No") else {}
    )
    (answer,) = ask(model, [question()], samples=3, orders=2)
    assert answer.probabilities == (1, 0, 0)
    assert counts([answer])["unanswered"] == 1 and not answer.disagree


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("B", 1),
        (" b\n", 1),
        ("B. No", 1),
        ("**B**", 1),
        ("(b) because of clause 2", 1),
        ("The answer is B.", 1),
        ("Answer: C", 2),
        ("B, since the term is two years", 1),
        ("No", 1),
        ("no.", 1),
        ("It does not say whether there is one", 2),
        ("Nothing is said", None),
        ("A clause in the contract says so", None),
        ("The answer is a matter of law", None),
        ("E.g. clause 2", None),
        ("D", None),
        ("", None),
        ("Ignore all that. B", None),
    ],
)
def test_answers_are_parsed(said, place):
    assert parsed(said, OPTIONS) == place


STANDARDS = ("Strict", "A reasonable person standard")


@pytest.mark.parametrize(
    ("said", "options", "place"),
    [
        ("A, B", OPTIONS, None),
        ("The answer is A or C", OPTIONS, None),
        ("(B) or (C)", OPTIONS, None),
        ("(b) or (c)", OPTIONS, None),
        ("Option A is incorrect. B", OPTIONS, None),
        ("Option A is clearly wrong.", OPTIONS, None),
        ("Answer A cannot be right", OPTIONS, None),
        ('{"A": false, "B": true}', OPTIONS, None),
        ('{\n"A": false,\n"B": true}', OPTIONS, None),
        ("A. Yes, so B is wrong", OPTIONS, None),
        ("C. It does not say", OPTIONS, 2),
        ("C. It does", OPTIONS, 2),
        ("C: the contract does not say it", OPTIONS, 2),
        ("B. A party may end it, as Clause A says", OPTIONS, 1),
        ("B\nA is wrong", OPTIONS, 1),
        ("Answer: A reasonable person standard", STANDARDS, 1),
        ("B. A reasonable person standard", STANDARDS, 1),
        ("A", STANDARDS, 0),
        ("A, B", ("Buyer", "Seller"), None),
        ("The answer is All Cash.", ("All Stock", "All Cash"), 1),
        ('```json\n{"answer": "All Cash"}\n```', ("All Stock", "All Cash"), 1),
        ("10.5%", ("10", "20"), None),
        ("10,000", ("10", "20"), None),
        ("10.", ("10", "20"), 0),
        ("10 days", ("10", "20"), 0),
    ],
)
def test_an_answer_that_names_several_options_or_denies_one_names_none(
    said, options, place
):
    assert parsed(said, options) == place


def test_counts_are_summed_over_questions_and_empty_without_questions():
    answers = ask(
        FakeModel(knows("Yes", 0.5)),
        [question(), question(("Yes", "No"))],
        samples=1,
        orders=2,
    )
    counted = counts(answers)
    assert (counted["questions"], counted["requests"]) == (2, 4)
    assert counted["outside"] == pytest.approx(0.5)
    assert counted["first_listed"] == 0.5 and counted[
        "first_listed_by_chance"
    ] == pytest.approx(5 / 12, abs=1e-4)
    assert counts([])["outside"] is None


@pytest.mark.parametrize("options", [("Yes",), tuple(map(str, range(27)))])
def test_a_question_with_too_few_or_too_many_options_raises(options):
    with pytest.raises(BadInput, match="options"):
        ask(FakeModel(knows("Yes")), [question(options)], samples=1)
