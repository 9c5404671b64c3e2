"""The sample of the CUAD release: what is in it, and that it is what its script makes."""

import ast
import csv
import io
import os
import re
import runpy
import zipfile
import zlib
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath

import orjson
import pytest
from pypdf import PdfReader

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "resources" / "sample"
COMMITTED = SAMPLE / "cuad"
RELEASE = ROOT.joinpath(os.environ.get("LEXTABLES_MIRROR", "../shared/mirror"), "cuad")

FILES = ("CUAD_v1.zip", "category_descriptions.csv", "data.zip")
SQUAD = ("CUADv1.json", "test.json", "train_separate_questions.json")
MASTER = "CUAD_v1/master_clauses.csv"


@pytest.fixture(scope="module")
def remade() -> dict[str, bytes]:
    # Not an import: the script stands outside the package, and this leaves no __pycache__ beside the data.
    return runpy.run_path(str(SAMPLE / "make_cuad.py"))["files"]()


def _entries(path: Path | io.BytesIO) -> list[tuple[str, tuple, bytes]]:
    with zipfile.ZipFile(path) as archive:
        return [(entry.filename, entry.date_time, archive.read(entry)) for entry in archive.infolist()]


def _contracts(folder: Path, name: str) -> dict[str, dict]:
    """The paragraph of each contract by title, in the file's order."""
    with zipfile.ZipFile(folder / "data.zip") as archive:
        return {e["title"]: e["paragraphs"][0] for e in orjson.loads(archive.read(name))["data"]}


def _clause_table(folder: Path) -> list[list[str]]:
    with zipfile.ZipFile(folder / "CUAD_v1.zip") as archive:
        return list(csv.reader(io.StringIO(archive.read(MASTER).decode(), newline="")))


@pytest.fixture(scope="module")
def squad() -> dict[str, dict[str, dict]]:
    return {name: _contracts(COMMITTED, name) for name in SQUAD}


@pytest.fixture(scope="module")
def answers(squad) -> dict[tuple[str, str], list[dict]]:
    """The answers by title and category."""
    return {
        (title, asked["id"].removeprefix(f"{title}__")): asked["answers"]
        for title, paragraph in squad["CUADv1.json"].items()
        for asked in paragraph["qas"]
    }


def test_remaking_gives_the_same_files(remade):
    assert sorted(remade) == sorted(FILES)
    for name, made in remade.items():
        if name.endswith(".zip"):
            assert _entries(io.BytesIO(made)) == _entries(COMMITTED / name), name
        else:
            assert made == (COMMITTED / name).read_bytes(), name


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng deflates to other bytes than zlib")
@pytest.mark.parametrize("name", ["data.zip", "CUAD_v1.zip"])
def test_remaking_gives_the_same_bytes(remade, name):
    assert remade[name] == (COMMITTED / name).read_bytes()


@pytest.mark.parametrize(("name", "members"), [("data.zip", 3), ("CUAD_v1.zip", 17)])
def test_the_zips_are_small_sorted_and_without_a_clock(name, members):
    assert (COMMITTED / name).stat().st_size < 60_000
    names = [member for member, _, _ in _entries(COMMITTED / name)]
    assert names == sorted(names) and len(names) == members
    assert {time for _, time, _ in _entries(COMMITTED / name)} == {(2025, 1, 15, 0, 0, 0)}


def test_contracts_and_splits(squad):
    everything, test, train = (squad[name] for name in SQUAD)
    assert (len(everything), len(test), len(train)) == (8, 2, 6)
    assert test.keys() | train.keys() == everything.keys()
    assert all(test[title] == everything[title] for title in test)
    assert all(2_000 <= len(paragraph["context"]) <= 6_000 for paragraph in everything.values())


def test_the_41_questions_of_each_contract(squad, answers):
    categories = list(dict.fromkeys(category for _, category in answers))
    assert len(categories) == 41
    wordings = defaultdict(set)
    for title, paragraph in squad["CUADv1.json"].items():
        assert [asked["id"] for asked in paragraph["qas"]] == [f"{title}__{name}" for name in categories]
        for name, asked in zip(categories, paragraph["qas"], strict=True):
            wordings[name].add(asked["question"])
            assert asked["is_impossible"] == (not asked["answers"])
    assert {len(found) for found in wordings.values()} == {1}


def test_only_one_category_has_no_span_in_test(squad, answers):
    found = {name: {c for (t, c), a in answers.items() if a and t in squad[name]} for name in SQUAD[1:]}
    categories = {category for _, category in answers}
    assert categories - found["test.json"] == {"Price Restrictions"}
    assert found["train_separate_questions.json"] == categories


def test_answers_are_many_short_repeated_shared_and_hard_to_find(squad, answers):
    texts = {title: paragraph["context"] for title, paragraph in squad["CUADv1.json"].items()}
    for (title, category), found in answers.items():
        for answer in found:
            start = answer["answer_start"]
            assert texts[title][start : start + len(answer["text"])] == answer["text"], (title, category)
            assert answer["text"] == answer["text"].strip()
    assert {len(found) for found in answers.values()} >= {0, 1, 2, 4, 5, 6}
    parties = [
        (title, a) for (title, category), found in answers.items() if category == "Parties" for a in found
    ]
    assert min(len(answer["text"]) for _, answer in parties) <= 5
    # A short name that stands in many places, of which one is the answer; and one that is an answer twice.
    assert sum(texts[title].count(answer["text"]) >= 10 for title, answer in parties) >= 5
    repeated = Counter((title, answer["text"]) for title, answer in parties)
    assert [text for (_, text), count in repeated.items() if count > 1] == ["Lowell Ostrander"]
    spans = defaultdict(set)
    for (title, category), found in answers.items():
        for answer in found:
            spans[title, answer["answer_start"], answer["text"]].add(category)
    assert {frozenset(shared) for shared in spans.values() if len(shared) > 1} >= {
        frozenset({"License Grant", "Non-Transferable License"}),
        frozenset({"Anti-Assignment", "Change Of Control"}),
    }
    # Lines break inside spans; words are blacked out; a page is blank.
    assert any("\n" in answer["text"] for found in answers.values() for answer in found)
    assert sum("[***]" in text for text in texts.values()) >= 5
    assert any("This page is blank" in text for text in texts.values())


def test_training_examples_are_numbered_answers(squad, answers):
    for title, paragraph in squad["train_separate_questions.json"].items():
        examples = {asked["id"]: asked["answers"] for asked in paragraph["qas"]}
        wanted = {
            f"{title}__{category}_{number}": [answer] if answer else []
            for (of, category), found in answers.items()
            if of == title
            for number, answer in enumerate(found or [None])
        }
        assert examples == wanted


def test_the_clause_table_is_the_answers_with_pieces_joined(answers):
    header, *rows = _clause_table(COMMITTED)
    assert len(header) == 83 and len(rows) == 8
    assert "Notice Period To Terminate Renewal- Answer" in header
    titles = sorted({title for title, _ in answers})
    files = sorted(row[0] for row in rows)
    assert [name.rsplit(".", 1)[1] for name in files].count("PDF'") == 1
    assert sum(any(name.startswith(f"{title}.") for title in titles) for name in files) == 4
    joined = 0
    # Both sort alike: what differs in a name is its signs and its end.
    for title, row in zip(titles, sorted(rows), strict=True):
        for column in range(1, len(header), 2):
            clauses = ast.literal_eval(row[column])
            joined += sum("<omitted>" in clause for clause in clauses)
            pieces = [piece for clause in clauses for piece in clause.split(" <omitted> ")]
            assert pieces == [answer["text"] for answer in answers[title, header[column]]]
            if row[column + 1] in ("Yes", "No"):
                assert (row[column + 1] == "Yes") == bool(clauses)
    assert joined == 5


def test_the_sheets_are_written_like_the_releases():
    described = (COMMITTED / "category_descriptions.csv").read_bytes()
    assert described.startswith(b"\xef\xbb\xbfCategory (incl. context and answer),Description,")
    assert described.count(b"\r\n") == 41 and not described.endswith(b"\n")


def _folders(names) -> dict[str, str]:
    """The PDFs' folders by their paths."""
    paths = [PurePosixPath(name) for name in names if "/full_contract_pdf/" in name]
    assert all(re.fullmatch(r"Part_I{1,3}", path.parts[2]) and len(path.parts) == 5 for path in paths)
    return {str(path): path.parts[3] for path in paths}


def test_the_pdfs_lie_in_the_folders_of_their_types_and_hold_the_texts(squad):
    texts = {"".join(paragraph["context"].split()) for paragraph in squad["CUADv1.json"].values()}
    with zipfile.ZipFile(COMMITTED / "CUAD_v1.zip") as archive:
        folders = _folders(archive.namelist())
        assert len(folders) == len(set(folders.values())) == 8
        assert {name[-4:] for name in folders} == {".pdf", ".PDF"}
        for name in folders:
            pages = [page.extract_text() for page in PdfReader(io.BytesIO(archive.read(name))).pages]
            assert all(page.strip() for page in pages)
            texts.discard("".join("".join(pages).split()))
    assert texts == set()


@pytest.fixture(scope="module")
def release() -> Path:
    if not RELEASE.is_dir():
        pytest.skip(f"the CUAD release is not at {RELEASE}; set LEXTABLES_MIRROR to the mirror's folder")
    return RELEASE


def test_the_format_is_the_releases(squad, release):
    their_title, their = next(iter(_contracts(release, "test.json").items()))
    our_title, our = next(iter(squad["test.json"].items()))
    assert list(our) == list(their)
    for mine, asked in zip(our["qas"], their["qas"], strict=True):
        assert list(mine) == list(asked)
        assert mine["id"].removeprefix(our_title) == asked["id"].removeprefix(their_title)
        assert mine["question"].partition("Details: ")[0] == asked["question"].partition("Details: ")[0]
    with zipfile.ZipFile(release / "data.zip") as archive:
        assert sorted(archive.namelist()) == sorted(SQUAD)
    assert _clause_table(COMMITTED)[0] == _clause_table(release)[0]
    sheets = []
    for folder in (COMMITTED, release):
        with (folder / "category_descriptions.csv").open(encoding="utf-8-sig", newline="") as file:
            sheets.append([(row[0], row[2], row[3]) for row in csv.reader(file)])
    with (ROOT / "resources/facts/cuad_contracts.csv").open(encoding="utf-8", newline="") as file:
        theirs = {line["release_folder"] for line in csv.DictReader(file)}
    with zipfile.ZipFile(COMMITTED / "CUAD_v1.zip") as archive:
        assert set(_folders(archive.namelist()).values()) <= theirs
    assert sheets[0] == sheets[1]
