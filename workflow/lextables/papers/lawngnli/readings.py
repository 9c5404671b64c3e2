"""Examples read again by people or models, blind: the sheet that is read, and what the readers chose.

Readings belong to the data set that the examples were drawn from, which goes by the hash of its rows
(`rows_sha256` of its examples in census.json): accuracy over what happens to be left of them in another
data set is an estimate of nothing.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables import ROOT
from lextables.papers.lawngnli.labels import LABELS, draw
from lextables.pipeline import spreadsheet
from lextables.pipeline.errors import BadInput

READINGS = ROOT / "resources/readings/lawngnli.csv"
SIZE = 100
SHEET = (
    *("data_set", "pair", "example_id", "is_twin", "short_premise", "hypothesis"),
    *("reader", "reading", "confidence", "note"),
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """What one reader made of one example, and whether they were sure."""

    label: str
    sure: bool


Pair = tuple[Reading, Reading]


def pair_name(hypothesis: str, premise: str) -> str:
    """The first 16 hex digits of the SHA-256 of the two texts that a reader had before them."""
    return hashlib.sha256(f"{hypothesis}\0{premise}".encode()).hexdigest()[:16]


def load_readings(path: Path) -> dict[str, dict[str, Pair]]:
    """Read the blind readings: {data set: {`pair_name`: both readers' readings}}.

    Raises `BadInput` for a column that is missing, and a pair that has not two readings with one of the
    labels.
    """
    found: dict[tuple[str, str], list[Reading]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            for column in ("data_set", "pair", "reading", "confidence"):
                if column not in (rows.fieldnames or ()):
                    do = "take the rows of a sheet that lawngnli_to_read drew"
                    raise BadInput(f"the column {column} is missing", where=path.name, do=do)
            for row in rows:
                reading = Reading(row["reading"], row["confidence"] == "high")
                found.setdefault((row["data_set"], row["pair"]), []).append(reading)
    sets: dict[str, dict[str, Pair]] = {}
    for (data_set, pair), readings in sorted(found.items()):
        if len(readings) != 2 or any(reading.label not in LABELS for reading in readings):
            raise BadInput(f"pair {pair} has not two readings of {', '.join(LABELS)}", where=path.name)
        sets.setdefault(data_set, {})[pair] = (readings[0], readings[1])
    return sets


def drawn(rows: Sequence[Row], seed: int, size: int = SIZE) -> list[Row]:
    """Draw ``size`` examples, each stratum of label and pivotal negation by its share, in random order.

    Rows carry ``example_id``, ``is_twin``, ``label`` and ``negated``.  What division leaves over goes to
    the strata with the largest remainders.
    """
    strata: dict[tuple[str, bool], list[Row]] = {}
    for row in rows:
        strata.setdefault((row["label"], row["negated"]), []).append(row)
    size = min(size, len(rows))
    quota = {key: divmod(size * len(found), len(rows)) for key, found in sorted(strata.items())}
    over = size - sum(whole for whole, _ in quota.values())
    largest = sorted(quota, key=lambda key: -quota[key][1])[:over]
    chosen = [
        row
        for key, (whole, _) in quota.items()
        for row in sorted(strata[key], key=lambda row: _drawn(seed, "reading", row))[
            : whole + (key in largest)
        ]
    ]
    return sorted(chosen, key=lambda row: _drawn(seed, "reading order", row))


def _drawn(seed: int, what: str, row: Row) -> tuple[int, str, bool]:
    return draw(seed, what, row["example_id"], row["is_twin"]), row["example_id"], row["is_twin"]


def sheet(rows: Iterable[Row], data_set: str) -> str:
    """Return the csv that a reader fills in: two texts an example, and not its label."""
    out = io.StringIO()
    writer = csv.DictWriter(out, SHEET, restval="", extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        name = pair_name(row["hypothesis"], row["short_premise"])
        row = row | {"data_set": data_set, "pair": name, "is_twin": str(row["is_twin"]).lower()}
        writer.writerow({name: spreadsheet.cell(value) for name, value in row.items()})
    return out.getvalue()
