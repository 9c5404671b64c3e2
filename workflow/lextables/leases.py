"""Which runs are alive in a folder, so that the lock that a killed one left is taken away where that is safe.

Snakemake locks a folder's files while it runs, and a run that is killed leaves the lock.  So each run keeps a
record in `.snakemake/leases` and a shared lock of the operating system on it, as do the jobs that it starts;
the kernel takes these away with the last process that holds one.  A record that nobody holds is a run of
which nothing is left.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from lextables import cluster
from lextables.command_line import snakemake_path
from lextables.errors import BadInput

VARIABLE = "LEXTABLES_LEASE"  # where a run's jobs find its record


@dataclass(frozen=True)
class Holder:
    """The run that a record is of."""

    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


class Lease:
    """A run's own record, held until `release` or the end of the process."""

    def __init__(self, state: Path) -> None:
        holder = Holder(socket.gethostname(), os.getpid(), time.strftime("%Y-%m-%d %H:%M"))
        self.path = (state / "leases" / f"{holder.host}-{holder.pid}").absolute()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("w", encoding="utf-8")
        with suppress(OSError):  # a disk without locks: `settle` then frees nothing
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        json.dump(asdict(holder), self._file)
        self._file.flush()
        os.environ[VARIABLE] = str(self.path)

    def release(self) -> None:
        """Take the record away: this run has ended in order, and its jobs with it."""
        self.path.unlink(missing_ok=True)
        self._file.close()
        os.environ.pop(VARIABLE, None)


@contextmanager
def lent() -> Iterator[None]:
    """Hold the record of the run that started this job, if it has one, for as long as the job works.

    Raises `BadInput` if that run was killed before the job began: another may do the same work by now.
    """
    path = Path(os.environ.get(VARIABLE, ""))
    gone = BadInput("the run that started this job was killed", do="run the same command again")
    # A record of another machine is no lock here; that it was taken away is seen all the same.
    if not path.name.startswith(f"{socket.gethostname()}-"):
        if path.name and not path.exists():
            raise gone
        yield
        return
    try:
        file = path.open("r")
    except FileNotFoundError:
        raise gone from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise gone from None
        if not os.fstat(file.fileno()).st_nlink:
            raise gone
        yield


def settle(state: Path, alone: Callable[[], None] = lambda: None) -> tuple[Lease, str, str]:
    """Take away the locks in Snakemake's folder ``state`` where no run is left that could hold them.

    ``alone`` is called where it is certain that nothing else works here, before another run can begin.
    Returns this run's lease, a sentence on what was freed, and one on why locks stay and what to do, to be
    said if they are in this run's way; of these at most one is not empty.  On a disk without locks of the
    operating system no record is ever held, and nothing is freed.
    """
    folder = state / "leases"
    folder.mkdir(parents=True, exist_ok=True)
    # Runs that start together settle one after the other.
    with (folder / "settling").open("w") as turn:
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
        except OSError:
            return Lease(state), "", _by_hand("this disk does not tell which runs are alive")
        freed, kept = _free(state, alone)
        return Lease(state), freed, kept


def _free(state: Path, alone: Callable[[], None]) -> tuple[str, str]:
    locks = sorted((state / "locks").glob("*.lock"))
    records = {path: _holder(path) for path in sorted((state / "leases").glob("*-*"))}
    with ExitStack() as held:
        dead = [path for path, holder in records.items() if holder and _take(path, holder, held)]
        kept = _kept(state, records, dead)
        if locks and not records:
            kept = _by_hand("the run that did it left no record")
        if locks and kept:
            return "", kept
        for lock in locks:
            lock.unlink()
        if not kept:
            alone()
        for path in dead:
            path.unlink()
    if not locks:
        return "", ""
    last = max(map(str, (records[path].since for path in dead)))
    return f"The lock of a run that was killed (it had begun at {last}) was taken away.", ""


def _kept(state: Path, records: Mapping[Path, Holder | None], dead: Sequence[Path]) -> str:
    """Why locks have to stay; empty if all that could hold them is dead."""
    for path, holder in records.items():
        if holder is None:
            return _by_hand(f"the record {path} cannot be read")
        if path not in dead:
            if holder.host != socket.gethostname():
                return _by_hand(f"the run that did it ({holder}) cannot be asked from here")
            if _alive(holder.pid):
                return f"Another run works in this folder ({holder}); wait for it, or stop it first."
            return f"Jobs of a run that was killed ({holder}) still work here; wait for them, or stop them."
    if jobs := _cluster_jobs(state):
        queued = cluster.in_queue(jobs)
        if queued is None:
            return _by_hand(f"jobs of a killed run may be in the cluster's queue ({', '.join(jobs)})")
        if queued:
            what = "Jobs of a run that was killed are in the cluster's queue"
            return f"{what}; wait for them, or say scancel {' '.join(queued)}."
    return ""


def _take(path: Path, holder: Holder, held: ExitStack) -> bool:
    """Hold a record of this machine that nobody else holds, until ``held`` ends."""
    if holder.host != socket.gethostname():
        return False
    file = held.enter_context(path.open("r"))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _by_hand(why: str) -> str:
    return f"This folder is locked, and {why}; if nothing runs any more, say {snakemake_path()} --unlock."


def _holder(path: Path) -> Holder | None:
    try:
        return Holder(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _cluster_jobs(state: Path) -> list[str]:
    """The ids of the cluster's jobs whose outputs Snakemake holds for unfinished."""
    ids = set()
    for path in (state / "incomplete").rglob("*"):
        if path.is_file():
            ids.add(json.loads(path.read_text(encoding="utf-8") or "{}").get("external_jobid"))
    return sorted(ids - {None})
