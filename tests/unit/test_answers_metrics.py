"""Scores of answers and of marks, compared with calculations by hand and with
scikit-learn.
"""

import math
from dataclasses import replace
from math import log

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    precision_score,
    recall_score,
)

from helpers import jackknife
from helpers.answer_rows import shares
from lextables.metrics import answers, marks
from lextables.metrics.answers import AnsweredQuestion
from lextables.metrics.marks import MarkedQuestion
from lextables.models.soft_labels import EPSILON, binary_cross_entropy, smoothed

YES_NO = AnsweredQuestion(
    "q1",
    "A",
    np.array(["d1", "d2", "d3"]),
    shares([2, 0], [1, 1], [0, 2]),
    np.array([[0.8, 0.2], [0.5, 0.5], [0.6, 0.4]]),
)
THREE = AnsweredQuestion(
    "q2",
    "B",
    np.array(["d1", "d3"]),
    shares([1, 1, 0], [0, 0, 3]),
    np.full((2, 3), 1 / 3),
)


def by_key(rows):
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_shares_are_smoothed_towards_the_uniform_distribution():
    found = smoothed(shares([1, 0], [1, 1]), 0.1)
    assert found == pytest.approx(np.array([[0.95, 0.05], [0.5, 0.5]]))
    third = 0.1 / 3
    found = smoothed(shares([3, 0, 1]), 0.1)
    assert found == pytest.approx(np.array([[0.675 + third, third, 0.225 + third]]))


THIRD = 0.1 / 3


@pytest.mark.parametrize(
    ("target", "given", "loss"),
    [
        # With two options, both terms are equal.
        ([0.95, 0.05], [0.8, 0.2], -(0.95 * log(0.8) + 0.05 * log(0.2))),
        # With three options, the loss is the mean of their terms.
        (
            [0.9 + THIRD, THIRD, THIRD],
            [0.7, 0.2, 0.1],
            -(
                (0.9 + THIRD) * log(0.7)
                + (0.1 - THIRD) * log(0.3)
                + THIRD * (log(0.2) + log(0.1))
                + (1 - THIRD) * (log(0.8) + log(0.9))
            )
            / 3,
        ),
        ([1.0, 0.0], [0.0, 1.0], -log(EPSILON)),
    ],
)
def test_the_loss_equals_a_calculation_by_hand(target, given, loss):
    found = binary_cross_entropy(np.array([target]), np.array([given]))
    assert found == pytest.approx([loss], rel=1e-6)


def test_the_target_has_the_lowest_loss():
    target = smoothed(YES_NO.shares, 0.1)
    perfect = AnsweredQuestion("q1", "A", YES_NO.documents, YES_NO.shares, target)
    assert answers.excess(perfect, 0.1) == pytest.approx([0, 0, 0], abs=1e-12)
    assert (answers.excess(YES_NO, 0.1)[[0, 2]] > 0.01).all()
    # The lowest possible loss of two options if all people chose the same one.
    assert answers.cross_entropy(perfect, 0.1)[0] == pytest.approx(0.1985, abs=5e-5)


def test_log_loss_and_accuracy():
    losses = [-log(0.8), -log(0.5), -log(0.4)]
    assert answers.log_loss(YES_NO, 0.1) == pytest.approx(losses)
    # In the second document both options are correct; the third prediction is wrong.
    assert answers.accuracy(YES_NO, 0.1).tolist() == [1, 1, 0]
    # Three equal probabilities: people chose two of the options in the first document,
    # one in the second.
    assert answers.accuracy(THREE, 0.1) == pytest.approx([2 / 3, 1 / 3])


def test_scores_are_means_over_pairs_with_the_jackknife_over_documents():
    values = by_key(answers.scores_and_units([YES_NO, THREE], 0.1)[0])
    one = answers.log_loss(YES_NO, 0.1)
    two = answers.log_loss(THREE, 0.1)
    mean = np.concatenate([one, two]).mean()
    assert values["log loss", "all"] == (pytest.approx(mean), 5)
    assert values["log loss", "category: A"] == (pytest.approx(one.mean()), 3)
    assert values["log loss", "question: q2"] == (pytest.approx(two.mean()), 2)
    accuracy = (1 + 1 + 0 + 2 / 3 + 1 / 3) / 5
    assert values["accuracy", "all"] == (pytest.approx(accuracy), 5)
    # Each document is left out with all its pairs.
    without = [
        (one[1] + one[2] + two[1]) / 3,
        (one[0] + one[2] + two.sum()) / 4,
        (one[:2].sum() + two[0]) / 3,
    ]
    low, high = jackknife.interval(mean, np.array(without), math.inf)
    assert values["log loss, low", "all"] == (pytest.approx(low), 3)
    assert values["log loss, high", "all"] == (pytest.approx(high), 3)


def certain(*right):
    """A question about documents whose predictions are right or wrong."""
    given = np.array([[0.9, 0.1] if each else [0.1, 0.9] for each in right])
    names = np.array([*"abcd"][: len(right)])
    return AnsweredQuestion("q", "A", names, shares(*[[1, 0]] * len(right)), given)


def test_the_interval_of_an_accuracy_ends_at_one_and_two_documents_are_units():
    found = by_key(answers.scores_and_units([certain(1, 1, 1, 0)], 0.1)[0])
    assert found["accuracy, high", "all"] == (1.0, 4)
    rows, units = answers.scores_and_units([certain(1, 0)], 0.1)
    values = {}
    for row in units:
        if (row["metric"], row["group"]) == ("accuracy", "all"):
            values[row["unit"]] = row["value"]
    assert values == pytest.approx({"a": 1, "b": 0})
    rows, units = answers.scores_and_units([certain(1)], 0.1)
    assert not units and not any("low" in row["metric"] for row in rows)


# Marks


@pytest.mark.parametrize(
    ("right", "given", "threshold"),
    [
        # Two hits and one error: F1 is 0.8; at 0.9 it is 2/3.
        ([1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.2, 0.0], 0.7),
        # The last paragraph is correct, but its probability is 0.
        ([0, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.2, 0.0], 0.7),
        # Paragraphs with equal probabilities are marked together.
        ([1, 0, 0], [0.5, 0.5, 0.1], 0.5),
        # Of several thresholds with the same F1, the highest is returned.
        ([1, 0, 0, 1], [0.4, 0.3, 0.2, 0.1], 0.4),
        ([], [], marks.NOTHING),
        ([0, 0], [0.5, 0.6], marks.NOTHING),
        ([1, 0], [0.0, 0.0], marks.NOTHING),
    ],
)
def test_the_threshold_maximises_f1(right, given, threshold):
    found = marks.threshold(np.array(right, dtype=bool), np.array(given))
    assert found == threshold


def drawn(seed=0, documents=6, paragraphs=40):
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(documents), paragraphs)
    right = rng.random(len(of)) < 0.2
    given = np.round(0.5 * right + rng.random(len(of)), 2)
    return MarkedQuestion(f"q{seed}", "AB"[seed % 2], of, right, given)


FOLDS = np.array([0, 0, 1, 1, 2, 2])


def test_a_documents_threshold_is_chosen_on_other_folds():
    question = drawn()
    chosen = marks.marked(question, FOLDS)
    for fold in range(3):
        here = FOLDS[question.documents] == fold
        cut = marks.threshold(question.right[~here], question.probabilities[~here])
        assert (chosen[here] == (question.probabilities[here] >= cut)).all()
    # The labels of a document do not change marks in the fold of the document.
    turned = replace(question, right=question.right ^ (question.documents == 0))
    here = FOLDS[question.documents] == 0
    assert (marks.marked(turned, FOLDS)[here] == chosen[here]).all()


def test_scores_of_marks_equal_those_of_scikit_learn():
    questions = [drawn(seed) for seed in range(3)]
    values = by_key(marks.scores_and_units(questions, FOLDS, range(6))[0])
    one = questions[1]
    chosen = marks.marked(one, FOLDS)
    expected = {
        "precision": precision_score(one.right, chosen),
        "recall": recall_score(one.right, chosen),
        "F1": f1_score(one.right, chosen),
        "accuracy": (one.right == chosen).mean(),
        "average precision": average_precision_score(one.right, one.probabilities),
        "F1, best threshold": max(
            f1_score(one.right, one.probabilities >= cut)
            for cut in np.unique(one.probabilities)
        ),
    }
    for metric, value in expected.items():
        assert values[metric, "question: q1"] == (pytest.approx(value), 240)
        each = [values[metric, f"question: q{seed}"][0] for seed in range(3)]
        assert values[metric, "all"] == (pytest.approx(np.mean(each)), 3)
        assert values[metric, "category: A"] == (pytest.approx(np.mean(each[::2])), 2)
    right = np.concatenate([question.right for question in questions])
    pooled = np.concatenate([marks.marked(question, FOLDS) for question in questions])
    assert values["F1", "pooled"] == (pytest.approx(f1_score(right, pooled)), 720)


def test_the_jackknife_interval_of_marks_leaves_out_each_document():
    questions = [drawn(seed) for seed in range(3)]
    folds = np.arange(6)
    rows, units = marks.scores_and_units(questions, folds, [*"abcdef"])
    values = by_key(rows)
    without = np.zeros((6, 3))
    for at, question in enumerate(questions):
        chosen = marks.marked(question, folds)
        for document in range(6):
            kept = question.documents != document
            recall = recall_score(question.right[kept], chosen[kept])
            without[document, at] = recall
    recall = values["recall", "all"][0]
    low, high = jackknife.interval(recall, without.mean(axis=1))
    assert values["recall, low", "all"] == (pytest.approx(low), 6)
    assert values["recall, high", "all"] == (pytest.approx(high), 6)
    assert {row["unit"] for row in units} == {*"abcdef"}
    assert not [row for row in units if row["group"].startswith("question")]


def test_a_question_without_marks_has_no_recall():
    documents = np.array([0, 0, 1])
    right = np.zeros(3, dtype=bool)
    nothing = MarkedQuestion("q9", "B", documents, right, np.array([0.1, 0.2, 0.3]))
    rows, _ = marks.scores_and_units([drawn(), nothing], np.arange(6), range(6))
    values = by_key(rows)
    assert np.isnan(values["F1", "question: q9"][0])
    assert np.isnan(values["recall", "question: q9"][0])
    assert values["accuracy", "question: q9"] == (1, 3)
    assert values["F1", "all"] == (values["F1", "question: q0"][0], 1)
    assert values["precision", "all"][1] == 2
