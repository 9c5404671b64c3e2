"""Runs of the sample that are killed and started again, and what a run that nobody disturbed makes."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
PATIENCE = 900  # seconds
RESULTS = "results/sample"
# How a run went, and not what came of it.
HISTORY = {"logs", "benchmarks", "work", ".cache"}
HISTORY_KEYS = set("seconds peak_memory_mib throughput resumed_from_update finished_before".split())
SECONDS = re.compile(rb"(?<![\d.])\d+(\.\d+)? s(?= on )")  # in a table's cell


@dataclass(frozen=True)
class Place:
    """A folder, and the arguments of the command that is given there."""

    folder: Path
    arguments: tuple[str, ...]

    def begin(self) -> subprocess.Popen:
        """Start the command in a session of its own; its screen is the file `screen`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "snakemake", "--snakefile", ROOT / "Snakefile", "--cores", "2"]
        profile = ["--workflow-profile", ROOT / "profiles/default"]
        with self.screen.open("wb") as out:
            return subprocess.Popen(
                [*command, *profile, *self.arguments],
                cwd=self.folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                # A shell lets what it starts in the background ignore Ctrl-C.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    def run(self) -> int:
        """Give the command and wait; return its exit code."""
        return self.begin().wait(PATIENCE)

    @property
    def screen(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.screen")

    @property
    def finished(self) -> int:
        """How many jobs have ended well: each leaves a benchmark."""
        return sum(1 for _ in self.folder.glob(f"{RESULTS}/benchmarks/**/*.tsv"))

    def locked(self) -> bool:
        return any(self.folder.glob(".snakemake/locks/*.output.lock"))

    def outputs(self) -> dict[str, bytes]:
        """{name: content} of the results, without times."""
        found = {}
        for path in sorted((self.folder / RESULTS).rglob("*")):
            name = path.relative_to(self.folder / RESULTS)
            hidden = any(part.startswith(".") for part in name.parts)
            if path.is_file() and not hidden and name.parts[0] not in HISTORY and name.name != "log.txt":
                found[name.as_posix()] = without_times(path)
        return found

    def unfinished(self) -> list[Path]:
        """What only a run that works has."""
        state = self.folder / ".snakemake"
        found = [path for part in ("locks", "incomplete") for path in (state / part).rglob("*")]
        return found + [path for end in ("part", "old") for path in self.folder.rglob(f".*.{end}")]


def without_times(path: Path) -> bytes:
    """The content of a result, without the seconds that something took."""
    if path.name == "run.json":
        keep = lambda pairs: {key: value for key, value in pairs if key not in HISTORY_KEYS}  # noqa: E731
        return json.dumps(json.loads(path.read_bytes(), object_pairs_hook=keep)).encode()
    return SECONDS.sub(b"", path.read_bytes())


def until(happened, run: subprocess.Popen) -> bool:
    """Wait for something to be true; return False where the run ends before."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if run.poll() is not None:
            return False
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return True


def jobs(run: subprocess.Popen) -> list[psutil.Process]:
    return psutil.Process(run.pid).children(recursive=True)


def kill_all(run: subprocess.Popen) -> None:
    """The driver and its jobs at once, as a power cut does."""
    os.killpg(run.pid, signal.SIGKILL)


def kill_driver(run: subprocess.Popen) -> None:
    """The driver alone; its jobs go on until their work is done."""
    left = jobs(run)
    run.kill()
    psutil.wait_procs(left)


def kill_jobs(run: subprocess.Popen) -> None:
    """The jobs alone, as the kernel does for want of memory; the driver ends by itself."""
    for process in jobs(run):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def strike(place: Place, chance: random.Random) -> str:
    """Begin a run and kill it up to two jobs later; return how, or nothing where the run ended before."""
    run, target = place.begin(), place.finished + chance.randint(0, 2)
    kill = chance.choice([kill_all, kill_driver, kill_jobs])
    if until(place.locked, run) and until(lambda: place.finished >= target, run):
        time.sleep(2 * chance.random())
        if run.poll() is None:
            kill(run)
    return kill.__name__ if run.wait(PATIENCE) else ""
