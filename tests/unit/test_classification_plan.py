"""Planning of classification tasks: the settings of a paper and the resulting runs."""

import pytest
from pydantic import ValidationError

from helpers.optimisers import CONSTANT
from helpers.registered import context
from lextables.tasks.classification.planner import (
    ClassificationPlanner,
    ClassificationTask,
)

GRID = {
    "learning_rates": [1e-4, 3e-4],
    "optimiser": CONSTANT,
    "updates": [2, 4],
    "batch_size": 2,
    "max_length": 16,
}
TASK = {
    "task": "classification",
    "metrics": ["micro F1"],
    "choose_by": "micro F1",
    "models": {"minilm": {"row": "MiniLM", "model": "all-minilm-l6-v2"}},
    "grids": {"paper": {"multi": GRID}},
}
LINEAR = {"longest": 2, "least": 5, "smoothing": 1.0, "penalty": {"words": 10.0}}


def linear(**panel):
    """Changes of the task that replace its models by one linear model."""
    return {
        "models": {"linear": {"row": "Words", "kind": "linear"} | panel},
        "linear": LINEAR,
    }


def specs(**changes):
    task = ClassificationTask(**TASK | changes)
    planner = ClassificationPlanner(
        "ledgar", task, context("acord", grid="paper", seeds=[0])
    )
    (row,) = planner.rows()
    return {run.experiment: spec.settings for run, spec in planner.specs.items()}, row


def test_the_default_is_cross_entropy_with_shuffled_sampling():
    found, row = specs()
    for experiment in ("search", "train"):
        expected = ("loss", "sampling", "class_weights", "multi_label")
        assert [found[experiment][name] for name in expected] == [
            "cross_entropy",
            "shuffled",
            "none",
            False,
        ]
    assert (row.row, row.trained, list(row.runs)) == ("MiniLM", True, ["100"])


@pytest.mark.parametrize("changes", [linear(), {"models": TASK["models"]}])
def test_a_lenient_baseline_is_marked_as_lenient_in_its_row(changes):
    ((key, panel),) = changes["models"].items()
    lenient = changes | {"models": {key: panel | {"baseline": True, "lenient": True}}}
    assert [specs(**each)[1].plain()["lenient"] for each in (changes, lenient)] == [
        False,
        True,
    ]


def test_training_settings_of_the_registry_are_passed_to_the_runs():
    several = {
        "multi_label": True,
        "loss": "binary_cross_entropy",
        "class_weights": "balanced",
    }
    found, _ = specs(**several)
    for experiment in ("search", "train"):
        assert several.items() <= found[experiment].items()


def test_only_the_choice_gets_the_evaluator_and_the_metric():
    found, _ = specs(metrics=["accuracy", "AUPR"], choose_by="accuracy")
    assert (
        found["choice"]["evaluator"] == "general"
        and found["choice"]["choose_by"] == "accuracy"
    )
    assert found["choice"]["multi_label"] is False
    for experiment in ("search", "train", "read"):
        assert not {"evaluator", "choose_by", "metrics"} & found[experiment].keys()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"metrics": []}, "the general evaluator needs metrics"),
        (
            {"metrics": ["MRR"]},
            "there is no metric 'MRR'; use accuracy, balanced accuracy, micro F1",
        ),
        ({"choose_by": "F1"}, "there is no metric 'F1'; use accuracy"),
        (
            {"multi_label": True},
            "multi_label needs binary_cross_entropy, shuffled and the general evaluator",
        ),
        (
            {
                "multi_label": True,
                "loss": "binary_cross_entropy",
                "sampling": "balanced",
            },
            "multi_label needs binary_cross_entropy, shuffled and the general evaluator",
        ),
        (
            {
                "multi_label": True,
                "loss": "binary_cross_entropy",
                "evaluator": "minority AUPR",
            },
            "multi_label needs binary_cross_entropy, shuffled and the general evaluator",
        ),
        (linear(features="vectors"), "the row 'Words' needs a model"),
        (linear(after="other"), "the row 'Words' needs a model"),
        ({"models": {"bert": {"row": "BERT"}}}, "the row 'BERT' needs a model"),
        (
            linear() | {"linear": None},
            "the row 'Words' needs a penalty for words under linear",
        ),
        (
            linear(features="both", model="all-minilm-l6-v2"),
            "the row 'Words' needs a penalty for both under linear",
        ),
        (linear(sides="left"), "Input should be 'both', 'first' or 'second'"),
        (
            {"loss": "hinge"},
            "Input should be 'binary_cross_entropy' or 'cross_entropy'",
        ),
    ],
)
def test_inconsistent_settings_are_rejected(changes, sentence):
    with pytest.raises(ValidationError) as error:
        ClassificationTask(**TASK | changes)
    assert sentence in str(error.value)


def test_a_released_evaluator_needs_no_metrics():
    assert (
        ClassificationTask(
            **TASK | {"evaluator": "minority AUPR", "metrics": []}
        ).choose_by
        == "micro F1"
    )


def test_a_linear_model_trains_and_predicts_without_a_grid():
    found, row = specs(**linear(sides="second"))
    assert set(found) == {"train", "read"} and found["train"] == found["read"]
    expected = {
        "kind": "linear",
        "features": "words",
        "sides": "second",
        "percent": 100,
        "multi_label": False,
    }
    assert expected.items() <= found["train"].items()
    assert not {"weights", "learning_rate", "batch_size"} & found["train"].keys()
    assert (row.row, row.parameters, list(row.runs)) == ("Words", 0, ["100"])
