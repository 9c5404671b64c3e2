"""Checks and messages of a command, and the expected cost of its jobs."""

import json
from pathlib import Path
from types import SimpleNamespace

import nltk
import pytest
import yaml
from snakemake.iocontainers import Wildcards

from helpers import planned_project
from lextables.models.resolve import NLTK_HUB, Model
from lextables.pipeline import entries
from lextables.pipeline.errors import BadInput
from lextables.planning import command_line, estimate
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


def job(rule, number=1, norun=False, **wildcards):
    return SimpleNamespace(
        rule=SimpleNamespace(name=rule),
        wildcards=Wildcards(fromdict=wildcards),
        jobid=number,
        is_norun=norun,
        threads=1,
    )


def test_a_faulty_configuration_ends_the_run_with_its_message():
    def fail(what):
        raise BadInput(what, where="config")

    with pytest.raises(SystemExit, match="config: wrong"):
        command_line.or_exit(fail, "wrong")
    assert command_line.or_exit(max, 1, 2) == 2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("cuad_table2", "papers leaves cuad out; add it there"),
        ("maud_table_4", "there is no such target; did you mean 'maud_table4'"),
        ("zzz", "see snakemake --list-target-rules"),
        ("capsules", "was removed in 1.0"),
    ],
)
def test_an_unknown_target_ends_the_run(project, target, message):
    with pytest.raises(SystemExit, match=message):
        command_line.check_targets(project, {target}, {"maud", "maud_table4"})


def test_known_targets_and_files_are_accepted(project, tmp_path):
    (tmp_path / "file").touch()
    targets = {"maud", "file", "results/any.csv"}
    command_line.check_targets(project, targets, {"maud"})


@pytest.mark.parametrize(
    ("arguments", "no_cores", "message"),
    [
        (["--config", "a=1", "-C", "b=2"], False, "--config is given twice"),
        (["--config=a=1", "--config=b=2"], False, "--config is given twice"),
        (["--config=a=1", "--config", "b=2"], False, "--config is given twice"),
        (["-Ca=1", "-Cb=2"], False, "--config is given twice"),
        (["--config", "max_runtime=\u0663"], False, "with the digits 0 to 9"),
        (["--config", "llm_budget=\uff11.5"], False, "with the digits 0 to 9"),
        ([], True, "--cores 0"),
    ],
)
def test_an_option_without_effect_ends_the_run(
    monkeypatch, arguments, no_cores, message
):
    monkeypatch.setattr("sys.argv", ["bin/snakemake", *arguments])
    with pytest.raises(SystemExit, match=message):
        command_line.check_options(no_cores)


@pytest.mark.parametrize(
    ("config", "folder", "command"),
    [
        ({"papers": ["acord"], "data": "release"}, "results", []),
        (
            {"papers": ["acord", "cuad"]},
            "results/sample",
            [
                "snakemake --cores 2 acord_table_d3 --config "
                "data=release models=available papers='[acord]'"
            ],
        ),
    ],
)
def test_a_run_ends_with_its_report_and_the_sample_with_a_command(
    monkeypatch, tmp_path, config, folder, command
):
    project = planned_project.load(monkeypatch, tmp_path, **config)
    shown = []
    monkeypatch.setattr(command_line, "show_last", shown.append)
    command_line.show_next_steps(project)
    report, *commands = shown
    assert report == f"Done: open {folder}/report/index.html in a browser."
    assert [text.partition("data: ")[2] for text in commands] == command


def test_skipped_volumes_are_named(tmp_path, caplog, monkeypatch):
    folders = [tmp_path / "sources/caselaw", tmp_path / "data/caselaw"]
    for folder in folders:
        folder.mkdir(parents=True)
    absent = [f"us/{number}" for number in range(11)]
    (folders[0] / "us-1.json").write_text(json.dumps({"absent": absent}))
    (folders[0] / "us-2.json").write_text(json.dumps({"absent": ["us/98"]}))
    (folders[1] / "us-2.json").write_text(json.dumps({"set_aside": ["us/99"]}))
    shown = []
    monkeypatch.setattr(command_line, "show_last", shown.append)
    command_line.show_skipped_volumes(str(tmp_path), ["us-1", "us-2", "us-3"])
    (text,) = shown
    assert "us/9 and 2 more; --forcerun" in text
    command_line.show_skipped_volumes(str(tmp_path), ["us-3"])
    assert len(shown) == 1


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
    assert seconds == {1: 6.0, 2: 4.0, 3: 3.5, 4: 1.0}
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


def test_a_plan_is_of_the_other_targets_and_needs_a_dry_run():
    run = SimpleNamespace(is_dry_run=True, targets={"plan", "maud"})
    assert targets_of_plan(run, ["all"]) == []
    run.targets = {"plan"}
    assert targets_of_plan(run, ["all"]) == ["all"]
    run.is_dry_run = False
    with pytest.raises(BadInput, match="a plan needs a dry run"):
        targets_of_plan(run, ["all"])


NUMBERS = ["0123", "0x1F", "0b11", "1:30", "1_000", "0o17", "1:30.5", "1_0.5", "+0123"]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "line", ["max_runtime: {}", "seeds: [{}]", "gpu_resources: {{slurm_account: {}}}"]
)
def test_a_number_that_yaml_reads_in_another_way_ends_the_run(
    monkeypatch, tmp_path, number, line
):
    path = tmp_path / "my.yaml"
    path.write_text(f"data: sample\n{line.format(number)}\n")
    monkeypatch.setattr("sys.argv", ["bin/snakemake", "--configfile", str(path)])
    if yaml.safe_load(number) == number:  # a text to YAML
        return
    with pytest.raises(
        SystemExit, match=r"my\.yaml, row 2: not YAML \(.* would be read as "
    ):
        command_line.check_options(False)


PLAIN = [
    "'0123'",
    "123",
    "-5",
    "1.5",
    "1e3",
    "2.0e-5",
    ".inf",
    "on",
    "2020-01-01",
    "0",
    "abc",
]


@pytest.mark.parametrize("value", PLAIN)
def test_other_values_of_yaml_are_left_to_the_checks_of_each_key(
    monkeypatch, tmp_path, value
):
    path = tmp_path / "my.yaml"
    path.write_text(f"a: [{value}]\n")
    monkeypatch.setattr("sys.argv", ["bin/snakemake", "--configfile", str(path)])
    command_line.check_options(False)
    assert entries.mapping(path)["a"] == yaml.safe_load(f"[{value}]")


def test_the_last_lines_name_what_a_command_made(project, monkeypatch):
    shown = []
    monkeypatch.setattr(command_line, "show_last", shown.append)
    folder = Path(project.results, "tables/maud")
    folder.mkdir(parents=True)
    rows = [("a", "match"), ("b", "not run"), ("c", "match"), ("d", "")]
    lines = [f"{row},{verdict}" for row, verdict in rows]
    (folder / "table3.csv").write_text("\n".join(["row,verdict", *lines]) + "\n")
    (folder / "table4.csv").write_text("row,verdict\nd,\n")
    for name in ("table3", "table4"):
        (folder / f"{name}.html").touch()
    targets = {"maud_table4", "maud_table3", "maud_data", "maud", "publish", "all"}
    # With --until a table may not be made.
    command_line.show_results(project, targets | {"maud_table2"})
    assert shown == [
        "Done: results/sample/data/maud/",
        "Done: results/sample/tables/maud/table3.html (2 match, 1 not run).",
        "Done: results/sample/tables/maud/table4.html (no published values).",
        "Done: results/sample/publish/",
    ]


def test_a_run_names_the_rows_of_a_user_that_have_left_a_table(tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(command_line, "show_last", shown.append)
    table = tmp_path / "tables/maud/table3.csv"
    table.parent.mkdir(parents=True)
    own = "Mine,runs/maud/submitted/own-mine/all/seed0\nOther,runs/maud/submitted/own-other/all/seed0\n"
    heads = "row,runs\nBERT,runs/maud/train/bert/all/seed0\n"
    table.write_text(heads + own)
    before = command_line.own_rows(str(tmp_path))
    assert before == {table: {"Mine", "Other"}}
    command_line.show_removed_rows(str(tmp_path), before)
    assert shown == []
    table.write_text(heads)
    command_line.show_removed_rows(str(tmp_path), before)
    assert shown == [
        f"No longer in {table.with_suffix('.html')}: Mine, Other. To keep your rows, "
        "give the same extra_predictions and extra_models in each run."
    ]
