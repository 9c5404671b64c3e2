"""The run as an RO-Crate, read back by the library that it is for."""

import json
from pathlib import Path

import pytest
import yaml
from rocrate.rocrate import ROCrate

from lextables.publish import crate

CONFIG = {
    "data": "release",
    "mirror": ["/home/ada/mirror"],
    "papers": ["quill"],
    "edgar_contact": "Ada ada@example.org",
    "llm": "http://10.0.0.7:8000/v1",
    "contract": "/home/ada/lease.docx",
    "seeds": [0, 1],
    "extra_models": [{"name": "Mine", "kind": "encoder", "model": "/home/ada/mine"}],
    "extra_predictions": [{"name": "Theirs", "paper": "quill", "file": ["/home/ada/run.txt"]}],
}
LIBRARIES = {"python": "3.11.7", "numpy": "2.4.6"}
OURS = {"version": "0.1.0", "commit": "1a2b3c4d5e6f", "modified": False}
RECORDS = {
    "runs/quill/retrieve/bm25/short/seed0": {
        "settings": {"k1": 0.9, "index": "query", "queries": None, "top": 5}
    },
    "runs/quill/read/minilm/short/seed1": {"settings": {"readings": [{"view": "short"}], "bf16": True}},
    "runs/quill/given/own-theirs/short/seed0": {
        "settings": {"form": "trec"},
        "given": {"file": "run.txt", "rows": 3, "passed_over": 0},
    },
}


@pytest.fixture
def results(tmp_path):
    """The files of a finished run."""
    root = tmp_path / "results"
    (root / "tables/quill").mkdir(parents=True)
    (root / "tables/quill/table1.csv").write_text("row,column,ours\n")
    (root / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    shared = {"seconds": 1.5, "device": "a processor", "libraries": LIBRARIES, "lextables": OURS}
    for place, record in RECORDS.items():
        (root / place).mkdir(parents=True)
        (root / place / "run.json").write_text(json.dumps(record | shared))
    (tmp_path / "Snakefile").write_text("rule all:\n")
    paper = {"title": "Quill: a data set", "citation": "Quill, 2020."}
    (tmp_path / "quill.yaml").write_text(yaml.safe_dump(paper))
    return root


def made(root, name="crate"):
    folder = root.parent / name
    files = crate.RunFiles(
        root.parent / "Snakefile",
        root / "config.yaml",
        [root / "tables/quill/table1.csv"],
        [root / place / "run.json" for place in RECORDS],
        [root.parent / "quill.yaml"],
        root,
    )
    crate.write(files, folder)
    return folder


def test_the_library_reads_workflow_input_and_output(results):
    found = ROCrate(made(results))
    assert found.mainEntity.id == "Snakefile"
    assert "ComputationalWorkflow" in found.mainEntity.type
    assert found.mainEntity["programmingLanguage"]["name"] == "Snakemake"
    whole = found.dereference("#workflow-run")
    assert whole.type == "CreateAction" and whole["instrument"] is found.mainEntity
    assert [one.id for one in whole["object"]] == ["config.yaml"]
    assert [one.id for one in whole["result"]] == ["tables/quill/table1.csv"]
    assert found.root_dataset["datePublished"] == crate.RELEASED
    profiles = {one.id for one in found.root_dataset["conformsTo"]}
    assert "https://w3id.org/ro/wfrun/workflow/0.5" in profiles


def test_each_run_is_an_action_with_its_settings_and_its_record(results):
    found = ROCrate(made(results))
    action = found.dereference("#runs/quill/retrieve/bm25/short/seed0")
    assert {one["name"]: one["value"] for one in action["object"]} == {
        "k1": 0.9,
        "index": "query",
        "queries": "null",
        "top": 5,
    }
    (record,) = action["result"]
    assert record.id == "runs/quill/retrieve/bm25/short/seed0/run.json"
    assert action["instrument"]["softwareVersion"] == "0.1.0 (commit 1a2b3c4d5e)"
    libraries = {one["name"]: one["softwareVersion"] for one in action["instrument"]["softwareRequirements"]}
    assert libraries == LIBRARIES
    assert len({id(one["instrument"]) for one in found.root_dataset["mentions"]}) == 2
    assert len(found.root_dataset["mentions"]) == 1 + len(RECORDS)


def test_what_a_user_gave_is_marked(results):
    action = ROCrate(made(results)).dereference("#runs/quill/given/own-theirs/short/seed0")
    assert action["description"] == "predictions that a user gave"


def test_every_file_that_it_names_is_in_it(results):
    folder = made(results)
    files = [entity.id for entity in ROCrate(folder).data_entities]
    assert len(files) == 3 + len(RECORDS)
    assert all((folder / file).is_file() for file in files)


def test_it_has_nothing_of_the_user_or_their_machine(results):
    folder = made(results)
    kept = yaml.safe_load((folder / "config.yaml").read_text())
    assert kept["data"] == "release" and kept["extra_models"] == [{"name": "Mine", "kind": "encoder"}]
    whole = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
    for private in ("/home/ada", "ada@", "10.0.0.7", str(Path(results).parent)):
        assert private not in whole


def test_the_same_run_gives_the_same_bytes(results):
    first, second = made(results), made(results, "again")
    for path in sorted(path for path in first.rglob("*") if path.is_file()):
        assert path.read_bytes() == (second / path.relative_to(first)).read_bytes()
