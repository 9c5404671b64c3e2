"""Records of released JSON files, one in memory at a time: a JSON object a line, or one array of objects."""

import json
import re
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from json import JSONDecodeError, JSONDecoder
from typing import IO, Any

from lextables.pipeline.errors import BadInput

Record = dict[str, Any]

RESTORE = "restore the file from the release"
CHUNK = 1 << 20  # characters
# Characters that one object of an array may have: a fault in it is found without reading all that follows.
LONGEST = 1 << 25
_BLANK = re.compile(r"\s*")


def of_lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, Record]]:
    """Yield (place, object) for each line of a file in UTF-8 that is not blank.

    The place is ``name`` and the line, from 1.  Raises `BadInput` for the first line that is no JSON object.
    """
    for number, line in enumerate(lines, 1):
        where = f"{name}, line {number}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(error, where) from None
        if text.strip():
            yield where, _object(text, where)


def of_array(stream: IO[bytes], name: str) -> Iterator[tuple[str, Record]]:
    """Yield (place, object) for each item of a file in UTF-8 that is one array of objects.

    The place is ``name`` and the item, from 1, for such a file may be one line.  Raises `BadInput` for the
    first item that is no JSON object, and for an array that does not begin or end.
    """
    number = 0
    try:
        for number, item in enumerate(_items(TextIOWrapper(stream, encoding="utf-8-sig"), name), 1):
            where = f"{name}, item {number}"
            if not isinstance(item, dict):
                raise _no_object(item, where)
            yield where, item
    except UnicodeDecodeError as error:
        raise _not_utf8(error, f"{name}, after item {number}") from None


def whole(stream: IO[bytes], name: str) -> Record:
    """Return the one object that a file in UTF-8 is; `BadInput` where it is none."""
    try:
        return _object(stream.read().decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        raise _not_utf8(error, name) from None


def value(record: Any, key: str, kind: type, where: str) -> Any:
    """Return what a record has under ``key``; `BadInput` where that is missing or of another kind.

    What is no object at all is a fault, and a text that no encoding can write: with half of a surrogate pair.
    """
    if not isinstance(record, dict):
        raise _no_object(record, where)
    if key not in record:
        raise BadInput(f"the key {key!r} is missing", where=where, do=RESTORE)
    found = record[key]
    if not isinstance(found, kind):
        said = f"{key!r} is {type(found).__name__} where {kind.__name__} should be"
        raise BadInput(said, where=where, do=RESTORE)
    if isinstance(found, str) and (half := re.search("[\ud800-\udfff]", found)):
        raise BadInput(f"{key!r} holds {half[0]!r}, half of a character", where=where, do=RESTORE)
    return found


def _object(text: str, where: str) -> Record:
    try:
        found = json.loads(text)
    except JSONDecodeError as error:
        raise BadInput(f"is no JSON ({error.msg})", where=where, do=RESTORE) from None
    if not isinstance(found, dict):
        raise _no_object(found, where)
    return found


def _no_object(found: Any, where: str) -> BadInput:
    return BadInput(f"holds {type(found).__name__} where an object should be", where=where, do=RESTORE)


def _not_utf8(error: UnicodeDecodeError, where: str) -> BadInput:
    return BadInput(f"the byte 0x{error.object[error.start]:02x} is not UTF-8", where=where, do=RESTORE)


def _items(text: TextIOWrapper, name: str) -> Iterator[Any]:
    """The items of an array, decoded as their last character has come."""
    window = _Window(text)
    if window.next() != "[":
        raise BadInput("is no array", where=name, do=RESTORE)
    window.at += 1
    number, mark = 0, window.next()
    while mark != "]":
        number += 1
        where = f"{name}, item {number}"
        yield window.item(where)
        if (mark := window.next()) not in (",", "]"):
            raise BadInput("no comma and no end of the array follow it", where=where, do=RESTORE)
        if mark == ",":
            window.at += 1
            window.next()
    window.at += 1
    if window.next():
        raise BadInput("goes on after the end of its array", where=name, do=RESTORE)


class _Window:
    """The part of a file that is being decoded, from ``at`` on."""

    def __init__(self, file: TextIOWrapper) -> None:
        self.file, self.held, self.at = file, "", 0
        self._decoder = JSONDecoder()

    def next(self) -> str:
        """Go to the next character that is no blank and return it; nothing at the end of the file."""
        while True:
            self.at = _BLANK.match(self.held, self.at).end()
            if self.at < len(self.held) or not self._more():
                return self.held[self.at : self.at + 1]

    def item(self, where: str) -> Any:
        """Decode what begins here."""
        while True:
            try:
                found, self.at = self._decoder.raw_decode(self.held, self.at)
                return found
            except JSONDecodeError as error:
                if len(self.held) - self.at > LONGEST or not self._more():
                    raise BadInput(f"is no JSON ({error.msg})", where=where, do=RESTORE) from None

    def _more(self) -> bool:
        """Take the next part of the file, if there is one, and drop what was decoded."""
        taken = self.file.read(CHUNK)
        self.held, self.at = self.held[self.at :] + taken, 0
        return bool(taken)
