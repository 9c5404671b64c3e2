"""The leaderboard: ranks of models over the headline scores of all papers.

Of each table that names a headline (`papers.registry.Headline`) it shows that score of every row that ran
here and, where the data are the paper's, of every published row that did not.  Rows are ranked within a
benchmark. There is no mean over benchmarks: few models ran in all of them, and some are easier than others.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lextables.pipeline import user_rows
from lextables.report.layout import Page
from lextables.report.results import Exhibit, Part
from lextables.sources.registry import SAMPLE
from lextables.tables.cells import Line
from lextables.tables.comparison import Comparison, comparisons
from lextables.tables.published import number
from lextables.tables.render import data_note, label

PATH, TEMPLATE = "leaderboard.html", "leaderboard.html.j2"
BEST, LEVEL, BEHIND = "the best that ran", "not distinguished from the best", "behind the best"
UNTESTED, FEW = "not tested against the best", "too few units to be distinguished from the best"
NONE, MARK = "–", "*"


@dataclass(frozen=True)
class Row:
    """A system in one benchmark: ``score`` with its interval as the table writes them.

    ``model`` is the name of the model in the folders of its runs, and empty for a ``published`` row that did
    not run here.  ``seeds`` is the 95 % prediction interval of three or more seeds.  ``beside_best`` says
    whether the tests tell it from the best row that ran; it is empty for published rows.  ``rank`` is its
    place among the rows that ran, from 1, the same for equal scores; 0 for a published row, for random
    answers and the like, and where fewer than two rows have a rank.
    """

    system: str
    model: str
    score: str
    low: str
    high: str
    seeds: str
    beside_best: str
    rank: int
    published: bool


@dataclass(frozen=True)
class Benchmark:
    """The headline of a table: its rows, best first, those that ran before published ones.

    ``comparison`` has the tests between the rows; it is None where fewer than two rows ran.  ``lower``: a
    lower score is better.  ``data_note`` says that the data are not the paper's; it is empty for the sample,
    whose pages all have a banner.
    """

    paper: str
    short: str
    table: str
    measure: str
    rows: tuple[Row, ...]
    comparison: Comparison | None
    lower: bool
    data_note: str = ""

    @property
    def unranked(self) -> str:
        """Why it has no place in the leaderboard; empty if it has one."""
        if self.data_note or any(row.rank for row in self.rows):
            return self.data_note
        return "fewer than two rows ran that know something, or random answers score best"

    @property
    def name(self) -> str:
        """The paper, the table and the measure."""
        return f"{self.short}, {label(self.table)}: {self.measure}"


@dataclass(frozen=True)
class Model:
    """A model with its best row in each benchmark in which it is ranked."""

    name: str
    rows: tuple[tuple[Benchmark, Row], ...]


def benchmarks(parts: Iterable[Part]) -> list[Benchmark]:
    """Return the headline of each table that names one and has a row that ran, in the order of the papers."""
    found = [
        _benchmark(part, exhibit) for part in parts for exhibit in part.exhibits if exhibit.entry.headline
    ]
    return [each for each in found if each.rows and not each.rows[0].published]


def _benchmark(part: Part, exhibit: Exhibit) -> Benchmark:
    headline = exhibit.entry.headline
    comparison = next(
        (one for one in comparisons(exhibit.pairs) if one.measure == headline.compared_by), None
    )
    lines = {
        line.row if headline.column else line.column: line
        for line in exhibit.lines
        if (headline.column or headline.row) == (line.column if headline.column else line.row)
    }
    # A column may hold rows that are compared by two measures.
    names = comparison.systems if comparison else [name for name, line in lines.items() if line.runs]
    ran = {name: lines[name] for name in names if name in lines and _value(lines[name]) is not None}
    sign = 1 if headline.lower else -1
    best_first = dict(sorted(ran.items(), key=lambda item: sign * _value(item[1])))
    rows = [*_rows_that_ran(best_first, comparison, headline.chance)]
    note = data_note(exhibit.sources)
    if not note:
        published = {
            name: value for name, line in lines.items()
            if not line.runs and (value := number(line.published)) is not None
        }  # fmt: skip
        rows += [
            Row(name, "", lines[name].published, "", "", "", "", 0, True)
            for name in sorted(published, key=lambda name: sign * published[name])
        ]
    sample = all(source["variant"] == SAMPLE for source in exhibit.sources if not source["comparable"])
    return Benchmark(
        part.name, part.short, exhibit.name, headline.compared_by, tuple(rows), comparison, headline.lower,
        "" if sample else note,
    )  # fmt: skip


def _value(line: Line) -> float | None:
    return number(line.reproduced or line.ours)


def _rows_that_ran(
    lines: Mapping[str, Line], comparison: Comparison | None, chance: Sequence[str]
) -> Iterator[Row]:
    """Rows of ``lines``, which are best first; rows in ``chance`` get no rank."""
    best = next(iter(lines), "")
    values = [_value(line) for name, line in lines.items() if name not in chance]
    beaten = all(_value(lines[name]) != _value(lines[best]) for name in chance if name in lines)
    for name, line in lines.items():
        ranked = beaten and len(values) > 1 and name not in chance
        rank = values.index(_value(line)) + 1 if ranked else 0
        model = line.runs.split()[0].split("/")[3]
        seeds = f"{line.prediction_low} to {line.prediction_high}" if line.prediction_low else ""
        score = line.reproduced or line.ours
        beside = BEST if name == best else _beside(name, best, comparison)
        yield Row(name, model, score, line.low, line.high, seeds, beside, rank, False)


def _beside(name: str, best: str, comparison: Comparison | None) -> str:
    """Whether the tests tell a row from the best one."""
    pairs = comparison.pairs if comparison else ()
    pair = next((pair for pair in pairs if {pair.one, pair.other} == {name, best}), None)
    if pair is None:
        return UNTESTED
    return BEHIND if pair.differs else FEW if pair.detectable == math.inf else LEVEL


def leaderboard(found: Iterable[Benchmark], names: Mapping[str, str] | None = None) -> list[Model]:
    """Return the models that ran, ordered by how many first ranks they have, then second ones, and so on.

    ``names`` are a user's models, {name in the folders of runs: the user's name}; each is one model wherever
    it ran.  Other rows are one model if they have the same name in two benchmarks.  A model with several rows
    in a benchmark has the rank of its best row.
    """
    rows: dict[str, list[tuple[Benchmark, Row]]] = defaultdict(list)
    for benchmark in found:
        best: dict[str, Row] = {}
        for row in () if benchmark.unranked else benchmark.rows:
            if row.rank:
                of_user = (name for key, name in (names or {}).items() if key in row.model.split("+"))
                best.setdefault(next(of_user, "") or short_names(benchmark)[row.system], row)
        for name, row in best.items():
            rows[name].append((benchmark, row))
    last = max((row.rank for those in rows.values() for _, row in those), default=0)

    def order(model: Model) -> tuple[Any, ...]:
        ranks = [row.rank for _, row in model.rows]
        return [-ranks.count(rank) for rank in range(1, last + 1)], model.name

    return sorted((Model(name, tuple(those)) for name, those in rows.items()), key=order)


def short_names(benchmark: Benchmark) -> dict[str, str]:
    """{system: its name without what all rows of the benchmark begin or end with, or parts called None}.

    The common beginning is whole parts (``3 labels / BM25``), and the common end is in brackets.
    """
    ends = {row.system.partition(" (")[2] for row in benchmark.rows}
    end = f" ({ends.pop()}" if len(benchmark.rows) > len(ends) == 1 else ""
    parts = {row.system: row.system.removesuffix(end).split(" / ") for row in benchmark.rows}
    while len(parts) > 1 and all(len(each) > 1 for each in parts.values()):
        if len({each[0] for each in parts.values()}) > 1:
            break
        parts = {name: each[1:] for name, each in parts.items()}
    return {name: " / ".join(part for part in each if part != "None") or name for name, each in parts.items()}


# The page


def pages(parts: Sequence[Part], config: Mapping[str, Any]) -> list[Page]:
    """Return the page, none if no row of a headline ran; ``config`` has the names of a user's models."""
    found = benchmarks(parts)
    if not found:
        return []
    extras = [*(config.get("extra_models") or ()), *(config.get("extra_predictions") or ())]
    models = leaderboard(found, {user_rows.key(extra["name"]): extra["name"] for extra in extras})
    return [page(models, found)]


def page(models: Iterable[Model], found: Sequence[Benchmark]) -> Page:
    """Return the page of the models' ranks, and of the benchmarks that they ran in."""
    ranked = [benchmark for benchmark in found if not benchmark.unranked]
    rows = []
    for model in models:
        scores = {benchmark.name: _score(row) for benchmark, row in model.rows}
        cells = [scores.get(benchmark.name, "") for benchmark in ranked]
        rows.append([model.name, str(len(model.rows)), *cells])
    values = {
        "columns": ["Model", "Benchmarks", *(benchmark.name for benchmark in ranked)],
        "rows": rows,
        "benchmarks": [(benchmark, _cells(benchmark)) for benchmark in ranked],
        "notes": [f"Not ranked: {each.name} ({each.unranked})." for each in found if each.unranked],
        "mark": MARK,
    }
    return Page(PATH, "Leaderboard", TEMPLATE, values, "page", [("Leaderboard", PATH)])


def _cells(benchmark: Benchmark) -> list[list[str]]:
    return [
        [
            row.system,
            row.score,
            f"[{row.low}, {row.high}]" if row.low and row.high else NONE,
            row.seeds or NONE,
            str(row.rank or NONE),
            row.beside_best or "published, not run here",
        ]
        for row in benchmark.rows
    ]


def _score(row: Row) -> str:
    return f"{row.rank}: {row.score}{MARK if row.beside_best in (BEST, LEVEL) else ''}"
