"""The plan: which rows have runs, which have a reason, and which runs each table needs."""

from pathlib import Path

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
    assert {run.experiment for run in found.specs if run.model == "my-model"} == {"search", "finetune"}
    assert {run.experiment for run in found.specs if run.model == "ready"} == {"released"}
    assert [row["own"] for row in found.rows["table2"] if row["row"] in ("My Model", "Ready")] == [True, True]
