"""Annotations of examples by people or models: the sheet to fill in, and the labels
that were chosen.

An annotation is called a reading here, because a reader sees the premise and the
hypothesis without their label.  Readings belong to the data set that the examples were
drawn from, identified by the hash of its rows (`rows_sha256` of its examples in
census.json).  They are not used for another data set: the examples that happen to be in
both are no random sample of it.
"""

import csv
import hashlib
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lextables import ROOT
from lextables.papers.lawngnli.dataset.labels import LABELS, draw
from lextables.pipeline import spreadsheet
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput

READINGS = ROOT / "resources/readings/lawngnli.csv"
SIZE = 100  # examples of a sheet
# Columns of the sheet: first of the example, then what the reader fills in.
SHEET = (
    *("data_set", "pair", "example_id", "is_twin", "short_premise", "hypothesis"),
    *("reader", "reading", "confidence", "note"),
)


@dataclass(frozen=True)
class Judgement:
    """The label that one reader chose, and whether they were sure."""

    label: str
    sure: bool


# The readings of one example by two readers, whose names are not checked.
Pair = tuple[Judgement, Judgement]


def pair_name(hypothesis: str, premise: str) -> str:
    """The first 16 hex digits of the SHA-256 of the two texts that a reader sees."""
    return hashlib.sha256(f"{hypothesis}\0{premise}".encode()).hexdigest()[:16]


def load_readings(path: Path) -> dict[str, dict[str, Pair]]:
    """Read the blind readings: {data set: {`pair_name`: both readers' readings}}, empty
    if there is no file.

    Raises `BadInput` for a missing column, and for a pair without exactly two readings
    that are labels.
    """
    by_pair: dict[tuple[str, str], list[Judgement]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            for column in ("data_set", "pair", "reading", "confidence"):
                if column not in (rows.fieldnames or ()):
                    do = "take the rows of a sheet that lawngnli_to_read drew"
                    raise BadInput(
                        f"the column {column} is missing", where=path.name, do=do
                    )
            for row in rows:
                reading = Judgement(row["reading"], row["confidence"] == "high")
                by_pair.setdefault((row["data_set"], row["pair"]), []).append(reading)
    sets: dict[str, dict[str, Pair]] = {}
    for (data_set, pair), readings in sorted(by_pair.items()):
        if len(readings) != 2 or any(
            reading.label not in LABELS for reading in readings
        ):
            raise BadInput(
                f"pair {pair} has not two readings of {', '.join(LABELS)}",
                where=path.name,
            )
        sets.setdefault(data_set, {})[pair] = (readings[0], readings[1])
    return sets


def drawn(rows: Sequence[Row], seed: int, size: int = SIZE) -> list[Row]:
    """Draw ``size`` examples in random order, stratified proportionally by label and
    pivotal negation.

    Rows have ``example_id``, ``is_twin``, ``label`` and ``negated``.  The numbers of
    examples of the strata are rounded down; the strata with the largest remainders have
    one more, so that the sum is ``size``.
    """
    strata: dict[tuple[str, bool], list[Row]] = {}
    for row in rows:
        strata.setdefault((row["label"], row["negated"]), []).append(row)
    size = min(size, len(rows))
    quota = {
        key: divmod(size * len(group), len(rows))
        for key, group in sorted(strata.items())
    }
    remaining = size - sum(count for count, _ in quota.values())
    largest = sorted(quota, key=lambda key: -quota[key][1])[:remaining]
    chosen: list[Row] = []
    for key, (count, _) in quota.items():
        if key in largest:
            count += 1
        shuffled = sorted(strata[key], key=lambda row: _draw(seed, "reading", row))
        chosen += shuffled[:count]
    return sorted(chosen, key=lambda row: _draw(seed, "reading order", row))


def _draw(seed: int, purpose: str, row: Row) -> tuple[int, str, bool]:
    """Return the key that sorts rows into a random order for this purpose."""
    return (
        draw(seed, purpose, row["example_id"], row["is_twin"]),
        row["example_id"],
        row["is_twin"],
    )


def sheet(rows: Iterable[Row], data_set: str) -> str:
    """Return the csv that a reader fills in: two texts per example, without the
    label.
    """
    out = io.StringIO()
    writer = csv.DictWriter(
        out, SHEET, restval="", extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    for row in rows:
        name = pair_name(row["hypothesis"], row["short_premise"])
        row = {
            **row,
            "data_set": data_set,
            "pair": name,
            "is_twin": str(row["is_twin"]).lower(),
        }
        writer.writerow({name: spreadsheet.cell(value) for name, value in row.items()})
    return out.getvalue()
