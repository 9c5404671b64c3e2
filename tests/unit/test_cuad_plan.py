"""The plan: which rows have runs, which have a reason, and which runs each table
needs.
"""

from itertools import product

from helpers.registered import context, with_models
from lextables import ROOT
from lextables.pipeline.run import Run
from lextables.planning import paper_plan
from lextables.registry import packages

PAPER = packages.load(ROOT / "resources/papers/cuad.yaml")
# Every published model, trained with the settings of the paper.
WHOLE = {
    "data": "release",
    "models": "paper",
    "grid": "paper",
    "released_checkpoints": False,
}


def laid_out(gpu=False, **values):
    return paper_plan.plan(PAPER, context("cuad", gpu, **values))


def rows(table="table2", **values):
    return {row["row"]: row for row in laid_out(**values).rows[table]}


def test_the_sample_runs_installed_models_and_other_rows_have_a_reason():
    found = rows()
    assert {row for row, values in found.items() if values["runs"]} == {
        "MiniLM encoder, span head",
        "MiniLM encoder + contracts pretraining, span head",
        "TF-IDF, linear models and trees",
        "TF-IDF, linear models and trees, parties by their names",
        "Sentence embeddings, linear models and trees",
        "TF-IDF, sentence embeddings, linear models and trees",
        "SmolLM2-135M-Instruct, asked",
        "The whole contract as the parties, no other answer",
    }
    assert found["RoBERTa-large"]["reason"] == "sample data"


def test_released_weights_with_short_windows_are_an_additional_row(tmp_path):
    (tmp_path / "cuad_checkpoints").mkdir()
    (tmp_path / "cuad_checkpoints/roberta-base.zip").write_text("")
    values = {"data": "release", "models": "available", "mirror": str(tmp_path)}
    whole = rows(**values, grid="paper")["RoBERTa-base"]
    assert whole["runs"] and not whole["trained"]
    found = rows(**values, grid="small")
    assert found["RoBERTa-base"]["reason"] == "needs grid=paper, as in the paper"
    name = "RoBERTa-base, small budget: windows of 256 tokens, 4 windows a question, bfloat16"
    assert found[name]["runs"] == {
        "100": ["runs/cuad/read/roberta-base/as-released/seed0"]
    }


def test_pretraining_on_other_contracts_is_an_additional_row(tmp_path):
    values = with_models(tmp_path, "roberta-base") | {
        "edgar_quarters": ["2020-QTR1"],
        "grid": "paper",
    }
    found, printed = rows(**values), "RoBERTa-base + Contracts Pretraining"
    assert "the contracts of its authors' pretraining" in found[printed]["reason"]
    assert not found[printed]["runs"]
    # The reason is the same without the weights, which would not help.
    without = rows(data="release", models="available", grid="paper")[printed]
    assert without["reason"] == found[printed]["reason"]
    assert found[f"{printed}, on contracts of 2020-QTR1"]["runs"]


def test_linear_baselines_need_only_their_encoder_and_run_on_every_share(
    monkeypatch, tmp_path
):
    found = laid_out(**WHOLE)
    baselines = {row["row"]: row for row in found.rows["table2"] if row["baseline"]}
    assert [list(row["runs"]) for row in baselines.values()] == [["100"]] * 5
    settings = {}
    for run, spec in found.specs.items():
        if run.experiment == "train" and run.model.startswith("linear"):
            settings[run.model] = spec.settings
    assert {name: of_model["features"] for name, of_model in settings.items()} == {
        "linear": "words",
        "linear-exact": "words",
        "linear-vectors": "vectors",
        "linear-both": "both",
    }
    assert "weights" not in settings["linear"]
    assert settings["linear"]["relaxed"] == "Parties"
    assert settings["linear-exact"]["relaxed"] is None
    assert settings["linear-both"]["model"] == "all-minilm-l6-v2"
    # Lenient baselines mark whole sentences as parties; published values are not
    # compared with them.
    marked = [name for name, row in baselines.items() if not row["lenient"]]
    assert marked == ["TF-IDF, linear models and trees, parties by their names"]
    curves = {row["row"]: row["runs"] for row in found.rows["figure6"]}
    name = "TF-IDF, linear models and trees"
    assert curves[name].keys() == {"3", "10", "30", "100"}
    monkeypatch.setattr("lextables.models.weights.package_folder", lambda package: None)
    gone = rows(data="release", models="available", mirror=str(tmp_path))
    assert gone[name]["runs"]
    reason = "sentence-transformers/all-MiniLM-L6-v2 is not available here"
    for name in (
        "Sentence embeddings, linear models and trees",
        "TF-IDF, sentence embeddings, linear models and trees",
    ):
        assert (gone[name]["runs"], gone[name]["reason"]) == ({}, reason)


def test_the_batch_size_and_the_n_best_spans_are_those_of_the_released_script():
    # run.sh: 40 windows on each of two GPUs.
    batch_sizes, n_best = set(), set()
    for run, spec in laid_out(**WHOLE).specs.items():
        if spec.settings.get("kind") != "linear":
            if run.experiment == "train":
                batch_sizes.add(spec.settings["batch_size"])
            elif run.experiment == "read":
                n_best.add(spec.settings["n_best"])
    assert (batch_sizes, n_best) == ({80}, {20})


def of(specs, experiment, model="roberta-base", condition=None):
    return {
        run: spec
        for run, spec in specs.items()
        if (run.experiment, run.model) == (experiment, model)
        and condition in (None, run.condition)
    }


def test_one_trial_is_selected_and_is_trained_and_read_with_each_seed():
    specs = laid_out(**WHOLE, seeds=[4, 5, 6]).specs
    name = "paper-p100"
    searched = [
        run for run in of(specs, "search") if run.condition.startswith(f"{name}-")
    ]
    trials = []
    for run, (rate, count) in zip(
        searched, product((3e-5, 1e-4, 3e-4), (1, 4)), strict=True
    ):
        trials.append({"learning_rate": rate, "epochs": count})
        assert (run.condition, run.seed) == (f"{name}-lr{rate:.0e}-e{count}", 0)
        assert trials[-1].items() <= specs[run].settings.items()
    # The choice needs the searches in the order of its trials, and scores them as in
    # the paper.
    ((choice, chosen),) = of(specs, "choice", condition=name).items()
    assert chosen.needs == tuple(searched)
    assert chosen.settings == {
        "trials": trials,
        "held_out": 0.1,
        "relaxed": "Parties",
        "low_thresholds": [0.001, 0.0],
    }
    trained = of(specs, "train", condition=name)
    assert [run.seed for run in trained] == [4, 5, 6]
    for spec in trained.values():
        assert spec.choice == choice and not spec.needs
        assert not {"learning_rate", "epochs"} & spec.settings.keys()
    read = of(specs, "read", condition=name)
    assert [(spec.weights_of, run.seed) for run, spec in read.items()] == [
        (r, r.seed) for r in trained
    ]
    for spec in read.values():
        assert spec.settings["weights"].endswith(f"/{spec.weights_of.folder}/weights")
        assert spec.settings["tried"] == 6
        assert not {"percent", "batch_size", "max_updates"} & spec.settings.keys()


def test_a_single_trial_is_trained_without_a_search():
    specs = laid_out().specs
    assert not of(specs, "search", "minilm") and not of(specs, "choice", "minilm")
    ((_, trained),) = of(specs, "train", "minilm").items()
    assert trained.choice is None
    assert {"learning_rate": 3e-4, "epochs": 1}.items() <= trained.settings.items()
    ((_, read),) = of(specs, "read", "minilm").items()
    assert read.settings["tried"] == 1


def test_released_weights_are_unpacked_and_read(tmp_path):
    (tmp_path / "cuad_checkpoints").mkdir()
    (tmp_path / "cuad_checkpoints/roberta-base.zip").write_text("")
    values = {
        "data": "release",
        "models": "available",
        "grid": "paper",
        "mirror": str(tmp_path),
    }
    specs = laid_out(**values).specs
    release = Run("cuad", "release", "roberta-base", "as-released")
    assert specs[release].settings == {"file": "cuad_checkpoints/roberta-base.zip"}
    read = specs[Run("cuad", "read", "roberta-base", "as-released")]
    assert read.weights_of == release
    assert read.settings["weights"].endswith(f"/{release.folder}/weights")
    assert "tried" not in read.settings


def test_shares_of_the_contracts_are_trained_whatever_fills_the_point_of_all(tmp_path):
    """Figure 6 states 27.6 for 10 % of the contracts, which no released weights
    have.
    """
    values = with_models(tmp_path, "roberta-base") | {"grid": "paper"}
    (tmp_path / "cuad_checkpoints").mkdir()
    (tmp_path / "cuad_checkpoints/roberta-base.zip").write_text("")
    found = laid_out(**values)
    (shown,) = [row for row in found.rows["figure6"] if row["row"] == "RoBERTa-base"]
    conditions = {}
    for share, folders in shown["runs"].items():
        conditions[share] = {folder.split("/")[4] for folder in folders}
    assert conditions == {
        "100": {"as-released"},
        "3": {"paper-p3"},
        "10": {"paper-p10"},
        "30": {"paper-p30"},
    }
    assert not shown["trained"]
    percents = set()
    for run, spec in found.specs.items():
        if run.model == "roberta-base" and run.experiment in ("search", "train"):
            percents.add(spec.settings["percent"])
    assert percents == {3, 10, 30}


def test_without_their_weights_only_the_shares_are_not_run(tmp_path):
    (tmp_path / "cuad_checkpoints").mkdir()
    (tmp_path / "cuad_checkpoints/roberta-base.zip").write_text("")
    values = {"data": "release", "models": "available", "mirror": str(tmp_path)}
    found = rows(**values, grid="paper")["RoBERTa-base"]
    assert found["runs"] == {"100": ["runs/cuad/read/roberta-base/as-released/seed0"]}
    assert found["reason"] == "FacebookAI/roberta-base is not available here"


def test_searches_and_trainings_start_from_the_pretrained_weights():
    found = laid_out(**WHOLE, edgar_quarters=["2020-QTR1"])
    name = "roberta-base-contracts"
    ((pretrained, spec),) = of(found.specs, "pretrain", name).items()
    assert (spec.settings["updates"], spec.settings["max_length"]) == (30000, 512)
    for experiment in ("search", "train"):
        started = of(found.specs, experiment, name)
        assert started
        for entry in started.values():
            assert entry.weights_of == pretrained
            assert entry.settings["weights"].endswith(f"/{pretrained.folder}/weights")
        plain = of(found.specs, experiment).values()
        assert {entry.weights_of for entry in plain} == {None}


def test_smaller_shares_have_more_epochs_as_in_the_paper():
    epochs = {}
    for spec in of(laid_out(**WHOLE).specs, "search").values():
        epochs.setdefault(spec.settings["percent"], set()).add(spec.settings["epochs"])
    # Section 4.2 states 30 % only.
    assert epochs == {100: {1, 4}, 30: {3, 12}, 10: {10, 40}, 3: {33, 132}}
