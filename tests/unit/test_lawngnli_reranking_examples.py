"""The training set for rerankers: own opinions as they are, and near but incorrect ones for Neutral."""

import pytest

from lextables.corpora.caselaw.ingest import OPINIONS
from lextables.papers.lawngnli import retrieval
from lextables.papers.lawngnli.examples import EXAMPLES, UNFILTERED
from lextables.papers.lawngnli.labels import LABELS
from lextables.papers.lawngnli.retrieval import RERANKING, write_reranking
from lextables.pipeline import dataset
from opinion_rows import ABOUT, OTHERS, encode, example, opinion

LONG = opinion(30, "\n".join(f"See 1 U.S. {n}. {'taxes' if n % 3 else 'tolls'} p{n}" for n in range(1, 10)))
ASKED = [
    example("1-0:5", 30, "tolls", split="train"),
    example("1-0:5", 30, "no tolls", label="contradict", split="train", is_twin=True),
    # Their premise is another's by now; they are about case 1.
    example("2-0:5", 30, "rent", label="neutral", split="train", analysis=False),
    example("2-0:5", 30, "no rent", label="neutral", split="train", analysis=False, is_twin=True),
    example("3-0:5", 22, "rent", label="neutral", place="Utah"),
]
ABOUT_CASE = {"1-0:5": 30, "2-0:5": 1, "3-0:5": 22}


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(retrieval, "CANDIDATES", 3)

    def make(seed=0):
        dataset.write(EXAMPLES, ASKED, tmp_path / "e")
        kept = [example(name, case, "x") for name, case in ABOUT_CASE.items()]
        names = {column.name for column in UNFILTERED.columns}
        outcome = {"fault": None, "rejection": None, "negated": False, "twin": "y"}
        rows = [{k: v for k, v in (row | outcome).items() if k in names} for row in kept]
        dataset.write(UNFILTERED, rows, tmp_path / "u")
        dataset.write(OPINIONS, [*ABOUT, *OTHERS, LONG], tmp_path / "o")
        tables = {table.name: tmp_path / table.name for table in RERANKING}
        count = write_reranking(
            tmp_path / "e", tmp_path / "u", [tmp_path / "o"], encode, encode, seed, tables
        )
        found = {name: list(dataset.read(path)) for name, path in tables.items()}
        assert count == len(found["examples"])
        texts = {row["text_id"]: row["text"] for row in found["texts"]}
        assert len(texts) == len(found["texts"])
        return {
            row["example_id"]: row | {"premise": texts[row["text_id"]], "hypothesis": texts[row["pair_id"]]}
            for row in found["examples"]
        }, found["heads"]

    return make


def test_entail_and_contradict_keep_their_opinion_with_its_citations_cut_to_five_paragraphs(made):
    rows, heads = made()
    assert heads == [{"head_id": "nli", "answers": list(LABELS)}]
    lines = LONG["text"].split("\n")
    for name, label in (("1-0:5", "entail"), ("1-0:5+twin", "contradict")):
        row = rows[name]
        assert (LABELS[row["label"]], row["opinion_id"], row["split"]) == (label, "30-0", "train")
        kept = row["premise"].split("\n")
        assert len(kept) == 5 and kept == [line for line in lines if line in kept]
        assert {line for line in lines if "tolls" in line} <= {*kept}
    assert rows["1-0:5+twin"]["hypothesis"] == "no tolls"


def test_neutral_hypotheses_get_one_of_the_nearest_that_is_not_their_own(made):
    rows, _ = made()
    drawn = {made(seed)[0]["2-0:5"]["opinion_id"] for seed in range(20)}
    assert drawn == {"2-0", "3-0", "4-0"}  # the three nearest to "rent" but for case 1
    assert LABELS[rows["2-0:5"]["label"]] == "neutral"
    assert rows["2-0:5"]["premise"] in {row["text"] for row in ABOUT}


def test_where_no_other_opinion_is_there_the_example_is_left_out(made):
    rows, _ = made()
    assert "3-0:5" not in rows and len(rows) == 4


def test_the_analysis_subset_is_marked(made):
    rows, _ = made()
    assert [rows[name]["analysis"] for name in ("1-0:5", "2-0:5")] == [True, False]
