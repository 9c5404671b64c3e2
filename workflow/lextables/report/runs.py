"""A page for each run: settings, device, time and scores."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lextables.metrics import HIGH, LOW
from lextables.pipeline import not_run
from lextables.pipeline.dataset import read
from lextables.pipeline.version import version_text
from lextables.report import tables
from lextables.report.commands import Settings, command, cost
from lextables.report.exhibits import cut
from lextables.report.layout import Facts, Link, Page
from lextables.report.results import Exhibit, Part, Record, RunRecord, owner
from lextables.tables.render import duration

TEMPLATE = "run.html.j2"
# Files that the page links to.  The record and the log are not linked, because they may
# name folders and servers of this machine.
FILES = ("scores.parquet", "units.parquet", "predictions.parquet")
MAX_SETTING_LENGTH = 600  # characters, such as those of a prompt
MAX_SCORES = 60
# The names of metrics that end so are the ends of a metric's interval.
ENDS = (LOW, HIGH)
# Settings name other runs by their folders (weights, choice, inputs), at any depth.
RUN_FOLDER = re.compile(r'runs/(?:[^/\s"]+/){4}seed\d+')
# Keys of a run's record that its page shows elsewhere.
ELSEWHERE = frozenset(
    "settings libraries lextables device seconds peak_memory_mib throughput trained "
    "validation asked work".split()
)
HIDDEN_SETTINGS = ("api",)  # the address of a server


@dataclass(frozen=True)
class Links:
    """What the pages of all runs link to.

    ``tables`` are {run folder: the tables that show it}, ``rows`` {run folder: the
    first row that shows it}, ``reads`` {run folder: the runs whose weights or
    predictions it reads} and ``readers`` {run folder: the runs that read from it}.
    """

    parts: Sequence[Part]
    runs: Sequence[RunRecord]
    tables: Mapping[str, Sequence[Link]]
    rows: Mapping[str, str]
    reads: Mapping[str, Sequence[RunRecord]]
    readers: Mapping[str, Sequence[RunRecord]]

    @classmethod
    def of(cls, parts: Sequence[Part], runs: Sequence[RunRecord]) -> "Links":
        """Return the links of these runs, from the tables and the runs' settings."""
        shown: dict[str, list[Link]] = defaultdict(list)
        rows: dict[str, str] = {}
        for part in parts:
            for exhibit in part.exhibits:
                name = f"{part.short}, {tables.name(exhibit)}"
                link = Link(name, tables.path(part, exhibit))
                for folder, row in _first_rows(exhibit).items():
                    shown[folder].append(link)
                    if row:
                        rows.setdefault(folder, row)
        by_folder = {run.folder: run for run in runs}
        reads: dict[str, list[RunRecord]] = defaultdict(list)
        readers: dict[str, list[RunRecord]] = defaultdict(list)
        for run in runs:
            # As text, because folders are named at any depth.
            settings = json.dumps(run.record["settings"])
            for folder in dict.fromkeys(RUN_FOLDER.findall(settings)):
                if folder in by_folder and folder != run.folder:
                    reads[run.folder].append(by_folder[folder])
                    readers[folder].append(run)
        return cls(parts, runs, shown, rows, reads, readers)

    def siblings(self, run: RunRecord) -> list[RunRecord]:
        """The runs that differ from ``run`` in their seed only."""
        others = []
        for other in self.runs:
            # Equal runs have the same folder: records are not compared.
            if other != run and replace(other, seed=run.seed) == run:
                others.append(other)
        return others


def _first_rows(exhibit: Exhibit) -> dict[str, str]:
    """Return {run folder: the first row of a table that shows it}; "" for a row that
    shows runs of several systems.
    """
    rows: dict[str, str] = {}
    for line in exhibit.lines:
        folders = line.runs.split()
        systems = {folder.rpartition("/")[0] for folder in folders}
        row = line.row if len(systems) == 1 else ""
        for folder in folders:
            rows.setdefault(folder, row)
    return rows


@dataclass(frozen=True)
class RunPage:
    """The content of a run's page.

    ``row`` is the first row of a table that shows it, or the key of its model if none
    does.  ``related`` are other runs by how they are related.  ``trials`` are the
    columns and then the rows of a search, empty without one.  ``more_scores`` is the
    number of scores that are not shown.  ``counts`` are what was asked of a language
    model, and the entries of the record without a place of their own.  ``files`` are
    the paths of the run's files by their names.
    """

    run: RunRecord
    row: str
    facts: Facts
    command: str
    tables: Sequence[Link]
    related: Sequence[tuple[str, Sequence[Link]]]
    trials: Sequence[Sequence[str]]
    scores: Sequence[Sequence[str]]
    more_scores: int
    settings: Facts
    trainings: Sequence[Facts]
    counts: Facts
    files: Mapping[str, str]


def place(run: RunRecord) -> str:
    """The path of a run's page, which follows its folder."""
    return f"{run.folder}.html"


def page(run: RunRecord, links: Links, config: Settings, root: str) -> Page:
    """Return the page of a run; ``root`` is the folder of the results."""
    folder = Path(root) / run.folder
    record = run.record
    files = {}
    for name in FILES:
        if (folder / name).exists() and not not_run.reason(folder / name):
            files[name] = f"{run.folder}/{name}"
    scores = []
    target = "run.json"
    if "scores.parquet" in files:
        scores = _scores(folder / "scores.parquet")
        target = "scores.parquet"
    others = {name: value for name, value in record.items() if name not in ELSEWHERE}
    row = links.rows.get(run.folder, run.model)
    content = RunPage(
        run=run,
        row=row,
        facts=_facts(run),
        command=command(config, f"{root}/{run.folder}/{target}"),
        tables=links.tables.get(run.folder, ()),
        related=[
            ("Uses", _linked(links.reads.get(run.folder, ()))),
            ("Used by", _linked(links.readers.get(run.folder, ()))),
            ("The same with other seeds", _linked(links.siblings(run))),
        ],
        trials=_trials(record.get("validation") or []),
        scores=scores[:MAX_SCORES],
        more_scores=max(0, len(scores) - MAX_SCORES),
        settings=_settings(record["settings"]),
        trainings=[_training(each, record["settings"]) for each in run.trainings],
        counts=_settings(record.get("asked") or {}) + _settings(others),
        files=files,
    )
    part = owner(run.data_set, links.parts)
    here = place(run)
    trail = [Link(f"{row}, {run.condition}, seed {run.seed}", here)]
    if part:
        trail.insert(0, Link(part.short, f"papers/{part.name}.html"))
    return Page(
        here, f"Run: {row}, {run.condition}, seed {run.seed}", TEMPLATE, content, trail
    )


def _linked(runs: Sequence[RunRecord]) -> list[Link]:
    return [Link(run.name, place(run)) for run in runs]


def _facts(run: RunRecord) -> Facts:
    """The model, device, time and versions of a run."""
    record = run.record
    made_by = record.get("lextables")
    facts = [("Model", run.submitted or run.weights)]
    if not run.submitted:
        facts += [
            ("Device", record["device"]),
            ("Time", duration(record["seconds"])),
            ("Peak memory", f"{record['peak_memory_mib']:,} MiB"),
        ]
    if run.trainings:
        facts.append(("With its training", cost([run])))
    if made_by:
        facts.append(("Made by", f"lextables {version_text(made_by)}"))
    libraries = sorted(record["libraries"].items())
    versions = [f"{name} {version}" for name, version in libraries]
    facts.append(("Libraries", ", ".join(versions)))
    return facts


def _settings(settings: Settings) -> Facts:
    """Settings as texts: nested names are joined with dots, and long values are cut."""
    texts = []
    for name, value in sorted(settings.items()):
        if name in HIDDEN_SETTINGS:
            continue
        if isinstance(value, Mapping) and value:
            for inner, text in _settings(value):
                texts.append((f"{name}.{inner}", text))
            continue
        shown = "none" if value is None else str(value)
        texts.append((name, cut(shown, MAX_SETTING_LENGTH)))
    return texts


def _training(training: Record, settings: Settings) -> Facts:
    """The device, time, counts and settings of a training, without settings that the
    run shares.
    """
    shown = {name: training[name] for name in training.keys() - ELSEWHERE}
    for name, value in training["settings"].items():
        if settings.get(name) != value:
            shown[name] = value
    time = duration(training["seconds"])
    facts = [("device", training["device"]), ("time", time)]
    return facts + _settings(shown)


def _trials(trials: Sequence[Settings]) -> list[list[str]]:
    """The trials of a search as rows of texts, the columns first; empty if there was
    none.
    """
    if not trials:
        return []
    columns: dict[str, None] = {}
    for trial in trials:
        columns.update(dict.fromkeys(trial))
    rows = [list(columns)]
    for trial in trials:
        rows.append([_short(trial.get(name, "")) for name in columns])
    return rows


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _scores(path: Path) -> list[tuple[str, ...]]:
    """The rows of a run's scores as texts, overall scores first: metric, group, value,
    low, high, number of units.

    In the file, the ends of an interval are rows of their own.
    """
    rows = sorted(read(path), key=lambda row: row["group"] != "all")
    values = {(row["metric"], row["group"]): _score(row["value"]) for row in rows}
    texts = []
    for row in rows:
        metric = row["metric"]
        group = row["group"]
        is_end = metric.endswith(ENDS)
        if is_end and (metric.rpartition(", ")[0], group) in values:
            continue
        ends = [values.get((metric + end, group), "") for end in ENDS]
        texts.append((metric, group, values[metric, group], *ends, f"{row['n']:,}"))
    return texts


def _score(value: float) -> str:
    if math.isnan(value):
        return "not defined"
    # A whole number above one is a count, such as `answers left out`.
    if value > 1 and value.is_integer():
        return f"{value:,.0f}"
    return f"{value:.4f}"
