"""A sixth paper, an ordinary one, is a registry file, printed values, a reader, a schema and its tables."""

import csv
import json
import re
import shutil
from pathlib import Path

import mlcroissant
import pytest
from datasets import load_dataset

import forked

ROOT = Path(__file__).parents[2]
SIXTH = ROOT / "tests/sixth_paper"
PARTS = ("Snakefile", "config.yaml", "workflow", "resources", "envs", "profiles")
MOST = 250  # lines of all that is added, its sample's text apart


def files():
    """What the paper adds, by its path in a project."""
    return sorted(path.relative_to(SIXTH) for path in SIXTH.rglob("*") if path.is_file())


def added():
    return [path for path in files() if path.suffix != ".pyc"]


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of this project with the paper's files, and no other change."""
    folder = tmp_path_factory.mktemp("sixth") / "project"
    folder.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
        copy(ROOT / part, folder / part)
    for path in added():
        assert not (folder / path).exists(), f"{path} is there already: that would be an edit"
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(SIXTH / path, folder / path)
    return folder


def snakemake(project, *arguments):
    return forked.snakemake(project, "--cores", "2", *arguments, package=False)


def table(project, name):
    path = project / f"results/sample/tables/ledgar/{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return {(line["row"], line["column"]): line for line in csv.DictReader(file)}


def test_it_is_short_and_touches_nothing_else():
    lines = {
        path: len((SIXTH / path).read_text(encoding="utf-8").splitlines())
        for path in added()
        if path.parts[:2] != ("resources", "sample")
    }
    assert sum(lines.values()) < MOST, lines
    assert all("ledgar" in str(path) for path in added())


def test_it_runs_from_its_file_to_its_tables(project):
    run = snakemake(project, "ledgar", "data", "--config", "papers=[ledgar]")
    assert run.returncode == 0, run.stderr[-4000:]
    counts = table(project, "table1")
    assert [counts[row, "Provisions"]["ours"] for row in ("Governing Laws", "Notices", "Amendments")] == [
        "12"
    ] * 3
    scores = table(project, "table2")
    assert scores["BERT", "Macro F1"]["verdict"] == "not run"
    ours = scores["MiniLM encoder", "Macro F1"]
    assert 0 <= float(ours["ours"]) <= 100
    assert float(ours["low"]) <= float(ours["ours"]) <= float(ours["high"])
    # Each label has words of its own.
    assert scores["Words and a linear model", "Macro F1"]["ours"] == "100.0"
    record = json.loads((project / "results/sample" / ours["runs"] / "run.json").read_text())
    assert record["trained"]["choice"]["all heads"]["updates"] in ([2], [4])


def test_it_is_handed_on_as_any_paper(project, tmp_path):
    run = snakemake(project, "publish", "--config", "papers=[ledgar]")
    assert run.returncode == 0, run.stderr[-4000:]
    place = project / "results/sample/publish/ledgar"
    rows = load_dataset(str(place), "examples", split="full", cache_dir=str(tmp_path))
    assert rows.num_rows == 36
    assert len([*(place / "predictions").iterdir()]) == 2  # BERT is not here
    assert not mlcroissant.Dataset(place / "croissant.json").metadata.ctx.issues.errors


def test_its_targets_its_report_and_its_faults_are_those_of_any_paper(project):
    planned = snakemake(project, "ledgar_table2", "report", "-n", "--config", "papers=[ledgar]")
    assert planned.returncode == 0, planned.stderr[-2000:]
    assert re.search(r"^report +1$", planned.stdout + planned.stderr, re.M)
    path = project / "resources/papers/ledgar.yaml"
    kept = path.read_text(encoding="utf-8")
    path.write_text(kept.replace("task: classification", "task: divination"), encoding="utf-8")
    try:
        run = snakemake(project, "ledgar", "-n", "--config", "papers=[ledgar]")
    finally:
        path.write_text(kept, encoding="utf-8")
    assert run.returncode != 0
    assert "ledgar.yaml" in run.stdout + run.stderr
