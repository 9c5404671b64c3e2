"""Published values, cell by cell, from ``resources/published/<paper>.csv``."""

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from lextables.pipeline.errors import BadInput
from lextables.sources import records

COLUMNS = ("table", "row", "column", "value", "decimals", "where", "kind", "repeats")
MAY_BE_EMPTY = ("decimals", "repeats")
TIDY_COLUMNS = (
    "paper",
    "table",
    "row",
    "column",
    "value",
    "number",
    "margin",
    "decimals",
    "where",
    "kind",
    "repeats",
)
Kind = Literal["score", "statistic", "text"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# What is needed for a value that nobody can compute, such as the score of a prompt that
# was never published.
NOT_PUBLISHED = "something that was not published"
BETWEEN = " > "  # the parts of a cell's name


def _printed_number(name: str) -> str:
    """A regular expression for a printed number, as the group ``name``: an optional
    sign, digits with or without thousands separators, decimals, a percent sign.
    """
    return rf"(?P<{name}>[+\-−]?(?:(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|\.\d+)%?)"


# {table: {(row, column): kind}} of the cells that repeat no other cell.
FirstKinds = Mapping[str, Mapping[tuple[str, str], Kind]]
TablePlace = tuple[str, str, str]  # the table, the row and the column of a cell
_PRINTED = re.compile(
    rf"{_printed_number('number')}(?:\s*(?:±|\+/-)\s*{_printed_number('margin')})?"
)


@dataclass(frozen=True)
class PublishedCell:
    """One cell of a published table or figure, named by table, row and column."""

    table: str
    row: str
    column: str
    value: str
    """The published string without markup."""
    decimals: int | None
    """The number of decimals for comparison, None for text: more than ``value`` shows
    if the paper drops trailing zeros.
    """
    where: str
    """The place in the paper."""
    kind: Kind = "score"
    """A `score` is the result of a system, a `statistic` a count, share or size that
    describes the data or a model, and a `text` a name, a query or a description.
    """
    repeats: str = ""
    """The `name` of the first cell with the same quantity: the same system, condition,
    data and measure, or the same text.  It is empty for the first cell.
    """

    @property
    def name(self) -> str:
        """The table, the row and the column, as in ``repeats``: ``table3 > BM25 / None
        > NDCG@5``.
        """
        return BETWEEN.join((self.table, self.row, self.column))

    @property
    def number(self) -> float | None:
        """The published number in the table's unit: 54.0 for ``54.0%`` and ``54.0``,
        1898.0 for ``1,898``.

        ``0.742+/-0.014`` is 0.742; its margin is ``margin``.  ``None`` for text, which
        ``NaN``, ``N/A`` and ``66M`` are: they have no decimals and are compared as
        strings.
        """
        return number(self.value)

    @property
    def margin(self) -> float | None:
        """The published error of ``0.742+/-0.014`` or ``0.742 ± 0.014``; ``None`` if
        there is none.
        """
        printed = _PRINTED.fullmatch(self.value)
        return _float(printed["margin"]) if printed and printed["margin"] else None


def first_kinds(cells: Iterable[PublishedCell]) -> FirstKinds:
    """Return {table: {(row, column): kind}} of the cells that repeat no other cell."""
    kinds: dict[str, dict[tuple[str, str], Kind]] = defaultdict(dict)
    for cell in cells:
        if not cell.repeats:
            kinds[cell.table][cell.row, cell.column] = cell.kind
    return kinds


def number(value: str) -> float | None:
    """Return the number that a table shows as ``value``, as `PublishedCell.number`
    does.
    """
    printed = _PRINTED.fullmatch(value)
    return _float(printed["number"]) if printed else None


def load(path: str | Path) -> list[PublishedCell]:
    """Return the cells of ``path``, a csv with the columns ``COLUMNS``, in the file's
    order.

    Raises ``BadInput`` with the file and row if a column is missing or unknown, a field
    is empty or padded with spaces, ``decimals`` is less than ``value`` shows or more
    than any value of its table shows, the same (table, row, column) occurs twice,
    ``kind`` is unknown or does not fit, or ``repeats`` is not the first cell with the
    same value.
    """
    cells: dict[TablePlace, PublishedCell] = {}
    places: dict[TablePlace, str] = {}
    firsts: dict[str, PublishedCell] = {}
    for where, record in _records(Path(path)):
        _check_texts(where, record)
        value = record["value"]
        cell = PublishedCell(
            table=record["table"],
            row=record["row"],
            column=record["column"],
            value=value,
            decimals=_decimals(value, record["decimals"], where),
            where=record["where"],
            kind=_kind(record, where),
            repeats=record["repeats"],
        )
        place = (cell.table, cell.row, cell.column)
        if place in cells:
            name = f"{cell.table} / {cell.row!r} / {cell.column!r}"
            what = f"the cell {name} is also at {places[place]}"
            raise BadInput(what, where=where, do="keep one of the two")
        if cell.repeats:
            _check_repeats(cell, firsts, where)
        else:
            firsts[cell.name] = cell
        cells[place] = cell
        places[place] = where
    _check_more_decimals(cells, places)
    return list(cells.values())


def _check_texts(where: str, record: Mapping[str, str]) -> None:
    """Raise BadInput for a text that is empty or padded with spaces."""
    for name, text in record.items():
        if not text.strip() and name not in MAY_BE_EMPTY:
            what = f"the {name} is empty"
            raise BadInput(what, where=where, do=f"write the {name}")
        if text != text.strip():
            what = f"the {name} {text!r} begins or ends with a space"
            raise BadInput(what, where=where, do="trim it")


def to_csv(published: Iterable[str | Path]) -> str:
    """Return the cells of the files in resources/published as csv text with
    `TIDY_COLUMNS`.

    ``number`` is the published number in the table's own unit (54.0 for `54.0%`) and
    ``margin`` the published error (0.014 for `0.742 ± 0.014`); both are empty for text.
    See `PublishedCell` for the other columns.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(TIDY_COLUMNS)
    for path in map(Path, published):
        for cell in load(path):
            values = [getattr(cell, name) for name in TIDY_COLUMNS[1:]]
            writer.writerow([path.stem, *values])
    return out.getvalue()


def _check_more_decimals(
    cells: Mapping[TablePlace, PublishedCell], places: Mapping[TablePlace, str]
) -> None:
    """Raise BadInput for a number of decimals that no value of the table shows."""
    shown: dict[str, set[int | None]] = defaultdict(set)
    for cell in cells.values():
        shown[cell.table].add(_shown_decimals(cell.value))
    for place, cell in cells.items():
        decimals = cell.decimals
        if decimals is None or decimals in shown[cell.table]:
            continue
        what = f"decimals is {decimals}, but no value of {cell.table} shows {decimals} decimals"
        fewer = _shown_decimals(cell.value)
        raise BadInput(
            what,
            where=places[place],
            do=f"write {fewer}, the decimals of {cell.value!r}",
        )


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each record (file and row) and the record by column."""
    if not path.exists():
        do = "give the path of a file of published values"
        raise BadInput("no such file", where=str(path), do=do)
    with path.open("rb") as file:
        for where, record in records.csv_records(file, str(path), COLUMNS):
            unknown = sorted(record.keys() - set(COLUMNS))
            if unknown:
                do = f"the columns are {', '.join(COLUMNS)}"
                raise BadInput(f"unknown column: {unknown[0]!r}", where=where, do=do)
            yield where, record


def _decimals(value: str, decimals: str, where: str) -> int | None:
    """Return ``decimals`` as a number (``None`` for text), checked against the
    published ``value``.
    """
    shown = _shown_decimals(value)
    if shown is None:
        means = "is text"
        do = "leave decimals empty"
        fits = decimals == ""
    else:
        means = f"is a number with {shown} decimals"
        do = f"write {shown} as decimals"
        is_digit = re.fullmatch(r"\d", decimals) is not None
        fits = is_digit and int(decimals) >= shown
    if not fits:
        what = f"decimals is {decimals!r}, but the value {value!r} {means}"
        raise BadInput(what, where=where, do=do)
    return int(decimals) if decimals else None


def _kind(record: Mapping[str, str], where: str) -> Kind:
    """Return the kind of a record.

    Raises BadInput if it is unknown, or is `text` although the value is a number.
    """
    for kind in KINDS:
        if record["kind"] == kind:
            break
    else:
        do = f"write one of {', '.join(KINDS)}"
        raise BadInput(f"unknown kind: {record['kind']!r}", where=where, do=do)
    if kind == "text" and record["decimals"]:
        what = f"the kind is text, but the value {record['value']!r} is a number"
        raise BadInput(what, where=where, do="write score or statistic")
    return kind


def _check_repeats(
    cell: PublishedCell, firsts: Mapping[str, PublishedCell], where: str
) -> None:
    """Raise BadInput unless ``cell`` repeats one of ``firsts`` with the same kind and
    value.

    ``firsts`` are the cells above it that repeat no other cell, by their names.
    """
    first = firsts.get(cell.repeats)
    if first is None:
        what = (
            f"repeats is {cell.repeats!r}, which names no cell above that repeats none"
        )
        raise BadInput(what, where=where, do="name the first cell with this value")
    if first.kind != cell.kind:
        what = f"the kind is {cell.kind}, but that of {cell.repeats!r} is {first.kind}"
        raise BadInput(what, where=where, do="write the same kind in both")
    if not same_quantity(first, cell):
        what = f"the value {cell.value!r} repeats {first.value!r} at {cell.repeats!r}"
        raise BadInput(what, where=where, do="leave repeats empty: the values differ")


def same_quantity(first: PublishedCell, second: PublishedCell) -> bool:
    """Whether two cells have the same value: equal texts, or equal numbers, of which
    one may be in per cent.

    Margins and the case of letters do not count.
    """
    if first.number is None or second.number is None:
        return first.value.casefold() == second.value.casefold()
    scales = (1.0, 100.0, 0.01)
    return any(math.isclose(scale * first.number, second.number) for scale in scales)


def _shown_decimals(value: str) -> int | None:
    """The number of decimals of a published value; None for text."""
    printed = _PRINTED.fullmatch(value)
    if not printed:
        return None
    return len(printed["number"].rstrip("%").partition(".")[2])


def _float(printed: str) -> float:
    return float(printed.rstrip("%").replace(",", "").replace("−", "-"))
