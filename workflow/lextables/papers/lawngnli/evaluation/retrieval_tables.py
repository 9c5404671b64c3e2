"""LawngNLI's tables of retrieval: the first stages (Table 17) and rerankers of their
hits (Table 6).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import fmean

from pydantic import BaseModel

from lextables.metrics.intervals import exact_share_interval
from lextables.papers.lawngnli.dataset.labels import CONTRADICT, ENTAIL
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.files import read_json
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.systems import score_cell

CUTOFFS = (1, 10, 100)
LABELS = {
    ENTAIL: "Entail hypotheses as queries",
    CONTRADICT: "Contradict hypotheses as queries",
}
WHOLE = "Long premise"
FILTERED = "Long premise filtered by BM25 retrieval"
# {how documents are read: the group of columns in Table 17, and what is added to the
# name of the row}.  "whole" and "paragraphs" have the same columns, so the additional
# rows of systems that rank by the best paragraph have another name.
COLUMNS = {
    "whole": (WHOLE, ""),
    "paragraphs": (WHOLE, ", best paragraph"),
    "filtered": (FILTERED, ""),
}
RANDOM = "a random order, as expected"
# A row of the plan (`tasks.retrieval.planner`): a first stage, the ``retriever``, with
# or without a ``reranker``.  ``read`` is {condition of its runs: how documents are
# read}, and ``documents`` how they are read for the hits that a reranker gets.
System = Row


class _Pools(BaseModel):
    """The size of a pool, and {jurisdiction: how many opinions it has} for
    jurisdictions that have fewer opinions.
    """

    size: int
    small: dict[str, int]


class PoolCensus(BaseModel):
    """A census with the sizes of the pools of candidates."""

    pools: _Pools


def table17(inputs: Inputs) -> list[Cell]:
    """Table 17: a row for each label of the queries and each first stage; columns for
    whole and for filtered documents.
    """
    cells: list[Cell] = []
    for label, group in LABELS.items():
        for system in inputs.rows:
            for condition, documents in system["read"].items():
                columns, suffix = COLUMNS[documents]
                row = f"{group} / {system['retriever']}{suffix}"
                cells += _recalls(inputs, system, condition, label, row, columns)
    for columns in (WHOLE, FILTERED):
        for cutoff in CUTOFFS:
            column = f"{columns} / Recall@{cutoff}"
            cells.append(_query_count(inputs, column))
            # Neither depends on how documents are read.
            if columns == WHOLE:
                cells += _pool_cells(inputs, column, cutoff)
    return cells


def table6(inputs: Inputs) -> list[Cell]:
    """Table 6: a row for each reranker, and one for the first stage alone.

    The published rows have the first stage that the registry names; rows with another
    one name it.
    """
    printed = inputs.entry.names["retriever"]
    cells: list[Cell] = []
    for system in inputs.rows:
        row = "no reranker"
        if system["reranked"]:
            row = system["reranker"]
        # The one condition whose hits rerankers get.
        (condition,) = (
            condition
            for condition, documents in system["read"].items()
            if documents == system["documents"]
        )
        if system["retriever"] != printed:
            row = f"{row}, over {system['retriever']}"
        for label, group in LABELS.items():
            cells += _recalls(inputs, system, condition, label, row, f"[{group}]")
    labels, _ = _queries(inputs.data)
    counts = Counter(labels.values())
    for label, group in LABELS.items():
        cells += [
            Cell("N", f"[{group}] / Recall@{cutoff}", float(counts[label]))
            for cutoff in CUTOFFS
        ]
    return cells


def _recalls(
    inputs: Inputs, system: System, condition: str, label: str, row: str, columns: str
) -> Iterator[Cell]:
    """The cells of a system's runs of one condition on the queries of a label.

    ``columns`` is the group of columns, which has one for each of `CUTOFFS`.
    """
    folders = tuple(system["runs"].get(condition, ()))
    for cutoff in CUTOFFS:
        column = f"{columns} / Recall@{cutoff}"
        score = Score(
            f"{column}, {label}", row, f"Recall@{cutoff}", f"label: {label}", "queries"
        )
        interval = None
        value = inputs.mean(folders, score.metric, score.group, 1)
        if value is not None:
            _, queries = inputs.scores[folders[0]][score.metric, score.group]
            interval = exact_share_interval(round(value * queries), queries)
        cell = score_cell(
            inputs,
            system,
            row,
            column,
            score,
            runs=folders,
            interval=interval,
            decimals=3,
            baseline=row,
            missing=f"no test query is {label}",
        )
        if cell.value is None:
            cell = replace(cell, runs=())
        yield cell


def _query_count(inputs: Inputs, column: str) -> Cell:
    """The number of queries of a label; the paper prints one, because it is the same
    for both labels.
    """
    labels, _ = _queries(inputs.data)
    counts = Counter(labels.values())
    reason = ""
    if counts[ENTAIL] != counts[CONTRADICT]:
        reason = f"{counts[ENTAIL]} are Entail, {counts[CONTRADICT]} Contradict"
    return Cell("N", column, float(counts[ENTAIL]), reason=reason)


def _pool_cells(inputs: Inputs, column: str, cutoff: int) -> Iterator[Cell]:
    """The mean size of a pool, and for each label the expected recall of a random
    order; no cells without queries.
    """
    labels, sizes = _queries(inputs.data)
    if not labels:
        return
    pools = read_json(inputs.data / "census.json", PoolCensus)["pools"]
    shortages = []
    for place, size in sorted(pools["small"].items()):
        shortages.append(f"{place} has {size:,} opinions")
    reason = ""
    if shortages:
        reason = f"{'; '.join(shortages)} (a pool has {pools['size']:,})"
    mean_size = fmean(sizes.values())
    yield Cell("Candidates per query", column, mean_size, decimals=0, reason=reason)
    for label, group in LABELS.items():
        recalls = []
        for query, query_label in labels.items():
            if query_label == label:
                recalls.append(min(1, cutoff / sizes[query]))
        if recalls:
            yield Cell(f"{group} / {RANDOM}", column, fmean(recalls), decimals=3)


@cache
def _queries(data: Path) -> tuple[dict[str, str], Counter[str]]:
    """{query: its label}, and {query: the number of its candidates}."""
    labels = {}
    for row in read(data / "queries.parquet", ["query_id", "label"]):
        labels[row["query_id"]] = row["label"]
    judgements = read(data / "judgements.parquet", ["query_id"])
    return labels, Counter(row["query_id"] for row in judgements)


TABLES = {"table6": table6, "table17": table17}
