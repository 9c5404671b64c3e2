"""Runs that share a folder, are killed or are interrupted: the last line of output, and
the final results.
"""

import os
import random
import re
import shutil
import signal
import time

import pytest

import snakemake_logger_plugin_lextables as plugin
from helpers.faults import (
    RESULTS,
    TIMEOUT,
    Place,
    jobs,
    kill_all,
    kill_driver,
    kill_jobs,
    strike,
    until,
)

DATA = f"{RESULTS}/data/acord/census.json"
OTHER_SOURCE = f"{RESULTS}/sources/privacy/questions.ndjson"
KILLS = int(os.environ.get("LEXTABLES_KILLS", "3"))  # `make faults` uses 20
# What the killed runs make: data, rankings, scores and a table in 7 jobs of a second.
RUNS = [
    f"{RESULTS}/runs/acord/retrieve/{model}/short/seed0/scores.parquet"
    for model in ("bm25", "linear-words")
]
PAPER = "acord"
TABLE = "table_c1"
MAX_DELAY = 1  # seconds from the end of a job to the kill
if KILLS >= 20:  # 26 jobs with trainings
    RUNS = []
    PAPER = "maud"
    TABLE = "table4"
    MAX_DELAY = 2


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path / "run", (DATA, "--forceall"))


def test_a_second_run_is_rejected_only_if_it_writes_the_same_files(place):
    first = place.begin()
    assert until(place.locked, first)
    os.killpg(first.pid, signal.SIGSTOP)
    try:
        assert place.run() != 0
        written = place.screen.read_text().splitlines()
        assert written[-1] == plugin.LOCKED
        assert any(f"(process {first.pid} on " in line for line in written)
        assert Place(place.folder, (OTHER_SOURCE,)).run() == 0
    finally:
        os.killpg(first.pid, signal.SIGCONT)
    assert first.wait() == 0


def test_two_checkouts_with_a_link_to_the_same_results_do_not_run_at_once(place):
    other = Place(place.folder.with_name("other"), (OTHER_SOURCE,))
    (place.folder / "results").mkdir(parents=True)
    other.folder.mkdir()
    (other.folder / "results").symlink_to(place.folder / "results")
    first = place.begin()
    files = place.folder / RESULTS / ".lextables"
    # Written by a job that holds the lock.
    log = place.folder / RESULTS / "logs/data/acord.log"
    assert until(lambda: log.exists() and len([*files.glob("*.lock")]) == 2, first)
    os.killpg(first.pid, signal.SIGSTOP)
    working = jobs(first)
    part = place.folder / RESULTS / ".a.parquet.1.lextables.part"
    part.touch()
    for kill in (False, True):  # a run, and then only its job
        if kill:
            first.kill()
            first.wait()
        assert other.run() != 0
        assert (
            f"in {place.folder}/.snakemake uses this folder (process {first.pid} "
            in other.screen.read_text()
        )
        assert part.exists()
    for job in working:
        job.kill()
    assert other.run() == 0, other.screen.read_text()
    assert not part.exists()


@pytest.mark.parametrize(
    "signals", [[signal.SIGINT], [signal.SIGINT] * 3, [signal.SIGTERM, signal.SIGINT]]
)
def test_an_interrupt_prints_one_sentence_and_leaves_no_process(place, signals):
    # During planning, and while a job imports modules.
    for planned in (False, True):
        run = place.begin()
        until(lambda: "lextables: data=sample" in place.screen.read_text(), run)
        working = []
        if planned and until(place.locked, run):
            time.sleep(0.5)
            working = jobs(run)
        for number in signals:
            if run.poll() is None:
                if number == signal.SIGINT:  # Ctrl-C reaches all processes
                    os.killpg(run.pid, number)
                else:
                    run.send_signal(number)
                time.sleep(0.1)
        if run.wait():
            written = place.screen.read_text()
            assert re.fullmatch(
                r"Stopped\..* continues from there\.", written.splitlines()[-1]
            ), written
            assert written.count("Stopped.") == 1
            assert "Traceback" not in written
            assert "Failed" not in written
        assert not any(each.is_running() for each in working)


def test_a_terminated_run_finishes_its_jobs_and_says_that_it_was_stopped(place):
    run = place.begin()
    assert until(lambda: "Fetching" in place.screen.read_text(), run)
    os.kill(run.pid, signal.SIGTERM)
    assert run.wait() != 0
    written = place.screen.read_text()
    assert "Stopping when the running jobs have finished" in written
    assert "did not complete" not in written
    assert "Failed" not in written
    assert re.fullmatch(
        r"Stopped\..* the same command continues from there\.", written.splitlines()[-1]
    )
    assert place.run() == 0


@pytest.mark.timeout((KILLS + 1) * TIMEOUT)  # each of the runs may take this long
def test_a_run_that_is_killed_repeatedly_gives_the_same_results(
    tmp_path_factory, sample_outputs
):
    """After each kill, and at the end, the results equal those of an undisturbed
    run.
    """
    arguments = (f"{PAPER}_{TABLE}", *RUNS, "--config", f"papers={PAPER}")
    place = Place(tmp_path_factory.mktemp("struck") / "run", arguments)
    chance = random.Random(0)
    kills = 0
    while kills < KILLS:
        kill = (kill_jobs, kill_driver, kill_all)[kills % 3]
        jobs_before = chance.randint(1, 2)
        delay = MAX_DELAY * chance.random()
        was_killed = strike(place, kill, jobs_before, delay)
        assert place.outputs().items() <= sample_outputs.items(), kill
        if was_killed:
            kills += 1
        else:  # every job is done: begin again
            shutil.rmtree(place.folder)
    # An empty lock record does not block a run either.  The last kill may have left no
    # lock, so write one.
    locks = place.folder / ".snakemake/locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").touch()
    (place.folder / ".snakemake/.lextables/killed.lock").write_text("")
    assert place.run() == 0, place.screen.read_text()[-3000:]
    assert "Removed the lock of a killed run" in place.screen.read_text()
    assert place.outputs().items() <= sample_outputs.items()
    assert (place.folder / RESULTS / "tables" / PAPER / f"{TABLE}.csv").exists()
    assert place.unfinished() == []
