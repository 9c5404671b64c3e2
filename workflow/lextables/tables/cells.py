"""From computed cells to a table: each published cell beside ours, with a verdict and its reason.

Verdicts: **match** (equal at the printed precision), **near** (the published value lies inside our 95 %
interval), **off** (outside, on either side), **not run** (with the reason).  Cells that have no
published counterpart, and all cells from data that are not comparable with the paper's, stand in
`ours` without a verdict.
"""

import csv
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from lextables.tables.published import PublishedCell

Verdict = Literal["match", "near", "off", "not run", ""]
DECIMALS = 3


@dataclass(frozen=True)
class Cell:
    """A computed cell.  ``value`` is a number in the table's unit, a text, or None with a ``reason``.

    ``low`` and ``high`` are a 95 % interval; ``decimals`` says how a cell of our own is printed.
    """

    row: str
    column: str
    value: float | str | None
    low: float | None = None
    high: float | None = None
    decimals: int | None = None
    runs: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Line:
    """One line of a table's csv."""

    row: str
    column: str
    published: str
    reproduced: str
    ours: str
    low: str
    high: str
    decimals: int | None
    verdict: Verdict
    reason: str
    runs: str


COLUMNS = tuple(field.name for field in fields(Line))


def build(published: Sequence[PublishedCell], cells: Iterable[Cell], comparable: bool) -> list[Line]:
    """Set computed cells beside published ones: the paper's rows in its order, then our own.

    ``comparable`` says whether the data are the paper's; if not, values go to `ours` without a
    verdict.  Raises ValueError when two cells have one place, or a published cell has neither a value
    nor a reason: a table may not leave out what the paper printed.
    """
    computed: dict[tuple[str, str], Cell] = {}
    for cell in cells:
        if computed.setdefault((cell.row, cell.column), cell) is not cell:
            raise ValueError(f"two computed cells at row {cell.row!r}, column {cell.column!r}")
    decimals = {cell.column: cell.decimals for cell in reversed(published) if cell.decimals is not None}
    places = {(cell.row, cell.column) for cell in published}
    # A cell of our own in a printed row, such as a stricter reading, stands right after the printed one.
    following: dict[tuple[str, str], list[Cell]] = {}
    own: list[Cell] = []
    group, row = own, ""
    for place, cell in computed.items():
        if place in places:
            group, row = following.setdefault(place, []), cell.row
        elif cell.row != row:
            group, row = own, cell.row
        if place not in places:
            group.append(cell)
    lines = []
    for printed in published:
        place = (printed.row, printed.column)
        cell = computed.get(place)
        if cell is None or (cell.value is None and not cell.reason):
            raise ValueError(f"no value and no reason for row {printed.row!r}, column {printed.column!r}")
        lines.append(_beside(printed, cell, comparable))
        lines += [_own(cell, decimals) for cell in following[place]]
    return lines + [_own(cell, decimals) for cell in own]


def _own(cell: Cell, decimals: Mapping[str, int]) -> Line:
    places = cell.decimals if cell.decimals is not None else decimals.get(cell.column, DECIMALS)
    return Line(
        cell.row, cell.column, "", "", written(cell.value, places),
        written(cell.low, places), written(cell.high, places),
        None if isinstance(cell.value, str) else places,
        "not run" if cell.value is None else "", cell.reason, " ".join(cell.runs),
    )  # fmt: skip


def _beside(printed: PublishedCell, cell: Cell, comparable: bool) -> Line:
    value = written(cell.value, printed.decimals)
    found = verdict(printed, cell) if comparable or cell.value is None else ""
    return Line(
        printed.row, printed.column, printed.value,
        value if comparable else "", "" if comparable else value,
        written(cell.low, printed.decimals), written(cell.high, printed.decimals),
        printed.decimals, found, cell.reason, " ".join(cell.runs),
    )  # fmt: skip


def verdict(printed: PublishedCell, cell: Cell) -> Verdict:
    """Judge a computed cell against the printed one; text is compared by `same_words`."""
    if cell.value is None:
        return "not run"
    if isinstance(cell.value, str) or printed.decimals is None:
        text = written(cell.value, printed.decimals)
        return "match" if same_words(text, printed.value) else "off"
    if math.isnan(cell.value):
        return "off"
    number = printed.number
    if number is None:
        return "off"
    if float(f"{cell.value:.{printed.decimals}f}") == number:
        return "match"
    if cell.low is not None and cell.high is not None and cell.low <= number <= cell.high:
        return "near"
    return "off"


def same_words(one: str, other: str) -> bool:
    """Whether two texts are the same words and numbers, whatever their case, quotes, hyphens and blanks."""
    return _words(one) == _words(other)


def _words(text: str) -> list[str]:
    return re.findall(r"\d+(?:[.,]\d+)*|[^\W_]+", unicodedata.normalize("NFKC", text).casefold())


def written(value: float | str | None, decimals: int | None) -> str:
    """Return a value as a table shows it: numbers at ``decimals`` places, no sign on a zero."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "NaN"
    text = f"{value:.{DECIMALS if decimals is None else decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def to_csv(lines: Iterable[Line]) -> str:
    """The table as csv text with the fixed columns."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        writer.writerow("" if (value := getattr(line, name)) is None else value for name in COLUMNS)
    return out.getvalue()


def from_csv(text: str) -> list[Line]:
    """Read back what `to_csv` wrote."""
    return [
        Line(**{**row, "decimals": int(row["decimals"]) if row["decimals"] else None})
        for row in csv.DictReader(io.StringIO(text))
    ]


def count(lines: Iterable[Line]) -> Mapping[str, int]:
    """Count the published cells by verdict, in the order match, near, off, not run, no verdict."""
    totals = dict.fromkeys(("match", "near", "off", "not run", ""), 0)
    for line in lines:
        if line.published:
            totals[line.verdict] += 1
    return totals
