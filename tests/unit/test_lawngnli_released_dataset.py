"""The released data set from ID files and a bulk export, both of our own making."""

import json
import lzma

import pytest
from test_lawngnli_released_ids import CASEBODY, id_row

from lextables.papers.lawngnli import released_dataset
from lextables.papers.lawngnli.released_dataset import chosen_bulk, write_released
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput

CITING = CASEBODY.replace("The lessee of Roe", "See Roe (the lessee may hold over). The lessee of Roe")


def case(number, body, status="ok"):
    return json.dumps({"id": number, "casebody": {"status": status, "data": body}}) + "\n"


@pytest.fixture
def bulk(tmp_path):
    """Two files of an export: one plain, one compressed, with a case that nobody asks for."""
    (tmp_path / "a.jsonl").write_text(case(1, CASEBODY) + case(7, CASEBODY))
    with lzma.open(tmp_path / "b.jsonl.xz", "wt") as file:
        file.write(case(2, CITING) + case(8, "", status="error_limit_exceeded"))
    return [tmp_path / "b.jsonl.xz", tmp_path / "a.jsonl"]


@pytest.fixture
def ids(monkeypatch):
    """What the ID file says, without a pickle: `released_ids` has tests of its own for reading it."""
    rows = [id_row(), id_row(index=42, cited_case=99), id_row(index=43, label=0, split="train")]
    monkeypatch.setattr(released_dataset, "read_ids", lambda path: rows)
    return "ids"


def test_rows_whose_cases_are_there_are_rebuilt_in_order(tmp_path, bulk, ids):
    counts = write_released(ids, None, bulk, tmp_path / "store", tmp_path / "released.parquet")
    assert counts == {"rows of the ID file": 3, "cases found": 2, "rows rebuilt": 2}
    first, second = read(tmp_path / "released.parquet")
    assert (first["example_id"], second["example_id"]) == (41, 43)
    assert (first["citing_case_id"], first["cited_case_id"], first["split"]) == (2, 1, "val")
    assert first["long_premise_with_citations"].startswith("The lessee of Roe")
    assert first["long_premise"] is None
    assert json.loads(first["changed"]) == {
        "clause_id": "0",
        "e": False,
        "flip": True,
        "h": True,
        "sent_id": 0,
    }


def test_the_order_of_the_bulk_files_does_not_matter(tmp_path, bulk, ids):
    for name, files in (("one", bulk), ("two", bulk[::-1])):
        write_released(ids, None, files, tmp_path / f"{name}.sqlite", tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b'{"id": 1}\n', r"^c\.jsonl, row 1: not a case of the bulk export \(KeyError\('casebody'\)\)\.$"),
        (b"\n{oops\n", r"^c\.jsonl, row 2: not a case of the bulk export"),
    ],
)
def test_a_line_that_is_no_case(tmp_path, ids, content, sentence):
    (tmp_path / "c.jsonl").write_bytes(content)
    with pytest.raises(BadInput, match=sentence):
        write_released(ids, None, [tmp_path / "c.jsonl"], tmp_path / "store", tmp_path / "released.parquet")
    assert not (tmp_path / "released.parquet").exists()


def test_a_file_cut_short(tmp_path, bulk, ids):
    path = tmp_path / "d.jsonl.xz"
    path.write_bytes(bulk[0].read_bytes()[:40])
    with pytest.raises(BadInput, match=r"^d\.jsonl\.xz: cannot be decompressed .*; fetch it again\.$"):
        write_released(ids, None, [path], tmp_path / "store", tmp_path / "released.parquet")


def test_the_files_of_the_bulk_export(tmp_path):
    for name in ("b.jsonl", "a.jsonl.xz", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in chosen_bulk(str(tmp_path))] == ["a.jsonl.xz", "b.jsonl"]


@pytest.mark.parametrize("folder", ["", "/no/such/folder"])
def test_a_folder_without_the_bulk_export(folder):
    with pytest.raises(
        BadInput, match=f"^config: bulk_export = '{folder}' names no folder with .*; name the"
    ):
        chosen_bulk(folder)
