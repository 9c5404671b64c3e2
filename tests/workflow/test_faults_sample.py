"""Faults that strike a run of the sample: the same command then ends as if nothing had been."""

import os
import random
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import faults
from faults import RESULTS, Place, differences, ended, jobs, survivals, until
from mistakes import sentence

# Data, features, vectors, trainings with checkpoints, readings, scores and a table, in 26 jobs.
ARGUMENTS = ("maud_table4", "--config", "papers=maud")
TABLE = f"{RESULTS}/tables/maud/table4.csv"


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("undisturbed") / "run", ARGUMENTS)
    assert place.run() == 0, place.said[-3000:]
    assert place.litter() == []
    return place


@pytest.fixture(scope="module")
def reference(undisturbed):
    return undisturbed.outputs()


@pytest.fixture
def place(tmp_path_factory):
    """A folder as deep as the undisturbed one's: records name the project's files by the way to them."""
    return Place(tmp_path_factory.mktemp("struck") / "run", ARGUMENTS)


@pytest.fixture
def done(undisturbed, place):
    """A folder in which all has been made."""
    shutil.copytree(undisturbed.folder, place.folder)
    return place


def last_line(place):
    return place.said.splitlines()[-1]


def test_twenty_kills_of_one_run(place, reference):
    found = []
    for survival in survivals(place, reference, 20, seed=0, steps=2, chain=20):
        print(survival)
        found.append(survival)
    survived = [survival for survival in found if not survival.faults]
    print(f"{len(found)} kills, {len(survived)} survived")
    assert [str(survival) for survival in found if survival.faults] == []
    assert len(survived) == len(found) >= 20
    assert any(faults.CHECKPOINT in survival.kill for survival in found)


def mounted(*arguments):
    """Mount something, where this machine lets us."""
    program = shutil.which("mount")
    if not program or subprocess.run([program, *arguments], capture_output=True, check=False).returncode:
        pytest.skip("no right to mount here")


@contextmanager
def mount(folder, *arguments):
    mounted(*arguments, str(folder))
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_and_results_that_turn_read_only_on_the_way(place, reference):
    place.folder.mkdir()
    with mount(place.folder, "-t", "tmpfs", "-o", "size=2500k", "tmpfs"):
        for _ in range(2):
            assert place.run() != 0
            assert re.fullmatch(sentence("has a full disk", data=place.folder), last_line(place))
            assert differences(place, reference, whole=False) == []
        assert place.finished > 1
        mounted("-o", "remount,size=100m", str(place.folder))
        run, before = place.begin(), place.finished
        until(lambda: place.finished > before, run)
        results = str(place.folder / "results")
        with mount(results, "--bind", results):
            mounted("-o", "remount,bind,ro", results)
            assert run.wait(faults.PATIENCE) != 0
            assert "nothing can be written here" in last_line(place), place.said[-2000:]
            assert place.run() != 0
            assert "nothing can be written here" in last_line(place)
        assert ended(place, reference) == []


def cut(path, chance, *, dated=True):
    """Cut a file short at a random byte; where it is not ``dated`` it keeps its time, as on a broken disk."""
    stat = path.stat()
    os.truncate(path, chance.randrange(stat.st_size))
    if not dated:
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


FEATURES = f"{RESULTS}/features/classification/maud/all-minilm-l6-v2/vectors-64.parquet"
PREDICTIONS = f"{RESULTS}/runs/maud/read/linear/linear/seed0/predictions.parquet"


def test_files_that_were_cut_short_are_named_and_made_again_once_they_are_deleted(done, reference):
    chance = random.Random(0)
    for name in (FEATURES, PREDICTIONS, f"{RESULTS}/sources/maud/maud_v1.zip"):
        cut(done.folder / name, chance)
    named = set()
    while done.run():
        found = faults.DAMAGED.findall(done.said)
        assert found and found[-1] in last_line(done), done.said[-3000:]
        assert not named & {*found}
        for name in {*found}:
            (done.folder / name).unlink()
            named.add(name)
    assert named == {FEATURES, PREDICTIONS, f"{RESULTS}/sources/maud/maud_v1.zip"}
    assert differences(done, reference) == []
    assert done.litter() == []
