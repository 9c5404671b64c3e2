"""Its tables: provisions by label, and the models."""

from collections import Counter

from lextables.pipeline.dataset import read
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.systems import score_cell


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``."""
    return {"table1": provisions, "table2": models}[table](inputs)


def provisions(inputs: Inputs) -> list[Cell]:
    """How many provisions have each label."""
    (head,) = read(inputs.data / "heads.parquet")
    counts = Counter()
    for row in read(inputs.data / "examples.parquet"):
        counts[head["answers"][row["label"]]] += 1
    computed = []
    for cell in inputs.published:
        computed.append(Cell(cell.row, cell.column, float(counts[cell.row])))
    return computed


def models(inputs: Inputs) -> list[Cell]:
    """Every model's scores on the test provisions."""
    columns = {"micro F1": "Micro F1", "macro F1": "Macro F1"}
    computed = []
    for system in inputs.rows:
        row = system["row"]
        for metric, column in columns.items():
            score = Score(column, row, metric, scale=100)
            cell = score_cell(inputs, system, row, column, score, decimals=1)
            computed.append(cell)
    return computed
