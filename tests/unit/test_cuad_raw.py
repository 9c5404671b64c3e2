"""CUAD's files: what comes out of them, and one sentence with file and row or key for each fault."""

import csv
import io
import logging
import zipfile
from pathlib import Path

import orjson
import pytest
from pypdf import PdfWriter

from lextables.papers.cuad.raw import ALL, TEST, TRAIN, read_release
from lextables.papers.cuad.raw import read as read_published
from lextables.papers.cuad.schema import TABLES
from lextables.papers.packages import load
from lextables.pipeline.dataset import Published, check_census, read, write, write_all
from lextables.pipeline.errors import BadInput

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "resources/sample/cuad"
RECORDED = ROOT / "resources/facts/cuad_contracts.csv"
TYPES = {
    "Collaboration": "Collaboration Agreement",
    "Consulting Agreements": "Consulting Agreement",
    "Distributor": "Distributor Agreement",
    "Endorsement Agreement": "Endorsement Agreement",
    "Hosting": "Hosting Agreement",
    "Joint Venture _ Filing": "Joint Venture Agreement",
    "License_Agreements": "License Agreement",
    "Supply": "Supply Agreement",
}
DISTRIBUTOR = "TALLOWCREEKINC_03_14_2011-EX-10.4-DISTRIBUTOR AGREEMENT"
HOSTING = "OsmundHostingComInc_20000502_10-Q_EX-10.33_90000007_EX-10.33_Hosting Agreement"
FILING = "Ostrander Family Trust - JOINT FILING AGREEMENT "
MASTER = "CUAD_v1/master_clauses.csv"


def release(folder, recorded=RECORDED):
    return read_release(
        folder / "data.zip",
        folder / "CUAD_v1.zip",
        folder / "category_descriptions.csv",
        recorded,
        TYPES,
    )


@pytest.fixture(scope="module")
def rows():
    return release(SAMPLE)


@pytest.fixture
def altered(tmp_path):
    """Write the sample with one file or one member of a zip changed, and return the new folder."""

    def alter(name, change):
        for path in SAMPLE.glob("*.csv"):
            content = path.read_bytes()
            (tmp_path / path.name).write_bytes(change(content) if path.name == name else content)
        for path in SAMPLE.glob("*.zip"):
            with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / path.name, "w") as new:
                for member in old.namelist():
                    content = old.read(member)
                    new.writestr(member, change(content) if member == name else content)
        return tmp_path

    return alter


def test_rows_come_sorted_and_fit_their_schemas(rows, tmp_path):
    for table in TABLES["cuad"]:
        assert write(table, getattr(rows, table.name), tmp_path / table.name) > 0
        assert next(read(tmp_path / table.name)).keys() == {column.name for column in table.columns}
    assert {table.name for table in TABLES["cuad"]} == rows.__dataclass_fields__.keys() - {"notes"}


def test_the_data_set_of_the_registry_is_read_from_the_files_that_it_names(tmp_path):
    paper = load(ROOT / "resources/papers/cuad.yaml")
    entry = paper.data["cuad"]
    files = {name: [ROOT / "resources/sample" / file] for name, (file,) in entry.named([]).items()}
    facts = {name: ROOT / "resources/facts" / file for name, file in entry.facts.items()}
    given = {key: getattr(paper, key) for key in entry.given}
    found = read_published("cuad", Published(files, facts, given))
    assert found.notes["contracts_without_a_pdf"] == 0
    check_census(write_all(TABLES["cuad"], found.of, tmp_path), entry.census["sample"], "the sample")
    assert set(entry.census["sample"]) == set(entry.census["rebuilt"]) == {t.name for t in TABLES["cuad"]}


def test_contracts(rows):
    contracts = {row["contract_id"]: row for row in rows.contracts}
    assert len(contracts) == 8
    assert sum(row["split"] == "test" for row in rows.contracts) == 2
    assert {row["contract_type"] for row in rows.contracts} == set(TYPES.values())
    hosting = contracts[HOSTING]
    assert (hosting["split"], hosting["contract_type"], hosting["pages"]) == ("test", "Hosting Agreement", 6)
    with zipfile.ZipFile(SAMPLE / "CUAD_v1.zip") as archive:
        for title, row in contracts.items():
            assert row["text"] == archive.read(f"CUAD_v1/full_contract_txt/{title}.txt").decode()
            assert row["characters"] == len(row["text"])


def test_every_answer_stands_where_it_says(rows):
    texts = {row["contract_id"]: row["text"] for row in rows.contracts}
    contract_of = {row["question_id"]: row["contract_id"] for row in rows.questions}
    for answer in rows.answers:
        text = texts[contract_of[answer["question_id"]]]
        assert text[answer["start"] : answer["end"]] == answer["text"]


def test_a_question_for_each_contract_and_category(rows):
    categories = [row["category"] for row in rows.categories]
    assert len(categories) == 41
    assert [row["position"] for row in rows.categories] == list(range(41))
    assert {(row["contract_id"], row["category"]) for row in rows.questions} == {
        (contract["contract_id"], category) for contract in rows.contracts for category in categories
    }
    counted = {}
    for answer in rows.answers:
        counted[answer["question_id"]] = counted.get(answer["question_id"], 0) + 1
    assert {row["question_id"]: row["answers"] for row in rows.questions if row["answers"]} == counted


def test_categories_join_under_both_spellings(rows):
    by_name = {row["category"]: row for row in rows.categories}
    assert by_name["Ip Ownership Assignment"]["title"] == "IP Ownership Assignment"
    assert by_name["Insurance"]["group"] == ""
    assert by_name["License Grant"]["group"] == "4"
    assert by_name["Affiliate License-Licensee"]["answer_format"] == ""
    assert by_name["Parties"]["answer_format"] == "Entity or individual names"
    wording = {row["category"]: row["question"] for row in rows.questions}
    assert all(by_name[name]["description"] in wording[name] for name in by_name)


def test_training_examples_are_the_answers_of_the_training_contracts(rows):
    split = {row["question_id"]: row["split"] for row in rows.questions}
    wanted = [(a["question_id"], a["start"], a["end"]) for a in rows.answers]
    wanted += [(q["question_id"], -1, -1) for q in rows.questions if not q["answers"]]
    assert sorted((e["question_id"], e["start"], e["end"]) for e in rows.training_examples) == sorted(
        row for row in wanted if split[row[0]] == "train"
    )
    parties = [e for e in rows.training_examples if e["question_id"] == f"{DISTRIBUTOR}__Parties"]
    assert [e["example_id"] for e in parties] == [f"{DISTRIBUTOR}__Parties_{number}" for number in range(5)]
    assert {e["category"] for e in parties} == {"Parties"}


def test_the_clause_table(rows):
    found = {(r["contract_id"], r["category"], r["index"]): r["text"] for r in rows.clauses}
    assert found[DISTRIBUTOR, "Parties", 1] == "Tallow Creek"
    assert " <omitted> " in found[DISTRIBUTOR, "Insurance", 0]
    answers = {(r["contract_id"], r["category"]): r["answer"] for r in rows.supplementary}
    assert len(answers) == 8 * 41
    assert answers[DISTRIBUTOR, "Insurance"] == "Yes"
    assert answers[DISTRIBUTOR, "Notice Period To Terminate Renewal"] == "90 days"
    assert answers[DISTRIBUTOR, "Source Code Escrow"] == "No"
    assert answers[FILING, "Renewal Term"] == ""
    # White space around an answer is not part of it.
    assert {answer for answer in answers.values() if answer != answer.strip()} == set()


def test_what_is_odd_is_counted(rows):
    assert rows.notes == {
        "answers_with_the_text_of_another": 1,
        "clause_pieces_that_are_no_answer": 0,
        "clauses_that_skip_text": 5,
        "clauses_without_a_supplementary_answer": 4,
        "contracts_without_a_pdf": 0,
        "file_names_unlike_their_title": 4,
        "pdfs_of_no_contract": 0,
        "pdfs_unlike_the_record": 0,
        "pdfs_without_pages": 0,
        "questions_answered_in_one_place_only": 0,
        "supplementary_answers_without_a_clause": 1,
    }


def test_a_clause_that_the_json_has_not_is_counted(altered):
    folder = altered(MASTER, cell(DISTRIBUTOR, "Source Code Escrow", "['Never written <omitted> by anyone']"))
    notes = release(folder).notes
    assert notes["questions_answered_in_one_place_only"] == 1
    assert notes["clause_pieces_that_are_no_answer"] == 2


def test_the_order_of_the_answers_in_a_question_is_free(altered, rows):
    folder = altered(TEST, question(HOSTING, "Parties", lambda asked: asked["answers"].reverse()))
    assert release(folder) == rows


def test_the_number_of_an_unanswered_example_may_be_missing(altered, rows):
    def bare(asked):
        asked["id"] = asked["id"].removesuffix("_0")

    again = release(altered(TRAIN, question(DISTRIBUTOR, "Source Code Escrow_0", bare)))
    assert again.questions == rows.questions
    changed = f"{DISTRIBUTOR}__Source Code Escrow"
    examples = {e["example_id"]: e["question_id"] for e in again.training_examples}
    assert examples[changed] == changed


def test_the_top_folder_and_other_members_do_not_matter(rows, tmp_path):
    for path in SAMPLE.glob("*.csv"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    for path in SAMPLE.glob("*.zip"):
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / path.name, "w") as new:
            for member in old.namelist():
                folder, _, name = member.removeprefix("CUAD_v1/").rpartition("/")
                new.writestr(f"another/{folder}/{name}", old.read(member))
                new.writestr(f"__MACOSX/another/{folder}/._{name}", b"\x00\x05")
    assert release(tmp_path) == rows


# Changes of a file's bytes.


def json(change):
    def changed(content):
        squad = orjson.loads(content)
        change(squad["data"])
        return orjson.dumps(squad)

    return changed


def contract(title, change):
    """A change of one contract's paragraph."""
    return json(lambda data: change(next(e for e in data if e["title"] == title)["paragraphs"][0]))


def question(title, category, change):
    """A change of one question."""
    question_id = f"{title}__{category}"
    return contract(
        title, lambda paragraph: change(next(q for q in paragraph["qas"] if q["id"] == question_id))
    )


def without(title, category):
    question_id = f"{title}__{category}"
    return contract(
        title, lambda paragraph: paragraph.update(qas=[q for q in paragraph["qas"] if q["id"] != question_id])
    )


def drop(title):
    return json(lambda data: data.remove(next(entry for entry in data if entry["title"] == title)))


def copied(title, name):
    """Add the contract as `name` has it."""
    with zipfile.ZipFile(SAMPLE / "data.zip") as archive:
        data = orjson.loads(archive.read(name))["data"]
    return json(lambda entries: entries.append(next(e for e in data if e["title"] == title)))


def table(change):
    """A change of a csv file's rows."""

    def changed(content):
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))
        change(rows)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().encode()

    return changed


def find(rows, title):
    return next(row for row in rows if row[0].startswith(title.strip()))


def cell(title, column, value):
    """A change of one cell of the clause table."""

    def change(rows):
        find(rows, title)[rows[0].index(column)] = value

    return table(change)


def put(number, column, value):
    """A change of one cell by its 0-based row and column."""

    def change(rows):
        rows[number][column] = value

    return table(change)


def replace(old, new):
    def changed(content):
        assert old in content
        return content.replace(old, new, 1)

    return changed


# The PDFs: folder and pages.

FOLDERS = {
    DISTRIBUTOR: "CUAD_v1/full_contract_pdf/Part_III/Distributor",
    HOSTING: "CUAD_v1/full_contract_pdf/Part_II/Hosting",
}


def pdf(pages, **encryption):
    """A PDF of empty pages."""
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(612, 792)
    if encryption:
        writer.encrypt(**encryption)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


@pytest.fixture
def filed(tmp_path):
    """Write the sample with PDFs added or put in place of others, or left out where None."""

    def file(pdfs, only=False):
        for name in ("data.zip", "category_descriptions.csv"):
            (tmp_path / name).write_bytes((SAMPLE / name).read_bytes())
        with zipfile.ZipFile(SAMPLE / "CUAD_v1.zip") as old:
            members = {name: old.read(name) for name in old.namelist()}
        if only:
            members = {name: content for name, content in members.items() if "_pdf/" not in name}
        members |= pdfs
        with zipfile.ZipFile(tmp_path / "CUAD_v1.zip", "w") as new:
            for name, content in members.items():
                if content is not None:
                    new.writestr(name, content)
        return tmp_path

    return file


def record(folder, *rows):
    """A list of folders and pages."""
    path = folder / "record.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("title", "release_folder", "pdf_pages"), *rows])
    return path


def of(rows, title):
    row = next(row for row in rows.contracts if row["contract_id"] == title)
    return row["contract_type"], row["pages"]


def odd(rows):
    """The notes on the PDFs that are not zero."""
    return {name: count for name, count in rows.notes.items() if "pdf" in name and count}


def test_type_and_pages_are_those_of_the_pdf(filed, rows):
    name = f"{FOLDERS[HOSTING]}/{HOSTING}.pdf"
    moved = name.replace("Part_II/Hosting", "Part_III/More/Supply")
    again = release(filed({name: None, moved: pdf(17)}))
    assert (of(rows, HOSTING), of(again, HOSTING)) == (("Hosting Agreement", 6), ("Supply Agreement", 17))
    assert odd(again) == {}


@pytest.mark.parametrize("password", [{"algorithm": "RC4-128"}, {"algorithm": "AES-256"}])
def test_a_pdf_that_may_only_be_read_is_counted(filed, password):
    name = f"{FOLDERS[HOSTING]}/{HOSTING}.pdf"
    again = release(filed({name: pdf(9, user_password="", owner_password="x", **password)}))
    assert of(again, HOSTING) == ("Hosting Agreement", 9)


def test_names_in_the_zip_may_be_utf_8_without_saying_so(filed, rows, tmp_path):
    """As macOS packs them; Python then reads the bytes as another alphabet."""
    folder = filed({})
    path = folder / "CUAD_v1.zip"
    # The flag stands in each entry's own header and in the list at the end, two bytes before the method.
    content = bytearray(path.read_bytes())
    for sign, place in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
        start = content.find(sign)
        while start >= 0:
            content[start + place] &= ~0x08
            start = content.find(sign, start + 1)
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if "\u0300" in name or "\xe8" in name]
    assert release(folder) == rows


def test_what_no_pdf_says_is_taken_from_the_record_and_counted(filed, tmp_path, caplog):
    recorded = record(tmp_path, (HOSTING, "Distributor", "8"), ("of another release", "Nowhere", "1"))
    name = f"{FOLDERS[HOSTING]}/{HOSTING}.pdf"
    for pdfs, expected, notes in (
        ({name: None}, 8, {"contracts_without_a_pdf": 1}),
        # Two that could be it are none.
        ({name.replace("Hosting/", "Supply/"): pdf(3)}, 8, {"contracts_without_a_pdf": 1}),
    ):
        with caplog.at_level(logging.WARNING, "lextables"):
            found = release(filed(pdfs), recorded)
        assert of(found, HOSTING) == ("Distributor Agreement", expected)
        assert odd(found) == notes
        assert f" PDFs of '{HOSTING}'" in caplog.text
    with caplog.at_level(logging.WARNING, "lextables"):
        found = release(filed({name: b"%PDF-1.4 and no more"}), recorded)
    assert of(found, HOSTING) == ("Hosting Agreement", 8)
    assert odd(found) == {"pdfs_without_pages": 1, "pdfs_unlike_the_record": 1}
    assert f"{name}: the pages cannot be counted" in caplog.text
    assert f"{name}: 8 pages, where on record is the folder Distributor with 8 pages" in caplog.text


def test_a_pdf_goes_before_the_record(filed, tmp_path):
    found = release(filed({}), record(tmp_path, (HOSTING, "Hosting", "7")))
    assert of(found, HOSTING) == ("Hosting Agreement", 6)
    assert odd(found) == {"pdfs_unlike_the_record": 1}
    assert odd(release(filed({}), record(tmp_path, (HOSTING, "Hosting", "6")))) == {}


def test_pdfs_of_no_contract_are_counted(filed, caplog):
    with caplog.at_level(logging.WARNING, "lextables"):
        found = release(filed({"CUAD_v1/full_contract_pdf/Part_I/Hosting/Another.pdf": pdf(1)}))
    assert odd(found) == {"pdfs_of_no_contract": 1}
    assert "Part_I/Hosting/Another.pdf: named like 0 contracts" in caplog.text


def test_a_zip_without_pdfs_needs_the_record_whole(filed, rows, tmp_path, caplog):
    folder_of = {kind: folder for folder, kind in TYPES.items()}
    listed = [
        (row["contract_id"], folder_of[row["contract_type"]], str(row["pages"])) for row in rows.contracts
    ]
    found = release(filed({}, only=True), record(tmp_path, *listed))
    assert caplog.text == ""
    assert found.contracts == rows.contracts
    assert odd(found) == {"contracts_without_a_pdf": 8}
    with pytest.raises(BadInput) as error:
        release(filed({}, only=True), record(tmp_path, *listed[:3], *listed[4:]))
    assert str(error.value) == (
        f"CUAD_v1.zip: has 0 PDFs of the contract {listed[3][0]!r} where there should be one, and its type is"
        " not on record; take the whole zip of the release."
    )


def test_pages_that_nothing_says(filed):
    with pytest.raises(BadInput, match=r"Hosting Agreement\.pdf cannot be counted, and none are on record"):
        release(filed({f"{FOLDERS[HOSTING]}/{HOSTING}.pdf": b""}))


def test_a_folder_of_no_type(filed):
    name = f"{FOLDERS[HOSTING]}/{HOSTING}.pdf"
    with pytest.raises(BadInput) as error:
        release(filed({name: None, name.replace("/Hosting/", "/Hoisting/"): pdf(6)}))
    assert str(error.value) == (
        f"CUAD_v1.zip: the folder 'Hoisting' of the contract {HOSTING!r} has no contract type; add it to"
        " contract_types of the paper's registry."
    )


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([("A", "Supply", "four")], "record.csv, row 2: pdf_pages is 'four' and no number of pages."),
        ([("A", "Supply", "0")], "record.csv, row 2: pdf_pages is '0' and no number of pages."),
        ([("A", "Supply", "1")] * 2, "record.csv, row 3: the contract 'A' appears twice; drop one"),
        ([("A", "Supply")], "record.csv, row 2: has 2 cells where there should be 3; quote the cells"),
    ],
)
def test_a_record_with_a_fault(rows, sentence, tmp_path):
    with pytest.raises(BadInput) as error:
        release(SAMPLE, record(tmp_path, *rows))
    assert sentence in str(error.value)


FAULTS = {
    "answer elsewhere": (
        ALL,
        question(HOSTING, "Insurance", lambda q: q["answers"][0].update(answer_start=17)),
        f"CUADv1.json, question '{HOSTING}__Insurance': the answer 'Osmund holds, at its own cost, insura...'"
        " is not at character 17, where",
    ),
    "empty contract": (
        ALL,
        contract(HOSTING, lambda p: p.update(context="", qas=[])),
        f"CUADv1.json, contract '{HOSTING}': the contract has no text; restore its context.",
    ),
    "unknown category": (
        ALL,
        question(HOSTING, "Insurance", lambda q: q.update(id=f"{HOSTING}__Assurance")),
        f"CUADv1.json, question '{HOSTING}__Assurance': the id is not the contract's title, two underscores"
        " and a category that is described; correct the id, or add the category to category_descriptions",
    ),
    "question of another contract": (
        ALL,
        question(HOSTING, "Insurance", lambda q: q.update(id=f"{DISTRIBUTOR}__Insurance")),
        f"question '{DISTRIBUTOR}__Insurance': the id is not the contract's title",
    ),
    "numbered question": (
        ALL,
        question(HOSTING, "Insurance", lambda q: q.update(id=f"{HOSTING}__Insurance_0")),
        f"question '{HOSTING}__Insurance_0': the id is not the contract's title",
    ),
    "missing question": (
        ALL,
        without(HOSTING, "Insurance"),
        f"CUADv1.json, contract '{HOSTING}': has no question of the category 'Insurance'; restore it.",
    ),
    "repeated question": (
        ALL,
        question(HOSTING, "Insurance", lambda q: q.update(id=f"{HOSTING}__Audit Rights")),
        f"CUADv1.json, question '{HOSTING}__Audit Rights': the question id appears twice; remove one",
    ),
    "another wording": (
        ALL,
        question(HOSTING, "Insurance", lambda q: q.update(question="Insured?")),
        f"question '{HOSTING}__Insurance': the question is spelled or worded otherwise than the first of its",
    ),
    "another spelling": (
        ALL,
        question(HOSTING, "Insurance", lambda q: q.update(id=f"{HOSTING}__insurance")),
        f"question '{HOSTING}__insurance': the question is spelled or worded otherwise than the first of its",
    ),
    "not JSON": (ALL, lambda content: content[:-9], "CUADv1.json: not JSON ("),
    "no contract": (
        ALL,
        json(lambda data: data.clear()),
        "CUADv1.json: holds no contract; fetch the release again.",
    ),
    "repeated contract": (ALL, copied(HOSTING, ALL), f"contract '{HOSTING}': the contract appears twice"),
    "another text in test": (
        TEST,
        contract(HOSTING, lambda p: p.update(context=p["context"] + " ")),
        f"test.json, contract '{HOSTING}': the text differs from that in CUADv1.json; take both from",
    ),
    "fewer answers in test": (
        TEST,
        question(HOSTING, "Parties", lambda q: q["answers"].pop()),
        f"test.json, question '{HOSTING}__Parties': differs from the question in CUADv1.json; take both",
    ),
    "missing question in test": (
        TEST,
        without(HOSTING, "Insurance"),
        f"test.json, contract '{HOSTING}': the question '{HOSTING}__Insurance' of CUADv1.json is missing",
    ),
    "contract of test unknown": (
        ALL,
        drop(HOSTING),
        f"test.json, contract '{HOSTING}': the contract is not in CUADv1.json; take both from one release.",
    ),
    "in both splits": (
        TEST,
        copied(DISTRIBUTOR, ALL),
        f"train_separate_questions.json, contract '{DISTRIBUTOR}': the contract is in test.json as well;",
    ),
    "in no split": (
        TEST,
        drop(HOSTING),
        f"CUADv1.json, contract '{HOSTING}': the contract is neither in train_separate_questions.json nor in"
        " test.json; add it to one of the two.",
    ),
    "another text in train": (
        TRAIN,
        contract(DISTRIBUTOR, lambda p: p.update(context=p["context"] + " ")),
        f"train_separate_questions.json, contract '{DISTRIBUTOR}': the text differs",
    ),
    "missing example": (
        TRAIN,
        without(DISTRIBUTOR, "Parties_3"),
        f"train_separate_questions.json, question '{DISTRIBUTOR}__Parties': its 4 examples do not hold the 5"
        " answers of CUADv1.json, once each; take both from one release.",
    ),
    "missing unanswered example": (
        TRAIN,
        without(DISTRIBUTOR, "Source Code Escrow_0"),
        f"question '{DISTRIBUTOR}__Source Code Escrow': its 0 examples do not hold the 0 answers",
    ),
    "example with two answers": (
        TRAIN,
        question(DISTRIBUTOR, "Parties_0", lambda q: q["answers"].append(q["answers"][0])),
        f"question '{DISTRIBUTOR}__Parties_0': has 2 answers where an example has at most one; give each",
    ),
    "example worded otherwise": (
        TRAIN,
        question(DISTRIBUTOR, "Parties_2", lambda q: q.update(question="Who?")),
        f"question '{DISTRIBUTOR}__Parties_2': is worded otherwise than in CUADv1.json",
    ),
    "category not described": (
        "category_descriptions.csv",
        table(lambda rows: rows.pop(5)),
        "__Expiration Date': the id is not the contract's title, two underscores and a category that is",
    ),
    "category that is not asked": (
        "category_descriptions.csv",
        lambda content: content + b"\r\nCategory: Escrow,Description: x,Answer Format: x,Group: -",
        "has no question of the category 'Escrow'; restore it.",
    ),
    "category twice": (
        "category_descriptions.csv",
        table(lambda rows: rows.append(rows[5])),
        "category_descriptions.csv, row 43: the category 'Expiration Date' appears twice.",
    ),
    "category without its label": (
        "category_descriptions.csv",
        put(5, 0, "Expiration Date"),
        "category_descriptions.csv, row 6: the cell 'Expiration Date' does not start with 'Category:'.",
    ),
    "header of descriptions": (
        "category_descriptions.csv",
        put(0, 3, "Groups"),
        "category_descriptions.csv, row 1: the header is not Category (incl. context and answer), Descr",
    ),
    "descriptions not UTF-8": (
        "category_descriptions.csv",
        replace("“".encode(), b"\x93"),
        "category_descriptions.csv, row 12: the byte 0x93 is not UTF-8;",
    ),
    "descriptions not closed": (
        "category_descriptions.csv",
        lambda content: content + b'\r\n"Category: Last',
        "category_descriptions.csv, row 43: the row that begins here is no csv (",
    ),
    "clauses of an unknown contract": (
        MASTER,
        replace(b"HALVORSEN&PIKE", b"HALVORSEN&PIKES"),
        'row 4: the file "HALVORSEN&PIKESLLC_09_30_2004-EX-10.12-CONSULTING AGREEMENT.PDF\'" is named'
        " like no contract of CUADv1.json; give it the contract's title.",
    ),
    "clauses twice": (
        MASTER,
        table(lambda rows: rows.append(find(rows, DISTRIBUTOR))),
        f"the contract '{DISTRIBUTOR}' appears twice (first at master_clauses.csv, row 5); drop one",
    ),
    "clauses missing": (
        MASTER,
        table(lambda rows: rows.remove(find(rows, DISTRIBUTOR))),
        f"master_clauses.csv: the contract '{DISTRIBUTOR}' has no row; restore its row.",
    ),
    "clauses that are no list": (
        MASTER,
        cell(DISTRIBUTOR, "Insurance", "['The Distributor shall"),
        "master_clauses.csv, row 5, column Insurance: the cell is not a list of strings; restore it from",
    ),
    "clauses that are numbers": (MASTER, cell(DISTRIBUTOR, "Insurance", "[1]"), "is not a list of strings"),
    "empty clause": (MASTER, cell(DISTRIBUTOR, "Insurance", "['']"), "one of the clauses is empty; drop it."),
    "column of clauses missing": (
        MASTER,
        replace(b",Insurance,", b",Assurance,"),
        "master_clauses.csv, row 1: there is no column 'Insurance'; restore the header.",
    ),
    "column of answers missing": (
        MASTER,
        replace(b",Insurance-Answer,", b",Insured,"),
        "master_clauses.csv, row 1: there is no column 'Insurance-Answer'; restore the header.",
    ),
    "column too many": (
        MASTER,
        table(lambda rows: [row.append("") for row in rows]),
        "row 1: the header is not Filename and two columns for each of the 41 categories;",
    ),
    "clauses not UTF-8": (
        MASTER,
        replace("“Quillstone”".encode(), b"\x93Quillstone\x94"),
        "master_clauses.csv, row 2: the byte 0x93 is not UTF-8; restore the file from the release.",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_has_a_sentence(altered, fault):
    name, change, sentence = FAULTS[fault]
    with pytest.raises(BadInput) as error:
        release(altered(name, change))
    assert sentence in str(error.value)
    assert str(error.value).endswith(".") and "\n" not in str(error.value)


def test_two_titles_that_differ_in_a_sign_alone(altered):
    """A file name that could be either is an error, and one that is either exactly is not."""
    twin = FILING.strip()

    def add(data):
        entry = orjson.loads(orjson.dumps(next(e for e in data if e["title"] == FILING)))
        entry["title"] = twin
        for asked in entry["paragraphs"][0]["qas"]:
            asked["id"] = asked["id"].replace(FILING, twin)
        data.append(entry)

    folder = altered(ALL, json(add))
    with zipfile.ZipFile(folder / "data.zip") as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    members[TRAIN] = json(add)(members[TRAIN])
    with zipfile.ZipFile(folder / "data.zip", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    # The twin's PDF is the other's as long as it has none of its own.
    with pytest.raises(BadInput, match=f"has 0 PDFs of the contract '{FILING}' where there should be one"):
        release(folder)
    with zipfile.ZipFile(folder / "CUAD_v1.zip", "a") as archive:
        archive.writestr(f"CUAD_v1/full_contract_pdf/Part_I/Joint Venture _ Filing/{FILING}.pdf", pdf(2))
    with pytest.raises(BadInput, match=f"contract '{FILING}' has no row"):
        release(folder)
    with zipfile.ZipFile(folder / "CUAD_v1.zip") as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    members[MASTER] = members[MASTER].replace(f"{twin}.pdf".encode(), f"{twin}-.pdf".encode())
    with zipfile.ZipFile(folder / "CUAD_v1.zip", "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    with pytest.raises(BadInput, match=r"is named like 2 contracts of CUADv1\.json; give it"):
        release(folder)


@pytest.mark.parametrize(
    ("archive", "member", "name"),
    [
        ("data.zip", ALL, ALL),
        ("data.zip", TEST, TEST),
        ("data.zip", TRAIN, TRAIN),
        ("CUAD_v1.zip", MASTER, "master_clauses.csv"),
    ],
)
def test_a_missing_member(altered, archive, member, name):
    folder = altered("", None)
    with zipfile.ZipFile(SAMPLE / archive) as old, zipfile.ZipFile(folder / archive, "w") as new:
        for other in old.namelist():
            if other != member:
                new.writestr(other, old.read(other))
    with pytest.raises(BadInput) as error:
        release(folder)
    assert (
        str(error.value)
        == f"{archive}: holds 0 files called {name} where there should be one; fetch it again."
    )


@pytest.mark.parametrize("archive", ["data.zip", "CUAD_v1.zip"])
@pytest.mark.parametrize("kept", [0, 100, 20_000])
def test_a_zip_cut_short(altered, archive, kept):
    folder = altered("", None)
    (folder / archive).write_bytes((SAMPLE / archive).read_bytes()[:kept])
    with pytest.raises(
        BadInput, match=rf"^{archive}: the zip is cut short or damaged \(.*\); fetch it again\.$"
    ):
        release(folder)


def test_a_damaged_member(altered):
    folder = altered("", None)
    content = bytearray((SAMPLE / "data.zip").read_bytes())
    with zipfile.ZipFile(SAMPLE / "data.zip") as archive:
        start = archive.getinfo(TRAIN).header_offset
    content[start + 400] ^= 0xFF
    (folder / "data.zip").write_bytes(bytes(content))
    with pytest.raises(BadInput, match=r"^data.zip: the zip is cut short or damaged"):
        release(folder)
