"""CUAD from the real contracts: what the paper says of them, and that the sample takes nothing from them."""

import io
import json
import re
import shutil
import subprocess
import sys
import tomllib
import unicodedata
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from pypdf import PdfWriter

from lextables.papers.cuad.raw import read_release
from lextables.papers.cuad.schema import TABLES
from lextables.pipeline.dataset import census, write

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "resources/facts/cuad_contracts.csv"
FILES = ("data.zip", "CUAD_v1.zip", "category_descriptions.csv")

# Table 3, and the folders of the release that each of its rows counts.
TABLE_3 = {
    "Affiliate Agreement": (10, ["Affiliate Agreement", "Affiliate_Agreements"]),
    "Agency Agreement": (13, ["Agency Agreements"]),
    "Collaboration Agreement": (26, ["Collaboration"]),
    "Co-Branding Agreement": (22, ["Co_Branding"]),
    "Consulting Agreement": (11, ["Consulting Agreements"]),
    "Development Agreement": (29, ["Development"]),
    "Distributor Agreement": (32, ["Distributor"]),
    "Endorsement Agreement": (24, ["Endorsement", "Endorsement Agreement"]),
    "Franchise Agreement": (15, ["Franchise"]),
    "Hosting Agreement": (20, ["Hosting"]),
    "IP Agreement": (17, ["IP"]),
    "Joint Venture Agreement": (23, ["Joint Venture", "Joint Venture _ Filing"]),
    "License Agreement": (33, ["License_Agreements"]),
    "Maintenance Agreement": (34, ["Maintenance"]),
    "Manufacturing Agreement": (17, ["Manufacturing"]),
    "Marketing Agreement": (17, ["Marketing"]),
    "Non-Compete Agreement": (3, ["Non_Compete_Non_Solicit"]),
    "Outsourcing Agreement": (18, ["Outsourcing"]),
    "Promotion Agreement": (12, ["Promotion"]),
    "Reseller Agreement": (12, ["Reseller"]),
    "Service Agreement": (28, ["Service"]),
    "Sponsorship Agreement": (31, ["Sponsorship"]),
    "Supply Agreement": (18, ["Supply"]),
    "Strategic Alliance Agreement": (32, ["Strategic Alliance"]),
    "Transportation Agreement": (13, ["Transportation"]),
}
TYPES = {folder: name for name, (_, folders) in TABLE_3.items() for folder in folders}


@pytest.fixture(scope="module")
def rows(mirror):
    return read_release(*(mirror / "cuad" / name for name in FILES), RECORDED, TYPES)


def test_contracts_and_their_types(rows):
    assert Counter(row["split"] for row in rows.contracts) == {"train": 408, "test": 102}
    assert Counter(row["contract_type"] for row in rows.contracts) == {
        name: count for name, (count, _) in TABLE_3.items()
    }
    assert sum(row["pages"] for row in rows.contracts) == 9_348
    assert all(row["characters"] == len(row["text"]) for row in rows.contracts)


def test_each_title_is_found_by_the_name_of_its_pdf(mirror, rows, tmp_path):
    """Names of another case, other signs, blanks or accents, and nothing on record."""
    ways = (
        str,
        str.upper,
        lambda title: f"{title.strip()} ",
        lambda title: title.replace("_", "&"),
        lambda title: unicodedata.normalize("NFD", title),
    )
    page = io.BytesIO()
    writer = PdfWriter()
    writer.add_blank_page(612, 792)
    writer.write(page)
    folders = {kind: folder for folder, kind in TYPES.items()}
    archive = tmp_path / "CUAD_v1.zip"
    shutil.copyfile(mirror / "cuad/CUAD_v1.zip", archive)
    with zipfile.ZipFile(archive, "a") as file:
        for place, row in enumerate(rows.contracts):
            folder = f"CUAD_v1/full_contract_pdf/Part_I/{folders[row['contract_type']]}"
            file.writestr(f"{folder}/{ways[place % 5](row['contract_id'])}.PDF", page.getvalue())
    record = tmp_path / "record.csv"
    record.write_text("title,release_folder,pdf_pages\n")
    data, _, described = (mirror / "cuad" / name for name in FILES)
    found = read_release(data, archive, described, record, TYPES)
    assert [row | {"pages": 1} for row in rows.contracts] == found.contracts
    assert found.notes["contracts_without_a_pdf"] == found.notes["pdfs_of_no_contract"] == 0


def test_questions_and_answers_of_each_split(rows):
    found = {}
    for split in ("train", "test"):
        asked = [row["answers"] for row in rows.questions if row["split"] == split]
        found[split] = (len(asked), sum(count > 0 for count in asked), sum(asked))
    assert found == {"train": (16_728, 5_458, 11_180), "test": (4_182, 1_244, 2_643)}
    assert len(rows.answers) == 13_823
    assert len({row["category"] for row in rows.questions}) == len(rows.categories) == 41


def test_price_restrictions_alone_has_no_span_in_test(rows):
    answered = defaultdict(int)
    for question in rows.questions:
        answered[question["split"], question["category"]] += question["answers"]
    assert [key for key, count in answered.items() if not count] == [("test", "Price Restrictions")]


def test_training_examples(rows):
    assert len(rows.training_examples) == 22_450
    assert sum(row["start"] >= 0 for row in rows.training_examples) == 11_180
    assert len({row["contract_id"] for row in rows.training_examples}) == 408


def test_the_clause_table(rows):
    assert len(rows.clauses) == 13_101
    assert len(rows.supplementary) == 510 * 41
    answers = defaultdict(Counter)
    for row in rows.supplementary:
        answers[row["category"]][row["answer"]] += 1
    assert sum(counts.keys() == {"Yes", "No"} for counts in answers.values()) == 33
    assert answers["Uncapped Liability"] == {"No": 399, "Yes": 111}
    assert answers["Governing Law"].most_common(1) == [("New York", 97)]


def test_what_is_odd(rows):
    assert rows.notes == {
        "answers_with_the_text_of_another": 0,
        "clause_pieces_that_are_no_answer": 0,
        "clauses_that_skip_text": 695,
        "clauses_without_a_supplementary_answer": 160,
        # The mirror's zip has none.
        "contracts_without_a_pdf": 510,
        "file_names_unlike_their_title": 11,
        "pdfs_of_no_contract": 0,
        "pdfs_unlike_the_record": 0,
        "pdfs_without_pages": 0,
        "questions_answered_in_one_place_only": 0,
        "supplementary_answers_without_a_clause": 16,
    }


def test_the_tables_take_every_row(rows, tmp_path):
    for table in TABLES["cuad"]:
        write(table, getattr(rows, table.name), tmp_path / table.name)
        assert census(table, tmp_path / table.name)["rows"] == len(getattr(rows, table.name))


def test_less_than_two_gibibytes(mirror):
    code = (
        "import json, resource, sys\n"
        "from lextables.papers.cuad.raw import read_release\n"
        "read_release(*sys.argv[2:], json.loads(sys.argv[1]))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)\n"
    )
    files = [str(path) for path in (*(mirror / "cuad" / name for name in FILES), RECORDED)]
    run = subprocess.run(
        [sys.executable, "-c", code, json.dumps(TYPES), *files],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT / "workflow")},
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(run.stdout) * unit < 2 * 2**30


def test_no_ten_words_of_the_sample_are_the_releases(rows):
    def runs(text):
        found = re.findall(r"[a-z0-9]+", text.lower())
        return zip(*(found[start:] for start in range(10)), strict=False)

    sample = ROOT / "resources/sample/cuad"
    ours = set()
    for name, kind, field in (("contracts", "contract", "text"), ("categories", "category", "description")):
        for entry in tomllib.loads((sample / f"{name}.toml").read_text("utf-8"))[kind]:
            # Without the marks of spans.
            ours.update(runs(re.sub(r"<\+?[A-Z][a-z][^<>]*>|</>", "", entry[field])))
    assert len(ours) > 4_000
    texts = [row["text"] for row in rows.contracts] + [row["description"] for row in rows.categories]
    assert not [(run, text[:60]) for text in texts for run in ours.intersection(runs(text))]
