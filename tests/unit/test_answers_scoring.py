"""Scoring of the answers task: from its tables and the predictions of a run to
scores.
"""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.answer_rows import (
    NAMES,
    QUESTIONS,
    STATEMENTS,
    collected,
    rows,
    supported_option,
    written,
)
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

SMOOTHING = 0.1  # of predicted distributions, as in the paper's file
FOLDS = 4  # of documents, for the threshold of marks


def values_and_counts(scored):
    """Return {(metric, group): (value, number of scored units)}."""
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
    questions = questions_of(files["questions"])
    shares = shares_of(files["responses"], questions, "document_id")
    # Of the four chosen options two are option 0 and two are option 2.
    assert shares["ASKED"]["d00"].tolist() == [0.5, 0, 0.5, 0]
    assert shares["KEPT"]["d00"].tolist() == [0, 1, 0]
    assert shares["SOLD"] == {}
    assert pairs(shares) == [("d00", "ASKED"), ("d00", "KEPT")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"question_id": "ZOO"}, "responses, document d00: there is no question 'ZOO'"),
        (
            {"options": [9]},
            "responses, document d00: options [9] where the question 'ASKED' has 4 options",
        ),
        ({"options": [-1]}, "options [-1] where the question 'ASKED' has 4"),
    ],
)
def test_an_invalid_response_is_rejected(tmp_path, change, message):
    tables = rows(documents=1)
    tables["responses"][0] |= change
    # A table is written in the order of its key.
    tables["responses"].sort(
        key=lambda row: (row["document_id"], row["question_id"], row["response"])
    )
    files = written(tmp_path, tables)
    with pytest.raises(BadInput) as error:
        load([files[name] for name in ANSWERED_FROM], NAMES)
    assert message in str(error.value)


def test_paragraphs_are_in_reading_order_and_not_sorted_by_id(tmp_path):
    tables = rows(documents=1)
    for row, paragraph_id in zip(tables["paragraphs"], "fedcba", strict=True):
        row["paragraph_id"] = paragraph_id
    files = written(tmp_path, tables)
    data = load([files[name] for name in ANSWERED_FROM], NAMES)
    paragraph_ids = [paragraph.paragraph_id for paragraph in data.paragraphs["d00"]]
    assert paragraph_ids == ["f", "e", "d", "c", "b", "a"]


# Answers


def test_answers_are_scored_on_all_documents_and_on_those_with_a_text(tmp_path):
    data, _ = collected(tmp_path, documents=10, without_text=["d03", "d04"])
    settings = PriorSettings(pseudo=2, smoothing=SMOOTHING)
    predictions = prediction_rows(baselines.prior(data.shares, settings))
    scores = values_and_counts(of_answers(predictions, data, SMOOTHING))
    values = {key: value for key, (value, _) in scores.items()}
    counts = {key: count for key, (_, count) in scores.items()}
    # Ten documents with three questions each; eight have a text; two questions are of
    # the category Security.
    assert counts["cross entropy", "all"] == 30
    assert counts["cross entropy", WITH_TEXT] == 24
    assert counts["cross entropy", "question: SOLD"] == 10
    assert counts["cross entropy", "category: Security"] == 20
    # An interval is over documents.
    assert counts["cross entropy, low", WITH_TEXT] == 8
    of_questions = [values["cross entropy", f"question: {name}"] for name in QUESTIONS]
    assert values["cross entropy", "all"] == pytest.approx(np.mean(of_questions))


def uniform_about(data, documents):
    """Return rows of uniform predictions about these documents."""
    predicted = {}
    for (document, question), probabilities in baselines.uniform(data.shares).items():
        if document in documents:
            predicted[document, question] = probabilities
    return prediction_rows(predicted)


def test_documents_without_a_text_may_be_left_out(tmp_path):
    data, _ = collected(tmp_path, documents=3, without_text=["d01"])
    predictions = uniform_about(data, ["d00", "d02"])
    scores = values_and_counts(of_answers(predictions, data, SMOOTHING))
    _, count = scores["accuracy", "all"]
    assert count == 2 * len(QUESTIONS)


@pytest.mark.parametrize(
    ("without_text", "predicted", "missing"),
    [
        ([], ["d00"], "6 of the 9 answered pairs, the first 'ASKED' about 'd01'"),
        (["d01"], ["d01", "d02"], "3 of the 9 answered pairs, the first 'ASKED' about"),
        (
            ["d00", "d01", "d02"],
            ["d01"],
            "6 of the 9 answered pairs, the first 'ASKED'",
        ),
        (["d01"], [], "6 of the 6 answered pairs, the first 'ASKED' about 'd00'"),
    ],
)
def test_a_run_on_some_documents_only_has_no_score(
    tmp_path, without_text, predicted, missing
):
    data, _ = collected(tmp_path, documents=3, without_text=without_text)
    with pytest.raises(BadInput, match=f"predictions: no prediction for {missing}"):
        of_answers(uniform_about(data, predicted), data, SMOOTHING)


def uniform_except(data, changes):
    """Return rows of uniform predictions, with those of ``changes`` about d00.

    ``changes`` is {question: its probabilities, or None for no prediction of this
    question about any document}.
    """
    predicted = dict(baselines.uniform(data.shares))
    for question, probabilities in changes.items():
        predicted["d00", question] = probabilities
    for document, question in list(predicted):
        if question in changes and changes[question] is None:
            del predicted[document, question]
    return prediction_rows(predicted)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"SOLD": None}, "3 of the 9 answered pairs, the first 'SOLD' about 'd00'"),
        (
            {"SOLD": [0.5, 0.4]},
            "document d00, question SOLD: [0.5, 0.4] is not a distribution over the 2 options",
        ),
        ({"SOLD": [1.5, -0.5]}, "is not a distribution over the 2 options"),
        ({"SOLD": [1.005, 0]}, "is not a distribution over the 2 options"),
        ({"SOLD": [float("nan"), 1]}, "is not a distribution over the 2 options"),
        ({"KEPT": [0.5, 0.5]}, "is not a distribution over the 3 options"),
    ],
)
def test_invalid_predictions_are_rejected(tmp_path, changes, message):
    data, _ = collected(tmp_path, documents=3)
    with pytest.raises(BadInput) as error:
        of_answers(uniform_except(data, changes), data, SMOOTHING)
    assert message in str(error.value)


# Marks


def write_marks(tmp_path, data, probabilities):
    """Write the probabilities of marks, and return the path of the file.

    ``probabilities`` are of the shape (paragraphs, questions), like
    `baselines.is_marked`.
    """
    path = tmp_path / "marks.parquet"
    write(MARKED, marked_rows(data, probabilities), path)
    return path


def test_marks_that_equal_those_of_people_get_perfect_scores(tmp_path):
    data, marked = collected(tmp_path, documents=12, without_text=["d05"])
    is_marked = baselines.is_marked(data, marked)
    path = write_marks(tmp_path, data, is_marked * 0.9)
    scores = values_and_counts(of_marks(path, data, marked, FOLDS))
    for metric in (
        "accuracy",
        "precision",
        "recall",
        "F1",
        "F1, best threshold",
        "average precision",
    ):
        assert scores[metric, "all"] == (1, len(QUESTIONS))
    # Eleven documents have a text.
    paragraphs_of_questions = 11 * len(QUESTIONS) * len(data.paragraphs["d00"])
    assert scores["accuracy", "pooled"] == (1, paragraphs_of_questions)


def test_no_marks_at_all_get_the_accuracy_of_unmarked_paragraphs(tmp_path):
    data, marked = collected(tmp_path, documents=12, without_text=["d05"])
    is_marked = baselines.is_marked(data, marked)
    path = write_marks(tmp_path, data, is_marked * 0.0)
    scores = values_and_counts(of_marks(path, data, marked, FOLDS))
    for metric in ("F1", "recall", "precision"):
        value, _ = scores[metric, "all"]
        assert value == 0
    accuracy, _ = scores["accuracy", "pooled"]
    assert accuracy == pytest.approx(1 - is_marked.mean())


def test_marks_are_scored_only_for_questions_that_people_answered(tmp_path):
    data, marked = collected(tmp_path, documents=4, chosen={("d02", "SOLD"): [[]]})
    path = write_marks(tmp_path, data, baselines.is_marked(data, marked) * 1.0)
    scores = values_and_counts(of_marks(path, data, marked, FOLDS))
    paragraphs = len(data.paragraphs["d00"])  # as many in each document
    _, count_of_sold = scores["F1", "question: SOLD"]
    _, count_of_kept = scores["F1", "question: KEPT"]
    assert count_of_sold == 3 * paragraphs
    assert count_of_kept == 4 * paragraphs


def test_missing_predictions_for_a_paragraph_or_question_are_rejected(tmp_path):
    data, marked = collected(tmp_path, documents=3)
    complete = [*marked_rows(data, baselines.is_marked(data, marked) * 1.0)]
    without_paragraph = [row for row in complete if row["paragraph_id"] != "d01/2"]
    without_pair = [
        row
        for row in complete
        if (row["document_id"], row["question_id"]) != ("d01", "KEPT")
    ]
    path = tmp_path / "marks.parquet"
    for predictions, message in (
        (
            without_paragraph,
            "document d01, question ASKED: the predicted paragraphs are not those of the doc",
        ),
        (without_pair, "for 1 of the 9 answered pairs, the first 'KEPT' about 'd01'"),
        ([], "for 9 of the 9 answered pairs, the first 'ASKED' about 'd00'"),
    ):
        write(MARKED, predictions, path)
        with pytest.raises(BadInput, match=message):
            of_marks(path, data, marked, FOLDS)


@pytest.mark.parametrize("probability", [1.5, -0.1, float("nan"), 1.0001])
def test_a_mark_that_is_not_a_share_is_rejected(tmp_path, probability):
    data, marked = collected(tmp_path, documents=3)
    predictions = [*marked_rows(data, baselines.is_marked(data, marked) * 1.0)]
    predictions[1]["probability"] = probability
    path = tmp_path / "marks.parquet"
    # Without the schema of `MARKED`, by which numbers are checked when they are read.
    pq.write_table(pa.Table.from_pylist(predictions), path)
    with pytest.raises(BadInput) as error:
        of_marks(path, data, marked, FOLDS)
    assert str(error.value) == (
        f"{path}, document d00, question ASKED, paragraph d00/1: the probability"
        f" {probability} is not a number from 0 to 1; give probabilities from 0 to 1,"
        " not per cent or logits."
    )


def test_a_mark_that_is_outside_by_rounding_is_scored(tmp_path):
    data, marked = collected(tmp_path, documents=12)
    path = write_marks(tmp_path, data, baselines.is_marked(data, marked) * 1.0000001)
    scores = values_and_counts(of_marks(path, data, marked, FOLDS))
    value, _ = scores["F1", "all"]
    assert value == 1


def test_a_paragraph_is_marked_if_any_reader_marked_it(tmp_path):
    tables = rows(documents=2)
    of_second_reader = [row for row in tables["highlights"] if row["response"] == 1]
    files = written(tmp_path, tables | {"highlights": of_second_reader})
    # Paragraph 0 is a greeting; those of the questions follow in their order.
    expected = defaultdict(set)
    for document in ("d00", "d01"):
        for place, question in enumerate(sorted(QUESTIONS), 1):
            if STATEMENTS[question][supported_option(document, question)]:
                expected[question].add(f"{document}/{place}")
    assert expected
    assert marked_of([files["highlights"]]) == expected
