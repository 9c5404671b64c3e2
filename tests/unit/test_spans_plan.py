"""The planned rows and runs of a span-extraction task whose registry has one model,
`mini`.
"""

import pytest
from pydantic import ValidationError

from helpers.optimisers import LINEAR
from lextables import ROOT
from lextables.models.resolve import Model
from lextables.pipeline.config import load as load_config
from lextables.pipeline.run import Run
from lextables.tasks.planner import Context
from lextables.tasks.spans.planner import SpanPlanner, SpanTask

MODELS = {
    "mini": Model(
        kind="encoder", licence="MIT", use="tests", hub="org/mini", parameters=7
    )
}
# Settings of a training, as an entry of `grids`.
GRID = {
    "learning_rates": [1e-4],
    "optimiser": LINEAR,
    "epochs": [2],
    "batch_size": 8,
    "max_length": 64,
    "step": 16,
    "max_question_length": 8,
    "balance": "weight",
}
TASK = {
    "task": "spans",
    "models": {"mini": {"row": "Mini", "model": "mini", "joined": "Mini, joined"}},
    "n_best": 5,
    "max_answer_length": 30,
    "held_out": "dev",
    "low_thresholds": [0],
    "averages": 3,
    "grids": {
        "paper": GRID,
        "small": GRID | {"max_updates": 9, "seeds": 1, "bf16": True},
    },
}


def planned(tmp_path, changes=None, **config_values):
    """Return the planned rows of the data set `any`, and {run: its spec}.

    ``changes`` replace keys of `TASK`, ``config_values`` those of the configuration.
    The weights of `mini` are available in the mirror.
    """
    (tmp_path / "models/mini").mkdir(parents=True, exist_ok=True)
    (tmp_path / "models/mini/config.json").write_text("{}")
    values = {
        "papers": "cuad",
        "data": "release",
        "models": "available",
        "mirror": str(tmp_path),
        "grid": "paper",
    }
    config = load_config(values | config_values, ["cuad"], ROOT)
    task = SpanTask.model_validate(TASK | (changes or {}))
    planner = SpanPlanner("any", task, Context(config, MODELS, ROOT, gpu=False))
    return planner.rows(), planner.specs


def runs_of_seeds(experiment, condition, seeds):
    """Return a run of `mini` for each seed."""
    return tuple(Run("any", experiment, "mini", condition, seed) for seed in seeds)


def test_a_published_row_has_an_additional_row_with_joined_spans(tmp_path):
    (published, joined), specs = planned(tmp_path)
    assert published.row == "Mini"
    assert not published.additional
    assert published.trained
    assert published.parameters == 7
    # "100" is the percentage of the training contracts.
    assert published.runs == {"100": runs_of_seeds("read", "paper-p100", range(3))}
    assert joined.row == "Mini, joined"
    assert joined.additional
    assert joined.runs == {"100": runs_of_seeds("join", "paper-p100", range(3))}
    for join, read in zip(joined.runs["100"], published.runs["100"], strict=True):
        assert specs[join].needs == (read,)
        assert specs[join].settings == {}


def test_names_of_rows_with_a_small_budget_contain_the_budget(tmp_path):
    (published, ours, joined), _ = planned(tmp_path, grid="small")
    budget = ", small budget: 9 updates of 8 windows of 64 tokens, bfloat16, one seed"
    assert published.runs == {}
    assert published.reason == "needs grid=paper and three seeds, as in the paper"
    assert ours.row == f"Mini{budget}"
    assert joined.row == f"Mini, joined{budget}"
    assert ours.additional and joined.additional
    assert joined.runs == {"100": runs_of_seeds("join", "small-p100", [0])}


def test_a_model_that_may_not_use_the_chosen_grid_has_rows_with_a_reason_and_no_runs(
    tmp_path,
):
    changes = {"models": {"mini": TASK["models"]["mini"] | {"grids": ["paper"]}}}
    rows, specs = planned(tmp_path, changes, grid="small")
    reason = "with grid=small it learns almost nothing: set grid=paper"
    assert [(row.row, row.runs, row.reason) for row in rows] == [
        ("Mini", {}, reason),
        ("Mini, joined", {}, reason),
    ]
    assert not specs
    rows, _ = planned(tmp_path, changes, grid="paper")
    assert all(row.runs for row in rows)


def test_a_search_and_its_choice_hold_out_the_split_of_the_registry(tmp_path):
    grids = TASK["grids"] | {"paper": GRID | {"learning_rates": [1e-4, 3e-4]}}
    _, specs = planned(tmp_path, {"grids": grids})
    trials = [spec for run, spec in specs.items() if run.experiment == "search"]
    (choice,) = (spec for run, spec in specs.items() if run.experiment == "choice")
    assert len(trials) == 2  # one for each learning rate
    assert {trial.settings["held_out"] for trial in trials} == {"dev"}
    assert choice.settings["held_out"] == "dev"
    assert choice.settings["relaxed"] is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("averages", 0),  # at least one
        ("grids", {"paper": GRID | {"balance": "none"}}),  # no such balance
        ("models", {"own-x": {}}),  # "own-" marks models of users
        ("models", {"words": {"row": "Words", "kind": "linear"}}),  # no settings
        ("tail", [0]),  # no such key
    ],
)
def test_an_invalid_registry_entry_raises_an_error_that_names_its_key(key, value):
    with pytest.raises(ValidationError, match=key):
        SpanTask.model_validate(TASK | {key: value})
