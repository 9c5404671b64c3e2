"""What the tables of a paper are computed from: data, planned rows, scores of runs, and
records of runs, with the notes in these records.
"""

import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lextables.metrics import HIGH, LOW
from lextables.pipeline import not_run
from lextables.pipeline.dataset import Row, Sources, read
from lextables.pipeline.files import read_json
from lextables.registry.paper import Paper, TableEntry
from lextables.sources.entries import with_registry_texts
from lextables.tables.cells import Cell
from lextables.tables.published import PublishedCell

Record = Mapping[str, Any]  # a JSON object: a planned row, a run's record, a source
# {(metric, group): (score, number of units that it is over)} of a run
Scores = Mapping[tuple[str, str], tuple[float, int]]
# {(metric, group): {unit: its contribution to the score}} of a run
Units = Mapping[tuple[str, str], Mapping[str, float]]
# {count of language model requests in a run's record: clause of a note}
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
    """The inputs of one table."""

    data: Path
    """The folder of its data set."""
    root: Path
    """The folder of the results."""
    rows: Sequence[Record]
    """Its systems with their runs (`planner.Plan.rows`)."""
    published: Sequence[PublishedCell]
    """Its published cells."""
    paper: Paper
    """The registry entry of its paper."""
    name: str = ""
    """Its id, such as `table_d4`."""
    beside: Mapping[str, bool] = field(default_factory=dict)
    """{another data set that the table shows: whether that data set is the paper's}."""
    absent: Mapping[str, str] = field(default_factory=dict)
    """{another data set that the table would show: why it is not available}."""
    file: Path | None = None
    """A user's file that the table shows."""

    @property
    def entry(self) -> TableEntry:
        """The table's own entry in the registry."""
        return self.paper.tables[self.name]

    @property
    def published_rows(self) -> list[str]:
        """The rows of the published table, each once."""
        return list(dict.fromkeys(cell.row for cell in self.published))

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """{run folder: scores} of every run that the table shows."""
        scores: dict[str, Scores] = {}
        for folder in sorted(self._folders()):
            path = self.root / folder / "scores.parquet"
            scores[folder] = by_name(read(path))
        return scores

    def _folders(self) -> set[str]:
        folders: set[str] = set()
        for row in self.rows:
            folders.update(*row["runs"].values())
        return folders

    def values(
        self, runs: Sequence[str], metric: str, group: str = "all", scale: float = 100
    ) -> tuple[float, ...]:
        """A score of each run times ``scale``, by default in per cent; NaN where a run
        lacks it.
        """
        missing = (math.nan, 0)
        scores = [self.scores[run].get((metric, group), missing) for run in runs]
        return tuple(scale * value for value, _ in scores)

    def mean(
        self, runs: Sequence[str], metric: str, group: str = "all", scale: float = 100
    ) -> float | None:
        """The mean of `values`; None where a run lacks the score, and without runs."""
        values = self.values(runs, metric, group, scale)
        if not values or any(map(math.isnan, values)):
            return None
        return statistics.fmean(values)

    def interval(
        self, runs: Sequence[str], metric: str, group: str = "all", scale: float = 100
    ) -> tuple[float | None, float | None]:
        """The ends of a score's stored interval, averaged over runs; None where a run
        lacks one.
        """
        low = self.mean(runs, metric + LOW, group, scale)
        high = self.mean(runs, metric + HIGH, group, scale)
        if low is None or high is None:
            return None, None
        return low, high

    def units(self, folder: str) -> Units:
        """{(metric, group): {unit: its contribution}} of one run."""
        units: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        path = self.root / folder / "units.parquet"
        for row in read(path):
            score = (row["metric"], row["group"])
            unit = row["unit"]
            units[score][unit] = row["value"]
        return units


def rows_that_ran(rows: Iterable[Record], root: Path) -> list[dict[str, Any]]:
    """Return ``rows`` (`planner.Plan.rows`) without the conditions of which a run could
    not run or has no scores.

    The reasons of these runs are added to the reason of the row.  ``root`` is the
    folder that the folders of runs lie in.
    """
    kept_rows = []
    for row in rows:
        runs_by_condition = {}
        reasons = [row["reason"]]
        for condition, runs in row["runs"].items():
            run_reasons = [not_run.of_run(root / run) for run in runs]
            reason = next(filter(None, run_reasons), "")
            reasons.append(reason)
            if not reason:
                runs_by_condition[condition] = runs
        kept_rows.append({**row, "runs": runs_by_condition, "reason": _joined(reasons)})
    return kept_rows


def _joined(reasons: Iterable[str]) -> str:
    """The reasons that are not empty, each once."""
    distinct = dict.fromkeys(reasons)
    return "; ".join(filter(None, distinct))


def provenance(census: str | Path, texts: Record) -> Sequence[Record]:
    """The sources in a data set's census, with the registry's current texts
    (`registry_texts`).
    """
    return with_registry_texts(read_json(census, Sources)["sources"], texts)


def comparable(sources: Iterable[Record]) -> bool:
    """Whether a data set is the paper's, by the provenance of its sources."""
    return all(source["comparable"] for source in sources)


def data_note(sources: Iterable[Record]) -> str:
    """Return a note on data that are not comparable with the paper's, from their
    provenance; else empty.
    """
    others = [source["variant"] for source in sources if not source["comparable"]]
    if not others:
        return ""
    variants = " and ".join(dict.fromkeys(others))
    return f"{variants} data: not comparable with the paper"


def by_name(rows: Iterable[Row]) -> Scores:
    """A run's rows of `run.SCORES` as {(metric, group): (value, n)}; the value is NaN
    if n is 0.
    """
    scores = {}
    for row in rows:
        n = row["n"]
        value = row["value"] if n else math.nan
        scores[row["metric"], row["group"]] = (value, n)
    return scores


# Records of runs


def record(root: Path, folder: str) -> Record:
    """Return the `run.json` of the run in ``folder`` below ``root``."""
    return read_json(root / folder / "run.json")


def training(run: Record) -> Record:
    """Return the record of the training of the (first) run whose weights a run read, or
    its own record.
    """
    trained = run.get("trained", run)
    if isinstance(trained, list):
        return trained[0]
    return trained


def with_notes(cells: Iterable[Cell], root: Path) -> Iterator[Cell]:
    """Yield the cells; those with a value also have the notes in the records of their
    runs as a reason.

    Notes are the counts of a language model's requests, and settings that the run could
    not keep.  A cell with a run that `deviates` gets no verdict.  Notes are added to
    cells without a verdict, and to cells of which every run has notes.  ``root`` is the
    folder that the folders of runs lie in.
    """
    records: dict[str, Record] = {}
    for cell in cells:
        if cell.value is None:
            yield cell
            continue
        for folder in cell.runs:
            if folder not in records:
                records[folder] = record(root, folder)
        runs = [records[folder] for folder in cell.runs]
        clauses = [notes_of(run) for run in runs]
        if any(map(deviates, runs)):
            cell = replace(cell, judged=False)
        if not cell.judged or all(clauses):
            cell = _with_reasons(cell, itertools.chain(*clauses))
        yield cell


def _with_reasons(cell: Cell, clauses: Iterable[str]) -> Cell:
    """The cell with these reasons after its own, each once."""
    return replace(cell, reason=_joined([cell.reason, *clauses]))


def notes_of(run: Record) -> list[str]:
    """Return the notes in the record of a run, as clauses."""
    notes = [*run.get("deviations", ()), *run.get("notes", ())]
    if run.get("asked"):
        notes.append(in_words(run["asked"]))
    return notes


def deviates(run: Record) -> bool:
    """Return whether a run had other settings than planned (``deviations``), or did not
    ask all questions.
    """
    asked = run.get("asked") or {}
    return bool(run.get("deviations") or asked.get("not_asked"))


def explained(cells: Iterable[Cell], inputs: Inputs) -> Iterator[Cell]:
    """Yield the cells `with_notes`; cells of a row whose model has read test texts
    (`seen` in the row) also say so.
    """
    notes: dict[str, str] = {}
    for row in inputs.rows:
        for runs in row["runs"].values():
            for run in runs:
                notes[run] = row["seen"]
    for cell in with_notes(cells, inputs.root):
        reasons = [notes.get(run, "") for run in cell.runs]
        yield _with_reasons(cell, reasons)


def by_training_data(
    cells: Iterable[Cell], rows: Iterable[Record], comparable_data: Mapping[str, bool]
) -> Iterator[Cell]:
    """Yield the cells; a published row's values are not comparable if its models were
    trained on another data set that is not the paper's.

    ``rows`` are the planned rows, and ``comparable_data`` is {data set: whether it is
    the paper's}.
    """
    reasons: dict[str, str] = {}
    for row in rows:
        names = [name for name in row["training_data"] if not comparable_data[name]]
        if names and not row["additional"]:
            data = " and ".join(names)
            reason = f"its models were trained on {data}, not comparable with the paper"
            for runs in row["runs"].values():
                reasons.update(dict.fromkeys(runs, reason))
    for cell in cells:
        reason = next((reasons[run] for run in cell.runs if run in reasons), "")
        if reason:
            cell = replace(_with_reasons(cell, [reason]), comparable=False)
        yield cell


def in_words(counts: Record) -> str:
    """Return the counts of a run's requests (`asked` in its record) as one clause."""
    clauses = []
    for name, clause in COUNTS.items():
        if name in counts:
            clauses.append(clause.format(counts[name]))
    first = counts.get("first_listed")
    if first is not None:
        share = 100 * first
        chance = 100 * counts["first_listed_by_chance"]
        won = f"the first option won in {share:.1f} %"
        clauses.append(f"{won} (by chance {chance:.1f} %)")
    outside = counts.get("outside")
    if outside is not None:
        share = 100 * outside
        clauses.append(f"{share:.1f} % of the probability not on any answer")
    return f"asked in {', '.join(clauses)}"
