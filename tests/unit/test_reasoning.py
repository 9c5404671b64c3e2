"""The reasoning of language models is never an answer, quote or output."""

from time import process_time

import pytest

from helpers.fake_language_model import FakeModel
from lextables.models.language_model import Written, note_asked
from lextables.models.multiple_choice import counts
from lextables.models.reasoning import answer_of, begins_reasoning, closed
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.rankers import language_model as ratings
from lextables.tasks.spans import asking, writing

# Pairs of an opening and an end mark.
MARKS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<reason>", "</reason>"),
    ("<thought>", "</thought>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<analysis>", "</analysis>"),
    ("<THINK>", "</THINK>"),
    ("<seed:think>", "</seed:think>"),
    ("<|think|>", "<|/think|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    (
        "<|channel|>commentary<|message|>",
        "<|end|><|start|>assistant<|channel|>final <|constrain|>json<|message|>",
    ),
    ("analysis", "assistantfinal"),
    ("commentary", "assistantfinal"),
]
REASONING = "\nOption A is the better one.\nAnswer: A\n\n"


@pytest.mark.parametrize(("opening", "end"), MARKS)
def test_only_the_text_behind_the_reasoning_is_an_answer(opening, end):
    plain = opening.isalpha()
    reasoning = REASONING.strip() if plain else REASONING
    assert answer_of(f"{opening}{reasoning}{end}B").strip() == "B"
    assert answer_of(f"{opening}{reasoning}{end}\n\nB\n").strip() == "B"
    assert answer_of(f"{opening}{reasoning}") == ""
    assert answer_of(f"{opening}{reasoning}{end}") == ""
    if not plain and "channel" not in opening:
        # Some templates write the opening mark, so that an answer has only the end.
        assert answer_of(f"{reasoning}{end}B") == "B"
        # Reasoning behind an answer, repeated, nested, and cut.
        assert answer_of(f"B{opening}{reasoning}{end}") == "B"
        assert answer_of(f"{opening}A{end}{opening}C{end}B") == "B"
        assert answer_of(f"{opening}A{opening}C{end}D{end}B") == "B"
        assert answer_of(f"{opening}A{end}{opening}B") == ""
        assert answer_of(f"A{opening}C{end}D{end}B") == "B"
        assert answer_of(f"Let me see. A{opening}B") == ""


@pytest.mark.parametrize(
    "text",
    [
        "B",
        " B\n",
        "",
        "I think it is B.",
        "A <b>thin</b> king, [1] and <thinker>",
        "analysis of the clause: B",
        "Analysis: the final answer is B",
        "5 < 6 and 7 > 3; 'think' again",
        "[Schedule 1]\n<Company>",
    ],
)
def test_an_answer_without_reasoning_is_unchanged(text):
    assert answer_of(text) == text
    assert Written(text).text == text


@pytest.mark.parametrize(
    "hostile",
    [
        "<think>",
        "</think>",
        "<",
        "[think",
        "<|channel|>",
        "<|channel|>final",
        "<a:" * 9,
    ],
)
def test_reasoning_is_found_in_linear_time(hostile):
    def seconds(size):
        start = process_time()
        answer_of(hostile * size)
        return process_time() - start

    seconds(100)  # the first call is slower
    # Four times the text takes about 4 times as long in linear time, 16 times in
    # quadratic time.
    assert seconds(80_000) < 16 * max(seconds(20_000), 0.002)


@pytest.mark.parametrize(
    "token",
    [
        "<think>",
        " <think",
        "<",
        "<th",
        "<thinking>",
        "<|channel|>",
        "[THINK]",
        "◁",
        "◁think▷",
    ],
)
def test_a_first_token_may_be_a_mark_of_reasoning(token):
    assert begins_reasoning(token)


@pytest.mark.parametrize("token", ["A", " B", "", " ", "[", "(", "The", "think", "<b>"])
def test_other_first_tokens_are_answers(token):
    assert not begins_reasoning(token)


# All but the last four pairs, which are channels.
@pytest.mark.parametrize(("opening", "end"), MARKS[:-4])
def test_a_prompt_whose_template_opens_the_reasoning_is_closed(opening, end):
    for tail in ("", "\n", "\n\n"):
        prompt = f"user: Why?\nassistant: {opening}{tail}"
        assert closed(prompt).strip() == f"{prompt}{end}".strip()
        assert answer_of(closed(prompt).partition("assistant: ")[2] + "B") == "B"
    for prompt in (
        f"user: {opening} Why?\nassistant:",
        f"assistant: {opening}{end}",
        "assistant:",
        "",
    ):
        assert closed(prompt) == prompt


# In all tasks


def reasons(answer=""):
    return lambda text, seed: f"<think>A. {text[:40]} 5</think>{answer}"


def test_reasoning_is_no_quote():
    contract = "The law of Ohio governs."
    assert asking.quotes(Written(f"<think>\n{contract}\n</think>\nNONE").text) == []
    assert asking.quotes(Written(f"<think>\n{contract}").text) == []
    found = asking.quotes(Written(f"<think>x</think>\n{contract}").text)
    assert found == [contract]


def test_reasoning_is_no_output():
    model = FakeModel(writes=reasons("The law of Ohio governs."))
    settings = {
        "tokens": 9,
        "questions": None,
        "prompt": [["user", "${context} ${question}"]],
    }
    row = {"question_id": "q", "contract_id": "c", "question": "Law?", "split": "test"}
    written = writing.WritingSettings.model_construct(**settings)
    (output,), counted = writing.write(model, written, [row], {"c": "A contract."})
    assert output["output"] == "The law of Ohio governs."
    assert (counted["answered"], counted["unanswered"]) == (1, 0)
    model = FakeModel(writes=reasons())
    _, counted = writing.write(model, written, [row], {"c": "A contract."})
    assert (counted["answered"], counted["unanswered"]) == (0, 1)


def test_reasoning_is_no_rating():
    prompts = [()]
    for answer, rating in (("2", 2.0), ("", None)):
        found, counted = ratings.rated(FakeModel(writes=reasons(answer)), prompts)
        assert (found, counted["answered"]) == ([rating], int(bool(answer)))


# A row without an answer


@pytest.mark.parametrize(
    ("counted", "raises"),
    [
        ({"requests": 894, "answered": 0}, True),
        ({"requests": 1, "answered": 0}, True),
        ({"requests": 894, "answered": 1}, False),
        ({"requests": 0, "answered": 0}, False),
        (counts([]), False),
    ],
)
def test_a_run_without_an_answered_request_has_no_score(counted, raises):
    model, record = FakeModel(), {}
    model.device = "here"
    if raises:
        with pytest.raises(
            BadInput, match=r"^fake: the model answered none of \d+ req"
        ):
            note_asked(record, model, counted)
    else:
        note_asked(record, model, counted)
    assert record == {"asked": counted, "device": "here"}
