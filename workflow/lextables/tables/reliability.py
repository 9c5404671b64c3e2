"""How far each benchmark can be relied on to tell systems apart, from its headline
(`standings.Benchmark`)."""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields

from lextables.pipeline import spreadsheet
from lextables.tables.comparison import Pair
from lextables.tables.published import number
from lextables.tables.standings import Benchmark, Row


@dataclass(frozen=True)
class Reliability:
    """What one benchmark can tell; a number is NaN, and a text empty, where nothing here says it.

    Lengths and differences are shares of the best row's score, since benchmarks score in fractions, per cent
    and nats.  ``best`` is the best row that ran and ``width`` the length of its 95 % interval over ``units``.
    ``seeds`` is the length of the longest 95 % prediction interval that the seeds of a row have, ``seeded``.
    ``second`` is the runner-up, ``lead`` how far it lies behind with the p-value ``adjusted`` for all pairs,
    and ``apart`` whether the two differ.  ``detectable`` is the smallest difference that is found with 80 %
    power after the correction (`comparison.detectable`), and ``printed_lead`` how far the printed best leads
    the next in print.  ``baseline`` is the best baseline of the table, and ``baseline_reaches`` its score
    as a share of the best printed one (of a loss: what share of the baseline's the printed one is).
    """

    paper: str
    table: str
    measure: str
    units: str
    best: str
    width: float
    seeded: str
    seeds: float
    second: str
    lead: float
    adjusted: float
    apart: bool
    detectable: float
    printed_lead: float
    baseline: str
    baseline_reaches: float

    @property
    def tells_printed_apart(self) -> bool | None:
        """Whether the printed lead is as large as what can be found; None where one of the two is not
        known."""
        known = not (math.isnan(self.printed_lead) or math.isnan(self.detectable))
        return self.printed_lead >= self.detectable if known else None


def reliability(found: Iterable[Benchmark]) -> list[Reliability]:
    """Return what each benchmark in which a row ran can tell, in their order; those of other data than the
    paper's tell nothing of it."""
    return [_of(one) for one in found if not one.rows[0].printed and not one.data_note]


def _of(benchmark: Benchmark) -> Reliability:
    contest = benchmark.contest
    ran = [row for row in benchmark.rows if not row.printed]
    best, second = ran[0], ran[1] if len(ran) > 1 else None
    seeded = max((row for row in ran if row.seeds), key=_seeds, default=None)
    top = _pair(contest.pairs, best, second) if contest and second else None
    printed = contest.printed[0] if contest and contest.printed else None
    score = abs(number(best.score)) or math.nan

    def share(difference: float) -> float:
        return abs(difference) / score

    return Reliability(
        benchmark.paper,
        benchmark.table,
        benchmark.measure,
        benchmark.units,
        best.system,
        share(float(best.high) - float(best.low)) if best.low and best.high else math.nan,
        seeded.system if seeded else "",
        share(_seeds(seeded)) if seeded else math.nan,
        second.system if second else "",
        share(top.difference) if top else math.nan,
        top.adjusted if top else math.nan,
        bool(top and top.differs),
        share(contest.detectable) if contest else math.nan,
        share(printed.difference) if printed else math.nan,
        benchmark.baseline.other if benchmark.baseline else "",
        _reached(benchmark),
    )


def _seeds(row: Row) -> float:
    low, high = map(float, row.seeds.split(" to "))
    return high - low


def _pair(pairs: Sequence[Pair], one: Row, other: Row) -> Pair | None:
    both = {one.system, other.system}
    return next((pair for pair in pairs if {pair.one, pair.other} == both), None)


def _reached(benchmark: Benchmark) -> float:
    """What share of the best printed score the baseline reaches; of a loss the shares are turned about."""
    if benchmark.baseline is None:
        return math.nan
    row = next((row for row in benchmark.rows if row.system == benchmark.baseline.other), None)
    baseline = number(row.score) if row else None
    if not baseline:
        return math.nan
    best = baseline + benchmark.baseline.difference
    part, whole = (best, baseline) if benchmark.lower else (baseline, best)
    return part / whole if whole else math.nan


def to_csv(found: Iterable[Reliability]) -> str:
    """Return the reliability of each benchmark as csv text."""
    out = io.StringIO()
    writer = csv.DictWriter(out, [field.name for field in fields(Reliability)], lineterminator="\n")
    writer.writeheader()
    rows = map(asdict, found)
    writer.writerows({name: spreadsheet.cell(value) for name, value in row.items()} for row in rows)
    return out.getvalue()
