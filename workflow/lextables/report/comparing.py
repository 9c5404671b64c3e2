"""The two pages across papers: the leaderboard of models, and what each benchmark can tell apart."""

import math
from collections.abc import Sequence

from lextables.report import sheets
from lextables.report.layout import Page
from lextables.report.sheets import Sheet
from lextables.tables import render
from lextables.tables.comparison import short
from lextables.tables.reliability import Reliability, reliability
from lextables.tables.report import Part
from lextables.tables.standings import Benchmark, Model, Row, benchmarks, leaderboard

LEVEL = "≈ best"
STANDING = (
    "A model’s standing in a benchmark is the share of the other rows that ran there which it scores "
    "better than: 1 is the first and 0 the last. The models are ordered by its mean over the benchmarks "
    "that they ran in, so read how many these are, and which. In brackets stands the 95 % interval over "
    "the units of the test set; “≈ best” marks what no test tells from the best that ran."
)
WIDTHS = (
    "All widths and differences are in the unit of the score. The interval is the 95 % sampling interval "
    "over the units of the test set, that of the seeds where new ones would lie. Two rows are told apart "
    "by a paired test over these units, at 5 % after Holm’s correction over all pairs of the table; the "
    "difference found in four of five cases is that of a single test."
)
PRINTED_ROWS = "Printed rows that did not run here have no interval: nobody published their predictions."


def pages(parts: Sequence[Part]) -> list[Page]:
    """Return both pages; none where no headline of a table has a row that ran."""
    found = benchmarks(parts)
    models = leaderboard(found)
    if not models:
        return []
    return [standings_page(found, models), reliability_page(found, reliability(found))]


def standings_page(found: Sequence[Benchmark], models: Sequence[Model]) -> Page:
    """The leaderboard over all tasks, then each benchmark with its printed rows."""
    ran = [one for one in found if not one.rows[0].printed]
    overall = Sheet(
        "Models over all tasks",
        STANDING,
        ["Model", "Mean standing", "Benchmarks", *(_name(one) for one in ran)],
        [_of_model(model, ran) for model in models],
    )
    each = [
        Sheet(
            _name(one),
            _of_units(one),
            ["Row", "Score", "95 % interval", "Interval of seeds", "Beside the best"],
            [_of_row(row) for row in one.rows],
            words=["Beside the best"],
        )
        for one in ran
    ]
    lead = "One leaderboard over the tasks of all papers: what ran here, by each paper’s own score."
    return sheets.page("leaderboard.html", "Leaderboard", lead, [overall, *each])


def _name(one: Benchmark) -> str:
    return f"{one.short}, {one.measure}"


def _of_units(one: Benchmark) -> str:
    over = f", over {one.units}" if one.units else ""
    return f"{render.label(one.table)}{over}{', lower is better' if one.lower else ''}. {PRINTED_ROWS}"


def _interval(row: Row) -> str:
    return f"[{row.low}, {row.high}]" if row.low and row.high else ""


def _of_model(model: Model, ran: Sequence[Benchmark]) -> list[str]:
    rows = {one.paper + one.table: row for one, row in model.rows}
    cells = []
    for one in ran:
        row = rows.get(one.paper + one.table)
        words = (row.score, _interval(row), LEVEL if row.level else "") if row else ()
        cells.append(" ".join(filter(None, words)))
    standing = "" if math.isnan(model.standing) else f"{model.standing:.2f}"
    return [model.name, standing, str(len(model.rows)), *cells]


def _of_row(row: Row) -> list[str]:
    beside = "printed, did not run here" if row.printed else LEVEL if row.level else ""
    return [row.system, row.score, _interval(row), row.seeds, beside]


def reliability_page(found: Sequence[Benchmark], told: Sequence[Reliability]) -> Page:
    """What each benchmark can tell: interval, seeds, its top two, the printed lead, the floor."""
    names = {(one.paper, one.table): one for one in found}
    rows = []
    links = {}
    for one in told:
        name = _name(names[one.paper, one.table])
        links[name] = f"tables/{one.paper}-{one.table}.html"
        rows.append(
            [
                name,
                one.units,
                _number(one.width),
                _number(one.seeds),
                _number(one.detectable),
                _top_two(one),
                _printed(one),
                "" if math.isnan(one.floor_reaches) else f"{one.floor_reaches:.0%} ({one.floor})",
            ]
        )
    columns = [
        "Benchmark",
        "Test set",
        "Width of the best row’s interval",
        "Width of the seeds’ interval",
        "Difference found in 4 of 5 cases",
        "The best two that ran",
        "The best two in print",
        "What the floor reaches of the best printed",
    ]
    words = ["Test set", "The best two that ran", "The best two in print", columns[-1]]
    sheet = Sheet(
        "What a test set can tell",
        WIDTHS,
        columns,
        rows,
        words,
        links,
    )
    lead = "How far each benchmark can be relied on to tell its own rows apart."
    return sheets.page("reliability.html", "Reliability", lead, [sheet])


def _number(value: float) -> str:
    return "" if math.isnan(value) else short(value)


def _top_two(one: Reliability) -> str:
    if not one.second:
        return f"{one.best} alone"
    if math.isnan(one.lead):
        return f"{one.best}, {one.second}: not compared"
    said = "told apart" if one.apart else "not told apart"
    return f"{one.best} leads {one.second} by {short(one.lead)}: {said} (p {one.adjusted:.2g})"


def _printed(one: Reliability) -> str:
    if one.tells_printed_apart is None:
        return ""
    return f"{short(one.printed_lead)}, {'more' if one.tells_printed_apart else 'less'} than can be found"
