"""The remaining time of a run, at moments of recorded and of simulated runs."""

import random

import pytest

from snakemake_logger_plugin_lextables.remaining import (
    Expected,
    Running,
    bounds,
    busy_pace,
    seconds_left,
)

# A table of five retrievers, as recorded on an Intel Xeon: core seconds of each job.
TABLE = {
    1: Expected(1),  # fetch
    2: Expected(2, before=(1,)),  # read
    3: Expected(3, before=(2,)),  # BM25
    4: Expected(8, before=(2,)),  # linear, words
    5: Expected(140, before=(2,)),  # encode
    6: Expected(4, before=(5,)),
    7: Expected(25, before=(5,)),
    8: Expected(1, before=(3, 6)),
}
SHORT = {job: Expected(10) for job in range(1, 11)}
LONG_LAST = {
    **{job: Expected(2) for job in range(1, 10)},
    10: Expected(1800, before=tuple(range(1, 10))),
}
CHAIN = {
    **{job: Expected(100, before=(job - 1,) if job > 1 else ()) for job in range(1, 6)},
    **{job: Expected(10) for job in range(6, 11)},
}
UNKNOWN = {
    1: Expected(10),
    2: Expected(5, before=(1,), guessed=True),
    3: Expected(10, before=(2,)),
}


def at_work(seconds, share, loading=0):
    """A running job that did ``share`` of its work after ``loading`` seconds."""
    measured = seconds - loading
    return Running(seconds, share, measured * (1 - share) / share, measured)


# Name: what is expected, finished and running, the cores, and the true seconds left.
MOMENTS = {
    "nothing has finished": (TABLE, {}, {1: Running(1)}, 1, 183),
    "nothing to do": ({}, {}, {}, 1, 0),
    "all done": (SHORT, dict.fromkeys(SHORT, 10), {}, 1, 0),
    "as recorded": (SHORT, dict.fromkeys(range(1, 6), 10), {}, 1, 50),
    "two at a time": (SHORT, dict.fromkeys(range(1, 5), 10), {}, 2, 30),
    # The first job takes 300 instead of 30 seconds, as all others will.
    "a machine ten times slower": (
        {1: Expected(30), 2: Expected(30), 3: Expected(30)},
        {},
        {1: at_work(60, 0.2)},
        1,
        840,
    ),
    # The encoding of a busy machine: four times the recorded seconds.
    "encoding at 1 minute": (
        TABLE,
        {1: 4, 2: 8, 3: 12, 4: 30},
        {5: at_work(6, 0.01)},
        1,
        674,
    ),
    "encoding at 3 minutes": (
        TABLE,
        {1: 4, 2: 8, 3: 12, 4: 30},
        {5: at_work(126, 0.22)},
        1,
        554,
    ),
    "encoding at 5 minutes": (
        TABLE,
        {1: 4, 2: 8, 3: 12, 4: 30},
        {5: at_work(246, 0.43)},
        1,
        434,
    ),
    # A quiet machine, on which loading the model takes a third of the first minute.
    "encoding at 1 minute after loading a model": (
        TABLE,
        {1: 1, 2: 2, 3: 3, 4: 8},
        {5: at_work(46, 0.18, loading=20)},
        1,
        118 + 30,
    ),
    # Start of the process takes most of a short job, which says little of a long one.
    "a short job ten times slower": (LONG_LAST, {1: 20}, {}, 1, 1816),
    "one long job at the end": (
        LONG_LAST,
        dict.fromkeys(range(1, 10), 2),
        {10: Running(600)},
        2,
        1200,
    ),
    "a long job that has progress": (
        LONG_LAST,
        dict.fromkeys(range(1, 10), 2),
        {10: at_work(600, 0.1)},
        2,
        5400,
    ),
    "a chain on two cores": (
        CHAIN,
        {6: 10, 7: 10, 8: 10, 9: 10, 10: 10},
        {1: Running(50)},
        2,
        450,
    ),
    "a job without a record takes fifty times the guess": (
        UNKNOWN,
        {1: 10},
        {2: at_work(100, 0.4)},
        1,
        160,
    ),
    "a job without a record has finished": (UNKNOWN, {1: 10, 2: 250}, {}, 1, 10),
    "threads of one job": ({1: Expected(100, threads=2)}, {}, {}, 2, 50),
    "late without progress": (
        {1: Expected(60), 2: Expected(5, before=(1,))},
        {},
        {1: Running(100)},
        1,
        60,
    ),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_the_remaining_time_is_right_within_a_factor_of_two(moment):
    expected, finished, running, cores, true = MOMENTS[moment]
    left = seconds_left(expected, finished, running, cores)
    assert true / 2 <= left <= 2 * true


def test_a_busy_machine_is_slow_before_a_job_shows_it():
    pace = busy_pace(load=4, cores=2, processors=2)
    assert pace == 3
    assert busy_pace(load=0.5, cores=2, processors=16) == 1
    quiet = seconds_left(TABLE, {1: 1}, {2: Running(1)}, 1)
    assert seconds_left(TABLE, {1: 3}, {2: Running(1)}, 1, pace) > 2.5 * quiet


def test_an_estimate_of_much_more_than_the_time_so_far_is_a_range():
    assert bounds(180, 60) == (180, 180)
    assert bounds(240, 60) == (120, 480)


def test_jobs_with_one_thread_have_their_own_pace():
    """Two threads wait for each other on a busy machine, and take seven times longer
    than recorded; jobs with one thread do not.
    """
    table = TABLE | {5: Expected(140, threads=2, before=(2,))}
    running = {5: at_work(250, 0.48)}
    left = seconds_left(table, {1: 4, 2: 8, 3: 4, 4: 10}, running, 2)
    assert left == pytest.approx(271 + 25, rel=0.1)


def test_jobs_that_were_not_expected_do_not_count():
    finished = {**dict.fromkeys(range(1, 6), 10), 99: 1000}
    assert seconds_left(SHORT, finished, {98: Running(500)}, 1) == 50


def simulated(draw, cores):
    """Return what is expected of jobs, and the start and end of each."""
    speed = 10 ** draw.uniform(-1, 0.5)
    expected = {}
    times = {}
    ready = [0.0] * cores
    for job in range(draw.choice((10, 40, 150))):
        recorded = 10 ** draw.uniform(0, draw.choice((1, 3)))
        before = tuple(sorted(draw.sample(range(job), min(job, draw.choice((0, 1))))))
        expected[job] = Expected(recorded, before=before)
        core = min(range(cores), key=lambda each: ready[each])
        start = max([ready[core], *(times[each][1] for each in before)])
        seconds = recorded * 2 ** draw.uniform(-0.5, 0.5) / speed
        times[job] = (start, start + seconds)
        ready[core] = start + seconds
    return expected, times


@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_simulated_runs_on_machines_of_any_speed(seed, cores):
    draw = random.Random(seed)
    expected, times = simulated(draw, cores)
    total = max(end for _, end in times.values())
    for moment in (0.25, 0.5, 0.75):
        now = max(60, moment * total)
        if now > 0.9 * total:
            continue
        finished = {}
        running = {}
        for job, (start, end) in times.items():
            if end <= now:
                finished[job] = end - start
            elif start < now:
                running[job] = at_work(now - start, (now - start) / (end - start))
        left = seconds_left(expected, finished, running, cores)
        true = total - now
        assert true / 2 <= left <= 2 * true
