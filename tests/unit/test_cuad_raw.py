"""The reader of CUAD's files: its rows, and the message for each error."""

import csv
import io
import logging
import zipfile
from pathlib import Path

import orjson
import pytest
from pypdf import PdfWriter

from lextables.papers.cuad.raw import ALL, TEST, TRAIN, read_release
from lextables.pipeline.errors import BadInput
from registered import read, written
from released_zips import altered as altered_zip
from released_zips import replaced, table

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
HOSTING = (
    "OsmundHostingComInc_20000502_10-Q_EX-10.33_90000007_EX-10.33_Hosting Agreement"
)
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
    """Write the sample with files or members of zips changed or left out, and return the new folder."""

    def alter(changes):
        for path in SAMPLE.glob("*.csv"):
            content = path.read_bytes()
            (tmp_path / path.name).write_bytes(changes.get(path.name, bytes)(content))
        for path in SAMPLE.glob("*.zip"):
            altered_zip(path, tmp_path / path.name, changes)
        return tmp_path

    return alter


def test_the_sample_has_the_registered_rows(tmp_path):
    written("cuad", "cuad", tmp_path, read("cuad", "cuad"))


def test_contracts_have_a_split_a_type_pages_and_text(rows):
    contracts = {row["contract_id"]: row for row in rows.contracts}
    assert len(contracts) == 8
    assert sum(row["split"] == "test" for row in rows.contracts) == 2
    assert {row["contract_type"] for row in rows.contracts} == set(TYPES.values())
    hosting = contracts[HOSTING]
    assert (hosting["split"], hosting["contract_type"], hosting["pages"]) == (
        "test",
        "Hosting Agreement",
        6,
    )
    with zipfile.ZipFile(SAMPLE / "CUAD_v1.zip") as archive:
        for title, row in contracts.items():
            assert (
                row["text"]
                == archive.read(f"CUAD_v1/full_contract_txt/{title}.txt").decode()
            )
            assert row["characters"] == len(row["text"])


def test_every_answer_is_the_text_at_its_position(rows):
    texts = {row["contract_id"]: row["text"] for row in rows.contracts}
    contract_of = {row["question_id"]: row["contract_id"] for row in rows.questions}
    assert rows.answers
    for answer in rows.answers:
        text = texts[contract_of[answer["question_id"]]]
        assert text[answer["start"] : answer["end"]] == answer["text"]


def test_there_is_a_question_for_each_contract_and_category(rows):
    categories = [row["category"] for row in rows.categories]
    assert len(categories) == 41
    assert [row["position"] for row in rows.categories] == list(range(41))
    assert {(row["contract_id"], row["category"]) for row in rows.questions} == {
        (contract["contract_id"], category)
        for contract in rows.contracts
        for category in categories
    }
    counted = {}
    for answer in rows.answers:
        counted[answer["question_id"]] = counted.get(answer["question_id"], 0) + 1
    assert {
        row["question_id"]: row["answers"] for row in rows.questions if row["answers"]
    } == counted


def test_categories_are_matched_under_both_spellings(rows):
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
    assert sorted(
        (e["question_id"], e["start"], e["end"]) for e in rows.training_examples
    ) == sorted(row for row in wanted if split[row[0]] == "train")
    parties = [
        e
        for e in rows.training_examples
        if e["question_id"] == f"{DISTRIBUTOR}__Parties"
    ]
    assert [e["example_id"] for e in parties] == [
        f"{DISTRIBUTOR}__Parties_{number}" for number in range(5)
    ]
    assert {e["category"] for e in parties} == {"Parties"}


def test_the_clause_table_gives_clauses_and_supplementary_answers(rows):
    found = {
        (r["contract_id"], r["category"], r["index"]): r["text"] for r in rows.clauses
    }
    assert found[DISTRIBUTOR, "Parties", 1] == "Tallow Creek"
    assert " <omitted> " in found[DISTRIBUTOR, "Insurance", 0]
    answers = {
        (r["contract_id"], r["category"]): r["answer"] for r in rows.supplementary
    }
    assert len(answers) == 8 * 41
    assert answers[DISTRIBUTOR, "Insurance"] == "Yes"
    assert answers[DISTRIBUTOR, "Notice Period To Terminate Renewal"] == "90 days"
    assert answers[DISTRIBUTOR, "Source Code Escrow"] == "No"
    assert answers[FILING, "Renewal Term"] == ""
    # White space around an answer is not part of it.
    assert {answer for answer in answers.values() if answer != answer.strip()} == set()


def test_unusual_rows_are_counted(rows):
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


def test_a_clause_that_is_not_in_the_json_is_counted(altered):
    clause = cell(
        DISTRIBUTOR, "Source Code Escrow", "['Never written <omitted> by anyone']"
    )
    notes = release(altered({MASTER: clause})).notes
    assert notes["questions_answered_in_one_place_only"] == 1
    assert notes["clause_pieces_that_are_no_answer"] == 2


def test_the_order_of_the_answers_of_a_question_does_not_matter(altered, rows):
    reverse = question(HOSTING, "Parties", lambda asked: asked["answers"].reverse())
    assert release(altered({TEST: reverse})) == rows


def test_the_number_of_an_unanswered_example_may_be_missing(altered, rows):
    short = f"{DISTRIBUTOR}__Source Code Escrow"
    without_number = question(
        DISTRIBUTOR, "Source Code Escrow_0", lambda asked: asked.update(id=short)
    )
    changed = release(altered({TRAIN: without_number}))
    assert changed.questions == rows.questions
    assert {e["example_id"]: e["question_id"] for e in changed.training_examples}[
        short
    ] == short


def test_the_top_folder_and_other_members_do_not_matter(altered, rows):
    folder = altered({})
    for path in SAMPLE.glob("*.zip"):
        with (
            zipfile.ZipFile(path) as old,
            zipfile.ZipFile(folder / path.name, "w") as new,
        ):
            for member in old.namelist():
                parent, _, name = member.removeprefix("CUAD_v1/").rpartition("/")
                new.writestr(f"another/{parent}/{name}", old.read(member))
                new.writestr(f"__MACOSX/another/{parent}/._{name}", b"\x00\x05")
    assert release(folder) == rows


# Changes of a file's bytes


def json(change):
    def changed(content):
        squad = orjson.loads(content)
        change(squad["data"])
        return orjson.dumps(squad)

    return changed


def contract(title, change):
    """A change of one contract's paragraph."""
    return json(
        lambda data: change(
            next(e for e in data if e["title"] == title)["paragraphs"][0]
        )
    )


def question(title, category, change):
    """A change of one question."""
    question_id = f"{title}__{category}"
    return contract(
        title,
        lambda paragraph: change(
            next(q for q in paragraph["qas"] if q["id"] == question_id)
        ),
    )


def renamed(category, of=HOSTING):
    """Change the id of the question on insurance to that of another category."""
    return question(HOSTING, "Insurance", lambda q: q.update(id=f"{of}__{category}"))


def longer(title):
    return contract(
        title, lambda paragraph: paragraph.update(context=paragraph["context"] + " ")
    )


def without(title, category):
    question_id = f"{title}__{category}"
    return contract(
        title,
        lambda paragraph: paragraph.update(
            qas=[q for q in paragraph["qas"] if q["id"] != question_id]
        ),
    )


def drop(title):
    return json(
        lambda data: data.remove(
            next(entry for entry in data if entry["title"] == title)
        )
    )


def copied(title):
    """Add a copy of the contract from the file of all contracts."""
    with zipfile.ZipFile(SAMPLE / "data.zip") as archive:
        data = orjson.loads(archive.read(ALL))["data"]
    return json(
        lambda entries: entries.append(next(e for e in data if e["title"] == title))
    )


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


# The PDFs: folder and pages

PDF = "CUAD_v1/full_contract_pdf"
HOSTING_PDF = f"{PDF}/Part_II/Hosting/{HOSTING}.pdf"


def pdf(pages, **encryption):
    """A PDF of empty pages."""
    writer = PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(612, 792)
    if encryption:
        writer.encrypt(**encryption)
    content = io.BytesIO()
    writer.write(content)
    return content.getvalue()


@pytest.fixture
def with_pdfs(altered):
    """Write the sample with PDFs added, replaced or (if None) removed; ``only`` removes all other PDFs."""

    def write(pdfs, only=False):
        folder = altered(
            dict.fromkeys(pdfs) | (dict.fromkeys([".pdf", ".PDF"]) if only else {})
        )
        with zipfile.ZipFile(folder / "CUAD_v1.zip", "a") as archive:
            for name, content in pdfs.items():
                if content is not None:
                    archive.writestr(name, content)
        return folder

    return write


def record(folder, *rows):
    """A file of recorded folders and pages."""
    path = folder / "record.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("title", "release_folder", "pdf_pages"), *rows])
    return path


def type_and_pages(rows):
    row = next(row for row in rows.contracts if row["contract_id"] == HOSTING)
    return row["contract_type"], row["pages"]


def pdf_notes(rows):
    """The notes on PDFs that are not zero."""
    return {
        name: count for name, count in rows.notes.items() if "pdf" in name and count
    }


def test_type_and_pages_come_from_the_pdf(with_pdfs, rows):
    moved = HOSTING_PDF.replace("Part_II/Hosting", "Part_III/More/Supply")
    changed = release(with_pdfs({HOSTING_PDF: None, moved: pdf(17)}))
    assert type_and_pages(rows) == ("Hosting Agreement", 6)
    assert type_and_pages(changed) == ("Supply Agreement", 17)
    assert pdf_notes(changed) == {}


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_the_pages_of_a_protected_pdf_are_counted(with_pdfs, algorithm):
    protected = pdf(9, user_password="", owner_password="x", algorithm=algorithm)
    assert type_and_pages(release(with_pdfs({HOSTING_PDF: protected}))) == (
        "Hosting Agreement",
        9,
    )


def test_utf_8_names_in_the_zip_may_lack_the_flag(altered, rows):
    """macOS writes such zips; Python then decodes the names as cp437."""
    path = altered({}) / "CUAD_v1.zip"
    # The flag is in the header of each entry and in the central directory, two bytes before the method.
    content = bytearray(path.read_bytes())
    for sign, place in ((b"PK\x03\x04", 7), (b"PK\x01\x02", 9)):
        start = content.find(sign)
        while start >= 0:
            content[start + place] &= ~0x08
            start = content.find(sign, start + 1)
    path.write_bytes(content)
    with zipfile.ZipFile(path) as archive:
        assert not [
            name for name in archive.namelist() if "\u0300" in name or "\xe8" in name
        ]
    assert release(path.parent) == rows


NONE = {"contracts_without_a_pdf": 1}
DAMAGED = {"pdfs_without_pages": 1, "pdfs_unlike_the_record": 1}
ANOTHER = {f"{PDF}/Part_I/Hosting/Another.pdf": pdf(1)}


@pytest.mark.parametrize(
    ("pdfs", "recorded", "expected", "notes", "logged"),
    [
        (
            {HOSTING_PDF: None},
            ("Distributor", 8),
            ("Distributor", 8),
            NONE,
            "0 PDFs of",
        ),
        # Two PDFs with the name of a contract are not used.
        (
            {HOSTING_PDF.replace("Hosting/", "Supply/"): pdf(3)},
            ("Distributor", 8),
            ("Distributor", 8),
            NONE,
            "2 PDFs of",
        ),
        (
            {HOSTING_PDF: b"%PDF-1.4"},
            ("Distributor", 8),
            ("Hosting", 8),
            DAMAGED,
            "cannot be counted",
        ),
        (
            {},
            ("Hosting", 7),
            ("Hosting", 6),
            {"pdfs_unlike_the_record": 1},
            "6 pages, but recorded is",
        ),
        ({}, ("Hosting", 6), ("Hosting", 6), {}, ""),
        (
            ANOTHER,
            ("Hosting", 6),
            ("Hosting", 6),
            {"pdfs_of_no_contract": 1},
            "matches 0 contracts",
        ),
    ],
)
def test_missing_types_and_pages_are_read_from_the_record(
    with_pdfs, tmp_path, caplog, pdfs, recorded, expected, notes, logged
):
    folder, pages = recorded
    path = record(
        tmp_path, (HOSTING, folder, str(pages)), ("of another release", "Nowhere", "1")
    )
    with caplog.at_level(logging.WARNING, "lextables"):
        found = release(with_pdfs(pdfs), path)
    assert type_and_pages(found) == (f"{expected[0]} Agreement", expected[1])
    assert pdf_notes(found) == notes
    assert logged in caplog.text


def test_a_zip_without_pdfs_needs_the_complete_record(
    with_pdfs, rows, tmp_path, caplog
):
    folder_of = {kind: folder for folder, kind in TYPES.items()}
    listed = [
        (row["contract_id"], folder_of[row["contract_type"]], str(row["pages"]))
        for row in rows.contracts
    ]
    found = release(with_pdfs({}, only=True), record(tmp_path, *listed))
    assert caplog.text == ""
    assert found.contracts == rows.contracts
    assert pdf_notes(found) == {"contracts_without_a_pdf": 8}
    message = rf"^CUAD_v1\.zip: has 0 PDFs of the contract '{listed[3][0]}' where .* its type is not recorded;"
    with pytest.raises(BadInput, match=message):
        release(with_pdfs({}, only=True), record(tmp_path, *listed[:3], *listed[4:]))


@pytest.mark.parametrize(
    ("pdfs", "message"),
    [
        (
            {HOSTING_PDF: b""},
            r"Hosting Agreement\.pdf cannot be counted and are not recorded",
        ),
        (
            {HOSTING_PDF: None, HOSTING_PDF.replace("/Hosting/", "/Hoisting/"): pdf(6)},
            r"CUAD_v1\.zip: the folder 'Hoisting' of the contract .* has no contract type; add it to",
        ),
    ],
)
def test_a_pdf_without_a_page_count_or_a_contract_type_raises(with_pdfs, pdfs, message):
    with pytest.raises(BadInput, match=message):
        release(with_pdfs(pdfs))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [("A", "Supply", "four")],
            "record.csv, row 2: pdf_pages is 'four', not a number of pages.",
        ),
        (
            [("A", "Supply", "0")],
            "record.csv, row 2: pdf_pages is '0', not a number of pages.",
        ),
        (
            [("A", "Supply", "1")] * 2,
            "record.csv, row 3: the contract 'A' appears twice; drop one",
        ),
        (
            [("A", "Supply")],
            "record.csv, row 2: has 2 cells where there should be 3; quote the cells",
        ),
    ],
)
def test_an_invalid_record_raises_with_the_row(rows, message, tmp_path):
    with pytest.raises(BadInput) as error:
        release(SAMPLE, record(tmp_path, *rows))
    assert message in str(error.value)


def q(question):
    return f"question '{HOSTING}__{question}': "


IN_ALL, IN_TRAIN = (
    f"{ALL}, contract '{HOSTING}': ",
    f"{TRAIN}, question '{DISTRIBUTOR}__",
)
DESCRIBED = "category_descriptions.csv"
NOT_A_CATEGORY = "the id is not the contract's title, two underscores and a category that is described"
ERRORS = {
    "answer elsewhere": (
        ALL,
        question(
            HOSTING, "Insurance", lambda q: q["answers"][0].update(answer_start=17)
        ),
        q("Insurance")
        + "the answer 'Osmund holds, at its own cost, insura...' is not at character 17",
    ),
    "empty contract": (
        ALL,
        contract(HOSTING, lambda p: p.update(context="", qas=[])),
        IN_ALL + "the contract has no text",
    ),
    "unknown category": (ALL, renamed("Assurance"), q("Assurance") + NOT_A_CATEGORY),
    "question of another contract": (
        ALL,
        renamed("Insurance", DISTRIBUTOR),
        NOT_A_CATEGORY,
    ),
    "missing question": (
        ALL,
        without(HOSTING, "Insurance"),
        IN_ALL + "has no question of the category 'Insurance'",
    ),
    "repeated question": (
        ALL,
        renamed("Audit Rights"),
        q("Audit Rights") + "the question id appears twice",
    ),
    "another wording": (
        ALL,
        question(HOSTING, "Insurance", lambda q: q.update(question="Insured?")),
        q("Insurance") + "the category or the wording differs",
    ),
    "not JSON": (ALL, lambda content: content[:-9], "CUADv1.json: is no JSON ("),
    "no contract": (
        ALL,
        json(lambda data: data.clear()),
        "CUADv1.json: holds no contract; fetch",
    ),
    "repeated contract": (ALL, copied(HOSTING), IN_ALL + "the contract appears twice"),
    "another text in test": (
        TEST,
        longer(HOSTING),
        f"test.json, contract '{HOSTING}': the text differs",
    ),
    "fewer answers in test": (
        TEST,
        question(HOSTING, "Parties", lambda q: q["answers"].pop()),
        f"test.json, {q('Parties')}differs from the question in CUADv1.json",
    ),
    "missing question in test": (
        TEST,
        without(HOSTING, "Insurance"),
        f"the question '{HOSTING}__Insurance' of CUADv1.json is missing",
    ),
    "unknown test contract": (
        ALL,
        drop(HOSTING),
        f"test.json, contract '{HOSTING}': the contract is not in",
    ),
    "in both splits": (
        TEST,
        copied(DISTRIBUTOR),
        f"{TRAIN}, contract '{DISTRIBUTOR}': the contract is in test.json as well",
    ),
    "in no split": (
        TEST,
        drop(HOSTING),
        IN_ALL + "the contract is neither in train_separate",
    ),
    "missing example": (
        TRAIN,
        without(DISTRIBUTOR, "Parties_3"),
        IN_TRAIN + "Parties': its 4 examples do not hold the 5 answers of CUADv1.json",
    ),
    "missing unanswered example": (
        TRAIN,
        without(DISTRIBUTOR, "Source Code Escrow_0"),
        IN_TRAIN + "Source Code Escrow': its 0 examples do not hold the 0 answers",
    ),
    "example with two answers": (
        TRAIN,
        question(
            DISTRIBUTOR, "Parties_0", lambda q: q["answers"].append(q["answers"][0])
        ),
        IN_TRAIN + "Parties_0': has 2 answers where an example has at most one",
    ),
    "another wording of an example": (
        TRAIN,
        question(DISTRIBUTOR, "Parties_2", lambda q: q.update(question="Who?")),
        IN_TRAIN + "Parties_2': has another wording than in CUADv1.json",
    ),
    "category not described": (
        DESCRIBED,
        table(lambda rows: rows.pop(5)),
        f"Date': {NOT_A_CATEGORY}",
    ),
    "category that is not asked": (
        DESCRIBED,
        lambda content: (
            content + b"\r\nCategory: Escrow,Description: x,Answer Format: x,Group: -"
        ),
        "has no question of the category 'Escrow'; restore it.",
    ),
    "category twice": (
        DESCRIBED,
        table(lambda rows: rows.append(rows[5])),
        "row 43: the category 'Expiration Date' appears",
    ),
    "category without its label": (
        DESCRIBED,
        put(5, 0, "Expiration Date"),
        "row 6: the cell 'Expiration Date' does not start",
    ),
    "header of descriptions": (
        DESCRIBED,
        put(0, 3, "Groups"),
        "row 1: the header is not Category",
    ),
    "clauses of an unknown contract": (
        MASTER,
        replaced(b"HALVORSEN&PIKE", b"HALVORSEN&PIKES"),
        "12-CONSULTING AGREEMENT.PDF'\" matches no contract of CUADv1.json",
    ),
    "clauses twice": (
        MASTER,
        table(lambda rows: rows.append(find(rows, DISTRIBUTOR))),
        f"the contract '{DISTRIBUTOR}' appears twice (first at master_clauses.csv, row 5)",
    ),
    "clauses missing": (
        MASTER,
        table(lambda rows: rows.remove(find(rows, DISTRIBUTOR))),
        f"master_clauses.csv: the contract '{DISTRIBUTOR}' has no row",
    ),
    "clauses that are no list": (
        MASTER,
        cell(DISTRIBUTOR, "Insurance", "['The Distributor shall"),
        "master_clauses.csv, row 5, column Insurance: the cell is not a list of strings",
    ),
    "clauses that are numbers": (
        MASTER,
        cell(DISTRIBUTOR, "Insurance", "[1]"),
        "is not a list of strings",
    ),
    "empty clause": (
        MASTER,
        cell(DISTRIBUTOR, "Insurance", "['']"),
        "one of the clauses is empty; drop it.",
    ),
    "column of clauses missing": (
        MASTER,
        replaced(b",Insurance,", b",Assurance,"),
        "csv, row 1: there is no column 'Insurance'",
    ),
    "column too many": (
        MASTER,
        table(lambda rows: [row.append("") for row in rows]),
        "row 1: the header is not Filename and two columns for each of the 41 categories",
    ),
    "no contracts": (
        ALL,
        None,
        "data.zip: holds 0 files called CUADv1.json where there should be one",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_names_the_file_and_the_place(altered, case):
    name, change, message = ERRORS[case]
    with pytest.raises(BadInput) as error:
        release(altered({name: change}))
    assert message in str(error.value)


def test_titles_that_differ_only_in_punctuation_can_be_ambiguous(altered):
    """A file name that matches both is an error, unless it is the exact title of one."""
    twin = FILING.strip()

    def add(data):
        entry = orjson.loads(
            orjson.dumps(next(e for e in data if e["title"] == FILING))
        )
        entry["title"] = twin
        for asked in entry["paragraphs"][0]["qas"]:
            asked["id"] = asked["id"].replace(FILING, twin)
        data.append(entry)

    # The PDF matches the twin, so the other contract has no PDF.
    changes = {ALL: json(add), TRAIN: json(add)}
    folder = altered(changes)
    with pytest.raises(
        BadInput,
        match=f"has 0 PDFs of the contract '{FILING}' where there should be one",
    ):
        release(folder)
    with zipfile.ZipFile(folder / "CUAD_v1.zip", "a") as archive:
        archive.writestr(f"{PDF}/Part_I/Joint Venture _ Filing/{FILING}.pdf", pdf(2))
    with pytest.raises(BadInput, match=f"contract '{FILING}' has no row"):
        release(folder)
    folder = altered(
        changes | {MASTER: replaced(f"{twin}.pdf".encode(), f"{twin}-.pdf".encode())}
    )
    with zipfile.ZipFile(folder / "CUAD_v1.zip", "a") as archive:
        archive.writestr(f"{PDF}/Part_I/Joint Venture _ Filing/{FILING}.pdf", pdf(2))
    with pytest.raises(BadInput, match=r"matches 2 contracts of CUADv1\.json; give it"):
        release(folder)
