"""ACORD's tables on a data set that is small enough to count by hand."""

import math
import shutil

import pytest

from helpers import paper_tables
from helpers.paper_tables import PaperTables, write_filled
from lextables import ROOT
from lextables.papers.acord import tables
from lextables.papers.acord.schema import CLAUSES, JUDGEMENTS, QUERIES
from lextables.pipeline.dataset import read, write
from lextables.pipeline.run import SCORES
from lextables.registry import packages
from lextables.tables.cells import Score
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import prediction_rows
from lextables.tasks.retrieval.scoring import scores

PAPER = packages.load(ROOT / "resources/papers/acord.yaml")
TABLES = PaperTables(tables, PAPER, "acord")
computed = TABLES.cells
WORDS = {"a": 10, "b": 120, "c": 130, "d": 40}
STARS = {
    "Change Of Control": {"a": 5, "b": 2, "c": 1},
    '"as-is" clause': {"a": 4, "b": 4, "c": 2, "d": 1},
    "Insurance": {"d": 3},
}
CATEGORY = {
    "Change Of Control": "Restrictive Covenants",
    '"as-is" clause': "Limitation of Liability",
    "Insurance": "Affirmative Covenants",
}


def collected(folder):
    task = PAPER.tasks["acord"].model_dump(mode="json")
    return collection.load(
        [folder / f"{name}.parquet" for name in collection.files(task)], task
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    clauses = [{"clause_id": name, "words": words} for name, words in WORDS.items()]
    queries = []
    judgements = []
    for number, (query, found) in enumerate(STARS.items(), 1):
        texts = {"short": query, "medium": f"{query} medium", "long": f"{query} long"}
        entry = {"number": number, "query_id": query, "category": CATEGORY[query]}
        queries.append(texts | entry | {"split": "test"})
        for clause, stars in found.items():
            judgement = {"query_id": query, "clause_id": clause, "split": "test"}
            judgements.append(judgement | {"stars": stars, "score": stars - 1})
    made = {CLAUSES: clauses, QUERIES: queries, JUDGEMENTS: judgements}
    write_filled(folder, made)
    for name, hits in {
        "first": {
            "Change Of Control": ["c", "a"],
            '"as-is" clause': ["a", "d"],
            "Insurance": [],
        },
        "second": {
            "Change Of Control": ["a", "c"],
            '"as-is" clause': ["a", "d"],
            "Insurance": ["d"],
        },
    }.items():
        ranked = {}
        for query, found in hits.items():
            ranked[query] = [(clause, -rank) for rank, clause in enumerate(found)]
        scored = scores(prediction_rows(ranked), collected(folder))
        write(SCORES, scored, folder / name / "scores.parquet")
    return folder


def system(
    retriever,
    reranker="None",
    tuned=False,
    additional=False,
    runs=None,
    reason="",
    parameters=0,
    **more,
):
    more = {
        "model": reranker,
        "averages": 3 if tuned else 1,
        "retriever": retriever,
        "reranker": reranker,
        "reranked": reranker != "None",
        "tuned": tuned,
        "trained": tuned,
        "additional": additional,
        "pairwise": False,
        "fused": False,
        "parameters": parameters,
    } | more
    styles = ("short", "medium", "long") if runs else ()
    name = f"{retriever} / {reranker}"
    return paper_tables.system(name, dict.fromkeys(styles, runs), reason, **more)


def test_table_c2_leaves_out_queries_without_the_score(data):
    cells = computed(data, "table_c2")
    assert cells["4-star", "Min"].value == 2
    assert cells["1-star", "Mean"].value == 1
    assert (cells["2-star", "Median"].value, cells["2-star", "Std. Dev."].value) == (
        1,
        0,
    )
    assert (
        cells["4-star", "Std. Dev."].reason
        == "too few queries have a clause of this score"
    )


def test_table_d3_has_strict_scores_sizes_and_reasons(data):
    cells = computed(
        data,
        "table_d3",
        system("BM25", runs=["first"]),
        system("BM25", "GPT4o", reason="an API", parameters=None),
    )
    ndcg = cells["BM25 / None", "NDCG@5"]
    assert ndcg.low < ndcg.value < ndcg.high
    assert cells["BM25 / None", "4-star prec@5"].value == 0.5
    assert cells["BM25 / None", "5-star prec@5, strict"].value == 1.0
    assert ("BM25 / None", "NDCG@5, strict") not in cells
    assert cells["BM25 / GPT4o", "NDCG@5"].reason == "an API"
    assert cells["BM25 / None", "Size"].value == "0M"
    assert cells["BM25 / GPT4o", "Size"].reason == "no verdict: the size is not public"
    assert not any(
        cell.judged for (_, column), cell in cells.items() if column == "Size"
    )
    assert all(cell.judged for (_, column), cell in cells.items() if column != "Size")


@pytest.mark.parametrize(
    ("parameters", "size"),
    [
        (22_713_216, "23M"),
        (999_000_000, "999M"),
        (1_000_000_000, "1.00B"),
        (8_030_261_248, "8.03B"),
    ],
)
def test_a_size_is_in_millions_or_billions(data, parameters, size):
    cells = computed(data, "table_d3", system("BM25", parameters=parameters))
    assert cells["BM25 / None", "Size"].value == size


def test_table3_is_table_d3_in_percent(data):
    one = computed(data, "table_d3", system("BM25", runs=["first"]))
    other = computed(data, "table3", system("BM25", runs=["first"]))
    for column in ("NDCG@5", "3-star prec@5"):
        cell = one["BM25 / None", column]
        percent = other["BM25 / None", column]
        assert percent.value == pytest.approx(100 * cell.value)
        assert percent.high == pytest.approx(100 * cell.high)


def test_changes_are_paired_over_queries(data):
    systems = [
        system("BM25", runs=["first"]),
        system("BM25", "Cross-Encoder-MiniLM", reason="not here"),
        system("BM25", "Cross-Encoder-MiniLM", tuned=True, reason="not here"),
        system(
            "BM25",
            "MiniLM encoder, fresh head",
            tuned=True,
            additional=True,
            runs=["second"],
        ),
    ]
    cells = computed(data, "table_d4", *systems)
    row = "BM25 / MiniLM encoder, fresh head / fine-tuned"
    change = cells[row, "NDCG@5 change over the retriever"]
    before = computed(data, "table_d3", systems[0])["BM25 / None", "NDCG@5"].value
    assert change.value == pytest.approx(cells[row, "NDCG@5"].value - 100 * before)
    assert change.low <= change.value <= change.high
    assert (
        cells["BM25 / Cross-Encoder-MiniLM / fine-tuned", "NDCG@5 change"].reason
        == "not here"
    )
    assert set(computed(data, "figure2", *systems)) < set(cells)


def test_scores_by_category(data):
    own = system("BM25", "My Reranker", additional=True, runs=["second"])
    cells = computed(
        data, "table_d2", system("BM25", "Cross-Encoder-MiniLM", reason="not here"), own
    )
    assert (
        cells["Limitation of Liability / not fine-tuned", "NDCG@5"].reason == "not here"
    )
    assert cells[
        "Restrictive Covenants / My Reranker, not fine-tuned", "NDCG@5"
    ].value == pytest.approx(4 / (4 + 1 / math.log2(3)))
    assert (
        cells["Term / My Reranker, not fine-tuned", "NDCG@5"].reason
        == "no test query of this category"
    )


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("table_d1", "Restrictive Covenants / Baseline"),
        ("table_d2", "Restrictive Covenants / Baseline"),
        ("table_d5", "Baseline / None"),
    ],
)
def test_a_baseline_keeps_its_name_in_tables_of_rerankers(data, table, row):
    baseline = system("Baseline", additional=True, runs=["second"], baseline=True)
    cells = computed(data, table, baseline)
    scores = [
        cell
        for (name, column), cell in cells.items()
        if name == row and "strict" not in column
    ]
    assert {cell.baseline for cell in scores} == {"Baseline"}


def test_table_d5_has_published_rows_and_additional_language_models(data):
    asked = {"asked": True, "baseline": False, "runs": ["first"]}
    systems = [
        system("BM25", "GPT4o", **asked),
        system("BM25", "GPT4o", pairwise=True, **asked),
        # Neither published nor additional.
        system("BM25", "Theirs", **asked),
        system("BM25", "Mine", additional=True, **asked),
        # Additional, but no language model.
        system("BM25", "Words", additional=True, **asked | {"asked": False}),
    ]
    cells = computed(data, "table_d5", *systems)
    rows = {row for (row, _), cell in cells.items() if cell.value is not None}
    assert rows == {
        "BM25 / GPT4o / pointwise",
        "BM25 / GPT4o / pairwise",
        "BM25 / Mine / pointwise",
    }


def test_a_tuned_encoder_is_compared_with_itself_and_not_with_a_linear_model(data):
    bare = system("Bi-Encoder", runs=["first"], model="minilm")
    linear = system("Words", runs=["second"], model="minilm", trained=True)
    tuned = system("Tuned", runs=["second"], model="minilm", tuned=True)
    cells = computed(data, "table_d4", bare, linear, tuned)
    change = cells["Tuned / None / fine-tuned", "NDCG@5 change"].value
    scores = computed(data, "table_d3", bare, linear)
    after = scores["Words / None", "NDCG@5"].value
    before = scores["Bi-Encoder / None", "NDCG@5"].value
    assert change == pytest.approx(100 * (after - before))
    assert change != 0


def test_a_small_budget_is_compared_with_the_same_cross_encoder(data):
    systems = [
        system("BM25", runs=["first"]),
        system("BM25", "Cross-Encoder-MiniLM", runs=["second"], model="ms-marco"),
        system(
            "BM25",
            "Cross-Encoder-MiniLM",
            tuned=True,
            reason="needs grid=paper, as in the paper",
        ),
        system(
            "BM25",
            "Cross-Encoder-MiniLM, small budget",
            tuned=True,
            additional=True,
            runs=["second"],
            model="ms-marco",
        ),
    ]
    cells = computed(data, "table_d4", *systems)
    row = "BM25 / Cross-Encoder-MiniLM, small budget / fine-tuned"
    assert cells[row, "NDCG@5 change"].value == 0
    assert (
        cells["BM25 / Cross-Encoder-MiniLM / fine-tuned", "NDCG@5"].reason
        == "needs grid=paper, as in the paper"
    )


def test_a_category_has_an_interval_if_it_has_several_queries(data, tmp_path):
    cells = computed(
        data, "table_d2", system("BM25", "Cross-Encoder-MiniLM", runs=["first"])
    )
    one = cells["Limitation of Liability / not fine-tuned", "NDCG@5"]
    assert one.value is not None and one.low is None
    queries = [row | {"category": "Term"} for row in read(data / "queries.parquet")]
    other = tmp_path / "one-category"
    shutil.copytree(data, other)
    write(QUERIES, queries, other / "queries.parquet")
    hits = {
        '"as-is" clause': [("a", 1.0)],
        "Change Of Control": [("c", 1.0)],
        "Insurance": [("d", 1.0)],
    }
    scored = scores(prediction_rows(hits), collected(other))
    write(SCORES, scored, other / "run/scores.parquet")
    ran = system("BM25", "Cross-Encoder-MiniLM", runs=["run"])
    term = computed(other, "table_d2", ran)["Term / not fine-tuned", "NDCG@5"]
    assert term.low < term.value < term.high


def test_a_users_model_never_fills_a_published_row_with_a_similar_name(data):
    # The paper has a row "BM25 + Cross-Encoder" but no row "Cross-Encoder".
    rows = [
        *(
            system("BM25", name, runs=["first"])
            for name in ("None", "GPT4o", "Cross-Encoder-MiniLM")
        ),
        system("BM25", "Cross-Encoder", additional=True, runs=["second"]),
        system("BM25", "Mine", additional=True, runs=["second"]),
        system("BM25 + Mine", additional=True, runs=["second"]),
    ]
    lines = TABLES.lines(data, "table_e2", *rows, comparable=True).values()
    ours = {line.row for line in lines if not line.published}
    for name in ("BM25 / Cross-Encoder", "BM25 / Mine", "BM25 + Mine"):
        assert f"{name} / as-is / Short" in ours
    ran = [line for line in lines if line.published and line.verdict != "not run"]
    assert {line.runs for line in ran} == {"first"}


@pytest.mark.parametrize(
    ("table", "most"), [("table_d3", 1), ("table3", 100), ("table_d4", 100)]
)
def test_intervals_stay_within_the_range_of_a_score(data, table, most):
    rows = [
        system("BM25", runs=["first"]),
        system("BM25", "Cross-Encoder-MiniLM", runs=["second"]),
    ]
    cells = computed(data, table, *rows).values()
    ends = [(cell.low, cell.high) for cell in cells if cell.low is not None]
    # With three queries, Student's interval without limits would extend far beyond 0
    # and the maximum.
    assert min(low for low, _ in ends) == 0
    assert max(high for _, high in ends) == most


def test_a_fine_tuned_bi_encoder_is_compared_with_itself_before_training(data):
    before = system("Bi-Encoder-MiniLM", model="minilm", runs=["first"])
    after = system(
        "MiniLM fine-tuned",
        model="minilm",
        tuned=True,
        additional=True,
        runs=["second", "second"],
    )
    cells = computed(
        data, "table_d4", system("BM25", model=None, runs=["second"]), before, after
    )
    row = "MiniLM fine-tuned / None / fine-tuned"
    assert cells[row, "NDCG@5"].seeds == (cells[row, "NDCG@5"].value,) * 2
    old, new = (
        computed(data, "table3", one)[name, "NDCG@5"].value
        for name, one in (
            ("Bi-Encoder-MiniLM / None", before | {"additional": True}),
            ("MiniLM fine-tuned / None", after),
        )
    )
    assert new > old
    assert cells[row, "NDCG@5 change"].value == pytest.approx(new - old)
    assert {name for name, _ in cells} == {row}


def test_rows_are_compared_under_their_names(data):
    bm25 = system("BM25", "GPT4o", reason="an API")
    ours = system("Ours", additional=True, runs=["first"])
    cells = computed(data, "table3", bm25, ours)
    assert cells["Ours / None", "NDCG@5"].score == Score(
        "NDCG@5", "Ours / None", "NDCG@5", "all", "queries", 100
    )
    # A published row without a run is compared by its published value.
    assert cells["BM25 / GPT4o", "NDCG@5"].score.measure == "NDCG@5"
    category = "Restrictive Covenants"
    cell = computed(data, "table_d1", ours)[f"{category} / Ours", "NDCG@5"]
    assert cell.score == Score(
        f"NDCG@5, {category}", "Ours", "NDCG@5", f"category: {category}", "queries"
    )
