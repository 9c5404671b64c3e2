"""How many published scores can get a verdict under this configuration."""

from collections.abc import Sequence

from lextables.planning.rule_values import Params
from lextables.tables.cells import MIN_SEEDS
from lextables.tables.published import PublishedCell, first_kinds

NO_RERANKER = "None"  # in the name of a row


def decidable(cells: Sequence[PublishedCell], rows: Sequence[Params]) -> int:
    """Return how many of a table's scores can get a verdict, if its data are the
    paper's.

    ``cells`` are the published cells of the table and ``rows`` its planned rows.  A
    score that the paper prints again counts once, as on the results page
    (`first_kinds`).  A score belongs to the row whose name is in the cell's row or
    column; of several rows, to the one with the longest name; without any, as in a
    table about a single system, to all rows.  A row needs runs, and `MIN_SEEDS` of them
    if it is trained.
    """
    able = {row["row"]: _is_able(row) for row in rows if not row["additional"]}
    if not able:
        return 0
    kinds = first_kinds(cells)
    count = 0
    for cell in cells:
        kind = kinds.get(cell.table, {}).get((cell.row, cell.column))
        if kind != "score":
            continue
        label = f"{cell.row} / {cell.column}"
        named = [name for name in able if _is_named(name, label)]
        cell_rows = [max(named, key=len)] if named else list(able)
        count += all(able[name] for name in cell_rows)
    return count


def _is_named(row: str, label: str) -> bool:
    """Whether a cell names all parts of a row, such as retriever and reranker."""
    return all(part in label for part in systems_of(row))


def systems_of(row: str) -> list[str]:
    """Return the systems that the name of a row has, such as a retriever and a
    reranker.
    """
    return [part for part in row.split(" / ") if part != NO_RERANKER]


def _is_able(row: Params) -> bool:
    """Whether a row can get verdicts."""
    numbers = [len(runs) for runs in row["runs"].values()]
    least = MIN_SEEDS if row["trained"] else 1
    return max(numbers, default=0) >= least
