"""Locks that a killed process does not leave behind, on folders in use and on single
files.

A run and each of its jobs hold a locked file in the results folder and in Snakemake's
folder. The kernel releases the lock of a process that ends, so a file without a lock
was left by a killed process. If no file is locked, Snakemake's remaining locks and
unfinished files are stale.

Each file has the record of its run. A job copies it, with the name of its own machine,
and does not start if the file of its run is gone: the run was killed, and another one
has started.
"""

import atexit
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout
from pydantic import BaseModel

from lextables.pipeline.atomic import MARK
from lextables.pipeline.errors import BadInput, plain_reason

# Environment variable for jobs: the paths of the locked files of their run, as JSON.
RUN = "LEXTABLES_RUN"
LOCKS = ".lextables"  # folder of the locked files, in each of the two folders
GUARD = "guard"  # file in this folder: locked while files are added or removed
NO_LOCKS = "This disk has no file locks, so other runs in this folder are not noticed: start only one."
# Temporary names of `lextables.pipeline.atomic`.
UNFINISHED = re.compile(rf"\.(?P<name>.+)\.[0-9]+\.{MARK}\.(part|old)")
_held = ExitStack()  # the files of this run, until the process ends
atexit.register(_held.close)


class Owner(BaseModel):
    """The record of a run in its locked files."""

    state: str = ""
    """Snakemake's folder, with links resolved."""
    host: str = ""
    """Name of the machine that holds the lock of the file."""
    process: str = "unknown process"
    """Number of the process, machine and start time, in words."""

    def left_locks_elsewhere(self) -> bool:
        """Whether this run, or a job of it, may still work on another machine, because
        Snakemake's locks remain.

        This is for disks on which a file lock is only seen by processes of the same
        machine.
        """
        if self.host in ("", socket.gethostname()):
            return False
        return bool(_snakemake_locks(Path(self.state)))


def acquire(
    state: Path, results: Path, clean: Callable[[], None] = lambda: None
) -> str:
    """Register this run in Snakemake's folder ``state`` and in ``results``; return a
    message or "".

    If no other run or job is registered, Snakemake's stale locks and unfinished files
    below ``results`` are removed, and ``clean`` is called.  Raises `BadInput` if the
    folders are not writable, or if a run of another checkout uses the results.
    """
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    host = socket.gethostname()
    process = f"process {os.getpid()} on {host}, since {since}"
    run = Owner(state=str(state.resolve()), host=host, process=process)
    folders = [place.absolute() / LOCKS for place in (state, results)]
    try:
        results.mkdir(parents=True, exist_ok=True)
        with ExitStack() as guards:
            for folder in folders:
                if not guards.enter_context(exclusive(folder / GUARD)):
                    return NO_LOCKS
            others = [*_live(folders[0]), *_live(folders[1])]
            if others:
                message = _note_on(others, run, results)
            else:
                message = _clean(state, results, clean)
            record = run.model_dump_json().encode()
            files = []
            for folder in folders:
                file = _held.enter_context(_registered(folder, record))
                files.append(str(file))
    except OSError as error:
        do = "make it a writable folder with free space, or choose another with --directory"
        what = f"cannot be used ({plain_reason(error, '.')})"
        raise BadInput(what, where=str(error.filename), do=do) from None
    os.environ[RUN] = json.dumps(files)
    return message


def _note_on(others: list[Owner], run: Owner, results: Path) -> str:
    """Return a message about ``others``, one or more runs that use the same folders.

    Raises `BadInput` if one is of another checkout.  Runs of the same checkout may go
    on: Snakemake itself refuses one that writes the same files.
    """
    for owner in others:
        if owner.state != run.state:
            what = f"another run, or a job of a killed run, in {owner.state} uses this folder ({owner.process})"
            do = "wait for it or stop it; if nothing is running on any machine, run snakemake --unlock there"
            raise BadInput(what, where=str(results), do=do)
    return (
        f"Another run, or a job of a killed run, uses this folder ({others[0].process}); "
        "both continue, because they write different files."
    )


def _clean(state: Path, results: Path, clean: Callable[[], None]) -> str:
    """Remove what killed runs left; return a message if there was a lock, else ""."""
    stale = _snakemake_locks(state)
    for lock in stale:
        lock.unlink()
    for path in unfinished(results):
        final = path.with_name(UNFINISHED.sub(r"\g<name>", path.name))
        if path.suffix == ".old" and not final.exists():
            path.rename(final)  # the process was killed between two renames
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    clean()
    if not stale:
        return ""
    return "Removed the lock of a killed run."


def unfinished(folder: Path) -> list[Path]:
    """Temporary files and folders of a killed process below ``folder``, except in other
    results folders.
    """
    paths = []
    for place, folders, files in os.walk(folder):
        if LOCKS in folders and Path(place) != folder:
            folders.clear()
            continue
        for name in [*folders, *files]:
            if UNFINISHED.fullmatch(name):
                paths.append(Path(place, name))
        folders[:] = [name for name in folders if not UNFINISHED.fullmatch(name)]
    return paths


def _snakemake_locks(state: Path) -> list[Path]:
    """Return Snakemake's own locks in its folder."""
    return sorted((state / "locks").glob("*.lock"))


def _live(folder: Path) -> list[Owner]:
    """Return the owners of the locked files in ``folder``, and remove the files of
    killed processes.
    """
    owners = []
    for path in sorted(folder.glob("*.lock")):
        owner = Owner()
        with suppress(ValueError):  # damaged, for example by a power cut
            owner = Owner.model_validate_json(path.read_bytes())
        lock = _file_lock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            owners.append(owner)
            continue
        if owner.left_locks_elsewhere():
            owners.append(owner)
        else:
            path.unlink()
        lock.release()
    return owners


def _file_lock(path: Path) -> FileLock:
    """Return a lock of the kernel.

    On a disk without such locks, acquiring it raises an error: it does not fall back to
    a lock that a killed process would leave behind.
    """
    return FileLock(path, fallback_to_soft=False, poll_interval=0.01)


@contextmanager
def _registered(folder: Path, record: bytes) -> Iterator[Path]:
    """Yield a new locked file in ``folder``; remove it at the end."""
    path = folder / f"{uuid4()}.lock"
    path.write_bytes(record)
    with exclusive(path):
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)


@contextmanager
def exclusive(path: Path) -> Iterator[bool]:
    """Lock ``path`` after waiting for other processes; yield False on a disk without
    such locks.

    The file is created if needed.  The kernel releases the lock of a killed process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    lock = _file_lock(path)
    with suppress(OSError):
        lock.acquire()
    try:
        yield lock.is_locked
    finally:
        lock.release()


@contextmanager
def held_by_job() -> Iterator[None]:
    """Register this job in the folders of the run that started it, if it has one, while
    the job works.

    Raises `BadInput` if that run was killed and another one has started since.
    """
    with ExitStack() as held:
        for path in json.loads(os.environ.get(RUN, "[]")):
            run_file = Path(path)
            with exclusive(run_file.parent / GUARD):
                try:
                    run = Owner.model_validate_json(run_file.read_bytes())
                except FileNotFoundError:
                    what = "the run that started this job was killed"
                    raise BadInput(what, do="repeat the command") from None
                job = run.model_copy(update={"host": socket.gethostname()})
                record = job.model_dump_json().encode()
                held.enter_context(_registered(run_file.parent, record))
        yield


def refuse_cluster_jobs(ids: Iterable[str]) -> None:
    """Raise `BadInput` if SLURM still has one of these jobs of a killed run, or does
    not answer.
    """
    jobs = sorted(set(ids))
    if not jobs:
        return
    what = "jobs of a killed run may still be in the cluster's queue"
    command = ["squeue", "--noheader", "--format=%i"]
    try:
        listed = subprocess.check_output(command, text=True).split()
    except (FileNotFoundError, subprocess.CalledProcessError):
        do = f"squeue does not answer here: check that {', '.join(jobs)} have ended, and add --no-hooks"
        raise BadInput(what, do=do) from None
    running = [job for job in jobs if job in listed]
    if running:
        raise BadInput(what, do=f"wait for them, or run scancel {' '.join(running)}")
