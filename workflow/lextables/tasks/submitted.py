"""Reading files of submitted predictions: text, rows, numbers and probabilities, shared by the four tasks."""

import hashlib
import io
import json
import math
import os
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.pipeline.dataset import Row, Table
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import json_value
from lextables.sources import records
from lextables.sources.archives import OverBounds, gunzipped

# Environment variable with {digest: path} as JSON.  Settings identify a file by its content, so that moving
# it reruns nothing; jobs look up the path here.
PLACES = "LEXTABLES_SUBMITTED"
PROBABILITY, PROBABILITIES = "probability", "probabilities"
ROUNDING = 0.01  # largest deviation of a sum of probabilities from one
LONGEST_INDEX = 9  # digits
_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"  # also of Excel workbooks
_OTHER_SEPARATORS = (";", "\t")


@dataclass(frozen=True)
class File:
    """The name of a file, and its text without a byte order mark."""

    name: str
    text: str

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield (place, line) for each line that is not blank; the place names the line, counted from 1."""
        for number, line in enumerate(io.StringIO(self.text, newline=None), 1):
            if line.strip():
                yield f"{self.name}, line {number}", line.rstrip("\n")

    def records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (place, object) for each line of JSON lines."""
        for place, line in self.lines():
            record = parsed(line, place)
            if not isinstance(record, dict):
                raise BadInput(
                    "is not a JSON object",
                    where=place,
                    do='write it as {"name": value, …}',
                )
            yield place, record

    def table(self, *needed: str) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield (place, {column: cell}) for each row of a csv file with a header.

        Raises `BadInput` for a repeated column, or if one of ``needed`` is missing.
        """
        rows = records.csv_rows(self.text.encode().splitlines(keepends=True), self.name)
        place, cells = next(rows)
        header = [cell.strip() for cell in cells]
        if (column := _repeated(header)) is not None:
            raise BadInput(
                f"the column {column!r} appears twice",
                where=place,
                do="remove one of the two",
            )
        if len(header) == 1 and any(mark in header[0] for mark in _OTHER_SEPARATORS):
            what = "the columns are not separated by commas (Excel uses semicolons in some languages)"
            raise BadInput(
                what, where=place, do="save it with commas, and with points in numbers"
            )
        for column in needed:
            if column not in header:
                do = f"name the columns in the first row: {', '.join(needed)}"
                raise BadInput(f"the column {column!r} is missing", where=place, do=do)
        for place, cells in rows:
            yield place, dict(zip(header, cells, strict=True))


@dataclass(frozen=True)
class Submitted:
    """Predictions as rows of a table, and the number of skipped ones (of other splits).

    ``table`` is their task's ``PREDICTIONS`` if it is None.
    """

    rows: list[Row]
    skipped: int
    table: Table | None = None


class Distributions:
    """Probabilities of the choices of each item, collected from the lines of a file.

    An item is an example or a question about a document; ``kind`` and its keys name it in messages.
    ``choices`` are the answers or options that it has.
    """

    def __init__(self, kind: str, choice: str) -> None:
        self.kind, self.choice = kind, choice
        self.values: dict[Hashable, dict[int, float]] = defaultdict(dict)
        self._places: dict[Hashable, str] = {}

    def add(
        self,
        item: Hashable,
        choices: Sequence[str],
        values: Mapping[str, Any] | list[Any],
        place: str,
        *,
        by_index: bool = False,
    ) -> None:
        """Add the probabilities of a line: by choice, or a list with one for each choice.

        With ``by_index`` a choice may also be named by its index, from 0.  Raises `BadInput` for an unknown
        or repeated choice, and for a list of the wrong length.
        """
        self._places.setdefault(item, place)
        if isinstance(values, list):
            if len(values) != len(choices):
                what = f"{len(values)} probabilities for {self._name(item)}, which has {len(choices)} choices"
                do = f"give one for each, in this order: {_listed(choices)}"
                raise BadInput(what, where=place, do=do)
            indexed = list(enumerate(values))
        else:
            indexed = [
                (self._index(item, choices, name, place, by_index), value)
                for name, value in values.items()
            ]
        for index, value in indexed:
            share = probability_of(value, place)
            if index in self.values[item]:
                what = f"the {self.choice} {choices[index]!r} of {self._name(item)} appears twice"
                raise BadInput(what, where=place, do="remove one of the two")
            self.values[item][index] = share

    def of(
        self, item: Hashable, choices: Sequence[str], *, sum_to_one: bool = True
    ) -> list[float]:
        """Return the probabilities of an item in the order of its choices.

        Raises `BadInput` if one is missing or, with ``sum_to_one``, if they do not add up to one.
        """
        probabilities, place = self.values[item], self._places[item]
        if missing := [
            choice for index, choice in enumerate(choices) if index not in probabilities
        ]:
            what = f"the {self.choice} {missing[0]!r} of {self._name(item)} has no probability"
            raise BadInput(what, where=place, do="give one for each choice")
        if sum_to_one and abs((total := sum(probabilities.values())) - 1) > ROUNDING:
            what = f"the probabilities of {self._name(item)} add up to {total:g} instead of 1"
            raise BadInput(
                what, where=place, do="give the probabilities of all choices"
            )
        return [probabilities[index] for index in range(len(choices))]

    def _index(
        self,
        item: Hashable,
        choices: Sequence[str],
        name: str,
        place: str,
        by_index: bool,
    ) -> int:
        if name in choices:
            return choices.index(name)
        alike = [
            at for at, choice in enumerate(choices) if choice.strip() == name.strip()
        ]
        if len(alike) == 1:
            return alike[0]
        if (
            by_index
            and name.isdecimal()
            and len(name) <= LONGEST_INDEX
            and int(name) < len(choices)
        ):
            return int(name)
        do = f"choose from {_listed(choices)}" + (
            ", or give its index, from 0" if by_index else ""
        )
        raise BadInput(
            f"{self._name(item)} has no {self.choice} {name!r}", where=place, do=do
        )

    def _name(self, item: Hashable) -> str:
        keys = item if isinstance(item, tuple) else (item,)
        return f"{self.kind} {' of '.join(map(repr, keys))}"


def _listed(choices: Sequence[str]) -> str:
    return ", ".join(map(repr, choices))


def opened(content: str) -> File:
    """Return the file with the digest ``content``, decompressed if it is gzip.

    Raises `BadInput` if it is missing, was changed since its digest was taken, or is not text in UTF-8.
    """
    path = Path(json.loads(os.environ[PLACES])[content])
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"cannot be read ({error.strerror})", where=path.name, do="restore it"
        ) from None
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != content:
        raise BadInput(
            "was changed during the run", where=path.name, do="repeat the command"
        )
    return File(path.name, text_of(data, path.name))


def text_of(data: bytes, name: str) -> str:
    """Return the text of a file; `BadInput` if it is empty or not text in UTF-8."""
    if data.startswith(_GZIP):
        try:
            data = gunzipped(data)
        except OverBounds as error:
            raise BadInput(str(error), where=name, do="decompress it") from None
        except (OSError, EOFError, zlib.error) as error:
            raise BadInput(
                f"gzip cannot decompress it ({error})",
                where=name,
                do="compress it again",
            ) from None
    if data.startswith(_ZIP):
        what = "is a zip file or an Excel workbook, not text"
        raise BadInput(what, where=name, do="save it as csv, or unpack it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"{name}, line {len(error.object[: error.start + 1].splitlines())}"
        byte = error.object[error.start]
        raise BadInput(
            f"the byte 0x{byte:02x} is not UTF-8", where=place, do="save it as UTF-8"
        ) from None
    if "\0" in text:
        what = "contains the character NUL, as text in UTF-16 does"
        raise BadInput(what, where=name, do="save it as UTF-8")
    if not text.strip():
        raise BadInput("the file is empty", where=name, do="write it again")
    return text


def parsed(text: str, where: str) -> Any:
    """Return the JSON value of ``text``; `BadInput` for invalid JSON or a name repeated in an object."""
    return json_value(text, where, "write it again")


def _repeated(names: Iterable[str]) -> str | None:
    return next((name for name, times in Counter(names).items() if times > 1), None)


def named(record: Mapping[str, Any], name: str, where: str) -> str:
    """Return the value of ``name`` in a record, which must be text."""
    value = record.get(name)
    if not isinstance(value, str):
        fault = "missing" if value is None else "not text"
        raise BadInput(f"{name} is {fault}", where=where, do="write it as text")
    return value


def probabilities_of(
    record: Mapping[str, Any], where: str, choice: str
) -> Mapping[str, Any] | list[Any]:
    """Return the list or object `PROBABILITIES` of a record."""
    values = record.get(PROBABILITIES)
    if not isinstance(values, dict | list):
        fault = "missing" if values is None else "neither a list nor an object"
        do = f'write it as {{"{choice}": probability, …}}'
        raise BadInput(f"{PROBABILITIES} is {fault}", where=where, do=do)
    return values


def known(name: str, names: Collection[str]) -> str:
    """Return ``name`` as it is in ``names``: unchanged, or else without white space around it."""
    if name in names:
        return name
    return name.strip()


def is_number(text: str) -> bool:
    """Whether `number` reads the text of a cell."""
    try:
        number(text, "", "")
    except BadInput:
        return False
    return True


def number(value: Any, name: str, where: str) -> float:
    """Return a finite number from JSON or the text of a cell."""
    text = isinstance(value, str)
    try:
        # Python reads 1_000, other readers do not; booleans are not numbers.
        result = (
            math.nan
            if isinstance(value, bool) or (text and "_" in value)
            else float(value)
        )
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise BadInput(
            f"the {name} {value!r} is not a finite number", where=where, do="correct it"
        )
    return result


def probability_of(value: Any, where: str) -> float:
    """Return a number from 0 to 1, read as in `number`."""
    result = number(value, PROBABILITY, where)
    if not 0 <= result <= 1:
        what = f"the probability {value!r} is not a number from 0 to 1"
        raise BadInput(
            what,
            where=where,
            do="divide per cent by 100" if 1 < result <= 100 else "correct it",
        )
    return result
