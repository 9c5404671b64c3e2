"""Scores of answers and of marks, against numbers made by hand and by scikit-learn."""

from math import log

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score

from answer_rows import shares
from lextables.metrics import answers, marks
from lextables.metrics.answers import Answered
from lextables.metrics.marks import Marked
from lextables.models.soft_labels import EPSILON, binary_cross_entropy, smoothed

YES_NO = Answered(
    "q1", "A", np.array(["d1", "d2", "d3"]), shares([2, 0], [1, 1], [0, 2]),
    np.array([[0.8, 0.2], [0.5, 0.5], [0.6, 0.4]]),
)  # fmt: skip
THREE = Answered("q2", "B", np.array(["d1", "d3"]), shares([1, 1, 0], [0, 0, 3]), np.full((2, 3), 1 / 3))


def by_key(rows):
    return {(row["metric"], row["group"]): (row["value"], row["n"]) for row in rows}


def test_a_share_is_smoothed_towards_all_options_alike():
    assert smoothed(shares([1, 0], [1, 1]), 0.1) == pytest.approx(np.array([[0.95, 0.05], [0.5, 0.5]]))
    assert smoothed(shares([3, 0, 1]), 0.1) == pytest.approx(
        np.array([[0.675 + 0.1 / 3, 0.1 / 3, 0.225 + 0.1 / 3]])
    )


def test_the_loss_of_an_answer_by_hand():
    # Of two options the terms are alike: -(0.95 ln 0.8 + 0.05 ln 0.2).
    found = binary_cross_entropy(np.array([[0.95, 0.05]]), np.array([[0.8, 0.2]]))
    assert found == pytest.approx([-(0.95 * log(0.8) + 0.05 * log(0.2))])
    # Of three the mean of the options' own.
    target, given = (0.9 + 0.1 / 3, 0.1 / 3, 0.1 / 3), (0.7, 0.2, 0.1)
    by_hand = -sum(y * log(p) + (1 - y) * log(1 - p) for y, p in zip(target, given, strict=True)) / 3
    assert binary_cross_entropy(np.array([target]), np.array([given])) == pytest.approx([by_hand])


def test_no_guess_is_worse_than_the_epsilon_allows():
    worst = binary_cross_entropy(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    assert worst == pytest.approx([-log(EPSILON)], rel=1e-6)


def test_nothing_loses_less_than_the_target_itself():
    target = smoothed(YES_NO.shares, 0.1)
    perfect = Answered("q1", "A", YES_NO.documents, YES_NO.shares, target)
    assert answers.excess(perfect, 0.1) == pytest.approx([0, 0, 0], abs=1e-12)
    assert (answers.excess(YES_NO, 0.1)[[0, 2]] > 0.01).all()
    # The least loss of two options that one person or several chose alike.
    assert answers.cross_entropy(perfect, 0.1)[0] == pytest.approx(0.1985, abs=5e-5)


def test_log_loss_and_accuracy():
    assert answers.log_loss(YES_NO, 0.1) == pytest.approx([-log(0.8), -log(0.5), -log(0.4)])
    # The second is right whichever it names, the third is wrong.
    assert answers.accuracy(YES_NO, 0.1).tolist() == [1, 1, 0]
    # Of three alike one of two that were chosen, and the one that was.
    assert answers.accuracy(THREE, 0.1) == pytest.approx([2 / 3, 1 / 3])


def test_scores_are_means_over_pairs_by_question_category_and_all():
    found = by_key(answers.scores_and_units([YES_NO, THREE], 0.1)[0])
    one, two = answers.cross_entropy(YES_NO, 0.1), answers.cross_entropy(THREE, 0.1)
    assert found["cross entropy", "all"] == (pytest.approx(np.concatenate([one, two]).mean()), 5)
    assert found["cross entropy", "category: A"] == (pytest.approx(one.mean()), 3)
    assert found["cross entropy", "question: q2"] == (pytest.approx(two.mean()), 2)
    assert found["accuracy", "all"] == (pytest.approx((1 + 1 + 0 + 2 / 3 + 1 / 3) / 5), 5)


def test_an_interval_leaves_each_document_out_with_all_of_its_pairs():
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
    assert not [key for key in by_key(answers.scores_and_units([alone], 0.1)[0]) if "low" in key[0]]


# Marks


def test_a_threshold_is_the_one_of_the_highest_f1():
    right = np.array([True, False, True, False, False])
    given = np.array([0.9, 0.8, 0.7, 0.2, 0.0])
    assert marks.threshold(right, given) == 0.7  # 2 hits, 1 wrong: 0.8; of 0.9 alone 2/3
    # The last is right, and given nothing.
    assert marks.threshold(right[::-1], given) == 0.7
    # What is given alike is marked together.
    assert marks.threshold(np.array([True, False, False]), np.array([0.5, 0.5, 0.1])) == 0.5
    # Of equals the highest.
    assert marks.threshold(np.array([True, False, False, True]), np.array([0.4, 0.3, 0.2, 0.1])) == 0.4


@pytest.mark.parametrize(
    ("right", "given"), [([], []), ([False, False], [0.5, 0.6]), ([True, False], [0.0, 0.0])]
)
def test_what_is_given_nothing_or_never_right_is_not_marked(right, given):
    assert marks.threshold(np.array(right, dtype=bool), np.array(given)) == marks.NOTHING


def drawn(seed=0, documents=6, paragraphs=40):
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(documents), paragraphs)
    right = rng.random(len(of)) < 0.2
    return Marked(f"q{seed}", "AB"[seed % 2], of, right, np.round(0.5 * right + rng.random(len(of)), 2))


def test_a_documents_threshold_is_chosen_on_other_folds():
    question, folds = drawn(), np.array([0, 0, 1, 1, 2, 2])
    chosen = marks.marked(question, folds)
    for fold in range(3):
        here = folds[question.documents] == fold
        cut = marks.threshold(question.right[~here], question.probabilities[~here])
        assert (chosen[here] == (question.probabilities[here] >= cut)).all()
    # What is right in a document moves no mark of its own fold.
    turned = Marked(
        "q", "A", question.documents, question.right ^ (question.documents == 0), question.probabilities
    )
    here = folds[question.documents] == 0
    assert (marks.marked(turned, folds)[here] == chosen[here]).all()


def test_marks_are_counted_as_scikit_learn_counts_them():
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
            f1_score(one.right, one.probabilities >= cut) for cut in np.unique(one.probabilities)
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


def test_an_interval_of_marks_leaves_each_document_out():
    questions, folds = [drawn(seed) for seed in range(3)], np.arange(6)
    found = by_key(marks.scores_and_units(questions, folds, range(len(folds)))[0])
    left = []
    for document in range(6):
        kept = [question.documents != document for question in questions]
        left.append(
            np.mean(
                [
                    recall_score(question.right[keep], marks.marked(question, folds)[keep])
                    for question, keep in zip(questions, kept, strict=True)
                ]
            )
        )
    low, high = marks.jackknife_interval(found["recall", "all"][0], np.array(left), (0, 1))
    assert found["recall, low", "all"] == (pytest.approx(low), 6)
    assert found["recall, high", "all"] == (pytest.approx(high), 6)


def test_a_question_that_nobody_marked_anything_for_has_no_recall():
    nothing = Marked("q9", "B", np.array([0, 0, 1]), np.zeros(3, dtype=bool), np.array([0.1, 0.2, 0.3]))
    found = by_key(marks.scores_and_units([drawn(), nothing], np.arange(6), range(6))[0])
    assert np.isnan(found["F1", "question: q9"][0]) and np.isnan(found["recall", "question: q9"][0])
    assert found["accuracy", "question: q9"] == (1, 3)
    assert found["F1", "all"] == (found["F1", "question: q0"][0], 1)
    assert found["precision", "all"][1] == 2
