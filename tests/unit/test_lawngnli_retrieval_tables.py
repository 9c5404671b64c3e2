"""Tables 6 and 17: scores of the published cells, exact intervals, and sizes of the
pools.
"""

import json
from collections.abc import Mapping
from operator import itemgetter

import pytest

from lextables import ROOT
from lextables.metrics.intervals import exact_share_interval
from lextables.papers.lawngnli import tables
from lextables.papers.lawngnli.dataset.retrieval import JUDGEMENTS, QUERIES
from lextables.pipeline import dataset
from lextables.pipeline.run import SCORES
from lextables.registry.packages import load
from lextables.tables.inputs import Inputs
from lextables.tables.published import load as load_published
from lextables.tasks.retrieval.planner import Retriever

PAPER = load(ROOT / "resources/papers/lawngnli.yaml")
PRINTED = load_published(ROOT / "resources/published/lawngnli.csv")
ENTAIL = "Entail hypotheses as queries"
SIZES = {"q1": 20, "q2": 5, "q3": 20, "q4": 20}  # number of candidates per query
LABELS = {"q1": "entail", "q2": "entail", "q3": "contradict", "q4": "contradict"}


@pytest.fixture
def made(tmp_path):
    """Write the data set; return a function that computes the cells of a table from
    scores of runs.
    """
    data = tmp_path / "data/lawngnli_retrieval"
    shared = {"split": "test", "negated": False, "jurisdiction": "Ohio", "text": "x"}
    shared |= {"cited_case_id": 1, "citing_case_id": 2}
    queries, judged = [], []
    for name, label in LABELS.items():
        queries.append(shared | {"query_id": name, "label": label})
        for at in range(SIZES[name]):
            judgement = {"query_id": name, "document_id": f"{at:02}"}
            judged.append(judgement | {"gain": int(at == 0), "similarity": 0.5})
    data.mkdir(parents=True)
    dataset.write(QUERIES, queries, data / "queries.parquet")
    dataset.write(JUDGEMENTS, judged, data / "judgements.parquet")
    pools = {"size": 1000, "small": {"Ohio": 20}}
    (data / "census.json").write_text(json.dumps({"pools": pools}))

    def cells(table, systems: Mapping[str, Mapping]):
        """``systems`` is {name: (row of a plan, {condition: scores} or None without
        runs)}.
        """
        rows = []
        for key, (row, of_conditions) in systems.items():
            runs = {}
            for name, shares in (of_conditions or {}).items():
                runs[name] = [f"runs/{key}/{name}"]
                found = []
                for (cutoff, label), value in shares.items():
                    where = {"metric": f"Recall@{cutoff}", "group": f"label: {label}"}
                    found.append(where | {"value": value, "n": 2})
                found.sort(key=itemgetter("metric", "group"))
                dataset.write(
                    SCORES, found, tmp_path / runs[name][0] / "scores.parquet"
                )
            rows.append(row | {"runs": runs})
        printed = [cell for cell in PRINTED if cell.table == table]
        inputs = Inputs(data, tmp_path, rows, printed, PAPER, table)
        return {(cell.row, cell.column): cell for cell in tables.cells(table, inputs)}

    return cells


def system(retriever, reranker=None, documents=("whole",), **changed):
    """Return a row of the plan, with the keys that tables read.

    ``documents`` are the ways in which the retriever reads documents.  The runs of the
    first have the condition `text`, those of another way `text-<way>`.
    """
    way = Retriever(row=retriever, kind="bi-encoder", documents=documents)
    read = {name: how for name, (_, how) in way.conditions(["text"]).items()}
    return {
        "row": f"{retriever} / {reranker}",
        "retriever": retriever,
        "reranker": reranker or "None",
        "reranked": reranker is not None,
        "documents": way.reranked_reading,
        "read": {"text": way.reranked_reading} if reranker else read,
        "additional": False,
        "reason": "sample data",
        "trained": False,
        "averages": 1,
        "baseline": False,
        "lenient": False,
    } | changed


SHARES = {}
for cutoff, share in ((1, 0.0), (10, 0.5), (100, 1.0)):
    SHARES |= {(cutoff, "entail"): share, (cutoff, "contradict"): share}
BOTH = ("whole", "filtered")
WORSE = dict.fromkeys(SHARES, 0.0)


def test_table17_has_columns_for_whole_and_filtered_documents(made):
    ways = {
        "text": SHARES,
        "text-paragraphs": WORSE,
        "text-filtered": SHARES | {(1, "entail"): 1.0},
    }
    found = made(
        "table17",
        {
            "a": (
                system(
                    "MiniLM",
                    documents=("whole", "paragraphs", "filtered"),
                    additional=True,
                ),
                ways,
            ),
            "b": (system("all-mpnet-base-v2", documents=BOTH), None),
            "c": (system("BM25", documents=BOTH, reason="no GPU"), {"text": SHARES}),
        },
    )
    left_out = found[
        f"{ENTAIL} / BM25", "Long premise filtered by BM25 retrieval / Recall@1"
    ]
    assert (left_out.value, left_out.reason) == (None, "no GPU")
    assert found[f"{ENTAIL} / BM25", "Long premise / Recall@10"].reason == ""
    row = f"{ENTAIL} / MiniLM"
    assert found[row, "Long premise / Recall@10"].value == 0.5
    assert found[row, "Long premise / Recall@1"].value == 0.0
    assert found[row, "Long premise filtered by BM25 retrieval / Recall@1"].value == 1.0
    assert found[f"{row}, best paragraph", "Long premise / Recall@100"].value == 0.0
    assert (
        f"{row}, best paragraph",
        "Long premise filtered by BM25 retrieval / Recall@100",
    ) not in found
    cell = found[row, "Long premise / Recall@10"]
    assert (cell.low, cell.high) == exact_share_interval(1, 2) and cell.seeds is None
    assert cell.runs == ("runs/a/text",)
    missing = found[f"{ENTAIL} / all-mpnet-base-v2", "Long premise / Recall@1"]
    assert (missing.value, missing.reason) == (None, "sample data")


def test_table17_has_the_number_of_candidates_and_the_recall_of_a_random_order(made):
    found = made("table17", {"a": (system("BM25"), {"text": SHARES})})
    column = "Long premise / Recall@10"
    assert found["N", column].value == 2
    assert found["Candidates per query", column].value == pytest.approx(65 / 4)
    assert (
        found["Candidates per query", column].reason
        == "Ohio has 20 opinions (a pool has 1,000)"
    )
    assert found[
        f"{ENTAIL} / a random order, as expected", column
    ].value == pytest.approx((0.5 + 1) / 2)
    assert (
        found[
            "Contradict hypotheses as queries / a random order, as expected", column
        ].value
        == 0.5
    )
    columns = {row: [of for name, of in found if name == row] for row, _ in found}
    whole = [f"Long premise / Recall@{cutoff}" for cutoff in (1, 10, 100)]
    filtered = [
        f"Long premise filtered by BM25 retrieval / Recall@{cutoff}"
        for cutoff in (1, 10, 100)
    ]
    # The candidates are the same opinions, whole or filtered.
    assert columns["N"] == [*whole, *filtered]
    assert columns["Candidates per query"] == whole
    assert columns[f"{ENTAIL} / a random order, as expected"] == whole
    decimals = {row: cell.decimals for (row, of), cell in found.items() if of == column}
    assert decimals == {
        "N": None,
        "Candidates per query": 0,
        f"{ENTAIL} / BM25": 3,
        "Contradict hypotheses as queries / BM25": 3,
        f"{ENTAIL} / a random order, as expected": 3,
        "Contradict hypotheses as queries / a random order, as expected": 3,
    }


def test_table6_names_the_first_stage_of_additional_rows(made):
    column = "[Contradict hypotheses as queries] / Recall@10"
    found = made(
        "table6",
        {
            "a": (system("all-distilroberta-v1", "BM25", BOTH), {"text": SHARES}),
            "b": (
                system("all-MiniLM-L6-v2", "BM25", BOTH, additional=True),
                {"text": SHARES},
            ),
            "c": (
                system("all-MiniLM-L6-v2", None, BOTH, additional=True),
                {"text": WORSE, "text-filtered": SHARES},
            ),
            "d": (
                system(
                    "all-MiniLM-L6-v2",
                    "A classifier",
                    BOTH,
                    additional=True,
                    trained=True,
                ),
                {"text": SHARES},
            ),
        },
    )
    assert found["BM25", column].value == 0.5
    assert found["BM25, over all-MiniLM-L6-v2", column].value == 0.5
    assert found["no reranker, over all-MiniLM-L6-v2", column].value == 0.5
    assert found["A classifier, over all-MiniLM-L6-v2", column].seeds == (0.5,)
    assert found["N", column].value == 2
