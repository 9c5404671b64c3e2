"""The leaderboard: ranks of models over the headline scores of all papers.

Of each table that names a headline (`papers.registry.Headline`) it shows that score of every row that ran
here and, where the data are the paper's, of every published row that did not.

A rank counts the rows that are distinguishably better, so rows that the tests cannot separate share a rank.
A place, by score alone, has a percentile interval over resampled units (queries, contracts, examples), with
the same draws for all rows of a benchmark.  Scores are averaged over benchmarks only for models that ran in
the same ones.
"""

import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from lextables.metrics.intervals import resampled_weights
from lextables.papers.registry import Headline
from lextables.pipeline import user_rows
from lextables.report.layout import Page
from lextables.report.results import Exhibit, Part
from lextables.sources.registry import SAMPLE
from lextables.tables.cells import Line
from lextables.tables.comparison import FEW as FEW_UNITS
from lextables.tables.comparison import MIN_UNITS, Comparison, comparisons
from lextables.tables.published import number
from lextables.tables.render import data_note, label

PATH, TEMPLATE = "leaderboard.html", "leaderboard.html.j2"
BEST, LEVEL, BEHIND = "the best row run here", "not distinguished from the best", "behind the best"
UNTESTED, FEW = "not tested against the best", "too few units to be distinguished from the best"
NONE = "–"
RESAMPLES = 2_000
INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class Row:
    """A system in one benchmark: ``score`` with its interval as the table writes them.

    ``model`` is the name of the model in the folders of its runs, empty for a ``published`` row that was not
    run here.  ``seeds`` is the 95 % prediction interval of three or more seeds.  ``beside_best`` states
    whether the tests distinguish it from the best row that ran; it is empty for published rows.  ``rank`` is
    1 plus the number of rows that are distinguishably better; 0 for a published row, for a row at chance
    level, for a row not tested against the best one, and if fewer than two rows have a rank.  ``place`` is
    its place by score with its 95 % interval, of a row with a rank.  ``run`` is the folder of its first run.
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
    place: str = ""
    run: str = ""


@dataclass(frozen=True)
class Benchmark:
    """The headline of a table: its rows, best first, those that ran before published ones.

    ``comparison`` has the tests between the rows; it is None if fewer than two rows ran.  ``lower``: a
    lower score is better.  ``resampled`` are the scores of its ranked systems in each of `RESAMPLES` draws of
    the units, from 0 to 1.  ``data_note`` says that the data are not the paper's; it is empty for the sample,
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
    resampled: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    @property
    def unranked(self) -> str:
        """Why it has no place in the leaderboard; empty if it has one."""
        if self.data_note or any(row.rank for row in self.rows):
            return self.data_note
        return "fewer than two rows above chance level ran, or random answers score best"

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
    headlines = [
        _benchmark(part, exhibit) for part in parts for exhibit in part.exhibits if exhibit.entry.headline
    ]
    return [each for each in headlines if each.rows and not each.rows[0].published]


def headline_lines(exhibit: Exhibit) -> dict[str, Line]:
    """Return {system: its line} of a table's headline."""
    headline = exhibit.entry.headline
    return {
        line.row if headline.column else line.column: line
        for line in exhibit.lines
        if (headline.column or headline.row) == (line.column if headline.column else line.row)
    }


def _benchmark(part: Part, exhibit: Exhibit) -> Benchmark:
    headline = exhibit.entry.headline
    comparison = next(
        (pairs for pairs in comparisons(exhibit.pairs) if pairs.measure == headline.compared_by), None
    )
    lines = headline_lines(exhibit)
    # A column may hold rows that are compared by two measures.
    names = comparison.systems if comparison else [name for name, line in lines.items() if line.runs]
    ran = {name: lines[name] for name in names if name in lines and _value(lines[name]) is not None}
    sign = 1 if headline.lower else -1
    best_first = dict(sorted(ran.items(), key=lambda item: sign * _value(item[1])))
    draws = resampled(
        exhibit.units, headline.compared_by, [name for name in best_first if name not in headline.chance]
    )
    rows = [*_rows_that_ran(best_first, comparison, headline, draws)]
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
        "" if sample else note, draws,
    )  # fmt: skip


def _value(line: Line) -> float | None:
    return number(line.reproduced or line.ours)


def _rows_that_ran(
    lines: Mapping[str, Line],
    comparison: Comparison | None,
    headline: Headline,
    draws: Mapping[str, np.ndarray],
) -> Iterator[Row]:
    """Rows of ``lines``, which are best first; rows at chance level get no rank."""
    best = next(iter(lines), "")
    knowing = [name for name in lines if name not in headline.chance]
    beaten = all(_value(lines[name]) != _value(lines[best]) for name in headline.chance if name in lines)
    versus = {name: _beside(name, best, comparison) for name in lines}
    ranked = [name for name in knowing if not comparison or versus[name] != UNTESTED]
    if not beaten or len(ranked) < 2:
        ranked = []
    places = place_intervals(draws, lower=headline.lower)
    for name, line in lines.items():
        rank, place = 0, ""
        if name in ranked:
            better = ranked[: ranked.index(name)]
            rank = 1 + sum(_differ(other, name, lines, comparison) for other in better)
            place = str(1 + [_value(lines[other]) for other in ranked].index(_value(line)))
            place += " [{}, {}]".format(*places[name]) if name in places else ""
        run = line.runs.split()[0]
        model = run.split("/")[3]
        seeds = f"{line.prediction_low} to {line.prediction_high}" if line.prediction_low else ""
        score = line.reproduced or line.ours
        yield Row(name, model, score, line.low, line.high, seeds, versus[name], rank, False, place, run)


def _differ(first: str, second: str, lines: Mapping[str, Line], comparison: Comparison | None) -> bool:
    """Whether the tests distinguish two rows; without any test, whether their scores differ."""
    if comparison is None:
        return _value(lines[first]) != _value(lines[second])
    pair = comparison.pair(first, second)
    return pair is not None and pair.differs


def resampled(units: pd.DataFrame | None, measure: str, systems: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the scores of systems in draws of the test units, {system: float64 (RESAMPLES,)}.

    ``units`` has columns measure, system, unit and value.  All systems have the same draws.  Systems that are
    not scored on the units of the first one are left out; with fewer than `MIN_UNITS` units all are.
    """
    if units is None:
        return {}
    table = units[units.measure == measure].pivot(index="unit", columns="system", values="value")
    with_units = [system for system in systems if system in table]
    if not with_units:
        return {}
    scored = table.notna()
    same = [system for system in with_units if scored[system].equals(scored[with_units[0]])]
    values = table.loc[scored[with_units[0]], same].to_numpy()
    if len(values) < MIN_UNITS:
        return {}
    seed = zlib.crc32(measure.encode())
    sums = [weights @ values for weights in resampled_weights(len(values), seed, RESAMPLES)]
    return dict(zip(same, np.concatenate(sums).T / len(values), strict=True))


def place_intervals(draws: Mapping[str, np.ndarray], *, lower: bool = False) -> dict[str, tuple[int, int]]:
    """Return the 95 % percentile interval of each system's place by score, from 1 for the best."""
    if not draws:
        return {}
    scores = np.array([*draws.values()]) * (-1 if lower else 1)
    places = 1 + (scores[None] > scores[:, None]).sum(axis=1)
    low, high = np.quantile(places, INTERVAL, axis=1, method="inverted_cdf").astype(int).tolist()
    return dict(zip(draws, zip(low, high, strict=True), strict=True))


def _beside(name: str, best: str, comparison: Comparison | None) -> str:
    """Whether the tests distinguish a row from the best one."""
    if name == best:
        return BEST
    pair = comparison.pair(name, best) if comparison else None
    if pair is None or pair.untested not in ("", FEW_UNITS):
        return UNTESTED
    return BEHIND if pair.differs else FEW if pair.untested or pair.detectable == math.inf else LEVEL


def leaderboard(headlines: Iterable[Benchmark], names: Mapping[str, str] | None = None) -> list[Model]:
    """Return the models that ran, ordered by how many first ranks they have, then second ones, and so on.

    ``names`` are a user's models, {name in the folders of runs: the user's name}; each is one model wherever
    it ran.  Other rows are one model if they have the same name in two benchmarks.  A model with several rows
    in a benchmark has the rank of its best row.
    """
    rows: dict[str, list[tuple[Benchmark, Row]]] = defaultdict(list)
    for benchmark in headlines:
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


@dataclass(frozen=True)
class Mean:
    """The models that ran in all of some benchmarks, best mean first.

    ``rows`` are (model, mean of its scores from 0 to 1, low, high, place, place_low, place_high).
    """

    benchmarks: tuple[Benchmark, ...]
    rows: tuple[tuple[str, float, float, float, int, int, int], ...]


def means(models: Iterable[Model]) -> list[Mean]:
    """Return the means over each set of benchmarks in which the same two models or more ran.

    A set that another one contains, with the same models, is left out, and so are losses.
    """
    draws = {
        model.name: {
            benchmark.name: (benchmark, benchmark.resampled[row.system])
            for benchmark, row in model.rows
            if row.system in benchmark.resampled and not benchmark.lower
        }
        for model in models
    }
    blocks = {}
    for those in draws.values():
        together = tuple(name for name in draws if those.keys() <= draws[name].keys())
        if len(those) > 1 and len(together) > 1:
            blocks[together] = max(blocks.get(together, ()), tuple(those), key=len)
    return [_mean({name: draws[name] for name in together}, those) for together, those in blocks.items()]


def _mean(draws: Mapping[str, Mapping[str, tuple[Benchmark, np.ndarray]]], names: Sequence[str]) -> Mean:
    averages = {model: np.mean([drawn[name][1] for name in names], axis=0) for model, drawn in draws.items()}
    intervals = place_intervals(averages)
    best_first = sorted(averages, key=lambda model: -averages[model].mean())
    rows = tuple(
        (
            model,
            float(averages[model].mean()),
            *np.quantile(averages[model], INTERVAL).tolist(),
            place,
            *intervals[model],
        )
        for place, model in enumerate(best_first, 1)
    )
    first = draws[best_first[0]]
    return Mean(tuple(first[name][0] for name in names), rows)


def short_names(benchmark: Benchmark) -> dict[str, str]:
    """{system: its name without what all rows of the benchmark begin or end with, or parts called None}.

    The common beginning is whole parts (``3 labels / BM25``), and the common end is in brackets.
    """
    ends = {row.system.partition(" (")[2] for row in benchmark.rows}
    end = f" ({ends.pop()}" if len(benchmark.rows) > len(ends) == 1 else ""
    parts = {row.system: row.system.removesuffix(end).split(" / ") for row in benchmark.rows}
    while len(parts) > 1 and all(len(parts_of) > 1 for parts_of in parts.values()):
        if len({parts_of[0] for parts_of in parts.values()}) > 1:
            break
        parts = {name: parts_of[1:] for name, parts_of in parts.items()}
    return {name: " / ".join(part for part in kept if part != "None") or name for name, kept in parts.items()}


# The page


def pages(parts: Sequence[Part], config: Mapping[str, Any], trained_on: Mapping[str, str]) -> list[Page]:
    """Return the page, none if no row of a headline ran.

    ``config`` has the names of a user's models.  ``trained_on`` is {folder of a run: the data sets that its
    models were trained on, as text}.
    """
    headlines = benchmarks(parts)
    if not headlines:
        return []
    extras = [*(config.get("extra_models") or ()), *(config.get("extra_predictions") or ())]
    models = leaderboard(headlines, {user_rows.key(extra["name"]): extra["name"] for extra in extras})
    return [page(models, headlines, trained_on)]


def page(models: Sequence[Model], headlines: Sequence[Benchmark], trained_on: Mapping[str, str]) -> Page:
    """Return the page of the models' ranks, and of the benchmarks that they ran in."""
    ranked = [benchmark for benchmark in headlines if not benchmark.unranked]
    rows = []
    for model in models:
        scores = {benchmark.name: _score(row) for benchmark, row in model.rows}
        cells = [scores.get(benchmark.name, "") for benchmark in ranked]
        rows.append([model.name, str(len(model.rows)), *cells])
    values = {
        "columns": ["Model", "Benchmarks", *(benchmark.name for benchmark in ranked)],
        "rows": rows,
        "benchmarks": [(benchmark, _cells(benchmark, trained_on)) for benchmark in ranked],
        "notes": [f"Not ranked: {each.name} ({each.unranked})." for each in headlines if each.unranked],
        "means": [
            (
                ", ".join(benchmark.name for benchmark in mean.benchmarks),
                [
                    [
                        name,
                        f"{100 * value:.1f}",
                        f"[{100 * low:.1f}, {100 * high:.1f}]",
                        f"{place} [{first}, {last}]",
                    ]
                    for name, value, low, high, place, first, last in mean.rows
                ],
            )
            for mean in means(models)
        ],
    }
    return Page(PATH, "Leaderboard", TEMPLATE, values, "page", [("Leaderboard", PATH)])


def _cells(benchmark: Benchmark, trained_on: Mapping[str, str]) -> list[list[str]]:
    return [
        [
            row.system,
            row.score,
            f"[{row.low}, {row.high}]" if row.low and row.high else NONE,
            row.seeds or NONE,
            str(row.rank or NONE),
            row.place or NONE,
            row.beside_best or "published, not run here",
            trained_on.get(row.run, NONE),
        ]
        for row in benchmark.rows
    ]


def _score(row: Row) -> str:
    return f"{row.rank}: {row.score}"
