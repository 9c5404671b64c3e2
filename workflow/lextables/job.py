"""What every script of a rule does around its work: a log, and errors that a user can read.

The last line of a failed job's log is its `Ending`, which the run that started the job reads
(`lextables.last_words`).
"""

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from lextables import disk
from lextables.errors import BadInput, NotNow
from lextables.leases import lent


class Ending(StrEnum):
    """How a job failed: the word that its log's last line starts with, before a colon and the sentence."""

    BAD_INPUT = "bad input"  # the same input would end the job again
    NOT_NOW = "not now"
    FAULT = "fault"


@contextmanager
def job(log: str | Path) -> Iterator[logging.Logger]:
    """Run a rule's work with a log at ``log``.

    What fails the job is one sentence on standard error, and the last line of the log: that of a
    `BadInput`, that the disk is full, or what the error was and that the log has its traceback.
    """
    log = Path(log)
    # A log that cannot be written is said once, as the job's fault, and not at every line.
    logging.raiseExceptions, logging.lastResort = False, None
    try:
        with lent():
            log.parent.mkdir(parents=True, exist_ok=True)
            logging.basicConfig(
                filename=log, filemode="w", level=logging.INFO, format="%(asctime)s %(message)s", force=True
            )
            yield logging.getLogger("lextables")
    except NotNow as error:
        _end(Ending.NOT_NOW, str(error), log)
    except BadInput as error:
        _end(Ending.BAD_INPUT, str(error), log)
    except Exception as error:
        if sentence := disk.fault(error, log.parent):
            _end(Ending.BAD_INPUT, sentence, log)
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        _end(Ending.FAULT, f"{what} (the traceback is in {log}).", log)


def _end(ending: Ending, sentence: str, log: Path) -> None:
    logger = logging.getLogger("lextables")
    logger.error("the job failed\n%s", traceback.format_exc().rstrip())
    logger.error("%s: %s", ending, one_line(sentence))
    print(one_line(sentence), file=sys.stderr)
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
    """Return ``text`` with every run of white space as one space."""
    return " ".join(text.split())
