"""The leaderboard: one sorted table for each headline score.

Of each table that names a headline (`papers.registry.Headline`) it shows that score of every row that ran
here and, where the data are the paper's, of every published row that did not.  The groups are those of the
table's paired tests: rows in the same group do not differ.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lextables.report.layout import Page
from lextables.report.results import Exhibit, Part
from lextables.sources.registry import SAMPLE
from lextables.tables.cells import Line
from lextables.tables.comparison import Comparison, comparisons
from lextables.tables.published import number
from lextables.tables.render import data_note, label

PATH, TEMPLATE = "leaderboard.html", "leaderboard.html.j2"
NONE = "–"


@dataclass(frozen=True)
class Row:
    """A system in one benchmark: ``score`` with its interval as the table writes them.

    ``seeds`` is the 95 % prediction interval of three or more seeds.  ``groups`` are the numbers of its
    groups in the paired tests; it is empty for a row that was not tested.  ``run`` is the folder of its first
    run; it is empty for a published row that was not run here.
    """

    system: str
    score: str
    low: str = ""
    high: str = ""
    seeds: str = ""
    groups: str = ""
    run: str = ""

    @property
    def interval(self) -> str:
        """The 95 % interval of the score as text."""
        return f"[{self.low}, {self.high}]" if self.low and self.high else NONE


@dataclass(frozen=True)
class Benchmark:
    """The headline of a table: its rows, best first, those that ran before published ones.

    ``units`` are the number and kind of the units of the paired tests, empty without tests.  ``lower``: a
    lower score is better.  ``data_note`` says that the data are not the paper's; it is empty for the sample,
    whose pages all have a banner.
    """

    paper: str
    short: str
    table: str
    measure: str
    rows: tuple[Row, ...]
    units: str = ""
    lower: bool = False
    data_note: str = ""

    @property
    def name(self) -> str:
        """The paper, the table and the measure."""
        return f"{self.short}, {label(self.table)}: {self.measure}"


def benchmarks(parts: Iterable[Part]) -> list[Benchmark]:
    """Return the headline of each table that names one and has a row that ran, in the order of the papers."""
    headlines = [
        _benchmark(part, exhibit)
        for part in parts
        for exhibit in part.exhibits
        if exhibit.entry.headline
    ]
    return [each for each in headlines if each.rows and each.rows[0].run]


def headline_lines(exhibit: Exhibit) -> dict[str, Line]:
    """Return {system: its line} of a table's headline."""
    headline = exhibit.entry.headline
    return {
        line.row if headline.column else line.column: line
        for line in exhibit.lines
        if (headline.column or headline.row)
        == (line.column if headline.column else line.row)
    }


def _benchmark(part: Part, exhibit: Exhibit) -> Benchmark:
    headline = exhibit.entry.headline
    of_measure = [
        each
        for each in comparisons(exhibit.pairs)
        if each.measure == headline.compared_by
    ]
    comparison = of_measure[0] if of_measure else None
    lines = headline_lines(exhibit)
    # A column may hold rows that are compared by two measures.
    names = (
        comparison.systems
        if comparison
        else [name for name, line in lines.items() if line.runs]
    )
    scores = {name: _value(lines[name]) for name in names if name in lines}
    ran = [name for name, score in scores.items() if score is not None]
    ran.sort(key=lambda name: scores[name], reverse=not headline.lower)
    rows = [_row(name, lines[name], comparison) for name in ran]
    note = data_note(exhibit.sources)
    if not note:
        rows += _published_rows(lines, headline.lower)
    sample = all(
        source["variant"] == SAMPLE
        for source in exhibit.sources
        if not source["comparable"]
    )
    return Benchmark(
        part.name,
        part.short,
        exhibit.name,
        headline.compared_by,
        tuple(rows),
        comparison.units if comparison else "",
        headline.lower,
        "" if sample else note,
    )


def _value(line: Line) -> float | None:
    return number(line.reproduced or line.ours)


def _row(system: str, line: Line, comparison: Comparison | None) -> Row:
    """The row of a system that ran."""
    seeds = (
        f"{line.prediction_low} to {line.prediction_high}"
        if line.prediction_low
        else ""
    )
    groups = ", ".join(_groups(system, comparison)) if comparison else ""
    score = line.reproduced or line.ours
    return Row(system, score, line.low, line.high, seeds, groups, line.runs.split()[0])


def _groups(system: str, comparison: Comparison) -> list[str]:
    """The 1-based numbers of a system's groups, as on the table's page; empty if it was never tested."""
    if not any(system in (pair.one, pair.other) for pair in comparison.pairs):
        return []
    return [
        str(place)
        for place, group in enumerate(comparison.groups, 1)
        if system in group
    ]


def _published_rows(lines: Mapping[str, Line], lower: bool) -> list[Row]:
    """The published rows that were not run here, best first."""
    scores = {}
    for name, line in lines.items():
        score = number(line.published)
        if not line.runs and score is not None:
            scores[name] = score
    best_first = sorted(scores, key=lambda name: scores[name], reverse=not lower)
    return [Row(name, lines[name].published) for name in best_first]


# The page


def pages(parts: Sequence[Part], trained_on: Mapping[str, str]) -> list[Page]:
    """Return the page, none if no row of a headline ran.

    ``trained_on`` is {folder of a run: the data sets that its models were trained on, as text}.
    """
    headlines = benchmarks(parts)
    return [page(headlines, trained_on)] if headlines else []


def page(headlines: Sequence[Benchmark], trained_on: Mapping[str, str]) -> Page:
    """Return the page of the benchmarks; those on data that are not the paper's are only named."""
    values: dict[str, Any] = {
        "benchmarks": [
            (each, [*_cells(each, trained_on)])
            for each in headlines
            if not each.data_note
        ],
        "notes": [
            f"Not shown: {each.name} ({each.data_note})."
            for each in headlines
            if each.data_note
        ],
    }
    return Page(PATH, "Leaderboard", TEMPLATE, values, "page", [("Leaderboard", PATH)])


def _cells(benchmark: Benchmark, trained_on: Mapping[str, str]) -> Iterator[list[str]]:
    for row in benchmark.rows:
        groups = (row.groups or NONE) if row.run else "published, not run here"
        cells = [row.system, row.score, row.interval, row.seeds or NONE, groups]
        yield [*cells, trained_on.get(row.run, NONE)]
