"""LawngNLI's trainings have the settings of the paper and its released code."""

import pytest

from helpers import planned_project
from lextables import ROOT
from lextables.registry.packages import load

PAPER = load(ROOT / "resources/papers/lawngnli.yaml")
AFTER_DOCNLI = {
    "albert-docnli",
    "longformer-docnli",
    "bart-docnli",
    "bigbird-docnli",
    "legal-bert-docnli",
    "roberta-docnli",
    "custom-legalbert-docnli",
}


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    """{run: its settings} of the complete rebuild, with a file of DocNLI in the
    mirror.
    """
    mirror = tmp_path_factory.mktemp("mirror")
    (mirror / "docnli").mkdir()
    (mirror / "docnli/DocNLI_dataset.zip").touch()
    with pytest.MonkeyPatch.context() as patch:
        project = planned_project.load(
            patch,
            tmp_path_factory.mktemp("project"),
            papers=["lawngnli"],
            data="release",
            models="paper",
            grid="paper",
            device="cuda",
            mirror=str(mirror),
        )
    return {run: spec.settings for run, spec in project.specs.items()}


def trainings(specs, data_set):
    """{(model, view, seed): settings} of the trainings on a data set."""
    found = {}
    for run, settings in specs.items():
        if (run.data_set, run.experiment) == (data_set, "train") and settings.get(
            "grid"
        ):
            found[run.model, run.condition.removesuffix("-paper"), run.seed] = settings
    return found


# results.sh leaves the optimiser and the schedule of run_glue.py (Xiong et al. 2021).
RELEASED = {
    "weight_decay": 0.01,
    "decayed": "all",
    "betas": [0.9, 0.999],
    "epsilon": 1e-6,
    "clip": None,
    "schedule": "one_cycle",
    "warmup": 0.05,
}
# training.py of ANLI and of ConTRoL.
OF_ANLI = {
    "weight_decay": 0,
    "decayed": "weights",
    "betas": [0.9, 0.999],
    "epsilon": 1e-8,
    "clip": 1.0,
    "schedule": "linear",
    "warmup": 0.1,
}
OF_DOCNLI = {
    "weight_decay": 0.01,
    "decayed": "weights",
    "betas": [0.9, 0.999],
    "epsilon": 1e-6,
    "clip": None,
    "schedule": "constant",
    "warmup": 0,
}
# models.sh; the lengths are those of A.2.1.
LENGTHS = {"longformer": 4096, "bigbird": 4096, "bart": 1024}
BEFORE = {"longformer": 2048, "bigbird": 2048, "bart": 1024}


def start_of(model):
    return model.split("-")[0]


def test_lawngnli_is_trained_as_by_the_released_code(specs):
    found = trainings(specs, "lawngnli_nli")
    published = {
        name
        for name, panel in PAPER.tasks["lawngnli_nli"].models.items()
        if not panel.additional
    }
    assert len(published) == 28
    assert {model for model, _, _ in found} >= published
    for (model, view, seed), settings in found.items():
        if model not in published:
            continue
        assert settings["optimiser"] == RELEASED
        rates = settings["learning_rate"], settings["batch_size"]
        assert rates == (1e-5, 32)
        passes = 2 if model in AFTER_DOCNLI else 4
        assert settings["passes"] == (None if view == "none" else passes)
        assert settings["max_length"] == LENGTHS.get(start_of(model), 512)
        assert settings["where"] == "analysis" and seed in (0, 1, 2)
        assert "new_heads" not in settings


def test_the_warm_up_of_the_text_is_a_row_of_two_models(specs):
    settings = trainings(specs, "lawngnli_nli")
    for start in ("vanilla", "anli"):
        for view in ("short", "long_bm25"):
            of_text = settings[f"legal-bert-{start}-text", view, 1]
            of_code = settings[f"legal-bert-{start}", view, 1]
            assert of_text["optimiser"] == RELEASED | {
                "schedule": "linear",
                "warmup": 10_000,
            }
            others = {"grid", "optimiser"}
            for name in of_code.keys() - others:
                assert of_text[name] == of_code[name], name


def test_docnli_gives_new_heads_to_three_models_in_rows_as_released(specs):
    found = trainings(specs, "lawngnli_nli")
    released = {model for model, _, _ in found if model.endswith("-released")}
    assert {model.removesuffix("-released") for model in released} == {
        "albert-docnli",
        "legal-bert-docnli",
        "custom-legalbert-docnli",
    }
    for model in released:
        assert {view for name, view, _ in found if name == model} == {"none"}
        for seed in (0, 1, 2):
            settings = found[model, "none", seed]
            published = found[model.removesuffix("-released"), "none", seed]
            assert settings == published | {"new_heads": True}


def test_the_reranker_as_released_has_a_new_head():
    rerankers = PAPER.tasks["lawngnli_retrieval"].rerankers
    assert rerankers["albert-docnli"].model == "albert-docnli"
    assert rerankers["albert-docnli-released"].model == "albert-docnli-released"
    assert rerankers["albert-docnli-released"].view == "none"


@pytest.mark.parametrize(
    ("data_set", "optimiser", "expected"),
    [
        ("anli", OF_ANLI, {"learning_rate": 1e-5, "passes": 2, "batch_size": 128}),
        ("control", OF_ANLI, {"learning_rate": 2e-5, "passes": 10, "batch_size": 16}),
        ("docnli", OF_DOCNLI, {"learning_rate": 1e-6, "passes": 3}),
    ],
)
def test_models_are_trained_before_as_by_the_code_of_these_data_sets(
    specs, data_set, optimiser, expected
):
    found = trainings(specs, data_set)
    # Others have trained ALBERT, BART and RoBERTa on ANLI.
    models = {model for model, _, _ in found} - {"minilm"}
    assert len(models) == (4 if data_set == "anli" else 7)
    for (model, _, seed), settings in found.items():
        assert settings["optimiser"] == optimiser and seed in (0, 1, 2)
        assert expected.items() <= settings.items()
        shortest = 156 if data_set == "anli" else 512
        assert settings["max_length"] == BEFORE.get(start_of(model), shortest)
        if data_set == "docnli":
            # The script updates after each part of a batch of 32.
            batches = {"albert": 4, "bart": 1}
            assert settings["batch_size"] == batches.get(start_of(model), 8)


def test_a_seed_goes_on_from_the_same_seed_on_the_other_data_set(specs):
    settings = trainings(specs, "lawngnli_nli")
    for seed in (0, 1, 2):
        weights = settings["longformer-control", "long", seed]["weights"]
        assert weights.endswith(
            f"control/train/longformer/pair-paper/seed{seed}/weights"
        )
        before = trainings(specs, "control")["longformer", "pair", seed]["weights"]
        assert before.endswith(f"anli/train/longformer/pair-paper/seed{seed}/weights")


def test_the_reranker_is_trained_as_by_the_released_command(specs):
    found = trainings(specs, "lawngnli_reranking")
    for seed in (0, 1, 2):
        settings = found["albert-anli", "pair", seed]
        assert settings["where"] == "analysis"  # data['sample'] == 1, and footnote 4
        assert settings["optimiser"] == OF_ANLI
        expected = {"learning_rate": 1e-6, "passes": 2, "batch_size": 16}
        assert expected.items() <= settings.items() and settings["max_length"] == 512


def test_a_side_alone_is_a_pair_with_a_blank():
    views = PAPER.tasks["lawngnli_nli"].views
    assert (views["hypothesis"].text, views["hypothesis"].pair) == (
        "blank",
        "hypothesis",
    )
    for name in ("short", "short_bm25", "long", "long_bm25"):
        view = views[f"{name}_only"]
        assert (view.text, view.pair) == (name, "blank")
