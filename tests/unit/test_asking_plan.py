"""Plans of language models: which models are asked, with which settings, and which
tables show them.
"""

import pytest
import yaml
from pydantic import ValidationError

from helpers.registered import context
from lextables import ROOT
from lextables.models.prompts import plain_template
from lextables.models.resolve import Missing, Weights
from lextables.planning import paper_plan
from lextables.registry import packages
from lextables.tasks import planner
from lextables.tasks.classification.planner import ClassificationTask
from lextables.tasks.planner import ASK
from lextables.tasks.retrieval.planner import RetrievalTask
from lextables.tasks.spans.planner import SpanTask

PAPERS = {
    name: packages.load(ROOT / f"resources/papers/{name}.yaml")
    for name in ("acord", "cuad", "lawngnli", "maud")
}
LLM = {"name": "My LLM", "kind": "language-model-api", "model": "my-llm"}
OURS = "SmolLM2-135M-Instruct, asked"
SERVED = {
    "extra_models": [LLM],
    "llm": "http://127.0.0.1:8000/v1",
    "data": "release",
    "models": "available",
}


def laid_out(paper, gpu=False, **values):
    return paper_plan.plan(PAPERS[paper], context(paper, gpu, **values))


def asked(found):
    """Return {run: settings} of the runs that ask language models."""
    return {
        run: spec.settings for run, spec in found.specs.items() if run.experiment == ASK
    }


def shown(found, row):
    """Return the tables that show a row."""
    tables = set()
    for table, rows in found.rows.items():
        if any(row in each["row"] for each in rows):
            tables.add(table)
    return tables


@pytest.mark.parametrize("paper", PAPERS)
def test_a_users_model_is_asked_in_every_paper(paper):
    found = laid_out(paper, **SERVED)
    assert asked(found)
    for given in asked(found).values():
        assert (given["weights"], given["api"], given["kind"]) == (
            "my-llm",
            SERVED["llm"],
            "language-model",
        )
        for name in ("prompt",) if "prompt" in given else ("clause", "presence"):
            assert plain_template(given[name]).fields
    for rows in found.rows.values():
        assert all(
            row["asked"] and row["additional"]
            for row in rows
            if LLM["name"] in row["row"]
        )


def test_a_changed_prompt_changes_the_settings_of_the_run(tmp_path):
    prompts = tmp_path / "resources/prompts"
    prompts.mkdir(parents=True)
    (prompts / "maud_question.txt").write_text("${text} ${question} ${options}")
    ((_, other),) = asked(
        paper_plan.plan(PAPERS["maud"], context("maud", root=tmp_path, **SERVED))
    ).items()
    ((_, given),) = asked(laid_out("maud", **SERVED)).items()
    assert other["prompt"] == [["user", "${text} ${question} ${options}"]]
    assert given | {"prompt": None} == other | {"prompt": None}


def test_untrained_lawngnli_models_read_short_and_long_premises():
    ((_, given),) = asked(laid_out("lawngnli")).items()
    assert [reading["condition"] for reading in given["readings"]] == [
        "none > short",
        "none > long",
    ]
    assert given["only"] == ["nli"] and given["orders"] == 2


def with_weights(monkeypatch, *names):
    """Pretend that only these registered models are available on this machine."""

    def find(model, *_):
        here = model in names
        return (
            Weights("mirror:x", None, "mirror folder", window=100)
            if here
            else Missing("not here")
        )

    monkeypatch.setattr(planner, "find", find)


@pytest.mark.parametrize("paper", ["acord", "cuad", "maud", "lawngnli"])
def test_a_registered_model_on_this_machine_needs_a_gpu(monkeypatch, paper):
    with_weights(monkeypatch, "smollm2-135m-instruct")
    real = {"data": "release", "models": "available"}
    assert not asked(laid_out(paper, **real))
    found = laid_out(paper, gpu=True, **real)
    assert {given["window"] for given in asked(found).values()} == {100}
    assert shown(found, OURS)


@pytest.mark.parametrize(
    ("paper", "task", "form"),
    [
        ("acord", "acord", RetrievalTask),
        ("cuad", "cuad", SpanTask),
        ("maud", "maud", ClassificationTask),
    ],
)
def test_a_task_with_a_language_model_requires_the_settings_of_asking(
    paper, task, form
):
    entry = yaml.safe_load(
        (ROOT / f"resources/papers/{paper}.yaml").read_text(encoding="utf-8")
    )["tasks"][task]
    form.model_validate(entry)
    del entry["asking"]
    with pytest.raises(ValidationError, match=r"needs? .?asking.?,? with the name"):
        form.model_validate(entry)
