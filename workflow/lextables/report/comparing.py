"""The two pages across papers: a leaderboard of models, and what each benchmark can tell apart.

What they show is counted by `lextables.tables.standings` and `lextables.tables.reliability`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lextables.pipeline import user_rows
from lextables.report import sheets
from lextables.report.layout import Page
from lextables.report.sheets import Sheet
from lextables.tables import reliability as reliable
from lextables.tables import standings
from lextables.tables.reliability import Reliability
from lextables.tables.render import label
from lextables.tables.report import Part
from lextables.tables.standings import Benchmark, Model, Row

LEADERBOARD, RELIABILITY = "leaderboard.html", "reliability.html"
NONE, LEVEL = "–", "*"
IN_EITHER = (standings.BEST, standings.LEVEL)


def pages(parts: Sequence[Part], config: Mapping[str, Any]) -> list[Page]:
    """Return both pages; ``config`` says what the user's models are called.

    Where no row of a headline ran there is no leaderboard, and without the papers' data no reliability.
    """
    benchmarks = [one for one in standings.benchmarks(parts) if not one.rows[0].printed]
    extras = [*(config.get("extra_models") or ()), *(config.get("extra_predictions") or ())]
    models = standings.leaderboard(
        benchmarks, {user_rows.key(extra["name"]): extra["name"] for extra in extras}
    )
    told = reliable.reliability(benchmarks)
    found = [leaderboard(models, benchmarks)] if benchmarks else []
    return [*found, reliability(told, benchmarks)] if told else found


def leaderboard(models: Iterable[Model], benchmarks: Sequence[Benchmark]) -> Page:
    """Return the page of the models' ranks, and of the benchmarks that they ran in."""
    ranked = [one for one in benchmarks if not one.unranked]
    columns = [_benchmark(one) for one in ranked]
    rows = []
    for model in models:
        scores = {_benchmark(benchmark): _score(row) for benchmark, row in model.rows}
        rows.append([model.name, str(len(model.rows)), *(scores.get(column, "") for column in columns)])
    overall = Sheet(
        "Ranks by benchmark",
        "A model’s rank in each benchmark that it ran in, by its best row there, and the score. Models with "
        "more first ranks come first, then those with more second ranks, and so on. This order is no score: "
        "few models ran in every benchmark. "
        f"{LEVEL}: the best that ran, or tested and not told from it.",
        ["Model", "Benchmarks", *columns],
        rows,
    )
    each = [_rows_of(one) for one in ranked]
    lead = "One score of each paper’s main tables, for every model that ran here on the paper’s data."
    notes = [f"Not ranked: {_benchmark(one)} ({one.unranked})." for one in benchmarks if one.unranked]
    return sheets.page(LEADERBOARD, "Leaderboard", lead, [overall, *each] if ranked else [], notes)


def _rows_of(benchmark: Benchmark) -> Sheet:
    rows = [
        [
            row.system,
            row.score,
            f"[{row.low}, {row.high}]" if row.low and row.high else NONE,
            row.seeds or NONE,
            str(row.rank or NONE),
            row.beside_best or "printed, not run here",
        ]
        for row in benchmark.rows
    ]
    better = "a lower score is better" if benchmark.lower else "a higher score is better"
    over = f"over {benchmark.units}; " if benchmark.units else ""
    return Sheet(
        _benchmark(benchmark),
        f"{benchmark.measure}, {over}{better}.",
        ["System", "Score", "95 % interval", "Of its seeds", "Rank", "Beside the best"],
        rows,
        ["Beside the best"],
        place=f"tables/{benchmark.paper}-{benchmark.table}.html",
    )


def reliability(found: Iterable[Reliability], benchmarks: Iterable[Benchmark]) -> Page:
    """Return the page of what each benchmark can tell; ``benchmarks`` are those of the leaderboard."""
    shorts = {benchmark.paper: benchmark.short for benchmark in benchmarks}
    columns = {
        "Benchmark": lambda one: f"{shorts[one.paper]}, {label(one.table)}: {one.measure}",
        "Over": lambda one: one.units or NONE,
        "Best": lambda one: one.best,
        "Width of its interval": lambda one: _number(one.width, ".1%"),
        "Width over seeds": lambda one: _number(one.seeds, ".1%"),
        "Second": lambda one: one.second or NONE,
        "Behind by": lambda one: _number(one.lead, ".1%"),
        "Told apart": _told_apart,
        "p, corrected": lambda one: _number(one.adjusted, ".2g"),
        "Detectable difference": lambda one: _number(one.detectable, ".1%"),
        "Lead in print": lambda one: _number(one.printed_lead, ".1%"),
        "Lead in print is detectable": lambda one: {None: NONE, True: "yes", False: "no"}[
            one.tells_printed_apart
        ],
        "The baseline reaches": lambda one: _number(one.baseline_reaches, ".0%"),
    }
    rows = [[of(one) for of in columns.values()] for one in found]
    sheet = Sheet("What each benchmark can tell", "", list(columns), rows, ["Over", "Best", "Second"])
    lead = "How far a difference between two systems can be relied on, benchmark by benchmark."
    notes = [
        "Lengths and differences are shares of the best row’s score, so that benchmarks can be compared.",
        "The interval is the 95 % sampling interval of the best row over the benchmark’s units.",
        "The detectable difference is found in four cases of five after the correction for all pairs of the "
        "table; it is the median over its pairs, and “none” where the units are too few for so many pairs.",
        "The baseline is the best row that needs no large model, as a share of the best printed score.",
    ]
    return sheets.page(RELIABILITY, "Reliability", lead, [sheet], notes)


def _told_apart(one: Reliability) -> str:
    if math.isnan(one.adjusted):
        return "untested" if one.second else NONE
    return "yes" if one.apart else "no"


def _benchmark(benchmark: Benchmark) -> str:
    return f"{benchmark.short}, {label(benchmark.table)}: {benchmark.measure}"


def _score(row: Row) -> str:
    return f"{row.rank}: {row.score}{LEVEL if row.beside_best in IN_EITHER else ''}"


def _number(value: float, form: str) -> str:
    return NONE if math.isnan(value) else "none" if math.isinf(value) else format(value, form)
