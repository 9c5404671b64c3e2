"""Checks of a command's options and targets, and the messages after its jobs."""

import json
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml

from helpers import planned_project
from lextables.pipeline import entries
from lextables.pipeline.errors import BadInput
from lextables.planning import command_line


@pytest.fixture
def project(monkeypatch, tmp_path):
    return planned_project.load(monkeypatch, tmp_path, papers=["maud"])


def test_a_faulty_configuration_ends_the_run_with_its_message():
    def fail(what):
        raise BadInput(what, where="config")

    with pytest.raises(SystemExit, match="config: wrong"):
        command_line.or_exit(fail, "wrong")
    assert command_line.or_exit(max, 1, 2) == 2


def test_entries_without_a_row_are_named(monkeypatch, tmp_path):
    (tmp_path / "run.txt").write_text("1 Q0 2 1 3.0 x\n")
    ranking = {"name": "Mine", "paper": "acord", "file": "run.txt"}
    server = {"kind": "language-model-api", "model": "m", "name": "Asked"}
    given = {"extra_predictions": [ranking], "extra_models": [server]}
    given["llm"] = "http://127.0.0.1:9/v1"
    for papers, names in ((["maud"], ["Mine"]), (["acord", "maud"], [])):
        loaded = planned_project.load(monkeypatch, tmp_path, papers=papers, **given)
        assert command_line.entries_without_row(loaded) == names


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


def test_exports_of_the_sample_are_not_uploaded(monkeypatch, tmp_path):
    for data, refused in (("sample", True), ("release", False)):
        config = {"papers": ["maud"], "data": data, "push": "org/lextables"}
        loaded = planned_project.load(monkeypatch, tmp_path, **config)
        command_line.check_push(loaded, {"maud"})
        with pytest.raises(SystemExit) if refused else nullcontext() as ended:
            command_line.check_push(loaded, {"publish"})
        assert not refused or "no exports of the sample" in str(ended.value)


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
        (["--configfile", "a", "--configfile", "b"], False, "--configfile is given"),
        (["--configfile=a", "--configfiles=b"], False, "--configfile is given twice"),
        (["--config", "a=1", "b=2", "a=3", "-n"], False, "--config has a twice, and"),
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
