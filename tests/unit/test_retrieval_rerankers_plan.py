"""The plan of rerankers: a bi-encoder, BM25, or a classifier that was trained on
another data set.
"""

import pytest
from pydantic import ValidationError

from helpers.registered import context
from lextables import ROOT
from lextables.models.resolve import Missing
from lextables.planning.paper_plan import plan
from lextables.registry.packages import load
from lextables.tasks.retrieval.planner import Reranker, RetrievalPlanner, Retriever

PAPER = load(ROOT / "resources/papers/lawngnli.yaml")
MINILM = "all-MiniLM-L6-v2 / MiniLM encoder, trained for reranking"


def laid_out(gpu=True, table="table6", **values):
    found = plan(
        PAPER,
        context("lawngnli", gpu, **{"data": "release", "models": "paper"} | values),
    )
    return found.specs, {row["row"]: row for row in found.rows[table]}


def test_a_classifier_uses_weights_from_another_data_set_with_one_run_per_seed():
    specs, rows = laid_out(grid="small")
    runs = [
        run
        for run in specs
        if run.experiment == "rerank-classified" and "minilm" in run.model.split("+")[1]
    ]
    row = rows[MINILM]
    assert (row["additional"], row["trained"], row["reranked"]) == (True, True, True)
    seeds = (0, 1, 2)[: PAPER.tasks["lawngnli_reranking"].grids["small"]["multi"].seeds]
    assert len(row["runs"]["text"]) == len(seeds) and {run.folder for run in runs} >= {
        *row["runs"]["text"]
    }
    for run in runs:
        spec = specs[run]
        training = spec.weights_of
        assert (training.data_set, training.experiment, training.seed) == (
            "lawngnli_reranking",
            "train",
            run.seed,
        )
        assert [needed.experiment for needed in spec.needs] == ["retrieve"]
        learnt = specs[training].settings
        assert spec.settings["max_length"] == learnt["max_length"]
        assert spec.settings["tokenizer"]["weights"] == learnt["weights"]
        assert (spec.settings["head"], spec.settings["by"]) == ("nli", "label")
        assert spec.settings["documents"] == "filtered"


def test_a_published_classifier_requires_the_papers_grid():
    printed = "all-distilroberta-v1 / albert-xxlarge-v2_anli-LawngNLI-retrieval"
    _, rows = laid_out(grid="small")
    assert (
        rows[printed]["reason"] == "needs grid=paper, as in the paper"
        and not rows[printed]["runs"]
    )
    assert (
        rows[f"{printed}, small budget"]["additional"]
        and rows[f"{printed}, small budget"]["runs"]
    )
    specs, rows = laid_out(grid="paper")
    folder, *others = rows[printed]["runs"]["text"]
    assert len(others) == 2
    (spec,) = [spec for run, spec in specs.items() if run.folder == folder]
    assert (
        spec.settings["max_length"] == 512
    )  # the length at inference; it was trained with a shorter one


def test_rerankers_use_the_document_setting_and_the_pool_of_their_retriever():
    specs, _ = laid_out(grid="paper")
    kinds = {}
    for run, spec in specs.items():
        if run.experiment == "rerank":
            kinds.setdefault(spec.settings["kind"], spec.settings)
            assert (spec.settings["documents"], spec.settings["pool"]) == (
                "filtered",
                "judged",
            )
    assert kinds.keys() == {"bi-encoder", "okapi", "cross-encoder"}
    assert "weights" not in kinds["okapi"] and kinds["bi-encoder"]["max_length"] == 384


def test_without_encoders_published_rows_have_a_reason_and_others_are_omitted():
    _, rows = laid_out(models="sample", data="sample")
    assert rows["all-distilroberta-v1 / BM25"]["reason"] == "sample data"
    assert not [
        name
        for name in rows
        if name.startswith("all-distilroberta") and "MiniLM encoder" in name
    ]
    assert rows["all-MiniLM-L6-v2 / BM25"]["additional"] and rows[MINILM]["runs"]


def test_a_classifier_from_a_data_set_that_is_not_planned_is_missing():
    task = PAPER.tasks["lawngnli_retrieval"]
    planner = RetrievalPlanner(
        "lawngnli_retrieval", task, context("lawngnli", models="paper")
    )
    found = planner.classifiers(task.rerankers["minilm-lawngnli"])
    assert found == Missing(
        "lawngnli_reranking is not a data set of this configuration"
    )


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"kind": "okapi", "model": "x"}, "only okapi has none"),
        ({"kind": "bi-encoder"}, "needs a model"),
        ({"kind": "classifier", "model": "x", "of": "y"}, "has of, view, head and by"),
        (
            {"kind": "classifier", "model": "x", "of": "y", "head": "z", "by": "label"},
            "has of, view, head and by",
        ),
        (
            {"kind": "cross-encoder", "model": "x", "head": "nli"},
            "has of, view, head and by",
        ),
    ],
)
def test_a_reranker_requires_the_fields_of_its_kind(fields, fault):
    with pytest.raises(ValidationError, match=fault):
        Reranker(row="A", **fields)


def test_okapi_cannot_read_documents_by_paragraphs():
    task = PAPER.tasks["lawngnli_retrieval"].model_dump()
    task["retrievers"] = {
        "bm25": Retriever(
            row="BM25", kind="okapi", documents=("paragraphs",)
        ).model_dump()
    }
    with pytest.raises(
        ValidationError, match="okapi reads documents whole or filtered"
    ):
        type(PAPER.tasks["lawngnli_retrieval"]).model_validate(task)


def test_a_retriever_has_a_run_per_document_setting_and_reranking_uses_the_last():
    specs, rows = laid_out(grid="paper")
    row = rows["all-MiniLM-L6-v2 / None"]
    places = {folder: name for name, (folder,) in row["runs"].items()}
    read = {
        places[run.folder]: spec.settings
        for run, spec in specs.items()
        if run.folder in places
    }
    expected = {
        "text": "whole",
        "text-paragraphs": "paragraphs",
        "text-filtered": "filtered",
    }
    assert (
        {name: settings["documents"] for name, settings in read.items()}
        == expected
        == row["read"]
    )
    assert {settings["form"] for settings in read.values()} == {"text"}
    kinds = ("rerank", "rerank-classified")
    needs = {run: spec.needs for run, spec in specs.items() if run.experiment in kinds}
    assert {run.experiment for run in needs} == {*kinds}
    for needed in needs.values():
        assert [one.condition for one in needed] == ["text-filtered"]


def test_without_a_gpu_runs_that_need_one_are_omitted_with_a_reason():
    _, rows = laid_out(gpu=False, table="table17", grid="paper")
    row = rows["all-mpnet-base-v2 / None"]
    assert list(row["runs"]) == ["text"] and "needs a GPU" in row["reason"]
    row = rows["all-MiniLM-L6-v2 / None"]
    assert (
        list(row["runs"]) == ["text", "text-filtered"]
        and "needs a GPU" in row["reason"]
    )
    assert rows["BM25 / None"]["reason"] == ""
    assert "text-filtered" in rows["BM25 / None"]["runs"]
    _, rows = laid_out(gpu=False, grid="paper")
    assert "needs a GPU" in rows["all-distilroberta-v1 / BM25"]["reason"]
    _, rows = laid_out(gpu=True, table="table17", grid="paper")
    row = rows["all-mpnet-base-v2 / None"]
    assert ({*row["runs"]}, row["reason"]) == ({"text", "text-filtered"}, "")


def test_rows_as_released_stand_beside_the_published_ones():
    specs, rows = laid_out(grid="paper")
    assert "BM25, as released / None" not in rows
    settings_of = {run.folder: spec.settings for run, spec in specs.items()}
    released = rows["all-distilroberta-v1 / BM25, as released"]
    (folder,) = released["runs"]["text"]
    assert released["additional"]
    assert settings_of[folder]["chunks"] == {"number": 100, "by": "label"}
    (folder,) = rows["all-distilroberta-v1 / BM25"]["runs"]["text"]
    assert "chunks" not in settings_of[folder]
    for name, score, contradict in (
        ("albert-xxlarge-v2_DocNLI", "probability", "not entail"),
        ("albert-xxlarge-v2_DocNLI, as released", "logit", "entail"),
    ):
        row = rows[f"all-distilroberta-v1 / {name}"]
        for folder in row["runs"]["text"]:
            assert settings_of[folder]["score"] == score
            assert settings_of[folder]["answers"] == {"contradict": contradict}


def test_the_first_stage_as_released_is_in_the_table_of_first_stages():
    specs, rows = laid_out(grid="paper", table="table17")
    settings_of = {run.folder: spec.settings for run, spec in specs.items()}
    row = rows["BM25, as released / None"]
    assert row["additional"] and row["runs"].keys() == {"text", "text-filtered"}
    for folders in row["runs"].values():
        for folder in folders:
            assert settings_of[folder]["chunks"] == {"number": 1000, "by": "label"}
