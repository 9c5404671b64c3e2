"""The settings of an answers task in a paper, and the runs that are planned from
them.
"""

import pytest
from pydantic import ValidationError

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.tasks.answers.planner import AnswersPlanner, AnswersTask
from lextables.tasks.planner import Context, SubmittedFiles

MODELS = load_models(ROOT / "resources/models.yaml")
TASK = {
    "task": "answers",
    "models": {
        "random": {"row": "guesses", "kind": "random"},
        "prior": {
            "row": "Others",
            "kind": "prior",
            "additional": True,
            "baseline": True,
        },
        "words": {"row": "Words", "kind": "linear", "additional": True},
    },
}


def planned(config=(), given=(), **changes):
    """Return {name: row} and {(experiment, model): settings of the run}."""
    settings = load_config(
        {"papers": "acord", "grid": "paper"} | dict(config), ["acord"], ROOT
    )
    context = Context(settings, MODELS, ROOT, False, {"asked": [*given]})
    planner = AnswersPlanner("asked", AnswersTask(**TASK | changes), context)
    rows = {row.row: row for row in [*planner.rows(), *planner.submitted_rows()]}
    return rows, {
        (run.experiment, run.model): spec.settings
        for run, spec in planner.specs.items()
    }


def test_each_baseline_has_one_run():
    rows, runs = planned()
    assert set(runs) == {("answer", "random"), ("answer", "prior"), ("answer", "words")}
    assert {row.about["part"] for row in rows.values()} == {"answers"}
    (run,) = rows["Others"].runs["all"]
    assert run.folder == "runs/asked/answer/prior/all/seed0"
    assert (
        rows["Others"].additional,
        rows["Others"].baseline,
        rows["guesses"].additional,
    ) == (True, True, False)
    assert not rows["Others"].lenient
    lenient, _ = planned(models={"prior": TASK["models"]["prior"] | {"lenient": True}})
    assert lenient["Others"].plain()["lenient"]


def test_settings_contain_only_what_a_run_depends_on():
    _, runs = planned(
        pseudo=3, smoothing=0.2, folds=4, learning={"best": [2], "penalties": [1, 2]}
    )
    assert runs["answer", "random"] == {"kind": "random"}
    assert runs["answer", "prior"] == {"kind": "prior", "pseudo": 3, "smoothing": 0.2}
    assert runs["answer", "words"] == {
        "kind": "linear",
        "pseudo": 3,
        "smoothing": 0.2,
        "folds": 4,
        "best": [2],
        "penalties": [1, 2],
    }


def test_a_missing_encoder_is_a_row_with_a_reason():
    panel = {"bert": {"row": "BERT", "kind": "vectors", "model": "bert-base-uncased"}}
    rows, runs = planned(models=panel, marks=panel)
    assert runs == {}
    assert rows["BERT"].reason and not rows["BERT"].runs


def test_settings_of_an_available_encoder_include_its_maximum_length():
    panel = {
        "minilm": {"row": "MiniLM", "kind": "vectors", "model": "all-minilm-l6-v2"}
    }
    _, runs = planned(models=TASK["models"] | panel, marks=panel)
    for experiment in ("answer", "mark"):
        assert (
            runs[experiment, "minilm"]["max_length"] == 256
            and "weights" in runs[experiment, "minilm"]
        )
    assert "folds" in runs["answer", "minilm"] and "folds" not in runs["mark", "minilm"]


def test_models_that_mark_paragraphs_are_rows_of_the_part_marks():
    marks = {
        "never": {"row": "Nothing", "kind": "never", "additional": True},
        "learnt": {"row": "Learnt", "kind": "linear", "additional": True},
        "printed": {
            "row": "BERT",
            "kind": "unpublished",
            "unpublished": "the paper does not say how",
        },
    }
    rows, runs = planned(
        models={},
        marks=marks,
        marking={"alpha": 0.01, "epochs": 2, "least": 3},
        folds=3,
    )
    assert {row.about["part"] for row in rows.values()} == {"marks"}
    assert runs["mark", "never"] == {"kind": "never"}
    expected = {"longest": 2, "least": 3, "alpha": 0.01, "epochs": 2, "folds": 3}
    assert runs["mark", "learnt"] == {"kind": "linear"} | expected
    assert (rows["BERT"].reason, rows["BERT"].runs) == (
        "the paper does not say how",
        {},
    )
    assert set(runs) == {("mark", "never"), ("mark", "learnt")}


def test_the_name_of_a_language_model_row_states_differences_from_the_paper():
    served = {
        "extra_models": [
            {"name": "Mine", "kind": "language-model-api", "model": "mine"}
        ],
        "llm": "http://127.0.0.1:8000/v1",
    }
    rows, runs = planned(
        served,
        asking={"prompt": "policy_answer", "best": 7, "marks": "policy_paragraph"},
    )
    named = {row.about["part"]: name for name, row in rows.items() if row.asked}
    assert named == {
        "answers": "Mine, 7 retrieved paragraphs",
        "marks": "Mine, without option descriptions",
    }
    assert (
        runs["ask", "own-mine"]["text"] == "retrieved"
        and runs["ask", "own-mine"]["best"] == 7
    )


def test_whole_documents_as_in_the_paper_are_not_named_in_the_row():
    panel = {
        "gpt": {
            "row": "GPT-4",
            "kind": "language-model",
            "model": "gpt-4-turbo-2024-04-09",
        }
    }
    panel["gpt"] |= {"text": "whole", "unpublished": "no prompt is public"}
    served = {
        "llm": "https://api.openai.com/v1",
        "data": "release",
        "models": "available",
    }
    rows, _ = planned(served, models=panel, asking={"prompt": "policy_answer"})
    assert {name: row.additional for name, row in rows.items()} == {
        "GPT-4": False,
        "GPT-4, our prompt": True,
    }


@pytest.mark.parametrize(("window", "fits"), [(40_000, True), (39_999, False)])
def test_a_model_is_asked_about_whole_documents_that_fit_its_context(
    monkeypatch, window, fits
):
    weights = {"model": "mine", "weights": "w", "revision": None, "found": "here"}
    settings = {**weights, "window": window}
    monkeypatch.setattr(AnswersPlanner, "language_model", lambda self, model: settings)
    panel = {"row": "Mine", "kind": "language-model", "model": "mine", "text": "whole"}
    changes = {
        "models": {"mine": panel},
        "tokens": 40_000,
        "asking": {"prompt": "policy_answer"},
    }
    _, runs = planned(**changes)
    assert (("ask", "mine") in runs) == fits


def test_models_for_other_grids_are_not_rows():
    models = {
        "words": {
            "row": "Words",
            "kind": "linear",
            "additional": True,
            "grids": ["small"],
        }
    }
    marks = {
        "never": {
            "row": "Nothing",
            "kind": "never",
            "additional": True,
            "grids": ["small"],
        }
    }
    assert planned(models=models, marks=marks)[0] == {}
    assert set(planned({"grid": "small"}, models=models, marks=marks)[0]) == {
        "Words",
        "Nothing",
    }


def test_submitted_answers_are_a_row_with_a_run_for_each_file():
    extra = SubmittedFiles("Mine", "own-mine", "csv", ("sha256:1", "sha256:2"))
    rows, runs = planned(given=[extra])
    assert (
        rows["Mine"].about == {"part": "answers"} and len(rows["Mine"].runs["all"]) == 2
    )
    assert runs["submitted", "own-mine"]["form"] == "csv"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"models": {"v": {"row": "V", "kind": "vectors"}}},
            "the row 'V' needs a model",
        ),
        (
            {"models": {"l": {"row": "L", "kind": "language-model"}}},
            "the row 'L' needs a model",
        ),
        (
            {"models": {}, "marks": {"v": {"row": "V", "kind": "vectors"}}},
            "the row 'V' needs a model",
        ),
        (
            {"models": {"l": {"row": "L", "kind": "language-model", "model": "x"}}},
            "language models need asking, with the name of a prompt",
        ),
        (
            {"models": {}, "marks": {"b": {"row": "B", "kind": "unpublished"}}},
            "the row 'B' needs the kind unpublished and the reason",
        ),
        (
            {
                "models": {},
                "marks": {"b": {"row": "B", "kind": "never", "unpublished": "why"}},
            },
            "the row 'B' needs the kind unpublished and the reason",
        ),
        (
            {"models": {"s": {"row": "S", "kind": "spells"}}},
            "Input should be 'prior', 'random'",
        ),
        ({"folds": 1}, "greater than or equal to 2"),
        ({"smoothing": 1}, "less than 1"),
        ({"pseudo": 0}, "if an option has no other answers"),
        ({"learning": {"penalties": []}}, "at least 1 item"),
    ],
)
def test_invalid_settings_are_rejected(changes, sentence):
    with pytest.raises(ValidationError) as error:
        AnswersTask(**TASK | changes)
    assert sentence in str(error.value)
