"""The plan of ACORD: which rows have runs, which have a reason, and which runs each
table needs.
"""

import pytest

from lextables import ROOT
from lextables.models.prompts import load as load_prompt
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.pipeline.run import Run
from lextables.planning import paper_plan
from lextables.registry import packages
from lextables.tables.published import load as load_published
from lextables.tasks.planner import Context
from lextables.tasks.retrieval.planner import NO_PROMPT, RetrievalPlanner

PAPER = packages.load(ROOT / "resources/papers/acord.yaml")
MODELS = load_models(ROOT / "resources/models.yaml")
PRINTED = load_published(ROOT / "resources/published/acord.csv")


def context(gpu=False, **values):
    return Context(
        load_config({"papers": "acord"} | values, ["acord"], ROOT), MODELS, ROOT, gpu
    )


def laid_out(gpu=False, **values):
    return paper_plan.plan(PAPER, context(gpu, **values))


def systems(**values):
    return RetrievalPlanner("acord", PAPER.tasks["acord"], context(**values)).rows()


def rows(**values):
    return {
        s.row: s
        for s in systems(**values)
        if not s.about["tuned"] and not s.about["pairwise"]
    }


def of(found, experiment):
    return [run for run in found.specs if run.experiment == experiment]


def test_the_sample_runs_installed_models_and_gives_reasons_for_the_others():
    found = laid_out()
    assert {row for row, system in rows().items() if system.runs} == {
        "BM25 / None",
        "BM25, one index over the corpus / None",
        "BM25, words and a linear model / None",
        "BM25, words, MiniLM and a linear model / None",
        "Bi-Encoder-MiniLM / None",
        "BM25 + MiniLM, mean of standardised scores / None",
        "BM25 + MiniLM, with feedback / None",
        "BM25 / SmolLM2-135M-Instruct, asked",
        "Clauses by their stars for training and validation queries / None",
        "Shortest clauses first / None",
    }
    assert rows()["BM25 / Cross-Encoder-MiniLM"].reason == "sample data"
    assert "does not state its prompt" in rows()["BM25 / GPT4o"].reason
    assert {run.condition for run in of(found, "search")} == {"sample-lr1e-04"}


def test_search_choice_training_and_predictions_are_separate_runs():
    found = laid_out(data="release", models="paper", grid="paper")
    for read in of(found, "rerank-tuned"):
        training = found.specs[read].weights_of
        choice = found.specs[training].choice
        assert (training.experiment, training.seed) == ("train", read.seed)
        hits, *searched = found.specs[choice].needs
        retriever, model = read.model.split("+")
        # The choice reranks the hits of one retriever; a search reads the hits of both
        # retrievers.
        assert found.specs[read].needs == (hits,)
        assert hits == Run("acord", "retrieve", retriever, "short")
        assert {run.model for run in searched} == {model} and len(searched) == 5 * 3
        for run in searched:
            assert {needed.model for needed in found.specs[run].needs} == {
                "bm25",
                "bi-encoder-minilm",
            }
    assert (
        len(of(found, "rerank-tuned")) == 2 * 2 * 3
        and len(of(found, "choice")) == 2 * 2
    )


def test_a_grid_of_one_trial_is_trained_without_a_search():
    found = laid_out(data="release", models="paper", grid="small")
    assert not of(found, "search") and not of(found, "choice")
    (cross_encoder,) = {
        run for run in of(found, "train") if run.model == "cross-encoder-minilm"
    }
    assert found.specs[cross_encoder].choice is None
    assert found.specs[cross_encoder].settings["updates"] == [100]
    # One training is used for the hits of both retrievers.
    readers = {
        run.model
        for run, spec in found.specs.items()
        if spec.weights_of == cross_encoder
    }
    assert readers == {
        "bm25+cross-encoder-minilm",
        "bi-encoder-minilm+cross-encoder-minilm",
    }


@pytest.mark.parametrize(
    ("gpu", "values", "grid"),
    [
        (True, {"data": "release"}, "paper"),
        (False, {"data": "release"}, "small"),
        (True, {}, "sample"),
        (False, {"grid": "paper"}, "paper"),
    ],
)
def test_the_default_grid_depends_on_the_gpu_and_the_data(gpu, values, grid):
    assert {run.condition for run in of(laid_out(gpu, **values), "train")} == {grid}


RERANKED = "BM25 / Cross-Encoder-MiniLM"


def tuned(tmp_path, **values):
    """Return fine-tuned systems over BM25; the mirror has the paper's cross-encoder."""
    folder = tmp_path / "models/ms-marco-minilm-l6-v2"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    given = {"data": "release", "models": "available", "mirror": str(tmp_path)} | values
    return {
        s.row: s
        for s in systems(**given)
        if s.about["tuned"] and s.row.startswith(RERANKED)
    }


@pytest.mark.parametrize(
    ("values", "reason", "name"),
    [
        (
            {"grid": "sample", "seeds": [0, 1, 2]},
            "needs grid=paper and three seeds, as in the paper",
            f"{RERANKED}, sample budget: 4 updates of 8 pairs of 32 tokens, one seed",
        ),
        (
            {"grid": "paper", "seeds": [4]},
            "needs three seeds, as in the paper",
            f"{RERANKED}, one seed",
        ),
    ],
)
def test_other_settings_are_an_additional_row_that_names_them(
    tmp_path, values, reason, name
):
    found = tuned(tmp_path, **values)
    assert list(found) == [RERANKED, name]
    assert (
        found[RERANKED].runs,
        found[RERANKED].reason,
        found[RERANKED].additional,
    ) == ({}, reason, False)
    assert found[name].additional and found[name].runs and not found[name].reason
    assert name not in {cell.row for cell in PRINTED}


def test_longer_forms_are_ranked_only_for_the_queries_of_appendix_e():
    found = laid_out(data="release", models="paper")
    for run, spec in found.specs.items():
        if run.experiment in ("retrieve", "rerank"):
            longer = ['"as-is" clause', "Change Of Control"]
            assert spec.settings["queries"] == (
                None if run.condition == "short" else longer
            )
    assert set(PAPER.format_queries.values()) == set(longer)


# Language models

LLM = {"name": "My LLM", "kind": "language-model-api", "model": "my-llm"}


def test_a_published_language_model_is_not_run_without_a_published_prompt():
    for pairwise in (False, True):
        (row,) = (
            s
            for s in systems()
            if s.row == "BM25 / GPT4o" and s.about["pairwise"] == pairwise
        )
        assert not row.runs and not row.additional and row.asked
        assert row.reason == NO_PROMPT


def test_a_users_language_model_reranks_bm25_pointwise_and_pairwise():
    found = {
        (s.row, s.about["pairwise"]): s
        for s in systems(
            extra_models=[LLM],
            llm="http://127.0.0.1:8000/v1",
            data="release",
            models="available",
        )
        if s.asked and s.additional
    }
    # On release data, the registered local model needs a GPU, and OpenAI's models need
    # OpenAI's server.
    assert found.keys() == {("BM25 / My LLM", False), ("BM25 / My LLM", True)}
    assert found["BM25 / My LLM", False].runs.keys() == {"short", "medium", "long"}
    assert found["BM25 / My LLM", True].runs.keys() == {"short"}


def test_settings_of_a_run_contain_the_prompt_and_all_options():
    laid = laid_out(
        extra_models=[LLM | {"endpoint": "completions"}],
        llm="http://127.0.0.1:8000/v1",
        models="available",
        data="release",
    )
    (run,) = (run for run in of(laid, "ask") if run.condition == "short-pairwise")
    spec = laid.specs[run]
    assert [needed.experiment for needed in spec.needs] == ["retrieve"]
    given = spec.settings
    assert (given["way"], given["passes"], given["hits"], given["form"]) == (
        "pairwise",
        1,
        100,
        "short",
    )
    assert (given["api"], given["endpoint"]) == (
        "http://127.0.0.1:8000/v1",
        "completions",
    )
    assert (
        given["prompt"]
        == load_prompt(ROOT / "resources/prompts/acord_pairwise.txt").plain()
    )
    in_e2 = {
        row["row"]
        for row in laid.rows["table_e2"]
        if row["additional"] and row["asked"]
    }
    assert in_e2 == {"BM25 / My LLM"}
    assert not any(
        row["asked"]
        for table in ("table_d2", "table_d4", "figure2")
        for row in laid.rows[table]
    )


def test_a_server_other_than_openai_fills_no_row_of_openai_embeddings():
    found = {}
    for llm in ("http://127.0.0.1:8000/v1", "https://api.openai.com/v1"):
        rows = [
            s
            for s in systems(llm=llm, data="release", models="available")
            if "OpenAI" in s.row
        ]
        assert len(rows) == 2
        found[llm] = [bool(row.runs) for row in rows]
        assert all(
            row.runs or "and llm is another server" in row.reason for row in rows
        )
    assert [*found.values()] == [[False, False], [True, True]]


def test_openai_models_with_our_prompt_are_additional_rows():
    rows = {
        (s.row, s.about["pairwise"]): s
        for s in systems(
            llm="https://api.openai.com/v1", data="release", models="available"
        )
        if s.asked and s.runs
    }
    assert rows.keys() == {
        (f"{retriever} / {model}, our prompt", pairwise)
        for retriever, pairwise in (
            ("BM25", False),
            ("BM25", True),
            ("Bi-Encoder-MiniLM", False),
        )
        for model in ("GPT4o", "GPT4o-mini")
    }
    assert all(row.additional for row in rows.values())


def test_a_users_cross_encoder_reads_its_own_length(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    mine = {"name": "Mine", "kind": "cross-encoder", "model": str(tmp_path)}
    found = laid_out(extra_models=[mine], models="available")
    settings = [
        spec.settings for run, spec in found.specs.items() if "own-mine" in run.model
    ]
    assert settings and {one["max_length"] for one in settings} == {None}
