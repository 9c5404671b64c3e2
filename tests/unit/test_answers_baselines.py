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


def loss(predictions, data, question):
    """Return the mean cross entropy of the predictions for one question.

    ``predictions`` are {(document, question): probabilities of the options}.
    """
    documents = [document for document, name in sorted(predictions) if name == question]
    shares_of_people = data.shares[question]
    answered = AnsweredQuestion(
        question,
        "",
        np.array(documents),
        np.stack([shares_of_people[document] for document in documents]),
        np.stack([predictions[document, question] for document in documents]),
    )
    return cross_entropy(answered, 0.1).mean()


def answered_by_words(data):
    """Return the predictions of the linear model of words."""
    predictions, _ = baselines.linear_answers(of_words(data), data.shares, SETTINGS)
    return predictions


# Folds


def test_the_fold_depends_only_on_the_document():
    assert [fold(name, 5) for name in ("a.com", "b.com", "c.com")] == [1, 4, 4]
    folds = [fold(f"site{number}.org", 5) for number in range(1000)]
    sizes = np.bincount(folds, minlength=5)
    assert sizes.min() > 160
    assert sizes.max() < 240


# Answers without a text


def test_the_prior_is_the_mean_of_other_documents_and_pseudo_documents():
    d1, d2, d3 = shares([1, 0], [1, 1], [0, 1])
    answers = {"q": {"d1": d1, "d2": d2, "d3": d3}}
    prior = baselines.prior(answers, PriorSettings(pseudo=2, smoothing=0))
    # Two other documents, and two pseudo-documents with the share 0.5 of each option.
    assert prior["d1", "q"] == pytest.approx([(0.5 + 0 + 1) / 4, (0.5 + 1 + 1) / 4])
    assert prior["d3", "q"] == pytest.approx([(1 + 0.5 + 1) / 4, (0 + 0.5 + 1) / 4])
    smoothed = baselines.prior(answers, PRIOR)
    expected = [0.9 * 0.375 + 0.1 / 2, 0.9 * 0.625 + 0.1 / 2]
    assert smoothed["d1", "q"] == pytest.approx(expected)


def test_the_prior_of_a_single_document_is_uniform():
    prior = baselines.prior({"q": {"d1": shares([1, 0])[0]}}, PRIOR)
    assert prior["d1", "q"].tolist() == [0.5, 0.5]
    assert baselines.prior({"q": {}}, PRIOR) == {}


def test_random_guesses_are_uniform():
    predictions = baselines.uniform({"q": {"d1": shares([1, 0, 0])[0]}})
    assert predictions["d1", "q"] == pytest.approx([1 / 3] * 3)


# Trained models


def test_a_model_of_shares_learns_from_a_feature():
    features = np.array([[1.0], [1.0], [-1.0], [-1.0]] * 5)
    targets = shares(*[[9, 1], [9, 1], [1, 9], [1, 9]] * 5)
    model = fit_shares(features, targets, penalty=1e4, pseudo=1e-6)
    odds = np.exp(model.logits(np.array([[1.0], [-1.0]])))
    probabilities = odds / odds.sum(axis=1, keepdims=True)
    expected = np.array([[0.9, 0.1], [0.1, 0.9]])
    assert probabilities == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("options", [2, 3, 4])
def test_a_model_of_shares_without_features_is_the_mean_with_pseudo_rows(options):
    targets = shares(*np.random.default_rng(0).integers(1, 5, (7, options)).tolist())
    model = fit_shares(np.zeros((7, 1)), targets, penalty=1.0, pseudo=2)
    odds = np.exp(model.logits(np.zeros((1, 1))))[0]
    # Seven rows, and two pseudo-rows with equal shares.
    expected = (targets.sum(axis=0) + 2 / options) / 9
    assert odds / odds.sum() == pytest.approx(expected, abs=1e-3)


def test_the_word_model_is_better_than_the_prior_if_words_are_informative(tmp_path):
    data, _ = collected(tmp_path, documents=40)
    by_words, penalties = baselines.linear_answers(
        of_words(data), data.shares, SETTINGS
    )
    prior = baselines.prior(data.shares, PRIOR)
    assert set(by_words) == set(pairs(data.shares))
    for probabilities in by_words.values():
        assert probabilities.sum() == pytest.approx(1)
    for question in QUESTIONS:
        assert loss(by_words, data, question) < loss(prior, data, question) - 0.1
    # The weakest one: a penalty is the inverse of the strength.
    assert set(penalties.values()) == {10.0}


def test_a_strong_penalty_is_chosen_if_words_are_not_informative(tmp_path):
    rng = np.random.default_rng(1)
    chosen = {}
    for pair in itertools.product([f"d{n:02}" for n in range(40)], QUESTIONS):
        chosen[pair] = [[int(rng.integers(2))]]
    data, _ = collected(tmp_path, documents=40, chosen=chosen)
    by_words, penalties = baselines.linear_answers(
        of_words(data), data.shares, SETTINGS
    )
    assert set(penalties.values()) <= {0.001, 0.1}
    prior = baselines.prior(data.shares, PRIOR)
    for question in QUESTIONS:
        assert loss(by_words, data, question) < loss(prior, data, question) + 0.03


def test_the_strongest_penalty_is_used_if_no_other_fold_can_compare_them(tmp_path):
    data, _ = collected(tmp_path, documents=40)
    some_document = next(iter(data.paragraphs))
    paragraphs = {}
    for document, rows in data.paragraphs.items():
        if fold(document, 5) == fold(some_document, 5):
            paragraphs[document] = rows
    one_fold = replace(data, paragraphs=paragraphs)
    _, penalties = baselines.linear_answers(
        of_words(one_fold), one_fold.shares, SETTINGS
    )
    assert set(penalties.values()) == {0.001}


@pytest.mark.parametrize("model", ["prior", "words"])
def test_predictions_do_not_depend_on_the_answers_about_the_document(tmp_path, model):
    """Other answers about a document change predictions for other documents, but not
    for this document.
    """

    def predictions(folder, chosen):
        """Return the predictions with these answers of people (see `rows`)."""
        (tmp_path / folder).mkdir()
        data, _ = collected(tmp_path / folder, documents=30, chosen=chosen)
        if model == "words":
            return answered_by_words(data)
        return baselines.prior(data.shares, PRIOR)

    for name in ("d00", "d07"):
        other_answers = {(name, question): [[0], [1], [0, 1]] for question in QUESTIONS}
        before = predictions(f"{name} before", {})
        after = predictions(f"{name} after", other_answers)
        for question in QUESTIONS:
            assert (before[name, question] == after[name, question]).all()
        others = [pair for pair in before if pair[0] != name]
        assert any((before[pair] != after[pair]).any() for pair in others)


def test_documents_without_text_get_no_prediction_but_count_for_option_shares(tmp_path):
    without = [f"d{number:02}" for number in range(10, 30)]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    data, _ = collected(tmp_path / "a", documents=30, without_text=without)
    predictions = answered_by_words(data)
    with_text = {f"d{number:02}" for number in range(10)}
    assert {document for document, _ in predictions} == with_text
    # The same, but all documents without a text have the answer 1.
    only_answer_1 = {(name, "SOLD"): [[1]] for name in without}
    data, _ = collected(
        tmp_path / "b", documents=30, without_text=without, chosen=only_answer_1
    )
    after_change = answered_by_words(data)
    for name in with_text:
        assert after_change[name, "SOLD"][1] > predictions[name, "SOLD"][1]


def test_results_do_not_depend_on_the_number_of_threads(tmp_path):
    data, _ = collected(tmp_path, documents=20)
    words = of_words(data)
    predictions, penalties = baselines.linear_answers(words, data.shares, SETTINGS, 1)
    predictions_of_two, penalties_of_two = baselines.linear_answers(
        words, data.shares, SETTINGS, 2
    )
    assert penalties == penalties_of_two
    for pair, probabilities in predictions.items():
        assert (probabilities == predictions_of_two[pair]).all()


def test_rotated_features_keep_the_products_of_centred_rows():
    rows = np.random.default_rng(0).random((6, 40))
    rotated = baselines.rotated(rows)
    assert rotated.shape == (6, 5)  # six centred rows span five dimensions
    centred = rows - rows.mean(axis=0)
    assert rotated @ rotated.T == pytest.approx(centred @ centred.T)
    assert baselines.rotated(np.ones((3, 4))).shape == (3, 0)


# Paragraphs and questions in one space


def test_the_best_paragraph_answers_the_question(tmp_path):
    data, _ = collected(tmp_path, documents=5)
    words = of_words(data)
    for document_number, document in enumerate(words.documents):
        for question_number, question in enumerate(words.names):
            (row,) = words.best(document_number, question_number, 1)
            # Paragraph 0 is a greeting; those of the questions follow in their order.
            place = 1 + sorted(QUESTIONS).index(question)
            if data.paragraphs[document][place].text:
                assert row - words.of(document_number).start == place
    assert words.best(0, 0, 99).tolist() == [*range(len(data.paragraphs["d00"]))]


def test_a_document_is_described_by_the_means_of_its_best_paragraphs(tmp_path):
    data, _ = collected(tmp_path, documents=3)
    space = of_vectors(data, encoded, encoded)
    document_texts = [paragraph.text for paragraph in data.paragraphs["d01"]]
    expected = []
    for count in (1, 3):
        rows = space.best(1, 2, count)  # of document 1, for question 2
        best_texts = [document_texts[row - space.of(1).start] for row in rows]
        mean = encoded(best_texts).mean(axis=0)
        expected.append(mean / np.linalg.norm(mean))
    assert space.described(2, [1, 3])[1] == pytest.approx(np.concatenate(expected))


def encoded(document_texts):
    """Return a unit vector of letter counts for each text."""
    vectors = np.ones((len(document_texts), 6), dtype=np.float32)
    for column, letter in enumerate("aeiost"):
        vectors[:, column] += [text.count(letter) for text in document_texts]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


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
    paragraphs = [paragraph.text for paragraph in data.paragraphs["d00"]]
    assert whole["d00", "SOLD"] == "\n\n".join(paragraphs)
    assert list(whole) == [("d00", name) for name in sorted(QUESTIONS)]
    best_paragraph = read("retrieved", 1)["d00", "SOLD"]
    assert "brokers" in best_paragraph
    assert "\n" not in best_paragraph
    assert len(read("retrieved", 2)["d00", "SOLD"].split("\n\n")) == 2


# Marks


def marks_by(kind, data, marked):
    """Return a baseline's probabilities of marks, float (paragraphs, questions)."""
    settings = MARKING if kind == "linear" else FixedSettings(kind=kind)
    return word_models.mark(Prediction(data, settings, marked))


def test_marks_of_every_paragraph_and_question_are_between_0_and_1(tmp_path):
    data, marked = collected(tmp_path, documents=10)
    paragraphs = sum(map(len, data.paragraphs.values()))
    for kind in ("never", "random", "overlap", "linear"):
        marks = marks_by(kind, data, marked)
        assert marks.shape == (paragraphs, len(QUESTIONS))
        assert marks.min() >= 0
        assert marks.max() <= 1
    assert not marks_by("never", data, marked).any()


def test_marked_paragraphs_get_higher_values(tmp_path):
    data, marked = collected(tmp_path, documents=30)
    is_marked = baselines.is_marked(data, marked)
    assert is_marked.sum() == sum(map(len, marked.values())) > 0
    for kind in ("overlap", "linear"):
        marks = marks_by(kind, data, marked)
        for column in range(len(QUESTIONS)):
            of_question = is_marked[:, column]
            of_marked = marks[of_question, column]
            of_unmarked = marks[~of_question, column]
            assert of_marked.mean() > of_unmarked.mean() + 0.2, kind


def test_predicted_marks_do_not_depend_on_the_marks_in_the_document(tmp_path):
    data, marked = collected(tmp_path, documents=20)
    space = of_words(data)
    is_marked = baselines.is_marked(data, marked)
    rows = space.of(space.documents.index("d03"))
    changed = is_marked.copy()
    changed[rows] = ~changed[rows]
    marks = baselines.linear_marks(data, space, is_marked, MARKING)
    marks_after_change = baselines.linear_marks(data, space, changed, MARKING)
    assert (marks[rows] == marks_after_change[rows]).all()
    assert (marks != marks_after_change).any()


def test_rows_of_marks_are_the_answered_pairs_in_order(tmp_path):
    data, marked = collected(
        tmp_path, documents=3, without_text=["d01"], chosen={("d02", "SOLD"): [[], []]}
    )
    rows = list(marked_rows(data, marks_by("overlap", data, marked)))
    keys = [
        (row["document_id"], row["question_id"], row["paragraph_id"]) for row in rows
    ]
    assert keys == sorted(set(keys))
    assert {(document, question) for document, question, _ in keys} == {
        ("d00", "ASKED"),
        ("d00", "KEPT"),
        ("d00", "SOLD"),
        ("d02", "ASKED"),
        ("d02", "KEPT"),
    }
