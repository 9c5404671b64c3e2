"""The leaderboard: one sorted table for each headline score.

A headline is the main score of a table (`registry.paper.Headline`).  The leaderboard
shows it for every row that ran here and is compared with others (`tables.systems`).
Where the data are the paper's, published rows that did not run follow.  The groups are
those of the table's paired tests: rows in the same group do not differ.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lextables.registry.paper import Headline
from lextables.report.layout import Link, Page
from lextables.report.results import Exhibit, Part
from lextables.sources.entries import SAMPLE
from lextables.tables.cells import Line
from lextables.tables.comparison import Comparison, comparisons
from lextables.tables.inputs import data_note
from lextables.tables.published import number
from lextables.tables.render import label

PATH = "leaderboard.html"
TEMPLATE = "leaderboard.html.j2"
TITLE = "Leaderboard"
NONE = "–"


@dataclass(frozen=True)
class RankedRow:
    """A system in one benchmark: ``score`` with its interval as the table writes them.

    ``seeds`` is the 95 % prediction interval of three or more seeds.  ``groups`` are
    the numbers of its groups in the paired tests; it is empty for a row that was not
    tested.  ``run`` is the folder of its first run; it is empty for a published row
    that was not run here.  ``note`` is the table's note on the score, such as that its
    model was trained on test texts, or why there is no verdict.
    """

    system: str
    score: str
    low: str = ""
    high: str = ""
    seeds: str = ""
    groups: str = ""
    run: str = ""
    note: str = ""

    @property
    def interval(self) -> str:
        """The 95 % interval of the score as text."""
        return f"[{self.low}, {self.high}]" if self.low and self.high else NONE


@dataclass(frozen=True)
class Benchmark:
    """The headline of a table with its rows: first the rows that ran, then published
    rows, each best first.

    ``units`` are the number and kind of the units of the paired tests, empty without
    tests.  ``lower``: a lower score is better.  ``data_note`` says that the data are
    not the paper's; it is empty for the sample, whose pages all have a banner.
    """

    paper: str
    short: str
    table: str
    measure: str
    rows: tuple[RankedRow, ...]
    units: str = ""
    lower: bool = False
    data_note: str = ""

    @property
    def name(self) -> str:
        """The paper, the table and the measure."""
        return f"{self.short}, {label(self.table)}: {self.measure}"


def benchmarks(parts: Iterable[Part]) -> list[Benchmark]:
    """Return the headline of each table that names one and has a row that ran, in the
    order of the papers.
    """
    headlines = []
    for part in parts:
        for exhibit in part.exhibits:
            if exhibit.entry.headline:
                benchmark = _benchmark(part, exhibit, exhibit.entry.headline)
                if benchmark.rows and benchmark.rows[0].run:
                    headlines.append(benchmark)
    return headlines


def headline_lines(exhibit: Exhibit) -> dict[str, Line]:
    """Return {system: its line} of a table's headline.

    The systems are the rows of the headline's column, or the columns of its row.
    """
    headline = exhibit.entry.headline
    assert headline is not None  # only such tables are benchmarks
    lines = {}
    for line in exhibit.lines:
        if headline.column and line.column == headline.column:
            lines[line.row] = line
        elif not headline.column and line.row == headline.row:
            lines[line.column] = line
    return lines


def _benchmark(part: Part, exhibit: Exhibit, headline: Headline) -> Benchmark:
    """The headline of a table: its rows that ran, then published rows that did not."""
    lines = headline_lines(exhibit)
    ran = []
    published = {}
    for name, line in lines.items():
        if line.runs:
            if line.system:  # else rows are not compared by this score
                ran.append(name)
        else:
            published[name] = number(line.published)
    comparison = None
    units = ""
    for each in comparisons(exhibit.pairs):
        if each.measure == headline.compared_by:
            comparison = each
            units = each.units
            # A column may hold rows that are compared by two measures.
            ran = [name for name in each.systems if name in lines]
    scores = {name: _score(lines[name]) for name in ran}
    rows = []
    for name in _best_first(scores, headline.lower):
        rows.append(_row(name, lines[name], comparison))
    note = data_note(exhibit.sources)
    if not note:
        for name in _best_first(published, headline.lower):
            rows.append(RankedRow(name, lines[name].published))
    # Pages of the sample have a banner instead of a note.
    not_comparable = [each for each in exhibit.sources if not each["comparable"]]
    if all(source["variant"] == SAMPLE for source in not_comparable):
        note = ""
    return Benchmark(
        paper=part.name,
        short=part.short,
        table=exhibit.name,
        measure=headline.compared_by,
        rows=tuple(rows),
        units=units,
        lower=headline.lower,
        data_note=note,
    )


def _best_first(scores: Mapping[str, float | None], lower: bool) -> list[str]:
    """The names with a score, best first."""
    defined_scores = {
        name: score for name, score in scores.items() if score is not None
    }
    return sorted(defined_scores, key=defined_scores.__getitem__, reverse=not lower)


def _score(line: Line) -> float | None:
    return number(line.reproduced or line.ours)


def _row(system: str, line: Line, comparison: Comparison | None) -> RankedRow:
    """The row of a system that ran; its groups are numbered from 1, as on the table's
    page.
    """
    seeds = ""
    if line.prediction_low:
        seeds = f"{line.prediction_low} to {line.prediction_high}"
    groups = []
    if comparison and any(
        system in (pair.one, pair.other) for pair in comparison.pairs
    ):
        for place, group in enumerate(comparison.groups, 1):
            if system in group:
                groups.append(str(place))
    return RankedRow(
        system=system,
        score=line.reproduced or line.ours,
        low=line.low,
        high=line.high,
        seeds=seeds,
        groups=", ".join(groups),
        run=line.runs.split()[0],
        note=line.reason,
    )


# The page


@dataclass(frozen=True)
class LeaderboardPage:
    """The content of the page; ``others`` are benchmarks with a note on their data,
    which are only named.

    ``trained_on`` is {folder of a run: the data sets that its models were trained on,
    as text}.
    """

    benchmarks: Sequence[Benchmark]
    others: Sequence[Benchmark]
    trained_on: Mapping[str, str]


def pages(parts: Sequence[Part], trained_on: Mapping[str, str]) -> list[Page]:
    """Return the page, none if no row of a headline ran."""
    headlines = benchmarks(parts)
    return [page(headlines, trained_on)] if headlines else []


def page(headlines: Sequence[Benchmark], trained_on: Mapping[str, str]) -> Page:
    """Return the page of the benchmarks."""
    shown: list[Benchmark] = []
    others: list[Benchmark] = []
    for each in headlines:
        part = others if each.data_note else shown
        part.append(each)
    content = LeaderboardPage(shown, others, trained_on)
    trail = [Link(TITLE, PATH)]
    return Page(PATH, TITLE, TEMPLATE, content, trail)
