"""Which rows of a table differ: paired tests by the task's test unit, and groups that do not differ.

Two systems are compared by the contribution of each unit of the test set (a query, a contract) to their
scores, the mean over runs that differ in their seed.  The test is a two-sided sign-flip test (all 2^n sign
patterns if these are no more than the resamples).  Holm's correction is over all tested pairs of a measure.
The interval is Student's interval of the differences.  A detectable difference is one that is found with 80
% power after the correction.  The tests simulate error rates, coverage and
power.

pandas, scipy and networkx are imported where they are used: most tables have nothing to compare.
"""

import csv
import io
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from lextables.metrics.classification import GROUPED
from lextables.metrics.intervals import mean_interval
from lextables.pipeline import spreadsheet
from lextables.tables.cells import Cell
from lextables.tables.published import PublishedCell

if TYPE_CHECKING:
    pass

ALPHA = 0.05
POWER = 0.8
RESAMPLES = 9_999
RESAMPLES_A_PAIR = (
    400  # ALPHA divided by the number of pairs is then 20 resamples, 10 a side
)
MIN_UNITS = 6  # with five units the smallest p-value is 2 / 32
SIMULATED_UNITS = 14  # with more units the power of the t-test is within 5 %
SIMULATED_SETS = 500
_AT_ONCE = 10_000_000  # resampled differences in memory at a time
_DECIMALS = 12  # smaller differences are rounding errors

# Why a pair is not tested.
PRINTED = "published values"
BASELINE = "the best published value and the table's baseline"
FEW = "too few units"
OTHERS = "scored on different units"


@dataclass(frozen=True)
class Pair:
    """Two systems compared by one measure of a table, the better one first.

    ``difference`` is the score of ``one`` minus that of ``other`` in the table's unit, ``low`` to ``high``
    its paired 95 % interval.  ``p`` is the p-value of the paired test and ``adjusted`` the same after Holm's
    correction over all pairs of the measure.  ``units`` is the number and kind of units (`57 queries`).
    ``detectable`` is the smallest difference that is found with 80 % power after the correction; infinite if
    no difference that a score can have is found.  ``untested`` is the reason if there is no test; the
    interval, p and, except for published values, ``detectable`` are then NaN.
    """

    measure: str
    one: str
    other: str
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    units: str
    detectable: float
    untested: str = ""

    @property
    def differs(self) -> bool:
        """Whether the test finds a difference."""
        return not self.untested and self.adjusted < ALPHA


@dataclass(frozen=True)
class Comparison:
    """The pairs of one measure: ``systems`` are best first.

    ``groups`` are the largest sets of systems of which every two were tested and do not differ; each system
    is in at least one group.  ``pairs`` were tested, ``untested`` were not.  ``printed`` are neighbours in
    the order of the published values.
    """

    measure: str
    units: str
    systems: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...]
    printed: tuple[Pair, ...] = ()
    untested: tuple[Pair, ...] = ()

    @cached_property
    def detectable(self) -> float:
        """The median detectable difference of the pairs, also used for published rows; NaN without any."""
        return _median_detectable(self.pairs)

    @property
    def can_find(self) -> bool:
        """Whether any test can find a difference after the correction."""
        return any(pair.detectable < math.inf for pair in self.pairs)

    @property
    def power(self) -> str:
        """The detectable difference after the correction, as a clause; empty if no pair has one."""
        if math.isnan(self.detectable):
            return ""
        tests = f"{len(self.pairs)} test{'' if len(self.pairs) == 1 else 's'}"
        if not self.can_find:
            return f"{self.units} are too few for {tests}: no difference is detected with 80 % power"
        finite = [
            pair.detectable for pair in self.pairs if 0 < pair.detectable < math.inf
        ]
        minimum, median, maximum = map(
            short, (min(finite), self.detectable, max(finite))
        )
        by_pair = f" (by pair {minimum} to {maximum})" if minimum != maximum else ""
        lost = sum(pair.detectable == math.inf for pair in self.pairs)
        but = f", and none by {lost} of {tests} with too few units" if lost else ""
        return f"a difference of {median}{by_pair} is detected with 80 % power{but}"

    def pair(self, first: str, second: str) -> Pair | None:
        """The pair of two systems, tested or not, in either order."""
        names = {first, second}
        return next(
            (
                pair
                for pair in (*self.pairs, *self.untested)
                if {pair.one, pair.other} == names
            ),
            None,
        )

    def untested_against(self, system: str) -> list[str]:
        """The systems that this one was not tested against, best first."""
        others = [name for name in self.systems if name != system]
        return [
            name
            for name in others
            if (pair := self.pair(name, system)) and pair.untested
        ]


def to_csv(pairs: Iterable[Pair]) -> str:
    """Return the pairs as csv text; numbers as Python writes them, so that they are read back the same."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [field.name for field in fields(Pair)]
    writer.writerow(names)
    writer.writerows(
        [spreadsheet.cell(getattr(pair, name)) for name in names] for pair in pairs
    )
    return out.getvalue()


def from_csv(text: str) -> list[Pair]:
    """Read a file of `to_csv`."""
    columns = {field.name: field.type for field in fields(Pair)}
    pairs = []
    for row in map(spreadsheet.texts, spreadsheet.rows(text, columns)):
        pairs.append(Pair(**{name: kind(row[name]) for name, kind in columns.items()}))
    return pairs


# From cells to pairs

OfRun = Callable[[str], Mapping[tuple[str, str], Mapping[str, float]]]


@dataclass(frozen=True)
class _System:
    """A system: its score in the table and the contribution of each unit to it, in the table's unit."""

    name: str
    value: float
    units: Mapping[str, float]
    cell: Cell


def compare(
    cells: Iterable[Cell], published: Iterable[PublishedCell], of_run: OfRun
) -> list[Pair]:
    """Return the pairs of each measure of a table, measures in the order of its cells.

    ``of_run`` returns the contribution of each unit to the scores of a run's folder (`inputs.Inputs.units`).
    ``published`` are the published cells, none if the data are not the paper's.  They add pairs of neighbours
    in the order of the published values, and one pair of the best published value and the best baseline.
    Raises ValueError if two cells of a measure name the same system.
    """
    by_measure: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.score:
            by_measure[cell.score.measure].append(cell)
    numbers = {
        (cell.row, cell.column): cell.number
        for cell in published
        if cell.number is not None
    }
    units = cache(of_run)  # a run may have several measures
    return [
        pair
        for measure_cells in by_measure.values()
        for pair in _pairs(measure_cells, numbers, units)
    ]


def _has_score(cell: Cell) -> bool:
    return (
        bool(cell.runs) and isinstance(cell.value, float) and not math.isnan(cell.value)
    )


def _pairs(
    cells: Sequence[Cell], numbers: Mapping[tuple[str, str], float], of_run: OfRun
) -> Iterator[Pair]:
    if len({cell.score.system for cell in cells}) < len(cells):
        raise ValueError(
            f"two cells of the measure {cells[0].score.measure!r} name one system"
        )
    ran = [cell for cell in cells if _has_score(cell)]
    systems = (
        _best_first([_system(cell, of_run) for cell in ran]) if len(ran) > 1 else []
    )
    pairs = [*_tested(systems)]
    yield from pairs
    places = {cell: (cell.row, cell.column) for cell in cells}
    printed = _best_first(
        [
            _System(cell.score.system, numbers[place], {}, cell)
            for cell, place in places.items()
            if place in numbers
        ]
    )
    tested = [pair for pair in pairs if not pair.untested]
    if tested:
        units, median = _all_units(tested), _median_detectable(tested)
        for better, worse in pairwise(printed):
            yield replace(_untested(better, worse, units, PRINTED), detectable=median)
    baseline = [
        _System(cell.score.system, cell.value, {}, cell)
        for cell in ran
        if cell.baseline
    ]
    if printed and baseline:
        yield _untested(printed[0], _best_first(baseline)[0], "", BASELINE)


def _best_first(systems: Sequence[_System]) -> list[_System]:
    return sorted(
        systems,
        key=lambda system: system.value if system.cell.score.lower else -system.value,
    )


def _system(cell: Cell, of_run: OfRun) -> _System:
    """A cell's system: the mean over its runs for each unit that all of them have."""
    score = cell.score
    runs = [of_run(folder).get((score.metric, score.group), {}) for folder in cell.runs]
    shared = sorted(set.intersection(*map(set, runs)))
    units = {
        unit: score.scale * statistics.fmean(run[unit] for run in runs)
        for unit in shared
    }
    return _System(score.system, cell.value, units, cell)


def _tested(systems: Sequence[_System]) -> Iterator[Pair]:
    """Yield all pairs, better ones first, those on the same units with their test."""
    both = list(combinations(systems, 2))
    by_units: dict[tuple[str, ...], list[tuple[_System, _System]]] = defaultdict(list)
    for better, worse in both:
        if better.units.keys() == worse.units.keys() and len(better.units) >= MIN_UNITS:
            by_units[tuple(better.units)].append((better, worse))
    p_values: dict[tuple[str, str], float] = {}
    for pairs in by_units.values():
        differences = np.array([_differences(better, worse) for better, worse in pairs])
        names = [(better.name, worse.name) for better, worse in pairs]
        p_values |= dict(zip(names, sign_flip(differences).tolist(), strict=True))
    adjusted = dict(zip(p_values, holm([*p_values.values()]), strict=True))
    for better, worse in both:
        names, units = (better.name, worse.name), _unit_count(better)
        if names in p_values:
            yield _pair(
                better, worse, p_values[names], adjusted[names], units, len(p_values)
            )
        elif better.units.keys() == worse.units.keys():
            yield _untested(better, worse, units, FEW)
        else:
            yield _untested(better, worse, f"{units} and {_unit_count(worse)}", OTHERS)


def _differences(better: _System, worse: _System) -> list[float]:
    return [value - worse.units[unit] for unit, value in better.units.items()]


def _unit_count(system: _System) -> str:
    n, units = len(system.units), system.cell.score.units
    grouped = n and all(unit.startswith(GROUPED) for unit in system.units)
    return f"{n} groups of {units}" if grouped else f"{n} {units}"


def _pair(
    better: _System, worse: _System, p: float, adjusted: float, units: str, tests: int
) -> Pair:
    differences = np.array(_differences(better, worse))
    mean = float(differences.mean())
    low, high = mean_interval(differences) or (mean, mean)
    score, detected = better.cell.score, detectable(differences, tests)
    if (
        not score.lower and detected > score.scale
    ):  # from 0 to 1 before it is scaled, but for a loss
        detected = math.inf
    return Pair(
        score.measure,
        better.name,
        worse.name,
        mean,
        low,
        high,
        p,
        adjusted,
        units,
        detected,
    )


def _untested(better: _System, worse: _System, units: str, why: str) -> Pair:
    nothing = dict.fromkeys(("low", "high", "p", "adjusted", "detectable"), math.nan)
    return Pair(
        better.cell.score.measure,
        better.name,
        worse.name,
        better.value - worse.value,
        units=units,
        untested=why,
        **nothing,
    )


# The test


def sign_flip(differences: np.ndarray, resamples: int = 0, seed: int = 0) -> np.ndarray:
    """Return the two-sided p-value of each pair's mean difference, float64 (pairs,).

    ``differences`` float64 (pairs, units).  Under the null hypothesis a difference is as likely as its
    negative.  The p-value is the share of ``resamples`` (default: enough for Holm's correction), the observed
    one included, whose mean is at least as extreme; or of all sign patterns, if these are no more.
    """
    pairs, units = differences.shape
    resamples = resamples or max(RESAMPLES, RESAMPLES_A_PAIR * pairs)

    def means(signs: np.ndarray, some: np.ndarray = differences) -> np.ndarray:
        return (signs @ some.T / units).round(_DECIMALS)

    if 2**units <= resamples:
        every = means(np.array([*product((1.0, -1.0), repeat=units)]))
        return (abs(every) >= abs(every[0])).mean(axis=0)

    from scipy.stats import permutation_test

    def p_values(some: np.ndarray) -> np.ndarray:
        # All pairs are flipped by the same signs, so that a resample is one matrix product.
        return permutation_test(
            (np.ones(units),),
            lambda signs, axis: means(signs, some),
            permutation_type="samples",
            vectorized=True,
            n_resamples=resamples,
            batch=1000,
            rng=np.random.default_rng(seed),
        ).pvalue

    size = max(1, _AT_ONCE // resamples)
    return np.concatenate(
        [p_values(differences[at : at + size]) for at in range(0, pairs, size)]
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values after Holm's correction (1979), which bounds the familywise error rate."""
    from statsmodels.stats.multitest import multipletests

    return multipletests(p_values, method="holm")[1].tolist()


def detectable(differences: np.ndarray, tests: int) -> float:
    """Return the smallest mean difference that is found in 80 % of test sets after Holm's correction.

    ``differences`` (units,) give the spread, ``tests`` is the number of tests of the correction.  Holm's
    correction finds every p-value below 5 % divided by ``tests``, and more if other pairs differ too, so the
    power is at least 80 %.
    """
    size = effect(len(differences), tests)
    return size if size == math.inf else size * float(differences.std(ddof=1))


@cache
def effect(units: int, tests: int) -> float:
    """Return the mean, in standard deviations, that `sign_flip` finds at 5 % / ``tests`` with 80 % power.

    For normal differences.  Infinite if the smallest possible p-value, 2 / 2^units, is too large.  Simulated
    with a fixed seed for few units, where p-values are coarse; otherwise that of the paired t-test.
    """
    level = ALPHA / tests
    if 2 / 2**units >= level:
        return math.inf
    if units > SIMULATED_UNITS:
        from scipy.special import nctdtrinc, stdtrit

        return float(
            nctdtrinc(units - 1, 1 - POWER, stdtrit(units - 1, 1 - level / 2))
            / math.sqrt(units)
        )
    from scipy.optimize import bisect

    noise = np.random.default_rng(0).normal(size=(units, SIMULATED_SETS))
    # The other half of the sign patterns has the same means with the other sign.
    signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=units - 1)])
    sums, steps = signs @ noise, signs.sum(axis=1, keepdims=True)

    def missing(mean: float) -> float:
        far = abs(sums + mean * steps)
        return POWER - float(
            ((far >= far[0] - 10**-_DECIMALS).mean(axis=0) < level).mean()
        )

    return float(bisect(missing, 0, 10, xtol=1e-3))


def _median_detectable(pairs: Iterable[Pair]) -> float:
    """The median detectable difference; infinite if no pair has one, NaN if all rows are the same."""
    values = [pair.detectable for pair in pairs if pair.detectable > 0]
    finite = [value for value in values if value < math.inf]
    return statistics.median(finite) if finite else math.inf if values else math.nan


# Comparisons, and the notes below a table


def comparisons(pairs: Iterable[Pair]) -> list[Comparison]:
    """Return the comparisons of a table, in the order of its pairs."""
    by_measure: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.untested != BASELINE:
            by_measure[pair.measure].append(pair)
    return [
        _comparison(measure, measure_pairs)
        for measure, measure_pairs in by_measure.items()
    ]


def _comparison(measure: str, pairs: Sequence[Pair]) -> Comparison:
    compared = [pair for pair in pairs if pair.untested != PRINTED]
    systems = tuple(
        dict.fromkeys(
            [*(pair.one for pair in compared), *(pair.other for pair in compared)]
        )
    )
    tested = tuple(pair for pair in compared if not pair.untested)
    return Comparison(
        measure,
        _all_units(tested or compared),
        systems,
        _groups(
            systems, [(pair.one, pair.other) for pair in tested if not pair.differs]
        ),
        tested,
        tuple(pair for pair in pairs if pair.untested == PRINTED),
        tuple(pair for pair in compared if pair.untested),
    )


def _all_units(pairs: Iterable[Pair]) -> str:
    """The numbers and kinds of units of the pairs."""
    return " or ".join(dict.fromkeys(pair.units for pair in pairs))


def _groups(
    systems: tuple[str, ...], level: Sequence[tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """Return the largest sets of systems of which every two are in ``level``, best first."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(len(systems)))
    place = {name: at for at, name in enumerate(systems)}
    graph.add_edges_from((place[first], place[second]) for first, second in level)
    cliques = sorted(map(sorted, networkx.find_cliques(graph)))
    return tuple(tuple(systems[at] for at in group) for group in cliques)


SHOWN = 4  # measures with a note
METHOD = (
    "Which rows differ: paired tests that flip signs by unit, two-sided, at 5 % after Holm's correction "
    "over all tests of a measure. "
    "Each pair is in the table's file comparison.csv."
)


def notes(comparisons: Sequence[Comparison], data_note: str = "") -> list[str]:
    """Return notes on which rows of a table differ and which differences its test set can detect.

    The measures with the most units come first, at most `SHOWN`.  ``data_note`` describes data that are not
    the paper's.
    """
    tested = sorted(
        (c for c in comparisons if c.pairs), key=lambda c: -_number(c.units)
    )
    lines = [f"{METHOD} Computed on {data_note}." if data_note else METHOD] * bool(
        tested
    )
    for comparison in tested[:SHOWN]:
        lines += [_leading(comparison), *_published_leads(comparison)]
    if len(tested) > SHOWN:
        lines.append(f"{_measures(tested[SHOWN:])} compared in that file, too.")
    few = [
        c
        for c in comparisons
        if not c.pairs and {pair.untested for pair in c.untested} == {FEW}
    ]
    if few:
        units = few[0].units.partition(" ")[2]
        lines.append(
            f"{_measures(few)} not tested: a test needs at least {MIN_UNITS} {units}."
        )
    rest = [c for c in comparisons if c not in few]
    untested = [pair.untested for c in rest for pair in c.untested]
    if untested:
        pairs = len(untested) + sum(len(c.pairs) for c in rest)
        lines.append(
            f"{len(untested)} of {pairs} pairs are untested: {' or '.join(dict.fromkeys(untested))}."
        )
    return lines


def _number(units: str) -> int:
    return int(units.partition(" ")[0])


def _measures(comparisons: Sequence[Comparison]) -> str:
    return f"{len(comparisons)} measure{' is' if len(comparisons) == 1 else 's are'}"


def _leading(comparison: Comparison) -> str:
    """The best row, the rows not distinguished from it or not tested, and the detectable difference."""
    differs = any(pair.differs for pair in comparison.pairs)
    if not comparison.can_find and not differs:
        return f"{comparison.measure}: {comparison.power}."
    best, *others = comparison.systems
    untested = comparison.untested_against(best)
    level = [
        name
        for name in others
        if any({best, name} <= set(group) for group in comparison.groups)
    ]
    behind = [name for name in others if name not in {*untested, *level}]
    if len(comparison.pairs) > 1 and not differs:
        result = f"no two of the {len(comparison.systems)} rows are distinguished"
        if comparison.untested:
            result = f"none of {len(comparison.pairs)} tests distinguishes two rows"
    else:
        clauses = []
        if level:
            clauses.append(f"not distinguished from {_joined_names(level)}")
        elif behind:
            clauses.append(
                f"ahead of {_joined_names(behind) if untested or not behind[1:] else 'all others'}"
            )
        if untested:
            clauses.append(f"not tested against {_joined_names(untested)}")
        result = f"{best} is {' and '.join(clauses)}"
    power = f"; {comparison.power}" if comparison.power else ""
    return f"{comparison.measure}, {comparison.units}: {result}{power}."


def _published_leads(comparison: Comparison) -> Iterator[str]:
    """Whether the published leads are at least the median detectable difference."""
    if not comparison.printed or not comparison.detectable < math.inf:
        return
    first, n = comparison.printed[0], len(comparison.printed)
    small = [
        abs(pair.difference) < comparison.detectable for pair in comparison.printed
    ]
    less = f"{'' if small[0] else 'not '}less than that"
    rest = (
        f"; of the {n} leads of a published row over the next, {sum(small)} are smaller"
        if n > 1
        else ""
    )
    lead = short(abs(first.difference))
    yield f"In the published values {first.one} leads {first.other} by {lead}, {less}{rest}."


def _joined_names(names: Sequence[str], most: int = 4) -> str:
    shown_names = [
        *names[:most],
        *([f"{len(names) - most} more"] if len(names) > most else []),
    ]
    return (
        shown_names[0]
        if len(shown_names) == 1
        else f"{', '.join(shown_names[:-1])} and {shown_names[-1]}"
    )


def short(value: float) -> str:
    """Return a number with two figures, never in powers of ten."""
    digits = 1 - math.floor(math.log10(abs(value))) if value else 1
    return f"{value:.{max(0, min(digits, 6))}f}"
