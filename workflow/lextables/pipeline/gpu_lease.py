"""One GPU for each job: a job locks a GPU and makes it the only one that it sees.

CUDA shows every GPU of a machine to a process, and a trainer uses all visible ones.
The lock is one file per GPU in a folder that all runs of a user share; the kernel
releases it when the process ends.
"""

import logging
import os
import re
import subprocess
import time
from itertools import chain
from pathlib import Path

from filelock import FileLock, Timeout

from lextables.pipeline.errors import BadInput

VISIBLE = "CUDA_VISIBLE_DEVICES"
PAUSE = 1.0  # seconds between two attempts while all GPUs are locked
# A line of `nvidia-smi -L`: a GPU, or one of its parts (MIG), which follow it.
_LISTED = re.compile(r"^ *(GPU|MIG) .*\(UUID: (\S+)\)", re.MULTILINE)
_locks: list[FileLock] = []  # held until the process ends


def acquire(folder: Path | None = None) -> bool:
    """Lock one GPU until this process ends and hide the others; wait while other jobs
    hold all of them.

    The candidates are the GPUs in `CUDA_VISIBLE_DEVICES` if it is set, else all of this
    machine.  Returns whether a GPU is locked: False if there is none, or if SLURM has
    already given this job exactly one.
    """
    if _locks:
        return True
    names = _candidates()
    if not names:
        return False
    folder = folder or _own_folder()
    waiting = False
    while True:
        for name in names:
            lock = FileLock(folder / f"{name.replace('/', '_')}.lock")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            _locks.append(lock)
            os.environ[VISIBLE] = name
            return True
        if not waiting:
            waiting = True
            logging.getLogger("lextables").info(
                "Other jobs use all GPUs; waiting for a free one."
            )
        time.sleep(PAUSE)


def hide_all() -> None:
    """Make no GPU visible to this process."""
    os.environ[VISIBLE] = ""


def _candidates() -> list[str]:
    """The GPUs that may be locked, by UUID if the driver lists them.

    `CUDA_VISIBLE_DEVICES` may name a GPU by its number or by the beginning of its UUID,
    but all jobs must use the same name for its lock.
    """
    parts_of = _gpus()
    visible = os.environ.get(VISIBLE)
    if visible is None:
        return list(chain.from_iterable(parts_of.values()))
    entries = _visible_entries(visible)
    if "SLURM_JOB_ID" in os.environ and len(entries) == 1:
        return []
    uuids = []
    uuid_of_number = {}
    for number, (gpu, parts) in enumerate(parts_of.items()):
        uuid_of_number[str(number)] = parts[0]
        uuids += [gpu, *parts]
    names = []
    for entry in entries:
        if entry in uuid_of_number:
            names.append(uuid_of_number[entry])
            continue
        matching = [uuid for uuid in uuids if uuid.startswith(entry)]
        names.append(matching[0] if matching else entry)
    return names


def _visible_entries(visible: str) -> list[str]:
    """The entries of `CUDA_VISIBLE_DEVICES` that CUDA reads."""
    entries = []
    for entry in map(str.strip, visible.split(",")):
        # CUDA ignores everything after an empty or negative entry.
        if entry in ("", "-1"):
            break
        entries.append(entry)
    return entries


def _gpus() -> dict[str, list[str]]:
    """{UUID of a GPU: the UUIDs of its MIG parts, or its own}; empty if no driver lists
    any.
    """
    try:
        listed = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    gpus: dict[str, list[str]] = {}
    for kind, uuid in _LISTED.findall(listed.stdout):
        if kind == "GPU":
            gpus[uuid] = []
        elif gpus:
            gpus[next(reversed(gpus))].append(uuid)
    return {gpu: parts or [gpu] for gpu, parts in gpus.items()}


def _own_folder() -> Path:
    """The folder of the locks: local to this machine, and owned by this user."""
    folder = Path(f"/tmp/lextables-gpus-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise BadInput(
            "this folder belongs to someone else",
            where=str(folder),
            do="ask its owner to remove it",
        )
    return folder
