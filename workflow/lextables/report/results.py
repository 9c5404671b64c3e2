"""Read what the report shows from the results folder: tables and figures of the papers,
and records of the runs.
"""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from lextables.pipeline import not_run
from lextables.pipeline import run as run_module
from lextables.pipeline.dataset import Census
from lextables.pipeline.files import damage_named, read_json, verify
from lextables.pipeline.run import Run
from lextables.registry.paper import ShownPaper, TableEntry
from lextables.sources.entries import with_registry_texts
from lextables.tables import published
from lextables.tables.cells import Line, Place, from_csv
from lextables.tables.comparison import Pair
from lextables.tables.comparison import from_csv as pairs_from_csv
from lextables.tables.inputs import data_note
from lextables.tables.published import FirstKinds, Kind

# A JSON object of the results: a run's record, a census, or a source in it.
Record = Mapping[str, Any]


@dataclass(frozen=True)
class Exhibit:
    """A table or figure: its entry in the registry, its lines, and its drawing.

    ``files`` are paths below the results, by suffix; ``pairs`` are the compared pairs
    of rows; and ``sources`` are the provenance of its data set.  ``first_kinds`` has
    the kind of each published value that repeats no other.
    """

    name: str
    entry: TableEntry
    lines: Sequence[Line]
    svg: str
    files: Mapping[str, str]
    pairs: Sequence[Pair] = ()
    sources: Sequence[Record] = ()
    first_kinds: Mapping[Place, Kind] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """A paper's part of the report; ``census`` is the census of its own data set.

    ``earlier_day`` is the day of the earlier run that it is from, empty if it is from
    this run.  ``tasks`` maps its data sets to the kind of their task, empty without a
    task.
    """

    name: str
    title: str
    citation: str
    census: Record
    exhibits: Sequence[Exhibit]
    earlier_day: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """The title up to its colon, which is the data set's name; else the paper's own
        name.
        """
        name, colon, _ = self.title.partition(":")
        return name if colon else self.name.capitalize()

    @property
    def sources(self) -> Sequence[Record]:
        """The provenance of the files that the data sets were made from."""
        return self.census["sources"]


def owner(dataset: str, parts: Iterable[Part]) -> Part | None:
    """The paper whose data set this is."""
    return next((part for part in parts if dataset in part.tasks), None)


@dataclass(frozen=True, order=True)
class RunRecord(Run):
    """A run and its `run.json`; ``earlier``: not planned by the current settings."""

    record: Record = field(default_factory=dict, compare=False)
    earlier: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """The run's name on pages."""
        return f"{self.experiment}, {self.model}, {self.condition}, seed {self.seed}"

    @property
    def submitted(self) -> str:
        """The file of submitted predictions and the first digits of its digest, as
        pages show them; empty for other runs.
        """
        record = self.record.get("submitted")
        if not record:
            return ""
        digest = self.record["settings"]["content"][: len("sha256:") + 12]
        return f"submitted predictions: {record['file']} ({digest})"

    @property
    def weights(self) -> str:
        """The model whose weights it used and where they were found; empty without
        weights.
        """
        settings = self.record["settings"]
        model = settings.get("model") or ""
        location = settings.get("found")
        return f"{model} ({location})" if model and location else model

    @property
    def trainings(self) -> Sequence[Record]:
        """The records of the trainings whose weights it read."""
        trained = self.record.get("trained") or []
        return trained if isinstance(trained, list) else [trained]


# Patterns of the results that the report shows.
SHOWN_FILES = (
    "data/*/census.json",
    "tables/*/*.csv",
    "tables/*/*.svg",
    "runs/*/*/*/*/seed*/run.json",
)


def left_over(results: str | Path, planned: Iterable[str]) -> dict[str, str]:
    """Return {path below ``results``: digest} of results of earlier runs.

    ``planned`` are the files of this run.  The digests are a param of the report, which
    is remade if one changes.
    """
    results = Path(results)
    planned = set(planned)
    digests = {}
    for pattern in SHOWN_FILES:
        for path in sorted(results.glob(pattern)):
            if str(path) not in planned:
                digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
                digests[path.relative_to(results).as_posix()] = digest
    return digests


def read_all(
    results: str | Path,
    papers: Iterable[str | Path],
    published_values: Iterable[str | Path],
    texts: Mapping[str, Record],
    censuses: Iterable[str | Path],
    runs: Iterable[str],
    earlier: Iterable[str],
) -> tuple[list[Part], list[RunRecord]]:
    """Return the parts of all papers and the sorted records of all runs that were made.

    ``papers`` are the files in resources/papers, ``published_values`` those in
    resources/published and ``texts`` {paper: the texts of the sources' registry}.
    ``censuses`` and ``runs`` are files of this run, and ``earlier`` the paths that
    `left_over` returns.
    """
    planned = {Path(census).parent.name for census in censuses}
    first_kinds = {}  # {paper: `FirstKinds` of its tables}
    for path in map(Path, published_values):
        first_kinds[path.stem] = published.first_kinds(published.load(path))
    parts = []
    for path in map(Path, papers):
        name = path.stem
        part = read_part(
            name,
            path,
            results,
            texts[name],
            first_kinds[name],
            earlier=name not in planned,
        )
        if part:
            parts.append(part)
    earlier_runs = [f"{results}/{path}" for path in earlier if path.startswith("runs/")]
    records = [read_run(path) for path in not_run.without_reason(runs)]
    records += [
        read_run(path, earlier=True) for path in not_run.without_reason(earlier_runs)
    ]
    return parts, sorted(records)


def parts_of_run(
    parts: Iterable[Part], results: str | Path, tables: Iterable[str | Path]
) -> list[Part]:
    """Return the parts with the tables that this run makes, without parts that have
    none.

    ``tables`` are the files of these tables below ``results``; others were left by
    earlier runs.
    """
    made = {Path(path) for path in tables}
    shown = []
    for part in parts:
        exhibits = []
        for exhibit in part.exhibits:
            if Path(results) / exhibit.files["csv"] in made:
                exhibits.append(exhibit)
        if exhibits:
            shown.append(replace(part, exhibits=exhibits))
    return shown


def read_part(
    name: str,
    registry: str | Path,
    results: str | Path,
    texts: Record | None = None,
    first_kinds: FirstKinds | None = None,
    *,
    earlier: bool = False,
) -> Part | None:
    """Read the part of the paper ``name``; ``registry`` is its file in
    resources/papers.

    ``texts`` are the current texts of the sources' registry (`registry_texts`), and
    ``first_kinds`` the result of `published.first_kinds`.  A run on the sample makes
    only some of the tables.  With ``earlier`` the files are those of an earlier run;
    returns None if it left no table.
    """
    results = Path(results)
    raw = yaml.safe_load(Path(registry).read_text(encoding="utf-8"))
    shown = {key: value for key, value in raw.items() if key in ShownPaper.model_fields}
    paper = ShownPaper.model_validate(shown)
    folder = results / "tables" / name
    entries = {}
    for table, entry in paper.tables.items():
        has_census = _census(results, entry.of or name).exists()
        if has_census and _is_complete(folder, table, entry):
            entries[table] = entry
    if earlier and not (entries and _census(results, name).exists()):
        return None
    censuses = {}
    for dataset in {name, *(entry.of or name for entry in entries.values())}:
        census = read_json(_census(results, dataset), Census)
        census["sources"] = with_registry_texts(census["sources"], texts or {})
        censuses[dataset] = census
    exhibits = []
    for table, entry in entries.items():
        sources = censuses[entry.of or name]["sources"]
        exhibit = _read_exhibit(folder, table, entry, sources)
        of_table = (first_kinds or {}).get(table, {})
        exhibits.append(replace(exhibit, first_kinds=of_table))
    day = ""
    if earlier:
        last = max((folder / f"{table}.csv").stat().st_mtime for table in entries)
        day = time.strftime("%Y-%m-%d", time.localtime(last))
    # `ShownPaper` has no data sets and tasks: checking them needs the modules of tasks.
    tasks = {name: ""} | dict.fromkeys(raw.get("data", {}), "")
    for dataset, entry in raw.get("tasks", {}).items():
        tasks[dataset] = entry["task"]
    return Part(
        name=name,
        title=paper.title,
        citation=paper.citation,
        census=censuses[name],
        exhibits=exhibits,
        earlier_day=day,
        tasks=tasks,
    )


def _census(results: Path, dataset: str) -> Path:
    return results / "data" / dataset / "census.json"


def _is_complete(folder: Path, name: str, entry: TableEntry) -> bool:
    """Whether the files of a table or figure exist."""
    suffixes = ["csv", "svg"] if entry.kind else ["csv"]
    return all((folder / f"{name}.{suffix}").exists() for suffix in suffixes)


def _read_exhibit(
    folder: Path, name: str, entry: TableEntry, sources: Sequence[Record]
) -> Exhibit:
    """Read the lines, the figure and the pairs of a table in the folder of its paper's
    tables.
    """
    table = folder / f"{name}.csv"
    with damage_named(table):
        verify(table)
        # The reason of each value ends in the note on the data; pages show it once.
        note = data_note(sources)
        lines = from_csv(table.read_text(encoding="utf-8"), note)
    suffixes = ["csv", "md", "html"]
    svg = ""
    if entry.kind:
        suffixes.append("svg")
        svg = (folder / f"{name}.svg").read_text(encoding="utf-8")
    compared = folder / f"{name}.comparison.csv"
    pairs = []
    if compared.exists():
        with damage_named(compared):
            verify(compared)
            pairs = pairs_from_csv(compared.read_text(encoding="utf-8"))
    if pairs:
        suffixes.append("comparison.csv")
    files = {suffix: f"tables/{folder.name}/{name}.{suffix}" for suffix in suffixes}
    return Exhibit(
        name=name,
        entry=entry,
        lines=lines,
        svg=svg,
        files=files,
        pairs=pairs,
        sources=sources,
    )


def read_run(path: str | Path, *, earlier: bool = False) -> RunRecord:
    """Read a `run.json` at …/<data set>/<experiment>/<model>/<condition>/seed<k>/."""
    path = Path(path)
    *_, data_set, experiment, model, condition, seed = path.parent.parts
    record = read_json(path, run_module.Record)
    number = int(seed.removeprefix("seed"))
    return RunRecord(data_set, experiment, model, condition, number, record, earlier)
