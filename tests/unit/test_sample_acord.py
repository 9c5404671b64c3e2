"""The sample of the ACORD release: what is in it, and that it is what its script makes."""

import csv
import io
import json
import os
import re
import runpy
import zipfile
import zlib
from collections import Counter, defaultdict
from pathlib import Path

import openpyxl
import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "resources" / "sample"
COMMITTED = SAMPLE / "acord" / "ACORD.zip"
RELEASE = ROOT.joinpath(os.environ.get("LEXTABLES_MIRROR", "../shared/mirror"), "acord", "ACORD.zip")

FOLDER = "ACORD Dataset & ReadMe (external)"
WORKBOOK = "supplemental materials/ACORD 2-5 Star Clause Pairs.xlsx"
FORMATS = "supplemental materials/acord query (short_medium_long).tsv"
SPLITS = ("train", "valid", "test")


@pytest.fixture(scope="module")
def remade() -> bytes:
    # Not an import: the script stands outside the package, and this leaves no __pycache__ beside the data.
    return runpy.run_path(str(SAMPLE / "make_acord.py"))["build"]()


def _entries(path: Path | io.BytesIO) -> list[tuple[str, tuple, bytes]]:
    with zipfile.ZipFile(path) as archive:
        return [(entry.filename, entry.date_time, archive.read(entry)) for entry in archive.infolist()]


def _files(path: Path) -> dict[str, bytes]:
    return {name.removeprefix(f"{FOLDER}/"): content for name, _, content in _entries(path)}


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return _files(COMMITTED)


@pytest.fixture(scope="module")
def queries(files) -> dict[str, dict]:
    return {record["_id"]: record for record in map(json.loads, files["queries.jsonl"].splitlines())}


@pytest.fixture(scope="module")
def corpus(files) -> dict[str, str]:
    return {record["_id"]: record["text"] for record in map(json.loads, files["corpus.jsonl"].splitlines())}


def _tsv(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter="\t"))


@pytest.fixture(scope="module")
def qrels(files) -> dict[str, dict[str, dict[str, int]]]:
    """By split, query and clause: the score."""
    read = {}
    for split in SPLITS:
        header, *rows = _tsv(files[f"qrels/{split}.tsv"])
        assert header == ["query-id", "corpus-id", "score"]
        read[split] = defaultdict(dict)
        for query, clause, score in rows:
            assert clause not in read[split][query], (query, clause)
            read[split][query][clause] = int(score)
    return read


@pytest.fixture(scope="module")
def judged(qrels) -> dict[str, dict[str, int]]:
    return {query: scores for split in SPLITS for query, scores in qrels[split].items()}


def test_remaking_gives_the_same_files(remade):
    assert _entries(io.BytesIO(remade)) == _entries(COMMITTED)


@pytest.mark.skipif("ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng deflates to other bytes than zlib")
def test_remaking_gives_the_same_bytes(remade):
    assert remade == COMMITTED.read_bytes()


def test_the_zip_is_small_sorted_and_without_a_clock():
    assert COMMITTED.stat().st_size < 200_000
    names = [name for name, _, _ in _entries(COMMITTED)]
    assert names == sorted(names) and len(names) == 7
    assert all(name.startswith(f"{FOLDER}/") for name in names)
    assert {time for _, time, _ in _entries(COMMITTED)} == {(2025, 1, 15, 0, 0, 0)}


def test_the_parts_of_the_workbook_have_no_clock_either(files):
    parts = _entries(io.BytesIO(files[WORKBOOK]))
    assert {time for _, time, _ in parts} == {(2025, 1, 15, 0, 0, 0)}
    assert not [name for name, _, _ in parts if name.startswith("docProps/")]


def test_queries_by_split_and_category(queries, qrels):
    assert Counter(record["metadata"]["split"] for record in queries.values()) == {
        "train": 10,
        "valid": 3,
        "test": 11,
    }
    categories = {record["metadata"]["category"] for record in queries.values()}
    assert len(categories) == 9
    assert {queries[query]["metadata"]["category"] for query in qrels["test"]} == categories
    for split in SPLITS:
        assert set(qrels[split]) == {
            q for q, record in queries.items() if record["metadata"]["split"] == split
        }
    assert {"Change Of Control", '"as-is" clause'} <= set(qrels["test"])


def test_clauses(corpus):
    assert len(corpus) == 148 == len(set(corpus.values()))
    assert all(re.fullmatch("[0-9a-f]{10}", clause) for clause in corpus)
    lengths = [len(text.split()) for text in corpus.values()]
    assert min(lengths) >= 20 and max(lengths) <= 120
    assert not [
        text for text in corpus.values() if re.search(r"[{}|\[\]]|  |\n\n", text) or text != text.strip()
    ]


def test_every_query_is_judged_as_the_release_judges(judged, corpus):
    for query, scores in judged.items():
        assert scores.keys() <= corpus.keys()
        assert 40 <= len(scores) <= 90, query
        assert sum(score >= 2 for score in scores.values()) >= 5, query
        assert {0, 1, 2} <= set(scores.values()), query


def test_every_score_appears(judged):
    assert {score for scores in judged.values() for score in scores.values()} == {0, 1, 2, 3, 4}


def test_some_categories_have_no_five_star_clause_in_test(qrels, queries):
    best = defaultdict(int)
    for query, scores in qrels["test"].items():
        category = queries[query]["metadata"]["category"]
        best[category] = max(best[category], *scores.values())
    assert {category for category, score in best.items() if score < 4} == {
        "Term",
        "Liquidated Damages",
        "third party beneficiary clause",
    }


def test_irrelevant_clauses_come_from_other_categories(judged, queries):
    """A clause has two or more stars for queries of one category, and one star for no query of it."""
    category = {}
    for query, scores in judged.items():
        for clause, score in scores.items():
            if score:
                assert (
                    category.setdefault(clause, queries[query]["metadata"]["category"])
                    == (queries[query]["metadata"]["category"])
                )
    for query, scores in judged.items():
        for clause, score in scores.items():
            if not score:
                assert category.get(clause) != queries[query]["metadata"]["category"], (query, clause)


def test_the_tables_are_quoted_and_ended_like_the_releases(files):
    assert b'\r\n"""as-is"" clause"\t' in files["qrels/test.tsv"]
    for name in [f"qrels/{split}.tsv" for split in SPLITS]:
        assert files[name].endswith(b"\t0\r\n")
        assert files[name].count(b"\n") == files[name].count(b"\r\n")
    assert not files[FORMATS].endswith(b"\n")


def test_formats_of_the_queries(files, queries):
    header, *rows = _tsv(files[FORMATS])
    assert header == ["ACORD Query", "Medium Format", "Long Format"]
    assert len(rows) == 24 and all(len(fields) == 3 and all(fields) for fields in rows)
    assert {fields[0] for fields in rows} - queries.keys() == {
        "as-is clause",
        "as is clause with carveouts",
        "indemnification clauses that includes hold harmless",
    }


def _columns(files: dict[str, bytes]) -> dict[str, list[tuple[str | None, float | None]]]:
    """The workbook's clauses and ratings by the title that heads them, as written."""
    columns = {}
    for sheet in openpyxl.load_workbook(io.BytesIO(files[WORKBOOK])):
        top, left = (2, 1) if sheet.title == "Other Categories" else (1, 2)
        for column in range(left, sheet.max_column + 1, 2):
            assert sheet.cell(top, column + 1).value == "Rating"
            rows = [
                (sheet.cell(row, column).value, sheet.cell(row, column + 1).value)
                for row in range(top + 1, sheet.max_row + 1)
            ]
            columns[sheet.cell(top, column).value] = [row for row in rows if row != (None, None)]
    return columns


def test_the_sheets_are_the_releases(files):
    book = openpyxl.load_workbook(io.BytesIO(files[WORKBOOK]))
    assert book.sheetnames == [
        "Limitation of Liability Part I",
        "Limitation of Liability Part II",
        "Sheet7",
        "Limitation of Liability Part IV",
        "Other Categories",
    ]
    assert [sheet["A1"].value for sheet in book] == [
        None,
        "Query",
        "Query ",
        "Query",
        "Affirmative Covenants",
    ]
    assert {title for title in _columns(files) if title != title.strip()} == {
        '"as is" clause with carveouts ',
        "Most Favored Nation Clause ",
        "Clause that requires notice to terminate auto-renew ",
        "Clause with multiple governing laws  ",
    }


def test_the_ratings_round_to_the_scores(files, judged, corpus):
    clause_of = {re.sub(r"\s+", "", text): clause for clause, text in corpus.items()}
    columns = {
        title.strip().replace("that includes", "that include"): rows
        for title, rows in _columns(files).items()
    }
    assert columns.keys() == judged.keys()
    left_over = []
    for query, rows in columns.items():
        listed = {}
        for text, rating in rows:
            clause = clause_of.get(re.sub(r"\s+", "", text or ""))
            if clause is None or rating is None:
                left_over.append((query, clause is not None, rating))
                continue
            assert round(rating, 1) in (2.0, 3.0, 3.3, 3.7, 4.0, 4.3, 4.7, 5.0)
            # 4.67 is rounded up to five stars and 4.33 down to four (Section 3); a score is stars less one.
            listed[clause] = int(rating + 0.5) - 1
        scored = {clause: score for clause, score in judged[query].items() if score}
        if query == "Change Of Control":
            assert len(scored) == len(listed) + 1 and listed.items() <= scored.items()
        else:
            assert listed == scored, query
    assert sorted(left_over) == [
        ("Change Of Control", True, None),
        ("Non-compete bound by time and territory", False, 0.0),
        ("cap on liability", False, None),
    ]


@pytest.fixture(scope="module")
def release() -> dict[str, bytes]:
    if not RELEASE.is_file():
        pytest.skip(f"the ACORD release is not at {RELEASE}; set LEXTABLES_MIRROR to the mirror's folder")
    return _files(RELEASE)


def test_the_format_is_the_releases(files, release):
    assert files.keys() == release.keys() - {"ACORD readme.docx"}
    for name in ("queries.jsonl", "corpus.jsonl"):
        ours, theirs = json.loads(files[name].splitlines()[0]), json.loads(release[name].splitlines()[0])
        assert list(ours) == list(theirs)
        assert list(ours.get("metadata", {})) == list(theirs.get("metadata", {}))
    for name in (*(f"qrels/{split}.tsv" for split in SPLITS), FORMATS):
        assert files[name].splitlines(keepends=True)[0] == release[name].splitlines(keepends=True)[0]
    of_release = {
        record["_id"]: record["metadata"] for record in map(json.loads, release["queries.jsonl"].splitlines())
    }
    ours = {
        record["_id"]: record["metadata"] for record in map(json.loads, files["queries.jsonl"].splitlines())
    }
    for query, metadata in ours.items():
        assert metadata.items() - {("split", metadata["split"])} <= of_release[query].items(), query


def test_no_ten_words_are_the_releases(files, corpus, release):
    def words(text: str) -> list[str]:
        return re.findall(r"[a-z0-9]+", text.lower())

    def runs(text: str) -> set[tuple[str, ...]]:
        found = words(text)
        return {tuple(found[start : start + 10]) for start in range(len(found) - 9)}

    ours = set().union(*map(runs, corpus.values()))
    ours |= set().union(*(runs(" ".join(fields[1:])) for fields in _tsv(files[FORMATS])[1:]))
    assert len(ours) > 4000
    texts = [json.loads(line)["text"] for line in release["corpus.jsonl"].splitlines()]
    texts += release[FORMATS].decode().splitlines()
    assert not [(run, text[:60]) for text in texts for run in ours & runs(text)]
