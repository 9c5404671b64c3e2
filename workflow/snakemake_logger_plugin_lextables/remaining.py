"""The remaining time of a run: from recorded costs, and the pace of this machine."""

from collections.abc import Mapping
from dataclasses import dataclass

# Core seconds at the recorded pace that count besides the jobs of this run, so that a
# few short jobs do not change the pace of long ones.
RECORDED = 20
# At least this share of the time of a running job without progress is still to come.
LATE = 0.3
# The pace of a job counts fully when it is measured for so many seconds.
MEASURED = 20
# An estimate of more than so many times the seconds of the run is uncertain: it may be
# this factor too high or too low.
UNCERTAIN = 3
FACTOR = 2


@dataclass(frozen=True)
class Expected:
    """What is expected of a job: core ``seconds``, with so many ``threads``.

    It starts after the jobs ``before``.  ``guessed`` seconds are those of other models
    or data.
    """

    seconds: float
    threads: int = 1
    before: tuple[int, ...] = ()
    guessed: bool = False


@dataclass(frozen=True)
class Running:
    """A running job: its ``seconds`` so far, and the ``share`` of its work.

    ``left`` are the seconds left at the pace of its last ``measured`` seconds.
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

    The first arguments are by job, and ``finished`` are seconds.  ``pace_before`` is
    the pace of the machine until jobs of this run show it.  The result is the time of
    all work on ``cores``, or of the longest chain of jobs if that is longer.
    """
    # Other processes slow jobs with several threads more, which wait for each other.
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
    """Return between which seconds an estimate is, after ``elapsed`` seconds of a run.

    They are the same as soon as enough of the run is measured.
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
    """Return how many core seconds a recorded core second takes in this run.

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
