"""The retrieval data set (queries and pools of opinions) and the training set for
rerankers.
"""

import numpy as np
import pytest

from helpers.opinion_rows import ABOUT, OTHERS, encode, example, opinion
from lextables.corpora.caselaw.ingest import OPINIONS
from lextables.papers.lawngnli.dataset import retrieval
from lextables.papers.lawngnli.dataset.examples import EXAMPLES, UNFILTERED
from lextables.papers.lawngnli.dataset.labels import LABELS
from lextables.papers.lawngnli.dataset.retrieval import (
    DOCUMENTS,
    JUDGEMENTS,
    QUERIES,
    RERANKING,
    write_reranking,
    write_retrieval,
)
from lextables.pipeline import dataset

ASKED = [
    example("1-0:5", 10, "rent"),
    example("1-0:5", 10, "no rent", label="contradict", is_twin=True),
    example("2-0:5", 1, "rent", citing=2),
    example("3-0:5", 1, "rent", label="neutral"),
    example("4-0:5", 1, "rent", split="train"),
    example("5-0:5", 1, "rent", analysis=False),
    example("6-0:5", 22, "rent", place="Utah"),
]


@pytest.fixture
def made(tmp_path):
    """Return a function that writes the data set of the rows above and returns {table:
    rows} and counts.
    """

    def make(others, cut=3, examples=ASKED, opinions=(*ABOUT, *OTHERS), encode=encode):
        dataset.write(EXAMPLES, examples, tmp_path / "examples.parquet")
        shards = []
        for number, start in enumerate(range(0, len(opinions), cut)):
            shards.append(tmp_path / f"{number}.parquet")
            dataset.write(OPINIONS, opinions[start : start + cut], shards[-1])
        tables = {
            table.name: tmp_path / f"{table.name}.parquet"
            for table in (QUERIES, DOCUMENTS, JUDGEMENTS)
        }
        counts = write_retrieval(
            tmp_path / "examples.parquet", shards, encode, encode, tables, others
        )
        return {name: list(dataset.read(path)) for name, path in tables.items()}, counts

    return make


def pools(tables):
    found = {}
    for row in tables["judgements"]:
        found.setdefault(row["query_id"], {})[row["document_id"]] = row["gain"]
    return found


def test_queries_are_entail_and_contradict_test_examples_of_the_analysis_subset(made):
    tables, counts = made(3)
    assert [(row["query_id"], row["label"]) for row in tables["queries"]] == [
        ("1-0:5", "entail"),
        ("1-0:5+twin", "contradict"),
        ("2-0:5", "entail"),
        ("6-0:5", "entail"),
    ]
    assert counts.queries == 4


def test_a_pool_has_the_target_and_the_nearest_opinions_of_its_jurisdiction(made):
    found = pools(made(3)[0])
    assert found["1-0:5"] == {"10-0": 1, "1-0": 0, "2-0": 0, "3-0": 0}
    # The target is one of the nearest opinions, so there are three others.
    assert found["2-0:5"] == {"1-0": 1, "2-0": 0, "3-0": 0, "4-0": 0}
    assert found["6-0:5"] == {"22-0": 1}


def test_documents_are_the_unchanged_opinions_of_all_pools(made):
    tables, counts = made(3)
    texts = {row["document_id"]: row["text"] for row in tables["documents"]}
    expected = {row["opinion_id"]: row["text"] for row in (*ABOUT, *OTHERS)}
    assert set(texts) == set().union(*pools(tables).values())
    assert texts.items() <= expected.items()
    assert counts.opinions == 11  # ten of Ohio, one of Utah


def test_small_jurisdictions_are_counted(made):
    assert made(3)[1].small == {"Utah": 1}
    tables, counts = made(20)
    assert counts.small == {"Ohio": 10, "Utah": 1}
    assert len(pools(tables)["1-0:5"]) == 10


def test_the_census_counts_nearest_targets_and_citing_opinions_in_pools(made):
    _, counts = made(3)
    assert counts.size == 4
    assert (
        counts.target_first == 2
    )  # 2-0:5, whose target is nearest, and 6-0:5, which has no other
    assert counts.citing_in_pool == 1  # case 2 is the citing case of 2-0:5


def test_targets_that_tie_with_other_opinions_are_nearest(made):
    def rent(texts):
        return np.array(
            [[1, 0] if "rent" in text else [0, 1] for text in texts], dtype=np.float32
        )

    opinions = [opinion(1, "rent"), opinion(2, "rent"), opinion(3, "house")]
    asked = [
        example("1-0:5", 1, "rent"),
        example("2-0:5", 2, "rent"),
        example("3-0:5", 3, "rent"),
    ]
    assert made(3, examples=asked, opinions=opinions, encode=rent)[1].target_first == 2


def test_a_pool_has_a_thousand_opinions_as_in_the_paper():
    # Section 4.2: the target and the 999 nearest other opinions of its jurisdiction.
    assert retrieval.OTHERS == 999


@pytest.mark.parametrize("cut", [1, 4, 50])
def test_the_result_does_not_depend_on_shards_or_batches(made, monkeypatch, cut):
    whole = made(3)
    monkeypatch.setattr(retrieval, "BATCH", cut)
    assert made(3, cut) == whole


def test_similarity_is_the_inner_product(made):
    tables, _ = made(3)
    texts = {row["document_id"]: row["text"] for row in tables["documents"]}
    queries = {row["query_id"]: row["text"] for row in tables["queries"]}
    assert tables["judgements"]
    for row in tables["judgements"]:
        one, other = encode([queries[row["query_id"]], texts[row["document_id"]]])
        assert row["similarity"] == pytest.approx(float(one @ other), abs=1e-5)


# The training set for rerankers.

LONG = opinion(
    30,
    "\n".join(
        f"See 1 U.S. {n}. {'taxes' if n % 3 else 'tolls'} p{n}" for n in range(1, 10)
    ),
)
FOR_TRAINING = [
    example("1-0:5", 30, "tolls", split="train"),
    example("1-0:5", 30, "no tolls", label="contradict", split="train", is_twin=True),
    # They are about case 1, but their premise was replaced.
    example("2-0:5", 30, "rent", label="neutral", split="train", analysis=False),
    example(
        "2-0:5",
        30,
        "no rent",
        label="neutral",
        split="train",
        analysis=False,
        is_twin=True,
    ),
    example("3-0:5", 22, "rent", label="neutral", place="Utah"),
]
ABOUT_CASE = {"1-0:5": 30, "2-0:5": 1, "3-0:5": 22}


@pytest.fixture
def trained_on(tmp_path, monkeypatch):
    monkeypatch.setattr(retrieval, "CANDIDATES", 3)

    def make(seed=0):
        dataset.write(EXAMPLES, FOR_TRAINING, tmp_path / "e")
        kept = [example(name, case, "x") for name, case in ABOUT_CASE.items()]
        outcome = {"fault": None, "rejection": None, "negated": False, "twin": "y"}
        rows = [row | outcome for row in kept]
        dataset.write(UNFILTERED, rows, tmp_path / "u")
        dataset.write(OPINIONS, [*ABOUT, *OTHERS, LONG], tmp_path / "o")
        tables = {table.name: tmp_path / table.name for table in RERANKING}
        files = tmp_path / "e", tmp_path / "u", [tmp_path / "o"]
        count = write_reranking(*files, encode, encode, seed, tables)
        found = {name: list(dataset.read(path)) for name, path in tables.items()}
        assert count == len(found["examples"])
        texts = {row["text_id"]: row["text"] for row in found["texts"]}
        assert len(texts) == len(found["texts"])
        for row in found["examples"]:
            row["premise"] = texts[row["text_id"]]
            row["hypothesis"] = texts[row["pair_id"]]
        return {row["example_id"]: row for row in found["examples"]}, found["heads"]

    return make


def test_entail_and_contradict_keep_five_paragraphs_of_their_opinion(trained_on):
    rows, heads = trained_on()
    assert heads == [{"head_id": "nli", "answers": list(LABELS)}]
    lines = LONG["text"].split("\n")
    for name, label in (("1-0:5", "entail"), ("1-0:5+twin", "contradict")):
        row = rows[name]
        assert LABELS[row["label"]] == label
        assert (row["opinion_id"], row["split"]) == ("30-0", "train")
        kept = row["premise"].split("\n")
        assert len(kept) == 5 and kept == [line for line in lines if line in kept]
        assert {line for line in lines if "tolls" in line} <= {*kept}
    assert rows["1-0:5+twin"]["hypothesis"] == "no tolls"


def test_neutral_hypotheses_get_one_of_the_nearest_other_opinions(trained_on):
    rows, _ = trained_on()
    drawn = {trained_on(seed)[0]["2-0:5"]["opinion_id"] for seed in range(20)}
    assert drawn == {"2-0", "3-0", "4-0"}  # the three nearest to "rent" except case 1
    assert LABELS[rows["2-0:5"]["label"]] == "neutral"
    assert rows["2-0:5"]["premise"] in {row["text"] for row in ABOUT}


def test_examples_without_another_opinion_are_excluded_and_analysis_is_marked(
    trained_on,
):
    rows, _ = trained_on()
    assert "3-0:5" not in rows and len(rows) == 4
    assert [rows[name]["analysis"] for name in ("1-0:5", "2-0:5")] == [True, False]
