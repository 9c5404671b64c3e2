"""Answers that a user has already: what comes of a file, and a sentence for each fault."""

import json

import pytest

from answer_rows import NAMES, QUESTIONS, rows, written
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers.collection import ANSWERED_FROM
from lextables.tasks.answers.schema import PREDICTIONS
from lextables.tasks.answers.submitted import predictions
from lextables.tasks.submitted import File

TASK = {"task": "answers", "names": NAMES}
EVEN = {question: [1 / len(options)] * len(options) for question, (_, _, options) in QUESTIONS.items()}


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """What a file comes to, where d00 has a text and d01 none; nobody answered SOLD about d01."""
    wanted = {"documents": 2, "without_text": ["d01"], "chosen": {("d01", "SOLD"): [[]]}}
    files = written(tmp_path_factory.mktemp("answers"), rows(**wanted))
    data = [files[name] for name in ANSWERED_FROM]
    return lambda text, form="jsonl": predictions(File("mine", text), form, data, TASK)


def lines(document="d00", **changes):
    return "\n".join(
        json.dumps({"document_id": document, "question_id": question, "probabilities": given})
        for question, given in (EVEN | changes).items()
        if given is not None
    )


def cells(*changed, document="d00"):
    said = [
        [document, question, option, str(share)]
        for question, (_, _, options) in QUESTIONS.items()
        for option, share in zip(options, EVEN[question], strict=True)
    ]
    return "\n".join(
        ",".join(row) for row in (["document_id", "question_id", "option", "probability"], *said, *changed)
    )


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (lines(SOLD=[0.3, 0.7]), "jsonl"),
        (lines(SOLD={"Yes": 0.7, "No": 0.3}), "jsonl"),
        (lines(SOLD={"1": 0.7, "0": 0.3}), "jsonl"),
        (cells().replace("No,0.5", "No,.3").replace("SOLD,Yes,0.5", "SOLD,Yes,.7"), "csv"),
        (cells().replace("SOLD,No,0.5", "SOLD,0,.3").replace("SOLD,Yes,0.5", "SOLD,1,.7"), "csv"),
    ],
)
def test_every_form_comes_to_the_same(taken, text, form):
    found = taken(text, form)
    (row,) = [row for row in found.rows if row["question_id"] == "SOLD"]
    assert row == {"document_id": "d00", "question_id": "SOLD", "probabilities": [0.3, 0.7]}
    assert [row["question_id"] for row in found.rows] == sorted(QUESTIONS)
    assert found.passed_over == 0 and set(found.rows[0]) == {column.name for column in PREDICTIONS.columns}


def test_a_document_without_a_text_may_be_answered_about_and_need_not(taken):
    found = taken(lines() + "\n" + lines("d01"))
    assert len(found.rows) == 5  # and not SOLD of d01, which nobody answered
    assert found.passed_over == 1
    assert taken(lines() + "\n" + lines("elsewhere.org")).passed_over == 3


@pytest.mark.parametrize(
    ("text", "form", "sentence"),
    [
        (lines().replace("SOLD", "ZOO"), "jsonl", "mine, line 1: there is no question 'ZOO' in the data set"),
        (lines(SOLD=[0.3, 0.3, 0.4]), "jsonl", "mine, line 1: 3 probabilities where 'SOLD' has 2 options"),
        (lines(SOLD={"No": 0.5, "Perhaps": 0.5}), "jsonl", "the question 'SOLD' has no option 'Perhaps'"),
        (lines(SOLD={"0": 0.5, "2": 0.5}), "jsonl", "the question 'SOLD' has no option '2'"),
        (lines(SOLD={"9" * 5000: 1}), "jsonl", "the question 'SOLD' has no option '999"),
        (lines(SOLD={"No": 0.5, "0": 0.5}), "jsonl", "'No' is given twice for 'SOLD' about 'd00'"),
        (lines(SOLD={"No": 1}), "jsonl", "the option 'Yes' of 'SOLD' has no probability for 'd00'"),
        (lines(SOLD=[0.3, 0.3]), "jsonl", "of 'SOLD' for 'd00' add up to 0.6, and not to one"),
        (lines(SOLD=[1.5, -0.5]), "jsonl", "the probability 1.5 is not a number from 0 to 1"),
        (lines(SOLD=["a", 0.5]), "jsonl", "the probability 'a' is not a finite number"),
        (lines(SOLD=0.5), "jsonl", "mine, line 1: probabilities is neither a list nor an object"),
        (lines(SOLD=None), "jsonl", "mine: no answer to 1 of 3 pairs, the first 'SOLD' about 'd00'"),
        (lines("d01"), "jsonl", "mine: no answer to 3 of 5 pairs, the first 'ASKED' about 'd00'"),
        (lines() + "\n" + lines("d01", KEPT=None), "jsonl", "1 of 5 pairs, the first 'KEPT' about 'd01'"),
        (cells(["d00", "SOLD", "No", "0.5"]), "csv", "mine, row 11: 'No' is given twice for 'SOLD'"),
        (cells().replace("option,", "choice,"), "csv", "there is no column 'option'"),
    ],
)  # fmt: skip
def test_a_fault_is_one_sentence(taken, text, form, sentence):
    with pytest.raises(BadInput) as error:
        taken(text, form)
    assert sentence in str(error.value) and "\n" not in str(error.value)
