"""The inputs of a paper's tables: data, rows, scores, and the records of runs."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from lextables.metrics import HIGH, LOW
from lextables.papers.registry import Paper, TableEntry
from lextables.pipeline import not_run
from lextables.pipeline.dataset import Row, Sources, read
from lextables.pipeline.files import read_json
from lextables.sources.registry import with_registry_texts
from lextables.tables.cells import Cell
from lextables.tables.published import PublishedCell

Scores = Mapping[tuple[str, str], tuple[float, int]]
Units = Mapping[tuple[str, str], Mapping[str, float]]
# Counts of language model requests in a run's record, as clauses.
COUNTS = {
    "requests": "{:,} requests",
    "quotes": "{:,} quotes",
    "unparseable": "{:,} unparseable",
    "unanswered": "{:,} without an answer",
    "ties": "{:,} ties",
    "disagreements": "{:,} with different answers in the two orders",
    "cut": "{:,} with a text cut to the context length",
    "cut_answers": "{:,} truncated answers",
    "in_parts": "{:,} questions about a contract in parts",
    "not_asked": "{:,} questions not asked",
}


@dataclass(frozen=True)
class Inputs:
    """The inputs of one table.

    ``data`` is the folder of its data set, ``root`` that of the results, and ``rows`` are its
    `plan.Plan.rows`. ``published`` are its published cells, ``name`` its id, and ``paper`` the registry entry
    of its paper. ``beside`` are the other data sets that it shows, and whether they are the paper's;
    ``absent`` are those that are not available, with the reason.  ``file`` is a user's file that the table
    shows.
    """

    data: Path
    root: Path
    rows: Sequence[Mapping[str, Any]]
    published: Sequence[PublishedCell]
    paper: Paper
    name: str = ""
    beside: Mapping[str, bool] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    @property
    def entry(self) -> TableEntry:
        """The table's own entry in the registry."""
        return self.paper.tables[self.name]

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """{run folder: scores} of every run that the table shows."""
        folders = {
            folder
            for row in self.rows
            for runs in row["runs"].values()
            for folder in runs
        }
        return {
            folder: by_name(read(self.root / folder / "scores.parquet"))
            for folder in sorted(folders)
        }

    def values(
        self, runs: Sequence[str], metric: str, group: str = "all", scale: float = 100
    ) -> tuple[float, ...]:
        """A score of each run times ``scale``, by default in per cent; NaN where a run lacks it."""
        return tuple(
            scale * self.scores[run].get((metric, group), (math.nan, 0))[0]
            for run in runs
        )

    def mean(
        self, runs: Sequence[str], metric: str, group: str = "all", scale: float = 100
    ) -> float | None:
        """The mean of `values`; None where a run lacks the score, and without runs."""
        values = self.values(runs, metric, group, scale)
        return (
            None if not values or math.isnan(mean := statistics.fmean(values)) else mean
        )

    def interval(
        self, runs: Sequence[str], metric: str, group: str = "all", scale: float = 100
    ) -> tuple[float | None, float | None]:
        """The ends of a score's stored interval, averaged over runs; None where a run lacks one."""
        low, high = (self.mean(runs, metric + end, group, scale) for end in (LOW, HIGH))
        return (None, None) if low is None or high is None else (low, high)

    def units(self, folder: str) -> Units:
        """{(metric, group): {unit: its contribution}} of one run."""
        units: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for row in read(self.root / folder / "units.parquet"):
            units[row["metric"], row["group"]][row["unit"]] = row["value"]
        return units


def rows_that_ran(
    rows: Iterable[Mapping[str, Any]], root: Path
) -> list[dict[str, Any]]:
    """Return ``rows`` (`plan.Plan.rows`) without conditions of which a run is not run, but with its reason.

    ``root`` is the folder that the folders of runs lie in.
    """
    kept_rows = []
    for row in rows:
        reasons = {
            condition: next(
                filter(None, (not_run.reason(root / run / "run.json") for run in runs)),
                "",
            )
            for condition, runs in row["runs"].items()
        }
        reason = "; ".join(
            dict.fromkeys(filter(None, (row["reason"], *reasons.values())))
        )
        runs = {
            condition: row["runs"][condition]
            for condition, why_not_run in reasons.items()
            if not why_not_run
        }
        kept_rows.append({**row, "runs": runs, "reason": reason})
    return kept_rows


def provenance(census: str | Path, texts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sources in a data set's census, with the registry's current texts (`registry_texts`)."""
    return with_registry_texts(read_json(census, Sources)["sources"], texts)


def comparable(sources: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a data set is the paper's, by the provenance of its sources."""
    return all(source["comparable"] for source in sources)


def by_name(rows: Iterable[Row]) -> Scores:
    """A run's rows of `run.SCORES` as {(metric, group): (value, n)}; the value is NaN over nothing."""
    return {
        (row["metric"], row["group"]): (
            row["value"] if row["n"] else math.nan,
            row["n"],
        )
        for row in rows
    }


# Records of runs


def record(root: Path, folder: str) -> dict[str, Any]:
    """Return the `run.json` of the run in ``folder`` below ``root``."""
    return read_json(root / folder / "run.json")


def training(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record of the training of the (first) run whose weights a run read, or its own record."""
    trained = run.get("trained", run)
    return trained[0] if isinstance(trained, list) else trained


def with_notes(cells: Iterable[Cell], root: Path) -> Iterator[Cell]:
    """Yield the cells; the first cell of some runs also gives the notes in their records as a reason.

    These are the counts of a language model's requests, and an own setting of a model that could not hold.
    ``root`` is the folder that the folders of runs lie in.
    """
    notes = cache(lambda folder: notes_of(record(root, folder)))
    done: set[tuple[str, ...]] = set()
    for cell in cells:
        if (
            cell.runs in done
            or cell.value is None
            or not cell.runs
            or not all(map(notes, cell.runs))
        ):
            yield cell
            continue
        done.add(cell.runs)
        clauses = dict.fromkeys([cell.reason])
        for folder in cell.runs:
            clauses |= dict.fromkeys(notes(folder))
        yield replace(cell, reason="; ".join(filter(None, clauses)))


def notes_of(run: Mapping[str, Any]) -> list[str]:
    """Return the notes in the record of a run, as clauses."""
    notes = list(run.get("notes", ()))
    if run.get("asked"):
        notes.append(in_words(run["asked"]))
    return notes


def explained(cells: Iterable[Cell], inputs: Inputs) -> Iterator[Cell]:
    """Yield the cells `with_notes`; those of a row whose model has read test texts also say so."""
    seen = {
        run: row["seen"]
        for row in inputs.rows
        for runs in row["runs"].values()
        for run in runs
    }
    for cell in with_notes(cells, inputs.root):
        clauses = dict.fromkeys(
            (cell.reason, *(seen.get(run, "") for run in cell.runs))
        )
        yield replace(cell, reason="; ".join(filter(None, clauses)))


def in_words(counts: Mapping[str, Any]) -> str:
    """Return the counts of a run's requests (`asked` in its record) as one clause."""
    clauses = [
        clause.format(counts[name]) for name, clause in COUNTS.items() if name in counts
    ]
    if counts.get("first_listed") is not None:
        first, chance = counts["first_listed"], counts["first_listed_by_chance"]
        clauses.append(
            f"the first option won in {100 * first:.1f} % (by chance {100 * chance:.1f} %)"
        )
    if counts.get("outside") is not None:
        clauses.append(
            f"{100 * counts['outside']:.1f} % of the probability not on any answer"
        )
    return f"asked in {', '.join(clauses)}"
