"""Errors that are shown to the user as one sentence."""

import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path

from lextables.pipeline.redaction import redacted

# Maximum length of each part of a sentence in characters, about.  Without it a part
# could quote a whole file.
LONGEST = 400
SIMILAR = 3  # names that a suggestion has at most
_LINE_ENDS = re.compile(r"[\t-\r\x85]+")  # and tabs
_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # control characters of terminals
FULL = (errno.ENOSPC, errno.EDQUOT)  # a disk or a quota


def _short(text: str) -> str:
    """Return a part of a sentence in one line, without secrets, shortened to about
    `LONGEST`.
    """
    text = _OBEYED.sub("?", _LINE_ENDS.sub(" ", redacted(text)))
    if len(text) > LONGEST:
        return f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
    return text


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return advice with the ``names`` most similar to ``name``, whatever their case.

    Empty if none is similar.
    """
    by_lower = {each.lower(): each for each in sorted(names)}
    near = get_close_matches(name.lower(), by_lower, n=SIMILAR)
    if not near:
        return ""
    return f"did you mean {' or '.join(repr(by_lower[each]) for each in near)}"


class BadInput(Exception):
    """Input that cannot be used, described in one sentence: what is wrong, where, and
    how to fix it.

    ``where`` is a file, optionally with a row (1-based, as an editor counts lines) or a
    key, such as ``qrels/test.tsv, row 17``; or a setting, a target or an address.  Keys
    and passwords are removed from the sentence.
    """

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        """Shorten the parts, remove secrets from them, and join them to a sentence."""
        self.what = _short(what)
        self.where = _short(where)
        self.do = _short(do)
        sentence = self.what
        if where:
            sentence = f"{self.where}: {sentence}"
        if do:
            sentence += f"; {self.do}"
        super().__init__(f"{sentence}.")


def plain_reason(error: OSError, folder: str | Path) -> str:
    """Return why the system refused a file; for a full disk also the free bytes.

    The full disk is that of ``folder``, in which files are written, or that of
    temporary files.
    """
    if isinstance(error, FileExistsError):
        return "a file, or a link to a folder that does not exist, has this name"
    if error.errno not in FULL:
        return error.strerror or str(error)
    free = []
    for place in (folder, os.environ.get("TMPDIR") or "/tmp"):
        with suppress(OSError):
            free.append(f"{shutil.disk_usage(place).free:,} bytes free in {place}")
    return f"a disk or a quota is full, with {' and '.join(free)}"


def first_line(error: Exception) -> str:
    """Return the first line of an error's message that is not blank; empty if there is
    none.
    """
    lines = [line.strip() for line in str(error).splitlines()]
    return next(filter(None, lines), "")


@contextmanager
def loading_weights() -> Iterator[None]:
    """Raise `BadInput` for an error of a library that loads weights.

    Errors that mean a fault in code, such as a `TypeError`, and a lack of memory are
    not changed.
    """
    try:
        yield
    except (
        BadInput,
        MemoryError,
        AssertionError,
        AttributeError,
        NameError,
        TypeError,
    ):
        raise
    except Exception as error:  # each library has different errors
        # Torch's error is no `MemoryError`; to import torch for its class is slow.
        if type(error).__name__ == "OutOfMemoryError":
            raise
        message = type(error).__name__
        line = first_line(error)
        if line:
            message += f": {line}"
        what = f"the weights do not load ({message})"
        raise BadInput(what, do="copy or fetch them again") from error


class BadSetting(BadInput):
    """A wrong setting that affects all jobs and therefore stops the run; other bad
    input may affect only one row.
    """
