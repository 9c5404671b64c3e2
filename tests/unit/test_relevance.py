"""Relevance of a retrieval data set and labels of a spans data set with its texts."""

import pandas as pd
import pytest

from lextables.report import relevance

# Runs of eight words: five in a clause of twelve words, none in a shorter text.
RENT = "the tenant pays the rent of 900 dollars on each first day"
AUDIT = "the licensor may audit all books of the licensee once a year"
OTHER = "this letter is a summary that has no effect between the parties"
TASK = {
    "names": {
        "documents": "clauses",
        "document": "clause_id",
        "gain": "score",
        "text": "text",
    },
    "top_gain": 4,
}


@pytest.fixture
def data(tmp_path):
    """A clause for each text, and answers with the labels `Audit`, `Rent` and
    `Both`.
    """
    clauses = {"rent": RENT, "audit": AUDIT, "other": OTHER, "short": "Governing law."}
    answers = [
        ("Audit", f"{AUDIT}, at its own cost."),
        ("Rent", RENT.upper().replace("900", "1,500.75").replace(" ", "\n")),
        ("Both", RENT),
        ("Both", AUDIT),
    ]
    gains = {"rent": 2, "audit": 4, "other": 1, "short": 0}
    judgements = [("both", clause, gain) for clause, gain in gains.items()]
    judgements += [("rent", "rent", 4), ("rent", "audit", 1)]
    judgements += [("none", "other", 4), ("none", "short", 4)]
    tables = {
        "a/clauses": [{"clause_id": name, "text": t} for name, t in clauses.items()],
        "a/queries": [
            {"query_id": q, "split": "test"} for q in ("both", "rent", "none")
        ],
        "a/judgements": [
            {"query_id": query, "clause_id": clause, "score": gain}
            for query, clause, gain in judgements
        ],
        "c/questions": [
            {"question_id": f"q{at}", "category": label}
            for at, (label, _) in enumerate(answers)
        ],
        "c/answers": [
            {"question_id": f"q{at}", "text": text}
            for at, (_, text) in enumerate(answers)
        ],
    }
    for name, rows in tables.items():
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        pd.DataFrame(rows).to_parquet(path)
    return tmp_path


def test_each_query_has_the_label_whose_clauses_are_most_nearly_the_relevant_ones(data):
    compared = [{"dataset": "a", "task": TASK, "labels": "c"}]
    table = relevance.frame(compared, data)
    assert [*table.columns] == relevance.COLUMNS
    counts = table.drop(columns=["dataset", "split", "labels"]).set_index("query")
    assert counts.T.to_dict("list") == {
        # query: judged, relevant, label, labelled, both
        "both": [4, 2, "Both", 2, 2],
        "none": [2, 2, "", 0, 0],
        "rent": [2, 1, "Rent", 1, 1],
    }


@pytest.mark.parametrize(("runs", "labels"), [(20, {"Rent"}), (21, set())])
def test_a_document_has_a_label_if_a_quarter_of_its_runs_have_it(data, runs, labels):
    """Five runs of the document are in an answer: of 20 runs a quarter, of 21 less."""
    path = data / "c/answers.parquet"
    answers = pd.read_parquet(path)
    answers[answers.question_id == "q1"].to_parquet(path)
    added = runs + relevance.RUN - 1 - len(RENT.split())
    more = " ".join(f"word{chr(97 + at)}" for at in range(added))
    documents = {"one": f"{RENT} {more}"}
    assert {*relevance.labelled_documents(documents, data / "c")} == labels


def test_without_a_pair_of_data_sets_the_table_is_empty(tmp_path):
    assert relevance.frame([], tmp_path).to_csv(index=False) == (
        ",".join(relevance.COLUMNS) + "\n"
    )
