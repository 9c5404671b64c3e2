"""LawngNLI's tables: statistics, the steps of the construction, and the hundred that were read."""

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lextables import ROOT
from lextables.dataset import Row, read
from lextables.errors import BadInput
from lextables.lawngnli.labels import LABELS
from lextables.lawngnli.statistics import DatasetStatistics, funnel
from lextables.lawngnli.statistics import table2 as statistics_of
from lextables.metrics.intervals import share_interval
from lextables.models.token_count import TokenCounter
from lextables.tables.cells import Cell
from lextables.tables.inputs import Inputs

READINGS = ROOT / "resources/readings/lawngnli.csv"
ABSENT = "this data set is not in the registry of sources"


@dataclass(frozen=True)
class Reading:
    """What one reader made of one example, and whether they were sure."""

    label: str
    sure: bool


Pair = tuple[Reading, Reading]


def table2(inputs: Inputs) -> list[Cell]:
    """Table 2: our rebuild's columns; the other NLI data sets are not in the registry."""
    counter = TokenCounter()
    columns = statistics_of(_with_long_premises(inputs.data), counter.sequence_length)
    cells = []
    for printed in inputs.published:
        group, _, row = printed.row.partition(" / ")
        if group != "LawngNLI":
            cells.append(Cell(printed.row, printed.column, None, reason=ABSENT))
            continue
        premise = "long" if printed.column.startswith("Long") else "short"
        subset = "full" if printed.column.endswith("Full") else "analysis"
        cells.append(Cell(printed.row, printed.column, _statistic(columns[premise, subset], row)))
    return cells


def _statistic(found: DatasetStatistics, row: str) -> float | str:
    match row:
        case "Premise length":
            return f"[{', '.join(f'{value:.0f}' for value in found.premise_length)}]"
        case "Hypothesis length":
            return found.hypothesis_length
        case "Hypothesis negation":
            return f"[{', '.join(f'{found.hypothesis_negation[label]:.3f}' for label in LABELS)}]"
        case "Unique training premises":
            return float(found.unique_premises)
        case "Unique training hypotheses":
            return float(found.unique_hypotheses)
        case "Training examples":
            return float(found.examples)
        case "Text sources":
            return "Legal case opinions"
    raise ValueError(f"Table 2 has no row {row!r}")


def _with_long_premises(data: Path) -> Iterator[Row]:
    """The examples, sorted by premise so that one long premise is in memory at a time."""
    examples = sorted(
        read(data / "examples.parquet"),
        key=lambda row: (row["cited_case_id"], row["example_id"], row["is_twin"]),
    )
    premises = read(data / "long_premises.parquet", ["case_id", "text"])
    premise: Mapping[str, object] = {"case_id": None}
    for row in examples:
        while premise["case_id"] != row["cited_case_id"]:
            premise = next(premises)
        yield row | {"long_premise": premise["text"]}


def table3(inputs: Inputs) -> list[Cell]:
    """The funnel from citations to twinned examples, with each step's share of the one before."""
    steps = json.loads((inputs.data / "census.json").read_text(encoding="utf-8"))["funnel"]
    cells = []
    for step in funnel(steps):
        cells.append(Cell(step.step, "Left", float(step.left), decimals=0))
        cells.append(Cell(step.step, "Of the step before", step.of_previous, decimals=3))
    return cells


def table4(inputs: Inputs) -> list[Cell]:
    """Table 4: two blind readings an example; gold labels are those that both readers chose.

    Only short premises were read.  A reading counts for the pair of texts that was read, so what a later
    build has changed drops out.  Accuracy by label is ours.
    """
    examples = {
        pair_name(row["hypothesis"], row["short_premise"]): row
        for row in read(inputs.data / "examples.parquet", ["hypothesis", "short_premise", "label", "negated"])
    }
    pairs = [(examples[key], pair) for key, pair in load_readings(READINGS).items() if key in examples]
    cells = []
    for printed in inputs.published:
        length, _, subset = printed.column.partition(" / ")
        if length != "Short premise" or not pairs:
            reason = "only short premises were read" if pairs else "none of these examples was read"
            cells.append(Cell(printed.row, printed.column, None, reason=reason))
            continue
        chosen = [pair for pair in pairs if subset == "All" or pair[0]["negated"]]
        cells.append(_assessed(printed.row, printed.column, chosen))
    for label in LABELS if pairs else ():
        chosen = [pair for pair in pairs if pair[0]["label"] == label]
        for row in ("Agreed-upon (gold) labels / Accuracy", "Agreed-upon (gold) labels / N"):
            cells.append(
                replace(_assessed(row, f"Short premise / {label}", chosen), decimals=3 if "Acc" in row else 0)
            )
    return cells


def _assessed(row: str, column: str, pairs: Sequence[tuple[Row, Pair]]) -> Cell:
    """One cell of Table 4 over examples with their two readings; shares have a Wilson interval."""
    group, _, measure = row.partition(" / ")
    agreed = [(example, pair) for example, pair in pairs if pair[0].label == pair[1].label]
    sure = [(example, pair) for example, pair in agreed if pair[0].sure and pair[1].sure]
    gold = sure if group.startswith("High-confidence") else agreed
    if measure == "N":
        return Cell(row, column, float(len(pairs if group.startswith("Full") else gold)))
    whole, part = {
        "Accuracy": (gold, [g for g in gold if g[1][0].label == g[0]["label"]]),
        "Worker agreement": (pairs, agreed),
        "High confidence, if agreement": (agreed, sure),
    }[measure]
    if not whole:
        return Cell(row, column, None, reason="none of these was read alike")
    low, high = share_interval(len(part), len(whole)) or (None, None)
    return Cell(row, column, len(part) / len(whole), low, high)


def pair_name(hypothesis: str, premise: str) -> str:
    """The first 16 hex digits of the SHA-256 of the two texts that a reader had before them."""
    return hashlib.sha256(f"{hypothesis}\0{premise}".encode()).hexdigest()[:16]


def load_readings(path: Path) -> dict[str, Pair]:
    """Read the blind readings: {`pair_name`: both readers' readings}."""
    found: dict[str, list[Reading]] = {}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                reading = Reading(row["reading"], row["confidence"] == "high")
                found.setdefault(row["pair"], []).append(reading)
    for pair, readings in found.items():
        if len(readings) != 2 or any(reading.label not in LABELS for reading in readings):
            raise BadInput(f"pair {pair} has not two readings of {', '.join(LABELS)}", where=path.name)
    return {key: (first, second) for key, (first, second) in sorted(found.items())}


TABLES = {"table2": table2, "table3": table3, "table4": table4}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return TABLES[table](inputs)
