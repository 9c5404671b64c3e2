"""Questions about documents, answered by a fake language model."""

import pytest

from helpers.fake_language_model import FakeModel, text_of
from lextables.models import prompts
from lextables.models.multiple_choice import ANSWER_TOKENS, counts
from lextables.pipeline.dataset import read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers.collection import (
    PARAGRAPHS,
    QUESTIONS,
    RESPONSES,
    load,
    marked_rows,
)
from lextables.tasks.answers.predictors.language_model import (
    Asker,
    answers_of,
    marks_of,
)
from lextables.tasks.answers.settings import AskingSettings

NAMES = {"document": "document_id"}
SITES = {
    "one.example": [
        "We sell your data to brokers.",
        "Disputes go to arbitration in Ohio.",
    ],
    "two.example": ["Your data are never sold.", "Courts of Texas hear disputes."],
}
KINDS = {"ARB": "Do disputes go to arbitration?", "SOLD": "Are data sold to brokers?"}
OPTIONS = ["No", "Yes", "Does not disclose"]
PROMPT = "resources/prompts/policy_answer.txt"


@pytest.fixture
def data(tmp_path):
    questions = [
        {
            "question_id": name,
            "category": "C",
            "question": wording,
            "options": OPTIONS,
            "several": False,
        }
        for name, wording in KINDS.items()
    ]
    answered = {
        "one.example": {"ARB": 1, "SOLD": 1},
        "two.example": {"SOLD": 0},
        "unread.example": {"ARB": 0},
    }
    responses = []
    paragraphs = []
    reader = {"response": 0, "reader_id": "1", "confidence": None}
    for site, options in answered.items():
        for name, option in options.items():
            key = {"document_id": site, "question_id": name}
            responses.append({**key, **reader, "options": [option]})
    for site, texts in SITES.items():
        for place, text in enumerate(texts):
            key = {"document_id": site, "paragraph_id": f"{site}/{place}"}
            paragraphs.append({**key, "place": place, "text": text})
    tables = {QUESTIONS: questions, RESPONSES: responses, PARAGRAPHS: paragraphs}
    paths = []
    for table, rows in tables.items():
        paths.append(tmp_path / f"{table.name}.parquet")
        write(table, rows, paths[-1])
    return paths


def asker(model, documents="whole", prompt=PROMPT, orders=1):
    plain = prompts.load(prompt).plain()
    settings = AskingSettings(
        text=documents, best=1, samples=2, orders=orders, prompt=plain
    )
    return Asker(model, settings)


def lawyer(text):
    """Answer from the paragraphs that the prompt shows before the question."""
    asked = text.split("Question: ")[1]
    shown = text.split("Question: ")[0]
    if "sold" in asked:
        return (
            {"B": 0.9, "A": 0.1}
            if "We sell" in shown
            else {"A": 1.0}
            if "never sold" in shown
            else {"C": 1.0}
        )
    return {"B": 1.0} if "go to arbitration" in shown else {"C": 1.0}


def answers(data, model, **more):
    """Return the counts of the model's answers, and {(document, question):
    probabilities}.
    """
    found, answered = answers_of(load(data, NAMES), asker(model, **more))
    return counts(answered), found


@pytest.mark.parametrize("documents", ["whole", "retrieved"])
def test_answers_are_distributions_over_the_options(data, documents):
    asked, given = answers(data, FakeModel(lawyer), documents=documents)
    assert given == {
        ("one.example", "ARB"): (0, 1, 0),
        ("one.example", "SOLD"): pytest.approx((0.1, 0.9, 0)),
        ("two.example", "SOLD"): (1, 0, 0),
    }
    assert asked["questions"] == 3


def test_documents_without_a_text_and_pairs_without_an_answer_are_not_asked_about(data):
    model = FakeModel(lawyer)
    answers(data, model)
    assert len(model.weighed) == 3
    assert not any(
        "Courts" in text_of(prompt) and "arbitration?" in text_of(prompt)
        for prompt in model.weighed
    )


def test_the_prompt_contains_the_whole_document_or_only_its_best_paragraph(data):
    whole = FakeModel(lawyer)
    best = FakeModel(lawyer)
    answers(data, whole)
    answers(data, best, documents="retrieved")
    assert all(
        "We sell your data to brokers.\n\nDisputes go" in text_of(p)
        for p in whole.weighed[:2]
    )
    asked = [text_of(prompt) for prompt in best.weighed]
    assert len(asked) == 3
    assert [text for text in asked if "We sell" in text] == asked[1:2]
    assert [text for text in asked if "Disputes go" in text] == asked[:1]


def test_the_text_comes_before_the_question_so_that_it_is_evaluated_once(data):
    model = FakeModel(lawyer)
    answers(data, model)
    first, second = map(text_of, model.weighed[:2])
    before, end, _ = first.partition("arbitration in Ohio.")
    assert end and second.startswith(before + end)


def test_a_document_longer_than_the_window_is_an_error_before_any_request(data):
    model = FakeModel(lawyer, window=20)
    with pytest.raises(
        BadInput,
        match=r"one\.example needs 1\d\d tokens, but the window of fake has 20",
    ):
        answers(data, model)
    assert not model.weighed


class Served(FakeModel):
    """A served model: the estimated number of tokens is much higher than the certain
    minimum.
    """

    def tokens(self, prompt):
        return 1000 * super().tokens(prompt)

    def fewest_tokens(self, prompt):
        return super().tokens(prompt)


def test_a_server_gets_prompts_that_may_fit_its_window_and_the_longest_first(data):
    rows = [*read(data[2])]
    rows[-1]["text"] += " And much more is said of them." * 9
    write(PARAGRAPHS, rows, data[2])
    model = Served(lawyer, window=200)
    assert len(answers(data, model)[1]) == 3
    assert ["never sold" in text_of(prompt) for prompt in model.weighed] == [
        True,
        False,
        False,
    ]
    long = r"two\.example needs at least 1\d\d tokens, but the window of fake has 100"
    with pytest.raises(BadInput, match=long):
        answers(data, Served(lawyer, window=100))


def test_paragraphs_are_truncated_to_the_window_and_counted(data):
    whole = FakeModel(lawyer)
    answers(data, whole, documents="retrieved")
    window = max(map(whole.tokens, whole.weighed)) + ANSWER_TOKENS - 1
    model = FakeModel(lawyer, window=window)
    asked, _ = answers(data, model, documents="retrieved")
    assert asked["cut"] >= 1
    assert all(
        model.tokens(prompt) + ANSWER_TOKENS <= window for prompt in model.weighed
    )


def test_the_model_is_asked_only_about_the_paragraphs_most_similar_to_a_question(data):
    def marker(text):
        return {"A": 1.0} if ("sell" in text or "go to arb" in text) else {"B": 1.0}

    model = FakeModel(marker)
    loaded = load(data, NAMES)
    prompt = "resources/prompts/policy_paragraph.txt"
    marks, answered = marks_of(loaded, asker(model, "retrieved", prompt))
    found = {
        (row["question_id"], row["paragraph_id"]): row["probability"]
        for row in marked_rows(loaded, marks)
    }
    assert found == {
        ("ARB", "one.example/0"): 0.0,  # not asked about
        ("ARB", "one.example/1"): 1.0,
        ("SOLD", "one.example/0"): 1.0,
        ("SOLD", "one.example/1"): 0.0,
        ("SOLD", "two.example/0"): 0.0,
        ("SOLD", "two.example/1"): 0.0,
    }
    assert counts(answered)["questions"] == len(model.weighed) == 3
    # Section 5 of the paper: the prompt has the question's text and the descriptions of
    # its options.
    shown = set()
    for weighed in map(text_of, model.weighed):
        for question in loaded.questions.values():
            if f"\n{question.question}\n" in weighed:
                shown.add(question.question_id)
                assert "\n".join((question.question, *question.options)) in weighed
    assert shown == {"ARB", "SOLD"}


def test_a_paragraph_without_an_answer_is_not_marked(data):
    loaded = load(data, NAMES)
    prompt = "resources/prompts/policy_paragraph.txt"
    model = FakeModel(lambda text: {"Sorry": 1.0})
    marks, answered = marks_of(loaded, asker(model, "retrieved", prompt, orders=2))
    assert counts(answered)["unanswered"] == 6
    assert not marks.any()


def test_the_number_of_requests_is_reported_before_asking(data):
    model = FakeModel(lawyer)
    answers(data, model, orders=2)
    ((requests, characters),) = model.expected
    assert requests == len(model.weighed) == 6
    assert characters == pytest.approx(
        sum(len(text_of(prompt)) for prompt in model.weighed), rel=0.3
    )
