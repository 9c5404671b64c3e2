"""Cells of csv files that people open in spreadsheets, which take a text that begins like a formula for one.

Names and texts may come from untrusted files, and a formula can send the content of other cells elsewhere.
As OWASP advises ("CSV Injection") such a text gets an apostrophe in front, which `text` removes; a number
gets none.

A spreadsheet may strip what stands before the sign of a formula (blanks, invisible characters, quotes).  It
may also begin a new cell within a text: at a semicolon or tab where these part its cells, and then at a line
end.  So an apostrophe also comes after each of these that such a sign follows.
"""

from typing import Any

import regex

_SIGN = r"[=+\-@＝＋－＠]"
_STRIPPED = r"\p{C}\p{Z}\"'"
_FORMULA = regex.compile(rf"'*[\t\n]|[{_STRIPPED};]*{_SIGN}")
_MARKED = regex.compile(f"'(?:{_FORMULA.pattern})")
_NUMBER = regex.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?%?|[+-](inf|nan)", regex.IGNORECASE)
_FOLLOWS = rf"(?V1)(?<=[;\t\n])MARK(?=[[{_STRIPPED}]--[\t\n]]*{_SIGN})"
_UNMARKED_WITHIN = regex.compile(_FOLLOWS.replace("MARK", ""))
_MARKED_WITHIN = regex.compile(_FOLLOWS.replace("MARK", "'"))


def cell(value: Any) -> Any:
    """Return what a csv's writer is given for ``value``, of whatever type; line ends of a text become Unix's.

    A carriage return, which Python before 3.13 does not quote, would begin a row, and with it a formula.
    """
    if not isinstance(value, str):
        return value
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    if _NUMBER.fullmatch(value):
        return value
    return _UNMARKED_WITHIN.sub("'", f"'{value}" if _FORMULA.match(value) else value)


def text(cell: str) -> str:
    """Return the text that `cell` was given."""
    cell = _MARKED_WITHIN.sub("", cell)
    return cell[1:] if _MARKED.match(cell) else cell
