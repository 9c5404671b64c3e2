"""A page for each run: settings, device, time, training curve and scores."""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lextables.pipeline.dataset import read
from lextables.pipeline.version import words
from lextables.report.commands import command, cost, trainings
from lextables.report.exhibits import cut
from lextables.report.layout import Page
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.tables.render import duration, label

TEMPLATE = "run.html.j2"
# Linked from the page.  The record and the log are for this machine: they may name its folders and servers.
FILES = ("scores.parquet", "units.parquet", "predictions.parquet")
LETTERS = 600  # of a setting, such as a prompt
SCORES = 60  # rows shown at most
UPDATE = re.compile(r"update (\d+) of \d+, loss ([\d.]+)$", re.MULTILINE)
# The folder of a run that another run's settings name.
OF_RUN = re.compile(r'runs/(?:[^/\s"]+/){4}seed\d+')
# Keys of a run's record that its page shows elsewhere.
ELSEWHERE = frozenset(
    "settings libraries lextables device seconds peak_memory_mib trained validation asked given work".split()
)
LOCAL = ("api",)  # settings of a run that pages do not show: the address of a server
WIDE, HIGH = 320, 120  # units of a curve

Shown = Mapping[str, Sequence[tuple[Part, Exhibit]]]
Readers = Mapping[str, Sequence[RunRecord]]
Curve = Sequence[tuple[float, float]]


def place(run: RunRecord) -> str:
    """The path of a run's page, which follows its folder."""
    return f"{run.folder}.html"


def shown_in(parts: Iterable[Part]) -> Shown:
    """{run folder: the tables that show it}."""
    tables_of: dict[str, dict[tuple[str, str], tuple[Part, Exhibit]]] = {}
    for part in parts:
        for exhibit in part.exhibits:
            for line in exhibit.lines:
                for folder in line.runs.split():
                    tables_of.setdefault(folder, {})[part.name, exhibit.name] = (
                        part,
                        exhibit,
                    )
    return {folder: list(tables.values()) for folder, tables in tables_of.items()}


def runs_read(runs: Iterable[RunRecord]) -> Readers:
    """{run folder: the runs whose weights or predictions it reads, as its settings name them}."""
    by_folder = {run.folder: run for run in runs}
    return {
        folder: [
            by_folder[other]
            for other in dict.fromkeys(
                OF_RUN.findall(json.dumps(run.record["settings"]))
            )
            if other in by_folder and other != folder
        ]
        for folder, run in by_folder.items()
    }


def page(
    run: RunRecord,
    runs: Mapping[str, RunRecord],
    shown: Shown,
    reads: Readers,
    trail: Sequence[tuple[str, str]],
    config: Mapping[str, Any],
    root: str,
) -> Page:
    """Return the page of a run, one of ``runs`` by their folder; ``root`` is the folder of the results.

    ``shown`` is the result of `shown_in`, and ``reads`` that of `runs_read`.
    """
    folder, record = Path(root) / run.folder, run.record
    there = [name for name in FILES if (folder / name).exists()]
    target = "scores.parquet" if "scores.parquet" in there else "run.json"
    scores = (
        _scores(folder / "scores.parquet") if "scores.parquet" in there else ([], 0)
    )
    log = folder / "log.txt"
    losses = _losses(log) if log.exists() else []
    by = record.get("lextables")
    facts = [
        ("Model", run.submitted or run.weights),
        ("Device", "not known" if run.submitted else record["device"]),
        ("Time", "not known" if run.submitted else duration(record["seconds"])),
        ("Peak memory", "" if run.submitted else f"{record['peak_memory_mib']:,} MiB"),
        ("With its training", cost([run]) if record.get("trained") else ""),
        ("Made by", f"lextables {words(by)}" if by else ""),
        (
            "Libraries",
            ", ".join(
                f"{name} {version}"
                for name, version in sorted(record["libraries"].items())
            ),
        ),
    ]
    siblings = [
        other
        for other in runs.values()
        if other.place[:-1] == run.place[:-1] and other.seed != run.seed
    ]
    tables = [
        (f"tables/{part.name}-{exhibit.name}.html", part, exhibit)
        for part, exhibit in shown.get(run.folder, ())
    ]
    values = {
        "run": run,
        "facts": facts,
        "command": command(config, f"{root}/{run.folder}/{target}"),
        "settings": _settings(record["settings"]),
        "trained": [
            _training(trained, record["settings"]) for trained in trainings(run)
        ],
        "counted": _settings(
            {name: value for name, value in record.items() if name not in ELSEWHERE}
        ),
        "asked": _settings(record.get("asked") or {}),
        "scores": scores[0],
        "more_scores": scores[1],
        "losses": drawn(losses, "loss by update"),
        "ends": (losses[0][0][1], losses[-1][-1][1]) if losses else (0, 0),
        "updates": max((at for curve in losses for at, _ in curve), default=0),
        "trials": _trials(record.get("validation") or []),
        "tables": [
            (path, f"{part.short}, {label(x.name)}", x.entry.title)
            for path, part, x in tables
        ],
        "beside": [
            ("Uses", [(other.name, place(other)) for other in reads[run.folder]]),
            (
                "Used by",
                [
                    (other.name, place(other))
                    for other in runs.values()
                    if run in reads[other.folder]
                ],
            ),
            (
                "The same with other seeds",
                [(f"seed {other.seed}", place(other)) for other in siblings],
            ),
        ],
        "files": {name: f"{run.folder}/{name}" for name in there},
    }
    title = f"{run.model}, {run.condition}, seed {run.seed}"
    return Page(
        place(run),
        f"Run: {run.name}",
        TEMPLATE,
        values,
        "run",
        [*trail, (title, place(run))],
    )


def _settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
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


def _training(
    trained: Mapping[str, Any], settings: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """The device, time, counts and settings of a training, without settings that the run shares."""
    its_own = {
        name: value
        for name, value in trained["settings"].items()
        if settings.get(name) != value
    }
    counted = {name: value for name, value in trained.items() if name not in ELSEWHERE}
    took = [("device", trained["device"]), ("time", duration(trained["seconds"]))]
    return took + _settings(counted | its_own)


def _trials(
    trials: Sequence[Mapping[str, Any]],
) -> tuple[list[str], list[list[str]]] | None:
    """The trials of a search, as columns and rows of texts; None if there was none."""
    if not trials:
        return None
    columns = list(dict.fromkeys(name for trial in trials for name in trial))
    rows = [[_short(trial.get(name, "")) for name in columns] for trial in trials]
    return columns, rows


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _scores(path: Path) -> tuple[list[tuple[str, str, str, str]], int]:
    """The overall scores, then those of groups, at most `SCORES` rows; and the number of omitted rows."""
    rows = sorted(read(path), key=lambda row: row["group"] != "all")
    texts = [
        (row["metric"], row["group"], _score(row["value"]), f"{row['n']:,}")
        for row in rows
    ]
    return texts[:SCORES], max(0, len(texts) - SCORES)


def _score(value: float) -> str:
    if math.isnan(value):
        return "not defined"
    # A whole number above one is a count, such as `answers left out`.
    return f"{value:,.0f}" if value > 1 and value.is_integer() else f"{value:.4f}"


def _losses(log: Path) -> list[Curve]:
    """The losses in a training's log: (update, loss), one curve for each start of the training."""
    curves: list[list[tuple[float, float]]] = []
    for update, loss in UPDATE.findall(
        log.read_text(encoding="utf-8", errors="replace")
    ):
        if not curves or int(update) <= curves[-1][-1][0]:
            curves.append([])
        curves[-1].append((int(update), float(loss)))
    return [curve for curve in curves if len(curve) > 1]


def drawn(curves: Sequence[Curve], name: str) -> Markup:
    """Draw curves over one another, from zero on both axes; empty without curves."""
    points = [point for curve in curves for point in curve]
    if not points:
        return Markup()
    right, top = max(x for x, _ in points), max(y for _, y in points) or 1
    lines = Markup().join(
        Markup('<polyline points="{}"/>').format(
            " ".join(
                f"{WIDE * x / right:.1f},{HIGH - (HIGH - 4) * y / top:.1f}"
                for x, y in curve
            )
        )
        for curve in curves
    )
    return Markup(
        '<svg class="curve" viewBox="0 0 {w} {h}" role="img" aria-label="{name}, from {first:g} to {last:g}">'
        '<path class="axis" d="M0 0v{h}h{w}"/>{lines}</svg>'
    ).format(
        w=WIDE, h=HIGH, name=name, first=points[0][1], last=points[-1][1], lines=lines
    )
