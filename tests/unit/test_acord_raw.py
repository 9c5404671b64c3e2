"""ACORD's zip: what comes out of it, and one sentence with file and row for each thing that is wrong."""

import zipfile
from pathlib import Path

import pytest

from lextables.papers.acord.raw import read, read_release
from lextables.papers.acord.schema import TABLES
from lextables.papers.packages import load
from lextables.pipeline.dataset import Published, census, check_census, write
from lextables.pipeline.errors import BadInput

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "resources/sample/acord/ACORD.zip"
PAPER = load(ROOT / "resources/papers/acord.yaml")


def release(path):
    return read_release(path, PAPER.categories, PAPER.query_aliases)


@pytest.fixture(scope="module")
def members():
    with zipfile.ZipFile(SAMPLE) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def altered(members, tmp_path):
    """Write the sample with one file changed, and return the new zip's path."""

    def alter(suffix, change):
        path = tmp_path / "ACORD.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, change(content) if name.endswith(suffix) else content)
        return path

    return alter


def test_rows_come_sorted_and_fit_their_schemas(tmp_path):
    rows = release(SAMPLE)
    for table in TABLES["acord"]:
        assert write(table, getattr(rows, table.name), tmp_path / table.name) > 0
        counts = census(table, tmp_path / table.name)
        check_census(counts, PAPER.data["acord"].census["sample"][table.name], table.name)
    assert {row["stars"] - row["score"] for row in rows.judgements} == {1}
    assert [query["number"] for query in rows.queries] == list(range(1, len(rows.queries) + 1))
    assert all(query["medium"] and query["long"] for query in rows.queries)
    judged = {(row["query_id"], row["clause_id"]) for row in rows.judgements}
    assert all((r["query_id"], r["clause_id"]) in judged for r in rows.ratings if r["clause_id"])
    assert any(rating["rating"] % 1 for rating in rows.ratings)


def test_the_data_sets_reader_is_given_what_the_registry_names():
    entry = PAPER.data["acord"]
    given = {name: getattr(PAPER, name) for name in entry.given}
    found = read("acord", Published({name: [SAMPLE] for name in entry.files}, {}, given))
    rows = release(SAMPLE)
    for table in TABLES["acord"]:
        assert found.of[table.name] == getattr(rows, table.name)
    assert found.notes == rows.notes == {"ratings_without_a_number": 2, "ratings_without_a_judged_clause": 0}


def line(number, new):
    """A change of one line (1-based) of a file."""

    def change(content):
        lines = content.split(b"\n")
        lines[number - 1] = new(lines[number - 1])
        return b"\n".join(lines)

    return change


def cell(number, column, value):
    """A change of one cell of a tab-separated file."""

    def new(text):
        cells = text.split(b"\t")
        cells[column] = value
        return b"\t".join(cells)

    return line(number, new)


@pytest.mark.parametrize(
    ("suffix", "change", "sentence"),
    [
        ("qrels/test.tsv", cell(5, 1, b"ffffffffff"), "qrels/test.tsv, row 5: clause ffffffffff is not in"),
        ("qrels/test.tsv", cell(7, 2, b"7"), "qrels/test.tsv, row 7: score 7 is not one of 0 to 4."),
        ("qrels/test.tsv", cell(7, 2, b"2.5"), "qrels/test.tsv, row 7: score 2.5 is not one of 0 to 4."),
        (
            "qrels/train.tsv",
            cell(3, 0, b"No such query"),
            "qrels/train.tsv, row 3: query 'No such query' is not",
        ),
        (
            "qrels/valid.tsv",
            lambda content: content + content.split(b"\n")[1] + b"\n",
            "are judged twice (first at qrels/valid.tsv, row 2); drop one of the two.",
        ),
        (
            "qrels/test.tsv",
            line(1, lambda _: b"q\td\ts"),
            "qrels/test.tsv, row 1: the header is not query-id,",
        ),
        ("qrels/test.tsv", line(4, lambda _: b"one\ttwo"), "qrels/test.tsv, row 4: has 2 cells where there"),
        (
            "queries.jsonl",
            line(2, lambda text: text.replace(b'"split": "', b'"split": "no-')),
            "is in no split; set its split to train, valid, test.",
        ),
        (
            "queries.jsonl",
            line(2, lambda text: text.replace(b'"category": "', b'"category": "Un')),
            "has the unknown category 'Un",
        ),
        ("queries.jsonl", line(3, lambda text: text[:-5]), "queries.jsonl, row 3: not a JSON object ("),
        (
            "corpus.jsonl",
            line(9, lambda _: b'{"_id": "0000000009", "text": "  \\n"}'),
            "corpus.jsonl, row 9: clause 0000000009 has an empty text; restore its text.",
        ),
        (
            "corpus.jsonl",
            line(4, lambda text: text[:40] + b"\xff" + text[40:]),
            "corpus.jsonl, row 4: byte 41 of the line, 0xff, is not UTF-8; restore the file from",
        ),
        (
            "corpus.jsonl",
            lambda content: content + content.split(b"\n")[0] + b"\n",
            "appears twice; drop one of the two.",
        ),
        (
            "(short_medium_long).tsv",
            cell(2, 0, b"a query of another corpus"),
            "row 2: 'a query of another corpus' is no query of queries.jsonl",
        ),
    ],
)
def test_each_fault_has_a_sentence(altered, suffix, change, sentence):
    with pytest.raises(BadInput) as error:
        release(altered(suffix, change))
    assert sentence in str(error.value)


def test_a_query_without_judgements(altered, members):
    first = next(c for n, c in members.items() if n.endswith("valid.tsv")).split(b"\n")[1].split(b"\t")[0]
    path = altered(
        "valid.tsv",
        lambda content: b"\n".join(row for row in content.split(b"\n") if not row.startswith(first)),
    )
    with pytest.raises(BadInput, match="has no judgement in any split; restore its rows"):
        release(path)


@pytest.mark.parametrize("kept", [0, 100, 20_000])
def test_a_zip_cut_short(tmp_path, kept):
    path = tmp_path / "ACORD.zip"
    path.write_bytes(SAMPLE.read_bytes()[:kept])
    with pytest.raises(
        BadInput, match=r"^ACORD.zip: the zip is cut short or damaged \(.*\); fetch it again\.$"
    ):
        release(path)


def test_a_damaged_member(tmp_path):
    content = bytearray(SAMPLE.read_bytes())
    with zipfile.ZipFile(SAMPLE) as archive:
        start = max(archive.infolist(), key=lambda info: info.compress_size).header_offset
    content[start + 400] ^= 0xFF
    path = tmp_path / "ACORD.zip"
    path.write_bytes(bytes(content))
    with pytest.raises(BadInput, match=r"^ACORD.zip: the zip is cut short or damaged"):
        release(path)


def test_a_missing_file(altered, members, tmp_path):
    path = tmp_path / "ACORD.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            if not name.endswith("corpus.jsonl"):
                archive.writestr(name, content)
    with pytest.raises(
        BadInput, match=r"ACORD.zip: holds 0 files called corpus.jsonl where there should be one"
    ):
        release(path)
