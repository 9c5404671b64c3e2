"""The plan: which rows have runs, which have a reason, and which runs each table needs."""

from pathlib import Path

import pytest

from lextables.config import load as load_config
from lextables.cuad.plan import SHOWN, Cuad, plan
from lextables.cuad.tables import TABLES
from lextables.models.resolve import load_models
from lextables.papers import load
from lextables.tables.published import load as load_published

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "resources/papers/cuad.yaml", Cuad)
MODELS = load_models(ROOT / "resources/models.yaml")
PRINTED = load_published(ROOT / "resources/published/cuad.csv")


def config(**values):
    return load_config({"papers": "cuad"} | values, ["cuad"], ROOT)


def laid_out(gpu=False, **values):
    return plan(config(**values), PAPER, MODELS, ROOT, gpu)


def rows(table="table2", **values):
    return {row["row"]: row for row in laid_out(**values).rows[table]}


def test_every_table_is_registered_printed_and_built():
    assert set(PAPER.tables) == set(TABLES) == {cell.table for cell in PRINTED}
    assert set(SHOWN) <= set(TABLES)


def test_every_printed_model_is_planned():
    planned = rows()
    for cell in PRINTED:
        if cell.table == "table2":
            assert planned[cell.row]["runs"] or planned[cell.row]["reason"]


def test_the_sample_trains_what_is_installed_and_says_so_of_the_rest():
    found = rows()
    assert {row for row, values in found.items() if values["runs"]} == {
        "MiniLM encoder, span head",
        "MiniLM encoder + contracts pretraining, span head",
    }
    assert found["RoBERTa-large"]["reason"] == "sample data"


def test_models_paper_takes_the_released_weights_and_trains_the_rest():
    found = laid_out(data="release", models="paper", grid="paper")
    assert {run.model for run in found.specs if run.experiment == "released"} == {
        "roberta-base",
        "roberta-large",
        "deberta-xlarge",
    }
    assert len([run for run in found.specs if (run.experiment, run.model) == ("search", "bert-base")]) == 6
    reason = {row["row"]: row["reason"] for row in found.rows["table2"]}[
        "RoBERTa-base + Contracts Pretraining"
    ]
    assert "edgar_quarters names no quarter" in reason


def test_released_weights_can_be_left_aside_and_pretraining_wants_quarters():
    found = laid_out(
        data="release",
        models="paper",
        grid="paper",
        released_checkpoints=False,
        edgar_quarters=["2020-QTR1"],
    )
    assert not [run for run in found.specs if run.experiment == "released"]
    assert any((run.experiment, run.model) == ("pretrain", "roberta-base-contracts") for run in found.specs)


def with_models(folder, *names):
    """A mirror that holds weights under these names."""
    for name in names:
        (folder / "models" / name).mkdir(parents=True)
        (folder / "models" / name / "config.json").write_text("{}")
    return {"data": "release", "models": "available", "mirror": str(folder)}


@pytest.mark.parametrize("grid", ["auto", "small", "sample"])
def test_a_small_budget_never_fills_a_printed_row(tmp_path, grid):
    """`auto` without a GPU is the small grid, whose zeros would match the printed ones."""
    values = with_models(tmp_path, "bert-base-uncased", "roberta-base") | {"grid": grid}
    for table in SHOWN:
        names = {cell.row.rpartition(" / ")[2] for cell in PRINTED if cell.table == table}
        for name, row in rows(table, **values).items():
            if name in names or not row["own"]:
                assert not row["runs"] and row["reason"], (table, name)
    found = rows(**values)
    assert found["BERT-base"]["reason"] == "the paper's settings want grid=paper"
    assert {name for name, row in found.items() if row["runs"] and name.startswith("BERT-base")} == {
        "BERT-base, sample budget: 3 updates of 8 windows of 64 tokens, 3 windows a question"
        if grid == "sample"
        else "BERT-base, small budget: 200 updates of 16 windows of 256 tokens, 4 windows a question, "
        "bfloat16"
    }


def test_the_papers_grid_fills_the_printed_row_with_all_seeds(tmp_path):
    row = rows(**with_models(tmp_path, "bert-base-uncased"), grid="paper")["BERT-base"]
    assert (len(row["runs"]["100"]), row["trained"], row["own"], row["averages"]) == (3, True, False, 1)


def test_the_authors_weights_read_in_short_windows_are_no_printed_row(tmp_path):
    (tmp_path / "cuad_checkpoints").mkdir()
    (tmp_path / "cuad_checkpoints/roberta-base.zip").write_text("")
    values = {"data": "release", "models": "available", "mirror": str(tmp_path)}
    whole = rows(**values, grid="paper")["RoBERTa-base"]
    assert whole["runs"] and not whole["trained"]
    found = rows(**values, grid="small")
    assert found["RoBERTa-base"]["reason"] == "the paper's settings want grid=paper"
    name = "RoBERTa-base, small budget: windows of 256 tokens, 4 windows a question, bfloat16"
    assert found[name]["runs"] == {"100": ["runs/cuad/released/roberta-base/as-released/seed0"]}


def test_pretraining_on_contracts_of_ones_own_is_no_printed_row(tmp_path):
    values = with_models(tmp_path, "roberta-base") | {"edgar_quarters": ["2020-QTR1"], "grid": "paper"}
    found, printed = rows(**values), "RoBERTa-base + Contracts Pretraining"
    assert "the contracts that its authors pretrained on" in found[printed]["reason"]
    assert found[f"{printed}, on contracts of 2020-QTR1"]["runs"]


def test_as_many_updates_with_fewer_contracts():
    """Section 4.2: with 30 % of the contracts the epochs are 3 and 12 (the paper rounds)."""
    specs = laid_out(data="release", models="paper", grid="paper", released_checkpoints=False).specs
    epochs = {
        spec.settings["percent"]: {point["epochs"] for point in spec.settings["points"]}
        for run, spec in specs.items()
        if (run.experiment, run.model) == ("finetune", "roberta-base")
    }
    assert epochs == {100: {1, 4}, 30: {3, 13}, 10: {10, 40}, 3: {33, 133}}


def test_only_figure6_shows_models_trained_on_a_part():
    values = {"data": "release", "models": "paper", "grid": "paper", "released_checkpoints": False}
    assert set(rows("figure6", **values)["RoBERTa-base"]["runs"]) == {"3", "10", "30", "100"}
    assert set(rows("table2", **values)["RoBERTa-base"]["runs"]) == {"100"}


def test_a_users_models_become_rows(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    mine = {"name": "My Model", "kind": "encoder", "model": str(tmp_path)}
    ready = {"name": "Ready", "kind": "question-answering", "model": str(tmp_path)}
    found = laid_out(extra_models=[mine, ready], data="release", grid="paper")
    assert {run.experiment for run in found.specs if run.model == "own-my-model"} == {"search", "finetune"}
    assert {run.experiment for run in found.specs if run.model == "own-ready"} == {"released"}
    assert [row["own"] for row in found.rows["table2"] if row["row"] in ("My Model", "Ready")] == [True, True]


def test_a_batch_is_that_of_the_released_script_in_parts_that_fit_one_gpu():
    # run.sh: 40 windows for each of two GPUs; 40 more go through at once, or fewer of a large model.
    found = laid_out(data="release", models="paper", grid="paper", released_checkpoints=False)
    trained = {run.model: spec.settings for run, spec in found.specs.items() if run.experiment == "finetune"}
    assert {settings["batch_size"] for settings in trained.values()} == {80}
    assert {trained[name]["accumulation"] for name in ("bert-base", "roberta-base", "minilm")} == {2}
    assert trained["deberta-xlarge"]["accumulation"] == 16
    for grid in ("paper", "small", "sample"):
        parts = [
            PAPER.spans.grids[grid].accumulation * panel.accumulation for panel in PAPER.spans.models.values()
        ]
        assert all(PAPER.spans.grids[grid].batch_size % part == 0 for part in parts)
    assert {settings["n_best"] for settings in trained.values()} == {20}
