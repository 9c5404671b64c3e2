"""Functions of rules: the project, its runs, their resources and fetched files."""

import json
import os
import re
from pathlib import Path

import pytest
from snakemake.iocontainers import Wildcards
from snakemake.rules import Rule

from helpers import planned_project
from helpers.planned_project import some_run, wildcards_of
from lextables import ROOT
from lextables.models.resolve import MIRROR
from lextables.models.spending import Limits
from lextables.models.weights import PLACES
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning import scripts
from lextables.planning.job_resources import JobResources, per_attempt
from lextables.planning.project import source_files
from lextables.planning.runs import Runs
from lextables.planning.sources import SourceParams, hub_weights
from lextables.tasks.plan import Spec
from lextables.tasks.resources import Speed, Work


@pytest.fixture
def planned(monkeypatch, tmp_path):
    """Plans with a configuration; the working folder is new."""

    def plan(papers=("maud",), **config):
        return planned_project.load(monkeypatch, tmp_path, papers=papers, **config)

    return plan


def test_a_project_has_the_plans_of_the_papers_in_the_configuration(planned):
    project = planned()
    assert [*project.plans] == ["maud"]
    assert {run.data_set for run in project.specs} <= set(project.paper_of)
    assert project.paper_of["cuad"] == "cuad" and len(project.papers) > 4
    assert project.tables("maud", "examples") == [
        "results/sample/data/maud/examples.parquet"
    ]
    assert Path(project.published_values("maud")).is_file()
    assert json.loads(os.environ[PLACES]) == project.weight_paths != {}
    assert all((ROOT / file).is_file() for file in source_files(project.papers))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"seeds": -1}, "seeds"),
        ({"exclude_rows": ["no such row"]}, "no such row"),
        (
            {"extra_models": [{"name": "Majority", "model": "x", "kind": "encoder"}]},
            "Majority",
        ),
    ],
)
def test_a_wrong_configuration_is_refused(planned, config, message):
    with pytest.raises(BadInput, match=message):
        planned(**config)


def test_a_run_has_its_files_settings_and_dependencies(planned):
    project = planned()
    runs = Runs(project)
    read = some_run(project, "read")
    wildcards = wildcards_of(read)
    assert runs.run_of(wildcards) == read
    assert runs.folder(**dict(wildcards.items())) == f"results/sample/{read.folder}"
    assert runs.folder(seed=0).endswith("{model}/{condition}/seed0")
    spec = project.specs[read]
    assert runs.settings(wildcards).items() >= spec.settings.items()
    assert runs.work_folder(wildcards) == f"results/sample/work/{read.folder[5:]}"
    weights = runs.start_weights(wildcards)
    assert weights == [
        f"results/sample/{spec.sources[0].folder}/weights",
        f"results/sample/{spec.sources[0].folder}/run.json",
    ]
    chosen = next(run for run, spec in project.specs.items() if spec.choice)
    choice = project.specs[chosen].choice
    assert runs.choice(wildcards_of(chosen)) == [
        f"results/sample/{choice.folder}/run.json"
    ]
    searched = runs.needed_predictions(wildcards_of(choice))
    assert searched and all(path.endswith("predictions.parquet") for path in searched)


def test_other_runs_are_refused_with_the_reason(planned):
    runs = Runs(planned())
    with pytest.raises(BadInput, match="papers leaves its paper out"):
        runs.spec(wildcards_of(Run("cuad", "read", "x", "y", 0)))
    with pytest.raises(BadInput, match="no such run"):
        runs.spec(wildcards_of(Run("maud", "read", "x", "y", 0)))


def test_linear_models_read_the_vectors_of_their_encoder(planned):
    project = planned(grid="small")
    runs = Runs(project)
    files = runs.vectors("{dataset}/{encoder}/{piece}", piece="piece")
    found = {}
    for run, spec in project.specs.items():
        if spec.settings.get("kind") == "linear":
            found["weights" in spec.settings] = files(wildcards_of(run))
    assert found[False] == []
    assert found[True] == ["maud/all-minilm-l6-v2/64"]


def test_the_content_of_weights_in_a_folder_is_part_of_the_settings(
    planned, monkeypatch, tmp_path
):
    project = planned()
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setenv(PLACES, json.dumps({f"{MIRROR}x": {"folder": str(tmp_path)}}))
    settings = {"weights": f"{MIRROR}x", "found": "mirror"}
    first = project.identified(settings)
    assert first.items() > settings.items()
    (tmp_path / "config.json").write_text("[]")
    assert project.identified(settings)["content"] != first["content"]
    on_hub = {"weights": "owner/name", "found": "hub"}
    assert project.identified(on_hub) == on_hub


def test_limits_of_language_models_do_not_trigger_reruns(planned):
    """Snakemake does not compare params that depend on threads."""
    asking = Runs(planned()).asking
    assert Rule._is_deriving_function(asking)
    found = asking(None, 1)
    assert found["kept"] == "results/sample/work/calls"
    assert Limits(**found["limits"]) == Limits()


def test_each_retry_requests_more_up_to_the_configured_time(planned):
    resources = JobResources(Runs(planned(max_runtime=100)))
    assert [per_attempt(4000)(None, attempt) for attempt in (1, 3)] == [4000, 12000]
    assert [resources.runtime(60)(None, attempt) for attempt in (1, 2)] == [60, 100]
    assert JobResources(Runs(planned())).runtime(60)(None, 3) == 180
    small = resources.of_small_model(30, 5000)
    assert small["mem_mb"](None, 2) == 10000 and small["runtime"](None, 2) == 60


def test_a_job_with_a_model_requests_memory_and_time_for_its_work(planned):
    resources = JobResources(Runs(planned()))
    work = Work("train", 10**9, trained=10**5)  # 12,120 s of a core
    requested = resources.of_model(lambda wildcards: work)
    assert (
        requested["mem_mb"](None, 1) == 20000 and requested["mem_mb"](None, 2) == 40000
    )
    assert requested["runtime"](None, 2) == 2 * 780
    assert requested["gpu"] == 0


def test_the_speed_is_the_configured_one_or_a_default(planned):
    assert JobResources(Runs(planned(device="cpu"))).speed == Speed(0.05)
    assert JobResources(Runs(planned(device="cuda"))).speed.default == 40
    resources = JobResources(Runs(planned(device="cuda", tflops=100)))
    assert resources.speed == Speed(100)
    assert resources.seconds(Work("train", 10**9, trained=10**6)) == 60 + 120
    cores = JobResources(Runs(planned(device="cpu", data="release", tflops=1)))
    assert cores.seconds(Work("read", 10**9, read=10**6)) == (2000 + 120) / 4


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"device": "cpu"}, {"gpu": 0}),
        ({"device": "cpu", "gpu_resources": {"gres": "gpu:a:1"}}, {"gpu": 0}),
        ({"device": "cuda"}, {"gpu": 1}),
        (
            {"device": "cuda", "gpu_resources": {"slurm_partition": "a"}},
            {"gpu": 1, "slurm_partition": "a"},
        ),
        ({"device": "cuda", "gpu_resources": {"gres": "gpu:a:1"}}, {"gres": "gpu:a:1"}),
    ],
)
def test_jobs_with_a_model_request_the_configured_gpu(planned, config, expected):
    assert JobResources(Runs(planned(**config))).on_gpu == expected


@pytest.mark.parametrize(("found", "gpu"), [("package", 1), ("api", None)])
def test_a_model_on_a_server_needs_no_gpu(planned, monkeypatch, found, gpu):
    runs = Runs(planned(device="cuda"))
    run = Run("maud", "ask", "model", "one", 0)
    settings = {"api": "model"} if found == "api" else {}
    monkeypatch.setitem(runs.project.specs, run, Spec(settings))
    work = Work("ask", 10**10, read=10**7)  # 5,120 s
    requested = JobResources(runs).of_asking(120, lambda wildcards: work)
    wildcards = wildcards_of(run)
    assert requested["gpu"](wildcards, 1) == gpu
    assert requested["mem_mb"](wildcards, 1) == (24000 if gpu else 8000)
    assert requested["runtime"](wildcards, 2) == (2 * 330 if gpu else 240)


def test_a_source_file_has_its_registered_digests_and_current_content(planned):
    project = planned()
    source, file = "privacy", "questions.ndjson"
    wildcards = Wildcards(fromdict={"source": source, "file": file})
    params = SourceParams(project)
    assert re.fullmatch(params.file_pattern(), file)
    assert not re.fullmatch(params.file_pattern(), f"{file}.other")
    assert params.variants(wildcards) == ["sample"]
    key = params.content(wildcards)
    (pin,) = params.pins(wildcards)
    removed = Path(f"results/sample/sources/{source}/{file}.removed")
    removed.parent.mkdir(parents=True)
    removed.write_text("digest", encoding="utf-8")
    assert params.content(wildcards) == f"{key} after digest"
    assert key and pin


def test_weights_of_the_hub_are_fetched_once_each(planned, monkeypatch):
    project = planned()
    first = {"weights": "b/b", "found": "hub", "model": "b", "other": 1}
    local = {"weights": "results/sample/runs/x/weights", "found": "hub"}
    own = {"weights": "c/c", "found": "mirror"}
    others = [
        first,
        {**first, "other": 2},
        local,
        own,
        {"weights": "a/a", "found": "hub"},
    ]
    assert [found["weights"] for found in hub_weights(project, others)] == [
        "a/a",
        "b/b",
    ]


@pytest.mark.parametrize(("names", "matching"), [(["b", "a"], ["a", "b"]), ([], [])])
def test_a_pattern_matches_only_the_names(names, matching):
    pattern = scripts.any_of(names)
    assert [
        name for name in ("", "a", "b", "ab") if re.fullmatch(pattern, name)
    ] == matching


def test_digests_follow_the_content_of_files(tmp_path):
    file = tmp_path / "a"
    missing = scripts.content_of([file])
    file.write_text("one")
    first = scripts.content_of([file])
    os.utime(file, (1, 1))
    assert scripts.content_of([file]) == first != missing
    assert len(first) == scripts.DIGITS
