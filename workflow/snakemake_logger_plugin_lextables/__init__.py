"""Snakemake's logger plugin `lextables`: one progress bar, and why a run failed as its last lines.

`make` installs this package beside Snakemake, and profiles/default selects it.  Options that ask for details
(--verbose, --dry-run, --printshellcmds, --debug-dag, --show-failed-logs) leave the screen to Snakemake.
"""

import io
import re
import sys
import threading
import time
from collections.abc import Collection, Mapping
from logging import WARNING, LogRecord
from pathlib import Path
from textwrap import shorten

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

INTERVAL = 60  # seconds between two progress lines without a terminal
BAR = "{n} of {total} jobs |{bar:30}| {elapsed}{postfix}"
LINE = "{n} of {total} jobs done in {elapsed}{postfix}"
# Short jobs say little about long ones: this share of the run counts as if it had taken the expected time.
PRIOR = 0.1
RUNNING = 0.9  # maximum share of its expected time that counts for a running job
LOCKED = (
    "Another run, or a job of a killed run, uses this folder; wait for it or stop it. "
    "If nothing is running on any machine, run snakemake --unlock."
)
# The last line of a failed job's log (`pipeline.job`), and an error that a function of a rule raised.
FAILED = re.compile(r"\S+ \S+ failed: (.+)")
BAD_INPUT = re.compile(r"^ *(?:BadInput|NotFetched): (.+)$", re.MULTILINE)


class LogHandler(LogHandlerBase):
    """Shows a run on standard error."""

    writes_to_file = has_filter = has_formatter = needs_rulegraph = False
    writes_to_stream = True

    def __post_init__(self) -> None:
        asked = self.common_settings
        details = (
            asked.verbose
            or asked.printshellcmds
            or asked.debug_dag
            or asked.show_failed_logs
        )
        # Of a dry run with these quiet options, such as a plan, Snakemake shows only its preparations.
        plan = asked.quiet == {Quietness.RULES, Quietness.PROGRESS}
        # If no plugin writes to the screen, Snakemake does.
        self.writes_to_stream = not (details or (asked.dryrun and not plan))
        self.stream = sys.stderr
        self.bar: tqdm | None = None
        self.started: dict[int, tuple[float, str]] = {}  # job: time and message
        self.finished: dict[int, float] = {}  # job: seconds
        self.expected: Mapping[int, float] = {}  # job: seconds (see `seconds_left`)
        self.guessed: Collection[int] = ()
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
        if event is LogEvent.RUN_INFO:
            self._begin(record.stats["total"])
        elif event is LogEvent.JOB_INFO:
            self.started[record.jobid] = (
                record.created,
                record.rule_msg or record.rule_name,
            )
            if record.rule_msg or record.output:  # other rules only collect files
                self._show(self.started[record.jobid][1])
        elif event is LogEvent.PROGRESS and self.bar is not None:
            self.bar.n, self.bar.total = record.done, record.total
        elif event is LogEvent.JOB_FINISHED:
            self.failures.pop(record.job_id, None)
            started, _ = self.started.get(record.job_id, (record.created, ""))
            self.finished[record.job_id] = record.created - started
        elif event is LogEvent.JOB_ERROR:
            started, message = self.started.get(record.jobid, (0, record.rule_name))
            if not self.stopped:  # jobs that the run ended are no failures
                self.failures[record.jobid] = cause(record, started)
                self._show(f"Failed: {message} (log: {', '.join(record.log)})")
        elif event is LogEvent.ERROR:
            self._error(record.exception, str(record.msg))
        elif getattr(record, "last", False):
            self.notes.append(record.msg)
        elif event is None:
            self.expected = getattr(record, "expected", self.expected)
            self.guessed = getattr(record, "guessed", self.guessed)
            wanted = (
                getattr(record, "show", False) or record.msg == NOTHING_TO_BE_DONE_MSG
            )
            if wanted or record.levelno >= WARNING:
                self._show(record.msg)

    def _error(self, exception: str, text: str) -> None:
        if exception == "KeyboardInterrupt":
            self.stopped = text
        elif bad_input := BAD_INPUT.search(text):
            self.errors.append(bad_input[1])
        elif exception == "LockException":
            self.errors.append(LOCKED)
        # The event of a failed job, and causes of the end of a run, are more informative.
        elif exception != "RuleException" and not (
            exception == "WorkflowError" and self._causes()
        ):
            if text.startswith("Traceback"):
                text = (
                    f"{text.strip().splitlines()[-1]} (--verbose shows the traceback)"
                )
            if self.writes_to_stream:  # else Snakemake shows it
                self.errors.append(text)

    def _causes(self) -> list[str]:
        return (
            [self.stopped] if self.stopped else [*self.errors, *self.failures.values()]
        )

    def _show(self, text: str) -> None:
        if self.writes_to_stream:
            stamp = f"{time.strftime('%H:%M:%S')}  " if self.bar is not None else ""
            tqdm.write(f"{stamp}{text}", file=self.stream)

    def _begin(self, total: int) -> None:
        self._show(f"{total} jobs to run.")
        if self.common_settings.dryrun or not self.writes_to_stream:
            return
        terminal = self.stream.isatty()
        self.bar = tqdm(
            total=total,
            file=self.stream if terminal else io.StringIO(),
            bar_format=BAR if terminal else LINE,
            dynamic_ncols=True,
            leave=False,
        )
        threading.Thread(
            target=self._tick, args=(self.bar, terminal), daemon=True
        ).start()

    def _tick(self, bar: tqdm, terminal: bool) -> None:
        while not self.over.wait(1 if terminal else INTERVAL):
            now, elapsed = time.time(), bar.format_dict["elapsed"]
            running = {
                job: now - started
                for job, (started, _) in [*self.started.items()]
                if job not in self.finished
            }
            left = seconds_left(
                elapsed, self.expected, dict(self.finished), running, self.guessed
            )
            # The remaining time of a late job is unknown.  Short jobs do not count as late.
            late = any(
                seconds > max(INTERVAL, self.expected.get(job, 0))
                for job, seconds in running.items()
            )
            least = "at least " if late else ""
            bar.set_postfix_str(
                f"{least}{tqdm.format_interval(left)} left" if left else "",
                refresh=False,
            )
            if terminal:
                bar.refresh()
            else:
                self._show(str(bar))

    def close(self) -> None:
        """Remove the bar, and write the number of finished jobs and the reasons of failures."""
        self.over.set()
        if self.bar is not None:
            done, total, seconds = (
                self.bar.n,
                self.bar.total,
                self.bar.format_dict["elapsed"],
            )
            self.bar.close()
            self._show(
                f"{done} of {total} jobs done in {tqdm.format_interval(seconds)}."
            )
            if done == total:
                self.stopped, self.errors, self.failures = "", [], {}
            self.bar = None
        for sentence in dict.fromkeys([*self.notes, *self._causes()]):
            print(sentence, file=self.stream, flush=True)
        self.stopped, self.errors, self.failures, self.notes = "", [], {}, []
        super().close()


def seconds_left(
    elapsed: float,
    expected: Mapping[int, float],
    finished: Mapping[int, float],
    running: Mapping[int, float],
    guessed: Collection[int] = (),
) -> float | None:
    """Return the estimated seconds until the end of a run; None if nothing is known.

    ``expected`` are the seconds of each job that is to run, on any machine; for the jobs in ``guessed`` they
    are those of other models or data.  ``finished`` and ``running`` are the seconds that jobs took here, or
    have taken so far.
    """
    times = {
        job: seconds
        for job, seconds in {**finished, **running}.items()
        if job in expected
    }
    known = times.keys() & finished.keys() - {*guessed}
    prior = PRIOR * sum(expected.values())
    if not (prior and times):
        return None
    pace = (prior + sum(expected[job] for job in known)) / (
        prior + sum(times[job] for job in known)
    )
    # A running job that takes longer than expected says nothing about the others.
    left = sum(
        expected[job] - min(times.get(job, 0) * pace, RUNNING * expected[job])
        for job in expected.keys() - finished.keys()
    )
    return left / pace / max(1.0, sum(times.values()) / elapsed)


def cause(record: LogRecord, started: float) -> str:
    """Return why a job failed: the last line of its log, or else what the executor reports.

    A log that is older than the job's start belongs to an earlier run.
    """
    for log in map(Path, record.log):
        if log.is_file() and log.stat().st_mtime >= started:
            *_, last = log.read_text(
                encoding="utf-8", errors="replace"
            ).splitlines() or [""]
            if failed := FAILED.fullmatch(last):
                return failed[1]
    executor = shorten(record.rule_msg or "", 300)
    what = (
        executor
        or "the job ended without an error message (killed, or out of memory or time)"
    )
    return f"{record.rule_name}: {what}; its log is {', '.join(record.log)}."
