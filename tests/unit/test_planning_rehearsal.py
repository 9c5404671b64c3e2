"""The plan of a rehearsal: all published rows that can run, with few updates and the
papers' grids.
"""

import csv
from functools import cache
from pathlib import Path

import pytest

from helpers import planned_project
from lextables import ROOT
from lextables.models.resolve import REHEARSED
from lextables.models.settings import limited_updates
from lextables.pipeline import entries
from lextables.pipeline.errors import BadInput
from lextables.planning import rehearsal, rehearsal_server

PAPERS = sorted(path.stem for path in (ROOT / "resources/papers").glob("*.yaml"))
DEFAULTS = entries.mapping(ROOT / "config.yaml")
LLM = "http://127.0.0.1:9/v1"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The plan of a rehearsal of all papers; its tiny models are empty files."""
    folder = tmp_path_factory.mktemp("rehearsal")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rehearsal, "make_models", _mark_models)
        config = {"rehearsal": True, "papers": PAPERS, "llm": LLM}
        yield planned_project.load(patch, folder, **config)


def _mark_models(root, config, released):
    """Write the files by which a plan recognises weights."""
    tiny = Path(config.results, "tiny")
    for name in entries.mapping(root / "resources/models.yaml"):
        folder = tiny / "models" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    for pair in released:
        archive = tiny / pair.split("=")[0]
        archive.parent.mkdir(exist_ok=True)
        archive.write_bytes(b"")


@cache
def published_rows(paper):
    with (ROOT / f"resources/published/{paper}.csv").open(encoding="utf-8") as file:
        return {(line["table"], line["row"]) for line in csv.DictReader(file)}


def runs(project, **parts):
    """The runs with these parts."""
    found = []
    for run in project.specs:
        if all(getattr(run, name) == value for name, value in parts.items()):
            found.append(run)
    return found


@pytest.mark.parametrize(
    ("updates", "most", "expected"),
    [
        ([100, 200, 300, 400], 2, [1, 2]),
        ([100, 200, 300, 400], 20, [5, 10, 15, 20]),
        ([400], 2, [2]),
        ([0], 2, [0]),
        ([1, 3], 20, [1, 3]),
        ([3, 1], None, [3, 1]),
    ],
)
def test_numbers_of_updates_are_limited_and_stay_different(updates, most, expected):
    assert limited_updates(updates, most) == expected


def test_the_target_sets_the_configuration_and_names_all_papers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed = rehearsal.settings(ROOT, DEFAULTS, DEFAULTS)
    assert changed["rehearsal"] is True
    assert changed["papers"] == PAPERS
    assert changed["llm"] == rehearsal_server.address(
        tmp_path / "results/rehearsal/.cache/port.txt"
    )
    own = {**DEFAULTS, "papers": ["maud"], "llm": LLM}
    assert rehearsal.settings(ROOT, DEFAULTS, own) == {"rehearsal": True}
    paid = {**DEFAULTS, "models": "paper"}
    assert "llm" not in rehearsal.settings(ROOT, DEFAULTS, paid)


def test_a_rehearsal_on_the_papers_data_or_with_a_smaller_grid_is_refused(
    tmp_path, monkeypatch
):
    for config in ({"data": "release"}, {"grid": "small"}, {"grid": "sample"}):
        with pytest.raises(BadInput, match="rehearsal needs data=sample"):
            planned_project.load(monkeypatch, tmp_path, rehearsal=True, **config)


def test_no_run_has_other_weights_than_tiny_ones_and_every_record_says_so(project):
    for run, spec in project.specs.items():
        found = spec.settings.get("found")
        if found is not None:
            starts = (REHEARSED, "API", "the authors' release")
            assert found.startswith(starts), run
    assert project.results == "results/rehearsal"


def test_all_rows_are_published_and_no_grid_is_smaller_than_the_papers(project):
    searched = {}
    for paper in PAPERS:
        for rows in project.plans[paper].rows.values():
            assert not any(row["additional"] for row in rows)
    for run in runs(project, experiment="search"):
        searched.setdefault(run.data_set, set()).add(run.condition)
    # ACORD, F.2: five learning rates; CUAD, 4.1: three and two numbers of epochs.
    assert len(searched["acord"]) == 5
    assert {name for name in searched["cuad"] if "p100" in name} == {
        "paper-p100-lr3e-05-e1",
        "paper-p100-lr3e-05-e4",
        "paper-p100-lr1e-04-e1",
        "paper-p100-lr1e-04-e4",
        "paper-p100-lr3e-04-e1",
        "paper-p100-lr3e-04-e4",
    }
    assert len(searched["maud_extraction"]) == 9


def test_trainings_have_few_updates_and_otherwise_the_papers_settings(project):
    (training, *_) = runs(
        project, data_set="cuad", experiment="train", model="albert-base"
    )
    settings = project.specs[training].settings
    assert settings["max_updates"] == 2
    assert (settings["batch_size"], settings["max_length"]) == (4, 512)
    for run, spec in project.specs.items():
        updates = spec.settings.get("updates", 0)
        if run.experiment in ("search", "train") and run.data_set == "acord":
            assert updates in ([1, 2], 0)
        if run.experiment in ("train", "single-task") and "passes" in spec.settings:
            assert spec.settings["max_updates"] == 2
    seeds = runs(project, data_set="maud", experiment="single-task", model="bigbird")
    assert [run.seed for run in seeds] == [0, 1, 2]


def test_trainings_come_one_after_another_and_read_all_views(project):
    lawngnli = runs(project, data_set="lawngnli_nli", experiment="read")
    anli = runs(project, data_set="anli", experiment="train")
    assert lawngnli
    assert anli
    conditions = set()
    for run in lawngnli:
        for reading in project.specs[run].settings["readings"]:
            conditions.add(reading["condition"].split(" > ")[0])
    assert len(conditions) == 10  # nine views, and no training
    chains = {}
    for after in ("anli", "control", "docnli"):
        name = f"longformer-{after}"
        (run, *_) = runs(
            project, data_set="lawngnli_nli", experiment="train", model=name
        )
        chains[after] = [run.data_set]
        while project.specs[run].sources:
            (run,) = project.specs[run].sources
            chains[after].append(run.data_set)
    assert chains == {
        "anli": ["lawngnli_nli", "anli"],
        "control": ["lawngnli_nli", "control", "anli"],
        "docnli": ["lawngnli_nli", "docnli"],
    }


def test_the_authors_weights_and_the_models_behind_an_api_are_planned(project):
    assert runs(project, data_set="cuad", experiment="release")
    asked = runs(project, data_set="contracteval", experiment="ask")
    models = {run.model for run in asked}
    assert {"gpt-4.1", "claude-sonnet-4", "gemma-3-4b"} <= models
    for run in asked:
        assert project.specs[run].settings["tokens"] == rehearsal.LIMITS.output_tokens
    embeddings = runs(project, data_set="acord", experiment="retrieve")
    kinds = {project.specs[run].settings["kind"] for run in embeddings}
    assert kinds == {"bm25", "bi-encoder", "embedding-api"}


def test_nothing_is_left_out_because_there_is_no_gpu(project):
    assert not project.context.gpu
    first_stages = runs(project, data_set="lawngnli_retrieval", experiment="retrieve")
    filtered = {run.model for run in first_stages if run.condition == "text-filtered"}
    # All published first stages of Table 17.
    assert filtered == {
        "all-distilroberta-v1",
        "all-mpnet-base-v2",
        "bm25",
        "msmarco-distilroberta-base-v2",
        "nli-distilroberta-base-v2",
    }


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_row_of_a_table_of_rows_is_planned_or_has_a_reason(
    project, paper
):
    for table, rows in project.plans[paper].rows.items():
        for row in rows:
            assert row["runs"] or row["reason"], (table, row["row"])


def test_the_server_gives_the_same_vectors_and_texts_again():
    first = rehearsal_server._vectors(["a clause", "another"])
    assert first == rehearsal_server._vectors(["a clause", "another"])
    assert first["data"][0]["embedding"] != first["data"][1]["embedding"]
    texts = set()
    for number in range(20):
        body = {"messages": [{"role": "user", "content": f"Question {number}"}]}
        answer = rehearsal_server._written(body)
        texts.add(answer["choices"][0]["message"]["content"])
        words = len(f"Question {number}".split())
        assert answer["usage"]["prompt_tokens"] >= words
    assert rehearsal_server.NO_CLAUSE in texts
    assert len(texts) > 5
