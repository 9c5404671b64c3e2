"""A page for each run: settings, device, time and scores."""

import json
import math
import re
from collections import defaultdict
from collections.abc import (
    Mapping,
    Sequence,
)
from dataclasses import (
    dataclass,
    replace,
)
from pathlib import Path

from lextables.pipeline.dataset import read
from lextables.pipeline.version import words
from lextables.report import tables
from lextables.report.commands import (
    Settings,
    command,
    cost,
)
from lextables.report.exhibits import cut
from lextables.report.layout import (
    Facts,
    Link,
    Page,
)
from lextables.report.results import (
    Part,
    Record,
    RunRecord,
    owner,
)
from lextables.tables.render import duration

TEMPLATE = "run.html.j2"
# Linked from the page.  The record and the log are for this machine: they may name its folders and servers.
FILES = ("scores.parquet", "units.parquet", "predictions.parquet")
LETTERS = 600  # of a setting, such as a prompt
SCORES = 60  # rows shown at most
# The folder of a run that another run's settings name.
OF_RUN = re.compile(r'runs/(?:[^/\s"]+/){4}seed\d+')
# Keys of a run's record that its page shows elsewhere.
ELSEWHERE = frozenset(
    "settings libraries lextables device seconds peak_memory_mib trained validation asked given work".split()
)
LOCAL = ("api",)  # settings of a run that pages do not show: the address of a server


@dataclass(frozen=True)
class Links:
    """What the pages of all runs link to.

    ``tables`` are {run folder: the tables that show it}, ``reads`` {run folder: the runs whose weights or
    predictions it reads} and ``readers`` the reverse.
    """

    parts: Sequence[Part]
    runs: Sequence[RunRecord]
    tables: Mapping[str, Sequence[Link]]
    reads: Mapping[str, Sequence[RunRecord]]
    readers: Mapping[str, Sequence[RunRecord]]

    @classmethod
    def of(cls, parts: Sequence[Part], runs: Sequence[RunRecord]) -> "Links":
        """Return the links of these runs, from the tables and the runs' settings."""
        shown: dict[str, list[Link]] = defaultdict(list)
        for part in parts:
            for exhibit in part.exhibits:
                folders = {}
                for line in exhibit.lines:
                    folders.update(dict.fromkeys(line.runs.split()))
                name = f"{part.short}, {tables.name(exhibit)}"
                for folder in folders:
                    shown[folder].append(Link(name, tables.path(part, exhibit)))
        by_folder = {run.folder: run for run in runs}
        reads: dict[str, list[RunRecord]] = defaultdict(list)
        readers: dict[str, list[RunRecord]] = defaultdict(list)
        for run in runs:
            named = OF_RUN.findall(json.dumps(run.record["settings"]))
            for folder in dict.fromkeys(named):
                if folder in by_folder and folder != run.folder:
                    reads[run.folder].append(by_folder[folder])
                    readers[folder].append(run)
        return cls(parts, runs, shown, reads, readers)

    def siblings(self, run: RunRecord) -> list[RunRecord]:
        """The runs that differ from ``run`` in their seed only."""
        same = [other for other in self.runs if replace(other, seed=run.seed) == run]
        return [other for other in same if other != run]


@dataclass(frozen=True)
class RunPage:
    """The content of a run's page.

    ``trials`` are the columns and the rows of a search, empty without one.  ``more_scores`` is the number of
    scores that are not shown.  ``files`` are the paths of the run's files by their names.
    """

    run: RunRecord
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


def page(
    run: RunRecord,
    links: Links,
    config: Settings,
    root: str,
) -> Page:
    """Return the page of a run; ``root`` is the folder of the results."""
    folder = Path(root) / run.folder
    record = run.record
    files = [name for name in FILES if (folder / name).exists()]
    scores = []
    target = "run.json"
    if "scores.parquet" in files:
        scores = _scores(folder / "scores.parquet")
        target = "scores.parquet"
    others = {name: value for name, value in record.items() if name not in ELSEWHERE}
    content = RunPage(
        run=run,
        facts=_facts(run),
        command=command(config, f"{root}/{run.folder}/{target}"),
        tables=links.tables.get(run.folder, ()),
        related=[
            ("Uses", _linked(links.reads.get(run.folder, ()))),
            ("Used by", _linked(links.readers.get(run.folder, ()))),
            ("The same with other seeds", _linked(links.siblings(run))),
        ],
        trials=_trials(record.get("validation") or []),
        scores=scores[:SCORES],
        more_scores=max(0, len(scores) - SCORES),
        settings=_settings(record["settings"]),
        trainings=[_training(each, record["settings"]) for each in run.trainings],
        counts=_settings(record.get("asked") or {}) + _settings(others),
        files={name: f"{run.folder}/{name}" for name in files},
    )
    part = owner(run.paper, links.parts)
    trail = [Link(part.short, f"papers/{part.name}.html")] if part else []
    title = f"{run.model}, {run.condition}, seed {run.seed}"
    here = place(run)
    return Page(
        here, f"Run: {run.name}", TEMPLATE, content, [*trail, Link(title, here)]
    )


def _linked(runs: Sequence[RunRecord]) -> list[Link]:
    return [Link(run.name, place(run)) for run in runs]


def _facts(run: RunRecord) -> Facts:
    """The model, device, time and versions of a run."""
    record = run.record
    made_by = run.record.get("lextables")
    libraries = sorted(record["libraries"].items())
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
        facts.append(("Made by", f"lextables {words(made_by)}"))
    facts.append(("Libraries", ", ".join(" ".join(library) for library in libraries)))
    return facts


def _settings(settings: Settings) -> Facts:
    """Settings as texts: nested names are joined with dots, and long values are cut."""
    texts = []
    for name, value in sorted(settings.items()):
        if name in LOCAL:
            continue
        if isinstance(value, Mapping) and value:
            texts += [(f"{name}.{inner}", text) for inner, text in _settings(value)]
        else:
            texts.append((name, cut("none" if value is None else str(value), LETTERS)))
    return texts


def _training(training: Record, settings: Settings) -> Facts:
    """The device, time, counts and settings of a training, without settings that the run shares."""
    shown = {name: training[name] for name in training.keys() - ELSEWHERE}
    for name, value in training["settings"].items():
        if settings.get(name) != value:
            shown[name] = value
    facts = [("device", training["device"]), ("time", duration(training["seconds"]))]
    return facts + _settings(shown)


def _trials(trials: Sequence[Settings]) -> list[list[str]]:
    """The trials of a search as rows of texts, the columns first; empty if there was none."""
    if not trials:
        return []
    columns: dict[str, None] = {}
    for trial in trials:
        columns.update(dict.fromkeys(trial))
    rows = [[*columns]]
    for trial in trials:
        rows.append([_short(trial.get(name, "")) for name in columns])
    return rows


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _scores(path: Path) -> list[tuple[str, str, str, str]]:
    """The overall scores, then those of groups, as texts."""
    rows = sorted(read(path), key=lambda row: row["group"] != "all")
    return [
        (row["metric"], row["group"], _score(row["value"]), f"{row['n']:,}")
        for row in rows
    ]


def _score(value: float) -> str:
    if math.isnan(value):
        return "not defined"
    # A whole number above one is a count, such as `answers left out`.
    return f"{value:,.0f}" if value > 1 and value.is_integer() else f"{value:.4f}"
