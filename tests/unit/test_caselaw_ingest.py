"""Writing of volumes to one table of opinions."""

import pytest

from helpers.caselaw_volume import html, label, metadata, write_bulk, write_zip
from lextables.corpora.caselaw.ingest import OPINIONS, report, write_opinions
from lextables.pipeline import dataset
from lextables.pipeline.errors import BadInput


def volume(path):
    body = html(
        ("majority", [f"{label(1)}One, “two” §3.", "Four."]), ("dissent", ["No."])
    )
    return write_zip(path, {str(n): (metadata(n), body) for n in (1, 2)})


def test_the_table_has_the_declared_schema(tmp_path):
    done = write_opinions(
        [volume(tmp_path / "7.zip")], tmp_path / "o.parquet", skip_unreadable=False
    )
    rows = list(dataset.read(tmp_path / "o.parquet"))
    assert (done.opinions, done.faults, done.left_out, done.unreadable) == (
        4,
        (),
        0,
        (),
    )
    assert [row["opinion_id"] for row in rows] == ["1-0", "1-1", "2-0", "2-1"]
    assert list(rows[0]) == [column.name for column in OPINIONS.columns]
    assert rows[0]["pages"] == [{"label": "1", "offset": 0}]
    assert rows[0]["text"] == "One, “two” §3.\nFour."


def test_the_same_volume_gives_the_same_bytes(tmp_path):
    path = volume(tmp_path / "7.zip")
    for name in ("a", "b"):
        write_opinions([path], tmp_path / name, skip_unreadable=False)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_invalid_volume_stops_the_job_unless_it_is_set_aside(tmp_path):
    (tmp_path / "7.zip").write_bytes(b"no zip")
    with pytest.raises(BadInput, match=r"7\.zip: it cannot be unzipped"):
        write_opinions(
            [tmp_path / "7.zip"], tmp_path / "o.parquet", skip_unreadable=False
        )
    assert not (tmp_path / "o.parquet").exists()
    done = write_opinions(
        [tmp_path / "7.zip"], tmp_path / "o.parquet", skip_unreadable=True
    )
    assert done.unreadable == (tmp_path / "7.zip",)
    assert done.faults[0].volume == "7.zip"
    assert list(dataset.read(tmp_path / "o.parquet")) == []


def test_other_volumes_of_a_shard_are_kept_if_one_is_invalid(tmp_path):
    good = volume(tmp_path / "8.zip")
    (tmp_path / "7.zip").write_bytes(b"no zip")
    done = write_opinions(
        [tmp_path / "7.zip", good], tmp_path / "o.parquet", skip_unreadable=True
    )
    assert (done.opinions, done.unreadable) == (4, (tmp_path / "7.zip",))
    alone = write_opinions([good], tmp_path / "alone.parquet", skip_unreadable=False)
    assert (tmp_path / "o.parquet").read_bytes() == (
        tmp_path / "alone.parquet"
    ).read_bytes()
    assert alone.faults == ()


def test_a_volume_without_cases_is_reported(tmp_path):
    path = write_zip(tmp_path / "7.zip", {})
    done = write_opinions([path], tmp_path / "o.parquet", skip_unreadable=False)
    assert [str(fault) for fault in done.faults] == [
        "7.zip, metadata/CasesMetadata.json: it lists no case; the rest is kept."
    ]


def test_nothing_is_kept_of_a_volume_that_fails_halfway(tmp_path):
    path = write_bulk(tmp_path / "7.jsonl.xz", [])
    good = write_bulk(tmp_path / "g.jsonl.xz", [metadata(1) | _body()] * 1).read_bytes()
    path.write_bytes(good + b"\xfd7zXZ\0 broken")
    done = write_opinions([path], tmp_path / "o.parquet", skip_unreadable=True)
    assert done.unreadable == (path,)
    assert list(dataset.read(tmp_path / "o.parquet")) == []


def _body():
    data = '<casebody><opinion type="majority"><p>Text.</p></opinion></casebody>'
    return {"casebody": {"status": "ok", "data": data}}


@pytest.mark.parametrize("skip_unreadable", [False, True])
def test_a_volume_under_two_numbers_is_read_once(tmp_path, skip_unreadable):
    first, second = volume(tmp_path / "7.zip"), volume(tmp_path / "8.zip")
    done = write_opinions(
        [first, second], tmp_path / "o.parquet", skip_unreadable=skip_unreadable
    )
    assert [row["opinion_id"] for row in dataset.read(tmp_path / "o.parquet")] == [
        "1-0",
        "1-1",
        "2-0",
        "2-1",
    ]
    assert (done.opinions, done.left_out, done.unreadable) == (4, 2, ())
    assert [str(fault) for fault in done.faults] == [
        f"8.zip, html/000{n}-01.html, case {n}: its id is also that of {tmp_path.name}/7.zip,"
        f" html/000{n}-01.html; the case is left out."
        for n in (1, 2)
    ]


def test_cases_of_a_volume_that_is_left_out_are_read_from_another(tmp_path):
    row = metadata(1) | _body()
    broken = write_bulk(tmp_path / "7.jsonl.xz", [row])
    broken.write_bytes(broken.read_bytes() + b"\xfd7zXZ\0 broken")
    good = write_bulk(tmp_path / "8.jsonl", [row])
    done = write_opinions([broken, good], tmp_path / "o.parquet", skip_unreadable=True)
    assert (done.opinions, done.left_out, done.unreadable) == (1, 0, (broken,))


def test_many_bad_cases_are_counted_and_ten_of_a_volume_named(tmp_path):
    body = html(("majority", ["One."]))
    for name in ("7", "8"):
        cases = {str(n): (metadata(n, court=None), body) for n in range(1, 24)}
        write_zip(tmp_path / f"{name}.zip", cases)
    done = write_opinions(
        [tmp_path / "7.zip", tmp_path / "8.zip"],
        tmp_path / "o.parquet",
        skip_unreadable=False,
    )
    assert (done.opinions, done.left_out, len(done.faults)) == (0, 46, 22)
    assert [fault.where for fault in done.faults[:10]] == [
        f"html/{n:04}-01.html, case {n}" for n in range(1, 11)
    ]
    assert (
        str(done.faults[10]) == "7.zip: 13 more cases are left out; the rest is kept."
    )
    assert report({"absent": [], "volumes": []}, done)["cases left out"] == 46
