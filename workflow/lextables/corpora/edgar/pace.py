"""A rate limit for all jobs of one machine: EDGAR allows ten requests per second.

The limit uses a locked file. A Snakemake resource would count jobs instead of requests, and is not shared
with other Snakemake processes, checkouts or scripts. The file holds the time of the next free slot. A process
waits for that slot and advances the time; after a refusal it advances it further, so that all processes wait.
On a cluster the rule runs on the machine of the Snakemake process, because EDGAR counts by network address.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# EDGAR allows ten and counts arrivals.  Requests sent a tenth of a second apart can arrive eleven in a
# second, so the pace leaves a tenth of a second for what the network adds.
PER_SECOND = 9.0
# The longest wait that a refusal may ask for.  A time further ahead comes from a clock that was set back.
LONGEST_HOLD = 3600.0


def default_file() -> Path:
    """The file that all jobs of a user share, outside any checkout."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "lextables" / "edgar.pace"


class Pace:
    """Slots for requests, shared through ``path`` by every process and thread that names it."""

    def __init__(self, path: str | Path, per_second: float = PER_SECOND) -> None:
        self.path, self.per_second = Path(path), per_second

    def wait(self) -> None:
        """Take the next free slot when it comes."""
        apart = 1 / self.per_second
        while True:
            with locked(self.path) as file:
                now = time.time()
                ahead = _next(file, now) - now
                if ahead <= apart:
                    # Sleep under the lock: a process that wakes late delays the slots of the others too.
                    time.sleep(max(0.0, ahead))
                    _store(file, time.time() + apart)
                    return
            time.sleep(ahead)

    def hold(self, seconds: float) -> None:
        """Let no process send a request for ``seconds``."""
        until = time.time() + min(seconds, LONGEST_HOLD)
        with locked(self.path) as file:
            _store(file, max(_next(file, time.time()), until))


@contextmanager
def locked(path: Path) -> Iterator[int]:
    """Lock ``path`` and yield its descriptor; the file is created if needed.

    The kernel releases the lock of a killed process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _next(file: int, now: float) -> float:
    try:
        stored = float(os.pread(file, 64, 0))
    except ValueError:
        return now
    return stored if stored <= now + 2 * LONGEST_HOLD else now


def _store(file: int, moment: float) -> None:
    # One write of fixed width: a kill leaves the old time or the new one.
    os.pwrite(file, b"%020.6f" % moment, 0)
