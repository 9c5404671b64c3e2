"""What a user's file of predictions holds, in any form: its text, its rows, its numbers."""

import hashlib
import io
import json
import math
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.sources import records
from lextables.sources.archives import OverBounds, gunzipped

# The variable with {digest: where the file is} as JSON.  Settings know a file by what it holds, so that one
# which moves is the same; where it lies the workflow tells every job.
PLACES = "LEXTABLES_GIVEN"
PROBABILITY = "probability"  # the column of csv and the word for it
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"  # so begins an Excel workbook as well
OTHER_MARKS = (";", "\t")


@dataclass(frozen=True)
class File:
    """A user's file: its name, and its text without a byte order mark."""

    name: str
    text: str

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield (place, line) for each line that is not blank; the place has its number, from 1."""
        for number, line in enumerate(io.StringIO(self.text, newline=None), 1):
            if line.strip():
                yield f"{self.name}, line {number}", line.rstrip("\n")

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (place, object) for each line of JSON lines."""
        for place, line in self.lines():
            record = parsed(line, place)
            if not isinstance(record, dict):
                raise BadInput("is no JSON object", where=place, do='write it as {"name": value, …}')
            yield place, record

    def table(self, *needed: str) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield (place, {column: cell}) for each row of a csv file whose first row names its columns.

        Raises `BadInput` where a column is named twice, or one of ``needed`` is missing.
        """
        rows = records.csv_rows(self.text.encode().splitlines(keepends=True), self.name)
        place, header = next(rows)
        if (column := _twice(header)) is not None:
            raise BadInput(f"the column {column!r} stands twice", where=place, do="drop one of the two")
        if len(header) == 1 and any(mark in header[0] for mark in OTHER_MARKS):
            what = "no comma parts the columns here, as in a csv that Excel wrote in some languages"
            raise BadInput(what, where=place, do="save it with commas between, and points in numbers")
        for column in needed:
            if column not in header:
                raise BadInput(
                    f"there is no column {column!r}",
                    where=place,
                    do=f"name the columns in the first row: {', '.join(needed)}",
                )
        for place, cells in rows:
            yield place, dict(zip(header, cells, strict=True))


@dataclass(frozen=True)
class Taken:
    """Predictions as rows of their task's table, and how many of other splits were passed over."""

    rows: list[Row]
    passed_over: int


def opened(content: str) -> File:
    """Return the file whose digest is ``content``, packed by gzip or not.

    Raises `BadInput`, naming the file, where it is not there any more, was changed since its digest was
    taken, or does not hold text in UTF-8.
    """
    path = Path(json.loads(os.environ[PLACES])[content])
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", where=path.name, do="put it back") from None
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != content:
        raise BadInput("was changed while this ran", where=path.name, do="run the same command again")
    return File(path.name, text_of(data, path.name))


def text_of(data: bytes, name: str) -> str:
    """Return the text of a file's bytes; `BadInput` for what is no text in UTF-8, or none at all."""
    if data.startswith(_GZIP):
        try:
            data = gunzipped(data)
        except OverBounds as error:
            raise BadInput(str(error), where=name, do="give it unpacked") from None
        except (OSError, EOFError, zlib.error) as error:
            raise BadInput(f"gzip cannot unpack it ({error})", where=name, do="pack it again") from None
    if data.startswith(_ZIP):
        what = "this is a zip or an Excel workbook and no text"
        raise BadInput(what, where=name, do="save it as csv, or unpack it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"{name}, line {len(error.object[: error.start + 1].splitlines())}"
        byte = error.object[error.start]
        raise BadInput(f"the byte 0x{byte:02x} is not UTF-8", where=place, do="save it as UTF-8") from None
    if "\0" in text:
        what = "it holds the character NUL, as a text in UTF-16 does"
        raise BadInput(what, where=name, do="save it as UTF-8")
    if not text.strip():
        raise BadInput("the file is empty", where=name, do="write it again")
    return text


def parsed(text: str, where: str) -> Any:
    """Return what JSON says; `BadInput` for what is no JSON, and for a name that stands twice in an object.

    Of such a name most readers keep the last.
    """

    def named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            twice = _twice(name for name, _ in pairs)
            raise BadInput(f"{twice!r} appears twice in one object", where=where, do="drop one of the two")
        return record

    try:
        return json.loads(text, object_pairs_hook=named_once)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"not JSON ({error})", where=where, do="write it again") from None


def _twice(names: Iterable[str]) -> str | None:
    return next((name for name, times in Counter(names).items() if times > 1), None)


def named(record: dict[str, Any], name: str, where: str) -> str:
    """Return the id ``name`` of a record, which is text."""
    value = record.get(name)
    if not isinstance(value, str):
        fault = "not there" if value is None else "no text"
        raise BadInput(f"{name} is {fault}", where=where, do="write it as text")
    return value


def number(value: Any, name: str, where: str) -> float:
    """Return a finite number, of JSON or of a cell's text."""
    text = isinstance(value, str)
    try:
        # Python reads 1_000, which nobody else does; a yes or no is no number.
        found = math.nan if isinstance(value, bool) or (text and "_" in value) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise BadInput(f"the {name} {value!r} is not a finite number", where=where, do="correct it")
    return found


def probability_of(value: Any, where: str) -> float:
    """Return a probability, as `number` reads it."""
    found = number(value, PROBABILITY, where)
    if not 0 <= found <= 1:
        what = f"the probability {value!r} is not a number from 0 to 1"
        do = "divide per cent by 100" if 1 < found <= 100 else "correct it"
        raise BadInput(what, where=where, do=do)
    return found
