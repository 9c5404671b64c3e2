"""The model of cost: how long a job takes and how much it leaves, by its kind and by how much work it is.

A job of a kind takes ``base`` + ``rate`` x its work: for what a model reads or learns the work is counted in
operations (`flops`), for everything else in megabytes of the published files that it comes from.  Both
numbers are fitted (`fitting`) to the records of finished runs on one processor and stand in
`resources/costs/fitted.csv`, with how far they were off on data that they were not fitted on.  No card has
been measured: what one takes is reckoned from the assumptions in `resources/costs/assumed.yaml`.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

LEARNING, READING = (
    "learning",
    "reading",
)  # the kinds of all that trains a model, and of all that reads with one
SECONDS, BYTES = "seconds", "bytes"
# Beyond so many times the most work that was seen of a kind, and below such a part of the least, it is
# unseen.
REACH = 10


@dataclass(frozen=True)
class Amount:
    """An estimate; eight of ten are off by no more than from ``low`` to ``high``."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Line:
    """What was fitted of a kind, seen from the ``smallest`` to the ``largest`` work, to within ``factor``."""

    base: float
    rate: float
    smallest: float
    largest: float
    factor: float

    def at(self, work: float) -> Amount | None:
        """The estimate for so much work; None where that is far from what was seen."""
        if not self.smallest / REACH <= work <= self.largest * REACH:
            return None
        value = self.base + self.rate * work
        return Amount(value, value / self.factor, value * self.factor)


@dataclass(frozen=True)
class Card:
    """A GPU that nobody here has measured: operations a second, and the ``share`` of them that is reached."""

    name: str
    flops: float
    share: float
    least: float
    most: float

    def at(self, start: float, flops: float) -> Amount:
        """The seconds of a job that takes ``start`` seconds to begin."""
        value, low, high = (
            start + flops / self.flops / share for share in (self.share, self.most, self.least)
        )
        return Amount(value, low, high)


@dataclass(frozen=True)
class Model:
    """``lines`` are by (kind, `SECONDS` or `BYTES`), ``shapes`` by the model's name in the registry."""

    lines: Mapping[tuple[str, str], Line]
    shapes: Mapping[str, tuple[int, int]]
    card: Card
    volume: float  # bytes of a volume of case law

    def amount(self, kind: str, what: str, work: float) -> Amount | None:
        """The seconds or bytes of a job; None where there is no record of its kind at this size."""
        line = self.lines.get((kind, what))
        return line.at(work) if line else None

    def start(self, kind: str) -> float:
        """The seconds that a job of a kind takes for no work: libraries are imported, a model is loaded."""
        line = self.lines.get((kind, SECONDS))
        return line.base if line else 0.0


def load(folder: str | Path) -> Model:
    """Read the model of cost, which is the files ``fitted.csv`` and ``assumed.yaml``."""
    with Path(folder, "fitted.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assumed: Mapping[str, Any] = yaml.safe_load(Path(folder, "assumed.yaml").read_text(encoding="utf-8"))
    names = ("base", "rate", "smallest", "largest", "factor")
    return Model(
        {(row["kind"], row["what"]): Line(*(float(row[name]) for name in names)) for row in rows},
        {name: (shape[0], shape[1]) for name, shape in assumed["shapes"].items()},
        Card(**assumed["card"]),
        assumed["volume"],
    )
