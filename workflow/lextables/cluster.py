"""What SLURM says of a run's jobs: which are still in its queue, and which wait for what may never come."""

import logging
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable, Mapping

PACE = 60  # seconds between two looks at what waits
# What a job waits for in the order of things: its turn, and nodes that others still have.
ORDINARY = frozenset(("None", "Priority", "Resources", "BeginTime", "Dependency"))
# What is wrong where SLURM gives another reason, and what to do.
REASONS = {
    r"PartitionTimeLimit": "they ask for more time than their partition allows; ask for less "
    "(--set-resources <rule>:runtime=<minutes>), or name a partition that allows it",
    r"Partition(Down|Inactive)": "their partition is closed; name another in the profile, or wait",
    r"ReqNodeNotAvail|Nodes required for job are DOWN": "nodes are down, drained or kept for others (sinfo)",
    r"BadConstraints": "no node has what gpu_resources or a rule asks for",
    r"Invalid(Account|QOS)|AccountNotAllowed|QOSNotAllowed": "the account or the qos may not run them there",
    r"JobHeld|requeued held": "they are held; scontrol release <id> lets them go",
}
_RUN = re.compile(r"SLURM run ID: (\S+)")


def in_queue(ids: Iterable[str]) -> list[str] | None:
    """Return those of the jobs that SLURM has yet to end; None where it cannot be asked."""
    listed = _squeue("--format=%i")
    return None if listed is None else [job for job in ids if job in listed]


def _squeue(*options: str) -> list[str] | None:
    if not shutil.which("squeue"):
        return None
    asked = subprocess.run(["squeue", "--noheader", *options], capture_output=True, text=True, check=False)
    return None if asked.returncode else asked.stdout.splitlines()


class Waiting(logging.Handler):
    """Says once, of each reason why SLURM holds jobs of this run back, what it is and which jobs wait.

    A reason that is gone at the next look is none: SLURM gives some of them for a moment.
    """

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__()
        self._logger = logger
        self._said: set[str] = set()  # reasons
        self._over = threading.Event()
        self.looks: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Begin to look when SLURM's plugin says what it calls this run's jobs."""
        if found := _RUN.match(str(record.msg)):
            self.looks = threading.Thread(target=self._look, args=(found[1],), daemon=True)
            self.looks.start()

    def _look(self, run: str) -> None:
        before: Mapping[str, str] = {}
        while not self._over.wait(PACE):
            held = held_back(_squeue(f"--name={run}", "--states=PENDING", "--format=%i|%r") or ())
            for reason in sorted(set(held.values()) - self._said):
                if jobs := [job for job, why in held.items() if why == reason == before.get(job)]:
                    self._said.add(reason)
                    self._logger.warning(f"SLURM holds back jobs ({', '.join(jobs)}): {_words(reason)}.")
            before = held

    def close(self) -> None:
        """Look no more."""
        self._over.set()
        super().close()


def held_back(lines: Iterable[str]) -> dict[str, str]:
    """Return {id of a job: reason} without the ordinary reasons, given lines of squeue as ``id|reason``."""
    reasons = dict(line.split("|", 1) for line in lines)
    return {job: reason for job, reason in reasons.items() if reason not in ORDINARY}


def _words(reason: str) -> str:
    known = (words for pattern, words in REASONS.items() if re.search(pattern, reason))
    return next((f"{words} ({reason})" for words in known), reason)
