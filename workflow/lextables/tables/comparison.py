"""Which rows of a table differ: paired tests by the task's test unit, and groups that
do not differ.

A unit of the test set, such as a query or a contract, contributes to the score of each
system; of several runs that differ in their seed, the mean contribution counts.  Two
systems are compared by the differences of their contributions, unit by unit.  The test
is a two-sided sign-flip test (over all 2^n sign patterns of n units if these are no
more than the resamples).  Holm's correction is over all tested pairs of a measure.  The
interval is Student's interval of the differences.  A detectable difference is one that
is found with 80 % power after the correction.  Unit tests check error rates, coverage
and power by simulation.

pandas, scipy and networkx are imported where they are used: most tables have nothing to
compare.
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
from typing import Any

import numpy as np

from lextables.metrics.classification import GROUPED
from lextables.metrics.intervals import mean_interval
from lextables.pipeline import spreadsheet
from lextables.tables.cells import Cell, Score, is_number
from lextables.tables.published import PublishedCell

ALPHA = 0.05
POWER = 0.8
RESAMPLES = 9_999
# With so many resamples for each pair, ALPHA divided by the number of pairs is a share
# of at least 20 resamples, 10 on each side.
RESAMPLES_A_PAIR = 400
MIN_UNITS = 6  # with five units the smallest p-value is 2 / 32
# With more units the power is computed for the t-test, whose power is within 5 %.
SIMULATED_UNITS = 14
SIMULATED_SETS = 500
_AT_ONCE = 10_000_000  # resampled differences in memory at a time
_DECIMALS = 12  # smaller differences are rounding errors

# Fields of a pair that are numbers.
NUMBERS = ("difference", "low", "high", "p", "adjusted", "detectable")

# Why a pair is not tested.
PRINTED = "published values"
BASELINE = "the best published value and the table's baseline"
FEW = "too few units"
OTHERS = "scored on different units"


@dataclass(frozen=True)
class Pair:
    """Two systems compared by one measure of a table, the better one first.

    Without a test, the interval, the p-values and, except for published values,
    ``detectable`` are NaN.
    """

    measure: str
    one: str
    other: str
    difference: float
    """The score of ``one`` minus that of ``other``, in the table's unit."""
    low: float
    high: float
    """``low`` to ``high`` is the paired 95 % interval of the difference."""
    p: float
    """The p-value of the paired test."""
    adjusted: float
    """``p`` after Holm's correction over all pairs of the measure."""
    units: str
    """The number and kind of units (`57 queries`)."""
    detectable: float
    """The smallest difference that is found with 80 % power after the correction;
    infinite if no difference that a score can have is found.
    """
    untested: str = ""
    """Why there is no test; empty if there is one."""

    @property
    def differs(self) -> bool:
        """Whether the test finds a difference."""
        return not self.untested and self.adjusted < ALPHA


@dataclass(frozen=True)
class Comparison:
    """The pairs of one measure: ``systems`` are best first.

    ``groups`` are the largest sets of systems of which every two were tested and do not
    differ; each system is in at least one group.  ``pairs`` were tested, ``untested``
    were not.  ``printed`` are neighbours in the order of the published values.
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
        """The median detectable difference of the pairs, also used for published rows;
        NaN without any.
        """
        return _median_detectable(self.pairs)

    @property
    def can_find(self) -> bool:
        """Whether any test can find a difference after the correction.

        A pair with the same scores on all units has none and does not count.
        """
        return self.detectable != math.inf

    @property
    def power(self) -> str:
        """The detectable difference after the correction, as a clause; empty if no pair
        has one.
        """
        if math.isnan(self.detectable):
            return ""
        tests = "1 test" if len(self.pairs) == 1 else f"{len(self.pairs)} tests"
        if not self.can_find:
            return f"{self.units} are too few for {tests}: no difference is detected with 80 % power"
        values = [pair.detectable for pair in self.pairs if pair.detectable > 0]
        finite = [value for value in values if value < math.inf]
        least = short(min(finite))
        most = short(max(finite))
        text = f"a difference of {short(self.detectable)}"
        if least != most:
            text += f" (by pair {least} to {most})"
        text += " is detected with 80 % power"
        lost = len(values) - len(finite)
        if lost:
            text += f", and none by {lost} of {tests} with too few units"
        return text

    def untested_against(self, system: str) -> list[str]:
        """The systems that this one was not tested against, best first."""
        others = set()
        for pair in self.untested:
            if pair.one == system:
                others.add(pair.other)
            elif pair.other == system:
                others.add(pair.one)
        return [name for name in self.systems if name in others]


def to_csv(pairs: Iterable[Pair]) -> str:
    """Return the pairs as csv text; numbers as Python writes them, so that they are
    read back the same.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [field.name for field in fields(Pair)]
    writer.writerow(names)
    for pair in pairs:
        writer.writerow([spreadsheet.cell(getattr(pair, name)) for name in names])
    return out.getvalue()


def from_csv(text: str) -> list[Pair]:
    """Read a file of `to_csv`."""
    names = [field.name for field in fields(Pair)]
    pairs = []
    for cells in spreadsheet.rows(text, names):
        row: dict[str, Any] = dict(spreadsheet.texts(cells))
        for name in NUMBERS:
            row[name] = float(row[name])
        pairs.append(Pair(**row))
    return pairs


# From cells to pairs

_ScoredCell = tuple[Score, Cell]
# Returns `inputs.Units` of the run in a folder.
OfRun = Callable[[str], Mapping[tuple[str, str], Mapping[str, float]]]


@dataclass(frozen=True)
class _System:
    """A system: its score in the table and the contribution of each unit to it, in the
    table's unit.
    """

    score: Score
    value: float
    units: Mapping[str, float]

    @property
    def name(self) -> str:
        """The name of the system."""
        return self.score.system


def compare(
    cells: Iterable[Cell], published: Iterable[PublishedCell], of_run: OfRun
) -> list[Pair]:
    """Return the pairs of each measure of a table, measures in the order of its cells.

    ``of_run`` returns the contribution of each unit to the scores of the run in a
    folder (`inputs.Inputs.units`).  ``published`` are the published cells, none if the
    data are not the paper's.  They add a pair of the best published value and the best
    baseline, and, if a pair of systems was tested, the pairs of neighbours in the order
    of the published values.  Raises ValueError if two cells of a measure name the same
    system.
    """
    by_measure: dict[str, list[_ScoredCell]] = defaultdict(list)
    for cell in cells:
        if cell.score:
            by_measure[cell.score.measure].append((cell.score, cell))
    numbers = {}
    for printed in published:
        if printed.number is not None:
            numbers[printed.row, printed.column] = printed.number
    cached = cache(of_run)  # a run may have several measures
    pairs: list[Pair] = []
    for measure_cells in by_measure.values():
        pairs += _pairs(measure_cells, numbers, cached)
    return pairs


def _pairs(
    cells: Sequence[_ScoredCell],
    numbers: Mapping[tuple[str, str], float],
    of_run: OfRun,
) -> Iterator[Pair]:
    """Yield the pairs of one measure, as `compare` describes them: of all systems that
    ran, of neighbours among the published values, and of the best published value and
    the best baseline.
    """
    names = {score.system for score, _ in cells}
    if len(names) < len(cells):
        measure = cells[0][0].measure
        raise ValueError(f"two cells of the measure {measure!r} name one system")
    ran = []
    printed = []
    baselines = []
    for score, cell in cells:
        if cell.runs and is_number(cell.value):
            system = _System(score, cell.value, {})
            ran.append((system, cell.runs))
            if cell.baseline:
                baselines.append(system)
        number = numbers.get((cell.row, cell.column))
        if number is not None:
            printed.append(_System(score, number, {}))
    published = _best_first(printed)
    tested = []
    if len(ran) > 1:
        systems = [_with_units(system, folders, of_run) for system, folders in ran]
        for pair in _compared(_best_first(systems)):
            yield pair
            if not pair.untested:
                tested.append(pair)
    if tested:
        units = _all_units(tested)
        median = _median_detectable(tested)
        for better, worse in pairwise(published):
            pair = _untested(better, worse, units, PRINTED)
            yield replace(pair, detectable=median)
    if published and baselines:
        best_baseline = _best_first(baselines)[0]
        yield _untested(published[0], best_baseline, "", BASELINE)


def _best_first(systems: Iterable[_System]) -> list[_System]:
    def order(system: _System) -> float:
        return system.value if system.score.lower else -system.value

    return sorted(systems, key=order)


def _with_units(system: _System, folders: Iterable[str], of_run: OfRun) -> _System:
    """A system with the mean over its runs for each unit that all of them have."""
    score = system.score
    place = (score.metric, score.group)
    runs = [of_run(folder).get(place, {}) for folder in folders]
    shared = set(runs[0]).intersection(*runs)
    units = {}
    for unit in sorted(shared):
        mean = statistics.fmean(run[unit] for run in runs)
        units[unit] = score.scale * mean
    return replace(system, units=units)


def _compared(systems: Sequence[_System]) -> list[Pair]:
    """All pairs, better ones first, those on the same units with their test."""
    pairs = list(combinations(systems, 2))
    p_values = _p_values(pairs)
    corrected = holm(list(p_values.values()))
    adjusted = dict(zip(p_values, corrected, strict=True))
    compared = []
    for better, worse in pairs:
        names = (better.name, worse.name)
        units = _unit_count(better)
        if names in p_values:
            pair = _tested(better, worse, len(p_values))
            pair = replace(pair, p=p_values[names], adjusted=adjusted[names])
        elif better.units.keys() == worse.units.keys():
            pair = _untested(better, worse, units, FEW)
        else:
            units = f"{units} and {_unit_count(worse)}"
            pair = _untested(better, worse, units, OTHERS)
        compared.append(pair)
    return compared


def _p_values(pairs: Iterable[tuple[_System, _System]]) -> dict[tuple[str, str], float]:
    """{names of two systems: their p-value} of the pairs on enough common units."""
    names = defaultdict(list)
    differences = defaultdict(list)
    for better, worse in pairs:
        same = better.units.keys() == worse.units.keys()
        if same and len(better.units) >= MIN_UNITS:
            units = tuple(better.units)
            names[units].append((better.name, worse.name))
            differences[units].append(_differences(better, worse))
    p_values: dict[tuple[str, str], float] = {}
    for units, rows in differences.items():
        tested = sign_flip(np.array(rows))
        p_values.update(zip(names[units], tested.tolist(), strict=True))
    return p_values


def _differences(better: _System, worse: _System) -> list[float]:
    return [value - worse.units[unit] for unit, value in better.units.items()]


def _unit_count(system: _System) -> str:
    """The number and kind of a system's units."""
    n = len(system.units)
    units = system.score.units
    if n and all(unit.startswith(GROUPED) for unit in system.units):
        return f"{n} groups of {units}"
    return f"{n} {units}"


def _untested(better: _System, worse: _System, units: str, untested: str = "") -> Pair:
    """A pair without a test."""
    return Pair(
        measure=better.score.measure,
        one=better.name,
        other=worse.name,
        difference=better.value - worse.value,
        low=math.nan,
        high=math.nan,
        p=math.nan,
        adjusted=math.nan,
        units=units,
        detectable=math.nan,
        untested=untested,
    )


def _tested(better: _System, worse: _System, tests: int) -> Pair:
    """A pair with its interval and detectable difference, without its p-values."""
    differences = np.array(_differences(better, worse))
    mean = float(differences.mean())
    low, high = mean_interval(differences) or (mean, mean)
    score = better.score
    detected = detectable(differences, tests)
    # Scores, except losses, are from 0 to 1 before they are scaled.
    if not score.lower and detected > score.scale:
        detected = math.inf
    pair = _untested(better, worse, _unit_count(better))
    return replace(pair, difference=mean, low=low, high=high, detectable=detected)


# The test


def sign_flip(differences: np.ndarray, resamples: int = 0, seed: int = 0) -> np.ndarray:
    """Return the two-sided p-value of each pair's mean difference, float64 (pairs,).

    ``differences`` float64 (pairs, units).  Under the null hypothesis a difference is
    as likely as its negative.  The p-value is the share of ``resamples`` (default:
    enough for Holm's correction), with the observed signs as one more, whose mean is at
    least as extreme as the observed mean.  If there are no more sign patterns than
    resamples, it is the share of all patterns.
    """
    pairs, units = differences.shape
    resamples = resamples or max(RESAMPLES, RESAMPLES_A_PAIR * pairs)
    if 2**units <= resamples:
        signs = np.array([*product((1.0, -1.0), repeat=units)])
        sizes = abs(_means(signs, differences))
        return (sizes >= sizes[0]).mean(axis=0)
    size = max(1, _AT_ONCE // resamples)
    p_values = []
    for at in range(0, pairs, size):
        some = differences[at : at + size]
        p_values.append(_resampled(some, resamples, seed))
    return np.concatenate(p_values)


def _means(signs: np.ndarray, differences: np.ndarray) -> np.ndarray:
    """The mean differences with these signs, float64 (patterns, pairs).

    ``signs`` are float64 (patterns, units), ``differences`` (pairs, units).
    """
    means = signs @ differences.T / signs.shape[-1]
    return means.round(_DECIMALS)


def _resampled(differences: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The p-values of `sign_flip` by resampling; all pairs are flipped by the same
    signs.

    scipy flips the signs of a row of ones, and `_means` applies them to all pairs.
    """
    from scipy.stats import permutation_test

    def means(signs: np.ndarray, axis: int) -> np.ndarray:
        return _means(signs, differences)

    units = np.ones(differences.shape[1])
    test = permutation_test(
        (units,),
        means,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=1000,
        rng=np.random.default_rng(seed),
    )
    return test.pvalue


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values after Holm's correction (1979), which bounds the familywise
    error rate.
    """
    order = np.argsort(p_values)
    tests_left = np.arange(len(p_values), 0, -1)
    in_order = np.maximum.accumulate(np.take(p_values, order) * tests_left)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(in_order, 1)
    return adjusted.tolist()


def detectable(differences: np.ndarray, tests: int) -> float:
    """Return the smallest mean difference that is found in 80 % of test sets after
    Holm's correction.

    ``differences`` (units,) give the spread, ``tests`` is the number of tests of the
    correction.  Holm's correction finds every p-value below 5 % divided by ``tests``,
    and more if other pairs differ too, so the power is at least 80 %.
    """
    size = effect(len(differences), tests)
    if size == math.inf:
        return size
    return size * float(differences.std(ddof=1))


@cache
def effect(units: int, tests: int) -> float:
    """Return the mean difference, in standard deviations, that `sign_flip` finds at the
    level 5 % / ``tests`` with 80 % power.

    The differences are taken to be normal.  Infinite if the smallest possible p-value,
    2 / 2^units, is not below the level.  For few units, where p-values are coarse, the
    power is simulated with a fixed seed; for more, it is that of the paired t-test.
    """
    level = ALPHA / tests
    if 2 / 2**units >= level:
        return math.inf
    if units > SIMULATED_UNITS:
        return _effect_of_t_test(units, level)
    return _simulated_effect(units, level)


def _effect_of_t_test(units: int, level: float) -> float:
    """The mean that the paired t-test finds at ``level`` with 80 % power."""
    from scipy.special import nctdtrinc, stdtrit

    freedom = units - 1
    bound = stdtrit(freedom, 1 - level / 2)
    noncentrality = nctdtrinc(freedom, 1 - POWER, bound)
    return float(noncentrality) / math.sqrt(units)


def _simulated_effect(units: int, level: float) -> float:
    """The mean that `sign_flip` finds at ``level`` in 80 % of simulated sets."""
    from scipy.optimize import bisect

    noise = np.random.default_rng(0).normal(size=(units, SIMULATED_SETS))
    # The other half of the sign patterns has the same means with the other sign.
    half = product((1.0,), *[(1.0, -1.0)] * (units - 1))
    signs = np.array(list(half))
    sums = signs @ noise
    steps = signs.sum(axis=1, keepdims=True)

    def missing(mean: float) -> float:
        """How far the power for this mean difference is below `POWER`."""
        sizes = abs(sums + mean * steps)
        least = sizes[0] - 10**-_DECIMALS
        p_values = (sizes >= least).mean(axis=0)
        power = (p_values < level).mean()
        return POWER - float(power)

    return float(bisect(missing, 0, 10, xtol=1e-3))


def _median_detectable(pairs: Iterable[Pair]) -> float:
    """The median of the finite detectable differences above 0.

    Infinite if there are only infinite ones, NaN if there are none: a pair with the
    same scores on all units has 0.
    """
    values = [pair.detectable for pair in pairs if pair.detectable > 0]
    finite = [value for value in values if value < math.inf]
    if finite:
        return statistics.median(finite)
    return math.inf if values else math.nan


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
    """The comparison of the systems of one measure; ``pairs`` are in the order of
    `compare`, better ones first.
    """
    printed = []
    untested = []
    tested = []
    for pair in pairs:
        if pair.untested == PRINTED:
            printed.append(pair)
        elif pair.untested:
            untested.append(pair)
        else:
            tested.append(pair)
    compared = [pair for pair in pairs if pair.untested != PRINTED]
    better = [pair.one for pair in compared]
    worse = [pair.other for pair in compared]
    systems = tuple(dict.fromkeys(better + worse))
    level = [(pair.one, pair.other) for pair in tested if not pair.differs]
    return Comparison(
        measure=measure,
        units=_all_units(tested or compared),
        systems=systems,
        groups=_groups(systems, level),
        pairs=tuple(tested),
        printed=tuple(printed),
        untested=tuple(untested),
    )


def _all_units(pairs: Iterable[Pair]) -> str:
    """The numbers and kinds of units of the pairs."""
    return " or ".join(dict.fromkeys(pair.units for pair in pairs))


def _groups(
    systems: tuple[str, ...], level: Sequence[tuple[str, str]]
) -> tuple[tuple[str, ...], ...]:
    """Return the largest sets of systems of which every two are in ``level``, best
    first.
    """
    import networkx

    graph = networkx.Graph(level)
    graph.add_nodes_from(systems)
    cliques = []
    for clique in networkx.find_cliques(graph):
        places = [systems.index(system) for system in clique]
        cliques.append(sorted(places))
    groups = []
    for places in sorted(cliques):
        group = [systems[place] for place in places]
        groups.append(tuple(group))
    return tuple(groups)


SHOWN = 4  # measures with a note
METHOD = (
    "Which rows differ: paired tests that flip signs by unit, two-sided, at 5 % after Holm's correction "
    "over all tests of a measure. "
    "Each pair is in the table's file comparison.csv."
)


def notes(comparisons: Sequence[Comparison], data_note: str = "") -> list[str]:
    """Return notes on which rows of a table differ and which differences its test set
    can detect.

    The measures with the most units come first, at most `SHOWN`.  ``data_note``
    describes data that are not the paper's.
    """
    tested = [comparison for comparison in comparisons if comparison.pairs]
    tested.sort(key=_number_of_units, reverse=True)
    notes = []
    if tested:
        notes.append(f"{METHOD} Computed on {data_note}." if data_note else METHOD)
    for comparison in tested[:SHOWN]:
        notes.append(_leading(comparison))
        if comparison.printed and comparison.detectable < math.inf:
            notes.append(_published_leads(comparison))
    if len(tested) > SHOWN:
        notes.append(f"{_measures(len(tested) - SHOWN)} compared in that file, too.")
    return notes + _notes_on_untested(comparisons)


def _number_of_units(comparison: Comparison) -> int:
    number, _, _ = comparison.units.partition(" ")
    return int(number)


def _notes_on_untested(comparisons: Iterable[Comparison]) -> list[str]:
    """Notes on the measures with too few units, and on untested pairs of the others."""
    few = []
    reasons = []
    pairs = 0
    for comparison in comparisons:
        untested = [pair.untested for pair in comparison.untested]
        if not comparison.pairs and set(untested) == {FEW}:
            few.append(comparison)
        else:
            reasons += untested
            pairs += len(untested) + len(comparison.pairs)
    notes = []
    if few:
        _, _, kind = few[0].units.partition(" ")
        what = _measures(len(few))
        need = f"a test needs at least {MIN_UNITS} {kind}"
        notes.append(f"{what} not tested: {need}.")
    if reasons:
        why = " or ".join(dict.fromkeys(reasons))
        notes.append(f"{len(reasons)} of {pairs} pairs are untested: {why}.")
    return notes


def _measures(number: int) -> str:
    return "1 measure is" if number == 1 else f"{number} measures are"


def _leading(comparison: Comparison) -> str:
    """The best row, the rows not distinguished from it or not tested, and the
    detectable difference.
    """
    tests = len(comparison.pairs)
    power = comparison.power
    differs = any(pair.differs for pair in comparison.pairs)
    if not comparison.can_find and not differs:
        return f"{comparison.measure}: {power}."
    if differs or tests == 1:
        result = _lead(comparison)
    elif comparison.untested:
        result = f"none of {tests} tests distinguishes two rows"
    else:
        result = f"no two of the {len(comparison.systems)} rows are distinguished"
    text = f"{comparison.measure}, {comparison.units}: {result}"
    if power:
        text += f"; {power}"
    return f"{text}."


def _lead(comparison: Comparison) -> str:
    """The best row, and the rows that it is not distinguished from; if there are none,
    the rows that it is ahead of; and the rows that it was not tested against.
    """
    best, *others = comparison.systems
    untested = comparison.untested_against(best)
    groups = [group for group in comparison.groups if best in group]
    same = set().union(*groups)
    level = []
    behind = []
    for name in others:
        if name in same:
            level.append(name)
        elif name not in untested:
            behind.append(name)
    clauses = []
    if level:
        clauses.append(f"not distinguished from {_joined_names(level)}")
    elif len(behind) > 1 and not untested:
        clauses.append("ahead of all others")
    elif behind:
        clauses.append(f"ahead of {_joined_names(behind)}")
    if untested:
        clauses.append(f"not tested against {_joined_names(untested)}")
    return f"{best} is {' and '.join(clauses)}"


def _published_leads(comparison: Comparison) -> str:
    """Whether the published leads are at least the median detectable difference."""
    leads = [abs(pair.difference) for pair in comparison.printed]
    small = [lead for lead in leads if lead < comparison.detectable]
    first = comparison.printed[0]
    lead = leads[0]
    relation = "less" if lead < comparison.detectable else "not less"
    text = (
        f"In the published values {first.one} leads {first.other} by "
        f"{short(lead)}, {relation} than that"
    )
    if len(leads) > 1:
        text += (
            f"; of the {len(leads)} leads of a published row over the next, "
            f"{len(small)} are smaller"
        )
    return f"{text}."


def _joined_names(names: Sequence[str], most: int = 4) -> str:
    """At most this many names, and the number of the others."""
    *first, last = names
    if len(names) > most:
        first = list(names[:most])
        last = f"{len(names) - most} more"
    if not first:
        return last
    return f"{', '.join(first)} and {last}"


def short(value: float) -> str:
    """Return a number with two figures, never in powers of ten."""
    if value == 0:
        return "0.0"
    magnitude = math.floor(math.log10(abs(value)))
    digits = min(max(0, 1 - magnitude), 6)
    return f"{value:.{digits}f}"
