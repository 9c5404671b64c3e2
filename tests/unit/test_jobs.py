"""Jobs: a stored record of one run of each action, and what a rule takes from a job."""

import json
import os
from pathlib import Path

import pytest
from snakemake.iocontainers import Wildcards
from snakemake.rules import Rule

from helpers.planned_project import load_jobs, some_run, wildcards_of
from lextables.models import device
from lextables.models.spending import Limits
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning.feature_jobs import FeatureJobs
from lextables.planning.jobs import (
    PREDICTING,
    RANKING,
    RankingRule,
    RuleJobs,
    ranking_rules,
)
from lextables.tasks.planner import SUBMITTED, Spec

STORED = Path(__file__).parents[1] / "golden/jobs.json"
PAPERS = ("acord", "contracteval", "cuad", "lawngnli", "maud", "privacy")
CONFIGURATIONS = {
    "sample": {},
    "release": {"data": "release", "models": "paper", "device": "cuda"},
}
# Experiments with a rule of their own.
OTHERS = {"pretrain", "release", "search", "single-task", "choice", "train", "ask"}


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def planned(request, tmp_path_factory):
    """Yield the name of a configuration, and its jobs."""
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("working")
        config = CONFIGURATIONS[request.param]
        yield request.param, load_jobs(patched, folder, papers=PAPERS, **config)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Return a function for the jobs under a configuration."""

    def of_config(papers=("maud",), **config):
        return load_jobs(monkeypatch, tmp_path, papers=papers, **config)

    return of_config


def records(jobs):
    """Return {task and action: the record of its first run}."""
    first = {}
    for run, spec in sorted(jobs.project.specs.items()):
        task = jobs.tasks[run.data_set]
        kind = f"{task.task.task} {run.experiment} {task.action(run, spec.settings)}"
        if kind not in first:
            first[kind] = json.loads(json.dumps(jobs.printed(run)))
    return first


def test_the_first_run_of_each_action_has_its_stored_job(planned):
    name, jobs = planned
    planned_records = records(jobs)
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    if os.environ.get("LEXTABLES_GOLDEN"):
        text = json.dumps(stored | {name: planned_records}, indent=1, sort_keys=True)
        STORED.write_text(text + "\n", encoding="utf-8")
        pytest.skip("stored")
    assert planned_records.keys() == stored[name].keys()
    for kind, record in planned_records.items():
        assert record == stored[name][kind], kind


def test_each_run_has_one_rule(planned):
    _, jobs = planned
    assert not {*PREDICTING, *RANKING} & (OTHERS - {"ask"})
    known = {*PREDICTING, *RANKING, *OTHERS, SUBMITTED}
    assert {run.experiment for run in jobs.project.specs} <= known


def test_each_input_of_a_job_is_a_list_of_paths(planned):
    _, jobs = planned
    for run in jobs.project.specs:
        job = jobs.of_runs(run)
        assert all(isinstance(paths, list) for paths in job.inputs.values())
        assert json.loads(json.dumps(job.params)).keys() == job.params.keys()


def test_a_job_reads_the_runs_that_its_run_depends_on(small):
    jobs = small()
    read = some_run(jobs.project, "read")
    spec = jobs.project.specs[read]
    folder = f"results/sample/{spec.sources[0].folder}"
    inputs = jobs.rule(experiment="read").inputs(wildcards_of(read))
    assert inputs["weights"] == [f"{folder}/weights"]
    assert inputs["weight_records"] == [f"{folder}/run.json"]
    chosen = next(run for run, spec in jobs.project.specs.items() if spec.choice)
    choice = jobs.project.specs[chosen].choice
    record = f"results/sample/{choice.folder}/run.json"
    assert jobs.of_runs(chosen).inputs["choice"] == [record]
    searched = jobs.of_runs(choice).inputs["predictions"]
    assert searched and all(path.endswith("predictions.parquet") for path in searched)
    work = jobs.of_runs(chosen).places["work"]
    assert work == f"results/sample/work/{chosen.folder.removeprefix('runs/')}"
    scored = jobs.score(read).inputs["predictions"]
    assert scored == [f"results/sample/{read.folder}/predictions.parquet"]


def test_a_choice_reads_the_authors_settings_only_without_a_search(small):
    jobs = small()
    choice = some_run(jobs.project, "choice")
    assert jobs.of_runs(choice).inputs["published"] == []
    jobs.project.specs[choice].settings["published"] = "roberta-base"
    (path,) = jobs.of_runs(choice).inputs["published"]
    assert path == "results/sample/data/maud/published_settings.parquet"


def test_other_runs_are_refused_with_the_reason(small):
    jobs = small()
    with pytest.raises(BadInput, match="papers leaves its paper out"):
        jobs.of_runs(Run("cuad", "read", "x", "y", 0))
    with pytest.raises(BadInput, match="no such run"):
        jobs.of_runs(Run("maud", "read", "x", "y", 0))


# Systems that rank.


def test_systems_with_the_same_conditions_share_a_rule():
    specs = {}
    for model, conditions in {"b": "xy", "a": "xy", "c+d": "x"}.items():
        for condition in conditions:
            specs[Run("set", "retrieve", model, condition)] = Spec({"kind": "okapi"})
    specs[Run("set", "train", "a", "x")] = Spec({"kind": "bi-encoder"})
    specs[Run("other", "ask", "a", "x")] = Spec({"kind": "language-model"})
    assert ranking_rules(specs, ["set"]) == [
        RankingRule("set_retrieve_okapi", "set", "retrieve", ("c+d",), ("x",)),
        RankingRule("set_retrieve_okapi_1", "set", "retrieve", ("a", "b"), ("x", "y")),
    ]


def test_a_ranking_job_makes_all_runs_of_a_system(small):
    jobs = small(papers=["acord"])
    rules = {rule.name: rule for rule in jobs.ranking_rules()}
    rule = rules["acord_retrieve_linear"]
    assert set(rule.conditions) >= {"short", "medium", "long"}
    parts = {"model": rule.models[0]}
    of_rule = jobs.ranking(rule)
    params = of_rule.params(Wildcards(fromdict=parts))
    assert tuple(params["settings"]) == rule.conditions
    assert params["settings"]["long"]["form"] == "long"
    assert of_rule.inputs(Wildcards(fromdict=parts))["predictions"] == []
    assert "metrics" not in params["task"]
    run = Run("acord", "retrieve", rule.models[0], "long")
    assert "metrics" in jobs.score(run).params["task"]


def test_a_choice_of_a_ranker_has_the_seed_and_rate_of_each_search(small):
    jobs = small(papers=["acord"])
    choice = some_run(jobs.project, "choice", "acord")
    job = jobs.of_runs(choice)
    needed = [jobs.file(run, "predictions.parquet") for run in jobs.spec(choice).needs]
    assert sorted(job.inputs["searched"] + job.inputs["hits"]) == sorted(needed)
    assert len(job.inputs["searched"]) == len(job.params["task"]["rates"]) > 0
    assert all("/search/" in path for path in job.inputs["searched"])


def test_language_models_have_a_rule_for_each_data_set_unless_they_rank(planned):
    _, jobs = planned
    asked = {run.data_set for run in jobs.project.specs if run.experiment == "ask"}
    ranked = {rule.dataset for rule in jobs.ranking_rules()}
    assert jobs.asked_data_sets() == sorted(asked - ranked)
    assert "cuad" in jobs.asked_data_sets() and "acord" in asked & ranked


# Resources.


def requested(jobs, run, attempt=1):
    """Return {resource: what the job of a run requests}, and its threads."""
    rule = jobs.rule()
    wildcards = wildcards_of(run)
    resources = {}
    for name, value in rule.resources.items():
        resources[name] = value(wildcards, attempt)
    return resources, rule.threads(wildcards)


def test_a_job_without_a_model_requests_no_gpu(small):
    jobs = small(papers=["acord"], device="cuda")
    run = some_run(jobs.project, "retrieve", "acord", "bm25")
    for attempt in (1, 2):
        resources, threads = requested(jobs, run, attempt)
        assert resources == {
            "mem_mb": 8000 * attempt,
            "runtime": 120 * attempt,
            "gpu": None,
        }
        assert threads == 1


@pytest.mark.parametrize(
    ("config", "has_gpu", "given"),
    [("auto", True, "cuda"), ("auto", False, "auto"), ("cpu", True, "cpu")],
)
def test_a_job_that_is_planned_on_a_gpu_needs_it(
    small, monkeypatch, config, has_gpu, given
):
    """It fails with a driver whose GPU cannot be used."""
    monkeypatch.setattr(device, "expected", lambda choice: has_gpu and choice != "cpu")
    jobs = small(device=config, grid="small")
    run = some_run(jobs.project, "train", model="minilm")
    parts = {"task": "classification", "dataset": "maud", "size": "64"}
    parts["encoder"] = "all-minilm-l6-v2"
    encoding = FeatureJobs(jobs).vector_job(Wildcards(fromdict=parts))
    for job in (jobs.of_runs(run), encoding):
        assert job.params["device"] == given


def test_a_job_with_a_model_requests_memory_and_time_for_its_work(small):
    jobs = small(device="cuda", data="release")
    run = some_run(jobs.project, "train", model="minilm")
    first, threads = requested(jobs, run)
    second, _ = requested(jobs, run, 2)
    assert first["gpu"] == 1 and threads == 4
    assert first["mem_mb"] >= 8000 and first["runtime"] >= 60
    assert second["mem_mb"] == 2 * first["mem_mb"]
    assert second["runtime"] == 2 * first["runtime"]
    limited = small(device="cuda", data="release", max_runtime=70)
    assert requested(limited, run, 2)[0]["runtime"] == 70


@pytest.mark.parametrize(("settings", "gpu"), [({}, 1), ({"api": "model"}, None)])
def test_a_model_on_a_server_needs_no_gpu(small, monkeypatch, settings, gpu):
    jobs = small(device="cuda")
    run = Run("maud", "ask", "model", "one", 0)
    monkeypatch.setitem(jobs.project.specs, run, Spec(settings))
    resources, _ = requested(jobs, run, 2)
    assert resources["gpu"] == gpu
    assert resources["mem_mb"] == 16000
    assert resources["runtime"] == 1440


def test_limits_of_language_models_do_not_trigger_reruns(small):
    """Snakemake does not compare params that depend on threads."""
    jobs = small()
    run = some_run(jobs.project, "read")
    places = jobs.rule().places
    assert Rule._is_deriving_function(places)
    asking = places(wildcards_of(run), 1)["asking"]
    assert asking["kept"] == "results/sample/work/calls"
    assert Limits(**asking["limits"]) == Limits()


def test_submitted_predictions_are_checked_against_tables_of_the_data_set(small):
    jobs = small(papers=PAPERS)
    codes = set()
    for name, tables in {
        "acord": ["clauses", "queries", "judgements"],
        "cuad": ["contracts", "questions"],
        "maud": ["examples", "questions"],
        "privacy": ["questions", "responses", "paragraphs", "sites"],
    }.items():
        run = Run(name, SUBMITTED, "own-x", "any")
        jobs.project.specs[run] = Spec({"form": "csv", "content": "0"})
        job = jobs.of_runs(run)
        assert job.inputs["data"] == jobs.project.tables(name, *tables)
        assert job.params["task"]["task"] == jobs.project.tasks[name].task
        codes.add(job.code)
    assert len(codes) == 4


def test_a_rule_makes_the_job_of_the_same_wildcards_once(small):
    made = []

    def job_of(wildcards):
        made.append(wildcards)
        return jobs.of_runs(run)

    jobs = small()
    run = some_run(jobs.project, "read")
    rule = RuleJobs(job_of, jobs.resources)
    wildcards = wildcards_of(run)
    assert rule.inputs(wildcards) == jobs.of_runs(run).inputs
    assert rule.params(wildcards_of(run))["experiment"] == "read"
    assert len(made) == 1
    rule.params(wildcards_of(some_run(jobs.project, "train")))
    assert len(made) == 2
