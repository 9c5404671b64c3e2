"""The plan of a span-extraction task with a minimal registry."""

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
    name: Model(
        kind="encoder",
        licence="MIT",
        use="tests",
        hub=f"org/{name}",
        parameters=parameters,
    )
    for name, parameters in (("here", 7), ("away", 9))
}
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
    "models": {"here": {"row": "Here", "model": "here", "joined": "Here, joined"}},
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


def laid_out(tmp_path, task=(), **values):
    """The rows and the specs of the runs; only the weights of the model `here` are
    available.
    """
    (tmp_path / "models/here").mkdir(parents=True, exist_ok=True)
    (tmp_path / "models/here/config.json").write_text("{}")
    given = {
        "data": "release",
        "models": "available",
        "mirror": str(tmp_path),
        "grid": "paper",
    }
    config = load_config({"papers": "cuad"} | given | values, ["cuad"], ROOT)
    planner = SpanPlanner(
        "any",
        SpanTask.model_validate(TASK | dict(task)),
        Context(config, MODELS, ROOT, gpu=False),
    )
    return planner.rows(), planner.specs


def test_a_published_row_has_an_additional_row_with_joined_spans(tmp_path):
    (printed, joined), specs = laid_out(tmp_path)
    assert (printed.row, printed.additional, printed.trained, printed.parameters) == (
        "Here",
        False,
        True,
        7,
    )
    assert printed.runs == {
        "100": tuple(
            Run("any", "read", "here", "paper-p100", seed) for seed in range(3)
        )
    }
    assert (joined.row, joined.additional) == ("Here, joined", True)
    assert joined.runs == {
        "100": tuple(
            Run("any", "join", "here", "paper-p100", seed) for seed in range(3)
        )
    }
    for after, before in zip(joined.runs["100"], printed.runs["100"], strict=True):
        assert (specs[after].needs, specs[after].settings) == ((before,), {})


def test_names_of_rows_with_a_small_budget_contain_the_budget(tmp_path):
    (printed, ours, joined), _ = laid_out(tmp_path, grid="small")
    said = ", small budget: 9 updates of 8 windows of 64 tokens, bfloat16, one seed"
    assert (printed.runs, printed.reason) == (
        {},
        "needs grid=paper and three seeds, as in the paper",
    )
    assert [row.row for row in (ours, joined)] == [f"Here{said}", f"Here, joined{said}"]
    assert ours.additional and joined.additional
    assert joined.runs == {"100": (Run("any", "join", "here", "small-p100", 0),)}


def test_rows_without_the_chosen_grid_have_a_reason_and_no_runs(tmp_path):
    task = {"models": {"here": TASK["models"]["here"] | {"grids": ["paper"]}}}
    rows, specs = laid_out(tmp_path, task, grid="small")
    reason = "with grid=small it learns almost nothing: set grid=paper"
    assert [(row.row, row.runs, row.reason) for row in rows] == [
        ("Here", {}, reason),
        ("Here, joined", {}, reason),
    ]
    assert not specs
    assert all(row.runs for row in laid_out(tmp_path, task)[0])


def test_a_search_can_hold_out_a_split(tmp_path):
    several = TASK["grids"] | {"paper": GRID | {"learning_rates": [1e-4, 3e-4]}}
    _, specs = laid_out(tmp_path, {"grids": several})
    searched = [spec for run, spec in specs.items() if run.experiment == "search"]
    assert len(searched) == 2
    assert {spec.settings["held_out"] for spec in searched} == {"dev"}
    (choice,) = (spec for run, spec in specs.items() if run.experiment == "choice")
    assert (choice.settings["held_out"], choice.settings["relaxed"]) == ("dev", None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("averages", 0),
        ("grids", {"paper": GRID | {"balance": "none"}}),
        ("models", {"own-x": {}}),
        ("models", {"words": {"row": "Words", "kind": "linear"}}),
        ("tail", [0]),
    ],
)
def test_an_invalid_registry_entry_raises(key, value):
    with pytest.raises(ValidationError, match=key):
        SpanTask.model_validate(TASK | {key: value})
