"""A run of the sample that is killed again and again ends as if nothing had been."""

import random
import shutil

import pytest

import faults
from faults import RESULTS, Place

# Data, features, vectors, trainings with checkpoints, readings, scores and a table, in 26 jobs.
ARGUMENTS = ("maud_table4", "--config", "papers=maud")
KILLS = 20


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The results of a run that nobody disturbed."""
    place = Place(tmp_path_factory.mktemp("undisturbed") / "run", ARGUMENTS)
    assert place.run() == 0, place.screen.read_text()[-3000:]
    assert place.unfinished() == []
    return place.outputs()


def test_twenty_kills_of_one_run(tmp_path_factory, reference):
    """After each, results are those of an undisturbed run, and at the end all of them are there."""
    place = Place(tmp_path_factory.mktemp("struck") / "run", ARGUMENTS)
    chance, kills = random.Random(0), []
    while len(kills) < KILLS:
        if kill := faults.strike(place, chance):
            kills.append(kill)
            assert place.outputs().items() <= reference.items(), kills
        else:  # nothing is left to be done
            assert place.outputs() == reference
            shutil.rmtree(place.folder)
    assert len(set(kills)) == 3
    assert place.run() == 0, place.screen.read_text()[-3000:]
    assert place.outputs() == reference
    assert place.unfinished() == []


def test_an_export_that_was_being_written_is_there_whole_or_not_at_all(tmp_path_factory):
    export = f"{RESULTS}/publish/printed"
    place = Place(tmp_path_factory.mktemp("export") / "run", (f"{export}/printed.csv",))
    run = place.begin()
    assert faults.until(lambda: [*place.folder.glob(f"{RESULTS}/publish/.printed.*.part")], run)
    faults.kill_all(run)
    run.wait()
    found = place.outputs()
    assert place.unfinished()
    assert place.run() == 0
    assert found in ({}, place.outputs())
    assert place.unfinished() == []
