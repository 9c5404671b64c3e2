"""Runs that share a folder, are killed or interrupted: the last line, and the same results in the end."""

import os
import random
import re
import shutil
import signal
import time

import pytest

import snakemake_logger_plugin_lextables as plugin
from faults import RESULTS, Place, kill_all, strike, until

TARGETS = {name: (f"{RESULTS}/data/{name}/census.json",) for name in ("acord", "privacy")}
# Data, features, vectors, trainings with checkpoints, readings, scores and a table, in 26 jobs.
ARGUMENTS = ("maud_table4", "--config", "papers=maud")
KILLS = int(os.environ.get("LEXTABLES_KILLS", "6"))  # 20 for the long form


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path / "run", (*TARGETS["acord"], "--forceall"))


def test_two_runs_of_the_same_files_are_one_too_many_and_of_other_files_are_not(place):
    first = place.begin()
    assert until(place.locked, first)
    os.killpg(first.pid, signal.SIGSTOP)
    try:
        assert place.run() != 0
        written = place.screen.read_text().splitlines()
        assert written[-1] == plugin.LOCKED
        assert any(f"(process {first.pid} on " in line for line in written)
        assert Place(place.folder, TARGETS["privacy"]).run() == 0
    finally:
        os.killpg(first.pid, signal.SIGCONT)
    assert first.wait() == 0


@pytest.mark.parametrize("record", [None, ""])
def test_a_killed_run_is_followed_by_the_same_command_alone(place, record):
    run = place.begin()
    assert until(place.locked, run)
    kill_all(run)
    run.wait()
    if record is not None:
        (place.folder / ".snakemake/lextables.lock").write_text(record)
    assert place.run() == 0
    assert "Removed the lock of a run that was killed" in place.screen.read_text()
    assert place.unfinished() == []


@pytest.mark.parametrize("delay", [None, 0.2, 1])
def test_an_interrupt_is_one_sentence(place, delay):
    """While the run is planned, and while a job works."""
    run = place.begin()
    until(lambda: "lextables: data=sample" in place.screen.read_text(), run)
    if delay is not None:
        until(place.locked, run)
        time.sleep(delay)
    os.killpg(run.pid, signal.SIGINT)
    if run.wait():
        written = place.screen.read_text().splitlines()
        assert re.fullmatch(r"Stopped\..* the same command continues from there\.", written[-1]), written
    assert place.run() == 0


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The results of a run that nobody disturbed."""
    place = Place(tmp_path_factory.mktemp("undisturbed") / "run", ARGUMENTS)
    assert place.run() == 0, place.screen.read_text()[-3000:]
    assert place.unfinished() == []
    return place.outputs()


def test_kills_of_one_run(tmp_path_factory, reference):
    """After each, results are those of an undisturbed run, and at the end all of them are there."""
    place = Place(tmp_path_factory.mktemp("struck") / "run", ARGUMENTS)
    chance, kills = random.Random(0), []
    while len(kills) < KILLS:
        if kill := strike(place, chance):
            kills.append(kill)
            assert place.outputs().items() <= reference.items(), kills
        else:  # nothing is left to be done
            assert place.outputs() == reference
            shutil.rmtree(place.folder)
    assert len(set(kills)) > 1
    assert place.run() == 0, place.screen.read_text()[-3000:]
    assert place.outputs() == reference
    assert place.unfinished() == []
