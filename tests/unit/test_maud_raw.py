"""The reader of MAUD's files; the census of the sample pins every row."""

import csv
import io
import json
from collections import Counter

import pytest

from helpers.registered import ROOT, SAMPLE, read, written
from helpers.released_zips import altered
from lextables.papers.maud import raw
from lextables.papers.maud.catalogue import (
    NO_SUBQUESTION,
    AuthorSettings,
    author_number,
    read_catalogue,
)
from lextables.papers.maud.schema import PUBLISHED_SETTINGS, TABLES
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput

ZIP = SAMPLE / "maud/maud_v1.zip"
CATALOGUE = read_catalogue((ROOT / "resources/facts/maud_questions.yaml").read_bytes())


@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_sample_has_the_registered_rows(tmp_path, name):
    rows = read("maud", name)
    written("maud", name, tmp_path, rows)
    if name == "maud":
        assert rows.notes["heads_with_examples"] == 144
        assert rows.notes["conditions_of_no_question"] == 1


# The questions


def test_the_record_has_the_questions_and_heads_of_section_3():
    assert (len(CATALOGUE.questions), len(CATALOGUE.heads)) == (92, 144)
    assert len({question.question for question in CATALOGUE.questions}) == 92
    for question in CATALOGUE.questions:
        # A label is the place of an answer.
        assert list(question.answers) == sorted(set(question.answers))
        assert len(question.answers) > 1


def test_questions_are_found_with_any_white_space():
    wording = "Fiduciary exception: Board  determination standard-Answer (no-shop)"
    assert CATALOGUE.has(wording) and not CATALOGUE.has("no such question")
    assert CATALOGUE.head(wording, NO_SUBQUESTION).head_id == "63"
    assert CATALOGUE.head("FLS (MAE) applies to", "No").head_id == "15-00"
    assert CATALOGUE.head("FLS (MAE) applies to", NO_SUBQUESTION) is None


# The authors' settings


def test_author_numbers_13_1_and_13_10_are_different():
    """As numbers, 13.1 and 13.10 would be equal."""
    questions = read("maud", "maud").of["questions"]
    numbers = {row["head_id"]: row["author_number"] for row in questions}
    assert (numbers["06-01"], numbers["06-10"]) == ("13.1", "13.10")
    assert author_number("13-10") == "13.10"


def test_published_settings_are_per_model_share_and_head_or_for_all_heads(tmp_path):
    rows = read("maud", "maud").of
    settings = rows["published_settings"]
    assert write(PUBLISHED_SETTINGS, settings, tmp_path / "settings") == 9 * 144 + 3
    single = [row for row in settings if row["setting"] == "single"]
    assert len(single) == len(rows["hyperparameters"])
    assert all(row["updates"] and not row["epochs"] for row in single)
    multi = [row for row in settings if row["setting"] == "multi"]
    assert {(row["head_id"], row["share"], row["updates"]) for row in multi} == {
        ("all heads", 1, 0)
    }


def test_multi_task_settings_are_the_first_best_with_abridged_data():
    grid = []
    for abridged, rate, value in (
        (True, 1e-5, 0.5),
        (True, 3e-5, 0.6),
        (True, 1e-4, 0.6),
        (False, 1, 0.9),
    ):
        row = {"model": "m", "abridged": abridged, "learning_rate": rate}
        grid.append(row | {"epochs": 1, "validation_aupr": value})
    (row,) = raw.published_settings(AuthorSettings([], grid, {}))
    assert row["learning_rate"] == 3e-5


# The examples


def edited(edit):
    """Return a change of a csv file; ``edit`` gets the list of its records."""

    def change(content):
        rows = list(csv.DictReader(io.StringIO(content.decode(), newline="")))
        edit(rows)
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()

    return change


@pytest.mark.parametrize(
    "edit",
    [
        {"question": "Is it cash?"},
        {"subquestion": "All Cash"},
        {"label": "3"},
        {"label": "1.0"},
        {"answer": "Some Cash"},
    ],
)
def test_a_row_unlike_the_recorded_questions_raises_with_its_place(tmp_path, edit):
    """Rows of a release that was not read so far may differ from the record."""

    def change(rows):
        (first, *_) = [row for row in rows if row["answer"] == "All Cash"]
        rows.remove(first)
        rows.insert(0, first | edit)

    path = altered(ZIP, tmp_path / ZIP.name, {"MAUD_test.csv": edited(change)})
    with pytest.raises(BadInput, match=r"^MAUD_test\.csv, row 2: .*maud_questions"):
        raw.read_release(path, CATALOGUE)


def test_a_label_of_a_multilabel_answer_that_is_wrong_raises(tmp_path):
    def change(rows):
        for row in rows:
            if row["question"] == "FLS (MAE) applies to" and row["label"] == "0":
                row["label"] = "1"

    path = altered(ZIP, tmp_path / ZIP.name, {"MAUD_test.csv": edited(change)})
    with pytest.raises(BadInput, match="the label is 1 where"):
        raw.read_release(path, CATALOGUE)


def test_a_contract_of_the_examples_may_have_no_text(tmp_path):
    examples, _ = raw.read_release(ZIP, CATALOGUE)
    path = altered(ZIP, tmp_path / ZIP.name, {"contract_3.txt": None})
    contracts = list(raw.contract_rows(path, examples))
    assert [row["contract_id"] for row in contracts if row["text"] is None] == [
        "contract_3"
    ]
    assert sum(row["examples"] for row in contracts) == sum(
        row["contract"] is not None for row in examples
    )


# The extraction task


def test_a_question_about_an_unknown_deal_point_type_raises(tmp_path):
    squad = json.loads((SAMPLE / "maud_extraction/maud_squad_dev.json").read_bytes())
    squad["data"][0]["paragraphs"][0]["qas"][1]["question"] = "What?"
    path = tmp_path / "maud_squad_dev.json"
    path.write_text(json.dumps(squad), encoding="utf-8")
    with pytest.raises(BadInput, match="about no known deal point type: 'What"):
        raw.read_squad_release([path], CATALOGUE, {})


QUERIES = {
    "No-Shop": "Where is the No-Shop Clause",
    "Knowledge Definition": 'What is the Definition of  "Knowledge"',
    "Specific Performance": "About something else",  # has no type
}


def test_spans_of_legalbench_rag_are_matched_to_the_contracts(tmp_path):
    squad = read("maud", "maud_extraction").of
    snippets_of = {}
    for row in squad["answers"]:
        contract, _, text_type = row["question_id"].partition("__")
        snippet = {
            "file_path": f"maud/Parties {contract}.txt",
            "span": [row["start"], row["end"]],
            "answer": row["text"],
        }
        snippets_of.setdefault((contract, text_type), []).append(snippet)
    tests = [
        {"query": f'Consider the "X"; {QUERIES[text_type]}', "snippets": snippets}
        for (_, text_type), snippets in snippets_of.items()
        if text_type in QUERIES
    ]
    path = tmp_path / "extraction_spans.json"
    path.write_text(json.dumps({"tests": tests}), encoding="utf-8")
    rows = read("maud", "maud_extraction", files={"extraction": [path]})

    def spans(answers):
        return {(row["question_id"], row["start"], row["end"]) for row in answers}

    typed = [
        row
        for row in squad["answers"]
        if row["question_id"].endswith(("__No-Shop", "__Knowledge Definition"))
    ]
    assert spans(rows.of["answers"]) == spans(typed)
    assert all(row["answers"] for row in rows.of["questions"])
    assert len(rows.of["questions"]) == 16
    assert Counter(row["split"] for row in rows.of["contracts"]) == {
        "train": 6,
        "dev": 1,
        "test": 1,
    }
    assert rows.notes["annotations"] == 24
    assert rows.notes["annotations_of_no_type"] == 8
    assert rows.notes["spans"] == len(typed) + rows.notes["spans_of_no_type"]


def test_contracts_are_split_80_10_10_regardless_of_their_order():
    contracts = [f"contract_{number}" for number in range(152)]
    splits = raw.split_contracts(contracts)
    assert Counter(splits.values()) == {"train": 122, "dev": 15, "test": 15}
    assert raw.split_contracts(reversed(contracts)) == splits
