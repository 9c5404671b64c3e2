"""Classification with a language model: predictions in the format of the task."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from helpers.fake_language_model import FakeModel
from lextables.models.language_model import Message
from lextables.models.multiple_choice import counts
from lextables.models.prompts import Template
from lextables.pipeline.dataset import Column, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.asking import AskedFiles, answer, asked_examples
from lextables.tasks.classification.schema import EXAMPLES, HEADS, TEXTS
from lextables.tasks.classification.settings import AskingSettings, Reading, View

TEMPLATE = Template((Message("user", "${fence}\n${text}\n${fence}\n${options}"),))
PAIRED = Template(
    (Message("user", "${fence}\n${text}\n${fence}\n${second}\n${fence}\n${options}"),)
)
SETTINGS = AskingSettings(
    kind="language-model",
    model="fake",
    weights="fake",
    revision=None,
    found="here",
    prompt=TEMPLATE.plain(),
    question="",
    wordings={"<OTHER>": "None of these"},
    orders=2,
    samples=3,
    only=[],
)
READINGS = [
    Reading(condition="none > pair", view=View(text="text_id", pair="pair_id")),
    Reading(condition="none > turned", view=View(text="pair_id", pair="text_id")),
]
HEAD_ROWS = [
    {"head_id": "law", "answers": ["Delaware", "New York", "<OTHER>"]},
    {"head_id": "term", "answers": ["one year", "two years"]},
]
TEXT_ROWS = [
    {"text_id": "t1", "text": "The law of Delaware governs. The term is two years."},
    {"text_id": "t2", "text": "The law of New York governs."},
    {"text_id": "t3", "text": "Nothing is said."},
]


def example(name, head, text, split="test", label=0):
    return {
        "example_id": name,
        "split": split,
        "head_id": head,
        "text_id": text,
        "label": label,
    }


EXAMPLE_ROWS = [
    example("a", "law", "t1"),
    example("b", "law", "t2"),
    example("c", "law", "t3"),
    example("d", "term", "t1"),
    example("e", "law", "t2", split="train"),
]


@pytest.fixture
def data(tmp_path):
    def written(examples=EXAMPLE_ROWS, texts=TEXT_ROWS, heads=HEAD_ROWS):
        paths = [
            tmp_path / f"{name}.parquet" for name in ("examples", "heads", "texts")
        ]
        for path, table, rows in zip(
            paths, (EXAMPLES, HEADS, TEXTS), (examples, heads, texts), strict=True
        ):
            write(table, rows, path)
        return AskedFiles(*paths)

    return written


def reads(text):
    """Select the option that occurs in the text, else 'None of these'."""
    said = text.split("=====")[1]
    options = re.findall(r"^([A-Z])\. (.*)$", text, re.M)
    right = next((letter for letter, option in options if option in said), None)
    return {
        right
        or next(letter for letter, option in options if option == "None of these"): 0.8,
        "Z": 0.2,
    }


def asked(files, model, **changes):
    settings = SETTINGS.model_copy(update=changes)
    examples = asked_examples(files, settings, ["test"])
    return answer(examples, files, settings, model)


def test_each_example_gets_the_answer_of_the_model(data):
    rows, answers = asked(data(), FakeModel(reads))
    found = {row["example_id"]: row for row in rows}
    assert [row["example_id"] for row in rows] == ["a", "b", "c", "d"]
    assert found["a"]["probabilities"] == [1, 0, 0]
    assert found["b"]["probabilities"] == [0, 1, 0]
    assert found["c"]["probabilities"] == [0, 0, 1]
    assert found["d"]["probabilities"] == [0, 1]
    counted = counts(answers)
    assert (counted["questions"], counted["requests"], counted["disagreements"]) == (
        4,
        8,
        0,
    )
    assert counted["outside"] == pytest.approx(0.2)


@pytest.mark.parametrize("model", [{"A": 1.0}, {"Sorry": 1.0}])
def test_the_order_of_the_options_decides_no_tie(data, model):
    # The option listed first wins in both orders, or no option is named.
    names = [f"{number:02}" for number in range(60)]
    files = data(examples=[example(name, "law", "t1") for name in names])
    rows, _ = asked(files, FakeModel(lambda text: model))
    chosen = [np.argmax(row["logits"]) for row in rows]
    tied = (0, 2) if "A" in model else (0, 1, 2)
    assert set(chosen) == set(tied)
    assert np.bincount(chosen)[list(tied)].min() > 10
    for row, place in zip(rows, chosen, strict=True):
        assert sum(row["probabilities"]) == pytest.approx(1)
        assert max(row["probabilities"]) == pytest.approx(1 / len(tied), abs=1e-5)
        assert np.argmax(np.float32(row["logits"])) == place
    again, _ = asked(files, FakeModel(lambda text: model))
    assert again == rows


def test_logits_are_finite_log_odds(data):
    rows, _ = asked(data(), FakeModel(lambda text: {"A": 0.6, "B": 0.2}), orders=1)
    assert rows[0]["logits"][:2] == pytest.approx([math.log(3), -math.log(3)])
    assert all(map(math.isfinite, rows[0]["logits"]))


def test_only_the_selected_heads_are_asked(data):
    rows, _ = asked(data(), FakeModel(reads), only=["term"])
    assert [row["example_id"] for row in rows] == ["d"]


def test_questions_about_the_same_text_are_consecutive(data):
    model = FakeModel(reads)
    asked(data(), model, orders=1)
    under_view = [
        prompt[0].content.split("=====")[1].strip() for prompt in model.weighed
    ]
    assert under_view == [TEXT_ROWS[place]["text"] for place in (0, 0, 1, 2)]


def test_each_view_is_predicted_under_a_separate_condition(data):
    pair = Column("pair_id", EXAMPLES.columns[3].type, "the second text")
    table = replace(EXAMPLES, columns=(*EXAMPLES.columns, pair))
    files = data()
    write(table, [EXAMPLE_ROWS[0] | {"pair_id": "t2"}], files.examples)
    settings = {"prompt": PAIRED.plain(), "readings": READINGS}
    rows, _ = asked(files, FakeModel(reads), **settings)
    assert [(row["condition"], row["probabilities"]) for row in rows] == [
        ("none > pair", [1, 0, 0]),
        ("none > turned", [0, 1, 0]),
    ]


def test_a_text_longer_than_the_window_is_truncated_and_counted(data):
    long = [
        TEXT_ROWS[0] | {"text": TEXT_ROWS[0]["text"] + " and so on" * 100},
        *TEXT_ROWS[1:],
    ]
    rows, answers = asked(data(texts=long), FakeModel(reads, window=60))
    assert [row["probabilities"] for row in rows][:1] == [[1, 0, 0]]
    assert counts(answers)["cut"] == 2


def test_a_missing_text_raises(data):
    with pytest.raises(BadInput, match="'t3' is not there"):
        asked(data(texts=TEXT_ROWS[:2]), FakeModel(reads))
