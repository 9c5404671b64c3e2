"""Which rows of a table differ: paired tests by the task's unit, and groups that cannot be told apart.

Two systems are compared by what each unit of the test set (a query, a contract) adds to their scores, the
mean over runs that differ in their seed.  The test flips the signs of the differences at random (all 2^n ways
where these are no more than the resamples), two-sided; Holm's correction is over all tested pairs of a
contest, which are its family of tests.  The interval is Student's of the differences.  A detectable
difference is one that is found after the correction.  `bench/measure_comparison.py` prints how often the
tests are wrong where nothing differs, and how often they find what is called detectable.

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
from functools import cache, cached_property
from itertools import combinations, pairwise, product

import numpy as np

from lextables.metrics.classification import GROUPED
from lextables.metrics.intervals import mean_interval
from lextables.pipeline import spreadsheet
from lextables.tables.cells import Cell
from lextables.tables.published import PublishedCell

ALPHA = 0.05
POWER = 0.8
RESAMPLES = 9_999
RESAMPLES_A_PAIR = 400  # of all pairs, so that ALPHA divided by the pairs is 20 resamples, 10 a side
LEAST_UNITS = 6  # of five, the 2 of 32 most unlike ways make 6 %
SIMULATED_UNITS = 14  # up to here the test's few p-values cost power, which is simulated
SIMULATED_SETS = 500
_AT_ONCE = 10_000_000  # resampled differences in memory at a time
_DECIMALS = 12  # what rounding in a sum moves is no difference

# Why a pair is not tested.
PRINTED = "printed values"
FLOOR = "the best printed value and the table's baseline"
FEW = "too few units"
OTHERS = "scored on different units"


@dataclass(frozen=True)
class Pair:
    """Two systems that one contest of a table compares, the better one first.

    ``measure`` names the contest in the reader's words.  ``difference`` is the score of ``one`` less that of
    ``other``, in the table's unit, ``low`` to ``high`` its paired 95 % interval.  ``p`` is the paired test's
    and ``adjusted`` the same after Holm over all pairs of the contest.  ``units`` says over how many of which
    unit (`57 queries`), and ``detectable`` is the smallest difference that is found with 80 % power after the
    correction (`detectable`); it is infinite where no difference that a score can have is.  ``untested``
    says why there is no test, and is empty where there is one; without one the interval, p and, but for
    printed values, ``detectable`` are NaN.
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
    """The pairs of one measure: ``systems`` are best first.

    ``groups`` are the largest sets of systems of which every two were tested and none differ; a system may be
    in several, and is in one at least, maybe alone.  ``pairs`` are those that were tested, ``untested`` those
    that were not, and ``printed`` the neighbours in print, best first.
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
        """The median of what the pairs can detect, which stands for two printed rows too; NaN without any."""
        return _median_detectable(self.pairs)

    @property
    def can_find(self) -> bool:
        """Whether there is a test that finds some difference after the correction."""
        return any(pair.detectable < math.inf for pair in self.pairs)

    @property
    def power(self) -> str:
        """Say which difference the tests find after their correction; empty where no pair says it."""
        if math.isnan(self.detectable):
            return ""
        tests = f"{len(self.pairs)} test{'' if len(self.pairs) == 1 else 's'}"
        if not self.can_find:
            return f"{self.units} are too few for {tests}: no difference is found in four cases of five"
        finite = [pair.detectable for pair in self.pairs if 0 < pair.detectable < math.inf]
        least, median, most = map(short, (min(finite), self.detectable, max(finite)))
        by_pair = f" (by pair {least} to {most})" if least != most else ""
        lost = sum(pair.detectable == math.inf for pair in self.pairs)
        but = f", and none by {lost} of {tests}, whose units are too few" if lost else ""
        return f"a difference of {median}{by_pair} is found in four cases of five{but}"

    def untested_against(self, system: str) -> list[str]:
        """The systems that this one was not tested against, best first."""
        rivals = {
            name for pair in self.untested for name in (pair.one, pair.other)
            if system in (pair.one, pair.other)
        }  # fmt: skip
        return [name for name in self.systems if name in rivals and name != system]


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
    the baseline.  Raises ValueError where two cells of a contest name one system.
    """
    contests: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.score:
            contests[cell.score.measure].append(cell)
    numbers = {(cell.row, cell.column): cell.number for cell in published if cell.number is not None}
    once = cache(of_run)  # a run may be in many contests
    return [pair for found in contests.values() for pair in _contest(found, numbers, once)]


def _contest(
    cells: Sequence[Cell], numbers: Mapping[tuple[str, str], float], of_run: OfRun
) -> Iterator[Pair]:
    if len({cell.score.system for cell in cells}) < len(cells):
        raise ValueError(f"two cells of the contest {cells[0].score.measure!r} name one system")
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
        units, median = _all_units(tested), _median_detectable(tested)
        for one, other in pairwise(printed):
            yield replace(_untested(one, other, units, PRINTED), detectable=median)
    baseline = [_Entrant(cell.score.system, cell.value, {}, cell) for cell in ran if cell.baseline]
    if printed and baseline:
        yield _untested(printed[0], _best_first(baseline)[0], "", FLOOR)


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
            yield _pair(one, other, p_values[names], adjusted[names], units, len(p_values))
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


def _pair(one: _Entrant, other: _Entrant, p: float, adjusted: float, units: str, tests: int) -> Pair:
    differences = np.array(_differences(one, other))
    mean = float(differences.mean())
    low, high = mean_interval(differences) or (mean, mean)
    score, found = one.cell.score, detectable(differences, tests)
    if not score.lower and found > score.scale:  # from 0 to 1 before it is scaled, but for a loss
        found = math.inf
    return Pair(
        score.measure,
        one.name,
        other.name,
        mean,
        low,
        high,
        p,
        adjusted,
        units,
        found,
    )


def _untested(one: _Entrant, other: _Entrant, units: str, why: str) -> Pair:
    nothing = dict.fromkeys(("low", "high", "p", "adjusted", "detectable"), math.nan)
    return Pair(
        one.cell.score.measure,
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


def detectable(differences: np.ndarray, tests: int) -> float:
    """Return the smallest mean difference that is found in 80 % of test sets after Holm's correction.

    ``differences`` (units,) say how far the differences spread, and ``tests`` how many are corrected for.
    Holm's correction finds whatever has a p-value below 5 % divided by the tests, and more where other
    pairs differ too: so the difference is found in 80 % of test sets at least.
    """
    size = effect(len(differences), tests)
    return size if size == math.inf else size * float(differences.std(ddof=1))


@cache
def effect(units: int, tests: int) -> float:
    """Return the mean, in standard deviations, of which 80 % of samples of normal differences have a p-value
    of `sign_flip` below 5 % divided by ``tests``.

    It is infinite where no sample has: the least of all p-values is 2 / 2^units.  Of few units it is
    simulated with a fixed seed, since there are few p-values; of more it is the paired t-test's, within 5 %.
    """
    level = ALPHA / tests
    if 2 / 2**units >= level:
        return math.inf
    if units > SIMULATED_UNITS:
        from scipy.special import nctdtrinc, stdtrit

        return float(nctdtrinc(units - 1, 1 - POWER, stdtrit(units - 1, 1 - level / 2)) / math.sqrt(units))
    from scipy.optimize import bisect

    noise = np.random.default_rng(0).normal(size=(units, SIMULATED_SETS))
    # The other half of all ways to set the signs has the same means with the other sign.
    signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=units - 1)])
    sums, steps = signs @ noise, signs.sum(axis=1, keepdims=True)

    def missing(mean: float) -> float:
        far = abs(sums + mean * steps)
        return POWER - float(((far >= far[0] - 10**-_DECIMALS).mean(axis=0) < level).mean())

    return float(bisect(missing, 0, 10, xtol=1e-3))


def _median_detectable(pairs: Iterable[Pair]) -> float:
    """The median of what pairs can detect; infinite where none can, NaN where all rows are the same."""
    found = [pair.detectable for pair in pairs if pair.detectable > 0]
    finite = [value for value in found if value < math.inf]
    return statistics.median(finite) if finite else math.inf if found else math.nan


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
        _all_units(tested or here),
        systems,
        _groups(systems, [(pair.one, pair.other) for pair in tested if not pair.differs]),
        tested,
        tuple(pair for pair in pairs if pair.untested == PRINTED),
        tuple(pair for pair in here if pair.untested),
    )


def _all_units(pairs: Iterable[Pair]) -> str:
    """Over how many of which unit the pairs are, each that there is."""
    return " or ".join(dict.fromkeys(pair.units for pair in pairs))


def _groups(systems: tuple[str, ...], level: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return the largest sets of systems of which every two are ``level``, best first."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(len(systems)))
    place = {name: at for at, name in enumerate(systems)}
    graph.add_edges_from((place[one], place[other]) for one, other in level)
    found = sorted(map(sorted, networkx.find_cliques(graph)))
    return tuple(tuple(systems[at] for at in group) for group in found)


SHOWN = 4  # measures of which a table says more than that they are in the file
METHOD = (
    "Which rows differ: paired tests that flip signs by unit, two-sided, at 5 % after Holm's correction "
    "over all tests of a measure. What is said to be found is found after that correction. "
    "Each pair is in the table's file comparison.csv."
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
    few = [one for one in contests if not one.pairs and {pair.untested for pair in one.untested} == {FEW}]
    if few:
        units = few[0].units.partition(" ")[2]
        said.append(f"{_measures(few)} not tested: a test wants {LEAST_UNITS} {units} at least.")
    rest = [one for one in contests if one not in few]
    untested = [pair.untested for one in rest for pair in one.untested]
    if untested:
        pairs = len(untested) + sum(len(one.pairs) for one in rest)
        said.append(f"{len(untested)} of {pairs} pairs are untested: {' or '.join(dict.fromkeys(untested))}.")
    return said


def _number(units: str) -> int:
    return int(units.partition(" ")[0])


def _measures(contests: Sequence[Contest]) -> str:
    return f"{len(contests)} measure{' is' if len(contests) == 1 else 's are'}"


def _leading(contest: Contest) -> str:
    """Say what leads, what is not told apart from it or not tested, and what difference can be found."""
    differs = any(pair.differs for pair in contest.pairs)
    if not contest.can_find and not differs:
        return f"{contest.measure}: {contest.power}."
    best, *others = contest.systems
    untested = contest.untested_against(best)
    level = [name for name in others if any({best, name} <= set(group) for group in contest.groups)]
    behind = [name for name in others if name not in {*untested, *level}]
    if len(contest.pairs) > 1 and not differs:
        words = f"no two of the {len(contest.systems)} rows are told apart"
        if contest.untested:
            words = f"none of {len(contest.pairs)} tests tells two rows apart"
    else:
        clauses = []
        if level:
            clauses.append(f"not told apart from {_listed(level)}")
        elif behind:
            clauses.append(f"ahead of {_listed(behind) if untested or not behind[1:] else 'all others'}")
        if untested:
            clauses.append(f"not tested against {_listed(untested)}")
        words = f"{best} is {' and '.join(clauses)}"
    power = f"; {contest.power}" if contest.power else ""
    return f"{contest.measure}, {contest.units}: {words}{power}."


def _in_print(contest: Contest) -> Iterator[str]:
    """Say whether the leads in print are as large as what the median pair can detect."""
    if not contest.printed or not contest.detectable < math.inf:
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
