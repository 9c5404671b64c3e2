"""Submitted predictions, for all tasks: checking and storing a file.

The readers of its formats share the classes and functions here for text, rows and
probabilities.

The module `submitted` of a task is an action.  It has a model of its rows
(`SubmittedRow`), and for each format a function that returns a file's records.
"""

import hashlib
import io
import logging
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic import ValidationInfo as Info

from lextables.pipeline.dataset import Row, Table, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject, json_value, variable
from lextables.pipeline.finite import as_share
from lextables.pipeline.run import recorded
from lextables.sources import records
from lextables.sources.archives import SINGLE_FILE, OverBounds, gunzipped
from lextables.tasks.job import Job

_log = logging.getLogger("lextables")


# Environment variable with {digest: path}.  Settings identify a file by its content, so
# that moving it reruns nothing; jobs look up the path here.
PLACES = "LEXTABLES_SUBMITTED"
ROUNDING = 0.01  # largest deviation of a sum of probabilities from one
LONGEST_INDEX = 9  # digits
FEWER = "leave out columns and rows that the format does not need"
_GZIP = b"\x1f\x8b"
# {first bytes of a file that is not text: what it is}.
_NO_TEXT = {
    b"PK\x03\x04": "a zip file or an Excel workbook",
    b"\xd0\xcf\x11\xe0": "an Excel workbook",
    b"PAR1\x15": "a parquet file",
    b"ARROW1\0\0": "an Arrow file",
    b"\x93NUMPY": "a NumPy file",
    b"\x89HDF": "an HDF5 file",
    b"\x80\x04\x95": "a pickle",
    b"\x80\x05\x95": "a pickle",
    b"SQLite format 3\0": "an SQLite database",
    b"BZh9": "a bzip2 file",
    b"\xfd7zXZ\0": "an xz file",
    b"\x28\xb5\x2f\xfd": "a Zstandard file",
    b"7z\xbc\xaf": "a 7z file",
    b"%PDF-": "a PDF file",
    _GZIP: "compressed twice",
}
_OTHER_SEPARATORS = (";", "\t")
_ONE_LINE = 'write each prediction on one line, as {"name": value, …}'
_INDEX = re.compile(r"(Unnamed: \d+)?")  # the name of the column of pandas' index


class Incomplete(BadInput):
    """The error for a file that lacks predictions.

    ``missing`` are the ids, or pairs of ids, of the missing ones; ``expected`` is the
    number of predictions that the file should have.
    """

    def __init__(
        self, what: str, where: str, missing: Collection[Any], expected: int
    ) -> None:
        super().__init__(what, where=where, do="predict each of them")
        self.missing = missing
        self.expected = expected


Records = Iterator[tuple[str, JsonObject]]  # (place in the file, {name: value})


@dataclass(frozen=True)
class File:
    """The name of a file, and its text without a byte order mark."""

    name: str
    text: str

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield (place, line) for each line that is not blank.

        The place names the line, counted from 1.
        """
        for number, line in enumerate(io.StringIO(self.text, newline=None), 1):
            if line.strip():
                yield f"{self.name}, line {number}", line.rstrip("\n")

    def json_lines(self) -> Records:
        """Yield the object of each line of JSON lines."""
        for place, line in self.lines():
            record = json_value(line, place, _ONE_LINE)
            if not isinstance(record, dict):
                raise BadInput("is not a JSON object", where=place, do=_ONE_LINE)
            yield place, record

    def table(self, *needed: str) -> Records:
        """Yield {column: cell} for each row of a csv file with a header.

        The column of pandas' index is left out.  Raises `BadInput` for a repeated
        column, or if one of ``needed`` is missing.
        """
        lines = self.text.encode().splitlines(keepends=True)
        rows = records.csv_rows(lines, self.name)
        place, cells = next(rows)
        header = [cell.strip() for cell in cells]
        ((column, times),) = Counter(header).most_common(1)
        if times > 1:
            raise repeated(f"the column {column!r}", place)
        if len(header) == 1 and any(mark in header[0] for mark in _OTHER_SEPARATORS):
            what = (
                "the columns are not separated by commas (Excel uses semicolons in "
                "some languages)"
            )
            do = "save it with commas, and with points in numbers"
            raise BadInput(what, where=place, do=do)
        index = [column for column in header if _INDEX.fullmatch(column)]
        for column in needed:
            if column not in header:
                do = f"name the columns in the first row: {', '.join(needed)}"
                raise BadInput(f"the column {column!r} is missing", where=place, do=do)
        for place, cells in rows:
            record = dict(zip(header, cells, strict=True))
            for column in index:
                del record[column]
            yield place, record


@dataclass(frozen=True)
class Submitted:
    """Predictions as rows of a table, and the number of skipped ones (of other splits).

    ``table`` is their task's ``PREDICTIONS`` if it is None.
    """

    rows: list[Row]
    skipped: int
    table: Table | None = None


# Values of rows.


def number(value: Any, name: str) -> float:
    """Return a finite number from JSON or the text of a cell.

    Raises `ValueError` for anything else.
    """
    # Python reads 1_000, other readers do not; booleans are not numbers.
    is_text = isinstance(value, str)
    refused = isinstance(value, bool) or (is_text and "_" in value)
    try:
        result = math.nan if refused else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise ValueError(f"the {name} {value!r} is not a finite number")
    return result


def probability(value: Any, where: str) -> float:
    """Return a number from 0 to 1, read as in `number`; its rounding as in `as_share`.

    Raises `BadInput` for anything else.
    """
    do = "correct it"
    try:
        result = number(value, "probability")
    except ValueError as error:
        raise BadInput(str(error), where=where, do=do) from None
    share = as_share(result)
    if share is None:
        if 1 < result <= 100:
            do = "divide per cent by 100"
        what = f"the probability {value!r} is not a number from 0 to 1"
        raise BadInput(what, where=where, do=do)
    return share


def _number_of_field(value: Any, field: Info) -> float:
    return number(value, str(field.field_name))


Number = Annotated[float, BeforeValidator(_number_of_field)]
# {choice: probability}, or a list of probabilities in the order of the choices.
Probabilities = JsonObject | list[Any]
# What a value should be, by the type of pydantic's error.
KINDS = {"string_type": "text", "dict_type": "a list or an object"}


class SubmittedRow(BaseModel):
    """A row of a file of predictions; other columns are ignored."""

    model_config = ConfigDict(frozen=True)


RowType = TypeVar("RowType", bound=SubmittedRow)


def read_rows(
    records: Records, row: type[RowType], do: str = ""
) -> Iterator[tuple[str, RowType]]:
    """Yield (place, row) for each record.

    `BadInput` names the place and the key of the first error.  ``do`` is the advice, by
    default to write the key's value as the model says.
    """
    for place, record in records:
        try:
            yield place, row.model_validate(record)
        except ValidationError as error:
            what, advice = _sentence(error.errors()[0])
            raise BadInput(what, where=place, do=do or advice) from None


def _sentence(fault: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is wrong, by one of pydantic's errors, and how to correct it."""
    error = fault["type"]
    if error == "value_error":
        return str(fault["ctx"]["error"]), "correct it"
    if not fault["loc"]:
        return "is not an object", 'write it as {"name": value, …}'
    name, *_ = fault["loc"]
    if error == "missing" or fault["input"] is None:
        return f"{name} is missing", "add it"
    kind = KINDS.get(error, "a value of this column")
    return f"{name} is not {kind}", f"write it as {kind}"


# Checks of all rows.


def known(name: str, names: Collection[str]) -> str:
    """Return ``name`` as it is in ``names``, or else without white space around it."""
    if name in names:
        return name
    return name.strip()


def identified(name: str, names: Collection[str], kind: str, place: str) -> str:
    """Return the id of something of this ``kind`` in the data set.

    Raises `BadInput` if it has none.
    """
    identifier = known(name, names)
    if identifier not in names:
        what = f"the data set has no {kind} {identifier!r}"
        raise BadInput(what, where=place, do="correct its id")
    return identifier


def repeated(what: str, place: str) -> BadInput:
    """Return the error of something that a file has twice."""
    return BadInput(f"{what} appears twice", where=place, do="remove one of the two")


def check_complete(
    expected: Collection[Any], found: Collection[Any], things: str, name: str
) -> None:
    """Raise `Incomplete` if the file ``name`` lacks some of the ``expected`` things."""
    missing = sorted(set(expected) - set(found))
    if missing:
        first = _named(missing[0])
        counted = f"{len(missing)} of the {len(expected)} {things}"
        what = f"no prediction for {counted}, the first {first}"
        raise Incomplete(what, name, missing, len(expected))


def _named(item: Any) -> str:
    """Return an id, or a pair of ids, for a message."""
    keys = item if isinstance(item, tuple) else (item,)
    return " of ".join(map(repr, keys))


@dataclass
class Distribution:
    """The probabilities of the choices of an item, collected from the rows of a file.

    The item is an example, or a question about a document: its ``kind`` and ``key``
    name it in messages.  ``choices`` are its answers or options (``choice`` is the word
    for one of them).  With ``by_index`` they may also be named by their index, from 0.
    ``place`` is that of the item's first row in the file.
    """

    kind: str
    key: Any
    choice: str
    choices: Sequence[str]
    place: str
    by_index: bool = False
    values: dict[int, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The item in messages."""
        return f"{self.kind} {_named(self.key)}"

    def add(self, probabilities: Probabilities, place: str) -> None:
        """Add the probabilities of a row: by choice, or a list in the choices' order.

        Raises `BadInput` for an unknown or repeated choice, and for a list of the wrong
        length.
        """
        if isinstance(probabilities, list):
            count = len(probabilities)
            needed = len(self.choices)
            if count != needed:
                what = (
                    f"{count} probabilities for {self.name}, which has {needed} choices"
                )
                do = f"give one for each, in this order: {_listed(self.choices)}"
                raise BadInput(what, where=place, do=do)
            probabilities = dict(zip(self.choices, probabilities, strict=True))
        for name, value in probabilities.items():
            index = self._index(name, place)
            share = probability(value, place)
            if index in self.values:
                choice = self.choices[index]
                what = f"the {self.choice} {choice!r} of {self.name}"
                raise repeated(what, place)
            self.values[index] = share

    def complete(self, *, sum_to_one: bool = True) -> list[float]:
        """Return the probabilities in the order of the choices.

        Raises `BadInput` if one is missing or, with ``sum_to_one``, if they do not add
        up to one.
        """
        shares = []
        for index, choice in enumerate(self.choices):
            if index not in self.values:
                what = f"the {self.choice} {choice!r} of {self.name} has no probability"
                raise BadInput(what, where=self.place, do="give one for each choice")
            shares.append(self.values[index])
        total = sum(shares)
        if sum_to_one and abs(total - 1) > ROUNDING:
            what = f"the probabilities of {self.name} add up to {total:g} instead of 1"
            do = "give the probabilities of all choices"
            raise BadInput(what, where=self.place, do=do)
        return shares

    def _index(self, name: str, place: str) -> int:
        """Return the index of a choice by its name; raises `BadInput` if it has
        none.
        """
        if name in self.choices:
            return self.choices.index(name)
        plain = [choice.strip() for choice in self.choices]
        plain_name = name.strip()
        if plain.count(plain_name) == 1:
            return plain.index(plain_name)
        do = f"choose from {_listed(self.choices)}"
        if self.by_index:
            do += ", or give its index, from 0"
            number = records.whole_number(name, LONGEST_INDEX)
            if number is not None and number < len(self.choices):
                return number
        what = f"{self.name} has no {self.choice} {name!r}"
        raise BadInput(what, where=place, do=do)


def _listed(choices: Iterable[str]) -> str:
    return ", ".join(map(repr, choices))


# Files.


def store(job: Job, predictions: Callable[..., Submitted], schema: Table) -> None:
    """Check a file, and store its predictions as those of a run.

    ``predictions`` is the reader of the kind of task, and ``schema`` the table of its
    rows, unless it names another one.  Raises `BadInput` as the reader does.
    """
    with recorded(job.output("record"), job.settings) as record:
        file = opened(job.settings["content"])
        with memory_named(file.name):
            submitted = predictions(
                file, job.settings["form"], job.inputs["data"], job.task
            )
            table = submitted.table or schema
            count = write(table, submitted.rows, job.output("predictions"))
        record["device"] = "not known"
        record["submitted"] = {
            "file": file.name,
            "rows": count,
            "skipped": submitted.skipped,
        }
    _log.info(
        "%s: %d rows; %d predictions of other splits skipped",
        file.name,
        count,
        submitted.skipped,
    )


def opened(content: str) -> File:
    """Return the file with the digest ``content``, decompressed if it is gzip.

    Raises `BadInput` if it is missing, was changed since its digest was taken, or is
    not text in UTF-8.
    """
    path = Path(variable(PLACES)[content])
    with memory_named(path.name):
        try:
            check_size(path)
            data = path.read_bytes()
        except OSError as error:
            what = f"cannot be read ({error.strerror})"
            raise BadInput(what, where=path.name, do="restore it") from None
        if f"sha256:{hashlib.sha256(data).hexdigest()}" != content:
            what = "was changed during the run"
            raise BadInput(what, where=path.name, do="repeat the command")
        return File(path.name, text_of(data, path.name))


@contextmanager
def memory_named(name: str) -> Iterator[None]:
    """Raise `BadInput` if the memory is too small for the file of this name."""
    try:
        yield
    except MemoryError:
        what = "does not fit into the memory of this job"
        raise BadInput(what, where=name, do=FEWER) from None


def check_size(path: Path) -> None:
    """Raise `BadInput` for a file that is too large to be read as a whole."""
    size = path.stat().st_size
    if size > SINGLE_FILE.member:
        what = f"has {size:,} bytes, more than the {SINGLE_FILE.member:,} allowed"
        raise BadInput(what, where=path.name, do=FEWER)


def text_of(data: bytes, name: str) -> str:
    """Return the text of a file; `BadInput` if it is empty or not text in UTF-8."""
    if data.startswith(_GZIP):
        try:
            data = gunzipped(data)
        except OverBounds as error:
            raise BadInput(str(error), where=name, do="decompress it") from None
        except (OSError, EOFError, zlib.error) as error:
            what = f"gzip cannot decompress it ({error})"
            raise BadInput(what, where=name, do="compress it again") from None
    for start, kind in _NO_TEXT.items():
        if data.startswith(start):
            do = "save it as csv or JSON lines, or unpack it"
            raise BadInput(f"is {kind}, not text", where=name, do=do)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        read = error.object[: error.start + 1]
        line = len(read.splitlines())
        what = f"the byte 0x{read[-1]:02x} is not UTF-8"
        place = f"{name}, line {line}"
        raise BadInput(what, where=place, do="save it as UTF-8") from None
    if "\0" in text:
        what = "contains the character NUL, as text in UTF-16 does"
        raise BadInput(what, where=name, do="save it as UTF-8")
    if not text.strip():
        raise BadInput("the file is empty", where=name, do="write it again")
    return text


def parsed(text: str, where: str) -> Any:
    """Return the JSON value of ``text``.

    Raises `BadInput` for invalid JSON, and for a name repeated in an object.
    """
    return json_value(text, where, "write it again")


# A function for each format that returns a file's records.
Forms = Mapping[str, Callable[[File], Records]]
