"""What a killed run or a wrong clock left is put right, and nothing else is touched."""

import os
import time

from lextables import aftermath, atomic

DAY = 86_400


def dated(folder, **days):
    """Files of these names, each so many days from now."""
    for name, ahead in days.items():
        path = folder / name
        path.write_text(name)
        os.utime(path, (time.time(), time.time() + ahead * DAY))


def times(folder):
    return {path.name: path.stat().st_mtime for path in folder.iterdir()}


def test_what_a_killed_process_had_begun_goes_and_what_is_resumed_stays(tmp_path):
    begun = []
    for place in (tmp_path, tmp_path / "runs/a"):
        with atomic.replacing(place / "table.parquet") as half:
            half.write_text("x")
        with atomic.replacing_folder(place / "weights") as folder:
            (folder / "model").write_text("x")
        # As if the process had been killed before the last step.
        begun += (place / "table.parquet").rename(half), (place / "weights").rename(folder)
        (place / "ACORD.zip.part").write_text("resumed")
        (place / ".hidden").write_text("a user's")
    assert all(path.exists() for path in begun)
    aftermath.drop_unfinished(tmp_path)
    assert not any(path.exists() for path in begun)
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"ACORD.zip.part", ".hidden"}


def test_files_of_the_future_are_of_now_in_the_order_that_they_had(tmp_path):
    dated(tmp_path, old=-2, newest=3, same=1, future=1, new=-0.001)
    before = times(tmp_path)
    assert aftermath.redate([tmp_path]) == 3
    after = times(tmp_path)
    assert {name: after[name] for name in ("old", "new")} == {name: before[name] for name in ("old", "new")}
    assert after["new"] < after["same"] == after["future"] <= after["newest"] <= time.time()
    assert aftermath.redate([tmp_path]) == 0


def test_folders_that_are_left_out_keep_their_dates(tmp_path):
    (tmp_path / "work").mkdir()
    dated(tmp_path / "work", calls=5)
    assert aftermath.redate([tmp_path, tmp_path / "not there"], but=[tmp_path / "work"]) == 0
