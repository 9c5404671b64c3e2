"""Which rows of a table differ: paired tests by the task's unit, and groups that cannot be told apart."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Pair:
    """Two systems that one contest of a table compares, the better one first.

    ``measure`` names the contest in the reader's words.  ``difference`` is the score of ``one`` less that of
    ``other``, in the table's unit, ``low`` to ``high`` its paired 95 % interval.  ``p`` is the paired test's
    and ``adjusted`` the same after Holm over all pairs of the contest.  ``units`` says over how many of which
    unit (`57 queries`), and ``detectable`` is the smallest difference that the test finds with 80 % power.
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


@dataclass(frozen=True)
class Contest:
    """The pairs of one measure: ``systems`` are best first, ``groups`` those that no pair tells apart.

    A system may be in several groups, and is in one at least.  ``detectable`` is the smallest difference that
    can be found with 80 % power between two printed rows, going by the pairs that are here.
    """

    measure: str
    units: str
    systems: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...]
    detectable: float


def to_csv(pairs: Iterable[Pair]) -> str:
    """Return the pairs as csv text; numbers as Python writes them, so that they are read back the same."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [field.name for field in fields(Pair)]
    writer.writerow(names)
    writer.writerows([getattr(pair, name) for name in names] for pair in pairs)
    return out.getvalue()


def from_csv(text: str) -> list[Pair]:
    """Read back what `to_csv` wrote."""
    return [
        Pair(**{field.name: field.type(row[field.name]) for field in fields(Pair)})
        for row in csv.DictReader(io.StringIO(text))
    ]
