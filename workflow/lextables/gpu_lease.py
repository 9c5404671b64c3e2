"""A GPU of this machine for each job, so that several jobs beside each other have one each.

CUDA shows a process every GPU of a machine, and a trainer spreads over all that it sees.  So a job takes the
lock of one, in a folder that all runs of a user on this machine share, before anything asks CUDA, and makes
it the only one that it sees.  The kernel takes the lock away with the process, however that ends.
"""

import fcntl
import logging
import os
import re
import stat
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import IO
from urllib.parse import quote

from lextables.errors import BadInput

VISIBLE = "CUDA_VISIBLE_DEVICES"
PAUSE = 1.0  # seconds between two looks at GPUs that are all taken
# A line of `nvidia-smi -L`; the parts that a GPU is cut into (MIG) follow it.
_LISTED = re.compile(r"^ *(GPU|MIG) .*\(UUID: (\S+)\)", re.MULTILINE)
_held: list[IO[str]] = []  # open for as long as the process lives
_log = logging.getLogger("lextables")


def one(folder: Path | None = None) -> bool:
    """Hold one GPU until this process ends, and see no other; wait while all are held by other jobs.

    Returns whether one is held.  Chosen from are those that `CUDA_VISIBLE_DEVICES` names, where it is set,
    else all of this machine.  Nothing is taken where there is none, or where SLURM has given this job the
    one that it sees.
    """
    if not _held and (names := _names()):
        name, file = _first_free(names, folder or _folder())
        _held.append(file)
        os.environ[VISIBLE] = name
    return bool(_held)


def none() -> None:
    """See no GPU from here on."""
    os.environ[VISIBLE] = ""


def _names() -> list[str]:
    """What may be leased, by UUID where that is known: whoever means a GPU is to take the same lock."""
    chosen, by_slurm = os.environ.get(VISIBLE), "SLURM_JOB_ID" in os.environ
    if chosen is None:
        return [] if by_slurm else [name for gpu, parts in _listed().items() for name in parts or [gpu]]
    # As CUDA reads them: what follows such an entry counts for nothing.
    entries = list(takewhile(lambda entry: entry not in ("", "-1"), map(str.strip, chosen.split(","))))
    if not entries or (by_slurm and len(entries) == 1):
        return []
    listed = _listed()
    return [_uuid(entry, listed) for entry in entries]


def _uuid(entry: str, listed: dict[str, list[str]]) -> str:
    """The UUID of an entry: a number, as `nvidia-smi` counts, or a UUID's start; else the entry itself."""
    if entry.isdecimal():
        found = [(parts or [gpu])[0] for gpu, parts in listed.items()][int(entry) : int(entry) + 1]
    else:
        known = [name for gpu, parts in listed.items() for name in (gpu, *parts)]
        found = [name for name in known if name.startswith(entry)]
    return found[0] if len(found) == 1 else entry


def _listed() -> dict[str, list[str]]:
    """{GPU of this machine: the parts that it is cut into}; nothing where no driver lists them."""
    try:
        run = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    found: dict[str, list[str]] = {}
    for kind, uuid in _LISTED.findall(run.stdout):
        if kind == "GPU":
            found[uuid] = []
        elif found:
            found[[*found][-1]].append(uuid)
    return found


def _folder() -> Path:
    """The folder of the locks: never a job's own TMPDIR, and not a home that several machines share."""
    folder = Path(f"/tmp/lextables-gpus-{os.getuid()}")
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    about = folder.lstat()
    # Anyone may write to /tmp, and a link there could lead what is written here elsewhere.
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid():
        raise BadInput("this is not a folder of your own", where=str(folder), do="remove it, and run again")
    return folder


def _first_free(names: Sequence[str], folder: Path) -> tuple[str, IO[str]]:
    told = False
    while True:
        for name in names:
            if file := _taken(folder / quote(name, safe="")):
                return name, file
        if not told:
            holders = ", ".join(filter(None, ((folder / quote(name, safe="")).read_text() for name in names)))
            line = f"Every GPU that this job may use is taken (by process {holders}): it waits for one."
            print(line)
            _log.info("%s", line)
            told = True
        time.sleep(PAUSE)


def _taken(path: Path) -> IO[str] | None:
    """The file at ``path`` with its lock, and in it the number of this process; None where another has it."""
    file = path.open("a", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file
