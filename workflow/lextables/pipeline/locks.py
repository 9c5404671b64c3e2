"""A lock of the working folder that a killed run does not leave behind.

A run and each of its jobs hold a shared lock (`flock`) on `.snakemake/lextables.lock`, which the kernel
releases when the process ends.  So a new run that gets the exclusive lock is the only one on this machine:
Snakemake's remaining locks and unfinished files are stale.  The file names the last run with the exclusive
lock.  Jobs compare this record, so that none starts after its run was killed and replaced.

`exclusive` locks any other file for a few moments.
"""

import fcntl
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from lextables.pipeline.errors import BadInput, plain_reason

# Environment variables for jobs: the lock's file, and its content when the run started.
PATH, RUN = "LEXTABLES_LOCK", "LEXTABLES_RUN"
RECORD = re.compile(r"process \d+ on (\S+), since .+\n")
UNFINISHED = re.compile(r"\..+\.\d+\.(part|old)")  # temporary names of `lextables.pipeline.atomic`
_held: list[TextIO] = []  # open until this process ends


def acquire(state: Path, results: Path, clean: Callable[[], None] = lambda: None) -> str:
    """Hold the lock in Snakemake's folder ``state`` until this process ends; return a message or "".

    If this run is the only one, Snakemake's stale locks and unfinished files below ``results`` are removed,
    and ``clean`` is called. Raises `BadInput` if the folders are not writable.
    """
    try:
        results.mkdir(parents=True, exist_ok=True)
        state.mkdir(exist_ok=True)
        file = (state / "lextables.lock").absolute().open("a+", encoding="utf-8")
        message = _clean(file, state, results, clean)
        with suppress(OSError):  # a disk without such locks
            fcntl.flock(file, fcntl.LOCK_SH)
    except OSError as error:
        do = "make it a writable folder with free space, or choose another with --directory"
        raise BadInput(
            f"cannot be used ({plain_reason(error, '.')})", where=str(error.filename), do=do
        ) from None
    file.seek(0)
    os.environ[PATH], os.environ[RUN] = file.name, file.read().strip()
    _held.append(file)
    return message


def _clean(file: TextIO, state: Path, results: Path, clean: Callable[[], None]) -> str:
    file.seek(0)
    before = RECORD.fullmatch(file.read())  # an empty or truncated file names no run
    name = before[0].strip() if before else "unknown process"
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return f"Another run, or a job of a killed run, uses this folder ({name})."
    except OSError:
        return ""  # a disk without such locks: nothing is known to be stale
    stale = sorted((state / "locks").glob("*.lock"))
    if stale and before and before[1] != socket.gethostname():
        return f"This folder is locked by a run on another machine ({name})."
    for lock in stale:
        lock.unlink()
    for path in unfinished(results):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    clean()
    file.truncate(0)
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    file.write(f"process {os.getpid()} on {socket.gethostname()}, since {since}\n")
    file.flush()
    return f"Removed the lock of a killed run ({name})." if stale else ""


def unfinished(folder: Path) -> list[Path]:
    """Temporary files and folders of a killed process below ``folder``."""
    paths = []
    for place, folders, files in os.walk(folder):
        names = [name for name in (*folders, *files) if UNFINISHED.fullmatch(name)]
        paths += [Path(place, name) for name in names]
        folders[:] = set(folders) - set(names)
    return paths


@dataclass(frozen=True)
class LockFile:
    """An open file: its descriptor, and whether this process has its lock."""

    descriptor: int
    locked: bool


@contextmanager
def exclusive(path: Path) -> Iterator[LockFile]:
    """Lock ``path`` and yield it, after waiting for other processes; the file is created if needed.

    The kernel releases the lock of a killed process.  A disk without such locks gives an unlocked file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        locked = True
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            locked = False
        yield LockFile(file, locked)
    finally:
        os.close(file)


@contextmanager
def held_by_job() -> Iterator[None]:
    """Hold the lock of the run that started this job, if it has one, while the job works.

    Raises `BadInput` if that run was killed and another one has started since.
    """
    if PATH not in os.environ:
        yield
        return
    replaced = BadInput("the run that started this job was killed", do="repeat the command")
    with Path(os.environ[PATH]).open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise replaced from None
        except OSError:
            pass  # a disk without such locks
        if file.read().strip() != os.environ[RUN]:
            raise replaced
        yield


def refuse_cluster_jobs(ids: Iterable[str]) -> None:
    """Raise `BadInput` if SLURM still has one of these jobs of a killed run, or does not answer."""
    if not (running := sorted(set(ids))):
        return
    what = "jobs of a killed run may still be in the cluster's queue"
    try:
        listed = subprocess.check_output(["squeue", "--noheader", "--format=%i"], text=True).split()
    except (FileNotFoundError, subprocess.CalledProcessError):
        do = f"squeue does not answer here: check that {', '.join(running)} have ended, and add --no-hooks"
        raise BadInput(what, do=do) from None
    if running := [job for job in running if job in listed]:
        raise BadInput(what, do=f"wait for them, or run scancel {' '.join(running)}")
