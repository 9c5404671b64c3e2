"""Cells of csv files that are safe in spreadsheets, where a text that begins like a
formula would be run as one.

Names and texts may come from untrusted files, and a formula can send the content of
other cells elsewhere.  As OWASP advises ("CSV Injection"), such a text is prefixed with
an apostrophe, which `text` removes.  Numbers, such as -1, stay as they are.

A spreadsheet may strip characters before the sign of a formula (blanks, invisible
characters, quotes).  It may also begin a new cell within a text: at a semicolon or tab
if these separate its cells, and then at a line end.  So an apostrophe is also inserted
after each of these if such a sign follows.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

import regex

# How formulas begin, also in the full width of Chinese and Japanese.
_SIGN = r"[=+\-@＝＋－＠]"
# Characters that a spreadsheet may strip before a sign.
_STRIPPED = r"\p{C}\p{Z}\"'"
# The beginning of a text that gets an apostrophe, and of a text that already has it.
_FORMULA = regex.compile(rf"'*[\t\n]|[{_STRIPPED};]*{_SIGN}")
_MARKED = regex.compile(f"'(?:{_FORMULA.pattern})")
# A text that is only a number needs no apostrophe.
_NUMBER = regex.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?%?|[+-](inf|nan)", regex.IGNORECASE
)
# Within a text, the places between a separator of cells and a sign: without an
# apostrophe in place of MARK, and with one.
_FOLLOWS = rf"(?V1)(?<=[;\t\n])MARK(?=[[{_STRIPPED}]--[\t\n]]*{_SIGN})"
_UNMARKED_WITHIN = regex.compile(_FOLLOWS.replace("MARK", ""))
_MARKED_WITHIN = regex.compile(_FOLLOWS.replace("MARK", "'"))


def cell(value: Any) -> Any:
    """Return the cell for ``value``, of any type; line ends of a text become Unix's.

    A carriage return, which Python before 3.13 does not quote, would begin a new row,
    possibly with a formula.
    """
    if not isinstance(value, str):
        return value
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    if _NUMBER.fullmatch(value):
        return value
    if _FORMULA.match(value):
        value = f"'{value}"
    return _UNMARKED_WITHIN.sub("'", value)


def text(cell: str) -> str:
    """Return the original text of a `cell`."""
    cell = _MARKED_WITHIN.sub("", cell)
    return cell[1:] if _MARKED.match(cell) else cell


def rows(written: str, columns: Iterable[str]) -> list[dict[str, str]]:
    """Return the rows of a csv text, with each `cell` as it is written.

    Raises ValueError if one of the ``columns`` is missing, or if the text is cut short
    in a row.
    """
    lines = csv.reader(io.StringIO(written), strict=True)
    header = next(lines, [])
    for column in sorted(columns):
        if column not in header:
            raise ValueError(f"the column {column!r} is missing")
    if not written.endswith("\n"):
        raise ValueError("its last row is cut short")
    return [dict(zip(header, line, strict=True)) for line in lines]


def texts(row: Mapping[str, str]) -> dict[str, str]:
    """Return a row with the original texts of its cells."""
    return {name: text(cell) for name, cell in row.items()}
