"""One leaderboard of models over the tasks of all papers, from the tables that the report reads.

Of each table that names a headline (`papers.Headline`) it takes that score of every row that ran here, and,
where the data are the paper's, of every printed row that did not.  A model is the same in two papers where
its runs go by the same name.
"""

import csv
import io
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from lextables import spreadsheet
from lextables.papers import TableEntry
from lextables.tables.cells import SPREAD, Line
from lextables.tables.comparison import FLOOR, Contest, Pair, contests
from lextables.tables.published import number


class Exhibit(Protocol):
    """A table as the report has read it."""

    name: str
    entry: TableEntry
    lines: Sequence[Line]
    pairs: Sequence[Pair]


class Part(Protocol):
    """A paper as the report has read it."""

    name: str
    exhibits: Sequence[Exhibit]

    @property
    def short(self) -> str: ...

    @property
    def sources(self) -> Sequence[Mapping[str, Any]]: ...


@dataclass(frozen=True)
class Row:
    """A system in one benchmark: ``score`` with its interval as the table writes them.

    ``model`` is the name that its runs go by, and empty for a row that is ``printed`` and did not run here.
    ``seeds`` is the 95 % prediction interval of its seeds, where it was trained with three or more.
    ``level`` says that no test tells it from the best that ran.  ``standing`` is the share of the other rows
    that ran which it scores better than, from 0, the last, to 1, the first; NaN for a printed row and where
    one alone ran.
    """

    system: str
    model: str
    score: str
    low: str
    high: str
    seeds: str
    level: bool
    standing: float
    printed: bool


@dataclass(frozen=True)
class Benchmark:
    """The headline of a table: its rows best first, those that ran before those that are printed.

    ``contest`` is what the table compares them by, None where fewer than two rows ran, and ``floor`` the best
    printed value with the best of the table's floor, None where one is missing.  ``lower`` says that a lower
    score is better.
    """

    paper: str
    short: str
    table: str
    measure: str
    rows: tuple[Row, ...]
    contest: Contest | None
    floor: Pair | None
    lower: bool

    @property
    def units(self) -> str:
        """How many of which unit the score is over; empty where it is not known."""
        return self.contest.units if self.contest else ""


@dataclass(frozen=True)
class Model:
    """A model with its best row in each benchmark that it ran in; ``standing`` is the mean of theirs."""

    name: str
    standing: float
    rows: tuple[tuple[Benchmark, Row], ...]


def benchmarks(parts: Iterable[Part]) -> list[Benchmark]:
    """Return the headline of each table that names one and has a row, in the order of the papers."""
    found = [
        _benchmark(part, exhibit) for part in parts for exhibit in part.exhibits if exhibit.entry.headline
    ]
    return [one for one in found if one.rows]


def _benchmark(part: Part, exhibit: Exhibit) -> Benchmark:
    headline = exhibit.entry.headline
    contest = next((one for one in contests(exhibit.pairs) if one.measure == headline.measure), None)
    lines = {
        line.row if headline.column else line.column: line
        for line in exhibit.lines
        if (headline.column or headline.row) == (line.column if headline.column else line.row)
    }
    # A column may hold the rows of two contests.
    names = contest.systems if contest else [name for name, line in lines.items() if line.runs]
    ran = {name: lines[name] for name in names if name in lines and _value(lines[name]) is not None}
    sign = 1 if headline.lower else -1
    rows = [*_ran(dict(sorted(ran.items(), key=lambda one: sign * _value(one[1]))), contest)]
    if all(source["comparable"] for source in part.sources):
        printed = {
            name: value for name, line in lines.items()
            if not line.runs and (value := number(line.published)) is not None
        }  # fmt: skip
        rows += [
            Row(name, "", lines[name].published, "", "", "", False, math.nan, True)
            for name in sorted(printed, key=lambda name: sign * printed[name])
        ]
    floors = (pair for pair in exhibit.pairs if (pair.measure, pair.untested) == (headline.measure, FLOOR))
    floor = next(floors, None)
    return Benchmark(
        part.name, part.short, exhibit.name, headline.measure, tuple(rows), contest, floor, headline.lower
    )


def _value(line: Line) -> float | None:
    return number(line.reproduced or line.ours)


def _ran(lines: Mapping[str, Line], contest: Contest | None) -> Iterator[Row]:
    """The rows that ran, of ``lines`` best first."""
    best = next(iter(lines), "")
    tested = contest is not None and bool(contest.pairs)  # too few units tell nothing from anything
    level = {name for group in contest.groups if best in group for name in group} if tested else {best}
    values = [_value(line) for line in lines.values()]
    for name, line in lines.items():
        # Rows that score alike stand alike: each is better than those after all of them.
        after = len(values) - max(at for at, value in enumerate(values) if value == _value(line)) - 1
        standing = after / (len(values) - 1) if len(values) > 1 else math.nan
        model = line.runs.split()[0].split("/")[3]
        seeds = next(
            (found[2] for clause in line.reason.split("; ") if (found := SPREAD.fullmatch(clause))), ""
        )
        score = line.reproduced or line.ours
        yield Row(name, model, score, line.low, line.high, seeds, name in level, standing, False)


def leaderboard(found: Iterable[Benchmark]) -> list[Model]:
    """Return the models that ran, by their mean standing, the best first; of equals who ran in more
    benchmarks.

    A model that has several rows in a benchmark, as other queries or other training make them, stands there
    by its best.  The mean is over the benchmarks that it ran in, so that one which ran in a single easy field
    stands high: the benchmarks belong beside the mean.
    """
    rows: dict[str, list[tuple[Benchmark, Row]]] = defaultdict(list)
    for one in found:
        best: dict[str, Row] = {}
        for row in one.rows:
            if not row.printed:
                best.setdefault(row.model, row)
        for model, row in best.items():
            rows[model].append((one, row))
    models = [
        Model(name, _mean([row.standing for _, row in those]), tuple(those)) for name, those in rows.items()
    ]
    return sorted(models, key=lambda one: (-_or_last(one.standing), -len(one.rows), one.name))


def _mean(standings: Iterable[float]) -> float:
    known = [value for value in standings if not math.isnan(value)]
    return statistics.fmean(known) if known else math.nan


def _or_last(standing: float) -> float:
    return -1.0 if math.isnan(standing) else standing


def to_csv(found: Iterable[Benchmark]) -> str:
    """Return every row of every benchmark as csv text, with its benchmark's paper, table, measure and
    units."""
    out = io.StringIO()
    names = ("paper", "table", "measure", "units", *(field.name for field in fields(Row)))
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for one in found:
        place = {"paper": one.paper, "table": one.table, "measure": one.measure, "units": one.units}
        rows = (place | asdict(row) for row in one.rows)
        writer.writerows({name: spreadsheet.cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()
