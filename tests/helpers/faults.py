"""Runs of the sample that are killed and started again."""

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from helpers import forked
from lextables.pipeline.job_files import USAGE

TIMEOUT = 900  # seconds
RESULTS = "results/sample"
# Folders, and keys of run.json, that may differ between runs with the same results.
HISTORY = {"logs", "work", ".cache"}
HISTORY_KEYS = set(
    "lextables seconds peak_memory_mib resumed_from_update finished_before".split()
)
SECONDS = re.compile(rb"(?<![\d.])\d+(\.\d+)? s(?= on )")  # in a table's cell


@dataclass(frozen=True)
class Place:
    """A folder, and the arguments of the command that runs in it."""

    folder: Path
    arguments: tuple[str, ...]

    def begin(self) -> subprocess.Popen:
        """Start the command in a new session; its output is written to the file
        `screen`.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "snakemake", *map(str, forked.PIPELINE)]
        with self.screen.open("wb") as out:
            return subprocess.Popen(
                [*command, *self.arguments],
                cwd=self.folder,
                env=os.environ | forked.ENVIRONMENT,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # Processes that a shell starts in the background ignore Ctrl-C.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def run(self) -> int:
        """Run the command to its end, without the time for imports; return its exit
        code.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        finished = forked.pipeline(self.folder, *self.arguments)
        self.screen.write_text(finished.output, encoding="utf-8")
        return finished.code

    @property
    def screen(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.screen")

    @property
    def finished(self) -> int:
        """Number of jobs that have succeeded; each records its usage at its end."""
        return sum(1 for _ in self.folder.glob(f"{RESULTS}/**/*{USAGE}"))

    def locked(self) -> bool:
        return any(self.folder.glob(".snakemake/locks/*.output.lock"))

    def outputs(self) -> dict[str, str]:
        """Return {result: digest of its content without times}."""
        digests = {}
        for path in sorted((self.folder / RESULTS).rglob("*")):
            name = path.relative_to(self.folder / RESULTS)
            hidden = any(part.startswith(".") for part in name.parts)
            is_history = name.parts[0] in HISTORY or name.stem.startswith("log.")
            if path.is_file() and not hidden and not is_history:
                digest = hashlib.sha256(without_times(path))
                digests[name.as_posix()] = digest.hexdigest()
        return digests

    def unfinished(self) -> list[Path]:
        """Return locks, incomplete marks and partial files, which exist only during a
        run.
        """
        state = self.folder / ".snakemake"
        return [
            *(state / "locks").rglob("*"),
            *(state / "incomplete").rglob("*"),
            *self.folder.rglob(".*.part"),
            *self.folder.rglob(".*.old"),
        ]


def without_times(path: Path) -> bytes:
    """Return the content of a result without the durations of steps."""
    if path.name == "run.json":
        record = json.loads(path.read_bytes(), object_pairs_hook=without_history)
        return json.dumps(record).encode()
    return SECONDS.sub(b"", path.read_bytes())


def without_history(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of JSON without what differs in each run."""
    return {key: value for key, value in pairs if key not in HISTORY_KEYS}


def until(condition, run: subprocess.Popen) -> bool:
    """Wait for a condition; return False if the run ends before it is true."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if run.poll() is not None:
            return False
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return True


def jobs(run: subprocess.Popen) -> list[psutil.Process]:
    return psutil.Process(run.pid).children(recursive=True)


def kill_all(run: subprocess.Popen) -> None:
    """Kill Snakemake and its jobs at the same time, as a power cut does."""
    os.killpg(run.pid, signal.SIGKILL)


def kill_driver(run: subprocess.Popen) -> None:
    """Kill Snakemake but not its jobs; wait until the jobs have finished."""
    left = jobs(run)
    run.kill()
    psutil.wait_procs(left)


def kill_jobs(run: subprocess.Popen) -> None:
    """Kill the jobs but not Snakemake, as the kernel does when memory is short;
    Snakemake then ends.
    """
    for process in jobs(run):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def strike(place: Place, kill, jobs: int, delay: float) -> bool:
    """Start a run, and kill it ``delay`` seconds after ``jobs`` more jobs have
    finished.

    Returns False if the run succeeds before it is killed.
    """
    run = place.begin()
    target = place.finished + jobs
    killed = until(lambda: place.finished >= target, run)
    if killed:
        time.sleep(delay)
        if run.poll() is None:
            kill(run)
    failed = run.wait(TIMEOUT) != 0
    assert killed or not failed, place.screen.read_text()[-3000:]
    return failed
