"""The report: one page with every table and figure, opened from disk.

`page` puts the sections together; each section is one function of what was read.
"""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from markupsafe import Markup

from lextables.papers import Shown, TableEntry
from lextables.sources.registry import reworded
from lextables.tables import render
from lextables.tables.cells import Line, count, from_csv
from lextables.tables.render import duration
from lextables.version import words

FOLD = 30  # rows from which a table opens at a click
HISTOGRAM = 8  # values up to which a label's histogram is written out
PANELS = {
    "sample": "the small panel that the environment holds",
    "available": "those that this machine has",
    "paper": "all that the papers ran",
}


@dataclass(frozen=True)
class Exhibit:
    """A table or figure: its entry in the registry, its lines, its drawing, and links to its files."""

    name: str
    entry: TableEntry
    lines: Sequence[Line]
    svg: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Part:
    """A paper's part of the report; ``census`` is its `census.json`.

    ``earlier`` is the day of an earlier run that left it, empty if this run made it.
    """

    name: str
    title: str
    citation: str
    census: Mapping[str, Any]
    exhibits: Sequence[Exhibit]
    earlier: str = ""

    @property
    def short(self) -> str:
        """The title up to its colon, which is the data set's name."""
        return self.title.partition(":")[0]

    @property
    def sources(self) -> Sequence[Mapping[str, Any]]:
        """The provenance of the files that the data sets were made from."""
        return self.census["sources"]


@dataclass(frozen=True)
class RunRecord:
    """A run's `run.json`, and the parts of its folder; ``earlier``: this run's settings do not ask for it."""

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
    def name(self) -> str:
        """The run in words."""
        return f"{self.experiment}, {self.model}, {self.condition}, seed {self.seed}"

    @property
    def given(self) -> str:
        """Where predictions come from that a user had already; empty for a run that made its own."""
        found = self.record.get("given")
        digest = self.record["settings"]["content"][: len("sha256:") + 12] if found else ""
        return f"predictions given in {found['file']} ({digest})" if found else ""

    @property
    def weights(self) -> str:
        """The model whose weights it used and where they were found; empty for a run without any."""
        model, found = (self.record["settings"].get(key) for key in ("model", "found"))
        return f"{model} ({found})" if model and found else model or ""

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of lextables, with its commit, and of the libraries that the run had."""
        ours = self.record.get("lextables")  # a run of before this was recorded is still a run
        return self.record["libraries"] | ({"lextables": words(ours)} if ours else {})


def left_over(results: str | Path, made: Iterable[str]) -> dict[str, str]:
    """Return what earlier runs left in ``results`` of what the report shows, but for the files ``made``.

    Maps each path below ``results`` to its digest, so that the report is made again when one changes.
    """
    results, made = Path(results), set(made)
    kinds = ("data/*/census.json", "tables/*/*.csv", "tables/*/*.svg", "runs/*/*/*/*/seed*/run.json")
    return {
        path.relative_to(results).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for kind in kinds
        for path in sorted(results.glob(kind))
        # A data set that no table shows is not in the report.
        if str(path) not in made
        and (path.name != "census.json" or (results / "tables" / path.parent.name).is_dir())
    }


def read_part(
    name: str,
    registry: str | Path,
    results: str | Path,
    words: Mapping[str, Any] | None = None,
    *,
    earlier: bool = False,
) -> Part | None:
    """Read what the report shows of the paper ``name``; ``registry`` is its file in resources/papers.

    ``words`` is what the registry of sources says today of theirs (`sources.registry.words`).  What an
    ``earlier`` run left may be some of its tables, or none: then there is no part.
    """
    results = Path(results)
    raw = yaml.safe_load(Path(registry).read_text(encoding="utf-8"))
    paper = Shown.model_validate({key: value for key, value in raw.items() if key in Shown.model_fields})
    tables, census = results / "tables" / name, results / "data" / name / "census.json"
    shown = paper.tables
    if earlier:
        shown = {table: entry for table, entry in shown.items() if _stands(tables, table, entry)}
    if earlier and not (shown and census.exists()):
        return None
    counts = json.loads(census.read_text(encoding="utf-8"))
    counts["sources"] = reworded(counts["sources"], words or {})
    note = render.data_note(counts["sources"])
    exhibits = [_read_exhibit(tables, table, entry, note) for table, entry in shown.items()]
    last = max((tables / f"{exhibit.name}.csv").stat().st_mtime for exhibit in exhibits)
    return Part(
        name,
        paper.title,
        paper.citation,
        counts,
        exhibits,
        time.strftime("%Y-%m-%d", time.localtime(last)) if earlier else "",
    )


def _stands(folder: Path, name: str, entry: TableEntry) -> bool:
    return all((folder / f"{name}.{kind}").exists() for kind in (["csv", "svg"] if entry.kind else ["csv"]))


def _read_exhibit(folder: Path, name: str, entry: TableEntry, note: str) -> Exhibit:
    """``note``: what was said of the data with each of its values."""
    lines = from_csv((folder / f"{name}.csv").read_text(encoding="utf-8"), note)
    svg = (folder / f"{name}.svg").read_text(encoding="utf-8") if entry.kind else ""
    suffixes = ("csv", "md", "html", "svg")[: 4 if svg else 3]
    files = {suffix: f"../tables/{folder.name}/{name}.{suffix}" for suffix in suffixes}
    return Exhibit(name, entry, lines, svg, files)


def read_run(path: str | Path, *, earlier: bool = False) -> RunRecord:
    """Read a `run.json` at …/<paper>/<experiment>/<model>/<condition>/seed<k>/."""
    path = Path(path)
    *_, paper, experiment, model, condition, seed = path.parent.parts
    record = json.loads(path.read_text(encoding="utf-8"))
    return RunRecord(paper, experiment, model, condition, seed.removeprefix("seed"), record, earlier)


def page(
    config: Mapping[str, Any], parts: Sequence[Part], runs: Sequence[RunRecord], made_by: str = ""
) -> str:
    """Return the report as HTML that needs no other file; links to other files are relative to it.

    ``made_by`` is the version of lextables that puts it together, in words.
    """
    sections = [
        opening(config, parts, runs, made_by),
        summary(parts),
        *map(paper, parts),
        what_ran(parts, runs),
    ]
    return render.page("Printed and rebuilt", Markup("\n").join(sections), STYLE)


# Sections

STYLE = """
nav { font: .9375rem/1.6 var(--sans); margin: 1rem 0; } nav a { margin-right: 1.25rem; white-space: nowrap; }
section.part { margin-top: 4rem; }
section.part > h2 { border-top: 1.5px solid var(--ink); padding-top: .75rem; }
.exhibit { margin-top: 2.75rem; scroll-margin-top: 1rem; }
table.plain th, table.plain td { padding-top: .3rem; padding-bottom: .3rem; }
.none { color: var(--soft); opacity: .55; } tr.total > * { font-weight: 600; }
.summary tr > :first-child { max-width: none; } .summary .title { font-weight: 400; margin-left: .4em; }
.summary a { white-space: nowrap; }
.files { font: .8125rem var(--sans); margin: -.25rem 0 0; }
.files a { margin-right: .9em; } table.plain .left { text-align: left; }
table.plain td:not(.left, .text) { white-space: nowrap; }
details + p { margin-top: .75rem; }
@media (max-width: 40rem) {
  .summary .title { display: none; } .summary :is(th, td):not(:first-child) { padding-inline: .35rem; } }
"""

_OPENING = render.TEMPLATES.from_string("""\
<h1>Printed and rebuilt</h1>
<p>Each table and figure below sets what {{ papers }} printed beside what this pipeline made again from raw
sources. The data are {{ data }}, and the models are {{ panel }}: {{ models }}.
{%- if made_by %} This page was made by lextables {{ made_by }}.{% endif %}</p>
<p class="small soft">{{ key }} Not run: the note says why. Without a verdict stand what was trained with
fewer seeds, and what comes from data that are not comparable with the paper's. A printed row takes the paper's
settings or is not run; other settings are rows of ours, whose names say what differs. What the table's floor
reaches too is noted: to match it says nothing.</p>
<nav aria-label="Sections">
{% for part in parts %}
<a href="#{{ part.name }}">{{ part.short }}</a>
{% endfor %}
<a href="#runs">What ran</a> <a href="../config.yaml">config.yaml</a>
</nav>
""")


def opening(
    config: Mapping[str, Any], parts: Sequence[Part], runs: Sequence[RunRecord], made_by: str = ""
) -> Markup:
    """Say what this is, which data it is made from, which models, and by which version."""
    # In the sample other weights may stand in for a model's own.
    stands_in = config["models"] == "sample"
    names = {run.weights if stands_in else run.record["settings"].get("model") for run in runs}
    return Markup(
        _OPENING.render(
            papers="one paper" if len(parts) == 1 else f"{len(parts)} papers",
            data=_data(config["data"], [source for part in parts for source in part.sources]),
            panel=PANELS[config["models"]],
            models=", ".join(sorted(filter(None, names))) or "none was run",
            parts=parts,
            key=render.KEY,
            made_by=made_by,
        )
    )


def _data(choice: str, sources: Iterable[Mapping[str, Any]]) -> str:
    if choice == "sample":
        return "the sample written for this project, which says nothing about any paper"
    variants: dict[str, dict[str, None]] = defaultdict(dict)
    for source in sources:
        variants[source["variant"]][source["source"]] = None
    words = [
        f"{', '.join(names)} as {'published' if variant == 'release' else f'the variant “{variant}”'}"
        for variant, names in variants.items()
    ]
    return f"the release ({'; '.join(words)})"


_SUMMARY = render.TEMPLATES.from_string("""\
<section>
<h2>Summary</h2>
<p>How the printed values came out, table by table.</p>
<div class="scroll" role="region" aria-label="Summary" tabindex="0">
<table class="plain summary">
<thead><tr><th scope="col"><span class="hidden">Table</span></th>
{% for verdict in verdicts %}
<th scope="col">{{ verdict }}</th>
{% endfor %}
</tr></thead>
{% for rows in parts %}
<tbody>
{% for anchor, text, title, counts in rows %}
<tr{% if loop.first %} class="total"{% endif %}><th scope="row"><a href="#{{ anchor }}">{{ text }}</a>
<span class="soft title">{{ title }}</span></th>
{% for n in counts %}
<td{% if not n %} class="none"{% endif %}>{{ n }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
{% endfor %}
</table>
</div>
</section>
""")


def summary(parts: Sequence[Part]) -> Markup:
    """Count the verdicts paper by table, each linked to its place below."""
    shown = []
    for part in parts:
        rows = [
            (f"{part.name}-{x.name}", render.label(x.name), x.entry.title, tuple(count(x.lines).values()))
            for x in part.exhibits
        ]
        total = tuple(map(sum, zip(*(counts for *_, counts in rows), strict=True)))
        shown.append([(part.name, part.short, "", total), *rows])
    verdicts = ("match", "near", "off", "not run", "no verdict")
    return Markup(_SUMMARY.render(parts=shown, verdicts=verdicts))


_PAPER = render.TEMPLATES.from_string("""\
<section class="part" id="{{ part.name }}">
<h2>{{ part.title }}</h2>
<p class="soft">{{ part.citation }}</p>
{% if part.earlier %}
<p class="data">Left by an earlier run (last written on {{ part.earlier }}), whose settings may have been other ones
than those in config.yaml.</p>
{% endif %}
{% if data_note %}
<p class="data">{{ data_note|sentence }}.</p>
{% endif %}
<h3>Data</h3>
<ul class="small">
{% for sentence in sources %}
<li>{{ sentence }}</li>
{% endfor %}
</ul>
<div class="scroll" role="region" aria-label="Data sets of {{ part.name }}" tabindex="0">
<table class="plain">
<thead><tr><th scope="col">Data set</th><th scope="col">Rows</th><th scope="col" class="text">Labels</th>
<th scope="col" class="left">SHA-256 of the rows</th></tr></thead>
<tbody>
{% for name, set in part.census.data.items() %}
<tr><th scope="row">{{ name }}</th><td>{{ "{:,}".format(set.rows) }}</td>
<td class="text">{% for label, values in set.labels.items() %}{{ label }}: {{ histogram(values) }}
{% if not loop.last %}<br>{% endif %}
{% endfor %}</td>
<td class="left">{{ set.rows_sha256[:12] }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% for note, n in part.census.get("notes", {}).items() %}
<p class="small soft">{{ note|replace("_", " ")|capitalize }}: {{ "{:,}".format(n) }}.</p>
{% endfor %}
{% for exhibit in exhibits %}
{{ exhibit }}
{% endfor %}
</section>
""")


def paper(part: Part) -> Markup:
    """A paper: its sources and data sets, then its tables and figures in the registry's order."""
    note = render.data_note(part.sources)
    exhibits = [exhibit(part.name, x, note) for x in part.exhibits]
    text = _PAPER.render(
        part=part, data_note=note, sources=_sources(part.sources), exhibits=exhibits, histogram=_histogram
    )
    return Markup(text)


def _sources(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """One sentence a source and variant: how many bytes from where, under which licence, and its note."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for source in sources:
        groups[tuple(source[key] for key in ("source", "variant", "licence", "note"))].append(source)
    sentences = []
    for (name, variant, licence, note), files in groups.items():
        file = f"{name}/{files[0]['file']}" if len(files) == 1 else f"{name}, {len(files)} files"
        what = "as published" if variant == "release" else f"the variant “{variant}”"
        places = {"a mirror folder" if x["obtained_from"] == "mirror" else x["obtained_from"] for x in files}
        size = sum(x["bytes"] for x in files)
        place = places.pop() if len(places) == 1 else "several addresses"
        end = f" {note[0].upper()}{note[1:].rstrip('.')}." if note else ""
        sentences.append(f"{file}: {what}, {size:,} bytes from {place}; {licence}.{end}")
    return sentences


def _histogram(values: Mapping[str, int]) -> str:
    if len(values) > HISTOGRAM:
        return f"{len(values)} values"
    return ", ".join(f"{value} ({n:,})" for value, n in values.items())


_FILES = render.TEMPLATES.from_string("""\
<p class="files">
{% for kind, path in files.items() %}
<a href="{{ path }}">{{ kind }}</a>
{% endfor %}
</p>
""")


def exhibit(paper: str, shown: Exhibit, data_note: str) -> Markup:
    """A table or figure with its notes and links to its files; a figure's values and long tables fold."""
    rows = len({line.row for line in shown.lines})
    fold = "The values of this figure" if shown.svg else f"All {rows} rows" if rows >= FOLD else ""
    entry = shown.entry
    section = render.fragment(
        entry.title, entry.where, shown.lines, entry.notes, data_note,
        name=shown.name, svg=shown.svg, anchor=f"{paper}-{shown.name}", level=3, fold=fold,
    )  # fmt: skip
    return section + Markup(_FILES.render(files=shown.files))


_RUNS = render.TEMPLATES.from_string("""\
<section class="part" id="runs">
<h2>What ran, on what, how long</h2>
{% for libraries, names in versions %}
<p class="small">{{ names }}: {{ libraries|map("join", " ")|join(", ") }}.</p>
{% endfor %}
{% for paper, words, device, runs in papers %}
<h3>{{ paper }}</h3>
<p>{{ words }}</p>
<div class="scroll" role="region" aria-label="Runs of {{ paper }}" tabindex="0">
<table class="plain">
<thead><tr><th scope="col">Run</th><th scope="col" class="left">Condition</th><th scope="col">Seed</th>
<th scope="col" class="left">Model</th>
{% if not device %}
<th scope="col" class="left">Device</th>
{% endif %}
<th scope="col">Time</th><th scope="col">Peak memory</th></tr></thead>
<tbody>
{% for run in runs %}
<tr><th scope="row">{{ run.experiment }}, {{ run.model }}</th>
<td class="left">{{ run.condition }}{% if run.earlier %} <span class="soft">(earlier)</span>{% endif %}</td><td>{{ run.seed }}</td>
<td class="left">{{ run.given or run.weights }}</td>
{% if not device %}
<td class="left">{{ run.record.device }}</td>
{% endif %}
{% if run.given %}
<td>not known</td><td>not known</td></tr>
{% else %}
<td>{{ duration(run.record.seconds) }}</td>
<td>{{ "{:,}".format(run.record.peak_memory_mib) }} MiB</td></tr>
{% endif %}
{% endfor %}
</tbody>
</table>
</div>
{% endfor %}
</section>
""")


def what_ran(parts: Sequence[Part], runs: Sequence[RunRecord]) -> Markup:
    """Every run, by paper and task: its model, device, time and memory; what all runs share is said once."""
    groups: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        groups[_task(parts, run.paper)].append(run)
    papers = []
    for task, found in groups.items():
        devices = {run.record["device"] for run in found if not run.given}
        device = devices.pop() if len(devices) == 1 else ""
        papers.append((task, _extremes(found, device), device, found))
    return Markup(_RUNS.render(papers=papers, versions=versions(runs), duration=duration))


def _task(parts: Sequence[Part], name: str) -> str:
    """The name of a run's paper in words, with its task where the paper has more than one."""
    for part in parts:
        if name == part.name:
            return part.short
        if name.startswith(f"{part.name}_"):
            return f"{part.short}, {name.removeprefix(f'{part.name}_').replace('_', ' ')}"
    return name


def _extremes(runs: Sequence[RunRecord], device: str) -> str:
    """The longest and the largest run in words; no sum, since the runs of one job share its time."""
    where = f" on {device}" if device else ""
    earlier, given = sum(run.earlier for run in runs), sum(bool(run.given) for run in runs)
    parts = [f"{earlier} left by earlier runs"] * bool(earlier) + [f"{given} given"] * bool(given)
    left = f" ({', '.join(parts)})" if parts else ""
    ours = [run.record for run in runs if not run.given]
    if not ours:
        return f"{len(runs)} runs{left}."
    seconds, peak = (max(record[name] for record in ours) for name in ("seconds", "peak_memory_mib"))
    return f"{len(runs)} runs{left}{where}: the longest took {duration(seconds)}, the largest {peak:,} MiB."


def versions(runs: Sequence[RunRecord]) -> list[tuple[list[tuple[str, str]], str]]:
    """Group the library versions by the runs that had them: first those of all runs, then the rest."""
    holders: dict[tuple[str, str], list[str]] = defaultdict(list)
    for run in runs:
        for library in sorted(run.versions.items()):
            holders[library].append(run.name)
    groups: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
    for library, names in sorted(holders.items()):
        groups[tuple(names)].append(library)
    ranked = sorted(groups.items(), key=lambda group: (-len(group[0]), group[1]))
    return [
        (libraries, "All runs" if len(names) == len(runs) else _some(names)) for names, libraries in ranked
    ]


def _some(names: Sequence[str]) -> str:
    return "; ".join(names) if len(names) <= 3 else f"{len(names)} runs, among them {names[0]}"
