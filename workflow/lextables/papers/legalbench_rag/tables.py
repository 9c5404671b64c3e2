"""LegalBench-RAG's tables: precision and recall at each cutoff, a row for each system and benchmark."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lextables.metrics.intervals import jackknife_interval
from lextables.pipeline.dataset import read
from lextables.tables.cells import Cell
from lextables.tables.inputs import Inputs, about

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
    found = [cell for place in places for cell in _scored(inputs, queries, *place)]
    return [*found, *_random(inputs, queries)]


def _queries(inputs: Inputs) -> dict[str, list[Query]]:
    """{a benchmark, or `ALL`: its queries}."""
    found: dict[str, list[Query]] = {ALL: []}
    for row in read(inputs.data / "queries.parquet", [*Query.__dataclass_fields__]):
        for name in (ALL, row["benchmark"]):
            found.setdefault(name, []).append(Query(**row))
    return found


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
    row, those = f"{system['retriever']} / {name}", queries[name]
    folders = tuple(folder for runs in system["runs"].values() for folder in runs)
    files = sorted({query.file for query in those})
    for metric, column in columns():
        said = about(system, f"{column}, {name}", system["retriever"])
        if not folders:
            yield Cell(row, column, None, reason=system["reason"], **said)
            continue
        scores = [inputs.scores[folder] for folder in folders]
        values = {
            query.query_id: 100 * statistics.fmean(of[metric, f"query: {query.query_id}"][0] for of in scores)
            for query in those
        }
        value, left_out = mean(those, values), np.array([mean(those, values, file) for file in files])
        low, high = jackknife_interval(value, left_out, (0, 100)) or (None, None)
        yield Cell(row, column, value, low, high, decimals=2, runs=folders, **said)


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
    for name, those in queries.items():
        for metric, column in columns():
            cutoff = int(metric.rpartition("@")[2])
            by_chance = mean(those, shares) if "precision" in metric else min(1, cutoff / len(lengths))
            yield Cell(f"{RANDOM} / {name}", column, 100 * by_chance, decimals=2)
