"""The reader of CUAD's files; the census of the sample pins every row."""

import pytest

from helpers.registered import ROOT, read, written
from lextables.pipeline.dataset import check_census
from lextables.registry import packages

DISTRIBUTOR = "TALLOWCREEKINC_03_14_2011-EX-10.4-DISTRIBUTOR AGREEMENT"


@pytest.fixture(scope="module")
def rows():
    return read("cuad", "cuad").of


def test_the_sample_has_the_registered_rows(tmp_path):
    written("cuad", "cuad", tmp_path, read("cuad", "cuad"))


@pytest.mark.parametrize("paper", ["cuad", "contracteval"])
def test_the_registered_counts_of_the_release_are_those_of_the_rebuilt_data(paper):
    entry = packages.load(ROOT / f"resources/papers/{paper}.yaml").data[paper]
    check_census(entry.census["rebuilt"], entry.census["release"], paper)
    assert entry.census["release"]["contracts"]["labels"]["split"]["test"] == 102


def test_every_answer_is_the_text_at_its_position(rows):
    texts = {row["contract_id"]: row["text"] for row in rows["contracts"]}
    contract_of = {row["question_id"]: row["contract_id"] for row in rows["questions"]}
    assert rows["answers"]
    for answer in rows["answers"]:
        text = texts[contract_of[answer["question_id"]]]
        assert text[answer["start"] : answer["end"]] == answer["text"]


def test_categories_are_matched_under_both_spellings(rows):
    by_name = {row["category"]: row for row in rows["categories"]}
    assert len(by_name) == 41
    assert by_name["Ip Ownership Assignment"]["title"] == "IP Ownership Assignment"
    assert by_name["Insurance"]["group"] == ""
    assert by_name["License Grant"]["group"] == "4"
    assert by_name["Affiliate License-Licensee"]["answer_format"] == ""
    for row in rows["questions"]:
        assert by_name[row["category"]]["description"] in row["question"]


def test_training_examples_are_the_answers_of_the_training_contracts(rows):
    wanted = [(a["question_id"], a["start"], a["end"]) for a in rows["answers"]]
    wanted += [
        (q["question_id"], -1, -1) for q in rows["questions"] if not q["answers"]
    ]
    split = {row["question_id"]: row["split"] for row in rows["questions"]}
    examples = rows["training_examples"]
    assert sorted((e["question_id"], e["start"], e["end"]) for e in examples) == sorted(
        row for row in wanted if split[row[0]] == "train"
    )
    parties = [e for e in examples if e["question_id"] == f"{DISTRIBUTOR}__Parties"]
    assert [e["example_id"][-2:] for e in parties] == ["_0", "_1", "_2", "_3", "_4"]
    assert {e["category"] for e in parties} == {"Parties"}


def test_the_clause_table_gives_clauses_and_supplementary_answers(rows):
    found = {}
    for row in rows["clauses"]:
        found[row["contract_id"], row["category"], row["index"]] = row["text"]
    assert found[DISTRIBUTOR, "Parties", 1] == "Tallow Creek"
    assert " <omitted> " in found[DISTRIBUTOR, "Insurance", 0]
    answers = {}
    for row in rows["supplementary"]:
        answers[row["contract_id"], row["category"]] = row["answer"]
    assert len(answers) == 8 * 41
    assert answers[DISTRIBUTOR, "Notice Period To Terminate Renewal"] == "90 days"
    # White space around an answer is not part of it.
    assert not [answer for answer in answers.values() if answer != answer.strip()]


def test_type_and_pages_are_recorded_for_the_release_and_the_sample(rows):
    recorded = (ROOT / "resources/facts/cuad_contracts.csv").read_text(encoding="utf-8")
    assert len(recorded.splitlines()) == 1 + 510 + len(rows["contracts"])
    (hosting,) = [row for row in rows["contracts"] if "Hosting" in row["contract_id"]]
    assert hosting["contract_type"] == "Hosting Agreement"
    assert (hosting["split"], hosting["pages"]) == ("test", 6)
