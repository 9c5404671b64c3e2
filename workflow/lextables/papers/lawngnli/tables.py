"""LawngNLI's tables by their names.

The tables of the data set are here: Table 2 (statistics), Table 3 (the funnel: what is
left after each step of the construction) and Table 4 (annotations).  The tables of the
models are in `evaluation`.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel

from lextables.metrics.intervals import jackknife_interval, share_interval
from lextables.models.token_count import TokenCounter
from lextables.papers.lawngnli.dataset.annotations import (
    READINGS,
    Pair,
    load_readings,
    pair_name,
)
from lextables.papers.lawngnli.dataset.labels import LABELS
from lextables.papers.lawngnli.evaluation import retrieval_tables
from lextables.papers.lawngnli.evaluation.nli_tables import (
    accuracy,
    accuracy_by_label,
    balanced_accuracy,
    by_readings,
)
from lextables.papers.lawngnli.evaluation.statistics import (
    DatasetStatistics,
    of_pairs,
    with_long_premises,
)
from lextables.papers.lawngnli.evaluation.statistics import table2 as statistics_of
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import read_json
from lextables.pipeline.run import counts_of
from lextables.tables.cells import Cell
from lextables.tables.inputs import Inputs
from lextables.tables.published import PublishedCell

FROM = "Text sources"  # a row of Table 2
# Reasons why a cell has no value.
NAMED = "the paper's name of the texts' domain, which is not computed"
ANOTHER = "the annotations belong to another data set"
NOT_READ = "no example was annotated"
EMPTY = "no training example is in this subset"

# Of Table 4: a group of rows, and an additional row of it.
GOLD_LABELS = "Agreed-upon (gold) labels"
PLAIN = f"{GOLD_LABELS} / Accuracy, not balanced"


def table2(inputs: Inputs) -> list[Cell]:
    """Table 2: the columns of the rebuilt data set, and of the available public NLI
    data sets.
    """
    counter = TokenCounter()
    columns = statistics_of(with_long_premises(inputs.data), counter.sequence_length)
    public = {name: of_pairs(inputs.data.parent / name) for name in inputs.beside}
    cells = []
    # A published row is about LawngNLI ("LawngNLI / …") or about the public data sets.
    # Columns of LawngNLI are a premise and a subset, other columns public data sets.
    for printed in inputs.published:
        group, _, row = printed.row.partition(" / ")
        if group != "LawngNLI":
            name = inputs.entry.names["public"][printed.column]
            cells.append(_public_cell(printed, row, name, public.get(name), inputs))
            continue
        premise = "long" if printed.column.startswith("Long") else "short"
        subset = "full" if printed.column.endswith("Full") else "analysis"
        column = columns[premise, subset]
        reason = _missing(column, row)
        value = None
        if not reason:
            value = _statistic(column, row, printed.value)
        cells.append(Cell(printed.row, printed.column, value, reason=reason))
    return cells


def _public_cell(
    printed: PublishedCell,
    row: str,
    name: str,
    column: DatasetStatistics | None,
    inputs: Inputs,
) -> Cell:
    """One cell of the public NLI data set ``name``, whose statistics are ``column``.

    It may be the paper's data set even if LawngNLI is not.
    """
    if row == FROM:
        reason = NAMED
    elif column is None:
        reason = inputs.absent[name]
    else:
        reason = _missing(column, row)
    if reason or column is None:
        return Cell(printed.row, printed.column, None, reason=reason)
    value = _statistic(column, row, printed.value)
    return Cell(printed.row, printed.column, value, comparable=inputs.beside[name])


def _missing(column: DatasetStatistics, row: str) -> str:
    """The reason why a column lacks the statistic of ``row``; empty if it has it.

    Lengths need an example, and shares with a negation an example of each label.
    """
    if not row.endswith(("length", "negation")):
        return ""
    if not column.examples:
        return EMPTY
    without = [
        label for label in column.labels if label not in column.hypothesis_negation
    ]
    if without and row.endswith("negation"):
        return f"no training example in this subset is labelled {' or '.join(without)}"
    return ""


def _statistic(column: DatasetStatistics, row: str, printed: str) -> float | str | None:
    """The value of a row.

    The percentiles of a length have as many decimals as the ``printed`` ones; a zero
    after the point is left out.
    """
    match row:
        case "Premise length":
            numbers = re.findall(r"[\d.]+", printed)
            decimals = max(len(number.partition(".")[2]) for number in numbers)
            lengths = []
            for length in column.premise_length:
                rounded = str(round(float(length), decimals))
                lengths.append(rounded.removesuffix(".0"))
            return f"[{', '.join(lengths)}]"
        case "Hypothesis length":
            return column.hypothesis_length
        case "Hypothesis negation":
            shares = [column.hypothesis_negation[label] for label in column.labels]
            return f"[{', '.join(f'{share:.3f}' for share in shares)}]"
        case "Unique training premises":
            return float(column.unique_premises)
        case "Unique training hypotheses":
            return float(column.unique_hypotheses)
        case "Training examples":
            return float(column.examples)
        case _ if row == FROM:
            return "Legal case opinions"
    raise ValueError(f"Table 2 has no row {row!r}")


def table3(inputs: Inputs) -> list[Cell]:
    """The funnel from citations to twinned examples, with each step's share of the one
    before.

    The share is above 1 where a step adds examples (twins).
    """
    cells: list[Cell] = []
    previous = None
    for step, count in read_json(inputs.data / "census.json", FunnelCensus)["funnel"]:
        if previous is None:
            previous = count
        if previous:
            share = count / previous
            reason = ""
        else:
            share = None
            reason = "nothing remained before this step"
        cells.append(Cell(step, "Left", float(count), decimals=0))
        cells.append(Cell(step, "Of the step before", share, decimals=3, reason=reason))
        previous = count
    return cells


class FunnelCensus(BaseModel):
    """The part of a census that Table 3 shows."""

    funnel: list[tuple[str, int]]
    """(step, how many are left after it)."""


def table4(inputs: Inputs) -> list[Cell]:
    """Table 4: two blind annotations per example; gold labels are those that both
    annotators chose.

    Accuracy is balanced (macro-averaged recall), as stated in the caption.  Only short
    premises were annotated, and only annotations of this data set count.  Additional
    rows have the plain accuracy, over all and by automatic label.  Raises `BadInput`
    for an annotation of a pair of texts that the data set does not have.
    """
    data_set = counts_of(inputs.data / "census.json")["examples"]["rows_sha256"]
    readings = load_readings(READINGS)
    # Each is (example, its two annotations).
    pairs = list(_with_readings(inputs.data, readings.get(data_set, {})))
    cells = []
    for printed in inputs.published:
        length, _, subset = printed.column.partition(" / ")
        reason = ""
        if not pairs:
            reason = ANOTHER if readings else NOT_READ
        elif length != "Short premise":
            reason = "only short premises were annotated"
        if reason:
            cells.append(Cell(printed.row, printed.column, None, reason=reason))
            continue
        chosen = [pair for pair in pairs if subset == "All" or pair[0]["negated"]]
        cells.append(_reading_cell(printed.row, printed.column, chosen))
    if pairs:
        cells.append(_reading_cell(PLAIN, "Short premise / All", pairs))
        for label in LABELS:
            chosen = [pair for pair in pairs if pair[0]["label"] == label]
            for row in (PLAIN, f"{GOLD_LABELS} / N"):
                cells.append(_reading_cell(row, f"Short premise / {label}", chosen))
    return cells


def _with_readings(
    data: Path, readings: Mapping[str, Pair]
) -> Iterator[tuple[Row, Pair]]:
    """Yield (example, its two annotations); ``readings`` are by `pair_name`."""
    columns = ["hypothesis", "short_premise", "label", "negated"]
    examples = {
        pair_name(row["hypothesis"], row["short_premise"]): row
        for row in read(data / "examples.parquet", columns)
    }
    for name, pair in readings.items():
        if name not in examples:
            what = f"pair {name} is not in the data set that its annotation names"
            raise BadInput(what, where=READINGS.name)
        yield examples[name], pair


def _reading_cell(row: str, column: str, pairs: Sequence[tuple[Row, Pair]]) -> Cell:
    """One cell of Table 4 over examples with their two annotations.

    ``row`` is "<group of the annotated examples> / <measure over them>".
    Shares have a Wilson interval, balanced accuracies a jackknife interval.
    """
    group, _, measure = row.partition(" / ")
    agreed = [
        (example, pair) for example, pair in pairs if pair[0].label == pair[1].label
    ]
    sure = [
        (example, pair) for example, pair in agreed if pair[0].sure and pair[1].sure
    ]
    gold = agreed
    if group.startswith("High-confidence"):
        gold = sure
    if measure == "N":
        counted = pairs if group.startswith("Full") else gold
        return Cell(row, column, float(len(counted)), decimals=0)
    right = [
        (example, pair) for example, pair in gold if pair[0].label == example["label"]
    ]
    total, part = {
        "Accuracy": (gold, right),
        "Accuracy, not balanced": (gold, right),
        "Worker agreement": (pairs, agreed),
        "High confidence, if agreement": (agreed, sure),
    }[measure]
    if not total:
        return Cell(row, column, None, reason="no agreement on any of these")
    if measure == "Accuracy":
        label_pairs = [(example["label"], pair[0].label) for example, pair in gold]
        return _balanced_cell(row, column, label_pairs)
    low, high = share_interval(len(part), len(total)) or (None, None)
    return Cell(row, column, len(part) / len(total), low, high)


def _balanced_cell(row: str, column: str, labels: Sequence[tuple[str, str]]) -> Cell:
    """The cell of the balanced accuracy of (automatic label, gold label) pairs; for its
    interval each pair is left out in turn.
    """
    value = _balanced(labels)
    left_out = []
    for i in range(len(labels)):
        left_out.append(_balanced([*labels[:i], *labels[i + 1 :]]))
    interval = jackknife_interval(value, np.array(left_out), (0, 1))
    low, high = interval or (None, None)
    return Cell(row, column, value, low, high)


def _balanced(labels: Sequence[tuple[str, str]]) -> float:
    """The balanced accuracy of (automatic label, gold label) pairs; NaN without any."""
    return balanced_accuracy(*zip(*labels, strict=True)) if labels else math.nan


TABLES = {
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "table5": accuracy,
    "table12": accuracy,
    "table13": accuracy,
    "table14": accuracy,
    "table15": accuracy,
    "table16": by_readings,
    "table_labels": accuracy_by_label,
    **retrieval_tables.TABLES,
}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return list(TABLES[table](inputs))
