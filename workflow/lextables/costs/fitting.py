"""Fits the model of cost to records of finished runs, and says how far it is off on what it was not fitted
on.

Records of one data set are alike: they count as one, at each amount of work.  A
kind's error is what others' records say of a data set's, each left out in turn: in eight of ten it is within
the ``factor``.  Of a kind that one or two data sets have, none can be left out, and it has the factor of all
other kinds together.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from lextables.costs.model import BYTES, LEARNING, READING, SECONDS

COVERED = 0.8
# Operations that a core makes in a second at the very most (512 bits, bfloat16).  A job that made more
# found vectors or weights that an earlier one had kept, and says nothing of how long these take.
MOST = 5e11
LEAST = 3  # groups, so that two stay for a line when one is left out


@dataclass(frozen=True)
class Record:
    """What one job took: ``amount`` seconds or bytes for its ``work``; ``group``: its data and data set."""

    kind: str
    what: str
    group: tuple[str, str]
    work: float
    amount: float


@dataclass(frozen=True)
class Fit:
    """The fit of a kind; ``errors`` are the factors by which each group left out was off."""

    base: float
    rate: float
    smallest: float
    largest: float
    records: int
    groups: int
    errors: tuple[float, ...]
    factor: float = 1.0


def of_rows(rows: Iterable[Mapping[str, str]]) -> list[Record]:
    """Return the records of both quantities in rows of `resources/costs/records.csv`."""
    found = []
    for row in rows:
        group, model = (row["data"], row["dataset"]), row["kind"] in (LEARNING, READING)
        if row["seconds"] and (row["work"] or not model):
            work, seconds = float(row["work"] if model else row["published"]), float(row["seconds"])
            if not model or work <= MOST * seconds:
                found.append(Record(row["kind"], SECONDS, group, work, seconds))
        if row["bytes"]:
            found.append(Record(row["rule"], BYTES, group, float(row["published"]), float(row["bytes"])))
    return found


def fit(records: Iterable[Record]) -> dict[tuple[str, str], Fit]:
    """Return the fit of each kind and quantity."""
    kinds: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in records:
        kinds[record.kind, record.what].append(record)
    fits = {key: _fit(several) for key, several in sorted(kinds.items())}
    return {
        key: Fit(*_plain(found), factor=_factor(found.errors or _pooled(fits, key[1])))
        for key, found in fits.items()
    }


def _plain(found: Fit) -> tuple:
    return found.base, found.rate, found.smallest, found.largest, found.records, found.groups, found.errors


def _pooled(fits: Mapping[tuple[str, str], Fit], what: str) -> tuple[float, ...]:
    return tuple(error for key, found in fits.items() if key[1] == what for error in found.errors)


def _factor(errors: Sequence[float]) -> float:
    return float(np.quantile(errors, COVERED)) if len(errors) else 1.0


def _fit(records: Sequence[Record]) -> Fit:
    groups = sorted({record.group for record in records})
    base, rate = line(records)
    errors = []
    for left in groups if len(groups) >= LEAST else ():
        others = line([record for record in records if record.group != left])
        errors += [
            max(seen / (others[0] + others[1] * work), (others[0] + others[1] * work) / seen)
            for work, seen in _points([record for record in records if record.group == left])
        ]
    work = [record.work for record in records]
    return Fit(base, rate, min(work), max(work), len(records), len(groups), tuple(errors))


def line(records: Sequence[Record]) -> tuple[float, float]:
    """Return the base and rate that are off by the least factor, in the mean square of its logarithm."""
    work, seen = (np.array(column) for column in zip(*_points(records), strict=True))
    if np.ptp(work) == 0 or np.ptp(seen) == 0:
        return float(np.exp(np.log(seen).mean())), 0.0
    start = np.log([seen.min(), seen.max() / work.max()])

    def off(found: np.ndarray) -> np.ndarray:
        base, rate = np.exp(found)
        return np.log((base + rate * work) / seen)

    base, rate = np.exp(least_squares(off, start).x)
    return float(base), float(rate)


def _points(records: Iterable[Record]) -> list[tuple[float, float]]:
    """The geometric mean of each group's records at each amount of work."""
    alike: dict[tuple, list[float]] = defaultdict(list)
    for record in records:
        alike[record.group, record.work].append(record.amount)
    return [(work, float(np.exp(np.log(several).mean()))) for (_, work), several in sorted(alike.items())]
