"""What every script of a rule does around its work: a log, and errors that a user can read.

What a script prints is for the user and stands on the screen.  What it writes to standard error, as libraries
do their warnings and progress, is a line of the log.

The last line of a failed job's log is its `Ending`, which the run that started the job reads
(`lextables.last_words`).
"""

import gc
import io
import logging
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TextIO

from lextables import damage, disk, not_run
from lextables.errors import BadInput, BadSetting, NotNow
from lextables.leases import lent
from lextables.redaction import Redacting, redacted

_ENDS = re.compile(r"[\r\n]")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CLEAR = "\r\x1b[K"
GARBAGE = (700, 10, 10)  # Python's usual pace of collections, which `sitecustomize` slows down


class Ending(StrEnum):
    """How a job failed: the word that its log's last line starts with, before a colon and the sentence."""

    NOT_RUN = "not run"  # it fills rows of tables, which say why they are not run; the run goes on
    BAD_INPUT = "bad input"  # the same input would end the job again
    NOT_NOW = "not now"
    FAULT = "fault"


class Lines(io.TextIOBase):
    """A stream that hands on each whole line to ``take``, without what only a terminal can show.

    A progress bar that is drawn anew is a line as well.  What comes after `close` is dropped, such as the
    last words of a bar that a fault cut short: a log ends with its `Ending`.
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
    """Return what writes a line to ``stream``; on a terminal, in place of the run's bar (`console`)."""

    def write(line: str) -> None:
        print(f"{_CLEAR if stream.isatty() else ''}{redacted(line)}", file=stream, flush=True)

    return write


@contextmanager
def job(log: str | Path) -> Iterator[logging.Logger]:
    """Run a rule's work with a log at ``log``.

    A job that only fills rows of tables and meets a `BadInput`, or reads what such a job left, succeeds and
    leaves the sentence in place of its outputs (`lextables.not_run`).

    What else fails the job is one sentence on standard error, and the last line of the log: that of a
    `BadInput`, that the disk is full, that a file it reads was cut short, or what the error was and that the
    log has its traceback.
    """
    log = Path(log)
    # A log that cannot be written is said once, as the job's fault, and not at every line.
    logging.raiseExceptions, logging.lastResort = False, None
    try:
        with lent():
            log.parent.mkdir(parents=True, exist_ok=True)
            writing = logging.FileHandler(log, "w")
            writing.setFormatter(Redacting("%(asctime)s %(message)s"))
            logging.basicConfig(level=logging.INFO, handlers=[writing], force=True)
            logger = logging.getLogger("lextables")
            # What the script imported is never garbage, and a collection, as each training does, skips it.
            gc.freeze()
            gc.set_threshold(*GARBAGE)
            _spare_pandas()
            with (
                closing(Lines(on(sys.stdout))) as words,
                closing(Lines(logger.info)) as progress,
                redirect_stdout(words),
                redirect_stderr(progress),
                _rows_left_out(log),
            ):
                yield logger
    except NotNow as error:
        _end(Ending.NOT_NOW, str(error), log)
    except BadInput as error:
        _end(Ending.BAD_INPUT, disk.fault(error, log.parent) or _damaged() or str(error), log)
    except Exception as error:
        if sentence := disk.fault(error, log.parent) or _damaged():
            _end(Ending.BAD_INPUT, sentence, log)
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _end(Ending.FAULT, f"{what} (the traceback is in {log}).", log)


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
            if not fills_rows or isinstance(error, BadSetting) or disk.fault(error, log.parent) or _damaged():
                raise
            why = one_line(redacted(str(error)))
            print(f"{log.parent}: {Ending.NOT_RUN}: {why}")
            logging.getLogger("lextables").info("%s", traceback.format_exc().rstrip())
    not_run.leave(outputs, why.rstrip("."))
    logging.getLogger("lextables").warning("%s: %s", Ending.NOT_RUN, why)
    sys.exit(0)


def _files(kind: str) -> list[str]:
    """Return the job's files, ``input`` or ``output``: Snakemake puts them before a script's code."""
    given = getattr(sys.modules["__main__"], "snakemake", None)
    return [*map(str, getattr(given, kind, ()))]


def _damaged() -> str | None:
    """Say which of the files that other rules made for this one was cut short since, if one was."""
    made = [path for path in _files("input") if path.startswith("results/") and not not_run.reason(path)]
    for path in made:
        if cut := damage.cut_short([path]):
            # Of a folder that a rule makes, Snakemake does not miss a file.
            what = "it" if cut == Path(path) else f"the folder {path}"
            return f"{cut}: this file was cut short; delete {what}, and run the same command again."
    return None


class _NoPandas:
    """Says of pandas that it is not installed, to what is about to import it."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name=name)


def _spare_pandas() -> None:
    """Have pyarrow do without pandas, if the script has loaded the one and not the other.

    pyarrow looks for pandas once, when it is first given a list, which might be one of pandas' own.  To load
    it takes longer than most jobs' work.
    """
    if "pyarrow" in sys.modules and "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            sys.modules["pyarrow"].array([])
        finally:
            sys.meta_path.remove(_NoPandas)


def _end(ending: Ending, sentence: str, log: Path) -> None:
    logger = logging.getLogger("lextables")
    logger.error("the job failed\n%s", traceback.format_exc().rstrip())
    logger.error("%s: %s", ending, one_line(sentence))
    on(sys.stderr)(one_line(sentence))
    sys.exit(1)


def ending(log: str | Path) -> tuple[Ending, str] | None:
    """Return how the job with this log failed, and its sentence; None if the log does not say."""
    try:
        lines = Path(log).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    if not lines:
        return None
    # A line of the log starts with the date and the time.
    word, _, sentence = lines[-1].split(" ", 2)[-1].partition(": ")
    return (Ending(word), sentence) if word in set(Ending) else None


def one_line(text: str) -> str:
    """Return ``text`` with every run of white space as one space, and nothing that a terminal would obey."""
    return _OBEYED.sub("?", " ".join(text.split()))
