"""The expected cost of a command's jobs: time, downloads, and published values."""

from types import SimpleNamespace

import nltk
import pytest
from snakemake.iocontainers import Wildcards

from helpers import planned_project
from lextables.models.resolve import NLTK_HUB, Model
from lextables.pipeline.errors import BadInput
from lextables.planning import estimate
from lextables.planning.estimate import (
    VOLUME_BYTES,
    Estimates,
    targets_of_plan,
    weights_of,
)
from lextables.planning.jobs import Jobs
from lextables.planning.sources import hub_weights
from lextables.tables.published import load
from lextables.tasks.planner import Spec


@pytest.fixture
def project(monkeypatch, tmp_path):
    return planned_project.load(monkeypatch, tmp_path, papers=["maud"])


@pytest.fixture
def estimates(project):
    shards = {"us-1": ["us/1", "us/2"]}
    return Estimates(Jobs(project), shards)


class Job(SimpleNamespace):
    """A job of Snakemake's graph, which is hashable."""

    __hash__ = object.__hash__


def job(rule, number=1, norun=False, **wildcards):
    return Job(
        rule=SimpleNamespace(name=rule),
        wildcards=Wildcards(fromdict=wildcards),
        jobid=number,
        is_norun=norun,
        threads=1,
    )


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (job("table", paper="maud", table="x"), ("table", "maud", "")),
        (job("maud_data"), ("data", "maud", "")),
        (
            job("maud_retrieve_bi_encoder_1", dataset="maud", model="m"),
            ("retrieve_bi_encoder", "maud", "m"),
        ),
        (job("vectors", dataset="cuad", encoder="e"), ("vectors", "cuad", "e")),
        (job("quote", dataset="cuad", model="m"), ("quote", "cuad", "m")),
        (job("maud_ask", model="m"), ("ask", "maud", "m")),
        (job("fetch_source", source="maud", file="f"), ("fetch_source", "maud", "")),
        (job("other_data"), ("other_data", "", "")),
    ],
)
def test_the_kind_of_a_job_is_that_of_the_records(estimates, made, kind):
    assert estimates.kind(made) == kind


RECORDS = """
data,rule,dataset,model,seconds,device
sample,a,d,m,4,
sample,a,d,m,8,
sample,a,e,m,3,
sample,c,,,0.2,
sample,a,d,m,500,a GPU
release,a,d,m,900,
"""


def test_expected_seconds_are_those_of_the_most_similar_records(
    estimates, monkeypatch, tmp_path
):
    records = tmp_path / "records.csv"
    records.write_text(RECORDS.lstrip())
    monkeypatch.setattr(Estimates, "_records", records)
    jobs = [
        job("a", 1, dataset="d", model="m"),
        job("a", 2, dataset="other"),
        job("b", 3),
        job("c", 4),
        job("all", 5, norun=True),
        job("c", 6),  # is finished
    ]
    graph = [(each, jobs[:at]) for at, each in enumerate(jobs)]
    run = SimpleNamespace(
        jobs_to_run=jobs[:5], jobs_with_dependencies=lambda: iter(graph)
    )
    expected = estimates.expected(run)
    seconds = {number: about["seconds"] for number, about in expected.items()}
    assert seconds == {
        1: 6.0,  # the median of 4 and 8, of its rule, data set and model
        2: 4.0,  # the median of 3, 4 and 8, of its rule
        3: 3.5,  # the median of 0.2, 3, 4 and 8, of all rules
        4: 1.0,  # its rule took 0.2; at least a second
    }
    assert [number for number, about in expected.items() if about["guessed"]] == [2, 3]
    assert expected[3]["before"] == (1, 2)


def test_bytes_of_downloads(estimates, monkeypatch, tmp_path):
    volumes = job("caselaw_volumes", shard="us-1")
    assert estimates.transferred(volumes) == (2 * VOLUME_BYTES, 2 * VOLUME_BYTES)
    assert estimates.transferred(job("table")) == (0, 0)
    size, download = estimates.transferred(
        job("fetch_source", source="privacy", file="questions.ndjson")
    )
    assert size > 0 and download == 0  # the sample is here
    mirror = tmp_path / "mirror"
    (mirror / "caselaw/us").mkdir(parents=True)
    (mirror / "caselaw/us/1.zip").touch()
    monkeypatch.setattr(type(estimates.project.context), "mirrors", [mirror])
    assert estimates.transferred(volumes) == (2 * VOLUME_BYTES, VOLUME_BYTES)


MAUD_RELEASE, MAUD_PART = 29153514, 12677771  # bytes of maud_v1.zip and of its part


HYPERPARAMETERS = "best_found_hps/README.md"  # 651 bytes, a name with a folder


@pytest.mark.parametrize(
    ("file", "sizes", "expected"),
    [
        ("maud_v1.zip", (), True),  # the release is downloaded
        ("maud_v1.zip", (MAUD_RELEASE,), True),
        ("maud_v1.zip", (MAUD_PART,), False),
        ("maud_v1.zip", (MAUD_PART, MAUD_RELEASE), False),  # the first mirror counts
        ("maud_v1.zip", (MAUD_RELEASE, MAUD_PART), True),
        ("maud_v1.zip", (1, MAUD_RELEASE), False),  # no registered file
        (HYPERPARAMETERS, (651,), True),
        (HYPERPARAMETERS, (652,), False),
    ],
)
def test_results_are_comparable_if_the_file_that_would_be_read_is_the_papers(
    monkeypatch, tmp_path, file, sizes, expected
):
    project = planned_project.load(
        monkeypatch, tmp_path, papers=["maud"], data="release"
    )
    mirrors = []
    for number, size in enumerate(sizes):
        mirrors.append(tmp_path / f"mirror{number}")
        mirrored = mirrors[-1] / "maud" / file
        mirrored.parent.mkdir(parents=True)
        with mirrored.open("wb") as out:
            out.truncate(size)
    monkeypatch.setattr(type(project.context), "mirrors", mirrors)
    estimates = Estimates(Jobs(project), {})
    fetching = job("fetch_source", source="maud", file=file)
    assert estimates._is_comparable(fetching) is expected
    assert estimates._is_comparable(job("table")) is True
    assert estimates._is_comparable(job("caselaw_volumes")) is False


def test_the_published_values_of_a_paper_are_read_once(estimates, monkeypatch):
    read = []

    def load_and_count(path):
        read.append(path)
        return load(path)

    monkeypatch.setattr(estimate, "load", load_and_count)
    for table in estimates.project.papers["maud"].tables:
        estimates._verdicts("maud", table, {"maud"})
    assert len(read) == 1


def test_weights_that_are_not_here_are_downloaded(estimates, monkeypatch):
    model = Model(use="x", kind="encoder", hub="a/b", licence="MIT", parameters=10)
    monkeypatch.setitem(estimates.project.context.models, "known", model)
    monkeypatch.setitem(estimates.project.weight_paths, "here/now", {"folder": "x"})
    places = [
        ("a/b", "hub", "known"),
        ("c/d", "hub", "unknown"),
        ("here/now", "hub", "known"),
        ("results/x/weights", "hub", "known"),
        ("e/f", "mirror", "known"),
    ]
    weights = []
    for location, found, name in places:
        weights.append({"weights": location, "found": found, "model": name})
    assert estimates.downloads_of(weights) == {"a/b": 40, "c/d": None}


def test_a_parser_that_is_not_in_nltks_data_is_downloaded(
    estimates, monkeypatch, tmp_path
):
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    parser = {"weights": "nltk:benepar_en3", "found": NLTK_HUB, "model": "benepar_en3"}
    size = 4 * 35_330_816  # T5-small's encoder
    assert estimates.downloads_of([parser]) == {"nltk:benepar_en3": size}
    (tmp_path / "models/benepar_en3").mkdir(parents=True)
    (tmp_path / "models/benepar_en3/benepar_model.bin").touch()
    assert estimates.downloads_of([parser]) == {}
    # `fetch` gets it too.
    assert hub_weights(estimates.project, [parser])[-1]["weights"] == "nltk:benepar_en3"


def test_a_job_loads_the_weights_of_its_runs_and_of_its_encoder_or_parser():
    parser, encoder = {"weights": "x"}, {"weights": "y"}
    run = {"weights": "z"}
    found = SimpleNamespace(params={"parser": parser, "encoder": encoder})
    assert weights_of(found, [Spec(run)]) == [run, encoder, parser]
    # The census names its parser only.
    assert weights_of(SimpleNamespace(params={"parser": "spaCy"}), []) == []


@pytest.mark.parametrize(
    ("requested", "on_gpu"),
    [
        ({"gpu": 1}, True),
        ({"gres": "gpu:a100:1"}, True),
        ({"gpu": 0}, False),
        ({"gres": "lscratch:10"}, False),
        ({"gres": None}, False),
    ],
)
def test_a_gpu_is_planned_as_a_number_or_in_a_gres(project, requested, on_gpu):
    run = planned_project.some_run(project, "train")
    folder = f"{project.results}/{run.folder}"
    training = job("train")
    training.wildcards = planned_project.wildcards_of(run)
    training.output = [f"{folder}/weights", f"{folder}/run.json"]
    training.log = []
    training.params = {}
    training.resources = {"runtime": 60, "mem_mb": 8000, **requested}
    graph = SimpleNamespace(
        jobs_to_run=[], jobs_with_dependencies=lambda: [(training, [])]
    )
    (estimated,) = Estimates(Jobs(project), {}).jobs(graph)
    assert estimated.gpu is on_gpu
    assert (estimated.gpu_seconds > 0) is on_gpu
    assert (estimated.trained is not None) is on_gpu


def test_a_plan_is_of_the_other_targets_and_needs_a_dry_run():
    run = SimpleNamespace(is_dry_run=True, targets={"plan", "maud"})
    assert targets_of_plan(run, ["all"]) == []
    run.targets = {"plan"}
    assert targets_of_plan(run, ["all"]) == ["all"]
    run.is_dry_run = False
    with pytest.raises(BadInput, match="a plan needs a dry run"):
        targets_of_plan(run, ["all"])
