"""One leaderboard of models over the tasks of all papers, from the tables that the report reads.

Of each table that names a headline (`papers.Headline`) it takes that score of every row that ran here, and,
where the data are the paper's, of every printed row that did not.  Rows are ranked within a benchmark, and no
mean is taken over benchmarks: few models run in all of them, and some are easier than others.
"""

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

from lextables.papers.registry import TableEntry
from lextables.pipeline import spreadsheet
from lextables.sources.registry import SAMPLE
from lextables.tables import render
from lextables.tables.cells import Line
from lextables.tables.comparison import FLOOR, Contest, Pair, contests
from lextables.tables.published import number


class Exhibit(Protocol):
    """A table as the report has read it."""

    name: str
    entry: TableEntry
    lines: Sequence[Line]
    pairs: Sequence[Pair]
    sources: Sequence[Mapping[str, Any]]


class Part(Protocol):
    """A paper as the report has read it."""

    name: str
    exhibits: Sequence[Exhibit]

    @property
    def short(self) -> str: ...


@dataclass(frozen=True)
class Row:
    """A system in one benchmark: ``score`` with its interval as the table writes them.

    ``model`` is the name that its runs go by, and empty for a row that is ``printed`` and did not run here.
    ``seeds`` is the 95 % prediction interval of its seeds, where it was trained with three or more.
    ``beside_best`` says whether the tests tell it from the best that ran, in words; empty where printed.
    ``rank`` is its place among the rows that ran, from 1, the same for equal scores; 0 for a printed row, for
    one that knows nothing, and where fewer than two have a rank.
    """

    system: str
    model: str
    score: str
    low: str
    high: str
    seeds: str
    beside_best: str
    rank: int
    printed: bool


BEST, LEVEL, BEHIND = "the best that ran", "not told from the best", "behind the best"
UNTESTED, FEW = "not tested against the best", "too few units to be told from the best"


@dataclass(frozen=True)
class Benchmark:
    """The headline of a table: its rows, best first, those that ran before published ones.

    ``contest`` is what the table compares them by, None where fewer than two rows ran, and ``baseline`` the
    best published value with the best baseline, None where one is missing.  ``lower`` says that a lower score
    is better.  ``data_note`` says that the data are not the paper's; it is empty for the sample, whose
    pages all say so.
    """

    paper: str
    short: str
    table: str
    measure: str
    rows: tuple[Row, ...]
    contest: Contest | None
    baseline: Pair | None
    lower: bool
    data_note: str = ""

    @property
    def unranked(self) -> str:
        """Why it has no place in the leaderboard; empty where it has."""
        if self.data_note or any(row.rank for row in self.rows):
            return self.data_note
        return "fewer than two rows ran that know something, or random answers score best"

    @property
    def units(self) -> str:
        """How many of which unit the score is over; empty where it is not known."""
        return self.contest.units if self.contest else ""


@dataclass(frozen=True)
class Model:
    """A model with its best row in each benchmark in which it is ranked."""

    name: str
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
    best_first = dict(sorted(ran.items(), key=lambda one: sign * _value(one[1])))
    rows = [*_ran(best_first, contest, headline.chance)]
    note = render.data_note(exhibit.sources)
    if not note:
        printed = {
            name: value for name, line in lines.items()
            if not line.runs and (value := number(line.published)) is not None
        }  # fmt: skip
        rows += [
            Row(name, "", lines[name].published, "", "", "", "", 0, True)
            for name in sorted(printed, key=lambda name: sign * printed[name])
        ]
    baselines = (pair for pair in exhibit.pairs if (pair.measure, pair.untested) == (headline.measure, FLOOR))
    baseline = next(baselines, None)
    sample = all(source["variant"] == SAMPLE for source in exhibit.sources if not source["comparable"])
    return Benchmark(
        part.name, part.short, exhibit.name, headline.measure, tuple(rows), contest, baseline, headline.lower,
        "" if sample else note,
    )  # fmt: skip


def _value(line: Line) -> float | None:
    return number(line.reproduced or line.ours)


def _ran(lines: Mapping[str, Line], contest: Contest | None, chance: Sequence[str]) -> Iterator[Row]:
    """The rows that ran, of ``lines`` best first; ``chance`` are those that know nothing."""
    best = next(iter(lines), "")
    values = [_value(line) for name, line in lines.items() if name not in chance]
    beaten = all(_value(lines[name]) != _value(lines[best]) for name in chance if name in lines)
    for name, line in lines.items():
        ranked = beaten and len(values) > 1 and name not in chance
        rank = values.index(_value(line)) + 1 if ranked else 0
        model = line.runs.split()[0].split("/")[3]
        seeds = f"{line.prediction_low} to {line.prediction_high}" if line.prediction_low else ""
        score = line.reproduced or line.ours
        beside = BEST if name == best else _beside(name, best, contest)
        yield Row(name, model, score, line.low, line.high, seeds, beside, rank, False)


def _beside(name: str, best: str, contest: Contest | None) -> str:
    """Whether the tests of a contest tell a row from the best one."""
    pairs = contest.pairs if contest else ()
    pair = next((pair for pair in pairs if {pair.one, pair.other} == {name, best}), None)
    if pair is None:
        return UNTESTED
    return BEHIND if pair.differs else FEW if pair.detectable == math.inf else LEVEL


def leaderboard(found: Iterable[Benchmark], names: Mapping[str, str] | None = None) -> list[Model]:
    """Return the models that ran, ordered by how many first ranks they have, then second ones, and so on.

    ``names`` are a user's models, {the name that runs go by: the user's name}, which are one model wherever
    they ran.  Of other rows those are one model that have one name in two benchmarks.  A model with several
    rows in a benchmark, as other queries or other training make them, has the rank of its best.
    """
    rows: dict[str, list[tuple[Benchmark, Row]]] = defaultdict(list)
    for one in found:
        best: dict[str, Row] = {}
        for row in () if one.unranked else one.rows:
            if row.rank:
                of_user = (name for key, name in (names or {}).items() if key in row.model.split("+"))
                best.setdefault(next(of_user, "") or short_names(one)[row.system], row)
        for name, row in best.items():
            rows[name].append((one, row))
    last = max((row.rank for those in rows.values() for _, row in those), default=0)

    def order(model: Model) -> tuple[Any, ...]:
        ranks = [row.rank for _, row in model.rows]
        return [-ranks.count(rank) for rank in range(1, last + 1)], model.name

    return sorted((Model(name, tuple(those)) for name, those in rows.items()), key=order)


def short_names(benchmark: Benchmark) -> dict[str, str]:
    """{system: its name without what all rows of the benchmark begin or end with, or parts called None}.

    The beginning is in whole parts, as ``3 labels / BM25`` has them, and the end in brackets.
    """
    ends = {row.system.partition(" (")[2] for row in benchmark.rows}
    end = f" ({ends.pop()}" if len(benchmark.rows) > len(ends) == 1 else ""
    parts = {row.system: row.system.removesuffix(end).split(" / ") for row in benchmark.rows}
    while len(parts) > 1 and all(len(each) > 1 for each in parts.values()):
        if len({each[0] for each in parts.values()}) > 1:
            break
        parts = {name: each[1:] for name, each in parts.items()}
    return {name: " / ".join(part for part in each if part != "None") or name for name, each in parts.items()}


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
