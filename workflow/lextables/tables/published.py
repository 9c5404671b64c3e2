"""Published values, cell by cell, from ``resources/published/<paper>.csv``."""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lextables.pipeline.errors import BadInput
from lextables.sources import records

COLUMNS = ("table", "row", "column", "value", "decimals", "where")
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
)


def _printed_number(name: str) -> str:
    """A pattern: an optional sign, digits with or without thousands separators, decimals, a percent sign."""
    return rf"(?P<{name}>[+\-−]?(?:(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?|\.\d+)%?)"


_PRINTED = re.compile(
    rf"{_printed_number('number')}(?:\s*(?:±|\+/-)\s*{_printed_number('margin')})?"
)


@dataclass(frozen=True)
class PublishedCell:
    """One cell of a published table or figure.

    ``table``, ``row`` and ``column`` name the cell; ``value`` is the published string without markup;
    ``decimals`` is the number of decimals for comparison, ``None`` for text: more than ``value``
    shows if the paper drops trailing zeros.  ``where`` is the place in the paper.
    """

    table: str
    row: str
    column: str
    value: str
    decimals: int | None
    where: str

    @property
    def number(self) -> float | None:
        """The published number in the table's unit: 54.0 for ``54.0%`` and ``54.0``, 1898.0 for ``1,898``.

        ``0.742+/-0.014`` is 0.742; its margin is ``margin``.  ``None`` for text, which ``NaN``, ``N/A`` and
        ``66M`` are: they have no decimals and are compared as strings.
        """
        return number(self.value)

    @property
    def margin(self) -> float | None:
        """The published error of ``0.742+/-0.014`` or ``0.742 ± 0.014``; ``None`` if there is none."""
        printed = _PRINTED.fullmatch(self.value)
        return _float(printed["margin"]) if printed and printed["margin"] else None


def number(value: str) -> float | None:
    """Return the number that a table shows as ``value``, as `PublishedCell.number` does."""
    printed = _PRINTED.fullmatch(value)
    return _float(printed["number"]) if printed else None


def load(path: str | Path) -> list[PublishedCell]:
    """Return the cells of ``path``, a csv with the columns ``COLUMNS``, in the file's order.

    Raises ``BadInput`` with the file and row if a column is missing or unknown, a field is empty or padded
    with spaces, ``decimals`` is less than ``value`` shows or more than any value of its table shows, or the
    same (table, row, column) occurs twice.
    """
    path = Path(path)
    cells: list[PublishedCell] = []
    places: dict[tuple[str, str, str], str] = {}
    for where, record in _records(path):
        for name in COLUMNS:
            if name != "decimals" and not record[name].strip():
                raise BadInput(
                    f"the {name} is empty", where=where, do=f"write the {name}"
                )
            if record[name] != record[name].strip():
                raise BadInput(
                    f"the {name} {record[name]!r} begins or ends with a space",
                    where=where,
                    do="trim it",
                )
        decimals = _decimals(record["value"], record["decimals"], where)
        cell = PublishedCell(
            record["table"],
            record["row"],
            record["column"],
            record["value"],
            decimals,
            record["where"],
        )
        key = (cell.table, cell.row, cell.column)
        if key in places:
            raise BadInput(
                f"the cell {cell.table} / {cell.row!r} / {cell.column!r} is also at {places[key]}",
                where=where,
                do="keep one of the two",
            )
        places[key] = where
        cells.append(cell)
    _check_more_decimals(cells, places)
    return cells


def to_csv(published: Iterable[str | Path]) -> str:
    """Return the cells of the files in resources/published as csv text with `TIDY_COLUMNS`.

    ``number`` is the published number in the table's own unit (54.0 for `54.0%`) and ``margin`` the published
    error (0.014 for `0.742 ± 0.014`); both are empty for text.  See `PublishedCell` for the other columns.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(TIDY_COLUMNS)
    for path in map(Path, published):
        for cell in load(path):
            writer.writerow(
                [path.stem, *(getattr(cell, name) for name in TIDY_COLUMNS[1:])]
            )
    return out.getvalue()


def _check_more_decimals(
    cells: Iterable[PublishedCell], places: Mapping[tuple[str, str, str], str]
) -> None:
    """A value has more decimals than it shows only where another value of its table shows as many."""
    decimals_of: dict[str, set[int]] = defaultdict(set)
    more = []
    for cell in cells:
        if cell.decimals is not None:
            shows = _shown_decimals(cell.value)
            decimals_of[cell.table].add(shows)
            if shows < cell.decimals:
                more.append(cell)
    for cell in more:
        if cell.decimals not in decimals_of[cell.table]:
            raise BadInput(
                f"decimals is {cell.decimals}, but no value of {cell.table} shows {cell.decimals} decimals",
                where=places[cell.table, cell.row, cell.column],
                do=f"write {_shown_decimals(cell.value)}, the decimals of {cell.value!r}",
            )


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each record (file and row) and the record by column."""
    try:
        with path.open("rb") as file:
            rows = records.csv_rows(file, str(path))
            _, header = next(rows)
            _check_header(header, path)
            for where, fields in rows:
                yield where, dict(zip(header, fields, strict=True))
    except FileNotFoundError as error:
        raise BadInput(
            "no such file",
            where=str(path),
            do="give the path of a file of published values",
        ) from error


def _check_header(header: list[str], path: Path) -> None:
    where, do = f"{path}, row 1", f"the columns are {', '.join(COLUMNS)}"
    for columns, problem in (
        ([name for name in COLUMNS if name not in header], "missing"),
        ([name for name in header if name not in COLUMNS], "unknown"),
        (sorted({name for name in header if header.count(name) > 1}), "repeated"),
    ):
        if columns:
            raise BadInput(
                f"{problem} column: {', '.join(map(repr, columns))}", where=where, do=do
            )


def _decimals(value: str, decimals: str, where: str) -> int | None:
    """Return ``decimals`` as a number (``None`` for text), checked against the published ``value``."""
    shown_decimals = _shown_decimals(value)
    if shown_decimals is None and not decimals:
        return None
    if (
        shown_decimals is None
        or not re.fullmatch(r"\d", decimals)
        or int(decimals) < shown_decimals
    ):
        means = (
            "is text"
            if shown_decimals is None
            else f"is a number with {shown_decimals} decimals"
        )
        raise BadInput(
            f"decimals is {decimals!r}, but the value {value!r} {means}",
            where=where,
            do="leave decimals empty"
            if shown_decimals is None
            else f"write {shown_decimals} as decimals",
        )
    return int(decimals)


def _shown_decimals(value: str) -> int | None:
    printed = _PRINTED.fullmatch(value)
    return len(printed["number"].rstrip("%").partition(".")[2]) if printed else None


def _float(printed: str) -> float:
    return float(printed.rstrip("%").replace(",", "").replace("−", "-"))
