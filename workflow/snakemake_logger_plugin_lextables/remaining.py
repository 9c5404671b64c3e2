"""The remaining time of a run: from recorded times, and the pace of this machine.

The pace is the time that jobs take in this run, divided by the recorded time of such
jobs: 2 if they take twice as long.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# The pace is computed as if jobs of so many recorded core seconds had already run, so
# that a few short jobs do not determine it.
RECORDED = 20
# A running job without progress is expected to take at least this share of its time so
# far once more.
LATE = 0.3
# A job's own estimate of its remaining time counts fully if its progress was measured
# for so many seconds.
MEASURED = 20
# An estimate is uncertain if it is more than `UNCERTAIN` times the seconds of the run
# so far.  It may then be too high or too low by `FACTOR`.
UNCERTAIN = 3
FACTOR = 2


@dataclass(frozen=True)
class Expected:
    """The estimate for a job: its ``seconds`` on one core, and its ``threads``.

    The job starts after the jobs ``before``.  If the seconds are ``guessed``, they were
    recorded with other models or data.
    """

    seconds: float
    threads: int = 1
    before: tuple[int, ...] = ()
    guessed: bool = False


@dataclass(frozen=True)
class Running:
    """A running job: its ``seconds`` so far, and the done ``share`` of its work.

    ``left`` is the job's own estimate of its remaining seconds.  It rests on the
    progress in ``measured`` seconds.
    """

    seconds: float
    share: float | None = None
    left: float = 0.0
    measured: float = 0.0


def seconds_left(
    expected: Mapping[int, Expected],
    finished: Mapping[int, float],
    running: Mapping[int, Running],
    cores: float,
    pace_before: float = 1.0,
) -> float:
    """Return the estimated seconds until the end of a run.

    The first three arguments are by job; ``finished`` are the seconds of finished jobs.
    ``pace_before`` is the pace of the machine until jobs of this run show it.  The
    result is the time of all work on ``cores``, or of the longest chain of jobs if that
    is longer.
    """
    # Other processes slow down jobs with several threads more than jobs with one,
    # because the threads wait for each other.
    alone = {job: about for job, about in expected.items() if about.threads == 1}
    together = {job: about for job, about in expected.items() if about.threads > 1}
    pace_alone = _pace(alone, finished, running, pace_before)
    pace_together = _pace(together, finished, running, pace_before)
    left = {}
    work = 0.0
    for job, about in expected.items():
        if job in finished:
            continue
        pace = pace_alone if about.threads == 1 else pace_together
        seconds = pace * about.seconds / about.threads
        if job in running:
            seconds = _seconds_left(running[job], seconds)
        left[job] = seconds
        work += seconds * min(about.threads, cores)
    return max(work / cores, _longest_chain(expected, left))


def busy_pace(load: float, cores: float, processors: int) -> float:
    """Return the pace on a machine with this ``load`` of other processes.

    ``cores`` are those of the run, and ``processors`` those of the machine.
    """
    return max(1.0, (load + cores) / processors)


def bounds(left: float, elapsed: float) -> tuple[float, float]:
    """Return the lower and upper bound of the estimate ``left``, in seconds, after
    ``elapsed`` seconds of a run.

    The bounds are equal as soon as enough of the run is measured.
    """
    if left <= UNCERTAIN * elapsed:
        return left, left
    return left / FACTOR, left * FACTOR


def _pace(
    expected: Mapping[int, Expected],
    finished: Mapping[int, float],
    running: Mapping[int, Running],
    pace_before: float,
) -> float:
    """Return the pace: how many core seconds a recorded core second takes in this run.

    Running jobs count as soon as they have progress, or take longer than expected.
    """
    recorded = float(RECORDED)
    measured = RECORDED * pace_before
    for job, about in expected.items():
        if about.guessed:
            continue
        if job in finished:
            recorded += about.seconds
            measured += finished[job] * about.threads
        elif job in running:
            alone = about.seconds / about.threads
            total = running[job].seconds + _seconds_left(running[job], alone)
            if running[job].measured or running[job].seconds > alone:
                recorded += about.seconds
                measured += total * about.threads
    return measured / recorded


def _seconds_left(job: Running, seconds: float) -> float:
    """Return the seconds left of a job that is expected to take ``seconds``."""
    expected = max(seconds - job.seconds, LATE * job.seconds)
    trust = min(1.0, job.measured / MEASURED)
    return trust * job.left + (1 - trust) * expected


def _longest_chain(
    expected: Mapping[int, Expected], left: Mapping[int, float]
) -> float:
    """Return the seconds of the longest chain of jobs that wait for each other."""
    ends: dict[int, float] = {}
    waiting = list(left)
    while waiting:
        job = waiting[-1]
        before = [each for each in expected[job].before if each in left]
        missing = [each for each in before if each not in ends]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        start = max((ends[each] for each in before), default=0.0)
        ends[job] = start + left[job]
    return max(ends.values(), default=0.0)
