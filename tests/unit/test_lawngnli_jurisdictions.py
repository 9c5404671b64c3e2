"""Rows split by jurisdiction on disk."""

import pyarrow as pa
import pytest

from lextables.papers.lawngnli import examples
from lextables.papers.lawngnli.examples import split_by_jurisdiction
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Table

TABLE = Table(
    "rows",
    "Rows of two places.",
    (Column("example_id", pa.string(), "name"), Column("cited_jurisdiction", pa.string(), "place")),
    key=("example_id",),
)
PLACES = ["Ohio", "Guam", "Ohio", "Ohio", "Utah", "Guam"]


@pytest.mark.parametrize("batch", [1, 4, 100])
def test_each_jurisdiction_has_a_file_of_its_rows_in_their_order(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(examples, "BATCH", batch)
    rows = [
        {"example_id": f"e{n}", "cited_jurisdiction": place, "beside": n} for n, place in enumerate(PLACES)
    ]
    files = split_by_jurisdiction(iter(rows), TABLE, tmp_path / "split")
    found = [[row["example_id"] for row in dataset.read(path)] for path in files]
    assert found == [["e1", "e5"], ["e0", "e2", "e3"], ["e4"]]
    assert sorted(files) == sorted((tmp_path / "split").iterdir())


def test_no_row_gives_no_file(tmp_path):
    assert split_by_jurisdiction([], TABLE, tmp_path / "split") == []
