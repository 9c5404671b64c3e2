"""Cells of csv files that people open in spreadsheets, which take a text that begins like a formula for one.

Names and texts come from strangers, and a formula can send away what stands beside it.  As OWASP advises
("CSV Injection") such a text gets an apostrophe in front, which `text` takes away again; a number gets none.
"""

import re
from typing import Any

_FORMULA = re.compile(r"'*[=+\-@＝＋－＠\t\n]")
_MARKED = re.compile(r"'+[=+\-@＝＋－＠\t\n]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?%?|[+-](inf|nan)", re.IGNORECASE)


def cell(value: Any) -> Any:
    """Return what a csv's writer is given for ``value``, of whatever type; line ends of a text become Unix's.

    A carriage return, which Python before 3.13 does not quote, would begin a row, and with it a formula.
    """
    if not isinstance(value, str):
        return value
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


def text(cell: str) -> str:
    """Return the text that `cell` was given."""
    return cell[1:] if _MARKED.match(cell) else cell
