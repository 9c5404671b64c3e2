"""Processor time and peak memory of a job, recorded by the job itself at its end.

Snakemake's benchmark measures from outside, after a quarter of a minute only twice a
minute and not at the end, so that it misses up to half a minute of a job.
"""

import json
import resource
import time
from pathlib import Path

from lextables.pipeline.files import Strict, read_json, write_result

ENDING = ".usage.json"


class Usage(Strict):
    """What a finished job used, with its imports and its finished child processes."""

    processor_seconds: float
    """User and system time of all its threads and processes."""
    wall_seconds: float
    """Time since the log was opened."""
    peak_memory_mib: int
    """Resident memory of its largest process."""


def usage_file(log: str | Path) -> Path:
    """Return the path of the record of the job with this log, beside the log."""
    return Path(log).with_suffix(ENDING)


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

    What `resource` gives for a process begins with the memory of the one that started
    it.
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
