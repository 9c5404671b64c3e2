"""How many texts a data set has and how long they are: known before the data set is made.

`resources/costs/texts.csv` has a row for each part of a data set that models read.  The size of a data set
that is built from case law goes by its volumes.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """So many texts (or rows) of so many tokens each, on average."""

    rows: float
    tokens: float


@dataclass(frozen=True)
class Texts:
    """The parts of each data set of this configuration's data: {(data set, part): `Part`}."""

    parts: Mapping[tuple[str, str], Part]

    def __getitem__(self, key: tuple[str, str]) -> Part:
        """A part of a data set; `LookupError` where nobody has measured it."""
        return self.parts[key]


def load(path: str | Path, data: str, volumes: int) -> Texts:
    """Read the sizes of the data sets of the ``data`` of a configuration that reads so many ``volumes``."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["data"] == data]
    return Texts(
        {
            (row["dataset"], row["part"]): Part(
                float(row["rows"]) * (volumes / float(row["volumes"]) if row["volumes"] else 1),
                float(row["tokens"]),
            )
            for row in found
        }
    )
