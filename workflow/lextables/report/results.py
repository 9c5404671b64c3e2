"""Reads what the report shows: the tables and figures of the papers, and the records of the runs."""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lextables.papers.registry import Shown, TableEntry
from lextables.pipeline import not_run
from lextables.pipeline.dataset import Census, Sources
from lextables.pipeline.files import damage_named, read_json
from lextables.pipeline.run import Record
from lextables.pipeline.version import words as version_words
from lextables.sources.registry import with_registry_texts
from lextables.tables import render
from lextables.tables.cells import Line, from_csv
from lextables.tables.comparison import Pair
from lextables.tables.comparison import from_csv as pairs_from_csv


@dataclass(frozen=True)
class Exhibit:
    """A table or figure: its entry in the registry, lines, drawing, files, and compared pairs.

    ``files`` are paths below the results, by kind, and ``sources`` the provenance of its data set.
    """

    name: str
    entry: TableEntry
    lines: Sequence[Line]
    svg: str
    files: Mapping[str, str]
    pairs: Sequence[Pair] = ()
    sources: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Part:
    """A paper's part of the report; ``census`` is its `census.json`.

    ``earlier`` is the day of the earlier run that it is from, empty if it is from this run.  ``tasks`` maps
    its data sets to the kind of their task, empty without a task.
    """

    name: str
    title: str
    citation: str
    census: Mapping[str, Any]
    exhibits: Sequence[Exhibit]
    earlier: str = ""
    tasks: Mapping[str, str] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """The title up to its colon, which is the data set's name; else the paper's own name."""
        name, colon, _ = self.title.partition(":")
        return name if colon else self.name.capitalize()

    @property
    def sources(self) -> Sequence[Mapping[str, Any]]:
        """The provenance of the files that the data sets were made from."""
        return self.census["sources"]


@dataclass(frozen=True)
class RunRecord:
    """A run: its `run.json` and the parts of its folder; ``earlier``: not planned by the current settings."""

    paper: str
    experiment: str
    model: str
    condition: str
    seed: str
    record: Mapping[str, Any]
    earlier: bool = False

    @property
    def place(self) -> tuple[str, ...]:
        """The parts of its folder, to sort by."""
        return self.paper, self.experiment, self.model, self.condition, self.seed

    @property
    def folder(self) -> str:
        """Its folder below the results."""
        return f"runs/{self.paper}/{self.experiment}/{self.model}/{self.condition}/seed{self.seed}"

    @property
    def name(self) -> str:
        """The run's name on pages."""
        return f"{self.experiment}, {self.model}, {self.condition}, seed {self.seed}"

    @property
    def submitted(self) -> str:
        """The file of submitted predictions; empty for other runs."""
        record = self.record.get("submitted")
        digest = (
            self.record["settings"]["content"][: len("sha256:") + 12] if record else ""
        )
        return f"submitted predictions: {record['file']} ({digest})" if record else ""

    @property
    def weights(self) -> str:
        """The model whose weights it used and where they were found; empty without weights."""
        model, location = (
            self.record["settings"].get(key) for key in ("model", "found")
        )
        return f"{model} ({location})" if model and location else model or ""

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of lextables, with its commit, and of the libraries that the run had."""
        version = self.record.get("lextables")  # older records lack it
        return self.record["libraries"] | (
            {"lextables": version_words(version)} if version else {}
        )


def left_over(results: str | Path, planned: Iterable[str]) -> dict[str, str]:
    """Return {path below ``results``: digest} of results of earlier runs.

    ``planned`` are the files of this run.
    The digests are a param of the report, which is remade if one changes.
    """
    results, planned = Path(results), set(planned)
    kinds = (
        "data/*/census.json",
        "tables/*/*.csv",
        "tables/*/*.svg",
        "runs/*/*/*/*/seed*/run.json",
    )
    return {
        path.relative_to(results).as_posix(): hashlib.sha256(
            path.read_bytes()
        ).hexdigest()[:16]
        for kind in kinds
        for path in sorted(results.glob(kind))
        if str(path) not in planned
    }


def read_all(
    results: str | Path,
    papers: Iterable[str | Path],
    texts: Mapping[str, Mapping[str, Any]],
    censuses: Iterable[str | Path],
    runs: Iterable[str],
    earlier: Iterable[str],
) -> tuple[list[Part], list[RunRecord]]:
    """Return the parts of all papers and the sorted records of all runs that were made.

    ``papers`` are the files in resources/papers and ``texts`` {paper: the texts of the sources' registry}.
    ``censuses`` and ``runs`` are those of this run, and ``earlier`` the paths of `left_over`.
    """
    planned = {Path(census).parent.name for census in censuses}
    parts = [
        read_part(name, path, results, texts[name], earlier=name not in planned)
        for name, path in ((Path(path).stem, path) for path in papers)
    ]
    earlier_runs = [f"{results}/{path}" for path in earlier if path.startswith("runs/")]
    records = [read_run(path) for path in not_run.made(runs)]
    records += [read_run(path, earlier=True) for path in not_run.made(earlier_runs)]
    return [part for part in parts if part], sorted(records, key=lambda run: run.place)


def read_part(
    name: str,
    registry: str | Path,
    results: str | Path,
    texts: Mapping[str, Any] | None = None,
    *,
    earlier: bool = False,
) -> Part | None:
    """Read the part of the paper ``name``; ``registry`` is its file in resources/papers.

    ``texts`` are the current texts of the sources' registry (`registry_texts`).  An ``earlier`` run
    may have left some of its tables, or none: then it returns None.
    """
    results = Path(results)
    raw = yaml.safe_load(Path(registry).read_text(encoding="utf-8"))
    paper = Shown.model_validate(
        {key: value for key, value in raw.items() if key in Shown.model_fields}
    )
    tables, census = results / "tables" / name, _census(results, name)
    shown = paper.tables
    if earlier:
        shown = {
            table: entry
            for table, entry in shown.items()
            if _stands(tables, table, entry)
            and _census(results, entry.of or name).exists()
        }
    if earlier and not (shown and census.exists()):
        return None
    counts = _counts(census, texts)
    of_data = {
        of: _counts(_census(results, of or name), texts)
        for of in {each.of for each in shown.values()}
    }
    exhibits = [
        _read_exhibit(tables, table, entry, of_data[entry.of]["sources"])
        for table, entry in shown.items()
    ]
    last = max((tables / f"{exhibit.name}.csv").stat().st_mtime for exhibit in exhibits)
    return Part(
        name,
        paper.title,
        paper.citation,
        counts,
        exhibits,
        time.strftime("%Y-%m-%d", time.localtime(last)) if earlier else "",
        _tasks(name, raw),
    )


def _census(results: Path, dataset: str) -> Path:
    return results / "data" / dataset / "census.json"


def source_files(results: Path, dataset: str) -> frozenset[str]:
    """The files that a data set was read from, as `<source>/<file>`; empty if it has no census."""
    census = _census(results, dataset)
    if not census.exists():
        return frozenset()
    sources = read_json(census, Sources)["sources"]
    return frozenset(f"{source['source']}/{source['file']}" for source in sources)


def _counts(census: Path, texts: Mapping[str, Any] | None) -> dict[str, Any]:
    """A data set's census with the current ``texts`` of its sources."""
    counts = read_json(census, Census)
    return counts | {"sources": with_registry_texts(counts["sources"], texts or {})}


def _tasks(name: str, registry: Mapping[str, Any]) -> dict[str, str]:
    """{data set of the paper: the kind of its task}, its own first."""
    tasks = {
        dataset: entry["task"] for dataset, entry in registry.get("tasks", {}).items()
    }
    return {name: ""} | dict.fromkeys(registry.get("data", {}), "") | tasks


def _stands(folder: Path, name: str, entry: TableEntry) -> bool:
    return all(
        (folder / f"{name}.{kind}").exists()
        for kind in (["csv", "svg"] if entry.kind else ["csv"])
    )


def _read_exhibit(
    folder: Path, name: str, entry: TableEntry, sources: Sequence[Mapping[str, Any]]
) -> Exhibit:
    table = folder / f"{name}.csv"
    with damage_named(table):
        # Each value had the note.
        lines = from_csv(table.read_text(encoding="utf-8"), render.data_note(sources))
    svg = (folder / f"{name}.svg").read_text(encoding="utf-8") if entry.kind else ""
    suffixes = ("csv", "md", "html", "svg")[: 4 if svg else 3]
    files = {suffix: f"tables/{folder.name}/{name}.{suffix}" for suffix in suffixes}
    compared = folder / f"{name}.comparison.csv"
    pairs = []
    if compared.exists():
        with damage_named(compared):
            pairs = pairs_from_csv(compared.read_text(encoding="utf-8"))
    if pairs:
        files["comparison.csv"] = f"tables/{folder.name}/{name}.comparison.csv"
    return Exhibit(name, entry, lines, svg, files, pairs, sources)


def read_run(path: str | Path, *, earlier: bool = False) -> RunRecord:
    """Read a `run.json` at …/<paper>/<experiment>/<model>/<condition>/seed<k>/."""
    path = Path(path)
    *_, paper, experiment, model, condition, seed = path.parent.parts
    record = read_json(path, Record)
    return RunRecord(
        paper, experiment, model, condition, seed.removeprefix("seed"), record, earlier
    )
