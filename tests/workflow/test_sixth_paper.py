"""A sixth paper needs a registry file, published values, a reader, a schema and its
tables, and no edit.
"""

import csv
import json
import re
import shutil

import mlcroissant
import pytest
from datasets import load_dataset

from helpers import forked, project_copy
from lextables import ROOT

SIXTH = ROOT / "tests/sixth_paper"
ADDED = sorted(
    path.relative_to(SIXTH) for path in SIXTH.rglob("*.*") if path.suffix != ".pyc"
)
MAX_LINES = 150  # without the sample's text


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of this project with the paper's files, and no other change."""
    folder = project_copy.copied(tmp_path_factory.mktemp("sixth") / "project")
    for path in ADDED:
        assert not (folder / path).exists(), (
            f"{path} exists already: this would be an edit"
        )
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(SIXTH / path, folder / path)
    return folder


def snakemake(project, *arguments):
    config = ("--config", "papers=[ledgar]")
    return forked.snakemake(project, "--cores", "2", *arguments, *config, project=None)


@pytest.fixture(scope="module")
def results(project):
    """The results of a run: tables, data set and export."""
    run = snakemake(project, "ledgar", "data", "publish")
    assert run.code == 0, run.output[-4000:]
    return project / "results/sample"


def table(results, name):
    path = results / f"tables/ledgar/{name}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return {(line["row"], line["column"]): line for line in csv.DictReader(file)}


def test_it_is_short():
    lines = {}
    for path in ADDED:
        if path.parts[:2] != ("resources", "sample"):
            text = (SIXTH / path).read_text(encoding="utf-8")
            lines[path] = len(text.splitlines())
    assert sum(lines.values()) < MAX_LINES, lines
    assert all("ledgar" in str(path) for path in ADDED)


def test_its_tables_are_made_from_its_file(results):
    counts = table(results, "table1")
    for label in ("Governing Laws", "Notices", "Amendments"):
        assert counts[label, "Provisions"]["ours"] == "12"
    scores = table(results, "table2")
    assert scores["BERT", "Macro F1"]["verdict"] == "not run"
    ours = scores["MiniLM encoder", "Macro F1"]
    assert 0 <= float(ours["ours"]) <= 100
    assert float(ours["low"]) <= float(ours["ours"]) <= float(ours["high"])
    # No word belongs to two labels.
    assert scores["Words and a linear model", "Macro F1"]["ours"] == "100.0"
    record = json.loads((results / ours["runs"] / "run.json").read_text())
    (training,) = record["trained"]
    assert training["choice"]["all heads"]["updates"] in ([2], [4])


def test_it_is_exported_like_any_paper(results, tmp_path):
    export = results / "publish/ledgar"
    rows = load_dataset(str(export), "examples", split="full", cache_dir=str(tmp_path))
    assert rows.num_rows == 36
    assert len([*(export / "predictions").iterdir()]) == 2  # BERT was not run
    assert not mlcroissant.Dataset(export / "croissant.json").metadata.ctx.issues.errors


def test_its_targets_report_and_error_messages_are_those_of_any_paper(project):
    planned = snakemake(project, "ledgar_table2", "report", "-n")
    assert planned.code == 0, planned.output[-2000:]
    assert re.search(r"^report +1$", planned.output, re.M)
    path = project / "resources/papers/ledgar.yaml"
    text = path.read_text(encoding="utf-8").replace(
        "task: classification", "task: divination"
    )
    path.write_text(text, encoding="utf-8")
    run = snakemake(project, "ledgar", "-n")
    assert run.code != 0
    assert "ledgar.yaml" in run.output
