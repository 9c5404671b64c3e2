"""The planned rows and runs of LawngNLI's rerankers: a bi-encoder, BM25, or a
classifier that was trained on another data set.

A row is named `<retriever> / <reranker>`.
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


def planned(gpu=True, table="table6", **values):
    """Return {run: its spec} of the paper, and {name: row} of a table.

    ``values`` are those of the configuration, by default for all models of the paper on
    its own data.
    """
    values = {"data": "release", "models": "paper"} | values
    paper_plan = plan(PAPER, context("lawngnli", gpu, **values))
    return paper_plan.specs, {row["row"]: row for row in paper_plan.rows[table]}


def settings_by_folder(specs):
    """Return {folder of a run: its settings}."""
    return {run.folder: spec.settings for run, spec in specs.items()}


def test_a_classifier_uses_weights_from_another_data_set_with_one_run_per_seed():
    specs, rows = planned(grid="small")
    row = rows[MINILM]
    assert row["additional"]
    assert row["trained"]
    assert row["reranked"]
    folders = row["runs"]["text"]
    grid = PAPER.tasks["lawngnli_reranking"].grids["small"]["multi"]
    assert len(folders) == len((0, 1, 2)[: grid.seeds])
    runs = []
    for run in specs:
        # The model of such a run is `<retriever>+<reranker>`.
        if (
            run.experiment == "rerank-classified"
            and "minilm" in run.model.split("+")[1]
        ):
            runs.append(run)
    assert {run.folder for run in runs} >= {*folders}
    for run in runs:
        spec = specs[run]
        training = spec.weights_of
        assert training.data_set == "lawngnli_reranking"
        assert training.experiment == "train"
        assert training.seed == run.seed
        assert [needed.experiment for needed in spec.needs] == ["retrieve"]
        training_settings = specs[training].settings
        assert spec.settings["max_length"] == training_settings["max_length"]
        assert spec.settings["tokenizer"]["weights"] == training_settings["weights"]
        assert spec.settings["head"] == "nli"
        assert spec.settings["by"] == "label"
        assert spec.settings["documents"] == "filtered"


PUBLISHED_CLASSIFIER = (
    "all-distilroberta-v1 / albert-xxlarge-v2_anli-LawngNLI-retrieval"
)


def test_a_published_classifier_requires_the_papers_grid():
    _, rows = planned(grid="small")
    published = rows[PUBLISHED_CLASSIFIER]
    assert published["reason"] == "needs grid=paper, as in the paper"
    assert not published["runs"]
    with_small_budget = rows[f"{PUBLISHED_CLASSIFIER}, small budget"]
    assert with_small_budget["additional"]
    assert with_small_budget["runs"]


def test_a_published_classifier_reads_longer_texts_than_it_was_trained_on():
    specs, rows = planned(grid="paper")
    folders = rows[PUBLISHED_CLASSIFIER]["runs"]["text"]
    assert len(folders) == 3  # one for each seed
    assert settings_by_folder(specs)[folders[0]]["max_length"] == 512


def test_rerankers_use_the_document_setting_and_the_pool_of_their_retriever():
    specs, _ = planned(grid="paper")
    settings_by_kind = {}
    for run, spec in specs.items():
        if run.experiment == "rerank":
            settings_by_kind.setdefault(spec.settings["kind"], spec.settings)
            assert spec.settings["documents"] == "filtered"
            assert spec.settings["pool"] == "judged"
    assert settings_by_kind.keys() == {"bi-encoder", "okapi", "cross-encoder"}
    assert "weights" not in settings_by_kind["okapi"]
    assert settings_by_kind["bi-encoder"]["max_length"] == 384


def test_without_encoders_published_rows_have_a_reason_and_others_are_omitted():
    _, rows = planned(models="sample", data="sample")
    assert rows["all-distilroberta-v1 / BM25"]["reason"] == "sample data"
    for name in rows:
        assert not (name.startswith("all-distilroberta") and "MiniLM encoder" in name)
    # all-MiniLM-L6-v2 is available.
    assert rows["all-MiniLM-L6-v2 / BM25"]["additional"]
    assert rows[MINILM]["runs"]


def test_a_classifier_from_a_data_set_that_is_not_planned_is_missing():
    task = PAPER.tasks["lawngnli_retrieval"]
    planner = RetrievalPlanner(
        "lawngnli_retrieval", task, context("lawngnli", models="paper")
    )
    classifiers = planner.classifier_trainings(task.rerankers["minilm-lawngnli"])
    reason = "lawngnli_reranking is not a data set of this configuration"
    assert classifiers == Missing(reason)


@pytest.mark.parametrize(
    ("fields", "message"),
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
def test_a_reranker_requires_the_fields_of_its_kind(fields, message):
    with pytest.raises(ValidationError, match=message):
        Reranker(row="A", **fields)


def test_okapi_cannot_read_documents_by_paragraphs():
    task = PAPER.tasks["lawngnli_retrieval"]
    bm25 = Retriever(row="BM25", kind="okapi", documents=("paragraphs",))
    values = task.model_dump() | {"retrievers": {"bm25": bm25.model_dump()}}
    message = "okapi reads documents whole or filtered"
    with pytest.raises(ValidationError, match=message):
        type(task).model_validate(values)


def test_a_retriever_has_a_run_per_document_setting():
    specs, rows = planned(grid="paper")
    row = rows["all-MiniLM-L6-v2 / None"]
    expected = {
        "text": "whole",
        "text-paragraphs": "paragraphs",
        "text-filtered": "filtered",
    }
    settings_of = settings_by_folder(specs)
    documents = {}
    for condition, (folder,) in row["runs"].items():
        documents[condition] = settings_of[folder]["documents"]
        assert settings_of[folder]["form"] == "text"
    assert documents == expected
    assert row["read"] == expected


def test_rerankers_read_the_hits_of_the_last_document_setting():
    specs, _ = planned(grid="paper")
    experiments = set()
    for run, spec in specs.items():
        if run.experiment in ("rerank", "rerank-classified"):
            experiments.add(run.experiment)
            assert [needed.condition for needed in spec.needs] == ["text-filtered"]
    assert experiments == {"rerank", "rerank-classified"}


def test_without_a_gpu_runs_that_need_one_are_omitted_with_a_reason():
    # Table 17 has the first stages.
    _, rows = planned(gpu=False, table="table17", grid="paper")
    row = rows["all-mpnet-base-v2 / None"]
    assert list(row["runs"]) == ["text"]
    assert "needs a GPU" in row["reason"]
    row = rows["all-MiniLM-L6-v2 / None"]
    assert list(row["runs"]) == ["text", "text-filtered"]
    assert "needs a GPU" in row["reason"]
    assert rows["BM25 / None"]["reason"] == ""
    assert "text-filtered" in rows["BM25 / None"]["runs"]
    _, rows = planned(gpu=False, table="table6", grid="paper")
    assert "needs a GPU" in rows["all-distilroberta-v1 / BM25"]["reason"]


def test_with_a_gpu_no_run_of_a_first_stage_is_omitted():
    _, rows = planned(gpu=True, table="table17", grid="paper")
    row = rows["all-mpnet-base-v2 / None"]
    assert row["runs"].keys() == {"text", "text-filtered"}
    assert row["reason"] == ""


def test_bm25_as_released_ranks_chunks_of_documents():
    specs, rows = planned(grid="paper")
    settings_of = settings_by_folder(specs)
    as_released = rows["all-distilroberta-v1 / BM25, as released"]
    assert as_released["additional"]
    (folder,) = as_released["runs"]["text"]
    assert settings_of[folder]["chunks"] == {"number": 100, "by": "label"}
    (folder,) = rows["all-distilroberta-v1 / BM25"]["runs"]["text"]
    assert "chunks" not in settings_of[folder]
    # First stages are not in Table 6.
    assert "BM25, as released / None" not in rows


@pytest.mark.parametrize(
    # What is scored, and the answer of DocNLI that counts as Contradict.
    ("reranker", "score", "contradict"),
    [
        ("albert-xxlarge-v2_DocNLI", "probability", "not entail"),
        ("albert-xxlarge-v2_DocNLI, as released", "logit", "entail"),
    ],
)
def test_docnli_as_released_scores_contradict_by_the_logit_of_entail(
    reranker, score, contradict
):
    specs, rows = planned(grid="paper")
    settings_of = settings_by_folder(specs)
    folders = rows[f"all-distilroberta-v1 / {reranker}"]["runs"]["text"]
    assert folders
    for folder in folders:
        assert settings_of[folder]["score"] == score
        assert settings_of[folder]["answers"] == {"contradict": contradict}


def test_the_first_stage_as_released_is_in_the_table_of_first_stages():
    specs, rows = planned(grid="paper", table="table17")
    settings_of = settings_by_folder(specs)
    row = rows["BM25, as released / None"]
    assert row["additional"]
    assert row["runs"].keys() == {"text", "text-filtered"}
    for folders in row["runs"].values():
        for folder in folders:
            assert settings_of[folder]["chunks"] == {"number": 1000, "by": "label"}
