"""The inputs of a paper's tables."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lextables.papers.registry import Paper, TableEntry
from lextables.pipeline import not_run
from lextables.pipeline.dataset import Row, read
from lextables.sources.registry import with_registry_texts
from lextables.tables.published import PublishedCell

Scores = Mapping[tuple[str, str], tuple[float, int]]
Units = Mapping[tuple[str, str], Mapping[str, float]]


@dataclass(frozen=True)
class Inputs:
    """The inputs of one table.

    ``data`` is the folder of its data set, ``root`` that of the results, and ``rows`` are its
    `plan.Plan.rows`. ``published`` are its published cells, ``name`` its id, and ``paper`` the registry entry
    of its paper. ``beside`` are the other data sets that it shows, with whether they are the paper's;
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
        folders = {folder for row in self.rows for runs in row["runs"].values() for folder in runs}
        return {folder: by_name(read(self.root / folder / "scores.parquet")) for folder in sorted(folders)}

    def units(self, folder: str) -> Units:
        """{(metric, group): {unit: its contribution}} of one run."""
        found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
        for row in read(self.root / folder / "units.parquet"):
            found[row["metric"], row["group"]][row["unit"]] = row["value"]
        return found


def rows_that_ran(rows: Iterable[Mapping[str, Any]], root: Path) -> list[dict[str, Any]]:
    """Return ``rows`` (`plan.Plan.rows`) without conditions of which a run is not run, but with its reason.

    ``root`` is the folder that the folders of runs lie in.
    """
    found = []
    for row in rows:
        whys = {
            condition: next(filter(None, (not_run.reason(root / run / "run.json") for run in runs)), "")
            for condition, runs in row["runs"].items()
        }
        reason = "; ".join(dict.fromkeys(filter(None, (row["reason"], *whys.values()))))
        runs = {condition: row["runs"][condition] for condition, why in whys.items() if not why}
        found.append({**row, "runs": runs, "reason": reason})
    return found


def provenance(census: Path, words: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The sources in a data set's census, in the registry's words of today (`registry_texts`)."""
    return with_registry_texts(json.loads(census.read_text(encoding="utf-8"))["sources"], words)


def comparable(sources: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a data set is the paper's, by the provenance of its sources."""
    return all(source["comparable"] for source in sources)


def by_name(rows: Iterable[Row]) -> Scores:
    """A run's rows of `run.SCORES` as {(metric, group): (value, n)}; the value is NaN over nothing."""
    return {(row["metric"], row["group"]): (row["value"] if row["n"] else math.nan, row["n"]) for row in rows}
