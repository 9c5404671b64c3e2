"""LegalBench-RAG's tables: precision and recall at each cutoff, a row for each system and benchmark."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lextables.metrics.intervals import jackknife_interval
from lextables.pipeline.dataset import read
from lextables.tables.cells import Cell, Score
from lextables.tables.inputs import Inputs
from lextables.tables.scored import score_cell

CUTOFFS = (1, 2, 4, 8, 16, 32, 64)
ALL = "all"
RANDOM = "a random order, as expected"


@dataclass(frozen=True)
class Query:
    """A query, its benchmark and file, and how many characters of the file answer it."""

    query_id: str
    benchmark: str
    file: str
    characters: int


def cells(table: str, inputs: Inputs) -> list[Cell]:
    """Return the computed cells of ``table``; each shows the rows of one data set."""
    queries = _queries(inputs)
    places = [(system, name) for system in inputs.rows for name in queries]
    system_cells = [cell for place in places for cell in _scored(inputs, queries, *place)]
    return [*system_cells, *_random(inputs, queries)]


def _queries(inputs: Inputs) -> dict[str, list[Query]]:
    """{a benchmark, or `ALL`: its queries}."""
    queries: dict[str, list[Query]] = {ALL: []}
    for row in read(inputs.data / "queries.parquet", [*Query.__dataclass_fields__]):
        for name in (ALL, row["benchmark"]):
            queries.setdefault(name, []).append(Query(**row))
    return queries


def mean(queries: Sequence[Query], values: Mapping[str, float], without: str = "") -> float:
    """The mean of the benchmarks' means, as released, of all files or ``without`` one; NaN over nothing."""
    of: dict[str, list[float]] = {query.benchmark: [] for query in queries}
    for query in queries:
        if query.file != without:
            of[query.benchmark].append(values[query.query_id])
    return statistics.fmean(map(statistics.fmean, of.values())) if all(of.values()) else math.nan


def _scored(
    inputs: Inputs, queries: Mapping[str, Sequence[Query]], system: Mapping[str, Any], name: str
) -> Iterator[Cell]:
    """A system's row on one benchmark, or on all, with intervals over files."""
    row, scored_queries = f"{system['retriever']} / {name}", queries[name]
    folders = tuple(folder for runs in system["runs"].values() for folder in runs)
    files = sorted({query.file for query in scored_queries})
    for metric, column in columns():
        score = Score(f"{column}, {name}", row, metric, f"benchmark: {name}", "queries", 100)
        values, interval = [], None
        if folders:
            by_query = _by_query(inputs, folders, metric, scored_queries)
            values = [mean(scored_queries, by_query)]
            left_out = np.array([mean(scored_queries, by_query, file) for file in files])
            interval = jackknife_interval(values[0], left_out, (0, 100))
        yield score_cell(
            inputs, system, row, column, score, runs=folders, values=values, interval=interval, decimals=2,
            trained=False, compared=False, baseline=system["retriever"],
        )  # fmt: skip


def _by_query(
    inputs: Inputs, folders: Sequence[str], metric: str, queries: Sequence[Query]
) -> dict[str, float]:
    """{query: score in per cent, the mean over runs}."""
    scores = [inputs.scores[folder] for folder in folders]
    return {
        query.query_id: 100 * statistics.fmean(of[metric, f"query: {query.query_id}"][0] for of in scores)
        for query in queries
    }


def columns() -> list[tuple[str, str]]:
    """[(metric, column)] in the order of the table."""
    return [
        (f"Character {measure}@{cutoff}", f"{measure.title()}@{cutoff}")
        for measure in ("precision", "recall")
        for cutoff in CUTOFFS
    ]


def _random(inputs: Inputs, queries: Mapping[str, Sequence[Query]]) -> Iterator[Cell]:
    """What a random order of all passages would score: each is among the first k as likely as any other."""
    lengths = [row["end"] - row["start"] for row in read(inputs.data / "documents.parquet", ["start", "end"])]
    shares = {query.query_id: query.characters / sum(lengths) for query in queries[ALL]}
    for name, of_benchmark in queries.items():
        for metric, column in columns():
            cutoff = int(metric.rpartition("@")[2])
            by_chance = mean(of_benchmark, shares) if "precision" in metric else min(1, cutoff / len(lengths))
            yield Cell(f"{RANDOM} / {name}", column, 100 * by_chance, decimals=2)
