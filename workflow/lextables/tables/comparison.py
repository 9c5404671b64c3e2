"""Which rows of a table differ: paired tests by the task's unit, and groups that cannot be told apart.

Two systems are compared by what each unit of the test set (a query, a contract) adds to their scores, the
mean over runs that differ in their seed.  The test flips the signs of the differences at random (all 2^n ways
where these are no more than the resamples), two-sided; Holm's correction is over all pairs of a contest.  The
interval is Student's of the differences.  `bench/measure_comparison.py` prints how often the test is wrong
where nothing differs, and how often it finds what it is said to find.

scipy.stats and networkx are imported where they are used: most tables have nothing to compare, and few units
want no resamples.
"""

import csv
import io
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import combinations, pairwise, product

import numpy as np

from lextables import spreadsheet
from lextables.metrics.classification import GROUPED
from lextables.metrics.intervals import mean_interval
from lextables.tables.cells import Cell
from lextables.tables.published import PublishedCell

ALPHA = 0.05
POWER = 0.8
RESAMPLES = 9_999
RESAMPLES_A_PAIR = 200  # the least p-value that can be drawn, times all pairs, stays below ALPHA
LEAST_UNITS = 6  # of five, the 2 of 32 most unlike ways make 6 %
_AT_ONCE = 10_000_000  # resampled differences in memory at a time
_DECIMALS = 12  # what rounding in a sum moves is no difference

# Why a pair is not tested.
PRINTED = "printed values"
FLOOR = "the best printed value and the table's floor"
FEW = "too few units"
OTHERS = "scored on different units"


@dataclass(frozen=True)
class Pair:
    """Two systems that one contest of a table compares, the better one first.

    ``measure`` names the contest in the reader's words.  ``difference`` is the score of ``one`` less that of
    ``other``, in the table's unit, ``low`` to ``high`` its paired 95 % interval.  ``p`` is the paired test's
    and ``adjusted`` the same after Holm over all pairs of the contest.  ``units`` says over how many of which
    unit (`57 queries`), and ``detectable`` is the smallest difference that the test finds with 80 % power, by
    itself and uncorrected.  ``untested`` says why there is no test, and is empty where there is one; without
    one the interval, p and, but for printed values, ``detectable`` are NaN.
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
        """Whether the test tells the two apart."""
        return not self.untested and self.adjusted < ALPHA


@dataclass(frozen=True)
class Contest:
    """The pairs of one measure: ``systems`` are best first, ``groups`` those that no pair tells apart.

    A system may be in several groups, and is in one at least.  ``pairs`` are those that were tested, none
    where the units are too few, and ``apart`` those that were scored on different units.  ``detectable`` is
    the smallest difference that can be found with 80 % power between two printed rows, going by the pairs
    that are here (NaN without any), and ``printed`` are the neighbours in print, best first.
    """

    measure: str
    units: str
    systems: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...]
    detectable: float
    printed: tuple[Pair, ...] = ()
    apart: tuple[Pair, ...] = ()


def to_csv(pairs: Iterable[Pair]) -> str:
    """Return the pairs as csv text; numbers as Python writes them, so that they are read back the same."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [field.name for field in fields(Pair)]
    writer.writerow(names)
    writer.writerows([spreadsheet.cell(getattr(pair, name)) for name in names] for pair in pairs)
    return out.getvalue()


def from_csv(text: str) -> list[Pair]:
    """Read back what `to_csv` wrote."""
    return [
        Pair(**{field.name: field.type(spreadsheet.text(row[field.name])) for field in fields(Pair)})
        for row in csv.DictReader(io.StringIO(text))
    ]


# From cells to pairs.

OfRun = Callable[[str], Mapping[tuple[str, str], Mapping[str, float]]]


@dataclass(frozen=True)
class _Entrant:
    """A system of a contest: its score as the table has it, and what each unit adds, in the table's unit."""

    name: str
    value: float
    units: Mapping[str, float]
    cell: Cell


def compare(cells: Iterable[Cell], published: Iterable[PublishedCell], of_run: OfRun) -> list[Pair]:
    """Return the pairs of each contest of a table, contests in the order of its cells.

    ``of_run`` gives what each unit adds to the scores of a run's folder (`inputs.Inputs.units`).
    ``published`` are the printed cells, none where the data are not the paper's: beside the pairs of systems
    that have predictions here stand then the printed neighbours, and the best printed value with the best of
    the floor.  Raises ValueError where two cells of a contest name one system.
    """
    contests: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.score:
            contests[cell.score.contest].append(cell)
    numbers = {(cell.row, cell.column): cell.number for cell in published if cell.number is not None}
    once = cache(of_run)  # a run may be in many contests
    return [pair for found in contests.values() for pair in _contest(found, numbers, once)]


def _contest(
    cells: Sequence[Cell], numbers: Mapping[tuple[str, str], float], of_run: OfRun
) -> Iterator[Pair]:
    if len({cell.score.system for cell in cells}) < len(cells):
        raise ValueError(f"two cells of the contest {cells[0].score.contest!r} name one system")
    ran = [
        cell for cell in cells if cell.runs and isinstance(cell.value, float) and not math.isnan(cell.value)
    ]
    found = _best_first([_entrant(cell, of_run) for cell in ran]) if len(ran) > 1 else []
    pairs = [*_tested(found)]
    yield from pairs
    places = {cell: (cell.row, cell.column) for cell in cells}
    printed = _best_first(
        [
            _Entrant(cell.score.system, numbers[place], {}, cell)
            for cell, place in places.items()
            if place in numbers
        ]
    )
    tested = [pair for pair in pairs if not pair.untested]
    if tested:
        units, detectable = tested[0].units, _typical(tested)
        for one, other in pairwise(printed):
            yield replace(_untested(one, other, units, PRINTED), detectable=detectable)
    floor = [_Entrant(cell.score.system, cell.value, {}, cell) for cell in ran if cell.floor]
    if printed and floor:
        yield _untested(printed[0], _best_first(floor)[0], "", FLOOR)


def _best_first(entrants: Sequence[_Entrant]) -> list[_Entrant]:
    return sorted(entrants, key=lambda one: one.value if one.cell.score.lower else -one.value)


def _entrant(cell: Cell, of_run: OfRun) -> _Entrant:
    """The mean over the cell's runs of what each unit adds, of the units that all of them have."""
    score = cell.score
    runs = [of_run(folder).get((score.metric, score.group), {}) for folder in cell.runs]
    shared = sorted(set.intersection(*map(set, runs)))
    units = {unit: score.scale * statistics.fmean(run[unit] for run in runs) for unit in shared}
    return _Entrant(score.system, cell.value, units, cell)


def _tested(entrants: Sequence[_Entrant]) -> Iterator[Pair]:
    """Yield all pairs, better ones first, those on the same units with their test."""
    both = list(combinations(entrants, 2))
    alike: dict[tuple[str, ...], list[tuple[_Entrant, _Entrant]]] = defaultdict(list)
    for one, other in both:
        if one.units.keys() == other.units.keys() and len(one.units) >= LEAST_UNITS:
            alike[tuple(one.units)].append((one, other))
    p_values: dict[tuple[str, str], float] = {}
    for pairs in alike.values():
        differences = np.array([_differences(one, other) for one, other in pairs])
        names = [(one.name, other.name) for one, other in pairs]
        p_values |= dict(zip(names, sign_flip(differences).tolist(), strict=True))
    adjusted = dict(zip(p_values, holm([*p_values.values()]), strict=True))
    for one, other in both:
        names, units = (one.name, other.name), _counted(one)
        if names in p_values:
            yield _pair(one, other, p_values[names], adjusted[names], units)
        elif one.units.keys() == other.units.keys():
            yield _untested(one, other, units, FEW)
        else:
            yield _untested(one, other, f"{units} and {_counted(other)}", OTHERS)


def _differences(one: _Entrant, other: _Entrant) -> list[float]:
    return [value - other.units[unit] for unit, value in one.units.items()]


def _counted(entrant: _Entrant) -> str:
    n, units = len(entrant.units), entrant.cell.score.units
    grouped = n and all(unit.startswith(GROUPED) for unit in entrant.units)
    return f"{n} groups of {units}" if grouped else f"{n} {units}"


def _pair(one: _Entrant, other: _Entrant, p: float, adjusted: float, units: str) -> Pair:
    differences = np.array(_differences(one, other))
    mean = float(differences.mean())
    low, high = mean_interval(differences) or (mean, mean)
    return Pair(
        one.cell.score.contest,
        one.name,
        other.name,
        mean,
        low,
        high,
        p,
        adjusted,
        units,
        detectable(differences),
    )


def _untested(one: _Entrant, other: _Entrant, units: str, why: str) -> Pair:
    nothing = dict.fromkeys(("low", "high", "p", "adjusted", "detectable"), math.nan)
    return Pair(
        one.cell.score.contest,
        one.name,
        other.name,
        one.value - other.value,
        units=units,
        untested=why,
        **nothing,
    )


# The test.


def sign_flip(differences: np.ndarray, resamples: int = 0, seed: int = 0) -> np.ndarray:
    """Return the two-sided p-value of each pair's mean difference, float64 (pairs,).

    ``differences`` float64 (pairs, units).  Where nothing differs a difference is as likely as its negative,
    and the p-value is the share of ``resamples`` (by default as many as Holm's correction wants), this one
    among them, whose mean lies as far out; or of all ways to set the signs, where there are no more.
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
        # The signs alone are flipped, and all pairs by the same, so that a resample is one product.
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
    return np.concatenate([p_values(differences[at : at + size]) for at in range(0, pairs, size)])


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values after Holm's correction (1979), which keeps the chance of any false alarm.

    The least of m is multiplied by m, the next by m - 1, and none comes out below one that was less.
    """
    found = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(found, kind="stable")
    adjusted = np.empty(len(found))
    adjusted[order] = np.maximum.accumulate(found[order] * np.arange(len(found), 0, -1))
    return np.minimum(adjusted, 1).tolist()


def detectable(differences: np.ndarray) -> float:
    """Return the mean difference that a test at 5 % finds with 80 % power, from (units,) as far spread as
    these.

    Student's quantiles of both, times the standard error: within 1 % of the noncentral t's from ten units on.
    """
    from scipy.special import stdtrit

    units = len(differences)
    error = differences.std(ddof=1) / math.sqrt(units)
    return float((stdtrit(units - 1, 1 - ALPHA / 2) + stdtrit(units - 1, POWER)) * error)


def _typical(pairs: Iterable[Pair]) -> float:
    """The median of what pairs can detect; rows that are one and the same say nothing of it."""
    found = [pair.detectable for pair in pairs if pair.detectable > 0]
    return statistics.median(found) if found else math.nan


# From pairs to what a reader is told.


def contests(pairs: Iterable[Pair]) -> list[Contest]:
    """Return the contests of a table, in the order of its pairs."""
    by_measure: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        if pair.untested != FLOOR:
            by_measure[pair.measure].append(pair)
    return [_of(measure, found) for measure, found in by_measure.items()]


def _of(measure: str, pairs: Sequence[Pair]) -> Contest:
    here = [pair for pair in pairs if pair.untested != PRINTED]
    systems = tuple(dict.fromkeys([*(pair.one for pair in here), *(pair.other for pair in here)]))
    tested = tuple(pair for pair in here if not pair.untested)
    return Contest(
        measure,
        (tested or here)[0].units,
        systems,
        _groups(systems, [(pair.one, pair.other) for pair in tested if pair.differs]),
        tested,
        _typical(tested),
        tuple(pair for pair in pairs if pair.untested == PRINTED),
        tuple(pair for pair in here if pair.untested == OTHERS),
    )


def _groups(systems: tuple[str, ...], different: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return the largest sets of systems of which no two are ``different``, best first."""
    if not different:
        return (systems,)
    import networkx

    graph = networkx.complete_graph(len(systems))
    place = {name: at for at, name in enumerate(systems)}
    graph.remove_edges_from((place[one], place[other]) for one, other in different)
    found = sorted(map(sorted, networkx.find_cliques(graph)))
    return tuple(tuple(systems[at] for at in group) for group in found)


SHOWN = 4  # measures of which a table says more than that they are in the file
METHOD = (
    "Which rows differ: paired tests that flip signs by unit, two-sided, at 5 % after Holm's correction "
    "over all pairs of a measure. Each pair is in the table's file comparison.csv."
)


def sentences(contests: Sequence[Contest], data_note: str = "") -> list[str]:
    """Return in sentences which rows of a table differ, and what its test set can tell apart.

    The measures over the most units come first, `SHOWN` at most.  ``data_note`` says of what data it is where
    they are not the paper's.
    """
    tested = sorted((one for one in contests if one.pairs), key=lambda one: -_number(one.units))
    said = [f"{METHOD} This is of {data_note}." if data_note else METHOD] * bool(tested)
    for one in tested[:SHOWN]:
        said += [_leading(one), *_in_print(one)]
    if len(tested) > SHOWN:
        said.append(f"{_measures(tested[SHOWN:])} compared in that file too.")
    few = [one for one in contests if not one.pairs and not one.apart]
    if few:
        units = few[0].units.partition(" ")[2]
        said.append(f"{_measures(few)} not tested: a test wants {LEAST_UNITS} {units} at least.")
    apart = dict.fromkeys(name for one in contests for pair in one.apart for name in (pair.one, pair.other))
    if apart:
        said.append(f"Not all scored on the same units, and so not all compared: {_listed([*apart])}.")
    return said


def _number(units: str) -> int:
    return int(units.partition(" ")[0])


def _measures(contests: Sequence[Contest]) -> str:
    return f"{len(contests)} measure{' is' if len(contests) == 1 else 's are'}"


def _leading(contest: Contest) -> str:
    """Say what leads, what is not told apart from it, and what difference can be found."""
    best, *others = contest.systems
    level = [name for name in others if any({best, name} <= set(group) for group in contest.groups)]
    if not level:
        words = f"{best} is ahead of {'all others' if len(others) > 1 else others[0]}"
    elif len(contest.groups) == 1 and len(others) > 1:
        among = "rows on the same units" if contest.apart else f"{len(contest.systems)} rows"
        words = f"no two of the {among} are told apart"
    else:
        words = f"{best} is not told apart from {_listed(level)}"
    power = ""
    if contest.detectable > 0:
        power = f"; a difference of {short(contest.detectable)} is found in four cases of five"
    return f"{contest.measure}, {contest.units}: {words}{power}."


def _in_print(contest: Contest) -> Iterator[str]:
    """Say whether the leads in print are as large as that."""
    if not contest.printed or math.isnan(contest.detectable):
        return
    first, n = contest.printed[0], len(contest.printed)
    small = [abs(pair.difference) < contest.detectable for pair in contest.printed]
    less = f"{'' if small[0] else 'no '}less than that"
    rest = f"; of the {n} leads of a printed row over the next {sum(small)} are less" if n > 1 else ""
    yield f"In print {first.one} leads {first.other} by {short(abs(first.difference))}, {less}{rest}."


def _listed(names: Sequence[str], most: int = 4) -> str:
    some = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} and {some[-1]}"


def short(value: float) -> str:
    """Return a number with two figures, never in powers of ten."""
    digits = 1 - math.floor(math.log10(abs(value))) if value else 1
    return f"{value:.{max(0, min(digits, 6))}f}"
