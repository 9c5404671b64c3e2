"""What reruns after a change, and what does not: plans of a project whose outputs are made up.

The outputs are empty and marked as made (`--touch`), but for the fetched source, so that a plan costs
seconds; that real results are used again is shown in test_sample.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file
from transformers import BertConfig, BertModel

from wordpiece import wordpiece

ROOT = Path(__file__).parents[2]
PARTS = ("Snakefile", "config.yaml", "workflow", "resources", "envs", "profiles")
RESULTS = Path("results/sample")
TARGETS = ("acord_table_d3", "acord_table_d4", "acord_table_c2")


def snakemake(project, *arguments, targets=TARGETS, papers="[acord]"):
    given = json.dumps([{"name": "Mine", "kind": "bi-encoder", "model": str(project.parent / "mine")}])
    return subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", *targets, "--cores", "2", "--nolock", *arguments),
            *("--config", f"papers={papers}", f"extra_models={given}"),
        ],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )


def planned(project, targets=TARGETS, papers="[acord]"):
    """What would run: {rule: number of jobs}."""
    run = snakemake(project, "--dry-run", targets=targets, papers=papers)
    assert run.returncode == 0, run.stderr[-3000:]
    stats = re.search(r"Job stats:\n.*\n-+.*\n((?:\S+ +\d+\n)+)", run.stdout + run.stderr)
    if stats is None:
        assert "Nothing to be done" in run.stdout + run.stderr
        return {}
    jobs = {name: int(count) for name, count in (line.split() for line in stats[1].splitlines())}
    return {name: count for name, count in jobs.items() if name not in ("total", *TARGETS)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a project, `one`, that has nothing to do, and a user's model beside it."""
    folder = tmp_path_factory.mktemp("reruns")
    project = folder / "one"
    project.mkdir()
    for part in PARTS:
        ignore = shutil.ignore_patterns("__pycache__")
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, project / part, ignore=ignore)
        else:
            shutil.copy2(ROOT / part, project / part)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=8, **sizes)).save_pretrained(folder / "mine")
    wordpiece(["the", "contract", "ends"]).save_pretrained(folder / "mine")

    fetched = snakemake(project, "--until", "fetch_source")
    assert fetched.returncode == 0, fetched.stderr[-3000:]
    make_up(project)
    return folder


def make_up(project, targets=TARGETS):
    """Empty outputs of all that is asked for, but for those that are there."""
    listed = snakemake(project, "--summary", targets=targets)
    assert listed.returncode == 0, listed.stderr[-3000:]
    for line in listed.stdout.splitlines():
        path = project / line.split("\t")[0]
        if str(path).startswith(str(project / RESULTS)) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    touched = snakemake(project, "--touch", "--forceall", targets=targets)
    assert touched.returncode == 0, touched.stderr[-3000:]


@pytest.fixture
def project(finished, tmp_path):
    """A copy in another place, with all times kept."""
    shutil.copytree(finished, tmp_path / "moved", symlinks=True)
    return tmp_path / "moved/one"


def test_a_finished_project_has_nothing_to_do_here_or_elsewhere(finished, project):
    assert planned(finished / "one") == {}
    assert planned(project) == {}


def weights(project):
    return project.parent / "mine/model.safetensors"


def rewrite_weights(project):
    tensors = load_file(weights(project))
    name = sorted(tensors)[0]
    save_file(tensors | {name: tensors[name] + 1}, weights(project), metadata={"format": "pt"})


def rewrite_record(project):
    (record,) = project.glob(f"{RESULTS}/runs/acord/retrieve/own-mine/short/seed0/run.json")
    record.write_text('{"seconds": 2}')


def registry(old, new):
    def change(project):
        path = project / "resources/sources.yaml"
        text = path.read_text(encoding="utf-8")
        entry = text.index("\nacord:")
        at = text.index(old, entry)
        path.write_text(text[:at] + new + text[at + len(old) :], encoding="utf-8")

    return change


def other_archive(project):
    path = project / "resources/sample/acord/ACORD.zip"
    path.write_bytes(path.read_bytes() + b" ")


OWN = {"acord_retrieve": 1, "acord_score": 1}
TABLES = {"table": len(TARGETS)}


@pytest.mark.parametrize(
    ("change", "reruns", "stays"),
    [
        (lambda project: os.utime(weights(project)), {}, ["table"]),
        (lambda project: (project.parent / "mine/README.md").write_text("a card"), {}, ["table"]),
        (rewrite_weights, OWN, ["acord_data", "acord_finetune", "fetch_source"]),
        (rewrite_record, {"table": 2}, ["acord_retrieve", "acord_score"]),
        (registry("of our own writing", "that we wrote"), TABLES, ["acord_data", "acord_finetune"]),
        (lambda project: os.utime(project / "resources/sample/acord/ACORD.zip"), {}, ["fetch_source"]),
        (other_archive, {"fetch_source": 1, "acord_data": 1}, []),
    ],
    ids=["touch weights", "card", "weights", "record", "note", "touch mirror", "mirror"],
)
def test_what_reruns_and_what_does_not(project, change, reruns, stays):
    change(project)
    found = planned(project)
    assert reruns.items() <= found.items()
    assert bool(found) == bool(reruns)
    assert not set(stays) & (set(found) - set(reruns))


def test_volumes_of_case_law_are_fetched_once(project):
    shard = [str(RESULTS / "sources/caselaw/us-901.json")]
    brought = snakemake(project, targets=shard, papers="[lawngnli]")
    assert brought.returncode == 0, brought.stderr[-3000:]
    assert planned(project, shard, "[lawngnli]") == {}
    volume = next((project / "resources/sample/caselaw").rglob("902.zip"))
    volume.write_bytes(volume.read_bytes() + b" ")
    assert planned(project, shard, "[lawngnli]") == {"caselaw_volumes": 1}


def test_the_report_follows_what_other_runs_leave(project):
    report = [str(RESULTS / "report/index.html")]
    make_up(project, report)
    assert planned(project, report) == {}
    theirs = project / RESULTS / "tables/cuad/table3.csv"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    assert planned(project, report) == {"report": 1}


def test_no_input_of_any_paper_is_a_place_on_this_machine(finished):
    """Or a project that is moved would have it all made again."""
    command = [sys.executable, "-m", "snakemake", "--filegraph", "--nolock", "data"]
    run = subprocess.run(command, cwd=finished / "one", capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-3000:]
    assert "resources/facts/cuad_contracts.csv" in run.stdout
    assert str(finished) not in run.stdout


def test_no_param_is_a_place_on_this_machine(finished):
    """Snakemake's own records hold the params and inputs of every job."""
    kept = (finished / "one/.snakemake/metadata").rglob("*")
    records = [json.loads(path.read_text(encoding="utf-8")) for path in kept if path.is_file()]
    assert len(records) > 20
    for record in records:
        for text in (*map(str, record["params"]), *record["input"]):
            assert str(finished) not in text
            assert str(ROOT) not in text
            assert sys.prefix not in text


def test_a_cluster_keeps_its_device_whatever_is_configured(finished):
    """With a --config too, which would replace a list of keys in a profile."""
    run = snakemake(finished / "one", "--dry-run", "--workflow-profile", "profiles/slurm")
    assert "grid=sample (sample data), device=cuda, papers=acord\n" in run.stdout + run.stderr
    assert run.returncode == 0, run.stderr[-3000:]


def test_a_model_that_cannot_be_valid_ends_the_plan_in_a_sentence(finished):
    """Only where a paper that is asked for would run it."""

    def plan(papers, name="Theirs"):
        given = [{"name": name, "kind": "cross-encoder", "model": str(finished / "mine")}]
        config = [f"papers={papers}", f"extra_models={json.dumps(given)}"]
        command = [sys.executable, "-m", "snakemake", "--dry-run", "data", "--nolock", "--config", *config]
        run = subprocess.run(command, cwd=finished / "one", capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    code, said = plan("[acord]")
    assert code != 0
    assert "config, extra_models, Theirs: BertModel has no weights of a head for relevance" in said
    assert "Traceback" not in said
    assert plan("[cuad]")[0] == 0
    code, said = plan("[cuad]", "Bi-encoder (MiniLM)")
    assert code != 0
    assert "the name 'Bi-encoder (MiniLM)' reads like 'Bi-Encoder-MiniLM', which is a row" in said


@pytest.fixture(scope="module")
def plan(finished):
    """A dry run of the project with other targets and another configuration: (exit status, what was said)."""

    def planned(*targets_and_config):
        command = [sys.executable, "-m", "snakemake", "--dry-run", "--nolock", *targets_and_config]
        run = subprocess.run(command, cwd=finished / "one", capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    return planned


@pytest.mark.parametrize(
    "lack",
    ["parser=/no/such/folder", "encoder=none-such", "caselaw=[us:1-2]"],
    ids=["parser", "encoder", "volumes"],
)
def test_what_one_paper_lacks_stops_no_other(plan, lack):
    release = ("data=release", "models=available", "mirror=resources/sample", lack)
    code, said = plan("all", "--config", "papers=[acord]", *release)
    assert code == 0, said[-3000:]
    assert "acord_retrieve" in said
    assert "lawngnli" not in said.split("Job stats:")[1]


def test_a_parser_that_is_missing_stops_its_own_paper(plan):
    code, said = plan("all", "--config", "papers=[acord,lawngnli]", "parser=/no/such/folder")
    assert code != 0
    assert "config: parser = '/no/such/folder' is neither auto" in said
    assert "Traceback" not in said


def test_a_run_of_a_paper_that_is_left_out_is_planned_when_it_is_named(plan):
    maud, none = (f"{RESULTS}/runs/maud/single/minilm/{name}/seed0/run.json" for name in ("sample", "none"))
    code, said = plan(maud, "--config", "papers=[acord]")
    assert code == 0, said[-3000:]
    assert "maud_train" in said
    code, said = plan(none, "--config", "papers=[acord]")
    assert code != 0
    assert "runs/maud/single/minilm/none/seed0: there is no such run under this configuration" in said


def test_windows_of_two_grids_lie_apart(tmp_path):
    """Each in a folder of its length and step, so that one grid never reads or replaces the other's."""
    folders = {}
    for grid in ("sample", "small", "paper"):
        run = f"{RESULTS}/runs/cuad/finetune/minilm/{grid}-p100/seed0/predictions.parquet"
        config = ("papers=[cuad]", f"grid={grid}", "models=available")
        command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--dry-run", run]
        found = subprocess.run(
            [*command, "--directory", tmp_path, "--nolock", "--config", *config],
            capture_output=True,
            text=True,
            check=False,
        )
        said = found.stdout + found.stderr
        assert found.returncode == 0, said[-3000:]
        folders[grid] = set(re.findall(r"features/cuad/minilm/(\d+x\d+)/test/features\.json", said))
    assert all(len(found) == 1 for found in folders.values())
    assert len(set.union(*folders.values())) == len(folders)
