"""LawngNLI's tables: statistics, the steps of the construction, and the hundred that were read."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lextables import ROOT
from lextables.dataset import Row, read
from lextables.lawngnli.labels import LABELS
from lextables.lawngnli.statistics import DatasetStatistics, funnel
from lextables.lawngnli.statistics import table2 as statistics_of
from lextables.lawngnli.token_count import TokenCounter
from lextables.metrics.intervals import share_interval
from lextables.tables.cells import Cell
from lextables.tables.inputs import Inputs

READINGS = ROOT / "resources/readings/lawngnli.csv"
ABSENT = "this data set is not in the registry of sources"


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
    """Table 4's layout for the examples that were read: accuracy of labels, by confidence and negation."""
    examples = {
        (row["example_id"], row["is_twin"]): row
        for row in read(inputs.data / "examples.parquet", ["example_id", "is_twin", "label", "negated"])
    }
    readings = [row | examples[row["key"]] for row in load_readings(READINGS) if row["key"] in examples]
    cells = []
    for printed in inputs.published:
        reason = "the long premises were not read"
        if "agreement" in printed.row:
            reason = "there is one reader"
        cells.append(Cell(printed.row, printed.column, None, reason=reason))
    if not readings:
        return cells
    for row, sure in (("One reader", False), ("One reader, high confidence", True)):
        for column, only in (("All", None), ("Negation", "negated"), *((label, label) for label in LABELS)):
            chosen = [
                r
                for r in readings
                if (r["sure"] or not sure)
                and (only is None or (r["negated"] if only == "negated" else r["label"] == only))
            ]
            right = sum(r["reading"] == r["label"] for r in chosen)
            low, high = share_interval(right, len(chosen)) or (None, None)
            share = right / len(chosen) if chosen else None
            why = "" if chosen else "none was read"
            name = f"Short premise / {column}"
            cells.append(Cell(f"{row} / Accuracy", name, share, low, high, decimals=3, reason=why))
            cells.append(Cell(f"{row} / N", name, float(len(chosen)), decimals=0))
    return cells


def load_readings(path: Path) -> list[Row]:
    """Read the blind readings: one row an example, with the reader's label and whether they were sure."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {
                "key": (row["example_id"], row["is_twin"] == "true"),
                "reading": row["reading"],
                "sure": row["confidence"] == "high",
            }
            for row in csv.DictReader(file)
        ]


TABLES = {"table2": table2, "table3": table3, "table4": table4}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return TABLES[table](inputs)


def steps(counts: Iterable[Mapping[str, int]], names: Iterable[str]) -> list[tuple[str, int]]:
    """Add up the counts of all shards for each step of the funnel."""
    counts = list(counts)
    return [(name, sum(found.get(name, 0) for found in counts)) for name in names]
