"""Records of released csv and JSON files, each with its place in the file for error
messages.

Files are UTF-8, with or without a byte order mark.  Functions yield (place, record) and
raise `BadInput` for the first error; nothing is guessed.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from json import JSONDecodeError
from typing import IO, Any

from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import RESTORE, JsonObject, json_prefix, json_value, utf8

Record = JsonObject

CHUNK = 1 << 20  # characters
# Longest item of a JSON array, in characters: an error is found without reading the
# rest of the file.
LONGEST = 1 << 25
_VISIBLE = re.compile(r"\S")
_WHOLE = re.compile(r"[0-9]+")


def whole_number(text: str, digits: int = 18) -> int | None:
    """Return the number that ``text`` is in at most ``digits`` digits from 0 to 9, or
    None.

    Python does not read numbers of more than 4,300 digits, and 18 digits fit into 64
    bits.
    """
    if len(text) <= digits and _WHOLE.fullmatch(text):
        return int(text)
    return None


def csv_rows(
    lines: Iterable[bytes], name: str, delimiter: str = ","
) -> Iterator[tuple[str, list[str]]]:
    """Yield (place, cells) for each row of a csv file that has cells.

    The place is ``name`` and the 1-based line on which the row begins, as an editor
    counts.  All rows must be as wide as the first, and a quote inside a quoted cell
    must be doubled.  No string is read as a missing value.
    """
    reader = csv.reader(_decoded(lines, name, "row"), delimiter=delimiter, strict=True)
    begins = 1
    width = None
    try:
        for cells in reader:
            where = f"{name}, row {begins}"
            if cells:
                width = width or len(cells)
                if len(cells) != width:
                    what = f"has {len(cells)} cells where there should be {width}"
                    do = RESTORE.replace("file", "row")
                    if delimiter == ",":
                        do = "quote the cells that hold a comma"
                    raise BadInput(what, where=where, do=do)
                yield where, cells
            begins = reader.line_num + 1
    except csv.Error as error:
        what = f"the row that begins here is no csv ({error})"
        do = "close its quotes, and double those inside a cell"
        raise BadInput(what, where=f"{name}, row {begins}", do=do) from error
    if width is None:
        raise BadInput("the file is empty", where=name, do="fetch it again")


def csv_records(
    lines: Iterable[bytes], name: str, columns: Iterable[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (place, {column: cell}) for each row below the header, which must have all
    ``columns``.
    """
    rows = csv_rows(lines, name)
    where, header = next(rows)
    if len(set(header)) < len(header):
        raise BadInput("a column appears twice", where=where, do=RESTORE)
    for column in columns:
        if column not in header:
            do = f"the columns are {', '.join(columns)}"
            raise BadInput(f"the column {column!r} is missing", where=where, do=do)
    for where, cells in rows:
        yield (where, dict(zip(header, cells, strict=True)))


def json_lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, Record]]:
    """Yield (place, object) for each line that is not blank; the place is ``name`` and
    the 1-based line.
    """
    for number, text in enumerate(_decoded(lines, name, "line"), 1):
        if text.strip():
            where = f"{name}, line {number}"
            yield where, _object(text, where)


def _decoded(lines: Iterable[bytes], name: str, unit: str) -> Iterator[str]:
    """Yield the lines as text; `BadInput` for one that is not UTF-8 or has a NUL
    character.
    """
    for number, line in enumerate(lines, 1):
        where = f"{name}, {unit} {number}"
        encoding = "utf-8-sig" if number == 1 else "utf-8"
        text = utf8(line, where, encoding=encoding)
        if "\0" in text:
            raise BadInput("holds a NUL character", where=where, do=RESTORE)
        yield text


def json_array(stream: IO[bytes], name: str) -> Iterator[tuple[str, Record]]:
    """Yield (place, object) for each item of a file that is one array of objects.

    One item is in memory at a time.  The place is ``name`` and the 1-based item,
    because such a file may be a single line.
    """
    number = 0
    try:
        text = TextIOWrapper(stream, encoding="utf-8-sig")
        for number, item in enumerate(_items(text, name), 1):
            where = f"{name}, item {number}"
            if not isinstance(item, dict):
                raise _not_an_object(item, where)
            yield where, item
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        what = f"the byte 0x{byte:02x} is not UTF-8"
        raise BadInput(what, where=f"{name}, after item {number}", do=RESTORE) from None


def json_object(stream: IO[bytes], name: str) -> Record:
    """Return the object of a file that is one JSON object."""
    return _object(stream.read(), name)


def value(record: Any, key: str, kind: type, where: str) -> Any:
    """Return ``record[key]``, which must be of type ``kind``.

    Raises `BadInput` if the record is no object, the key is missing, or the type
    differs.
    """
    if not isinstance(record, dict):
        raise _not_an_object(record, where)
    if key not in record:
        raise BadInput(f"the key {key!r} is missing", where=where, do=RESTORE)
    content = record[key]
    if not isinstance(content, kind):
        what = f"{key!r} is {type(content).__name__} where {kind.__name__} should be"
        raise BadInput(what, where=where, do=RESTORE)
    return content


def _object(content: str | bytes, where: str) -> Record:
    record = json_value(content, where)
    if not isinstance(record, dict):
        raise _not_an_object(record, where)
    return record


def _not_an_object(content: Any, where: str) -> BadInput:
    return BadInput(
        f"holds {type(content).__name__} where an object should be",
        where=where,
        do=RESTORE,
    )


def _items(text: TextIOWrapper, name: str) -> Iterator[Any]:
    """Yield the items of an array, each as soon as it is complete."""
    window = _Window(text)
    if window.next() != "[":
        raise BadInput("is no array", where=name, do=RESTORE)
    window.at += 1
    number = 0
    mark = window.next()
    while mark != "]":
        number += 1
        where = f"{name}, item {number}"
        yield window.item(where)
        mark = window.next()
        if mark not in (",", "]"):
            what = "no comma and no end of the array follow it"
            raise BadInput(what, where=where, do=RESTORE)
        if mark == ",":
            window.at += 1
            window.next()
    window.at += 1
    if window.next():
        raise BadInput("goes on after the end of its array", where=name, do=RESTORE)


class _Window:
    """The part of a file that is being decoded, from position ``at``."""

    def __init__(self, file: TextIOWrapper) -> None:
        self.file = file
        self.text = ""
        self.at = 0

    def next(self) -> str:
        """Move to the next character that is not blank and return it, or "" at the end
        of the file.
        """
        while True:
            visible = _VISIBLE.search(self.text, self.at)
            if visible:
                self.at = visible.start()
                return visible[0]
            self.at = len(self.text)
            if not self._read_more():
                return ""

    def item(self, where: str) -> Any:
        """Decode the value that begins here."""
        while True:
            try:
                content, self.at = json_prefix(self.text, self.at, where)
                return content
            except JSONDecodeError as error:
                if len(self.text) - self.at > LONGEST or not self._read_more():
                    raise BadInput(
                        f"is no JSON ({error.msg})", where=where, do=RESTORE
                    ) from None

    def _read_more(self) -> bool:
        """Drop the decoded text and read the next part of the file; False at its
        end.
        """
        chunk = self.file.read(CHUNK)
        self.text = self.text[self.at :] + chunk
        self.at = 0
        return bool(chunk)
