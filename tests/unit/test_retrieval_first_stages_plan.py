"""The plan of fine-tuned and fused first stages: their rows and the dependencies of
their runs.
"""

import pytest
from pydantic import ValidationError

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.registry.packages import load
from lextables.tasks.planner import Context
from lextables.tasks.retrieval.planner import RetrievalPlanner, RetrievalTask

PAPER = load(ROOT / "resources/papers/acord.yaml")
MODELS = load_models(ROOT / "resources/models.yaml")
TUNED, FUSED = (
    "MiniLM fine-tuned / None",
    "BM25 + MiniLM, mean of standardised scores / None",
)
BOTH = "BM25 + MiniLM fine-tuned, mean of standardised scores / None"


def laid_out(task=PAPER.tasks["acord"], **values):
    """The specs of the runs and {name: row} of a configuration."""
    config = load_config(
        {"papers": "acord", "data": "release", "models": "available"} | values,
        ["acord"],
        ROOT,
    )
    planner = RetrievalPlanner("acord", task, Context(config, MODELS, ROOT, gpu=False))
    rows = {row.row: row for row in planner.rows() if not row.about["pairwise"]}
    return planner.specs, rows


def with_grid(**changes):
    """The task with these changes to the grid of the fine-tuned bi-encoder."""
    task = PAPER.tasks["acord"]
    tuned = task.finetuned["minilm-retriever"]
    grid = tuned.grids["small"].model_copy(update=changes)
    tuned = tuned.model_copy(update={"grids": {"small": grid}})
    return task.model_copy(
        update={"finetuned": {**task.finetuned, "minilm-retriever": tuned}}
    )


def test_a_fine_tuned_bi_encoder_is_an_additional_row_with_one_run_per_seed():
    specs, rows = laid_out()
    row = rows[TUNED]
    assert (row.additional, row.trained, row.about["reranked"], row.about["tuned"]) == (
        True,
        True,
        False,
        True,
    )
    assert [run.experiment for run in row.runs["short"]] == ["retrieve-tuned"] * 3
    assert [run.seed for run in row.runs["short"]] == [0, 1, 2]
    for run in row.runs["short"]:
        training = specs[run].weights_of
        assert (training.experiment, training.seed, specs[training].choice) == (
            "train",
            run.seed,
            None,
        )
        assert specs[training].settings["kind"] == "bi-encoder"
        assert specs[training].settings["temperature"] > 0
        assert specs[run].needs == ()
    assert not [
        run
        for run in specs
        if run.experiment == "search" and run.model == "minilm-retriever"
    ]


def test_cross_encoder_training_has_no_bi_encoder_settings():
    specs, _ = laid_out()
    kinds = {
        run.model: spec.settings
        for run, spec in specs.items()
        if run.experiment == "train"
    }
    assert kinds["minilm-fresh-head"]["kind"] == "cross-encoder"
    assert not {"temperature", "documents"} & kinds["minilm-fresh-head"].keys()
    assert {"temperature", "documents"} <= kinds["minilm-retriever"].keys()


def test_the_best_of_several_trials_is_trained():
    specs, rows = laid_out(with_grid(updates=(10, 20), learning_rates=(1e-5, 5e-5)))
    (choice,) = {
        specs[specs[run].weights_of].choice for run in rows[TUNED].runs["short"]
    }
    assert choice.model == "minilm-retriever"
    assert {(run.experiment, run.seed) for run in specs[choice].needs} == {
        ("search", seed) for seed in range(3)
    }
    assert len(specs[choice].needs) == 6
    for run in specs[choice].needs:
        assert {needed.experiment for needed in specs[run].needs} == {"retrieve"}
        assert specs[run].settings["updates"] == [10, 20]


def test_a_fusion_needs_the_predictions_of_its_systems():
    specs, rows = laid_out()
    assert list(rows[FUSED].runs) == ["short", "medium", "long"]
    for form, (run,) in rows[FUSED].runs.items():
        assert [(needed.model, needed.condition) for needed in specs[run].needs] == [
            ("bm25", form),
            ("bi-encoder-minilm", form),
        ]
        assert specs[run].settings["queries"] == (
            None if form == "short" else ['"as-is" clause', "Change Of Control"]
        )
    assert rows[FUSED].additional and rows[FUSED].baseline and not rows[FUSED].trained
    assert rows[FUSED].parameters == MODELS["all-minilm-l6-v2"].parameters


def test_a_fusion_with_a_fine_tuned_bi_encoder_has_one_run_per_seed():
    specs, rows = laid_out()
    assert {
        tuple(specs[run].settings["shares"]) for run in rows[BOTH].runs["short"]
    } == {(1.0, 2.0)}
    assert {
        tuple(specs[run].settings["shares"]) for run in rows[FUSED].runs["short"]
    } == {(1.0, 1.0)}
    assert (
        len({tuple(specs[run].settings["of"]) for run in rows[BOTH].runs["short"]}) == 3
    )
    assert rows[BOTH].trained and list(rows[BOTH].runs) == ["short"]
    for run in rows[BOTH].runs["short"]:
        first, second = specs[run].needs
        assert (first.model, first.seed) == ("bm25", 0)
        assert (second.experiment, second.seed) == ("retrieve-tuned", run.seed)


def test_feedback_loads_the_encoder_whose_ranking_it_fuses():
    specs, rows = laid_out()
    untrained, tuned = (
        rows[f"BM25 + {name}, with feedback / None"]
        for name in ("MiniLM", "MiniLM fine-tuned")
    )
    assert {
        run.experiment
        for row in (untrained, tuned)
        for runs in row.runs.values()
        for run in runs
    } == {"feedback"}
    assert (
        list(untrained.runs) == ["short", "medium", "long"]
        and untrained.baseline
        and not untrained.trained
    )
    for form, (run,) in untrained.runs.items():
        settings = specs[run].settings
        assert (settings["model"], settings["form"], settings["feedback"]) == (
            "all-minilm-l6-v2",
            form,
            5,
        )
        assert settings["weights"] and not specs[run].sources
    assert [run.seed for run in tuned.runs["short"]] == [0, 1, 2] and tuned.trained
    for run in tuned.runs["short"]:
        assert specs[run].weights_of == specs[specs[run].needs[-1]].weights_of
        assert specs[run].weights_of.seed == run.seed
        assert specs[run].settings["weights_of"] == specs[run].weights_of.folder


def test_rows_without_their_model_are_not_run():
    task = PAPER.tasks["acord"]
    tuned = task.finetuned["minilm-retriever"].model_copy(
        update={"model": "roberta-base"}
    )
    _, rows = laid_out(
        task.model_copy(update={"finetuned": {"minilm-retriever": tuned}})
    )
    for row in (TUNED, BOTH):
        assert rows[row].runs == {} and "is not available here" in rows[row].reason
    assert rows[FUSED].runs


def test_encoders_but_not_bm25_can_read_documents_by_paragraphs():
    task = PAPER.tasks["acord"].model_dump(mode="json")
    task["retrievers"]["by-paragraphs"] = task["retrievers"]["bi-encoder-minilm"] | {
        "row": "MiniLM by paragraphs",
        "documents": ["paragraphs"],
        "additional": True,
    }
    specs, rows = laid_out(RetrievalTask.model_validate(task))
    read = {
        run.model: spec.settings["documents"]
        for run, spec in specs.items()
        if "documents" in spec.settings
    }
    assert (read["bi-encoder-minilm"], read["by-paragraphs"]) == ("whole", "paragraphs")
    assert rows["MiniLM by paragraphs / None"].runs and read["bm25"] == "whole"
    task["retrievers"]["bm25"]["documents"] = ["paragraphs"]
    with pytest.raises(ValidationError, match="bm25: bm25 reads documents whole"):
        RetrievalTask.model_validate(task)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"fusion-bm25-minilm": {"of": ["bm25", "bm26"]}},
            "fusion-bm25-minilm: bm26 is no other retriever",
        ),
        (
            {"fusion-bm25-minilm": {"of": ["minilm-fresh-head"]}},
            "minilm-fresh-head is no other retriever",
        ),
        (
            {"fusion-bm25-minilm": {"of": []}},
            "fusion-bm25-minilm: only a fusion has `of`",
        ),
        (
            {"fusion-bm25-minilm": {"shares": [1.0]}},
            "fusion-bm25-minilm: `shares` needs a value for each",
        ),
        (
            {"bm25": {"feedback": 5}},
            "retrievers.bm25: feedback needs a fusion whose last",
        ),
        (
            {"fusion-bm25-minilm": {"of": ["minilm-retriever", "bm25"], "feedback": 5}},
            "feedback needs a fusion",
        ),
        (
            {"bm25": {"of": ["bi-encoder-minilm"]}},
            "retrievers.bm25: only a fusion has `of`",
        ),
        (
            {"minilm-retriever": {"row": "R", "kind": "bm25"}},
            "minilm-retriever is the key of a retriever and",
        ),
    ],
)
def test_invalid_retrievers_and_fusions_raise(changes, fault):
    given = PAPER.tasks["acord"].model_dump(mode="json")
    given["retrievers"] = {
        key: given["retrievers"].get(key, {}) | changes.get(key, {})
        for key in {**given["retrievers"], **changes}
    }
    with pytest.raises(ValidationError, match=fault):
        RetrievalTask.model_validate(given)


@pytest.mark.parametrize("left_out", ["topics", "penalty", "reranked"])
def test_a_linear_retriever_requires_its_settings_and_no_reranking(left_out):
    plain = PAPER.tasks["acord"].model_dump(mode="json")
    del plain["retrievers"]["linear-words"][left_out]
    with pytest.raises(
        ValidationError,
        match="retrievers.linear-words: a linear retriever needs topics",
    ):
        RetrievalTask.model_validate(plain)


def test_bm25_has_the_default_parameters_of_anserini():
    # Anserini's and Pyserini's LuceneSearcher: BM25 with k1 = 0.9 and b = 0.4.
    specs, _ = laid_out()
    runs = [spec.settings for spec in specs.values() if "k1" in spec.settings]
    assert {settings["kind"] for settings in runs} == {"bm25", "linear"}
    assert {(settings["k1"], settings["b"]) for settings in runs} == {(0.9, 0.4)}
