"""Jobs of features: their settings are those of the runs that read them."""

import pytest
from snakemake.iocontainers import Wildcards

from helpers.planned_project import load_jobs, some_run
from lextables.pipeline.errors import BadInput
from lextables.planning.feature_jobs import FeatureJobs
from lextables.tasks.classification.jobs import each_view, readings
from lextables.tasks.spans.jobs import window_files


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Return a function for the jobs under a configuration."""

    def of_config(papers=("maud",), **config):
        return load_jobs(monkeypatch, tmp_path, papers=papers, **config)

    return of_config


@pytest.mark.parametrize(
    ("find", "parts"),
    [
        ("window_job", {"model": "minilm", "length": "64", "step": "8"}),
        ("token_job", {"model": "none", "length": "64"}),
        ("vector_job", {"task": "classification", "encoder": "none", "size": "64"}),
    ],
)
def test_features_that_no_run_reads_are_refused(small, find, parts):
    wildcards = Wildcards(fromdict={"dataset": "maud", **parts})
    with pytest.raises(BadInput, match="no run .* reads these features"):
        getattr(FeatureJobs(small()), find)(wildcards)


def test_features_have_the_settings_of_the_runs_that_read_them(small):
    jobs = small(papers=("maud", "cuad"))
    run = some_run(jobs.project, "train", "maud_extraction", "minilm")
    settings = jobs.project.specs[run].settings
    size = {"length": str(settings["max_length"]), "step": str(settings["step"])}
    parts = {"dataset": run.data_set, "model": run.model, **size}
    job = FeatureJobs(jobs).window_job(Wildcards(fromdict=parts))
    assert job.params["settings"]["max_question_length"] == 32
    assert job.params["settings"]["weights"] == settings["weights"]
    assert job.inputs["weights"] == []
    folder = f"results/sample/features/spans/{run.data_set}/{run.model}"
    made = window_files(f"{folder}/{size['length']}x{size['step']}", "train")
    assert jobs.of_runs(run).inputs["train"] == made
    assert len(made) == 17 and made[1].endswith("/train/tokens-00.parquet")
    run = some_run(jobs.project, "train", "maud", "minilm")
    settings = jobs.project.specs[run].settings
    (path,) = jobs.of_runs(run).inputs["tokens"]
    *_, model, length, _ = path.split("/")
    parts = {"dataset": "maud", "model": model, "length": length}
    job = FeatureJobs(jobs).token_job(Wildcards(fromdict=parts))
    assert job.params["settings"]["weights"] == settings["tokenizer"]["weights"]
    assert job.params["task"] == {"views": [], "length": settings["max_length"]}


def test_encoders_of_linear_models_have_the_registered_length(small):
    jobs = small(grid="small")
    encoder = "all-minilm-l6-v2"
    parts = {"task": "classification", "dataset": "maud", "encoder": encoder}
    job = FeatureJobs(jobs).vector_job(Wildcards(fromdict={**parts, "size": "64"}))
    length = jobs.project.context.models[encoder].max_length
    assert job.params["settings"]["max_length"] == length
    assert job.params["task"]["piece"] == 64
    read = set()
    for run, spec in jobs.project.specs.items():
        if spec.settings.get("kind") == "linear":
            for path in jobs.of_runs(run).inputs["vectors"]:
                read.add(path)
    folder = f"results/sample/features/classification/maud/{encoder}"
    assert read == {f"{folder}/vectors/64.parquet"}


SHORT, LONG = ({"text": name, "pair": "hypothesis"} for name in ("short", "long"))
ALONE = {"text": "short", "pair": None}


def test_each_view_of_the_readings_is_named_once():
    runs = [
        {"readings": [{"view": LONG}, {"view": SHORT}, {"view": ALONE}]},
        {"view": LONG},
        {"view": None, "max_length": 5},
    ]
    assert readings(runs)[-1] == runs[-1] and len(readings(runs)) == 5
    assert each_view(readings(runs)) == [LONG, ALONE, SHORT]
