"""From computed cells to the lines of a table: published and reproduced values,
verdicts and reasons.

Verdicts: **match** (equal at the published precision, or the same words), **off**
(different; ``difference`` is ours less the published value), **not run** (with the
reason).  Trained or sampled rows are compared with the 95 % prediction interval
(``prediction_low``, ``prediction_high``) of at least `MIN_SEEDS` seeds and may also be
**near**; with fewer seeds they have no verdict.  The sampling interval (``low``,
``high``) decides no verdict: it is computed on the same test units as the published
score, so it would also contain the scores of clearly worse systems.  Values without a
published counterpart, and all values from data that are not comparable with the
paper's, are in ``ours`` without a verdict.

``reason`` explains a cell: too few seeds, or a prediction interval too wide to tell
published values apart; the cell's own reason; and why it is off.

``baselines`` names the baselines of the table that score at least as well as a
published value.  It describes the published value and does not affect the verdict.
"""

import csv
import difflib
import io
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeGuard

from lextables.pipeline import spreadsheet
from lextables.pipeline.errors import BadInput
from lextables.tables.published import PublishedCell
from lextables.tables.words import same_words

Verdict = Literal["match", "near", "off", "not run", ""]
DECIMALS = 3
MAX_NAMED = 5  # rows or columns that an error message lists
MIN_SEEDS = 3  # runs that a verdict on a trained row needs
SEED_COUNTS = ("no seed", "one seed", "two seeds")
# The baseline that reaches every published value of 0.
NOTHING = "a model that answers nothing"
UNDEFINED = "not defined: its denominator is 0 in these examples"


@dataclass(frozen=True)
class Score:
    """A score of a system's runs, and how systems are compared by it (`comparison`)."""

    measure: str
    """What systems are compared by, as named in the table."""
    system: str
    """The system, as named in the table."""
    metric: str
    """The metric, as in `scores.parquet` and `units.parquet`."""
    group: str = "all"
    """The part of the test set, as in the same files."""
    units: str = "examples"
    """The kind of test unit, in the plural (`queries`)."""
    scale: float = 1
    """Stored values times this are in the table's unit."""
    lower: bool = False
    """Whether a lower score is better."""


@dataclass(frozen=True)
class Cell:
    """A computed cell."""

    row: str
    column: str
    value: float | str | None
    """A number in the table's unit, a text, or None with a ``reason``."""
    low: float | None = None
    high: float | None = None
    """``low`` to ``high`` is the 95 % sampling interval."""
    decimals: int | None = None
    """The precision of an additional cell; published cells have their own."""
    runs: tuple[str, ...] = ()
    """The folders of the runs that the value is computed from."""
    reason: str = ""
    """Why the cell has no value or no verdict, or a note on the value."""
    seeds: tuple[float, ...] | None = None
    """The values of the runs of a trained or sampled value, one a seed; None if the
    value is deterministic.
    """
    averages: int = 1
    """The number of runs that the published value averages."""
    measure: str = ""
    """The measure that systems are compared by; empty for values that are not
    scores.
    """
    score: Score | None = None
    """The input of the paired tests; None where systems are not tested."""
    baseline: str = ""
    """The name of the baseline with this score, if it may mark published values."""
    comparable: bool | None = None
    """Whether the data of a cell from another data set are the paper's; None: as for
    the table.
    """
    judged: bool = True
    """Whether the cell gets a verdict; if not, ``reason`` says why."""


@dataclass(frozen=True)
class Line:
    """One line of a table's csv; a field is empty where the cell has no such value."""

    row: str
    column: str
    published: str = ""
    """The published value."""
    reproduced: str = ""
    """The computed value, if it is compared with the published one."""
    ours: str = ""
    """The computed value, if it is not compared."""
    low: str = ""
    high: str = ""
    """``low`` to ``high`` is the 95 % sampling interval."""
    difference: str = ""
    """The reproduced less the published value, if the verdict is off."""
    prediction_low: str = ""
    prediction_high: str = ""
    """The ends of the prediction interval over seeds."""
    decimals: int | None = None
    """The precision of the values; None for text."""
    verdict: Verdict = ""
    reason: str = ""
    runs: str = ""
    """The folders of the runs, separated by spaces."""
    baselines: str = ""
    """The baselines that reach the published value, separated by `; `."""
    system: str = ""
    """The system, if the value is a score by which systems are compared."""
    worst: str = ""
    best: str = ""
    """The worst and the best possible score, with ``system``."""


COLUMNS = tuple(field.name for field in fields(Line))
Place = tuple[str, str]  # the row and the column of a cell


def build(
    published: Sequence[PublishedCell],
    cells: Iterable[Cell],
    comparable: bool,
    why_off: Callable[[str, str], str] = lambda row, column: "",
) -> list[Line]:
    """Return the lines of a table: the paper's rows in its order, then additional rows.

    ``comparable`` says whether the data are the paper's (a cell may override it); if
    not, values go to `ours` without a verdict.  ``why_off`` returns the explanation of
    a (row, column) that is off.

    Raises BadInput for a published cell that is not computed, and ValueError for one
    with neither a value nor a reason, and for two computed cells at the same row and
    column.
    """
    computed: dict[Place, Cell] = {}
    for cell in cells:
        place = (cell.row, cell.column)
        if place in computed:
            raise ValueError(f"two computed cells at {_in_words(cell)}")
        computed[place] = cell
    decimals = _decimals_of_columns(published)
    following, additional = _additional_cells(published, computed)
    numbers = _published_numbers(published, computed)
    baselines = []
    for cell in computed.values():
        if cell.baseline and _is_comparable(cell, comparable):
            baselines.append(cell)
    lines = []
    for printed in published:
        cell = _computed_cell(printed, computed)
        if _is_comparable(cell, comparable):
            same_measure = numbers[_compared_by(cell)]
            line = _compared_line(printed, cell, same_measure, why_off)
            reached = _reached(printed, cell, baselines)
            lines.append(replace(line, baselines=reached))
        else:
            lines.append(_line_of_other_data(printed, cell))
        for extra in following[printed.row, printed.column]:
            lines.append(_additional_line(extra, decimals))
    for extra in additional:
        lines.append(_additional_line(extra, decimals))
    return lines


def _is_comparable(cell: Cell, comparable: bool) -> bool:
    """Whether a cell is from the paper's data; ``comparable``: whether the table is."""
    return comparable if cell.comparable is None else cell.comparable


def _decimals_of_columns(published: Iterable[PublishedCell]) -> dict[str, int]:
    """{column: the decimals of its first published number}."""
    decimals: dict[str, int] = {}
    for printed in published:
        if printed.decimals is not None:
            decimals.setdefault(printed.column, printed.decimals)
    return decimals


def _computed_cell(printed: PublishedCell, computed: Mapping[Place, Cell]) -> Cell:
    """The computed cell at the place of a published one.

    Raises BadInput if it is not computed, and ValueError if it has neither a value nor
    a reason.
    """
    place = (printed.row, printed.column)
    if place not in computed:
        raise _not_computed(printed, computed)
    cell = computed[place]
    if printed.number is not None:
        cell = _defined(cell)
    if cell.value is None and not cell.reason:
        raise ValueError(f"no value and no reason for {_in_words(cell)}")
    return cell


def _defined(cell: Cell) -> Cell:
    """Return the cell; if its number is not finite, without the number and with the
    reason.
    """
    if not isinstance(cell.value, float) or math.isfinite(cell.value):
        return cell
    why = UNDEFINED
    if cell.seeds:
        defined = sum(map(math.isfinite, cell.seeds))
        why = f"{defined} of {len(cell.seeds)} seeds have a value"
    return replace(
        cell, value=None, low=None, high=None, reason=_joined(why, cell.reason)
    )


def _in_words(cell: Cell) -> str:
    return f"row {cell.row!r}, column {cell.column!r}"


def _additional_cells(
    published: Iterable[PublishedCell], computed: Mapping[Place, Cell]
) -> tuple[dict[Place, list[Cell]], list[Cell]]:
    """The additional cells that follow each published cell, and the cells of additional
    rows.

    An additional cell of a published row, such as a strict score, follows the published
    cell before it.
    """
    following: dict[Place, list[Cell]] = {
        (cell.row, cell.column): [] for cell in published
    }
    additional: list[Cell] = []
    group = additional
    row = ""
    for place, cell in computed.items():
        if place in following:
            group = following[place]
            row = cell.row
            continue
        if cell.row != row:
            group = additional
            row = cell.row
        group.append(cell)
    return following, additional


def _not_computed(printed: PublishedCell, computed: Iterable[Place]) -> BadInput:
    """The error for a published cell that is not computed; it names the most similar
    rows or columns.
    """
    names = [column for row, column in computed if row == printed.row]
    kind = "column"
    what = f"column {printed.column!r} of row {printed.row!r}"
    name = printed.column
    if not names:
        names = list(dict.fromkeys(row for row, _ in computed))
        kind = "row"
        what = f"row {printed.row!r}"
        name = printed.row
    do = "check the `rows` of its entry"
    if names:
        similar = difflib.get_close_matches(name, names, n=MAX_NAMED, cutoff=0)
        do = f"write one of its {kind}s, such as {', '.join(map(repr, similar))}"
    return BadInput(
        f"{printed.table} computes no {what}", where="published values", do=do
    )


def _compared_by(cell: Cell) -> tuple[bool, str]:
    """Whether the cell has a measure, and the measure, or else the column.

    Published values with the same key are compared with each other.
    """
    if cell.measure:
        return True, cell.measure
    return False, cell.column


def _published_numbers(
    published: Iterable[PublishedCell], computed: Mapping[Place, Cell]
) -> dict[tuple[bool, str], list[float]]:
    """{measure or column (`_compared_by`): its published numbers}."""
    numbers: dict[tuple[bool, str], list[float]] = defaultdict(list)
    for printed in published:
        cell = computed.get((printed.row, printed.column))
        if cell and printed.number is not None:
            numbers[_compared_by(cell)].append(printed.number)
    return numbers


def _line(cell: Cell, decimals: int | None) -> Line:
    """The line of a cell, in which the value and the verdict are still empty."""
    system = worst = best = ""
    if cell.score:
        system = cell.score.system
        worst = "0"
        best = f"{cell.score.scale:g}"
        if cell.score.lower:
            worst, best = best, worst
    places = DECIMALS if decimals is None else decimals
    low, high = _prediction(cell) or (None, None)
    return Line(
        row=cell.row,
        column=cell.column,
        low=written(cell.low, places),
        high=written(cell.high, places),
        # The prediction interval has one decimal more.
        prediction_low=written(low, places + 1),
        prediction_high=written(high, places + 1),
        decimals=decimals,
        reason=cell.reason,
        runs=" ".join(cell.runs),
        system=system,
        worst=worst,
        best=best,
    )


def _additional_line(cell: Cell, decimals: Mapping[str, int]) -> Line:
    """The line of a cell without a published value; ``decimals`` are those of the
    published columns, for a cell that has none of its own.
    """
    cell = _defined(cell)
    places = cell.decimals
    if places is None:
        places = decimals.get(cell.column, DECIMALS)
    line = _line(cell, places)
    if isinstance(cell.value, str):
        line = replace(line, decimals=None)
    if cell.value is None:
        return replace(line, verdict="not run")
    return replace(line, ours=written(cell.value, places))


def _line_of_other_data(published: PublishedCell, cell: Cell) -> Line:
    """The line of a published cell whose computed value is from data that are not the
    paper's.
    """
    line = _line(cell, published.decimals)
    if cell.value is None and cell.judged:
        line = replace(line, verdict="not run")
    return replace(
        line, published=published.value, ours=written(cell.value, published.decimals)
    )


def _compared_line(
    published: PublishedCell,
    cell: Cell,
    numbers: Sequence[float],
    why_off: Callable[[str, str], str],
) -> Line:
    """The line of a published cell with its verdict; ``numbers`` are the paper's values
    of the same measure.
    """
    outcome, difference, evidence = verdict(published, cell, numbers)
    why = ""
    if outcome == "off":
        why = why_off(published.row, published.column)
    return replace(
        _line(cell, published.decimals),
        published=published.value,
        reproduced=written(cell.value, published.decimals),
        difference=difference,
        verdict=outcome,
        reason=_joined(evidence, cell.reason, why),
    )


def _joined(*clauses: str) -> str:
    return "; ".join(clause for clause in clauses if clause)


def verdict(
    published: PublishedCell, cell: Cell, numbers: Sequence[float] = ()
) -> tuple[Verdict, str, str]:
    """Return the verdict on a computed cell, its difference if it is off by a number,
    and the reason: too few seeds, or too wide a prediction interval.

    Text is compared by `same_words`.  ``numbers`` are the paper's values of the same
    measure.
    """
    number = published.number
    value = cell.value
    decimals = published.decimals
    if not cell.judged:
        return "", "", ""
    if value is None:
        return "not run", "", ""
    if isinstance(value, str) or number is None or decimals is None:
        equal = same_words(written(value, decimals), published.value)
        return "match" if equal else "off", "", ""
    if cell.seeds is not None:
        few = _too_few(cell.seeds)
        if few:
            return "", "", few
    ours = rounded(value, decimals)
    evidence = ""
    inside = False
    prediction = _prediction(cell)
    if prediction:
        low, high = prediction
        evidence = _too_wide(number, low, high, numbers)
        inside = low <= number <= high
    if ours == number:
        return "match", "", evidence
    if inside:
        return "near", "", evidence
    return "off", f"{ours - number:+.{decimals}f}", evidence


def prediction_interval(
    values: Sequence[float], averages: int = 1
) -> tuple[float, float]:
    """Return the 95 % prediction interval of the mean of ``averages`` more draws.

    ``values`` are two draws or more.

    For normal draws: mean ± t(0.975, n - 1) · s · √(1/n + 1/m), where s is the standard
    deviation of the n values (with the divisor n - 1) and m is ``averages``.
    """
    # Slow to load, and most tables have no trained row.
    from scipy.special import stdtrit

    n = len(values)
    mean = statistics.fmean(values)
    deviation = statistics.stdev(values, mean)
    quantile = float(stdtrit(n - 1, 0.975))
    half = quantile * math.sqrt(1 / n + 1 / averages) * deviation
    return mean - half, mean + half


def _too_few(seeds: Sequence[float]) -> str:
    """Why these seeds are too few for a verdict; empty if they are enough."""
    if len(seeds) >= MIN_SEEDS:
        return ""
    return f"trained with {SEED_COUNTS[len(seeds)]}; a verdict needs three"


def _prediction(cell: Cell) -> tuple[float, float] | None:
    """The prediction interval of a cell; None without enough seeds or without a
    value.
    """
    if cell.seeds is None or _too_few(cell.seeds) or not is_number(cell.value):
        return None
    return prediction_interval(cell.seeds, cell.averages)


def _too_wide(number: float, low: float, high: float, numbers: Iterable[float]) -> str:
    """Why an interval is too wide to say much; empty if it is not.

    An interval is too wide if it contains published values of other systems
    (``numbers``).  If there are no such values, it is too wide if its half-width is
    more than half of the published ``number``.
    """
    others = [value for value in numbers if value != number]
    inside = sum(low <= value <= high for value in others)
    if inside:
        return (
            f"too wide to distinguish {inside} of the {len(others)} other published "
            "values from this one"
        )
    if not others and (high - low) / 2 > abs(number) / 2:
        return (
            "too wide to be informative: more than half of the published value "
            "to either side"
        )
    return ""


def _reached(printed: PublishedCell, cell: Cell, baselines: Iterable[Cell]) -> str:
    """The names of the ``baselines`` that score at least as well as a published value,
    at the published precision.

    Only baselines with the same measure count.  `NOTHING` is added if the published
    value is 0 and higher values are better.
    """
    number = printed.number
    decimals = printed.decimals
    if not cell.measure or number is None or decimals is None:
        return ""
    lower = cell.score is not None and cell.score.lower
    names: dict[str, None] = {}
    for baseline in baselines:
        name = baseline.baseline
        if name == cell.baseline or baseline.measure != cell.measure:
            continue
        if is_number(baseline.value):
            score = rounded(baseline.value, decimals)
            reached = score <= number if lower else score >= number
            if reached:
                names[name] = None
    if number == 0 and not lower:
        names[NOTHING] = None
    return _joined(*names)


def is_number(value: float | str | None) -> TypeGuard[float]:
    """Return whether a value is a number, and not NaN."""
    if value is None or isinstance(value, str):
        return False
    return not math.isnan(value)


def rounded(value: float, decimals: int) -> float:
    """Return a number rounded to this many decimals, as published."""
    return float(f"{value:.{decimals}f}")


def written(value: float | str | None, decimals: int | None) -> str:
    """Return a value as a table shows it: numbers at ``decimals`` places, no sign on a
    zero.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if math.isnan(value):
        return "NaN"
    if decimals is None:
        decimals = DECIMALS
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text


def to_csv(lines: Iterable[Line], note: str = "") -> str:
    """Return the table as csv text.

    A ``note`` on the data is appended to the reason of each value in `ours`, because
    rows may be read without the page.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for line in lines:
        if line.ours and note:
            line = replace(line, reason=_joined(line.reason, note))
        # None is written as an empty cell.
        values = [getattr(line, name) for name in COLUMNS]
        writer.writerow(map(spreadsheet.cell, values))
    return out.getvalue()


def from_csv(text: str, note: str = "") -> list[Line]:
    """Read the text of `to_csv`; the ``note`` on the data is removed."""
    lines = []
    for cells in spreadsheet.rows(text, COLUMNS):
        row: dict[str, Any] = dict(spreadsheet.texts(cells))
        decimals = row["decimals"]
        row["decimals"] = int(decimals) if decimals else None
        reason = row["reason"].removesuffix(note)
        row["reason"] = reason.removesuffix("; ")
        lines.append(Line(**row))
    return lines


def count(lines: Iterable[Line]) -> Mapping[str, int]:
    """Count the published cells by verdict, in the order match, near, off, not run, no
    verdict.
    """
    totals = dict.fromkeys(("match", "near", "off", "not run", ""), 0)
    for line in lines:
        if line.published:
            totals[line.verdict] += 1
    return totals
