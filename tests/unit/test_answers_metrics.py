"""Scores of answers and of marks, compared with calculations by hand and with scikit-learn."""

from math import log

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    precision_score,
    recall_score,
)

from answer_rows import shares
from lextables.metrics import answers, marks
from lextables.metrics.answers import Answered
from lextables.metrics.marks import Marked
from lextables.models.soft_labels import EPSILON, binary_cross_entropy, smoothed

YES_NO = Answered(
    "q1",
    "A",
    np.array(["d1", "d2", "d3"]),
    shares([2, 0], [1, 1], [0, 2]),
    np.array([[0.8, 0.2], [0.5, 0.5], [0.6, 0.4]]),
)
THREE = Answered(
    "q2",
    "B",
    np.array(["d1", "d3"]),
    shares([1, 1, 0], [0, 0, 3]),
    np.full((2, 3), 1 / 3),
)


def by_key(rows):
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_shares_are_smoothed_towards_the_uniform_distribution():
    assert smoothed(shares([1, 0], [1, 1]), 0.1) == pytest.approx(
        np.array([[0.95, 0.05], [0.5, 0.5]])
    )
    assert smoothed(shares([3, 0, 1]), 0.1) == pytest.approx(
        np.array([[0.675 + 0.1 / 3, 0.1 / 3, 0.225 + 0.1 / 3]])
    )


def test_the_loss_equals_a_calculation_by_hand():
    # With two options, both terms are equal: -(0.95 ln 0.8 + 0.05 ln 0.2).
    found = binary_cross_entropy(np.array([[0.95, 0.05]]), np.array([[0.8, 0.2]]))
    assert found == pytest.approx([-(0.95 * log(0.8) + 0.05 * log(0.2))])
    # With three options, the loss is the mean of their terms.
    target, given = (0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3), (0.7, 0.2, 0.1)
    by_hand = (
        -sum(
            y * log(p) + (1 - y) * log(1 - p)
            for y, p in zip(target, given, strict=True)
        )
        / 3
    )
    assert binary_cross_entropy(np.array([target]), np.array([given])) == pytest.approx(
        [by_hand]
    )


def test_epsilon_limits_the_loss():
    worst = binary_cross_entropy(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    assert worst == pytest.approx([-log(EPSILON)], rel=1e-6)


def test_the_target_has_the_lowest_loss():
    target = smoothed(YES_NO.shares, 0.1)
    perfect = Answered("q1", "A", YES_NO.documents, YES_NO.shares, target)
    assert answers.excess(perfect, 0.1) == pytest.approx([0, 0, 0], abs=1e-12)
    assert (answers.excess(YES_NO, 0.1)[[0, 2]] > 0.01).all()
    # The lowest possible loss of two options if all people chose the same one.
    assert answers.cross_entropy(perfect, 0.1)[0] == pytest.approx(0.1985, abs=5e-5)


def test_log_loss_and_accuracy():
    assert answers.log_loss(YES_NO, 0.1) == pytest.approx(
        [-log(0.8), -log(0.5), -log(0.4)]
    )
    # In the second document both options are correct; the third prediction is wrong.
    assert answers.accuracy(YES_NO, 0.1).tolist() == [1, 1, 0]
    # Three equal probabilities: people chose two of the options in the first document, one in the second.
    assert answers.accuracy(THREE, 0.1) == pytest.approx([2 / 3, 1 / 3])


def test_scores_are_means_over_pairs_by_question_category_and_all():
    found = by_key(answers.scores_and_units([YES_NO, THREE], 0.1)[0])
    one, two = answers.cross_entropy(YES_NO, 0.1), answers.cross_entropy(THREE, 0.1)
    assert found["cross entropy", "all"] == (
        pytest.approx(np.concatenate([one, two]).mean()),
        5,
    )
    assert found["cross entropy", "category: A"] == (pytest.approx(one.mean()), 3)
    assert found["cross entropy", "question: q2"] == (pytest.approx(two.mean()), 2)
    assert found["accuracy", "all"] == (
        pytest.approx((1 + 1 + 0 + 2 / 3 + 1 / 3) / 5),
        5,
    )


def test_the_jackknife_interval_leaves_out_each_document_with_all_its_pairs():
    found = by_key(answers.scores_and_units([YES_NO, THREE], 0.1)[0])
    one, two = answers.log_loss(YES_NO, 0.1), answers.log_loss(THREE, 0.1)
    whole = np.concatenate([one, two]).mean()
    without = [
        (one[1] + one[2] + two[1]) / 3,
        (one[0] + one[2] + two.sum()) / 4,
        (one[:2].sum() + two[0]) / 3,
    ]
    left = np.array(without)
    low, high = marks.jackknife_interval(whole, left, (0, np.inf))
    assert found["log loss, low", "all"] == (pytest.approx(low), 3)
    assert found["log loss, high", "all"] == (pytest.approx(high), 3)
    alone = Answered("q", "A", np.array(["d"]), shares([1, 0]), np.array([[0.9, 0.1]]))
    assert not [
        key
        for key in by_key(answers.scores_and_units([alone], 0.1)[0])
        if "low" in key[0]
    ]


def test_the_interval_of_an_accuracy_ends_at_one_and_two_documents_are_units():
    predicted = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
    last_wrong = Answered(
        "q", "A", np.array(["a", "b", "c", "d"]), shares(*[[1, 0]] * 4), predicted
    )
    found = by_key(answers.scores_and_units([last_wrong], 0.1)[0])
    assert found["accuracy, high", "all"] == (1.0, 4)
    two = Answered(
        "q", "A", np.array(["c", "d"]), shares([1, 0], [1, 0]), predicted[2:]
    )
    units = answers.scores_and_units([two], 0.1)[1]
    values = {
        row["unit"]: row["value"]
        for row in units
        if (row["metric"], row["group"]) == ("accuracy", "all")
    }
    assert values == pytest.approx({"c": 1, "d": 0})


# Marks


def test_the_threshold_maximises_f1():
    right = np.array([True, False, True, False, False])
    given = np.array([0.9, 0.8, 0.7, 0.2, 0.0])
    assert (
        marks.threshold(right, given) == 0.7
    )  # 2 hits and 1 error: F1 is 0.8; at 0.9 it is 2/3
    # The last paragraph is correct, but its probability is 0.
    assert marks.threshold(right[::-1], given) == 0.7
    # Paragraphs with equal probabilities are marked together.
    assert (
        marks.threshold(np.array([True, False, False]), np.array([0.5, 0.5, 0.1]))
        == 0.5
    )
    # Of several thresholds with the same F1, the highest is returned.
    assert (
        marks.threshold(
            np.array([True, False, False, True]), np.array([0.4, 0.3, 0.2, 0.1])
        )
        == 0.4
    )


@pytest.mark.parametrize(
    ("right", "given"),
    [([], []), ([False, False], [0.5, 0.6]), ([True, False], [0.0, 0.0])],
)
def test_nothing_is_marked_without_positive_labels_or_probabilities(right, given):
    assert (
        marks.threshold(np.array(right, dtype=bool), np.array(given)) == marks.NOTHING
    )


def drawn(seed=0, documents=6, paragraphs=40):
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(documents), paragraphs)
    right = rng.random(len(of)) < 0.2
    return Marked(
        f"q{seed}",
        "AB"[seed % 2],
        of,
        right,
        np.round(0.5 * right + rng.random(len(of)), 2),
    )


def test_a_documents_threshold_is_chosen_on_other_folds():
    question, folds = drawn(), np.array([0, 0, 1, 1, 2, 2])
    chosen = marks.marked(question, folds)
    for fold in range(3):
        here = folds[question.documents] == fold
        cut = marks.threshold(question.right[~here], question.probabilities[~here])
        assert (chosen[here] == (question.probabilities[here] >= cut)).all()
    # The labels of a document do not change marks in the fold of the document.
    turned = Marked(
        "q",
        "A",
        question.documents,
        question.right ^ (question.documents == 0),
        question.probabilities,
    )
    here = folds[question.documents] == 0
    assert (marks.marked(turned, folds)[here] == chosen[here]).all()


def test_scores_of_marks_equal_those_of_scikit_learn():
    questions, folds = [drawn(seed) for seed in range(3)], np.array([0, 0, 1, 1, 2, 2])
    found = by_key(marks.scores_and_units(questions, folds, range(len(folds)))[0])
    one = questions[1]
    chosen = marks.marked(one, folds)
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
        assert found[metric, "question: q1"] == (pytest.approx(value), 240)
        each = [found[metric, f"question: q{seed}"][0] for seed in range(3)]
        assert found[metric, "all"] == (pytest.approx(np.mean(each)), 3)
        assert found[metric, "category: A"] == (pytest.approx(np.mean(each[::2])), 2)
    right = np.concatenate([question.right for question in questions])
    pooled = np.concatenate([marks.marked(question, folds) for question in questions])
    assert found["F1", "pooled"] == (pytest.approx(f1_score(right, pooled)), 720)


def test_the_jackknife_interval_of_marks_leaves_out_each_document():
    questions, folds = [drawn(seed) for seed in range(3)], np.arange(6)
    found = by_key(marks.scores_and_units(questions, folds, range(len(folds)))[0])
    left = []
    for document in range(6):
        kept = [question.documents != document for question in questions]
        left.append(
            np.mean(
                [
                    recall_score(
                        question.right[keep], marks.marked(question, folds)[keep]
                    )
                    for question, keep in zip(questions, kept, strict=True)
                ]
            )
        )
    low, high = marks.jackknife_interval(
        found["recall", "all"][0], np.array(left), (0, 1)
    )
    assert found["recall, low", "all"] == (pytest.approx(low), 6)
    assert found["recall, high", "all"] == (pytest.approx(high), 6)


def test_a_question_without_marks_has_no_recall():
    nothing = Marked(
        "q9",
        "B",
        np.array([0, 0, 1]),
        np.zeros(3, dtype=bool),
        np.array([0.1, 0.2, 0.3]),
    )
    found = by_key(
        marks.scores_and_units([drawn(), nothing], np.arange(6), range(6))[0]
    )
    assert np.isnan(found["F1", "question: q9"][0]) and np.isnan(
        found["recall", "question: q9"][0]
    )
    assert found["accuracy", "question: q9"] == (1, 3)
    assert found["F1", "all"] == (found["F1", "question: q0"][0], 1)
    assert found["precision", "all"][1] == 2
