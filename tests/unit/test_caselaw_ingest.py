"""Writing of volumes to one table of opinions."""

from pathlib import Path

import pytest

from caselaw_volume import html, label, metadata, write_bulk, write_zip
from lextables.corpora.caselaw.ingest import OPINIONS, write_opinions
from lextables.pipeline import dataset
from lextables.pipeline.errors import BadInput


def volume(path: Path) -> Path:
    body = html(("majority", [f"{label(1)}One, “two” §3.", "Four."]), ("dissent", ["No."]))
    return write_zip(path, {str(n): (metadata(n), body) for n in (1, 2)})


def test_the_table_has_the_declared_schema(tmp_path: Path) -> None:
    done = write_opinions([volume(tmp_path / "7.zip")], tmp_path / "o.parquet", set_aside=False)
    rows = list(dataset.read(tmp_path / "o.parquet"))
    assert (done.opinions, done.faults, done.set_aside) == (4, (), ())
    assert [row["opinion_id"] for row in rows] == ["1-0", "1-1", "2-0", "2-1"]
    assert list(rows[0]) == [column.name for column in OPINIONS.columns]
    assert rows[0]["pages"] == [{"label": "1", "offset": 0}]
    assert rows[0]["text"] == "One, “two” §3.\nFour."


def test_the_same_volume_gives_the_same_bytes(tmp_path: Path) -> None:
    path = volume(tmp_path / "7.zip")
    for name in ("a", "b"):
        write_opinions([path], tmp_path / name, set_aside=False)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_invalid_volume_stops_the_job_unless_it_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "7.zip").write_bytes(b"no zip")
    with pytest.raises(BadInput, match=r"7\.zip: it cannot be unzipped"):
        write_opinions([tmp_path / "7.zip"], tmp_path / "o.parquet", set_aside=False)
    assert not (tmp_path / "o.parquet").exists()
    done = write_opinions([tmp_path / "7.zip"], tmp_path / "o.parquet", set_aside=True)
    assert done.set_aside == (tmp_path / "7.zip",)
    assert done.faults[0].volume == "7.zip"
    assert list(dataset.read(tmp_path / "o.parquet")) == []


def test_other_volumes_of_a_shard_are_kept_if_one_is_invalid(tmp_path: Path) -> None:
    good = volume(tmp_path / "8.zip")
    (tmp_path / "7.zip").write_bytes(b"no zip")
    done = write_opinions([tmp_path / "7.zip", good], tmp_path / "o.parquet", set_aside=True)
    assert (done.opinions, done.set_aside) == (4, (tmp_path / "7.zip",))
    alone = write_opinions([good], tmp_path / "alone.parquet", set_aside=False)
    assert (tmp_path / "o.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    assert alone.faults == ()


def test_a_volume_without_cases_is_reported(tmp_path: Path) -> None:
    path = write_zip(tmp_path / "7.zip", {})
    done = write_opinions([path], tmp_path / "o.parquet", set_aside=False)
    assert [str(fault) for fault in done.faults] == [
        "7.zip, metadata/CasesMetadata.json: it lists no case; the rest is kept."
    ]


def test_nothing_is_kept_of_a_volume_that_fails_halfway(tmp_path: Path) -> None:
    path = write_bulk(tmp_path / "7.jsonl.xz", [])
    good = write_bulk(tmp_path / "g.jsonl.xz", [metadata(1) | _body()] * 1).read_bytes()
    path.write_bytes(good + b"\xfd7zXZ\0 broken")
    done = write_opinions([path], tmp_path / "o.parquet", set_aside=True)
    assert done.set_aside == (path,)
    assert list(dataset.read(tmp_path / "o.parquet")) == []


def _body() -> dict:
    data = '<casebody><opinion type="majority"><p>Text.</p></opinion></casebody>'
    return {"casebody": {"status": "ok", "data": data}}
