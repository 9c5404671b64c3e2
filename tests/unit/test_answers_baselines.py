"""Baselines of the answers task: what they learn, and that a document's answers do not
predict themselves.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from helpers.answer_rows import QUESTIONS, collected, shares
from lextables.metrics.answers import AnsweredQuestion, cross_entropy
from lextables.models.linear import fit_shares
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers import baselines
from lextables.tasks.answers.collection import (
    fold,
    marked_rows,
    of_vectors,
    of_words,
    pairs,
)
from lextables.tasks.answers.prediction import Prediction
from lextables.tasks.answers.predictors import words as word_models
from lextables.tasks.answers.predictors.language_model import texts
from lextables.tasks.answers.settings import (
    AskingSettings,
    FixedSettings,
    LearningSettings,
    MarkingSettings,
    PriorSettings,
)

PRIOR = PriorSettings(pseudo=2, smoothing=0.1)
SETTINGS = LearningSettings(
    best=[1], penalties=[0.001, 0.1, 10.0], pseudo=2, smoothing=0.1, folds=5
)
MARKING = MarkingSettings(folds=5, longest=2, least=2, alpha=1e-4, epochs=20)


def loss(found, data, question):
    """Return the mean loss of the answers to one question."""
    those = {
        document: data.shares[question][document]
        for document, name in sorted(found)
        if name == question
    }
    given = np.stack([found[document, question] for document in those])
    return cross_entropy(
        AnsweredQuestion(
            question, "", np.array([*those]), np.stack([*those.values()]), given
        ),
        0.1,
    ).mean()


def answered_by_words(data):
    return baselines.linear_answers(of_words(data), data.shares, SETTINGS)[0]


# Folds


def test_the_fold_depends_only_on_the_document():
    assert [fold(name, 5) for name in ("a.com", "b.com", "c.com")] == [1, 4, 4]
    counts = np.bincount(
        [fold(f"site{number}.org", 5) for number in range(1000)], minlength=5
    )
    assert counts.min() > 160 and counts.max() < 240


# Answers without a text


def test_the_prior_is_the_mean_of_other_documents_and_pseudo_documents():
    given = {
        "q": {"d1": shares([1, 0])[0], "d2": shares([1, 1])[0], "d3": shares([0, 1])[0]}
    }
    found = baselines.prior(given, PriorSettings(pseudo=2, smoothing=0))
    assert found["d1", "q"] == pytest.approx([(0.5 + 0 + 1) / 4, (0.5 + 1 + 1) / 4])
    assert found["d3", "q"] == pytest.approx([(1 + 0.5 + 1) / 4, (0 + 0.5 + 1) / 4])
    smooth = baselines.prior(given, PRIOR)
    assert smooth["d1", "q"] == pytest.approx([0.9 * 0.375 + 0.05, 0.9 * 0.625 + 0.05])


def test_the_prior_of_a_single_document_is_uniform():
    found = baselines.prior({"q": {"d1": shares([1, 0])[0]}}, PRIOR)
    assert found["d1", "q"].tolist() == [0.5, 0.5]
    assert baselines.prior({"q": {}}, PRIOR) == {}


def test_random_guesses_are_uniform():
    found = baselines.uniform({"q": {"d1": shares([1, 0, 0])[0]}})
    assert found["d1", "q"] == pytest.approx([1 / 3] * 3)


# Trained models


def test_a_model_of_shares_learns_from_a_feature():
    features = np.array([[1.0], [1.0], [-1.0], [-1.0]] * 5)
    found = fit_shares(
        features,
        shares(*[[9, 1], [9, 1], [1, 9], [1, 9]] * 5),
        penalty=1e4,
        pseudo=1e-6,
    )
    odds = np.exp(found.logits(np.array([[1.0], [-1.0]])))
    assert odds / odds.sum(axis=1, keepdims=True) == pytest.approx(
        np.array([[0.9, 0.1], [0.1, 0.9]]), abs=1e-3
    )


@pytest.mark.parametrize("answers", [2, 3, 4])
def test_a_model_of_shares_without_features_is_the_mean_with_pseudo_rows(answers):
    given = shares(*np.random.default_rng(0).integers(1, 5, (7, answers)).tolist())
    odds = np.exp(
        fit_shares(np.zeros((7, 1)), given, penalty=1.0, pseudo=2).logits(
            np.zeros((1, 1))
        )
    )[0]
    expected = (given.sum(axis=0) + 2 / answers) / 9
    assert odds / odds.sum() == pytest.approx(expected, abs=1e-3)


def test_the_word_model_is_better_than_the_prior_if_words_are_informative(tmp_path):
    data, _ = collected(tmp_path, documents=40)
    found, chosen = baselines.linear_answers(of_words(data), data.shares, SETTINGS)
    others = baselines.prior(data.shares, PRIOR)
    assert set(found) == set(pairs(data.shares))
    assert all(
        probabilities.sum() == pytest.approx(1) for probabilities in found.values()
    )
    for question in QUESTIONS:
        assert loss(found, data, question) < loss(others, data, question) - 0.1
    assert set(chosen.values()) == {10.0}


def test_a_strong_penalty_is_chosen_if_words_are_not_informative(tmp_path):
    rng = np.random.default_rng(1)
    chosen = {}
    for pair in itertools.product([f"d{n:02}" for n in range(40)], QUESTIONS):
        chosen[pair] = [[int(rng.integers(2))]]
    data, _ = collected(tmp_path, documents=40, chosen=chosen)
    found, penalties = baselines.linear_answers(of_words(data), data.shares, SETTINGS)
    assert set(penalties.values()) <= {0.001, 0.1}
    others = baselines.prior(data.shares, PRIOR)
    for question in QUESTIONS:
        assert loss(found, data, question) < loss(others, data, question) + 0.03


def test_the_strongest_penalty_is_used_if_no_other_fold_can_compare_them(tmp_path):
    data, _ = collected(tmp_path, documents=40)
    first = next(iter(data.paragraphs))
    same_fold = {
        name: rows
        for name, rows in data.paragraphs.items()
        if fold(name, 5) == fold(first, 5)
    }
    alone = replace(data, paragraphs=same_fold)
    penalties = baselines.linear_answers(of_words(alone), alone.shares, SETTINGS)[1]
    assert set(penalties.values()) == {0.001}


@pytest.mark.parametrize("learnt", [False, True])
def test_predictions_do_not_depend_on_the_answers_about_the_document(tmp_path, learnt):
    """Other answers about a document change predictions for other documents, but not
    for this document.
    """

    def found(folder, chosen):
        data, _ = collected(folder, documents=30, chosen=chosen)
        return (
            answered_by_words(data) if learnt else baselines.prior(data.shares, PRIOR)
        )

    for number, name in enumerate(("d00", "d07")):
        turned = {(name, question): [[0], [1], [0, 1]] for question in QUESTIONS}
        (before := tmp_path / f"{number}a").mkdir()
        (after := tmp_path / f"{number}b").mkdir()
        first = found(before, {})
        second = found(after, turned)
        for question in QUESTIONS:
            assert (first[name, question] == second[name, question]).all()
        others = [pair for pair in first if pair[0] != name]
        assert any((first[pair] != second[pair]).any() for pair in others)


def test_documents_without_text_get_no_prediction_but_count_for_option_shares(tmp_path):
    without = [f"d{number:02}" for number in range(10, 30)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    data, _ = collected(tmp_path / "a", documents=30, without_text=without)
    found = answered_by_words(data)
    assert {document for document, _ in found} == {
        f"d{number:02}" for number in range(10)
    }
    one_way = {(name, "SOLD"): [[1]] for name in without}
    data, _ = collected(
        tmp_path / "b", documents=30, without_text=without, chosen=one_way
    )
    turned = answered_by_words(data)
    assert all(turned[name, "SOLD"][1] > found[name, "SOLD"][1] for name, _ in found)


def test_results_do_not_depend_on_the_number_of_threads(tmp_path):
    data, _ = collected(tmp_path, documents=20)
    words = of_words(data)
    one, two = (
        baselines.linear_answers(words, data.shares, SETTINGS, threads)
        for threads in (1, 2)
    )
    assert one[1] == two[1]
    assert all((one[0][pair] == two[0][pair]).all() for pair in one[0])


def test_rotated_features_keep_their_distances():
    rows = np.random.default_rng(0).random((6, 40))
    found = baselines.rotated(rows)
    assert found.shape == (6, 5)  # six centred rows span five dimensions
    assert found @ found.T == pytest.approx(
        (rows - rows.mean(axis=0)) @ (rows - rows.mean(axis=0)).T
    )
    assert baselines.rotated(np.ones((3, 4))).shape == (3, 0)


# Paragraphs and questions in one space


def test_the_best_paragraph_answers_the_question(tmp_path):
    data, _ = collected(tmp_path, documents=5)
    words = of_words(data)
    for at, document in enumerate(words.documents):
        for number, question in enumerate(words.names):
            (row,) = words.best(at, number, 1)
            place = 1 + sorted(QUESTIONS).index(question)
            said = data.paragraphs[document][place].text
            if said:
                assert row - words.of(at).start == place
    assert words.best(0, 0, 99).tolist() == [*range(len(data.paragraphs["d00"]))]


def test_a_document_is_described_by_the_means_of_its_best_paragraphs(tmp_path):
    data, _ = collected(tmp_path, documents=3)
    space = of_vectors(data, encoded, encoded)
    texts_of = [one.text for one in data.paragraphs["d01"]]
    expected = []
    for count in (1, 3):
        rows = space.best(1, 2, count)
        mean = encoded([texts_of[row - space.of(1).start] for row in rows]).mean(axis=0)
        expected.append(mean / np.linalg.norm(mean))
    assert space.described(2, [1, 3])[1] == pytest.approx(np.concatenate(expected))


def encoded(given):
    """Return a unit vector of letter counts for each text."""
    found = np.ones((len(given), 6), dtype=np.float32)
    for column, letter in enumerate("aeiost"):
        found[:, column] += [text.count(letter) for text in given]
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_a_data_set_without_words_is_rejected(tmp_path):
    data, _ = collected(tmp_path, documents=3, without_text=["d00", "d01", "d02"])
    with pytest.raises(BadInput, match="no word occurs in"):
        of_words(data)


def test_texts_are_whole_documents_or_the_paragraphs_retrieved_for_a_question(tmp_path):
    data, _ = collected(tmp_path, documents=2, without_text=["d01"])

    def read(text, best=0):
        settings = AskingSettings(text=text, best=best, prompt=[], orders=1, samples=1)
        return dict(texts(data, settings))

    whole = read("whole")
    assert whole["d00", "SOLD"] == "\n\n".join(
        one.text for one in data.paragraphs["d00"]
    )
    assert list(whole) == [("d00", name) for name in sorted(QUESTIONS)]
    found = read("retrieved", 1)
    assert "brokers" in found["d00", "SOLD"] and "\n" not in found["d00", "SOLD"]
    assert len(read("retrieved", 2)["d00", "SOLD"].split("\n\n")) == 2


# Marks


def given_by(kind, data, marked):
    settings = MARKING if kind == "linear" else FixedSettings(kind=kind)
    return word_models.mark(Prediction(data, settings, marked))


def test_marks_of_every_paragraph_and_question_are_between_0_and_1(tmp_path):
    data, marked = collected(tmp_path, documents=10)
    paragraphs = sum(map(len, data.paragraphs.values()))
    for kind in ("never", "random", "overlap", "linear"):
        found = given_by(kind, data, marked)
        assert found.shape == (paragraphs, len(QUESTIONS))
        assert found.min() >= 0 and found.max() <= 1
    assert not given_by("never", data, marked).any()


def test_marked_paragraphs_get_higher_values(tmp_path):
    data, marked = collected(tmp_path, documents=30)
    right = baselines.is_marked(data, marked)
    assert right.sum() == sum(map(len, marked.values())) > 0
    for kind in ("overlap", "linear"):
        found = given_by(kind, data, marked)
        for column in range(len(QUESTIONS)):
            inside, outside = (
                found[right[:, column], column],
                found[~right[:, column], column],
            )
            assert inside.mean() > outside.mean() + 0.2, kind


def test_predicted_marks_do_not_depend_on_the_marks_in_the_document(tmp_path):
    data, marked = collected(tmp_path, documents=20)
    space = of_words(data)
    right = baselines.is_marked(data, marked)
    turned = right.copy()
    here = space.of(space.documents.index("d03"))
    turned[here] = ~turned[here]
    first, second = (
        baselines.linear_marks(data, space, each, MARKING) for each in (right, turned)
    )
    assert (first[here] == second[here]).all()
    assert (first != second).any()


def test_rows_of_marks_are_the_answered_pairs_in_order(tmp_path):
    data, marked = collected(
        tmp_path, documents=3, without_text=["d01"], chosen={("d02", "SOLD"): [[], []]}
    )
    found = list(marked_rows(data, given_by("overlap", data, marked)))
    keys = [
        (row["document_id"], row["question_id"], row["paragraph_id"]) for row in found
    ]
    assert keys == sorted(set(keys))
    assert {key[:2] for key in keys} == {("d00", name) for name in QUESTIONS} | {
        ("d02", "ASKED"),
        ("d02", "KEPT"),
    }
