"""The registry of papers: one form for all, and what a file says that cannot be."""

import re

import pytest
import yaml

from lextables.models.resolve import Model
from lextables.papers import modules, packages, planning
from lextables.papers import registry as papers
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.tasks.plan import Context

PANEL = {"row": "BERT", "model": "bert"}
GRID = {"learning_rates": [1e-4], "updates": [2], "batch_size": 2, "max_length": 8}
PAPER = {
    "title": "A paper",
    "citation": "Somebody, 2020.",
    "data": {"some": {"files": {"all": "some/all.jsonl"}}},
    "tasks": {
        "some": {
            "task": "classification",
            "metrics": ["accuracy"],
            "models": {"bert": PANEL, "ours": {"row": "Ours", "model": "bert", "own": True}},
            "grids": {name: {"multi": GRID} for name in ("paper", "small", "sample")},
        }
    },
    "tables": {
        "table1": {"title": "Data", "where": "Section 1"},
        "table2": {"title": "Models", "where": "Section 2", "of": "some", "rows": [{}]},
        "table3": {"title": "Ours", "where": "Section 3", "of": "some", "rows": [{"own": True}]},
    },
}


def written(folder, **changes):
    path = folder / "somepaper.yaml"
    path.write_text(yaml.safe_dump(PAPER | changes), encoding="utf-8")
    return path


def context(folder, **values):
    given = {"data": "release", "models": "available", "papers": "somepaper", "grid": "paper"} | values
    (folder / "mirror/models/bert").mkdir(parents=True, exist_ok=True)
    (folder / "mirror/models/bert/config.json").write_text("{}")
    config = load_config(given | {"mirror": str(folder / "mirror")}, ["somepaper"], folder)
    model = Model(kind="encoder", licence="MIT", use="tests", hub="org/bert", parameters=7)
    return Context(config, {"bert": model}, folder, gpu=False)


def test_a_paper_without_a_registry_of_its_own_is_planned_whole(tmp_path):
    plan = planning.plan(packages.load(written(tmp_path)), context(tmp_path))
    assert plan.rows["table1"] == []
    assert [row["row"] for row in plan.rows["table2"]] == ["BERT", "Ours"]
    assert [row["row"] for row in plan.rows["table3"]] == ["Ours"]
    (row, _) = plan.rows["table2"]
    assert row["parameters"] == 7
    assert [folder.split("/")[2] for folder in row["runs"]["100"]] == ["read"] * 3
    read = next(run for run in plan.specs if run.experiment == "read")
    training = plan.specs[read].weights_of
    assert (training.experiment, training.seed) == ("train", read.seed)
    assert plan.specs[read].settings["weights_of"] == training.folder
    assert plan.specs[training].choice is None


def test_other_settings_leave_the_printed_row_empty(tmp_path):
    plan = planning.plan(packages.load(written(tmp_path)), context(tmp_path, grid="small"))
    first, second, _ = plan.rows["table2"]
    assert (first["row"], first["runs"]) == ("BERT", {})
    assert first["reason"] == "the paper's settings want grid=paper"
    assert second["row"].startswith("BERT, small budget: 2 updates")
    assert second["own"] and second["runs"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"tables": {"t": {"title": "T", "where": "S", "of": "none", "rows": [{}]}}},
            "somepaper.yaml: table t shows rows of 'none', which is no task of the paper",
        ),
        (
            {"data": {"some": {"files": {"all": "some/all.jsonl"}, "given": ["labels"]}}},
            "somepaper.yaml: the data set some is given 'labels', which is no key of the paper",
        ),
        ({"tables": {}}, "somepaper.yaml: tables = {} is not allowed"),
        ({"tasks": {"some": {"task": "divination"}}}, "somepaper.yaml: tasks.some = {'task': 'divination'}"),
        ({"colour": "red"}, "somepaper.yaml: colour is not a known key; mend it there"),
    ],
)
def test_what_a_file_cannot_say_is_one_sentence(tmp_path, changes, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        packages.load(written(tmp_path, **changes))


def test_a_package_that_lacks_a_module_says_which():
    with pytest.raises(BadInput, match=r"lextables/papers/somepaper: the package has no raw; write raw\.py"):
        modules.module("somepaper", "raw")
    assert issubclass(packages.model_of("somepaper"), papers.Paper)


def test_a_file_that_stands_in_is_taken_where_a_mirror_has_it_alone(tmp_path):
    entry = papers.DataSet(
        files={"spans": ("a/train.json", "a/test.json"), "zip": "a/all.zip"},
        instead={"spans": "b/spans.json"},
    )
    theirs = {"spans": ["a/train.json", "a/test.json"], "zip": ["a/all.zip"]}
    assert entry.named([tmp_path]) == theirs
    (tmp_path / "b").mkdir()
    (tmp_path / "b/spans.json").touch()
    assert entry.named([tmp_path]) == theirs | {"spans": ["b/spans.json"]}
    (tmp_path / "a").mkdir()
    for name in theirs["spans"]:
        (tmp_path / name).touch()
    assert entry.named([tmp_path]) == theirs
