"""The page about predictions: its files are scored, its programs write such files."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from helpers.sample_data import write_data_set
from lextables import ROOT
from lextables.cli import app
from lextables.notebook import project

PAGE = (ROOT / "docs/predictions.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```$', PAGE, re.M | re.S))
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
# The metric that the command must show for the file of a data set.
METRICS = {
    "acord": "NDCG@10",
    "contracteval": "F1",
    "cuad": "AUPR",
    "lawngnli_nli": "accuracy",
    "lawngnli_retrieval": "Recall@10",
    "maud": "AUPR",
    "privacy": "accuracy",
}


@pytest.fixture(scope="module")
def folder(sample_run, tmp_path_factory):
    """A working folder with the sample's data sets, also as the release's."""
    folder = tmp_path_factory.mktemp("predictions")
    data = folder / "results/sample/data"
    data.mkdir(parents=True)
    for data_set in (sample_run / "results/sample/data").iterdir():
        (data / data_set.name).symlink_to(data_set)
    write_data_set("contracteval", data / "contracteval")
    (folder / "results/data").symlink_to(data)
    return folder


def shown_metrics(capsys, *words):
    """The metrics that ``lextables score`` shows."""
    app.app(["score", *words], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["metric", "mode", "value", "low", "high", "n"]
    return {re.split(r" +(?:paper|strict) ", line.strip())[0] for line in lines[1:]}


def parts_of(file: Path):
    """The lines of a file, or the questions of an n-best JSON."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".json":
        return {(name, json.dumps(spans)) for name, spans in json.loads(text).items()}
    return {*text.splitlines()}


def test_every_data_set_has_a_section_a_file_and_a_program():
    tasks = {}
    for paper in project.registry().values():
        tasks |= paper.tasks
    sections = re.findall(r"^## ([a-z_]+)(?: and ([a-z_]+))?$", PAGE, re.M)
    named = {name for names in sections for name in names if name}
    # The section of CUAD is also about MAUD's extraction, which has the same files.
    assert {Path(name).stem for name in FILES} == named - {"maud_extraction"}
    assert METRICS.keys() == named - {"maud_extraction"}
    assert named <= tasks.keys()
    assert len(PROGRAMS) == len(FILES)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_file_of_the_page_is_scored(folder, tmp_path, monkeypatch, capsys, name):
    file = tmp_path / name
    file.write_text(FILES[name], encoding="utf-8")
    monkeypatch.chdir(folder)
    data_set = file.stem
    words = (data_set, str(file), "--data", "sample", "--partial")
    with pytest.warns(project.SampleWarning):
        assert METRICS[data_set] in shown_metrics(capsys, *words)


@pytest.mark.parametrize("program", PROGRAMS, ids=list(FILES))
def test_a_program_of_the_page_writes_a_file_for_the_whole_test_part(
    folder, tmp_path, monkeypatch, capsys, program
):
    (tmp_path / "results").symlink_to(folder / "results")
    monkeypatch.chdir(tmp_path)
    exec(program, {})
    (file,) = [path for path in tmp_path.iterdir() if path.name != "results"]
    assert METRICS[file.stem] in shown_metrics(capsys, file.stem, file.name)
    shown = tmp_path / "shown" / file.name
    shown.parent.mkdir()
    shown.write_text(FILES[file.name], encoding="utf-8")
    assert parts_of(shown) <= parts_of(file)


def test_a_score_of_all_examples_has_the_group_all(folder, monkeypatch):
    """Also in a task with views, whose groups start with how the model was trained."""
    monkeypatch.chdir(folder)
    examples = pd.read_parquet("results/data/lawngnli_nli/examples.parquet")
    rows = []
    for row in examples[examples["split"] == "test"].itertuples():
        choices = 3 if row.head_id == "nli" else 2
        share = 1 / choices
        rows.append({"example_id": row.example_id, "probabilities": [share] * choices})
    from lextables import score

    groups = set(score("lawngnli_nli", rows)["group"])
    assert {"all", "negated", "head: nli"} <= groups
