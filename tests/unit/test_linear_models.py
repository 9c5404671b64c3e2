"""Fits of logistic models and of trees, compared with those of scikit-learn."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from lextables.models import trees
from lextables.models.linear import (
    Linear,
    fit_dense,
    fit_few,
    fit_many,
    fit_near,
    fit_weighed,
    probabilities,
    vocabulary,
)


def test_trees_equal_scikit_learns_and_learn_interactions():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(3000, 5)).astype(np.float32)
    held = known[:, 0] * known[:, 1] > 0
    grown = trees.fit(known, held)
    model = GradientBoostingClassifier(
        n_estimators=trees.TREES,
        learning_rate=trees.RATE,
        random_state=0,
        **trees.OPTIONS,
    )
    assert np.allclose(
        grown.logits(known), model.fit(known, held).decision_function(known), atol=1e-9
    )
    new = rng.normal(size=(1000, 5)).astype(np.float32)
    right = (grown.logits(new) > 0) == (new[:, 0] * new[:, 1] > 0)
    assert right.mean() > 0.9
    assert trees.fit(known, np.ones(3000, dtype=bool)).logits(new).min() == 20


def test_probabilities_increase_with_logits_and_are_calibrated():
    logits = np.linspace(-40, 40, 200)
    assert (np.diff(probabilities(logits)) >= 0).all()
    rng = np.random.default_rng(0)
    known = rng.normal(size=(4000, 3))
    held = rng.random(4000) < probabilities(2 * known[:, 0] - 1)
    said = probabilities(fit_few(known, held, penalty=1.0).logits(known))[:, 0]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        among = (said >= low) & (said < low + 0.2)
        assert said[among].mean() == pytest.approx(held[among].mean(), abs=0.06)


def test_weights_stay_near_the_given_ones_with_few_rows_but_not_with_many():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(4000, 2))
    near = fit_few(known, known[:, 0] > rng.normal(size=4000), penalty=1.0)
    other = known[:, 1] > rng.normal(size=4000)
    few, many = (
        fit_near(near, known[:n], other[:n], penalty=0.1).weights[:, 0]
        for n in (4, 4000)
    )
    assert few[0] > few[1]
    assert many[1] > many[0]


def test_the_intercept_is_not_penalised_like_the_weights():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 2))
    labels = np.arange(400) % 10 > 0
    near = Linear(np.zeros((2, 1)), np.zeros(1))
    model = fit_near(near, features, labels, penalty=0.01)
    # At the optimum the gradient of the loss is that of the penalty, a tenth of that on
    # the weights.
    missing = labels.sum() - probabilities(model.logits(features)).sum()
    at_mean = model.intercept[0] + features.mean(axis=0) @ model.weights[:, 0]
    assert missing == pytest.approx(at_mean / (10 * 0.01))


def test_outputs_trained_together_equal_outputs_trained_separately():
    rng = np.random.default_rng(0)
    known = rng.normal(size=(500, 4)).astype(np.float32)
    held = known[:, :3] + 0.5 * rng.normal(size=(500, 3)) > [0.0, 0.5, 9.0]
    together = fit_dense(known, held, penalty=1.0)
    for output in range(2):
        alone = LogisticRegression(C=1.0).fit(known, held[:, output])
        assert together.weights[:, output] == pytest.approx(alone.coef_[0], abs=0.02)
        assert together.intercept[output] == pytest.approx(
            alone.intercept_[0], abs=0.02
        )
    assert (together.logits(known)[:, 2] == -20).all()


def test_a_model_trained_on_one_class_always_predicts_it():
    few = fit_few(np.ones((4, 2)), np.zeros(4, dtype=bool), penalty=1.0)
    assert (probabilities(few.logits(np.ones((2, 2)))) < 1e-6).all()
    words = vocabulary(["a b", "b c"], longest=1, least=1)
    settings = {"penalty": 1.0, "smoothing": 1.0}
    one = fit_weighed(
        words.weigh(["a b"]), np.ones((1, 2)), np.ones(1, bool), **settings
    )
    assert one.weights.shape == (5, 1)
    assert one.intercept.tolist() == [20.0]
    many = fit_many(
        words.weigh(["a b", "b c"]), np.array([[True, False]] * 2), alpha=1e-4, epochs=2
    )
    assert many.logits(words.weigh(["c"]))[0].tolist() == [20.0, -20.0]


def test_words_are_weighed_by_the_difference_of_their_log_odds():
    labels = np.array([True, True, True, True, False, False])
    # Of four and two rows, "a" is in three and one, "b" in one and two.
    counts = np.array([[1, 0], [2, 0], [1, 0], [0, 1], [1, 3], [0, 1]])
    dense = np.array([[0.5], [1.0], [0.0], [0.5], [2.0], [1.0]])
    fitted = fit_weighed(csr_matrix(counts), dense, labels, penalty=10.0, smoothing=1.0)
    # |log 4/6 - log 2/4|, and |log 2/6 - log 3/4|.
    scale = np.array([math.log(4 / 3), math.log(9 / 4), 1])
    model = LogisticRegression(C=10.0, max_iter=1000)
    model.fit(np.hstack([counts, dense]) * scale, labels)
    assert fitted.weights[:, 0] == pytest.approx(model.coef_[0] * scale, abs=1e-3)
    assert fitted.intercept == pytest.approx(model.intercept_, abs=1e-3)
