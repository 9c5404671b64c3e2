"""Planning of classification tasks with views: trainings, readings and rows.

A view names the column of an example that is the text, and the column that is the other
text of a pair.  A model is trained under some views; a reading is a prediction by such
a training under a view, and its condition is `<view of the training> > <view>`.
"""

from dataclasses import replace

import pytest

from helpers import optimisers
from helpers.viewed_examples import conditions
from lextables.models.resolve import Model
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.tasks.classification.planner import (
    ClassificationPlanner,
    ClassificationTask,
)
from lextables.tasks.classification.scoring import SUBMITTED
from lextables.tasks.planner import Context, SubmittedFiles

ENCODER = {"kind": "encoder", "licence": "none", "use": "none", "max_length": 64}
# The weights of `missing` are not available.  `first-checkpoint` was trained on the
# data set `first`: it is what a training of `large` or `missing` would give.
AVAILABLE = ("small", "first-checkpoint", "large")
MODELS = {name: Model(**ENCODER) for name in (*AVAILABLE, "missing")}
# Settings of a training.
GRID = {
    "learning_rates": [1e-4],
    "batch_size": 8,
    "max_length": 32,
    "optimiser": optimisers.LINEAR,
}
# Two data sets; trainings on the second may go on from those on the first.
FIRST_TASK = {
    "task": "classification",
    "metrics": ["accuracy"],
    "choose_by": "accuracy",
    "views": {"pair": {"text": "text_id", "pair": "pair_id"}},
    "readings": {"pair": []},
    "models": {
        "small": {"row": "Small, first", "model": "small"},
        "large": {
            "row": "Large, first",
            "model": "large",
            "checkpoint": "first-checkpoint",
        },
        "missing": {
            "row": "Missing, first",
            "model": "missing",
            "checkpoint": "first-checkpoint",
        },
    },
    "grids": {"paper": {"multi": GRID | {"updates": [5]}}},
}
SECOND_TASK = FIRST_TASK | {
    "heads": ["three"],
    "views": {
        "short": {"text": "short", "pair": "hypothesis"},
        "short_16": {"text": "short", "pair": "hypothesis", "max_length": 16},
        "long": {"text": "long", "pair": "hypothesis", "max_length": 64},
        "alone": {"text": "hypothesis"},
    },
    "readings": {
        "none": ["short", "long"],
        "short": ["short", "short_16"],
        "long": ["long"],
        "alone": ["alone"],
    },
    "models": {"small": {"row": "Small", "model": "small"}},
    "grids": {
        "paper": {
            "multi": GRID | {"passes": 2},
            "other": GRID | {"passes": 1, "max_length": 48},
        }
    },
    "linear": {"longest": 2, "least": 3, "smoothing": 1.0, "penalty": {"words": 1.0}},
}


@pytest.fixture
def plan_both(tmp_path):
    """Return a function that plans both data sets; it returns {name: row} of the
    second, and {run: its spec} of the first and of the second.

    ``models`` replaces the models of the second task, ``second`` other keys of it, and
    ``first`` the grids of the first.  ``submitted`` are predictions of users,
    ``absent`` is {data set that is not available: the reason}, and ``config`` are keys
    of the configuration.
    """
    for name in AVAILABLE:
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.json").write_text("{}")

    def plan(
        models=None, *, submitted=(), absent=None, first=None, second=None, **config
    ):
        values = {
            "papers": "acord",
            "grid": "paper",
            "seeds": [0, 1],
            "data": "release",
            "models": "available",
            "mirror": str(tmp_path),
        }
        context = Context(
            load_config(values | config, ["acord"], tmp_path),
            MODELS,
            tmp_path,
            gpu=False,
            submitted={"second": submitted},
            absent=absent or {},
        )
        tasks = {"first": dict(FIRST_TASK), "second": dict(SECOND_TASK)}
        if first:
            tasks["first"]["grids"] = first
        if models:
            tasks["second"]["models"] = models
        tasks["second"].update(second or {})
        planners = {
            name: ClassificationPlanner(name, ClassificationTask(**task), context)
            for name, task in tasks.items()
        }
        for planner in planners.values():
            planner.others = planners
        rows = [*planners["second"].rows(), *planners["second"].submitted_rows()]
        return (
            {row.row: row for row in rows},
            planners["first"].specs,
            planners["second"].specs,
        )

    return plan


def test_each_seed_has_one_training_per_view_and_one_prediction_run(plan_both):
    rows, first, specs = plan_both()
    views = ("none", "short", "long", "alone")
    prediction_runs = []
    for seed in (0, 1):
        trainings_of_seed = []
        for view in views:
            run = Run("second", "train", "small", f"{view}-paper", seed)
            assert specs[run].sources == ()
            trainings_of_seed.append(run)
        prediction_run = Run("second", "read", "small", "paper", seed)
        assert specs[prediction_run].sources == tuple(trainings_of_seed)
        prediction_runs.append(prediction_run)
    # Two seeds with four trainings and one prediction run each.
    assert len(specs) == 2 * (4 + 1)
    assert not first
    assert rows["Small"].runs == {"100": tuple(prediction_runs)}
    assert rows["Small"].trained
    about = {"setting": "multi", "heads": "three", "deterministic": []}
    assert rows["Small"].about == about


def test_a_reading_has_a_training_a_view_and_a_maximum_length(plan_both):
    _, _, specs = plan_both()
    short = {"text": "short", "pair": "hypothesis"}
    long = {"text": "long", "pair": "hypothesis"}
    alone = {"text": "hypothesis", "pair": None}
    readings = specs[Run("second", "read", "small", "paper")].settings["readings"]
    assert list(readings[0]) == ["condition", "source", "view", "max_length"]
    # A source is the place of the training in the order of the first views.
    assert [tuple(reading.values()) for reading in readings] == [
        ("none > short", 0, short, 32),
        ("none > long", 0, long, 32),
        ("short > short", 1, short, 32),
        ("short > short_16", 1, short, 16),
        ("long > long", 2, long, 32),
        ("alone > alone", 3, alone, 32),
    ]


SMALL = {"row": "Small", "model": "small"}


def trainings(specs, model):
    """Return {condition of a training: its settings}, of the first seed of a model."""
    by_condition = {}
    for run, spec in specs.items():
        if (run.experiment, run.model, run.seed) == ("train", model, 0):
            by_condition[run.condition] = spec.settings
    return by_condition


def test_a_training_gets_its_view_and_none_is_a_training_without_updates(plan_both):
    _, _, specs = plan_both()
    settings = trainings(specs, "small")
    short = settings["short-paper"]
    untrained = settings["none-paper"]
    expected = {"passes": 2, "updates": [], "only": ["three"], "where": None}
    expected["optimiser"] = optimisers.LINEAR
    assert expected.items() <= short.items()
    assert settings["alone-paper"]["view"] == {"text": "hypothesis", "pair": None}
    assert (untrained["passes"], untrained["updates"]) == (None, [0])
    # It gets the first view on which it predicts.
    assert untrained["view"] == short["view"]
    assert settings["long-paper"]["max_length"] == 32


def test_a_model_entry_can_set_views_heads_grid_and_examples(plan_both):
    entry = SMALL | {"trained_on": ["long", "none"], "heads": ["two", "four"]}
    entry |= {"grid": "other", "where": "analysis", "lenient": True}
    rows, _, specs = plan_both({"small": entry})
    settings = trainings(specs, "small")
    assert list(settings) == ["none-paper", "long-paper"]
    expected = {"only": ["two", "four"], "where": "analysis"}
    expected |= {"passes": 1, "max_length": 48}
    assert expected.items() <= settings["long-paper"].items()
    read_by = specs[Run("second", "read", "small", "paper")].settings
    assert conditions(read_by) == {
        "none > short": (0, 48),
        "none > long": (0, 48),
        "long > long": (1, 48),
    }
    assert read_by["only"] == ["two", "four"]
    assert rows["Small"].about["heads"] == "two, four" and rows["Small"].lenient


def test_a_grid_can_limit_the_views_and_a_model_entry_can_limit_the_grids(plan_both):
    grid = GRID | {"updates": [3], "seeds": 1, "trained_on": ["short"]}
    models = {
        "small": SMALL,
        "large": {"row": "Large", "model": "large", "grids": ["paper"]},
        "words": {"row": "Words", "kind": "linear", "additional": True},
    }
    rows, _, specs = plan_both(
        models,
        second={"grids": SECOND_TASK["grids"] | {"small": {"multi": grid}}},
        grid="small",
    )
    budget = "small budget: 3 updates of 8 examples, texts cut at 32 tokens"
    assert list(rows) == ["Small", f"Small, {budget}", "Words"]
    assert rows["Small"].reason == "needs grid=paper, as in the paper"
    assert not rows["Small"].runs
    assert list(trainings(specs, "small")) == ["short-small"]
    # A linear model is cheap and is trained under all views.
    assert len(trainings(specs, "words")) == 4


def test_training_can_continue_from_a_model_trained_on_another_data_set(plan_both):
    _, first, specs = plan_both({"small": SMALL | {"after": "first"}})
    first_trainings = [
        Run("first", "train", "small", "pair-paper", seed) for seed in (0, 1)
    ]
    assert set(first) == set(first_trainings)
    assert first[first_trainings[0]].settings["updates"] == [5]
    for seed, first_training in enumerate(first_trainings):
        for view in ("none", "short", "long", "alone"):
            spec = specs[Run("second", "train", "small", f"{view}-paper", seed)]
            # All trainings of a seed go on from the training with this seed.
            assert spec.sources == (first_training,)
            weights = f"{first_training.folder}/weights"
            assert spec.settings["weights"].endswith(weights)
            assert spec.settings["found"] == "mirror folder, then first"
            assert spec.settings["tokenizer"]["weights"] == "mirror:small"
    assert Run("second", "read", "small", "paper", 1) in specs


def test_all_seeds_go_on_from_the_only_training_on_another_data_set(plan_both):
    grids = {"paper": {"multi": GRID | {"updates": [5], "seeds": 1}}}
    _, first, specs = plan_both({"small": SMALL | {"after": "first"}}, first=grids)
    (first_training,) = first
    for seed in (0, 1):
        spec = specs[Run("second", "train", "small", "long-paper", seed)]
        assert spec.sources == (first_training,)


def test_new_heads_are_a_setting_of_a_training(plan_both):
    entry = SMALL | {"after": "first", "trained_on": ["none"], "new_heads": True}
    _, _, specs = plan_both({"small": entry})
    (settings,) = trainings(specs, "small").values()
    assert settings["new_heads"]
    assert settings["updates"] == [0]
    _, _, specs = plan_both({"small": SMALL})
    for settings in trainings(specs, "small").values():
        assert "new_heads" not in settings


def test_an_available_checkpoint_replaces_the_first_training(plan_both):
    entry = {"row": "Large", "model": "large", "after": "first"}
    _, first, specs = plan_both({"large": entry})
    assert not first
    settings = trainings(specs, "large")["short-paper"]
    assert settings["model"] == "large"
    assert settings["weights"] == "mirror:first-checkpoint"
    assert not specs[Run("second", "train", "large", "short-paper")].sources


def test_a_checkpoint_that_is_not_trained_here_has_one_run_for_all_seeds(plan_both):
    entry = {"row": "Large", "model": "large", "after": "first"}
    rows, _, specs = plan_both({"large": entry})
    assert rows["Large"].about["deterministic"] == ["none > short", "none > long"]
    untrained = Run("second", "train", "large", "none-paper")
    assert replace(untrained, seed=1) not in specs
    for seed in (0, 1):
        sources = specs[Run("second", "read", "large", "paper", seed)].sources
        assert sources[0] == untrained
        assert [source.seed for source in sources[1:]] == [seed] * 3


@pytest.mark.parametrize(
    "changes",
    [{"new_heads": True}, {"model": "small"}, {"after": None}],
    ids=["new heads", "trained here", "base model"],
)
def test_other_models_that_are_not_trained_on_the_task_differ_by_seed(
    plan_both, changes
):
    entry = {"row": "Large", "model": "large", "after": "first"} | changes
    rows, _, specs = plan_both({"x": entry})
    assert rows["Large"].about["deterministic"] == []
    assert Run("second", "train", "x", "none-paper", 1) in specs


def test_a_checkpoint_needs_neither_its_data_set_nor_its_base_model(plan_both):
    entry = {"row": "Missing", "model": "missing", "after": "first"}
    absent = {"first": "no mirror has it"}
    rows, _, _ = plan_both({"missing": entry}, absent=absent)
    assert rows["Missing"].runs
    assert not rows["Missing"].reason


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"model": "small", "after": "first"}, "no mirror has it"),
        ({"model": "missing"}, "missing is not available here"),
    ],
    ids=["data", "weights"],
)
def test_a_row_with_missing_data_or_weights_has_a_reason(plan_both, entry, reason):
    absent = {"first": "no mirror has it"}
    rows, first, specs = plan_both({"x": {"row": "X"} | entry}, absent=absent)
    assert rows["X"].reason == reason
    assert rows["X"].runs == {}
    assert specs == {}
    assert first == {}


def test_a_model_that_is_not_trained_on_the_first_data_set_is_rejected(plan_both):
    # The first task has no model `first-checkpoint`.
    entry = {"row": "X", "model": "first-checkpoint", "after": "first"}
    message = "first: 'first-checkpoint' must be trained on this data set first, but is none of its"
    with pytest.raises(BadInput, match=message):
        plan_both({"x": entry})


def test_user_encoders_and_predictions_are_rows_with_the_heads_of_the_task(
    plan_both, tmp_path
):
    mine = {"name": "Mine", "kind": "encoder", "model": str(tmp_path / "models/small")}
    theirs = SubmittedFiles("Theirs", "own-theirs", "csv", ("sha256:1", "sha256:2"))
    rows, _, specs = plan_both(submitted=[theirs], extra_models=[mine])
    marks = [(row.row, row.additional, row.submitted) for row in rows.values()]
    assert marks == [
        ("Small", False, False),
        ("Mine", True, False),
        ("Theirs", True, True),
    ]
    assert {row.about["heads"] for row in rows.values()} == {"three"}
    assert list(trainings(specs, "own-mine")) == list(trainings(specs, "small"))
    # A run for each submitted file.
    runs = [Run("second", SUBMITTED, "own-theirs", "100", seed) for seed in (0, 1)]
    assert rows["Theirs"].runs == {"100": tuple(runs)}
    assert specs[runs[1]].settings == {"form": "csv", "content": "sha256:2"}


def test_a_linear_model_does_not_predict_on_truncated_views(plan_both):
    views = ["short", "long", "alone"]
    entry = {"row": "Words", "kind": "linear", "trained_on": views}
    rows, _, specs = plan_both({"words": entry})
    (run,) = rows["Words"].runs["100"]
    assert run == Run("second", "read", "words", "linear")
    # The views `long` and `short_16` are truncated, at 64 and 16 tokens.
    assert conditions(specs[run].settings) == {
        "short > short": (0, None),
        "alone > alone": (2, None),
    }
    sources = specs[run].sources
    assert [source.condition for source in sources] == [
        "linear-short",
        "linear-long",
        "linear-alone",
    ]
    alone = {"text": "hypothesis", "pair": None}
    assert specs[sources[2]].settings["view"] == alone
