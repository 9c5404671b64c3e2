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
# Table 17 has two groups of columns.  In the first, systems that read every paragraph
# are additional rows.
COLUMNS = {
    "whole": (WHOLE, ""),
    "paragraphs": (WHOLE, ", best paragraph"),
    "filtered": (FILTERED, ""),
}
RANDOM = "a random order, as expected"
System = Row


class _Pools(BaseModel):
    size: int
    small: dict[str, int]


class PoolCensus(BaseModel):
    """A census with the sizes of the pools of candidates."""

    pools: _Pools


def table17(inputs: Inputs) -> list[Cell]:
    """Table 17: a row for each label and first stage, with its whole and its filtered
    documents.
    """
    cells: list[Cell] = []
    for label, group in LABELS.items():
        for system in inputs.rows:
            for condition, documents in system["read"].items():
                columns, suffix = COLUMNS[documents]
                place = f"{group} / {system['retriever']}{suffix}", columns
                cells += _recalls(inputs, system, condition, label, *place)
    for at, column in enumerate((WHOLE, FILTERED)):
        for cutoff in CUTOFFS:
            cells += _count_cells(
                inputs, f"{column} / Recall@{cutoff}", cutoff, again=at > 0
            )
    return cells


def table6(inputs: Inputs) -> list[Cell]:
    """Table 6: a row for each reranker of the published first stage; additional rows
    name theirs.
    """
    printed = inputs.entry.names["retriever"]
    cells: list[Cell] = []
    for system in inputs.rows:
        row = "no reranker"
        if system["reranked"]:
            row = system["reranker"]
        (condition,) = (
            name for name, way in system["read"].items() if way == system["documents"]
        )
        if system["retriever"] != printed:
            row = f"{row}, over {system['retriever']}"
        for label, group in LABELS.items():
            cells += _recalls(inputs, system, condition, label, row, f"[{group}]")
    counts = Counter(_queries(inputs.data)[0].values())
    for label, group in LABELS.items():
        cells += [
            Cell("N", f"[{group}] / Recall@{cutoff}", float(counts[label]))
            for cutoff in CUTOFFS
        ]
    return cells


def _recalls(
    inputs: Inputs, system: System, condition: str, label: str, row: str, columns: str
) -> Iterator[Cell]:
    """The cells of a system's runs of one condition on the queries of a label, with
    exact intervals.
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


def _count_cells(
    inputs: Inputs, column: str, cutoff: int, again: bool
) -> Iterator[Cell]:
    """The number of queries of each label (equal in the paper), pool sizes, and chance
    recall.
    """
    labels, sizes = _queries(inputs.data)
    counts = Counter(labels.values())
    are_equal = counts[ENTAIL] == counts[CONTRADICT]
    reason = ""
    if not are_equal:
        reason = f"{counts[ENTAIL]} are Entail, {counts[CONTRADICT]} Contradict"
    yield Cell("N", column, float(counts[ENTAIL]), reason=reason)
    if again or not labels:
        return
    pools = read_json(inputs.data / "census.json", PoolCensus)["pools"]
    short = [
        f"{place} has {size:,} opinions"
        for place, size in sorted(pools["small"].items())
    ]
    shortage = ""
    if short:
        shortage = f"{'; '.join(short)} (a pool has {pools['size']:,})"
    yield Cell(
        "Candidates per query",
        column,
        fmean(sizes.values()),
        decimals=0,
        reason=shortage,
    )
    for label, group in LABELS.items():
        if chances := [
            min(1, cutoff / sizes[query]) for query, of in labels.items() if of == label
        ]:
            yield Cell(f"{group} / {RANDOM}", column, fmean(chances), decimals=3)


@cache
def _queries(data: Path) -> tuple[dict[str, str], Counter[str]]:
    """{query: its label}, and the number of candidates of each."""
    labels = {
        row["query_id"]: row["label"]
        for row in read(data / "queries.parquet", ["query_id", "label"])
    }
    return labels, Counter(
        row["query_id"] for row in read(data / "judgements.parquet", ["query_id"])
    )


TABLES = {"table6": table6, "table17": table17}
