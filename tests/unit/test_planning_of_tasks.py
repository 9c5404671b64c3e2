"""Functions of the rules of retrieval, answers and submitted predictions."""

import json

import pytest
from snakemake.iocontainers import Wildcards

from helpers import planned_project
from helpers.planned_project import some_run, wildcards_of
from lextables.pipeline.run import Run
from lextables.planning.answer_jobs import AnswerJobs
from lextables.planning.job_resources import JobResources
from lextables.planning.rankings import (
    RankingRule,
    Rankings,
    ranker_module,
    ranking_rules,
)
from lextables.planning.runs import Runs
from lextables.planning.submitted_jobs import SubmittedJobs
from lextables.tasks.plan import Spec


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patched:
        folder = tmp_path_factory.mktemp("working")
        papers = ("acord", "privacy", "lawngnli")
        yield planned_project.load(patched, folder, papers=papers)


def wildcards(dataset, experiment, model, **more):
    parts = {"dataset": dataset, "experiment": experiment, "model": model}
    return Wildcards(fromdict=parts | more)


def test_systems_with_the_same_conditions_share_a_rule():
    specs = {}
    for model, conditions in {"b": "xy", "a": "xy", "c+d": "x"}.items():
        for condition in conditions:
            specs[Run("set", "retrieve", model, condition)] = Spec({"kind": "okapi"})
    specs[Run("set", "train", "a", "x")] = Spec({"kind": "bi-encoder"})
    specs[Run("other", "ask", "a", "x")] = Spec({"kind": "language-model"})
    assert ranking_rules(specs, ["set"]) == [
        RankingRule("set_retrieve_okapi", "set", "retrieve", "okapi", ("c+d",), ("x",)),
        RankingRule(
            "set_retrieve_okapi_1", "set", "retrieve", "okapi", ("a", "b"), ("x", "y")
        ),
    ]
    assert ranker_module("bi-encoder").endswith(".rankers.bi_encoder")


def test_a_ranking_job_makes_all_runs_of_a_system(project):
    rankings = Rankings(Runs(project), JobResources(Runs(project)))
    rules = {rule.name: rule for rule in rankings.rules()}
    rule = rules["acord_retrieve_linear"]
    assert set(rule.conditions) >= {"short", "medium", "long"}
    job = wildcards("acord", rule.experiment, rule.models[0])
    settings = rankings.settings(job)
    assert tuple(settings) == rule.conditions
    assert settings["long"]["form"] == "long"
    assert rankings.hits(job) == []
    assert rankings.files("run.json", ["long"]) == [
        f"{project.results}/runs/{{dataset}}/{{experiment}}/{{model}}/long/seed0/run.json"
    ]
    assert "metrics" in rankings.scored_task(job).keys() - rankings.ranked_task(job)


def test_a_job_of_a_trained_system_makes_one_run(project):
    runs = Runs(project)
    rankings = Rankings(runs, JobResources(runs))
    job = wildcards_of(some_run(project, "rerank-tuned", "acord"))
    assert [*rankings.settings(job)] == ["sample"]
    assert rankings.hits(job) == runs.needed_predictions(job) != []
    job = wildcards_of(some_run(project, "choice", "acord"))
    searched, reordered = (rankings.compared(kind)(job) for kind in (True, False))
    assert sorted(searched + reordered) == sorted(runs.needed_predictions(job))
    assert len(searched) == len(rankings.rates(job)) > 0
    job = wildcards_of(some_run(project, "search", "acord"))
    assert rankings.tuning(job) in ("cross_encoder", "bi_encoder")


def test_only_kinds_with_a_model_request_a_gpu(project):
    rankings = Rankings(Runs(project), JobResources(Runs(project)))
    lexical = rankings.resources_of("bm25")
    assert "gpu" not in lexical
    assert [lexical["runtime"](None, attempt) for attempt in (1, 2)] == [120, 240]
    assert [lexical["mem_mb"](None, attempt) for attempt in (1, 2)] == [8000, 16000]
    assert rankings.threads_of("bm25") == 1
    assert {"gpu", "mem_mb", "runtime"} <= rankings.resources_of("cross-encoder").keys()
    assert {"mem_mb", "runtime"} <= rankings.resources_of("language-model").keys()


def test_models_of_answers_are_those_of_the_kinds_of_a_rule(project):
    jobs = AnswerJobs(Runs(project))
    assert jobs.models("answer", "linear", "random") == "linear|random"
    assert jobs.models("answer", "never") == "(?!)"
    table = jobs.tables("highlights")
    assert table(wildcards("privacy", "mark", "x")) == [
        f"{project.results}/data/privacy/highlights.parquet"
    ]
    assert jobs.scored_highlights(wildcards("privacy", "answer", "x")) == []
    assert jobs.scored_task(wildcards("privacy", "mark", "x")).keys() == {
        "names",
        "smoothing",
        "folds",
    }


def test_submitted_predictions_are_checked_against_tables_of_the_data_set(project):
    jobs = SubmittedJobs(project)
    for name, tables in {
        "acord": ["clauses", "queries", "judgements"],
        "cuad": ["contracts", "questions"],
        "maud": ["examples", "questions"],
        "privacy": ["questions", "responses", "paragraphs"],
    }.items():
        files = jobs.tables(wildcards(name, "given", "own-x"))
        assert files == project.tables(name, *tables)
        task = jobs.task(wildcards(name, "given", "own-x"))
        assert json.loads(json.dumps(task)) == task
    codes = {jobs.code(wildcards(name, "given", "own-x")) for name in ("acord", "cuad")}
    assert len(codes) == 2
