"""What stands on the screen while a run goes on: a sentence when a job starts or fails, and how far it is.

On a terminal a bar stands below the sentences; in a file a line a minute says the same.  All that Snakemake
itself says is in its log, `.snakemake/log`.
"""

import logging
import os
import re
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import psutil
from snakemake.logging import ColorizingTextHandler
from snakemake.settings.types import OutputSettings
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

PACE = 60  # seconds between two lines that say how far a run is, where there is no bar
SILENCE = 600  # seconds without a word in a job's log after which the screen says so
SILENT = frozenset(LogEvent) - {LogEvent.ERROR}
# What Snakemake says of its own work, or what `last_words` says better.
CHATTER = re.compile(
    r"Assuming unrestricted shared filesystem|Building DAG of jobs|Using shell: |Conda environments: ignored"
    r"|Select jobs to execute|Execute \d+ jobs|Trying to restart job |Shutting down, this |Elapsed time: "
    r"|Exiting because a job execution failed|WorkflowError:\nAt least one job did not complete"
    r"|RuleException:\nCalledProcessError"
    # SLURM's plugin; of jobs that it loses, last_words speaks.
    r"|SLURM run ID: |No SLURM account given|No account was given|Unable to guess SLURM account"
    r"|Both 'sacctmgr' and 'sshare' returned|Auto-selected partition|Job \d+ has been submitted with SLURM"
    r"|Cleaning up SLURM log files"
)
LOG = re.compile(r"Complete log\(s\): (.+)")


class Console(logging.Handler):
    """Shows a run on ``stream`` in place of Snakemake's own handler."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream
        self._messages: dict[int, str] = {}  # by job
        self._working: dict[int, Quiet] = {}  # by job
        self._done = self._total = 0
        self._start = self._said = 0.0
        self._log = ""  # where Snakemake's own is
        self._bar: tqdm | None = None
        self._over = threading.Event()

    @classmethod
    def replace(cls, logger: logging.Logger, settings: OutputSettings) -> None:
        """Take the place of the handler that writes to the screen, with its filters, which heed --quiet.

        Who asks to see more than this shows, or has another logger, sees that.
        """
        asked = settings.dryrun, settings.verbose, settings.printshellcmds, settings.debug_dag
        if any(asked) or settings.show_failed_logs:
            return
        for handler in logger.handlers:
            if isinstance(handler, ColorizingTextHandler):
                console = cls(handler.stream)
                console.filters = list(handler.filters)
                logger.addHandler(console)
                logger.removeHandler(handler)
                return

    def emit(self, record: logging.LogRecord) -> None:
        """Show what a record says in a sentence, if it says anything to the person before the screen."""
        try:
            self._show(record)
        except Exception:  # as every handler does: what cannot be shown stops no run
            self.handleError(record)

    def _show(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        if event is LogEvent.RUN_INFO:
            self._begin(record.stats["total"])
        elif event is LogEvent.JOB_INFO:
            again = "Again: " if record.jobid in self._messages else ""
            self._messages[record.jobid] = record.rule_msg or f"{record.rule_name}."
            # A target that gathers others does nothing itself.
            if record.rule_msg or record.output:
                self._say(f"{again}{self._messages[record.jobid]}")
            if record.log:
                self._working[record.jobid] = Quiet(Path(record.log[0]), time.monotonic())
        elif event is LogEvent.JOB_FINISHED:
            self._working.pop(record.job_id, None)
        elif event is LogEvent.JOB_ERROR:
            self._working.pop(record.jobid, None)
            logs = ", ".join(log for log in record.log if Path(log).exists())
            message = self._messages.get(record.jobid, record.rule_name)
            self._say(f"Failed: {message}{f'  Its log is {logs}.' if logs else ''}")
        elif event is LogEvent.PROGRESS:
            self._progress(record.done, record.total)
        elif event not in SILENT and record.msg:
            self._hand_on(str(record.msg))

    def _hand_on(self, words: str) -> None:
        if found := LOG.match(words):
            self._log = os.path.relpath(found[1])
        elif not CHATTER.match(words):
            self._say(words)

    def _say(self, words: str) -> None:
        if self._total:
            words = f"{time.strftime('%H:%M:%S')}  {words}"
        if self._bar is not None:
            self._bar.clear()
        self.stream.write(f"{words}\n")
        self.stream.flush()
        if self._bar is not None:
            self._bar.refresh()

    def _begin(self, total: int) -> None:
        self._total, self._start = total, time.monotonic()
        self._said = self._start
        self._say(f"{_jobs(total)} to run.")
        if self.stream.isatty():
            self._bar = tqdm(
                total=total,
                file=self.stream,
                leave=False,
                dynamic_ncols=True,
                bar_format="{n} of {total} jobs |{bar:30}| {elapsed}{desc}",
            )
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        while not self._over.wait(1):
            with self.lock:
                self._draw()
                self._listen()

    def _listen(self) -> None:
        """Say of a job that it has been silent for long: it may hang, and nobody else would tell."""
        for job, quiet in self._working.items():
            if minutes := quiet.for_minutes(time.monotonic()):
                since = f"Nothing new for {minutes} minutes in its log {quiet.log}"
                do = f"if it hangs, {quiet.ended_by()}, and run the same command again"
                self._say(f"Silent: {self._messages[job]}  {since}; {do}.")

    def _draw(self) -> None:
        if self._bar is not None:
            self._bar.n, self._bar.total = self._done, self._total
            self._bar.set_description_str(f", {left}" if (left := self._left()) else "")

    def _progress(self, done: int, total: int) -> None:
        self._done, self._total = done, total
        self._draw()
        if self._bar is None and time.monotonic() - self._said >= PACE and done < total:
            self._said = time.monotonic()
            self._say(f"{done} of {_jobs(total)} done; {self._left()}.")

    def _left(self) -> str:
        """How long the rest takes if its jobs take what those did that are done; empty where none is."""
        if not 0 < self._done < self._total:
            return ""
        spent = time.monotonic() - self._start
        return f"{roughly(spent / self._done * (self._total - self._done))} left"

    def close(self) -> None:
        """Take the bar away, and say how many jobs were done."""
        self._over.set()
        with self.lock:
            if self._bar is not None:
                self._bar.close()
                self._bar = None
            if self._total:
                spent = roughly(time.monotonic() - self._start)
                log = f"  Snakemake's log is {self._log}." if self._log else ""
                self._say(f"{self._done} of {_jobs(self._total)} done in {spent}.{log}")
                self._total = 0
        super().close()


class Quiet:
    """How long a job has written nothing to its log, once it has begun to; one in a queue has not."""

    def __init__(self, log: Path, now: float) -> None:
        self.log, self._since, self._told = log, now, 0.0
        self._first = self._last = self._state()

    def for_minutes(self, now: float) -> int:
        """Return for how many minutes, when it is time to say so, and else 0.

        It is when they come to `SILENCE`, and whenever they are twice what was said last.
        """
        if (state := self._state()) != self._last:
            self._last, self._since, self._told = state, now, 0.0
        silent = now - self._since
        if self._last == self._first or silent < max(SILENCE, 2 * self._told):
            return 0
        self._told = silent
        return round(silent / 60)

    def ended_by(self) -> str:
        """What ends the job; one that hangs does not hear Ctrl-C, and the run waits for it."""
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if str(self.log.absolute()) in (file.path for file in process.open_files()):
                    return f"say kill -9 {process.pid}"
        return "cancel it"

    def _state(self) -> tuple[int, int] | None:
        try:
            stat = self.log.stat()
        except OSError:
            return None
        return stat.st_size, stat.st_mtime_ns


def _jobs(number: int) -> str:
    return f"{number} job{'' if number == 1 else 's'}"


def roughly(seconds: float) -> str:
    """Return a time in words, such as ``about 3 minutes``."""
    if seconds < 60:
        return "less than a minute"
    size, unit = (60, "minute") if seconds < 5400 else (3600, "hour")
    number = round(seconds / size)
    return f"about {number} {unit}{'' if number == 1 else 's'}"
