"""What stands on the screen when a run fails: one sentence a fault, below all that Snakemake says.

Snakemake says much about a failed job, and then how long it took.  `LastWords` listens to it, reads from the
logs of failed jobs what was wrong, and says that when Snakemake closes its log.
"""

import difflib
import logging
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from textwrap import shorten
from types import TracebackType

from snakemake_interface_logger_plugins.common import LogEvent

from lextables import disk, not_run
from lextables.command_line import snakemake_path
from lextables.job import Ending, ending

STOPPED = "Stopped.  What was finished stays, and the same command goes on from there."
_BAD_INPUT = re.compile(r"^ *(?:BadInput|NotNow|NotFetched): (.+)$", re.MULTILINE)
_NO_RULE = re.compile(r"No rule to produce (.+?) \(if you use input functions")
# What SLURM answered where it did not take a job; the plugin goes on with the whole command.
_REFUSED = re.compile(r"SLURM sbatch failed\. The error message was '(.*?)'\.?(?:\n|$)", re.DOTALL)
# What Snakemake says in the terms of a workflow's author, and what that comes to for who runs it.
_TOLD = {
    "This could indicate a clock skew problem": "This machine's clock was set back while the run went on; "
    "run the same command again.",
    "Target rules may not contain wildcards": "A step that makes many files is no target; name a table or a "
    "file, or see {snakemake} --list-target-rules.",
    "Error running conda info": "conda is not found on this machine; install it, or leave out the option "
    "that asks for it (what make installs needs no conda).",
}


def stop_in_words() -> None:
    """From here on, Ctrl-C ends the process with a sentence and no traceback."""

    def say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            print(STOPPED, file=sys.stderr)
        else:
            sys.__excepthook__(kind, error, trace)

    sys.excepthook = say


class LastWords(logging.Handler):
    """Collects what went wrong in a run, and says it when the log is closed.

    ``targets`` maps each name that a user may ask for to what is in its way (nothing, or a sentence).
    ``locked`` is why this folder's lock stays, if it is in this run's way.  ``give_up`` is called with the id
    of a job that would fail again.
    """

    def __init__(
        self, targets: Mapping[str, str], locked: str, give_up: Callable[[int], None], folder: str | Path
    ) -> None:
        super().__init__()
        self.targets, self.locked, self.give_up, self.folder = targets, locked, give_up, folder
        self._faults: dict[int, str] = {}  # by job
        self._words: list[str] = []
        self._stopped = self._closed = False

    def listen(self, logger: logging.Logger) -> None:
        """Hear what Snakemake logs, before it is shown; and be told when that is over."""
        # A record that cannot be written, as on a full disk, is no reason for a traceback.
        logging.raiseExceptions = False
        logger.addFilter(self.hear)
        logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Show nothing while the run goes on."""

    def hear(self, record: logging.LogRecord) -> bool:
        """Note what a record says went wrong; the record is then shown as it is."""
        event = getattr(record, "event", None)
        if event is LogEvent.JOB_ERROR:
            self._job(record.jobid, record.rule_name, record.log, record.rule_msg)
        elif event is LogEvent.JOB_FINISHED:
            self._faults.pop(record.job_id, None)  # a second attempt went well
        elif event is LogEvent.ERROR:
            self._exception(record)
        elif str(record.msg).startswith("Terminating processes on user request"):
            self._stopped = True
        return True

    def _job(self, jobid: int, rule: str, logs: Iterable[str], said: str | None) -> None:
        # A job that did not begin wrote no log: one that is there is of an earlier run.
        refused = _REFUSED.match(said or "")
        log = "" if refused else next(iter(logs), "")
        kind, sentence = ending(log) or (None, "")
        if kind is Ending.BAD_INPUT:
            self.give_up(jobid)
        if not sentence:
            where = f"; {log} has what it wrote" if log and Path(log).exists() else ""
            # A cluster knows more of a job that it did not take, or that it ended.
            lost = "the job ended without a word (killed, or out of memory or time)"
            if refused:
                said = " ".join(refused[1].replace("sbatch: error: ", "").split())
            if said:
                lost = f"the cluster says: {shorten(said, 300).rstrip('.')}; docs/cluster.md says what to set"
            sentence = disk.unusable(self.folder) or f"{rule}: {lost}{where}."
        self._faults[jobid] = sentence

    def _exception(self, record: logging.LogRecord) -> None:
        name, text = record.exception, str(record.msg)
        if name == "MissingRuleException" and (found := _NO_RULE.search(text)):
            self._words.append(no_target(found[1], self.targets))
        elif name == "LockException":
            self._words.append(
                self.locked or "Another run works in this folder; wait for it, or stop it first."
            )
        elif found := _BAD_INPUT.search(text):
            # Out of a function of a rule; Snakemake shows it with a traceback.
            self._words.append(found[1])
            record.msg = found[1]
        elif told := next((words for mark, words in _TOLD.items() if mark in text), ""):
            self._words.append(told.format(snakemake=snakemake_path()))
        elif sentence := disk.fault(OSError(text), self.folder):
            self._words.append(sentence)
            # Snakemake shows an error that it does not expect with its traceback.
            if "Traceback (most recent call last)" in text:
                record.msg = sentence

    def close(self) -> None:
        """Say why rows are not run, and what went wrong."""
        not_run_for = [] if self._closed else not_run.reasons(self.folder)
        for why in not_run_for:
            print(f"Not run: {why}.", file=sys.stderr)
        self._closed = True
        words = [STOPPED] if self._stopped else [*self._words, *self._faults.values()]
        for sentence in dict.fromkeys(words):
            print(sentence, file=sys.stderr)
        self._faults, self._words, self._stopped = {}, [], False
        super().close()


def no_target(name: str, targets: Mapping[str, str]) -> str:
    """Say that there is no target ``name``, and which are nearest; or what is in the way of one."""
    if targets.get(name):
        return f"{name}: {targets[name]}."
    spelled = {known.lower(): known for known, fault in targets.items() if not fault}
    near = [spelled[close] for close in difflib.get_close_matches(name.lower(), spelled, n=3)]
    all_of_them = f"{snakemake_path()} --list-target-rules lists them"
    ask = f"did you mean {' or '.join(near)}" if near else all_of_them
    return f"{name}: there is no such target; {ask}{'?' if near else '.'}"
