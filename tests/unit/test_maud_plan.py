"""MAUD's plan: rows with runs, rows with a reason for not running, and hyperparameter
searches.
"""

from helpers.registered import context, with_models
from lextables import ROOT
from lextables.planning import paper_plan
from lextables.registry import packages

PAPER = packages.load(ROOT / "resources/papers/maud.yaml")
# The linear baselines, which are not in the paper.
LINEAR = ("linear", "linear-length", "linear-vectors", "linear-both")
BASELINE = [
    "Words and a linear model",
    "Length of the text and a linear model",
    "Sentence embeddings and a linear model",
    "Words, sentence embeddings and a linear model",
]


def laid_out(**values):
    return paper_plan.plan(PAPER, context("maud", **values))


def runs(found, experiment, model=None, setting=""):
    """The runs of the questions about deal points; conditions start with the
    setting.
    """
    return [
        run
        for run in found.specs
        if (run.data_set, run.experiment) == ("maud", experiment)
        and model in (None, run.model)
        and run.condition.startswith(setting)
    ]


PAPER_RUN = {"data": "release", "models": "paper", "grid": "paper"}


def test_the_sample_trains_in_both_settings_and_other_rows_have_a_reason():
    found = laid_out()
    assert {run.model for run in found.specs} == {"minilm", *LINEAR}
    trained = [
        run for run in found.specs if run.data_set == "maud" and run.model not in LINEAR
    ]
    assert [(run.experiment, run.condition) for run in trained] == [
        ("single-task", "single-sample"),
        ("search", "multi-sample-lr3e-04"),
        ("choice", "multi-sample"),
        ("train", "multi-sample"),
        ("read", "multi-sample"),
    ]
    reasons = {
        row["row"]: row["reason"] for row in found.rows["table3"] if not row["runs"]
    }
    assert reasons["BigBird"] == "sample data"


def test_published_settings_need_no_search_but_additional_models_do():
    found = laid_out(**PAPER_RUN)
    assert not runs(found, "search", "roberta-base")
    assert len(runs(found, "single-task", "roberta-base")) == 5 * 3
    # ModernBERT is an additional model without published settings: two learning rates,
    # three seeds.
    assert len(runs(found, "search", "modernbert")) == 2 * 3
    searched = laid_out(**PAPER_RUN, hyperparameters="search")
    assert len(runs(searched, "search", "roberta-base", "single")) == 5 * 3 * 3
    for run in runs(searched, "train", "deberta-v3"):
        choice = searched.specs[searched.specs[run].choice]
        assert len(choice.needs) == 3 * 3
        rates = [
            searched.specs[needed].settings["learning_rate"] for needed in choice.needs
        ]
        assert choice.settings["learning_rates"] == rates and set(rates) == {
            1e-5,
            3e-5,
            1e-4,
        }
        assert choice.settings["published"] is None


def test_a_search_does_not_use_test_and_final_training_includes_dev():
    task = PAPER.tasks["maud"]
    assert (task.training, task.validation) == (("train",), ("dev",))
    assert (task.final, task.test) == (("train", "dev"), ("test",))


def test_settings_are_chosen_separately_for_each_share_of_the_examples():
    found = laid_out(**PAPER_RUN)
    for run in runs(found, "single-task", "roberta-base"):
        choice = found.specs[found.specs[run].choice].settings
        assert choice["percent"] == found.specs[run].settings["percent"]
        assert choice["published"] == "roberta-base"
    percents = {
        run.condition: found.specs[run].settings["percent"]
        for run in runs(found, "single-task")
    }
    assert percents == {"single-paper": 100} | {
        f"single-paper-p{n}": n for n in (5, 10, 25, 50)
    }


def test_a_separate_run_predicts_with_a_multi_task_model():
    found = laid_out(**PAPER_RUN)
    assert runs(found, "read") and not runs(found, "read", setting="single")
    for run in runs(found, "read", setting="multi"):
        training = found.specs[run].weights_of
        assert (training.model, training.condition, training.seed) == (
            run.model,
            run.condition,
            run.seed,
        )
        assert found.specs[training].settings["setting"] == "multi"
        assert found.specs[run].settings["weights_of"] == training.folder
    # An epoch is 3,600 updates.
    updates = {
        tuple(found.specs[run].settings["updates"])
        for run in runs(found, "search", "minilm", "multi")
    }
    assert updates == {(3600, 7200, 10800, 14400, 18000, 21600)}


def test_linear_models_are_baselines_in_every_table_of_models():
    found = laid_out()
    for table in ("table3", "table4", "table6", "table7", "table8"):
        rows = {row["row"]: row for row in found.rows[table] if row["baseline"]}
        assert list(rows) == BASELINE, table
        assert all(
            row["additional"] and len(row["runs"]["100"]) == 1 for row in rows.values()
        )
    for model in LINEAR:
        (training,), (reading,) = (
            runs(found, "train", model),
            runs(found, "read", model),
        )
        assert found.specs[reading].weights_of == training
        assert found.specs[reading].settings == found.specs[training].settings
    assert "weights" not in found.specs[runs(found, "train", "linear")[0]].settings


def test_vectors_require_their_encoder_and_words_do_not(tmp_path, monkeypatch):
    monkeypatch.setattr("lextables.models.weights.package_folder", lambda package: None)
    monkeypatch.setattr("lextables.models.weights.cached", lambda hub, revision: None)
    found = laid_out(**with_models(tmp_path, "roberta-base"))
    rows = {row["row"]: row for row in found.rows["table4"] if row["baseline"]}
    assert [bool(row["runs"]) for row in rows.values()] == [True, True, False, False]
    reason = "sentence-transformers/all-MiniLM-L6-v2 is not available here"
    assert [row["reason"] for row in rows.values()] == ["", "", reason, reason]


def test_row_names_mention_a_small_grid_and_a_hyperparameter_search(tmp_path):
    found = laid_out(
        **with_models(tmp_path, "roberta-base"), grid="sample", hyperparameters="search"
    )
    rows = {
        row["row"]: row["reason"]
        for row in found.rows["table3"]
        if row["row"].startswith("RoBERTa")
    }
    assert (
        rows["RoBERTa"]
        == "needs grid=paper and hyperparameters=published and three seeds, as in the paper"
    )
    assert list(rows) == [
        "RoBERTa",
        "RoBERTa, sample budget: 1 update of 4 examples, texts cut at 16 tokens, 8 heads, "
        "settings of our own search, one seed",
    ]
