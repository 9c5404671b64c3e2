"""Table III: F1, F2, Jaccard index and the rate of false denials of each system."""

from lextables.metrics.containment import LOWER
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.systems import score_cell, strict_cells

COLUMNS = {"F1": "F1", "F2": "F2", "Jaccard": "Jaccard", LOWER: "False rate"}
UNPUBLISHED = {"precision": "Precision", "recall": "Recall"}


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of Table III, the only one (``table`` is ignored).

    Precision and recall follow the published columns.  Each score is followed by the
    strict one (`strict_cells`), if it is stored and differs.  Lenient rows, whose score
    rests on a weakness of the released evaluator, are not compared with others.
    """
    cells = []
    for system in inputs.rows:
        row = system["row"]
        # A row without runs has only the published columns.
        columns = COLUMNS | UNPUBLISHED if system["runs"] else COLUMNS
        for metric, column in columns.items():
            score = Score(column, row, metric, units="contracts", lower=metric == LOWER)
            cell = score_cell(
                inputs,
                system,
                row,
                column,
                score,
                decimals=3,
                compared=metric in COLUMNS,
            )
            cells += [cell, *strict_cells(inputs, cell, score)]
    return cells
