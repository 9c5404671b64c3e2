"""Inputs and params of the rules of classification."""

import pytest
from snakemake.iocontainers import Wildcards

from helpers import planned_project
from helpers.planned_project import some_run, wildcards_of
from lextables.planning.classification import Classification, each_view, readings
from lextables.planning.runs import Runs
from lextables.tasks.classification.settings import ScoreSettings

SHORT, LONG = ({"text": name, "pair": "hypothesis"} for name in ("short", "long"))
ALONE = {"text": "short", "pair": None}


@pytest.fixture
def maud(monkeypatch, tmp_path):
    """The runs of MAUD with the sample."""
    project = planned_project.load(monkeypatch, tmp_path, papers=["maud"])
    return Classification(Runs(project), "{dataset}/{model}/{length}.parquet")


def test_the_tables_and_splits_are_those_of_the_task(maud):
    of_maud = Wildcards(fromdict={"dataset": "maud"})
    folder = "results/sample/data/maud"
    names = [f"{folder}/{name}.parquet" for name in ("examples", "questions", "texts")]
    assert maud.tables("examples", "heads", "texts")(of_maud) == names
    assert maud.splits("final", "test")(of_maud) == [["train", "dev"], ["test"]]
    settings = ScoreSettings(**maud.scores(of_maud))
    assert settings.evaluator == "minority AUPR" and not settings.views


def test_a_run_reads_the_tokens_of_its_model_and_length(maud):
    of_run = wildcards_of(some_run(maud.runs.project, "train", model="minilm"))
    settings = maud.runs.spec(of_run).settings
    model, length = settings["tokenizer"]["model"], settings["max_length"]
    assert maud.tokens_of_run(of_run) == [f"maud/{model}/{length}.parquet"]
    of_tokens = Wildcards(fromdict={"dataset": "maud", "model": model})
    assert maud.tokenizer(of_tokens)["weights"] == settings["tokenizer"]["weights"]
    of_length = Wildcards(fromdict={**dict(of_tokens.items()), "length": str(length)})
    assert maud.tokenised_views(of_length) == []


def test_a_choice_reads_the_authors_settings_only_without_a_search(maud):
    of_run = wildcards_of(some_run(maud.runs.project, "choice"))
    assert maud.published_settings(of_run) == []
    spec = maud.runs.spec(of_run)
    spec.settings["published"] = "roberta-base"
    (path,) = maud.published_settings(of_run)
    assert path.endswith("maud/published_settings.parquet")


def test_encoders_of_linear_models_have_the_registered_length(maud):
    project = maud.runs.project
    assert {"words", "linear"} < project.linear_models("classification")
    parts = {"dataset": "maud", "encoder": "all-minilm-l6-v2"}
    found = maud.encoder(Wildcards(fromdict=parts))
    assert found["model"] == "all-minilm-l6-v2"
    assert found["max_length"] == project.context.models[found["model"]].max_length


def test_each_view_of_the_readings_is_named_once():
    runs = [
        {"readings": [{"view": LONG}, {"view": SHORT}, {"view": ALONE}]},
        {"view": LONG},
        {"view": None, "max_length": 5},
    ]
    assert readings(runs)[-1] == runs[-1] and len(readings(runs)) == 5
    assert each_view(readings(runs)) == [LONG, ALONE, SHORT]
