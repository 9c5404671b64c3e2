"""The reader of MAUD's files: its rows, and the message for each error."""

import csv
import io
import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import yaml

from lextables.papers.maud import raw
from lextables.papers.maud.catalogue import (
    AuthorSettings,
    author_number,
    read_author_settings,
    read_recorded,
)
from lextables.papers.maud.schema import PUBLISHED_SETTINGS, TABLES
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from registered import read, written
from released_zips import altered as altered_zip
from released_zips import replaced

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "resources/sample/maud"
ZIP = SAMPLE / "maud_v1.zip"
SQUAD = {
    split: ROOT / f"resources/sample/maud_extraction/maud_squad_{split}.json"
    for split in raw.SPLITS
}
PRINTED = {
    "Fiduciary exception to COR convent": "Fiduciary exception to COR covenant",
    "Negative interim operating convenant": "Negative interim operating covenant",
}
SINGLE = [
    f"best_found_hps/{folder}/df_best_hps_spec_id.csv"
    for folder in (
        "basic_post_contract_v1",
        "basic_legal_berts_v1",
        "basic_bb_post_contract_800_v0",
        "basic_partial_post_contract_v1",
    )
]
MULTI = {
    "best_found_hps/multi_task.md": True,
    "best_found_hps/multi_task_no_abridged.md": False,
}


def settings_files():
    single = {name: (SAMPLE / name).read_bytes() for name in SINGLE}
    return single, {
        name: ((SAMPLE / name).read_bytes(), abridged)
        for name, abridged in MULTI.items()
    }


LISTED = (ROOT / "resources/facts/maud_questions.yaml").read_bytes()
RECORDED = read_recorded(LISTED, "questions.yaml", 92, 144)
CATALOGUE, ASKED = raw.read_catalogue(ZIP, RECORDED)
SETTINGS = read_author_settings(*settings_files(), CATALOGUE)


def released(path=ZIP):
    catalogue, _ = raw.read_catalogue(path, RECORDED)
    return raw.read_release(path, catalogue, SETTINGS.author_numbers)


@pytest.fixture(scope="module")
def rows():
    return released()


@pytest.fixture(scope="module")
def members():
    with zipfile.ZipFile(ZIP) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def altered(tmp_path):
    """Write the zip with members changed (by the end of their path) and return its path."""
    return lambda changes: altered_zip(ZIP, tmp_path / "maud_v1.zip", changes)


def records(content):
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def edited(edit):
    """Return a change of a csv file; ``edit`` gets the list of records and may return another list."""

    def change(content):
        rows = records(content)
        header = list(rows[0])
        rows = edit(rows) or rows
        text = io.StringIO()
        writer = csv.DictWriter(text, header, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode()

    return change


def line_of(content, place):
    """The line at which record ``place`` (0-based) of a csv file begins."""
    reader = csv.reader(io.StringIO(content.decode(), newline=""))
    next(reader)
    begins = reader.line_num + 1
    for _ in range(place):
        next(reader)
        begins = reader.line_num + 1
    return begins


def first(rows, **wanted):
    """The index of the first record with these values."""
    return next(i for i, row in enumerate(rows) if row | wanted == row)


# The questions


def test_questions_are_found_with_any_white_space():
    wording = "Fiduciary exception: Board  determination standard-Answer (no-shop)"
    assert CATALOGUE.question(wording).number == 63
    assert CATALOGUE.question("A/P/C application to-Answer").multilabel
    assert CATALOGUE.question("no such question") is None
    question = CATALOGUE.question("FLS (MAE) applies to")
    assert CATALOGUE.head(question, "No").head_id == "15-00"
    assert CATALOGUE.head(question, None) is None


def test_the_csv_files_have_the_recorded_questions():
    assert CATALOGUE == RECORDED and CATALOGUE is not RECORDED
    assert ASKED == {"questions_from_the_record": 0, "answers_from_the_record": 0}


def reworded(record):
    """Another wording of some questions and of all answers."""
    record["question"] += " (reworded)" if len(record["question"]) % 2 else ""
    record["answer"] = ", ".join(
        f"{answer} it is" for answer in record["answer"].split(", ")
    )
    if record["subquestion"] != "<NONE>":
        record["subquestion"] += " it is"
    return record


def test_the_catalogue_uses_the_wording_of_the_files(altered):
    path = altered({".csv": edited(lambda rows: [reworded(record) for record in rows])})
    found, notes = raw.read_catalogue(path, RECORDED)
    assert found.questions[0].question == "Type of Consideration-Answer"
    assert found.questions[1].question.endswith(" (reworded)")
    assert [head.head_id for head in found.heads] == [
        head.head_id for head in RECORDED.heads
    ]
    for mine, recorded in zip(found.questions, RECORDED.questions, strict=True):
        assert mine.question.removesuffix(" (reworded)") == recorded.question
        assert mine.multilabel == recorded.multilabel
        # An answer with commas has the added words more than once.
        assert [answer.replace(" it is", "") for answer in mine.answers] == list(
            recorded.answers
        )
    assert notes == {"questions_from_the_record": 0, "answers_from_the_record": 0}
    assert (
        read_author_settings(*settings_files(), found).author_numbers
        == SETTINGS.author_numbers
    )


def test_answers_without_rows_are_read_from_the_record(altered):
    """For example, the release removes an abridged text that equals a main text."""
    gone = ("Type of Consideration-Answer", "Mixed Cash/Stock")
    path = altered(
        {
            ".csv": edited(
                lambda rows: [r for r in rows if (r["question"], r["answer"]) != gone]
            )
        }
    )
    found, notes = raw.read_catalogue(path, RECORDED)
    assert found == RECORDED and found is not RECORDED
    assert notes == {"questions_from_the_record": 0, "answers_from_the_record": 1}
    assert len(released(path).examples) < len(released().examples)


def test_the_record_is_the_catalogue_if_the_files_lack_questions(altered):
    path = altered(
        {
            ".csv": edited(
                lambda rows: [row for row in rows if row["category"] == "Knowledge"]
            )
        }
    )
    found, notes = raw.read_catalogue(path, RECORDED)
    assert found is RECORDED
    assert notes == {"questions_from_the_record": 89, "answers_from_the_record": 0}
    assert {row["head_id"] for row in released(path).examples} == {"50", "51", "52"}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda groups: groups[1]["questions"].pop(3),
            "questions.yaml: 91 questions make 143 heads where",
        ),
        (
            lambda groups: groups[1]["questions"][4]["answers"].pop(),
            "92 questions make 143 heads where the",
        ),
        (
            lambda groups: groups.append(groups[0]) or groups.pop(1),
            "86 questions make 122 heads where the",
        ),
        (
            lambda groups: groups[1]["questions"][1]["answers"].reverse(),
            "Standard Answer' are not two or more",
        ),
        (
            lambda groups: groups[1].pop("text_type"),
            "by deal point type (KeyError('text_type'))",
        ),
        (
            lambda groups: groups.append("no group"),
            "questions.yaml: not a list of questions by deal point ty",
        ),
    ],
)
def test_an_invalid_record_raises(edit, message):
    groups = yaml.safe_load(LISTED)
    edit(groups)
    with pytest.raises(BadInput) as error:
        read_recorded(yaml.safe_dump(groups).encode(), "questions.yaml", 92, 144)
    assert message in str(error.value)


# The authors' settings


def test_author_numbers_13_1_and_13_10_are_different():
    """As numbers, 13.1 and 13.10 would be equal."""
    assert SETTINGS.author_numbers["06-01"] == "13.1"
    assert SETTINGS.author_numbers["06-10"] == "13.10"
    assert author_number("13-10") == "13.10"


def changed_settings(name, old, new):
    single, multi = settings_files()
    if name in single:
        return single | {name: replaced(old, new)(single[name])}, multi
    return single, multi | {name: (replaced(old, new)(multi[name][0]), multi[name][1])}


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (SINGLE[0], b"update_num", b"updates", "the column 'update_num' is missing"),
        (
            SINGLE[1],
            b",100,",
            b",a hundred,",
            "the update_num 'a hundred' is not a number",
        ),
        (
            SINGLE[2],
            b"bigbird-roberta-base",
            b"bigbird",
            "has no settings for question",
        ),
        (
            SINGLE[0],
            b",13.3,",
            b",13.33,",
            "binary questions of number 13 where 'Accuracy of Fundamental",
        ),
        (SINGLE[1], b",Remedies", b",Knowledge", "is of a second category, Knowledge"),
        (
            SINGLE[3],
            b",13.2,",
            b",13.1,",
            "roberta-base has a second row for question 13.1",
        ),
        (
            SINGLE[3],
            b",13.2,",
            b",x.2,",
            "the spec_id 'x.2' is not the number of a question",
        ),
        (
            next(iter(MULTI)),
            b"  1.0  ",
            b"  1.0 what is ",
            "row 7: is no row of a table below a learning r",
        ),
    ],
)
def test_invalid_settings_raise(name, old, new, message):
    with pytest.raises(BadInput) as error:
        read_author_settings(*changed_settings(name, old, new), CATALOGUE)
    assert message in str(error.value)


def test_published_settings_are_per_model_share_and_head_or_for_all_heads(tmp_path):
    found = list(raw.published_settings(SETTINGS))
    ordered = sorted(
        found, key=lambda row: [row[name] for name in PUBLISHED_SETTINGS.key]
    )
    assert write(PUBLISHED_SETTINGS, ordered, tmp_path / "settings") == 9 * 144 + 3
    single = [row for row in found if row["setting"] == "single"]
    for row, theirs in zip(single, SETTINGS.hyperparameters, strict=True):
        assert {
            name: row[name] for name in row.keys() & theirs.keys()
        }.items() <= theirs.items()
        assert row["updates"] and not row["epochs"]
    multi = [row for row in found if row["setting"] == "multi"]
    assert {row["model"] for row in multi} == {
        row["model"] for row in SETTINGS.multi_task_grid
    }
    assert {(row["head_id"], row["share"], row["updates"]) for row in multi} == {
        ("all heads", 1, 0)
    }


def test_multi_task_settings_are_the_first_best_with_abridged_data():
    tried = ((True, 1e-5, 0.5), (True, 3e-5, 0.6), (True, 1e-4, 0.6), (False, 1, 0.9))
    grid = [
        {
            "model": "m",
            "abridged": abridged,
            "learning_rate": rate,
            "epochs": 1,
            "validation_aupr": value,
        }
        for abridged, rate, value in tried
    ]
    (row,) = raw.published_settings(AuthorSettings([], grid, {}))
    assert row["learning_rate"] == 3e-5


# The examples


def test_every_row_of_the_csv_files_is_an_example(rows, members):
    texts = {row["text_id"]: row["text"] for row in rows.texts}
    written = {
        f"{split}-{place:05d}": (split, record)
        for split in raw.SPLITS
        for place, record in enumerate(records(members[f"data/MAUD_{split}.csv"]), 1)
    }
    assert [row["example_id"] for row in rows.examples] == sorted(written)
    heads = {head.head_id: head for head in CATALOGUE.heads}
    for row in rows.examples:
        split, record = written[row["example_id"]]
        assert (row["split"], row["answer"], row["label"]) == (
            split,
            record["answer"],
            int(record["label"]),
        )
        assert texts[row["text_id"]] == record["text"]
        assert row["data_type"] == raw.DATA_TYPES[record["data_type"]]
        assert row["contract"] == (
            None if row["data_type"] == "rare" else record["contract_name"]
        )
        assert (row["subquestion"] or "<NONE>") == record["subquestion"]
        head = heads[row["head_id"]]
        if row["subquestion"] is None:
            assert head.answers[row["label"]] == row["answer"]
        else:
            assert row["label"] == (row["subquestion"] in row["answer"].split(", "))
    assert sum(row["examples"] for row in rows.texts) == len(rows.examples)
    assert any("\n" in text for text in texts.values())


def test_irregularities_are_counted(rows):
    assert rows.notes == {
        "answers_outside_the_list": 0,
        "rare_rows_that_stand_twice": 1,
        "rows_whose_id_is_not_the_authors": 0,
        "rows_without_a_contract": sum(
            row["data_type"] == "rare" for row in rows.examples
        ),
    }


def test_none_is_an_answer_and_not_a_missing_value(rows):
    assert [row["label"] for row in rows.examples if row["answer"] == "None"]
    assert not [row for row in rows.examples if not row["answer"]]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            {"data_type": "synthetic"},
            "the data type 'synthetic' is not known; use one of main, abridged, rare_a",
        ),
        (
            {"answer": "Some Cash"},
            "the answer 'Some Cash' is not in the list of 'Type of Consideration-Answer'",
        ),
        ({"label": "3"}, "the label is 3 where the answer 'All Cash' has the label 0"),
        ({"label": "all"}, "the label 'all' is not a whole number"),
        ({"label": "1.0"}, "the label '1.0' is not a whole number"),
        (
            {"question": "Is it cash?"},
            "the question 'Is it cash?' is not in the catalogue",
        ),
        (
            {"subquestion": "All Cash"},
            "'Type of Consideration-Answer' has no subquestion 'All Cash'; write <NO",
        ),
        (
            {"text_type": "No-Shop"},
            "the text_type is 'No-Shop' where 'Type of Consideration-Answer' has 'Type",
        ),
        (
            {"category": "Remedies"},
            "the category is 'Remedies' where 'Type of Consideration-Answer' has 'General",
        ),
        ({"text": " \n"}, "the text is empty; restore it from the release"),
    ],
)
def test_the_error_of_an_invalid_cell_gives_its_row(altered, members, edit, message):
    content = members["data/MAUD_test.csv"]
    place = first(records(content), answer="All Cash", data_type="main")
    path = altered({"MAUD_test.csv": edited(lambda rows: rows[place].update(edit))})
    with pytest.raises(BadInput) as error:
        released(path)
    assert f"MAUD_test.csv, row {line_of(content, place)}: {message}" in str(
        error.value
    )


def test_a_label_that_contradicts_a_multilabel_answer_raises(altered, members):
    wanted = {"question": "FLS (MAE) applies to", "subquestion": "No", "label": "0"}
    place = first(records(members["data/MAUD_test.csv"]), **wanted)
    path = altered(
        {"MAUD_test.csv": edited(lambda rows: rows[place].update(label="1"))}
    )
    with pytest.raises(
        BadInput, match=r"the label is 1 where the answer .* has the label 0; correct"
    ):
        released(path)


@pytest.mark.parametrize("kind", ["main", "abridged", "rare_answers"])
def test_unlisted_answers_of_multilabel_questions_raise_in_main_data_only(
    altered, members, kind
):
    """The lists of answers were built from the main data, so other rows may have unlisted answers."""
    wanted = {"question": "Limitations on FTR Exercise-Answer", "data_type": kind}
    place = first(records(members["data/MAUD_train.csv"]), **wanted)

    def add(rows):
        rows[place]["answer"] += ", an unheard-of breach"

    path = altered({"MAUD_train.csv": edited(add)})
    if kind == "main":
        with pytest.raises(
            BadInput, match="the answer 'an unheard-of breach' is not in the list of"
        ):
            released(path)
    else:
        assert released(path).notes["answers_outside_the_list"] == 1


@pytest.mark.parametrize("kind", ["main", "abridged", "rare_answers"])
def test_a_repeated_row_raises_unless_it_is_a_rare_answer(altered, members, kind):
    content = members["data/MAUD_dev.csv"]
    place = first(records(content), data_type=kind)
    path = altered({"MAUD_dev.csv": edited(lambda rows: rows.append(rows[place]))})
    if kind == "rare_answers":
        assert released(path).notes["rare_rows_that_stand_twice"] == 2
    else:
        message = rf"the row appears twice \(first at MAUD_dev.csv, row {line_of(content, place)}\); drop one"
        with pytest.raises(BadInput, match=message):
            released(path)


def test_rows_with_a_different_id_are_counted(altered, rows):
    path = altered(
        {
            "MAUD_dev.csv": edited(
                lambda found: [r.update(id="0") for r in found] and found
            )
        }
    )
    notes = released(path).notes
    assert notes["rows_whose_id_is_not_the_authors"] == sum(
        row["split"] == "dev" for row in rows.examples
    )


# The contracts


def contracts(path, rows):
    return list(raw.contract_rows(path, rows.examples))


def test_contracts_have_their_text_and_examples(altered, rows, members):
    found = contracts(ZIP, rows)
    assert [row["contract_id"] for row in found] == [f"contract_{n}" for n in range(8)]
    assert found[3]["text"] == members["data/contracts/contract_3.txt"].decode()
    assert sum(row["examples"] for row in found) == sum(
        row["contract"] is not None for row in rows.examples
    )
    without = contracts(altered({"contract_3.txt": None}), rows)
    assert [row["contract_id"] for row in without if row["text"] is None] == [
        "contract_3"
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda _: b" \n",
            "data/contracts/contract_3.txt: the contract is empty; restore",
        ),
        (
            lambda text: text[:9] + b"\xa0" + text[9:],
            "the byte 0xa0 at 9 is not UTF-8; rest",
        ),
    ],
)
def test_an_invalid_contract_raises(altered, rows, change, message):
    with pytest.raises(BadInput) as error:
        contracts(altered({"contract_3.txt": change}), rows)
    assert message in str(error.value)


# The extraction task


def extraction(files=SQUAD):
    return raw.read_squad_release(files, CATALOGUE, PRINTED)


def test_extraction_tables_are_consistent():
    found = extraction()
    assert Counter(row["split"] for row in found.contracts) == {
        "train": 6,
        "dev": 1,
        "test": 1,
    }
    assert len(found.questions) == 8 * 22
    assert {row["category"] for row in found.questions} == set(CATALOGUE.text_types)
    unanswered = [row for row in found.questions if not row["answers"]]
    assert len(unanswered) == 4 == found.notes["questions_without_an_answer"]
    assert len(found.training_examples) == len(found.answers) + len(unanswered)
    texts = {row["contract_id"]: row["text"] for row in found.contracts}
    contract_of = {row["question_id"]: row["contract_id"] for row in found.questions}
    for row in found.answers:
        assert (
            texts[contract_of[row["question_id"]]][row["start"] : row["end"]]
            == row["text"]
        )


def altered_squad(tmp_path, edit):
    content = json.loads(SQUAD["train"].read_bytes())
    edit(content["data"])
    path = tmp_path / "maud_squad_train.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return SQUAD | {"train": path}


def questions(data):
    return data[0]["paragraphs"][0]["qas"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda data: questions(data)[1].update(question="What?"),
            "asks about no known deal point type: 'What?'",
        ),
        (
            lambda data: questions(data)[1].update(
                question=questions(data)[0]["question"]
            ),
            "asks contract_0 about 'Type of Consideration' again, after 'contract_0__Type of Consideration'",
        ),
        (
            lambda data: data[0].update(title="contract_7"),
            "contract_7 is in test and in train; keep it in one",
        ),
        (
            lambda data: questions(data)[0]["answers"][0].update(answer_start=1),
            "is not at character 1",
        ),
    ],
)
def test_invalid_extraction_files_raise(tmp_path, edit, message):
    with pytest.raises(BadInput) as error:
        extraction(altered_squad(tmp_path, edit))
    assert message in str(error.value)


QUERIES = {
    "Where is the No-Shop Clause": "No-Shop",
    "What is the Knowledge": "Knowledge Definition",
}


def spans_file(tmp_path, edit=lambda tests: None):
    """Write LegalBench-RAG's file with spans of two deal point types and of a query without a type."""
    found = extraction()
    of_question = {}
    for row in found.answers:
        of_question.setdefault(row["question_id"], []).append(row)
    tests = []
    for question in found.questions:
        for query, text_type in (
            *QUERIES.items(),
            ("About something else", "Specific Performance"),
        ):
            if question["category"] == text_type:
                snippets = [
                    {
                        "file_path": f"maud/Parties {question['contract_id']}.txt",
                        "span": [row["start"], row["end"]],
                        "answer": row["text"],
                    }
                    for row in of_question[question["question_id"]]
                ]
                tests.append(
                    {"query": f'Consider the "X"; {query}', "snippets": snippets}
                )
    edit(tests)
    path = tmp_path / "extraction_spans.json"
    path.write_text(json.dumps({"tests": tests}), encoding="utf-8")
    return path


def test_spans_of_legalbench_rag_are_matched_to_the_contracts(tmp_path):
    found = raw.read_legalbench_rag(spans_file(tmp_path), ZIP, CATALOGUE, QUERIES)
    same = {
        (row["question_id"], row["start"], row["end"])
        for row in extraction().answers
        if row["question_id"].endswith(("__No-Shop", "__Knowledge Definition"))
    }
    assert {
        (row["question_id"], row["start"], row["end"]) for row in found.answers
    } == same
    assert (len(found.contracts), len(found.questions)) == (8, 16)
    assert (
        found.notes["annotations"] == 24 and found.notes["annotations_of_no_type"] == 8
    )
    assert found.notes["spans"] == len(same) + found.notes["spans_of_no_type"]
    assert all(row["answers"] for row in found.questions)
    assert Counter(row["split"] for row in found.contracts) == {
        "train": 6,
        "dev": 1,
        "test": 1,
    }


def test_a_single_extraction_file_is_read_as_legalbench_rags(tmp_path):
    found = read(
        "maud", "maud_extraction", files={"extraction": [spans_file(tmp_path)]}
    )
    assert (
        found.notes["spans"]
        == len(found.of["answers"]) + found.notes["spans_of_no_type"]
    )
    assert {row["category"] for row in found.of["questions"]} == {"No-Shop"}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda tests: tests[0]["snippets"][0].update(answer="elsewhere"),
            "no contract has the spans of",
        ),
        (
            lambda tests: tests.append(tests[0]),
            "test 25: asks 'What is the Knowledge' of maud/Parties contract_0",
        ),
    ],
)
def test_invalid_spans_raise(tmp_path, edit, message):
    with pytest.raises(BadInput) as error:
        raw.read_legalbench_rag(spans_file(tmp_path, edit), ZIP, CATALOGUE, QUERIES)
    assert message in str(error.value)


def test_contracts_are_split_80_10_10_regardless_of_their_order():
    contracts = [f"contract_{number}" for number in range(152)]
    splits = raw.split_contracts(contracts)
    assert Counter(splits.values()) == {"train": 122, "dev": 15, "test": 15}
    assert raw.split_contracts(reversed(contracts)) == splits


# The two data sets


@pytest.mark.parametrize("name", sorted(TABLES))
def test_the_sample_has_the_registered_rows(tmp_path, name):
    found = read("maud", name)
    written("maud", name, tmp_path, found)
    if name == "maud":
        expected = {
            "heads_with_examples": 144,
            "conditions_of_no_question": 1,
            "answers_from_the_record": 0,
        }
        assert expected.items() <= found.notes.items()
        assert {
            "rare_rows_that_stand_twice",
            "contracts_in_train_and_test",
        } <= found.notes.keys()
