"""Snakemake's logger plugin `lextables`: it shows a run as one progress bar, and at the
end why jobs failed.

`make` installs this package beside Snakemake, and profiles/default selects it.  Options
that ask for details (--verbose, --dry-run, --printshellcmds, --debug-dag,
--show-failed-logs) leave the screen to Snakemake.
"""

import io
import json
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from logging import WARNING, LogRecord
from pathlib import Path
from textwrap import shorten

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from snakemake_logger_plugin_lextables.remaining import (
    Expected,
    Running,
    bounds,
    busy_pace,
    seconds_left,
)

INTERVAL = 60  # seconds between two progress lines without a terminal
BAR = "{n} of {total} jobs |{bar:30}| {elapsed}{postfix}"
LINE = "{n} of {total} jobs done in {elapsed}{postfix}"
PROGRESS = ".progress.json"  # beside the log of a job (`lextables.pipeline.job_files`)
LOCKED = (
    "Another run, or a job of a killed run, uses this folder; wait for it or stop it. "
    "If nothing is running on any machine, run snakemake --unlock."
)
# The last line of a failed job's log (`pipeline.job`), and an error that a function of
# a rule raised.
FAILED = re.compile(r"\S+ \S+ failed: (.+)")
BAD_INPUT = re.compile(r"^ *(?:BadInput|NotFetched): (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Started:
    """A job that began at ``time``, with its message and log."""

    time: float
    message: str
    log: str = ""

    def running(self, now: float) -> Running:
        """Return how far the job is at the time ``now``.

        The share of its work that is done is None if it is unknown.
        """
        seconds = now - self.time
        if self.log:
            # The file is missing before the first progress, and after the job.
            with suppress(OSError, ValueError, TypeError, KeyError):
                text = Path(self.log).with_suffix(PROGRESS).read_text(encoding="utf-8")
                return Running(seconds, **json.loads(text))
        return Running(seconds)


class LogHandler(LogHandlerBase):
    """Shows a run on standard error."""

    writes_to_file = has_filter = has_formatter = needs_rulegraph = False
    writes_to_stream = True

    def __post_init__(self) -> None:
        asked = self.common_settings
        details = asked.verbose or asked.printshellcmds
        details = details or asked.debug_dag or asked.show_failed_logs
        # In a dry run with these quiet options, such as a plan, Snakemake itself would
        # only show its preparations.
        plan = asked.quiet == {Quietness.RULES, Quietness.PROGRESS}
        # If no plugin writes to the screen, Snakemake does.
        self.writes_to_stream = not (details or (asked.dryrun and not plan))
        self.stream = sys.stderr
        self.bar: tqdm | None = None
        self.started: dict[int, Started] = {}  # by job
        self.finished: dict[int, float] = {}  # job: seconds
        self.expected: Mapping[int, Expected] = {}  # by job
        self.cores: float | None = None  # None: jobs run elsewhere
        self.pace_before = 1.0  # the pace until jobs of this run show it
        self.failures: dict[int, str] = {}  # job: sentence
        self.errors: list[str] = []  # of the run itself
        self.stopped = ""  # sentence, if a user stopped the run
        self.notes: list[str] = []  # records to show last
        self.over = threading.Event()

    def emit(self, record: LogRecord) -> None:
        """Show the events that matter to a user, and keep errors for `close`."""
        try:
            self._emit(record, getattr(record, "event", None))
        except Exception:
            self.handleError(record)

    def _emit(self, record: LogRecord, event: LogEvent | None) -> None:
        """Show or note an event; other log records have ``event`` None."""
        if event is LogEvent.RUN_INFO:
            self._begin(record.stats["total"])
        elif event is LogEvent.RESOURCES_INFO:
            self.cores = getattr(record, "cores", None) or self.cores
            if self.cores:
                processors = os.cpu_count() or 1
                load, _, _ = os.getloadavg()
                self.pace_before = busy_pace(load, self.cores, processors)
        elif event is LogEvent.JOB_INFO:
            self._job_started(record)
        elif event is LogEvent.PROGRESS and self.bar is not None:
            self.bar.n = record.done
            self.bar.total = record.total
        elif event is LogEvent.JOB_FINISHED:
            self._job_finished(record)
        elif event is LogEvent.JOB_ERROR:
            self._job_failed(record)
        elif event is LogEvent.ERROR:
            self._error(record.exception, str(record.msg))
        elif getattr(record, "last", False):
            self.notes.append(record.getMessage())
        elif event is None:
            self._log(record)

    def _job_started(self, record: LogRecord) -> None:
        message = record.rule_msg or record.rule_name
        log = next(iter(record.log or ()), "")
        self.started[record.jobid] = Started(record.created, message, str(log))
        if record.rule_msg or record.output:  # other rules only collect files
            self._show(message)

    def _job_finished(self, record: LogRecord) -> None:
        job = record.job_id
        self.failures.pop(job, None)
        started = record.created
        if job in self.started:
            started = self.started[job].time
        self.finished[job] = record.created - started

    def _job_failed(self, record: LogRecord) -> None:
        if self.stopped:  # jobs that the run ended are no failures
            return
        job = record.jobid
        started = 0.0
        message = record.rule_name
        if job in self.started:
            started = self.started[job].time
            message = self.started[job].message
        self.failures[job] = cause(record, started)
        self._show(f"Failed: {message} (log: {', '.join(record.log)})")

    def _log(self, record: LogRecord) -> None:
        """Show warnings and records with the field `show`; keep the field `expected`,
        the estimates for jobs.
        """
        if hasattr(record, "expected"):
            expected = record.expected
            self.expected = {job: Expected(**about) for job, about in expected.items()}
        is_wanted = getattr(record, "show", False)
        if record.msg == NOTHING_TO_BE_DONE_MSG or record.levelno >= WARNING:
            is_wanted = True
        if is_wanted:
            self._show(record.getMessage())

    def _error(self, exception: str, text: str) -> None:
        """Note an error of the run itself, unless another event says more."""
        bad_input = BAD_INPUT.search(text)
        if exception == "KeyboardInterrupt":
            self.stopped = text
        elif bad_input:
            self.errors.append(bad_input[1])
        elif exception == "LockException":
            self.errors.append(LOCKED)
        elif exception == "RuleException":
            pass  # the event of the failed job says more
        elif exception == "WorkflowError" and self._causes():
            pass  # the causes that were noted before say more
        elif self.writes_to_stream:  # else Snakemake shows it
            if text.startswith("Traceback"):
                last_line = text.strip().splitlines()[-1]
                text = f"{last_line} (--verbose shows the traceback)"
            self.errors.append(text)

    def _causes(self) -> list[str]:
        if self.stopped:
            return [self.stopped]
        return [*self.errors, *self.failures.values()]

    def _show(self, text: str) -> None:
        if not self.writes_to_stream:
            return
        if self.bar is not None:
            text = f"{time.strftime('%H:%M:%S')}  {text}"
        tqdm.write(text, file=self.stream)

    def _begin(self, total: int) -> None:
        """Show the number of jobs, and the progress bar of a real run."""
        self._show(f"{total} jobs to run.")
        if self.common_settings.dryrun or not self.writes_to_stream:
            return
        is_terminal = self.stream.isatty()
        file = io.StringIO()
        form = LINE
        if is_terminal:
            file = self.stream
            form = BAR
        self.bar = tqdm(
            total=total, file=file, bar_format=form, dynamic_ncols=True, leave=False
        )
        ticking = (self.bar, is_terminal)
        threading.Thread(target=self._tick, args=ticking, daemon=True).start()

    def _tick(self, bar: tqdm, terminal: bool) -> None:
        """Show what runs, and the remaining time, until the run is over."""
        while not self.over.wait(1 if terminal else INTERVAL):
            bar.set_postfix_str(self._state(bar.format_dict["elapsed"]), refresh=False)
            if terminal:
                bar.refresh()
            else:
                self._show(str(bar))

    def _state(self, elapsed: float) -> str:
        """The remaining time of the run, and what runs longest, with its progress."""
        now = time.time()
        finished = dict(self.finished)
        running = {}
        for job, started in [*self.started.items()]:
            if job not in finished:
                running[job] = started.running(now)
        parts = []
        if self.expected:
            # If jobs run elsewhere, as many are assumed to run at once as until now.
            busy = sum(finished.values()) + sum(job.seconds for job in running.values())
            cores = self.cores or max(1.0, busy / max(1.0, elapsed))
            left = seconds_left(
                self.expected, finished, running, cores, self.pace_before
            )
            low, high = map(tqdm.format_interval, bounds(left, elapsed))
            shown = f"about {low}" if low == high else f"between {low} and {high}"
            parts.append(f"{shown} left")
        if running:
            longest = max(running, key=lambda job: running[job].seconds)
            text = self.started[longest].message.rstrip(".")
            share = running[longest].share
            if share is not None:
                text += f": {share:.0%}".replace("%", " %")
            parts.append(text)
        return "; ".join(parts)

    def close(self) -> None:
        """Remove the bar, and write the number of finished jobs and the reasons of
        failures.
        """
        self.over.set()
        bar = self.bar
        if bar is not None:
            elapsed = tqdm.format_interval(bar.format_dict["elapsed"])
            bar.close()
            self._show(f"{bar.n} of {bar.total} jobs done in {elapsed}.")
            self.bar = None
            if bar.n == bar.total:
                self.errors = []
                self.failures = {}
        for sentence in dict.fromkeys([*self.notes, *self._causes()]):
            print(sentence, file=self.stream, flush=True)
        self._forget_errors()
        self.notes = []
        super().close()

    def _forget_errors(self) -> None:
        self.stopped = ""
        self.errors = []
        self.failures = {}


def cause(record: LogRecord, started: float) -> str:
    """Return why a job failed: the last line of its log, or else what the executor
    reports.

    A log that is older than the job's start belongs to an earlier run.
    """
    for log in map(Path, record.log):
        if not log.is_file() or log.stat().st_mtime < started:
            continue
        text = log.read_text(encoding="utf-8", errors="replace")
        failed = FAILED.fullmatch(text.rstrip("\n").rpartition("\n")[2])
        if failed:
            return failed[1]
    what = shorten(record.rule_msg or "", 300)
    if not what:
        what = (
            "the job ended without an error message (killed, or out of memory or time)"
        )
    return f"{record.rule_name}: {what}; its log is {', '.join(record.log)}."
