"""The sample of the MAUD release: what is in it, and that it is what its script makes."""

import csv
import hashlib
import io
import json
import os
import re
import runpy
import zipfile
import zlib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "resources" / "sample"
ZIP = SAMPLE / "maud" / "maud_v1.zip"
MIRROR = ROOT.joinpath(os.environ.get("LEXTABLES_MIRROR", "../shared/mirror"), "maud")
SPLITS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def remade() -> dict[str, bytes]:
    # Not an import: the script stands outside the package, and this leaves no __pycache__ beside the data.
    return runpy.run_path(str(SAMPLE / "make_maud.py"))["build"]()


def _entries(path: Path | io.BytesIO) -> list[tuple[str, tuple, bytes]]:
    with zipfile.ZipFile(path) as archive:
        return [(entry.filename, entry.date_time, archive.read(entry)) for entry in archive.infolist()]


@pytest.fixture(scope="module")
def members() -> dict[str, bytes]:
    return {name: content for name, _, content in _entries(ZIP)}


@pytest.fixture(scope="module")
def rows(members) -> list[dict[str, str]]:
    """All rows of the csv files, each with its split."""
    found = []
    for split in SPLITS:
        text = io.StringIO(members[f"data/MAUD_{split}.csv"].decode(), newline="")
        found += [record | {"split": split} for record in csv.DictReader(text, strict=True)]
    return found


@pytest.fixture(scope="module")
def catalogue() -> list[dict]:
    """The questions on record, which the sample asks in the release's words."""
    groups = yaml.safe_load((ROOT / "resources/facts/maud_questions.yaml").read_bytes())
    return [question for group in groups for question in group["questions"]]


def head(row: dict[str, str]) -> tuple[str, str]:
    return row["question"], row["subquestion"]


def test_remaking_gives_the_same_files(remade):
    committed = {
        path.relative_to(SAMPLE).as_posix(): path
        for folder in ("maud", "maud_extraction")
        for path in (SAMPLE / folder).rglob("*")
        if path.is_file() and path.suffix != ".toml"
    }
    assert committed.keys() == remade.keys()
    for name, content in remade.items():
        if name.endswith(".zip"):
            assert _entries(io.BytesIO(content)) == _entries(committed[name])
        else:
            assert committed[name].read_bytes() == content, name


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng deflates to other bytes than zlib")
def test_remaking_gives_the_same_bytes(remade):
    assert remade["maud/maud_v1.zip"] == ZIP.read_bytes()


def test_the_zip_is_small_sorted_and_without_a_clock():
    assert ZIP.stat().st_size < 200_000
    names = [name for name, _, _ in _entries(ZIP)]
    assert names == sorted(names) and len(names) == 3 + 8
    assert {time for _, time, _ in _entries(ZIP)} == {(2025, 1, 15, 0, 0, 0)}


def test_rows_by_split_and_data_type(rows):
    counts = Counter((row["split"], row["data_type"]) for row in rows)
    assert {data_type for _, data_type in counts} == {"main", "abridged", "rare_answers"}
    assert counts["test", "rare_answers"] == 0
    assert len(counts) == 8 and min(counts.values()) >= 100
    assert 1500 < len(rows) < 2500


def test_every_head_is_asked(rows, catalogue):
    heads = {
        (entry["question"], answer)
        for entry in catalogue
        for answer in (entry["answers"] if entry.get("multilabel") else ("<NONE>",))
    }
    assert (len(catalogue), len(heads)) == (92, 144)
    assert {head(row) for row in rows} == heads
    for split in SPLITS:
        assert {head(row) for row in rows if row["split"] == split} == heads, split


def test_most_heads_have_two_answers_in_test_and_all_in_train(rows):
    seen = defaultdict(set)
    for row in rows:
        seen[row["split"], head(row)].add(row["label"])
    heads = {head(row) for row in rows}
    assert all(len(seen["train", one]) > 1 for one in heads)
    single = {one for one in heads if len(seen["test", one]) == 1}
    assert len(single) == 12
    assert ("FTR Triggers-Answer", "<NONE>") in single


def test_every_answer_stands_somewhere_as_the_release_labels_it(rows, catalogue):
    """A single answer's label is its place; a multilabel row's says whether its own answer is given."""
    answers = {entry["question"]: entry["answers"] for entry in catalogue}
    said = defaultdict(set)
    for row in rows:
        given = [row["answer"]] if row["subquestion"] == "<NONE>" else row["answer"].split(", ")
        said[row["question"]].update(given)
        if row["subquestion"] == "<NONE>":
            assert answers[row["question"]][int(row["label"])] == row["answer"]
        else:
            assert row["label"] == str(int(row["subquestion"] in given))
    assert {question: sorted(given) for question, given in said.items()} == answers


def test_a_contract_is_in_one_split_a_head_and_in_all_over_the_heads(rows):
    split_of = defaultdict(set)
    for row in rows:
        if row["data_type"] != "rare_answers":
            split_of[head(row), row["contract_name"]].add(row["split"])
    assert {len(splits) for splits in split_of.values()} == {1}
    for contract in range(8):
        found = {row["split"] for row in rows if row["contract_name"] == f"contract_{contract}"}
        assert found == set(SPLITS)


def test_texts_are_short_a_few_are_long_and_abridged_ones_are_no_main_text(rows):
    words = {row["text"]: len(row["text"].split()) for row in rows}
    assert 500 < len(words) < 700
    assert 12 <= sum(count > 400 for count in words.values()) <= 20
    assert sorted(words.values())[len(words) // 2] in range(50, 100)
    main = {row["text"] for row in rows if row["data_type"] == "main"}
    assert not main & {row["text"] for row in rows if row["data_type"] != "main"}
    assert all("<omitted>" in row["text"] for row in rows if row["data_type"] == "abridged")
    assert all(re.search(r"\((?:Page \d+|Pages \d+-\d+)\)$", text) for text in words)
    assert not [text for text in words if re.search(r"[{}]|  |\.\.", text)]
    assert any("\n" in text for text in words) and any('"' in text for text in words)


def test_a_main_text_is_made_of_pieces_of_its_contract(rows, members):
    for row in rows:
        if row["data_type"] == "main":
            contract = members[f"data/contracts/{row['contract_name']}.txt"].decode()
            for piece in re.sub(r" \(Pages? [\d-]+\)$", "", row["text"]).split(" <omitted> "):
                assert piece in contract


def test_conditional_questions_are_asked_where_their_condition_holds_but_once(rows):
    answers = {
        (row["question"], row["contract_name"]): row["answer"] for row in rows if row["data_type"] == "main"
    }

    def asked(question):
        return {contract for one, contract in answers if one == question}

    def where(question, answer):
        return {contract for (one, contract), given in answers.items() if (one, given) == (question, answer)}

    constructive = where("Knowledge Definition-Answer", "Constructive knowledge")
    assert asked("Constructive Knowledge-Answer") == constructive | {"contract_2"}
    assert "contract_2" not in constructive
    assert asked("COR standard (board determination only)-answer") == where(
        "COR permitted with board fiduciary determination only", "Yes"
    )


def test_no_stands_alone_but_once(rows):
    beside = {
        (row["question"], row["contract_name"])
        for row in rows
        if row["subquestion"] != "<NONE>" and "No" in (given := row["answer"].split(", ")) and len(given) > 1
    }
    assert beside == {("A/P/C application to-Answer", "contract_4")}


def test_the_extraction_task_asks_22_types_of_each_contract(members):
    asked = Counter()
    for split, contracts in (("train", 6), ("dev", 1), ("test", 1)):
        content = json.loads((SAMPLE / f"maud_extraction/maud_squad_{split}.json").read_bytes())
        assert len(content["data"]) == contracts
        for entry in content["data"]:
            (paragraph,) = entry["paragraphs"]
            assert paragraph["context"] == members[f"data/contracts/{entry['title']}.txt"].decode()
            assert len({question["question"] for question in paragraph["qas"]}) == 22
            for question in paragraph["qas"]:
                asked[bool(question["answers"])] += 1
                assert question["is_impossible"] == (not question["answers"])
                for answer in question["answers"]:
                    start = answer["answer_start"]
                    assert paragraph["context"][start:].startswith(answer["text"])
    assert asked == {True: 172, False: 4}


def test_the_registry_has_the_samples_digests():
    registry = yaml.safe_load((ROOT / "resources/sources.yaml").read_text(encoding="utf-8"))
    found = 0
    for source in ("maud", "maud_extraction"):
        for name, file in registry[source]["files"].items():
            if sample := file.get("variants", {}).get("sample"):
                content = (SAMPLE / source / name).read_bytes()
                assert sample["digest"] == f"sha256:{hashlib.sha256(content).hexdigest()}", name
                assert sample["size"] == len(content), name
                found += 1
    assert found == 10


# Against the release


@pytest.fixture(scope="module")
def mirror() -> Path:
    if not MIRROR.is_dir():
        pytest.skip(f"there is no MAUD at {MIRROR}; set LEXTABLES_MIRROR to the mirror's folder")
    return MIRROR


def test_questions_and_answers_are_named_as_in_the_release(catalogue, mirror):
    listed = json.loads((mirror / "question_answer_catalogue.json").read_bytes())
    names = [entry["question"].removesuffix("[MULTILABEL]").rstrip() for entry in listed]
    assert [entry["question"] for entry in catalogue] == names
    assert [entry["answers"] for entry in catalogue] == [entry["answers"] for entry in listed]
    marked = [entry["question"].endswith("[MULTILABEL]") for entry in listed]
    assert [entry.get("multilabel", False) for entry in catalogue] == marked


def test_the_layouts_are_the_releases(members, mirror):
    with zipfile.ZipFile(mirror / "maud_v1.zip") as archive:
        theirs = archive.read("MAUD_v1/MAUD_dev.csv").splitlines()[0].decode().split(",")
    ours = members["data/MAUD_dev.csv"].splitlines()[0].decode().split(",")
    assert sorted(ours) == sorted(theirs)
    for path in sorted((SAMPLE / "maud/best_found_hps").rglob("*.csv")):
        name = path.relative_to(SAMPLE / "maud")
        ours, theirs = (
            folder.joinpath(name).read_text().splitlines() for folder in (SAMPLE / "maud", mirror)
        )
        assert sorted(ours[0].split(",")) == sorted(theirs[0].split(","))
        assert len(ours) == len(theirs)


def test_no_ten_words_are_the_releases(rows, members, mirror):
    def runs(text: str) -> set[tuple[str, ...]]:
        found = re.findall(r"[a-z0-9]+", text.lower())
        return {tuple(found[start : start + 10]) for start in range(len(found) - 9)}

    ours = set().union(*(runs(row["text"]) for row in rows))
    ours |= set().union(*(runs(text.decode()) for name, text in members.items() if name.endswith(".txt")))
    assert len(ours) > 4000
    with zipfile.ZipFile(mirror / "maud_v1.zip") as archive:
        for split in SPLITS:
            content = io.StringIO(archive.read(f"MAUD_v1/MAUD_{split}.csv").decode(), newline="")
            for text in sorted({record["text"] for record in csv.DictReader(content)}):
                assert not ours & runs(text), text[:60]
