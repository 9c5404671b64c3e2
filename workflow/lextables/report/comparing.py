"""The two pages across papers: a leaderboard of models, and what each benchmark can tell apart.

What they show is counted by `lextables.tables.standings` and `lextables.tables.reliability`.
"""

import math
from collections.abc import Iterable, Sequence

from lextables.report import sheets
from lextables.report.layout import Page
from lextables.report.sheets import Sheet
from lextables.tables import reliability as reliable
from lextables.tables import standings
from lextables.tables.comparison import short
from lextables.tables.reliability import Reliability
from lextables.tables.render import label
from lextables.tables.report import Part
from lextables.tables.standings import Benchmark, Model, Row

LEADERBOARD, RELIABILITY = "leaderboard.html", "reliability.html"
NONE, LEVEL = "–", "*"


def pages(parts: Sequence[Part]) -> list[Page]:
    """Return both pages; none where no row of a headline ran."""
    benchmarks = standings.benchmarks(parts)
    models = standings.leaderboard(benchmarks)
    if not models:
        return []
    told = reliable.reliability(benchmarks)
    return [leaderboard(models, benchmarks), reliability(told, benchmarks)]


def leaderboard(models: Iterable[Model], benchmarks: Sequence[Benchmark]) -> Page:
    """Return the page of the models, best first, and of the benchmarks that they ran in."""
    benchmarks = [one for one in benchmarks if not one.rows[0].printed]
    columns = [_benchmark(one) for one in benchmarks]
    rows = []
    for model in models:
        scores = {_benchmark(benchmark): _score(row) for benchmark, row in model.rows}
        across = [scores.get(column, "") for column in columns]
        rows.append([model.name, _number(model.standing, ".2f"), str(len(model.rows)), *across])
    overall = Sheet(
        "Models over all tasks",
        "Standing is the share of the other rows of a benchmark that a model’s best row scores better than, "
        "averaged over the benchmarks that it ran in: 1 is the first everywhere. So read how many these "
        f"are, and which. {LEVEL}: no test tells it from the best that ran. In brackets stands the 95 % "
        "interval over the units of the test set.",
        ["Model", "Standing", "Benchmarks", *columns],
        rows,
    )
    each = [_rows_of(one) for one in benchmarks]
    lead = "One score of each paper’s main tables, for every model that ran here."
    return sheets.page(LEADERBOARD, "Leaderboard", lead, [overall, *each])


def _rows_of(benchmark: Benchmark) -> Sheet:
    rows = [
        [
            row.system,
            row.score,
            f"[{row.low}, {row.high}]" if row.low and row.high else NONE,
            row.seeds or NONE,
            _how(row, first=not at),
        ]
        for at, row in enumerate(benchmark.rows)
    ]
    better = "a lower score is better" if benchmark.lower else "a higher score is better"
    over = f"over {benchmark.units}; " if benchmark.units else ""
    return Sheet(
        _benchmark(benchmark),
        f"{benchmark.measure}, {over}{better}.",
        ["System", "Score", "95 % interval", "Of its seeds", "How it stands"],
        rows,
        ["How it stands"],
        place=f"tables/{benchmark.paper}-{benchmark.table}.html",
    )


def _how(row: Row, first: bool) -> str:
    if row.printed:
        return "printed, not run here"
    return "the best that ran" if first else "not told from the best" if row.level else ""


def reliability(found: Iterable[Reliability], benchmarks: Iterable[Benchmark]) -> Page:
    """Return the page of what each benchmark can tell; ``benchmarks`` are those of the leaderboard."""
    shorts = {benchmark.paper: benchmark.short for benchmark in benchmarks}
    columns = {
        "Benchmark": lambda one: f"{shorts[one.paper]}, {label(one.table)}: {one.measure}",
        "Over": lambda one: one.units or NONE,
        "Best": lambda one: one.best,
        "Width of its interval": lambda one: _number(one.width),
        "Width over seeds": lambda one: _number(one.seeds),
        "Second": lambda one: one.second or NONE,
        "Behind by": lambda one: _number(one.lead),
        "Told apart": lambda one: "" if math.isnan(one.adjusted) else "yes" if one.apart else "no",
        "p, corrected": lambda one: _number(one.adjusted, ".2g"),
        "Least difference found": lambda one: _number(one.detectable),
        "Lead in print": lambda one: _number(one.printed_lead),
        "Lead in print is found": lambda one: {None: NONE, True: "yes", False: "no"}[one.tells_printed_apart],
        "The floor reaches": lambda one: _number(one.floor_reaches, ".0%"),
    }
    rows = [[of(one) for of in columns.values()] for one in found]
    sheet = Sheet("What each benchmark can tell", "", list(columns), rows, ["Over", "Best", "Second"])
    lead = "How far a difference between two systems can be relied on, benchmark by benchmark."
    notes = [
        "The interval is the 95 % sampling interval of the best row over the benchmark’s units.",
        "The least difference found is the paired test’s with 80 % power, by itself and uncorrected.",
        "The floor is the best row that needs no large model, as a share of the best printed score.",
    ]
    return sheets.page(RELIABILITY, "Reliability", lead, [sheet], notes)


def _benchmark(benchmark: Benchmark) -> str:
    return f"{benchmark.short}, {label(benchmark.table)}: {benchmark.measure}"


def _score(row: Row) -> str:
    interval = f" [{row.low}, {row.high}]" if row.low and row.high else ""
    return f"{row.score}{LEVEL if row.level else ''}{interval}"


def _number(value: float, form: str = "") -> str:
    if math.isnan(value):
        return NONE
    return format(value, form) if form else short(value)
