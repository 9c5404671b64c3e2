"""The plan: which rows have runs, which have a reason, and which runs each table needs."""

from pathlib import Path

import pytest
import yaml

from lextables.acord.plan import SHOWN, Acord, plan, systems
from lextables.acord.tables import TABLES
from lextables.config import load as load_config
from lextables.models.resolve import load_models
from lextables.papers import load
from lextables.tables.published import load as load_published

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "resources/papers/acord.yaml", Acord)
MODELS = load_models(ROOT / "resources/models.yaml")
PRINTED = load_published(ROOT / "resources/published/acord.csv")


def arguments(gpu=False, **values):
    return load_config({"papers": "acord"} | values, ["acord"], ROOT), PAPER, MODELS, ROOT, gpu


def laid_out(gpu=False, **values):
    return plan(*arguments(gpu, **values))


def rows(**values):
    return {s.row: s for s in systems(*arguments(**values)) if not s.tuned and not s.pairwise}


def test_every_table_is_registered_printed_and_built():
    assert set(PAPER.tables) == set(TABLES) == {cell.table for cell in PRINTED}
    assert set(SHOWN) <= set(TABLES)


def test_every_printed_system_is_planned():
    planned = rows()
    for cell in PRINTED:
        if cell.table in ("table_d3", "table3"):
            assert planned[cell.row].runs or planned[cell.row].reason


def test_the_sample_runs_what_is_installed_and_says_so_of_the_rest():
    found = laid_out()
    assert {row for row, system in rows().items() if system.runs} == {
        "BM25 / None",
        "BM25, one index over the corpus / None",
        "Bi-Encoder-MiniLM / None",
    }
    assert rows()["BM25 / Cross-Encoder-MiniLM"].reason == "sample data"
    assert "language-model rerankers" in rows()["BM25 / GPT4o"].reason
    assert {run.condition for run in found.specs if run.experiment == "finetune"} == {"sample-lr1e-04"}


def test_models_paper_plans_all_that_has_weights():
    found = laid_out(data="release", models="paper", grid="paper")
    assert rows(data="release", models="paper")["Bi-Encoder-MiniLM / Cross-Encoder-MiniLM"].runs
    trained = [run for run in found.specs if run.experiment == "finetune"]
    assert len(trained) == 2 * 5 * 3  # two models, five learning rates, three seeds
    updates = {tuple(found.specs[run].settings["updates"]) for run in trained}
    assert updates == {(100, 200, 400, 600, 800, 1000, 1500, 2000, 2500, 3000)}


@pytest.mark.parametrize(
    ("gpu", "values", "grid"),
    [
        (True, {"data": "release"}, "paper"),
        (False, {"data": "release"}, "small"),
        (True, {}, "sample"),
        (False, {"grid": "paper"}, "paper"),
    ],
)
def test_auto_grid(gpu, values, grid):
    conditions = {run.condition for run in laid_out(gpu, **values).specs if run.experiment == "finetune"}
    assert {condition.split("-")[0] for condition in conditions} == {grid}


RERANKED = "BM25 / Cross-Encoder-MiniLM"


def tuned(tmp_path, **values):
    """Fine-tuned systems over BM25 where a mirror holds the paper's cross-encoder."""
    folder = tmp_path / "models/ms-marco-minilm-l6-v2"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    given = {"data": "release", "models": "available", "mirror": str(tmp_path)} | values
    return {s.row: s for s in systems(*arguments(**given)) if s.tuned and s.row.startswith(RERANKED)}


def test_the_papers_grid_and_nothing_else_fills_the_printed_row(tmp_path):
    (system,) = tuned(tmp_path, grid="paper").values()
    assert (system.row, system.own, len(system.runs["short"]), system.averages) == (RERANKED, False, 3, 3)


@pytest.mark.parametrize(
    ("values", "reason", "name"),
    [
        (
            {"grid": "auto"},  # no GPU
            "the paper's settings want grid=paper and three seeds",
            f"{RERANKED}, small budget: 100 updates of 64 pairs of 128 tokens, bfloat16, one seed",
        ),
        (
            {"grid": "sample", "seeds": [0, 1, 2]},
            "the paper's settings want grid=paper and three seeds",
            f"{RERANKED}, sample budget: 4 updates of 8 pairs of 32 tokens, two seeds",
        ),
        ({"grid": "paper", "seeds": [4]}, "the paper's settings want three seeds", f"{RERANKED}, one seed"),
    ],
)
def test_other_settings_are_a_row_of_our_own_that_names_them(tmp_path, values, reason, name):
    found = tuned(tmp_path, **values)
    assert list(found) == [RERANKED, name]
    assert (found[RERANKED].runs, found[RERANKED].reason, found[RERANKED].own) == ({}, reason, False)
    assert found[name].own and found[name].runs and not found[name].reason
    assert name not in {cell.row for cell in PRINTED}


def test_the_floor_is_a_flag_of_the_registry():
    assert [system.row for system in rows().values() if system.floor] == [
        "BM25, one index over the corpus / None"
    ]


def test_needs_are_runs_of_the_plan():
    found = laid_out(data="release", models="paper")
    for spec in found.specs.values():
        assert set(spec.needs) <= set(found.specs)
    for system in systems(*arguments(data="release", models="paper")):
        assert all(run in found.specs for runs in system.runs.values() for run in runs)
        assert bool(system.runs) != bool(system.reason)


def test_settings_are_plain_values():
    for spec in laid_out(data="release", models="paper").specs.values():
        assert yaml.safe_load(yaml.safe_dump(spec.settings)) == spec.settings


def test_a_users_models_become_rows_without_code(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    extra = [
        {"name": "My Encoder", "kind": "bi-encoder", "model": str(tmp_path)},
        {"name": "My Reranker", "kind": "cross-encoder", "model": str(tmp_path)},
    ]
    planned = rows(extra_models=extra)
    assert {row for row, system in planned.items() if row.startswith("My ") or "My " in row} == {
        "My Encoder / None",
        "My Encoder / My Reranker",
        "BM25 / My Reranker",
        "Bi-Encoder-MiniLM / My Reranker",
    }
    assert planned["My Encoder / My Reranker"].runs
    assert planned["BM25 / My Reranker"].own


def test_a_table_needs_only_its_own_runs():
    found = laid_out()
    assert found.folders("table_c2") == []
    assert not any("finetuned" in folder or "/medium/" in folder for folder in found.folders("table_d3"))
    assert any("/medium/" in folder for folder in found.folders("table_e2"))
    assert any("finetuned" in folder for folder in found.folders("figure2"))
