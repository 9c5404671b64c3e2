"""Data sets: the stored schema, the order of rows, and the census."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lextables.pipeline.dataset import Column, Table, census, check_census, read, write
from lextables.pipeline.errors import BadInput

CLAUSES = Table(
    "clauses",
    "Two columns.",
    (
        Column("id", pa.string(), "the key"),
        Column("stars", pa.int8(), "1 to 5", nullable=True),
    ),
    key=("id",),
    labels=("stars",),
    row_group=2,
)
ROWS = [{"id": "a", "stars": 1}, {"id": "b", "stars": 5}, {"id": "c", "stars": 1}]


def test_column_descriptions_are_stored_in_the_file(tmp_path):
    write(CLAUSES, ROWS, tmp_path / "clauses.parquet")
    schema = pq.read_schema(tmp_path / "clauses.parquet")
    assert schema.field("stars").metadata == {b"description": b"1 to 5"}
    assert schema.metadata[b"key"] == b"id"
    assert not schema.field("id").nullable


def test_equal_rows_give_equal_bytes_in_bounded_row_groups(tmp_path):
    for name in ("one", "two"):
        assert write(CLAUSES, iter(ROWS), tmp_path / name) == 3
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert pq.ParquetFile(tmp_path / "one").num_row_groups == 2
    assert list(read(tmp_path / "one")) == ROWS


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (ROWS + ROWS[2:], "x.parquet, row 4: the key ('c',) repeats."),
        (ROWS[::-1], "x.parquet, row 2: the key ('b',) is out of order."),
        (
            [{"id": "a", "stars": 900}],
            "x.parquet, rows 1-1: a value does not fit its column",
        ),
        ([{"id": None, "stars": 1}], "x.parquet"),
        *(
            (
                [*ROWS[:2], {"id": "c"} | row],
                f"x.parquet, rows {rows}: a value does not fit its column (",
            )
            for row, rows in (
                ({"stars": 2**70}, "3-3"),
                ({"stars": -(2**63) - 1}, "3-3"),
                ({"stars": float("inf")}, "3-3"),
                ({"stars": float("nan")}, "3-3"),
                ({"stars": 1.5}, "3-3"),
                ({"stars": "1"}, "3-3"),
                ({"stars": [1]}, "3-3"),
                ({"stars": b"1"}, "3-3"),
                ({"id": None, "stars": 1}, "3-3"),
                ({"id": ["c"], "stars": 1}, "3-3"),
                ({"id": "c\ud800", "stars": 1}, "3-3"),
                ({"id": b"c\xff", "stars": 1}, "3-3"),
            )
        ),
        ([{"stars": 1}], "x.parquet, rows 1-1: a value does not fit its column ('id')"),
    ],
)
def test_invalid_rows_raise_and_keep_the_old_file(tmp_path, rows, sentence):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"before")
    with pytest.raises(BadInput) as error:
        write(CLAUSES, rows, path)
    assert str(error.value).startswith(sentence)
    assert path.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == ["x.parquet"]


def test_the_census_has_counts_and_detects_changes(tmp_path):
    write(CLAUSES, ROWS, tmp_path / "one")
    found = census(CLAUSES, tmp_path / "one")
    assert (found["rows"], found["labels"]) == (3, {"stars": {"1": 2, "5": 1}})
    assert set(found["row_hashes"]) == {"first", "middle", "last"}

    write(CLAUSES, [ROWS[0], {"id": "b", "stars": 4}, ROWS[2]], tmp_path / "two")
    changed = census(CLAUSES, tmp_path / "two")
    assert changed["rows_sha256"] != found["rows_sha256"]
    check_census(found, found, "clauses")
    with pytest.raises(
        BadInput,
        match=r"clauses, labels, stars: the census says 5 = None where .* has 1;",
    ):
        check_census(changed, found, "clauses")


@pytest.mark.parametrize(
    ("rows", "names"), [(1, {"last"}), (2, {"first", "last"}), (0, set())]
)
def test_a_row_of_a_short_table_has_its_last_name_only(tmp_path, rows, names):
    write(CLAUSES, ROWS[:rows], tmp_path / "short")
    assert set(census(CLAUSES, tmp_path / "short")["row_hashes"]) == names


def test_an_empty_table_has_a_census(tmp_path):
    write(CLAUSES, [], tmp_path / "none")
    assert census(CLAUSES, tmp_path / "none")["rows"] == 0
