"""Every rule's script works within `job`: it writes a log, and shows errors as one
sentence.

What a script prints is shown on the screen.  What it or a library writes to standard
error, such as warnings and progress, goes to the log.

A job that works without logging writes a line once a minute; a job that waits or hangs
does not.

A job that succeeds records its processor time and memory beside its log
(`lextables.pipeline.job_files`).

The last line of a failed job's log is ``failed: `` and a sentence, which the screen
repeats when the run ends (`snakemake_logger_plugin_lextables`).
"""

import atexit
import gc
import io
import logging
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import (
    closing,
    contextmanager,
    redirect_stderr,
    redirect_stdout,
    suppress,
)
from pathlib import Path
from types import FrameType
from typing import TextIO

import psutil

from lextables.pipeline import not_run
from lextables.pipeline.content import check_downloads
from lextables.pipeline.errors import FULL, BadInput, BadSetting, plain_reason
from lextables.pipeline.files import doubt
from lextables.pipeline.job_files import progress_file, record_usage, usage_file
from lextables.pipeline.locks import held_by_job
from lextables.pipeline.redaction import Redacting, redacted

_ENDS = re.compile(r"[\r\n]")  # of lines; a progress bar is redrawn after \r
# Sequences such as colours, a hidden cursor, and a window's title with its end.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # other control characters
_CLEAR = "\r\x1b[K"  # deletes the line of the cursor
# `_heartbeat` writes a line after `QUIET` seconds without one, and looks every `LOOK`
# seconds: together less than a minute.
QUIET = 40.0
LOOK = 15.0
BUSY = 0.05  # minimum CPU seconds per second of a working job


class Lines(io.TextIOBase):
    """A stream that passes each complete line to ``take``, without control characters
    of terminals.

    A redrawn progress bar is also a line.  Text after `close` is dropped, such as the
    last state of a progress bar that an error interrupted: the log of a failed job ends
    with its sentence.
    """

    def __init__(self, take: Callable[[str], object]) -> None:
        self._take = take
        self._rest = ""

    def write(self, text: str) -> int:
        if self.closed:
            return len(text)
        *whole, self._rest = _ENDS.split(self._rest + text)
        for line in whole:
            line = _OBEYED.sub(" ", _ESCAPES.sub("", line)).rstrip()
            if line:
                self._take(line)
        return len(text)

    def close(self) -> None:
        """Pass on a last line without a line end."""
        self.write("\n")
        super().close()


def writer_to(stream: TextIO) -> Callable[[str], None]:
    """Return a function that writes a line to ``stream``; on a terminal it overwrites
    the run's progress bar.
    """

    def write(line: str) -> None:
        line = redacted(line)
        if stream.isatty():
            line = _CLEAR + line
        print(line, file=stream, flush=True)

    return write


@contextmanager
def job(log: str | Path) -> Iterator[logging.Logger]:
    """Run a rule's work with a log at ``log``.

    An error that fails the job is one sentence on standard error and the last line of
    the log: that of a `BadInput`, or the error's type and message, with a reference to
    the traceback in the log.

    A job that only fills rows of tables and raises a `BadInput`, or reads the outputs
    of such a job, succeeds and writes the sentence instead of its outputs
    (`lextables.pipeline.not_run`).
    """
    log = Path(log)
    _prepare_process()
    begin = time.monotonic()
    try:
        with held_by_job():
            log.parent.mkdir(parents=True, exist_ok=True)
            usage_file(log).unlink(missing_ok=True)
            progress_file(log).unlink(missing_ok=True)
            writing = logging.FileHandler(log, "w")
            writing.setFormatter(Redacting("%(asctime)s %(message)s"))
            logging.basicConfig(level=logging.INFO, handlers=[writing], force=True)
            logger = logging.getLogger("lextables")
            with (
                closing(Lines(writer_to(sys.stdout))) as output,
                closing(Lines(logger.info)) as progress,
                redirect_stdout(output),
                redirect_stderr(progress),
                _rows_left_out(log),
                _heartbeat(log, logger),
            ):
                try:
                    yield logger
                finally:
                    progress_file(log).unlink(missing_ok=True)
                record_usage(log, begin)
    except BadInput as error:
        _fail(str(error))
    except Exception as error:
        _fail(f"{_in_words(error, log.parent)} (the traceback is in {log}).")


def _prepare_process() -> None:
    """Set up garbage collection, logging and signals of a job's process."""
    # The objects of imported modules are so many that looking for garbage among them
    # takes seconds, now and at the end of the process: `freeze` leaves them out.
    gc.freeze()
    gc.enable()
    atexit.register(gc.freeze)
    # An unwritable log is a single error of the job, not one per line.
    logging.raiseExceptions = False
    logging.lastResort = None
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


def _in_words(error: Exception, folder: Path) -> str:
    """Return what went wrong: a reason of the system, or the error's type and message.

    ``folder`` is one in which the job writes (`plain_reason`).
    """
    if isinstance(error, OSError) and error.strerror:
        reason = plain_reason(error, folder)
        return f"{error.filename}: {reason}" if error.filename else reason
    what = type(error).__name__
    if str(error):
        what += f": {error}"
    return what


def _leave(number: int, frame: FrameType | None) -> None:
    """End this process with the exit code of shells for a signal, after the cleanup of
    open `with` blocks.
    """
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


@contextmanager
def _heartbeat(log: Path, logger: logging.Logger) -> Iterator[None]:
    """Write a line to the log whenever it has had no new line for `QUIET` seconds
    although the job is working.
    """
    over = threading.Event()

    def beat() -> None:
        """Write the lines until the job is over."""
        before = _processor_seconds()
        since = time.monotonic()
        while not over.wait(LOOK):
            # Continue after errors such as a full disk or processes that just ended.
            with suppress(OSError, psutil.Error):
                if time.time() - log.stat().st_mtime < QUIET:
                    before = _processor_seconds()
                    since = time.monotonic()
                    continue
                used = _processor_seconds() - before
                passed = time.monotonic() - since
                if used >= BUSY * passed:
                    logger.info(
                        "working: %.0f processor seconds in the last %.0f s",
                        used,
                        passed,
                    )

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()  # the last line is that of the job


def _processor_seconds() -> float:
    """The CPU time of this process and its child processes."""
    this = psutil.Process()
    times = [each.cpu_times() for each in (this, *this.children(recursive=True))]
    return sum(each.user + each.system for each in times)


@contextmanager
def _rows_left_out(log: Path) -> Iterator[None]:
    """Let a job that only fills rows of tables succeed although it cannot compute them.

    The reason is the sentence of a `BadInput`, or is copied from an input that has a
    reason.  It is written instead of the outputs.  A `BadSetting`, a full disk, any
    other error, and all errors of other jobs are raised.
    """
    outputs = _files("output")
    fills_rows = not_run.fills_rows(outputs)
    why = not_run.inherited(_files("input")) if fills_rows else ""
    if not why:
        try:
            check_downloads(_files("input"))
            yield
            return
        except BadInput as error:
            doubt(_files("input"))
            no_space = getattr(error.__cause__, "errno", None) in FULL
            if not fills_rows or no_space or isinstance(error, BadSetting):
                raise
            why = one_line(redacted(str(error)))
            print(f"{log.parent}: not run: {why}")
            logging.getLogger("lextables").info("%s", traceback.format_exc().rstrip())
    not_run.leave(outputs, why.rstrip("."))
    logging.getLogger("lextables").warning("not run: %s", why)
    sys.exit(0)


def _files(kind: str) -> list[str]:
    """Return the job's files, ``input`` or ``output``: Snakemake puts them before a
    script's code.
    """
    snakemake = getattr(sys.modules["__main__"], "snakemake", None)
    return [*map(str, getattr(snakemake, kind, ()))]


def _fail(sentence: str) -> None:
    """Write the current traceback and the sentence, and end this process with 1."""
    logger = logging.getLogger("lextables")
    logger.error("the job failed\n%s", traceback.format_exc().rstrip())
    logger.error("failed: %s", one_line(sentence))
    show = writer_to(sys.stderr)
    show(one_line(sentence))
    sys.exit(1)


def one_line(text: str) -> str:
    """Return ``text`` with single spaces and without control characters of
    terminals.
    """
    return _OBEYED.sub("?", " ".join(text.split()))
