"""Scoring of the answers task: from its tables and the predictions of a run to
scores.
"""

import itertools
from collections import defaultdict

import numpy as np
import pytest

from helpers.answer_rows import NAMES, QUESTIONS, SAID, collected, held, rows, written
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers import baselines
from lextables.tasks.answers.collection import (
    ANSWERED_FROM,
    MARKED,
    load,
    marked_of,
    marked_rows,
    pairs,
    prediction_rows,
    questions_of,
    shares_of,
)
from lextables.tasks.answers.scoring import WITH_TEXT, of_answers, of_marks
from lextables.tasks.answers.settings import PriorSettings


def by_key(scored):
    rows, _ = scored
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


# Responses of people


def test_every_chosen_option_counts_once_and_empty_responses_are_ignored(tmp_path):
    chosen = {
        ("d00", "ASKED"): [[0], [0, 2], [2]],
        ("d00", "KEPT"): [[], [1]],
        ("d00", "SOLD"): [[], []],
    }
    files = written(tmp_path, rows(documents=1, chosen=chosen))
    found = shares_of(
        files["responses"], questions_of(files["questions"]), "document_id"
    )
    assert found["ASKED"]["d00"].tolist() == [0.5, 0, 0.5, 0]
    assert found["KEPT"]["d00"].tolist() == [0, 1, 0]
    assert found["SOLD"] == {}
    assert pairs(found) == [("d00", "ASKED"), ("d00", "KEPT")]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"question_id": "ZOO"}, "responses, document d00: there is no question 'ZOO'"),
        (
            {"options": [9]},
            "responses, document d00: options [9] where the question 'ASKED' has 4 options",
        ),
        ({"options": [-1]}, "options [-1] where the question 'ASKED' has 4"),
    ],
)
def test_an_invalid_response_is_rejected(tmp_path, change, sentence):
    found = rows(documents=1)
    found["responses"][0] |= change
    found["responses"].sort(
        key=lambda row: (row["document_id"], row["question_id"], row["response"])
    )
    files = written(tmp_path, found)
    with pytest.raises(BadInput) as error:
        load([files[name] for name in ANSWERED_FROM], NAMES)
    assert sentence in str(error.value)


def test_paragraphs_are_in_reading_order_and_not_sorted_by_id(tmp_path):
    found = rows(documents=1)
    for row, name in zip(found["paragraphs"], "fedcba", strict=True):
        row["paragraph_id"] = name
    files = written(tmp_path, found)
    data = load([files[name] for name in ANSWERED_FROM], NAMES)
    assert [one.paragraph_id for one in data.paragraphs["d00"]] == list("fedcba")


# Answers


def test_answers_are_scored_on_all_documents_and_on_those_with_a_text(tmp_path):
    data, _ = collected(tmp_path, documents=10, without_text=["d03", "d04"])
    values = by_key(
        of_answers(
            prediction_rows(
                baselines.prior(data.shares, PriorSettings(pseudo=2, smoothing=0.1))
            ),
            data,
            0.1,
        )
    )
    assert values["cross entropy", "all"][1] == 30
    assert values["cross entropy", WITH_TEXT][1] == 24
    assert values["cross entropy, low", WITH_TEXT][1] == 8
    assert values["cross entropy", "question: SOLD"][1] == 10
    assert values["cross entropy", "category: Security"][1] == 20
    whole = np.mean(
        [values["cross entropy", f"question: {name}"][0] for name in QUESTIONS]
    )
    assert values["cross entropy", "all"][0] == pytest.approx(whole)


def test_a_run_on_some_documents_is_scored_on_these_documents(tmp_path):
    data, _ = collected(tmp_path, documents=10)
    given = {
        pair: one
        for pair, one in baselines.uniform(data.shares).items()
        if pair[0] < "d04"
    }
    assert (
        by_key(of_answers(prediction_rows(given), data, 0.1))["accuracy", "all"][1]
        == 12
    )


def some(data, **changes):
    """Return uniform answers; ``changes`` replaces answers about d00, and None removes
    a question.
    """
    given = {("d00", name): one for name, one in changes.items() if one is not None}
    given = baselines.uniform(data.shares) | given
    return [
        row
        for row in prediction_rows(given)
        if changes.get(row["question_id"], 0) is not None
    ]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"SOLD": None}, "predictions: no answer to the question 'SOLD' about 'd00'"),
        (
            {"SOLD": [0.5, 0.4]},
            "document d00, question SOLD: [0.5, 0.4] is not a distribution over the 2 options",
        ),
        ({"SOLD": [1.5, -0.5]}, "is not a distribution over the 2 options"),
        ({"SOLD": [float("nan"), 1]}, "is not a distribution over the 2 options"),
        ({"KEPT": [0.5, 0.5]}, "is not a distribution over the 3 options"),
    ],
)
def test_invalid_predictions_are_rejected(tmp_path, changes, sentence):
    data, _ = collected(tmp_path, documents=3)
    with pytest.raises(BadInput) as error:
        of_answers(some(data, **changes), data, 0.1)
    assert sentence in str(error.value)


def test_empty_predictions_are_rejected(tmp_path):
    data, _ = collected(tmp_path, documents=3)
    with pytest.raises(BadInput, match="no answered pair is predicted"):
        of_answers([], data, 0.1)


# Marks


def marks_of(tmp_path, data, given):
    write(MARKED, marked_rows(data, given), tmp_path / "marks.parquet")
    return tmp_path / "marks.parquet"


def test_marks_that_equal_those_of_people_get_perfect_scores(tmp_path):
    data, marked = collected(tmp_path, documents=12, without_text=["d05"])
    right = baselines.is_marked(data, marked)
    values = by_key(of_marks(marks_of(tmp_path, data, right * 0.9), data, marked, 4))
    for metric in (
        "accuracy",
        "precision",
        "recall",
        "F1",
        "F1, best threshold",
        "average precision",
    ):
        assert values[metric, "all"] == (1, 3)
    assert values["accuracy", "pooled"] == (1, 11 * 3 * len(data.paragraphs["d00"]))
    never = by_key(of_marks(marks_of(tmp_path, data, right * 0.0), data, marked, 4))
    assert (
        never["F1", "all"][0]
        == never["recall", "all"][0]
        == never["precision", "all"][0]
        == 0
    )
    assert never["accuracy", "pooled"][0] == pytest.approx(1 - right.mean())


def test_marks_are_scored_only_for_questions_that_people_answered(tmp_path):
    data, marked = collected(tmp_path, documents=4, chosen={("d02", "SOLD"): [[]]})
    values = by_key(
        of_marks(
            marks_of(tmp_path, data, baselines.is_marked(data, marked) * 1.0),
            data,
            marked,
            4,
        )
    )
    each = len(data.paragraphs["d00"])
    assert (
        values["F1", "question: SOLD"][1] == 3 * each
        and values["F1", "question: KEPT"][1] == 4 * each
    )


def test_missing_predictions_for_a_paragraph_or_question_are_rejected(tmp_path):
    data, marked = collected(tmp_path, documents=3)
    given = [*marked_rows(data, baselines.is_marked(data, marked) * 1.0)]
    path = tmp_path / "marks.parquet"
    write(MARKED, [row for row in given if row["paragraph_id"] != "d01/2"], path)
    with pytest.raises(
        BadInput,
        match="document d01, question ASKED: the predicted paragraphs are not those of the doc",
    ):
        of_marks(path, data, marked, 4)
    write(
        MARKED,
        [
            row
            for row in given
            if (row["document_id"], row["question_id"]) != ("d01", "KEPT")
        ],
        path,
    )
    with pytest.raises(
        BadInput, match="no prediction for the question 'KEPT' about 'd01'"
    ):
        of_marks(path, data, marked, 4)
    write(MARKED, [], path)
    with pytest.raises(
        BadInput, match="no prediction for the question 'ASKED' about 'd00'"
    ):
        of_marks(path, data, marked, 4)


def test_a_paragraph_is_marked_if_any_reader_marked_it(tmp_path):
    tables = rows(documents=2)
    second = [row for row in tables["highlights"] if row["response"] == 1]
    files = written(tmp_path, tables | {"highlights": second})
    supported = defaultdict(set)
    for name, (place, question) in itertools.product(
        ("d00", "d01"), enumerate(sorted(QUESTIONS), 1)
    ):
        if SAID[question][held(name, question)]:
            supported[question].add(f"{name}/{place}")
    assert marked_of([files["highlights"]]) == supported != {}
