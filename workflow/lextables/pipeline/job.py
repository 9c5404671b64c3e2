"""What every script of a rule does around its work: a log, and errors that a user can read.

What a script prints is for the user and stands on the screen.  What it writes to standard error, as libraries
do their warnings and progress, is a line of the log.

A job that works without a line says so once a minute, with what it has done (`PROGRESS`); a job that waits or
hangs does not.

The last line of a failed job's log is ``failed: `` and a sentence, which the screen repeats when the run ends
(`snakemake_logger_plugin_lextables`).
"""

import errno
import io
import logging
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import TextIO

import psutil

from lextables.pipeline import not_run
from lextables.pipeline.errors import BadInput, BadSetting
from lextables.pipeline.locks import held_by_job
from lextables.pipeline.redaction import Redacting, redacted

_ENDS = re.compile(r"[\r\n]")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CLEAR = "\r\x1b[K"
QUIET, LOOK = 40.0, 15.0  # seconds without a line, and between two looks: together less than a minute
BUSY = 0.05  # processor seconds a second of a job that works
PROGRESS: dict[str, int] = {}  # what a job has done so far, such as {"batches of training": 12}


class Lines(io.TextIOBase):
    """A stream that hands on each whole line to ``take``, without what only a terminal can show.

    A progress bar that is redrawn is a line as well.  What comes after `close` is dropped, such as the
    last state of a progress bar that an error interrupted: the log of a failed job ends with its sentence.
    """

    def __init__(self, take: Callable[[str], object]) -> None:
        self._take, self._rest = take, ""

    def write(self, text: str) -> int:
        if self.closed:
            return len(text)
        *whole, self._rest = _ENDS.split(self._rest + text)
        for line in whole:
            if line := _ESCAPES.sub("", line).rstrip():
                self._take(line)
        return len(text)

    def close(self) -> None:
        """Hand on what no line end followed."""
        self.write("\n")
        super().close()


def on(stream: TextIO) -> Callable[[str], None]:
    """Return what writes a line to ``stream``; on a terminal, in place of the progress bar of the run."""

    def write(line: str) -> None:
        print(f"{_CLEAR if stream.isatty() else ''}{redacted(line)}", file=stream, flush=True)

    return write


@contextmanager
def job(log: str | Path) -> Iterator[logging.Logger]:
    """Run a rule's work with a log at ``log``.

    What fails the job is one sentence on standard error and the last line of the log: that of a `BadInput`,
    or what the error was and that the log has its traceback.

    A job that only fills rows of tables and meets a `BadInput`, or reads what such a job left, succeeds and
    leaves the sentence in place of its outputs (`lextables.pipeline.not_run`).
    """
    log = Path(log)
    # A log that cannot be written is one error of the job, and not one at every line.
    logging.raiseExceptions, logging.lastResort = False, None
    try:
        with held_by_job():
            log.parent.mkdir(parents=True, exist_ok=True)
            writing = logging.FileHandler(log, "w")
            writing.setFormatter(Redacting("%(asctime)s %(message)s"))
            logging.basicConfig(level=logging.INFO, handlers=[writing], force=True)
            logger = logging.getLogger("lextables")
            with (
                closing(Lines(on(sys.stdout))) as words,
                closing(Lines(logger.info)) as progress,
                redirect_stdout(words),
                redirect_stderr(progress),
                _rows_left_out(log),
                _heartbeat(log, logger),
            ):
                yield logger
    except KeyboardInterrupt:
        sys.exit(130)  # what a shell says of Ctrl-C
    except BadInput as error:
        _fail(str(error))
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _fail(f"{what} (the traceback is in {log}).")


@contextmanager
def _heartbeat(log: Path, logger: logging.Logger) -> Iterator[None]:
    """Write a line whenever the log has had none for `QUIET` seconds and the job has worked."""
    over = threading.Event()

    def beat() -> None:
        before, since = _processor_seconds(), time.monotonic()
        while not over.wait(LOOK):
            # A full disk, or processes that end meanwhile, are no reason to stop.
            with suppress(OSError, psutil.Error):
                if time.time() - log.stat().st_mtime < QUIET:
                    before, since = _processor_seconds(), time.monotonic()
                    continue
                used, passed = _processor_seconds() - before, time.monotonic() - since
                if used >= BUSY * passed:
                    done = "".join(f"; {n:,} {what}" for what, n in PROGRESS.items())
                    logger.info("working: %.0f processor seconds in the last %.0f s%s", used, passed, done)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()  # the last line is that of the job


def _processor_seconds() -> float:
    """The processor time of this process and of those that it started."""
    this = psutil.Process()
    times = [each.cpu_times() for each in (this, *this.children(recursive=True))]
    return sum(each.user + each.system for each in times)


@contextmanager
def _rows_left_out(log: Path) -> Iterator[None]:
    """End a job of rows well where these are not run, with the reason in place of what it was to make."""
    outputs = _files("output")
    fills_rows = not_run.fills_rows(outputs)
    why = not_run.inherited(_files("input")) if fills_rows else ""
    if not why:
        try:
            yield
            return
        except BadInput as error:
            no_space = getattr(error.__cause__, "errno", None) == errno.ENOSPC
            if not fills_rows or no_space or isinstance(error, BadSetting):
                raise
            why = one_line(redacted(str(error)))
            print(f"{log.parent}: not run: {why}")
            logging.getLogger("lextables").info("%s", traceback.format_exc().rstrip())
    not_run.leave(outputs, why.rstrip("."))
    logging.getLogger("lextables").warning("not run: %s", why)
    sys.exit(0)


def _files(kind: str) -> list[str]:
    """Return the job's files, ``input`` or ``output``: Snakemake puts them before a script's code."""
    given = getattr(sys.modules["__main__"], "snakemake", None)
    return [*map(str, getattr(given, kind, ()))]


def _fail(sentence: str) -> None:
    logger = logging.getLogger("lextables")
    logger.error("the job failed\n%s", traceback.format_exc().rstrip())
    logger.error("failed: %s", one_line(sentence))
    on(sys.stderr)(one_line(sentence))
    sys.exit(1)


def one_line(text: str) -> str:
    """Return ``text`` with every run of white space as one space, and nothing that a terminal would obey."""
    return _OBEYED.sub("?", " ".join(text.split()))
