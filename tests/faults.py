"""Faults that strike real runs of the sample, and what has to stand after them.

PYTHONPATH=tests python -m faults --kills 20     a whole rerun after each kill; --help has the rest

A `Place` is a folder in which the workflow runs as a user starts it.  A fault strikes it, the same command is
given again, and then nothing is left over and nothing differs from a run that nobody disturbed, but what says
how long something took, and from which update a training went on.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[1]
PATIENCE = 900  # seconds; a run that takes longer hangs
RESULTS = "results/sample"
# What says how a run went and not what came of it.
TOLD = frozenset({"logs", "benchmarks", "work", ".cache"})
SECONDS = re.compile(r"(?<![\d.])\d+(\.\d+)? s(?= on )")  # in a table's cell
# Of a run's record.
STORY = frozenset({"seconds", "peak_memory_mib", "throughput", "resumed_from_update", "finished_before"})
KEPT = frozenset({"finished", "vectors", "calls"})  # of the work
SCRIPT = re.compile(r"python\S* \S+/\.snakemake/scripts/\w+\.(\w+\.py)")  # a job's command line
DAMAGED = re.compile(
    r"^(\S+): this file was cut short; delete (?:it|the folder (\S+)), and run the same command again\.$",
    re.M,
)


@dataclass(frozen=True)
class Place:
    """A folder, and the arguments of the command that is given there again and again."""

    folder: Path
    arguments: tuple[str, ...]
    snakefile: Path = ROOT / "Snakefile"

    def begin(self, *more: str) -> subprocess.Popen:
        """Start the command as the leader of a session of its own; what it says goes to `said`."""
        scratch = self.folder / "tmp"
        scratch.mkdir(parents=True, exist_ok=True)
        with self._said.open("wb") as out:
            return subprocess.Popen(
                [
                    *(sys.executable, "-m", "snakemake", "--snakefile", self.snakefile, "--cores", "2"),
                    *("--workflow-profile", ROOT / "profiles/default", *self.arguments, *more),
                ],
                cwd=self.folder, env=os.environ | {"TMPDIR": str(scratch)},
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                # A shell lets what it starts in the background ignore Ctrl-C.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )  # fmt: skip

    def run(self, *more: str) -> int:
        """Give the command and wait; return its exit code."""
        return self.begin(*more).wait(PATIENCE)

    @property
    def _said(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.said")

    @property
    def said(self) -> str:
        """What the latest run said on the screen."""
        return self._said.read_text(encoding="utf-8", errors="replace")

    @property
    def finished(self) -> int:
        """How many jobs have ended well: each leaves a benchmark."""
        return sum(1 for _ in self.folder.glob(f"{RESULTS}/benchmarks/**/*.tsv"))

    @property
    def checkpoints(self) -> set[Path]:
        """The checkpoints that are whole."""
        work = self.folder / RESULTS / "work"
        # Unlike a glob, a walk passes over a folder that goes while it is looked at.
        return {
            Path(place)
            for place, _, files in os.walk(work)
            if Path(place).name.startswith("checkpoint-") and "whole" in files
        }

    def outputs(self) -> dict[str, bytes]:
        """{name: content} of the files that came of it, without what says when and how long."""
        found = {}
        for path in sorted((self.folder / RESULTS).rglob("*")):
            name = path.relative_to(self.folder / RESULTS)
            hidden = any(part.startswith(".") for part in name.parts)
            if path.is_file() and not hidden and name.parts[0] not in TOLD and name.name != "log.txt":
                found[name.as_posix()] = without_times(path)
        return found

    def litter(self) -> list[str]:
        """What nobody needs any more when a run has ended well."""
        state = self.folder / ".snakemake"
        left = [path for part in ("locks", "incomplete", "scripts") for path in (state / part).rglob("*")]
        left += (path for path in (state / "leases").iterdir() if path.name != "settling")
        for path in (self.folder / RESULTS).rglob("*"):
            parts = path.relative_to(self.folder / RESULTS).parts
            half = path.name.endswith((".part", ".old", ".part.json"))
            if half or (parts[0] == "work" and path.is_file() and not KEPT & {*parts}):
                left.append(path)
        return sorted(str(path.relative_to(self.folder)) for path in left)


def without_times(path: Path) -> bytes:
    """The content of a file, without the seconds that something took and how it came about."""
    content = path.read_bytes()
    if path.name == "run.json":
        told = json.loads(content, object_hook=lambda of: {k: v for k, v in of.items() if k not in STORY})
        return json.dumps(told).encode()
    if path.suffix in (".csv", ".md", ".html"):
        return SECONDS.sub("", content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return content


def differences(place: Place, reference: dict[str, bytes], *, whole: bool = True) -> list[str]:
    """The outputs that are not the reference's; of a run that is not ``whole``, of those that are there."""
    found = place.outputs()
    other = [name for name, content in found.items() if reference.get(name) != content]
    return sorted(other + ([*(reference.keys() - found.keys())] if whole else []))


def others(run: subprocess.Popen) -> list[psutil.Process]:
    """The processes of a run's session beside its driver."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(ProcessLookupError, psutil.Error):
            if process.pid != run.pid and os.getsid(process.pid) == run.pid:
                found.append(process)
    return [process for process in found if process.status() != psutil.STATUS_ZOMBIE]


def jobs(run: subprocess.Popen) -> dict[psutil.Process, str]:
    """{process: script} of a run's jobs that work."""
    found = {}
    for process in others(run):
        with contextlib.suppress(psutil.Error):
            if script := SCRIPT.search(" ".join(process.cmdline())):
                found[process] = script[1]
    return found


def until(there: Callable[[], Any], run: subprocess.Popen | None = None, pace: float = 0.005) -> Any:
    """Wait for ``there`` to be true, and return what it is; None where ``run`` ends before."""
    deadline = time.monotonic() + PATIENCE
    while not (found := there()):
        if run and run.poll() is not None:
            return None
        if time.monotonic() > deadline:
            raise TimeoutError("what was waited for did not come")
        time.sleep(pace)
    return found


# Kills: what is struck.  Each waits for the end of the run, and returns whether there was anything to strike.

Kill = Callable[[subprocess.Popen, random.Random], bool]


def kill_all(run: subprocess.Popen, chance: random.Random) -> bool:
    """The driver and its jobs at once, as a power cut does."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    return run.wait() < 0


def kill_driver(run: subprocess.Popen, chance: random.Random) -> bool:
    """The driver alone; its jobs go on, and end when they have done their work."""
    run.kill()
    killed = run.wait() < 0
    until(lambda: not others(run), pace=0.05)
    return killed


def kill_job(run: subprocess.Popen, chance: random.Random) -> bool:
    """One job at each of its tries, as the kernel does for want of memory; the driver ends by itself."""
    working = until(lambda: jobs(run), run, pace=0.05)
    if not working:
        return False
    struck = chance.choice(sorted(working.values()))

    def over() -> bool:
        for process in [process for process, script in jobs(run).items() if script == struck]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        return run.poll() is not None

    until(over, pace=0.05)
    return run.returncode != 0


KILLS: tuple[Kill, ...] = (kill_all, kill_driver, kill_job)
CHECKPOINT = "a checkpoint"


def strike(place: Place, kill: Kill, chance: random.Random, *, steps: int, checkpoint: bool) -> str:
    """Begin a run and kill it; return in words when, and nothing where the run ended before.

    The moment is that at which ``steps`` more jobs have ended, or up to two seconds later; with
    ``checkpoint`` it is that at which one becomes whole, or up to a quarter of a second later, if one does.
    """
    later = 2 * chance.random()
    before, known = place.finished, place.checkpoints
    run = place.begin()

    def moment() -> str:
        if checkpoint and place.checkpoints - known:
            return CHECKPOINT
        return f"{steps} more jobs" if place.finished >= before + steps else ""

    if not until(lambda: [*place.folder.glob(".snakemake/locks/*.output.lock")], run):
        return ""
    if not (came := until(moment, run)):
        return ""
    later /= 8 if came == CHECKPOINT else 1
    time.sleep(later)
    return f"{kill.__name__} {later:.2f} s after {came}" if kill(run, chance) else ""


@dataclass(frozen=True)
class Survival:
    """A kill in words, and what was wrong after it."""

    kill: str
    faults: list[str]

    def __str__(self) -> str:
        return f"{self.kill}: {'; '.join(self.faults) or 'survived'}"


def survivals(
    place: Place, reference: dict[str, bytes], kills: int, *, seed: int, steps: int, chain: int
) -> Iterator[Survival]:
    """Kill ``kills`` runs one after the other, and yield what was wrong after each.

    After each kill, all that stands under its own name is the ``reference``'s.  Each ``chain`` of them are of
    one run that goes on where it was, up to ``steps`` jobs further; the last rerun goes to its end.
    """
    chance = random.Random(seed)
    for number in range(1, kills + 1):
        kill = chance.choice(KILLS)
        # A run that has nothing left to do begins from the start.
        while not (done := _strike(place, kill, chance, steps, chain > 1 or number % 2 == 0)):
            if faults := ended(place, reference):
                yield Survival("no kill", faults)
            shutil.rmtree(place.folder)
        faults = differences(place, reference, whole=False)
        if number % chain == 0 or number == kills:
            faults += ended(place, reference)
        yield Survival(done, faults)
        if number % chain == 0:
            shutil.rmtree(place.folder)


def _strike(place: Place, kill: Kill, chance: random.Random, steps: int, checkpoint: bool) -> str:
    return strike(place, kill, chance, steps=chance.randint(0, steps), checkpoint=checkpoint)


def ended(place: Place, reference: dict[str, bytes]) -> list[str]:
    """Give the command once more; return what is wrong then, nothing if it went well."""
    if place.run():
        return [f"the rerun failed: {place.said[-3000:]}"]
    return differences(place, reference) + [f"left: {path}" for path in place.litter()]


def main() -> None:
    """Kill runs at random moments, give the same command again, and compare with an undisturbed run."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=main.__doc__)
    parser.add_argument("--kills", type=int, default=20, help="how many (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default: 0)")
    parser.add_argument(
        "--chain", type=int, default=1, help="how many before a rerun goes to its end (default: 1)"
    )
    parser.add_argument("--folder", type=Path, help="where to work; a new one if not given")
    parser.add_argument("arguments", nargs="*", help="of snakemake; the whole sample if not given")
    told = parser.parse_args()
    folder = told.folder or Path(tempfile.mkdtemp(prefix="faults-"))
    undisturbed = Place(folder / "undisturbed", tuple(told.arguments))
    if undisturbed.run():
        sys.exit(undisturbed.said)
    struck = Place(folder / "struck", undisturbed.arguments)
    steps = undisturbed.finished // told.chain
    lost = 0
    found = survivals(
        struck, undisturbed.outputs(), told.kills, seed=told.seed, steps=steps, chain=told.chain
    )
    for survival in found:
        lost += bool(survival.faults)
        print(survival, flush=True)
    print(f"{told.kills} kills, {told.kills - lost} survived (seed {told.seed})")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
