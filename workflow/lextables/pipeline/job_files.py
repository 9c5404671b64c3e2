"""Two files beside the log of a job: its progress, and the time and memory it used.

The logger plugin (`snakemake_logger_plugin_lextables`) reads the progress of running
jobs.  When a job ends, its progress is deleted and its usage is written.

Snakemake's benchmark samples a process from outside: every half second for 15 seconds,
then every 30 seconds, and not at the end.  Up to half a minute is lost, so a job
records its processor time and peak memory itself.
"""

import json
import resource
import time
from pathlib import Path

from lextables.pipeline.atomic import write_text
from lextables.pipeline.files import Strict, read_json, write_result

PROGRESS = ".progress.json"
USAGE = ".usage.json"
INTERVAL = 2.0  # seconds between two writes of the progress


def progress_file(log: str | Path) -> Path:
    """Return the path of the progress of the job with this log, beside the log."""
    return Path(log).with_suffix(PROGRESS)


class Progress:
    """The share of a job's work that is done.

    ``total`` is all work.  It has the same unit as the amounts in `add`.
    """

    def __init__(self, log: str | Path, total: float) -> None:
        self.file = progress_file(log)
        self.total = total
        self.done = 0.0
        self._first = 0.0  # the first amount
        self._start: float | None = None  # time.monotonic after the first amount
        self._written = 0.0  # time.monotonic
        self.add(0.0)

    def add(self, amount: float) -> None:
        """Add to what is done, and write the share unless it was just written.

        The file also has ``left``, the estimated seconds that remain, and ``measured``,
        the seconds that the estimate rests on.  They are measured after the first
        amount, because loading a model, or taking over what an earlier job did, says
        nothing about the pace.
        """
        self.done += amount
        now = time.monotonic()
        if amount and self._start is None:
            self._start = now
            self._first = self.done
        if now - self._written < INTERVAL:
            return
        self._written = now
        share = min(1.0, self.done / self.total) if self.total else 0.0
        state = {"share": round(share, 4), "left": 0.0, "measured": 0.0}
        measured_amount = self.done - self._first
        if self._start is not None and measured_amount:
            seconds = now - self._start
            left = max(0.0, self.total - self.done) * seconds / measured_amount
            state |= {"left": round(left, 1), "measured": round(seconds, 1)}
        write_text(self.file, json.dumps(state) + "\n")


class Usage(Strict):
    """What a finished job used, including its imports and finished child processes."""

    processor_seconds: float
    """User and system time of all its threads and processes."""
    wall_seconds: float
    """Time since the log was opened."""
    peak_memory_mib: int
    """Resident memory of its largest process."""


def usage_file(log: str | Path) -> Path:
    """Return the path of the usage of the job with this log, beside the log."""
    return Path(log).with_suffix(USAGE)


def record_usage(log: str | Path, begin: float) -> None:
    """Write the usage of this process so far; ``begin`` is a `time.monotonic`."""
    processor_seconds = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        processor_seconds += used.ru_utime + used.ru_stime
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    peak_memory = max(_own_peak(), children)
    usage = Usage(
        processor_seconds=round(processor_seconds, 2),
        wall_seconds=round(time.monotonic() - begin, 2),
        peak_memory_mib=peak_memory // 1024,
    )
    text = json.dumps(usage.model_dump(), sort_keys=True) + "\n"
    write_result(usage_file(log), text)


def _own_peak() -> int:
    """Return the peak memory of this process in KiB.

    Not by `resource`, where possible: its peak includes the memory of the process that
    started this one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text(encoding="ascii", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name == "VmHWM":
                return int(value.split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def read_usage(log: str | Path) -> Usage | None:
    """Return the usage of the job with this log; None if it recorded none."""
    file = usage_file(log)
    if not file.is_file():
        return None
    return Usage(**read_json(file, Usage))
