"""Inputs and params of the rules of classification."""

import os
from pathlib import Path

import pytest
from snakemake.iocontainers import Wildcards

from lextables import ROOT
from lextables.models.weights import PLACES
from lextables.pipeline import registry
from lextables.planning.classification import Classification, each_view, readings
from lextables.planning.project import load
from lextables.planning.runs import Runs
from lextables.tasks.classification.settings import ScoreSettings

SHORT, LONG = ({"text": name, "pair": "hypothesis"} for name in ("short", "long"))
ALONE = {"text": "short", "pair": None}


@pytest.fixture
def maud(monkeypatch, tmp_path):
    """The runs of MAUD with the sample."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(PLACES, "{}")
    monkeypatch.setenv("LEXTABLES_SUBMITTED", "{}")
    defaults, path = registry.mapping(ROOT / "config.yaml"), os.path.relpath(ROOT)
    runs = Runs(load(ROOT, Path(path), defaults, {"papers": ["maud"]}))
    return Classification(runs, "{dataset}/{model}/{length}.parquet")


def wildcards(run, **more):
    names = ("experiment", "model", "condition", "seed")
    parts = {name: str(getattr(run, name)) for name in names}
    return Wildcards(fromdict={"dataset": run.paper, **parts, **more})


def run_of(classification, experiment, model=""):
    runs = classification.runs.project.specs
    of_maud = [run for run in runs if run.paper == "maud" and model in run.model]
    return next(run for run in of_maud if run.experiment == experiment)


def test_the_tables_and_splits_are_those_of_the_task(maud):
    of_maud = Wildcards(fromdict={"dataset": "maud"})
    folder = "results/sample/data/maud"
    names = [f"{folder}/{name}.parquet" for name in ("examples", "questions", "texts")]
    assert maud.all_tables(of_maud) == names
    assert maud.examples_and_heads(of_maud) == names[:2]
    assert maud.texts(of_maud) == names[2:]
    assert maud.splits("final", "test")(of_maud) == [["train", "dev"], ["test"]]
    settings = ScoreSettings(**maud.scores(of_maud))
    assert settings.evaluator == "minority AUPR" and not settings.views


def test_a_run_reads_the_tokens_of_its_model_and_length(maud):
    of_run = wildcards(run_of(maud, "train", "minilm"))
    settings = maud.runs.spec(of_run).settings
    model, length = settings["tokenizer"]["model"], settings["max_length"]
    assert maud.tokens_of_run(of_run) == [f"maud/{model}/{length}.parquet"]
    of_tokens = Wildcards(fromdict={"dataset": "maud", "model": model})
    assert maud.tokenizer(of_tokens)["weights"] == settings["tokenizer"]["weights"]
    of_length = Wildcards(fromdict={**dict(of_tokens.items()), "length": str(length)})
    assert maud.tokenised_views(of_length) == []


def test_a_choice_reads_the_authors_settings_only_without_a_search(maud):
    of_run = wildcards(run_of(maud, "choice"))
    assert maud.published_settings(of_run) == []
    spec = maud.runs.spec(of_run)
    spec.settings["published"] = "roberta-base"
    (path,) = maud.published_settings(of_run)
    assert path.endswith("maud/published_settings.parquet")


def test_encoders_of_linear_models_have_the_registered_length(maud):
    assert "linear" in "".join(maud.linear_models())
    encoders = {
        spec.settings["model"]
        for spec in maud.runs.project.specs.values()
        if spec.settings.get("kind") == "linear" and spec.settings.get("model")
    }
    for encoder in encoders:
        found = maud.encoder(
            Wildcards(fromdict={"dataset": "maud", "encoder": encoder})
        )
        assert (
            found["max_length"] == maud.runs.project.context.models[encoder].max_length
        )
        assert found["model"] == encoder


def test_each_view_of_the_readings_is_named_once():
    runs = [
        {"readings": [{"view": LONG}, {"view": SHORT}, {"view": ALONE}]},
        {"view": LONG},
        {"view": None, "max_length": 5},
    ]
    assert readings(runs)[-1] == runs[-1] and len(readings(runs)) == 5
    assert each_view(readings(runs)) == [LONG, ALONE, SHORT]
