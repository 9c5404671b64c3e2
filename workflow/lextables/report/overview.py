"""The first page, with every table of every paper at a glance, and a page for each
paper.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from lextables.report import commands, tables, wording
from lextables.report.commands import Settings
from lextables.report.datasets import DataSet
from lextables.report.exhibits import Funnel, Section
from lextables.report.headlines import Finding
from lextables.report.layout import HOME, Facts, Link, Page
from lextables.report.results import Exhibit, Part, RunRecord, owner
from lextables.sources.provenance import SourceFiles, source_files
from lextables.tables import render
from lextables.tables.inputs import data_note
from lextables.tables.render import duration

TEMPLATE = "overview.html.j2"
PAPER_TEMPLATE = "paper.html.j2"


@dataclass(frozen=True)
class Tile:
    """A table in the list of a paper's tables, with the outcomes of its published
    cells.
    """

    label: str
    title: str
    path: str
    counts: wording.Counts
    words: str

    @property
    def has_values(self) -> bool:
        """Whether a published value of the table has a value here."""
        return any(n for name, n in self.counts.items() if name != "not run")


@dataclass(frozen=True)
class Block:
    """A paper on the first page: its tables, and the outcomes of its values by kind."""

    part: Part
    tiles: Sequence[Tile]
    counts: wording.KindCounts


@dataclass(frozen=True)
class FirstPage:
    """The content of the first page.

    ``findings`` have the path of their table's page.  ``runs`` and ``tables`` are
    numbers.  ``total`` are the outcomes of all published values by kind, and ``shown``
    the names of the outcomes that occur.  ``all`` is the command that reproduces
    everything, and ``key`` explains verdicts.
    """

    blocks: Sequence[Block]
    findings: Sequence[tuple[Finding, str]]
    runs: int
    tables: int
    total: wording.KindCounts
    shown: Sequence[str]
    facts: Facts
    all: str
    key: str


def first_page(
    config: Settings,
    parts: Sequence[Part],
    runs: Sequence[RunRecord],
    findings: Sequence[Finding],
    made_by: str,
    date: str,
) -> Page:
    """Return the first page."""
    blocks = []
    for part in parts:
        tiles = [tile(part, exhibit) for exhibit in part.exhibits]
        counts = wording.counts_by_kind(part.exhibits)
        blocks.append(Block(part, tiles, counts))
    total = wording.summed_by_kind(block.counts for block in blocks)
    occurring = wording.summed(total.values())
    findings_with_paths = []
    for finding in findings:
        path = tables.path(finding.part, finding.exhibit)
        findings_with_paths.append((finding, path))
    content = FirstPage(
        blocks=blocks,
        findings=findings_with_paths,
        runs=len(runs),
        tables=sum(len(block.tiles) for block in blocks),
        total=total,
        shown=[name for name, n in occurring.items() if n],
        facts=facts(config, parts, runs, made_by, date),
        all=commands.command(config),
        key=render.KEY,
    )
    return Page(HOME, "Published and reproduced values", TEMPLATE, content)


def facts(
    config: Settings,
    parts: Sequence[Part],
    runs: Sequence[RunRecord],
    made_by: str,
    date: str,
) -> Facts:
    """Data, models, settings and versions, as (name, text)."""
    computed = [run for run in runs if not run.submitted]
    devices = dict.fromkeys(run.record["device"] for run in computed)
    spent = sum(run.record["seconds"] for run in computed)
    seeds = ", ".join(map(str, config.get("seeds", [])))
    facts = [
        ("Data", wording.data_in_words(config["data"], parts)),
        ("Models", wording.models_in_words(config, runs)),
    ]
    if seeds:
        facts.append(("Grid", f"{config.get('grid', 'auto')}, seeds {seeds}"))
    facts += [
        ("Settings", ", ".join(commands.changed_keys(config)) or "the default"),
        ("Runs", f"{len(runs)}, in at most {duration(spent)} together"),
        ("Devices", ", ".join(devices)),
    ]
    if made_by:
        day = f", of {date}" if date else ""
        facts.append(("Made by", f"lextables {made_by}{day}"))
    return facts


@dataclass(frozen=True)
class RunGroup:
    """The runs on one data set, and their number as text."""

    dataset: str
    summary: str
    runs: Sequence[RunRecord]


@dataclass(frozen=True)
class PaperPage:
    """The content of a paper's page.

    ``sections`` have their id on the page, and whether they are a `Funnel`.
    ``command`` reproduces the paper.
    """

    part: Part
    data_note: str
    tiles: Sequence[Tile]
    sources: Sequence[SourceFiles]
    datasets: Sequence[DataSet]
    groups: Sequence[RunGroup]
    sections: Sequence[tuple[Section, str, bool]]
    command: str


def paper_path(part: Part) -> str:
    """The path of a paper's page."""
    return f"papers/{part.name}.html"


def paper_page(
    part: Part,
    datasets: Sequence[DataSet],
    runs: Sequence[RunRecord],
    sections: Sequence[Section],
    config: Settings,
) -> Page:
    """Return the page of one paper."""
    runs_of: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        if run.data_set in part.tasks:
            runs_of[run.data_set].append(run)
    groups = []
    for name, group in runs_of.items():
        groups.append(RunGroup(name, summary(group), group))
    shown_sections = []
    for section in sections:
        is_funnel = isinstance(section, Funnel)
        shown_sections.append((section, anchor(section), is_funnel))
    content = PaperPage(
        part=part,
        data_note=data_note(part.sources),
        tiles=[tile(part, exhibit) for exhibit in part.exhibits],
        sources=source_files(part.sources),
        datasets=[dataset for dataset in datasets if owner(dataset.name, [part])],
        groups=groups,
        sections=shown_sections,
        command=commands.command(config, part.name),
    )
    here = paper_path(part)
    trail = [Link(part.short, here)]
    return Page(here, part.title, PAPER_TEMPLATE, content, trail)


def tile(part: Part, exhibit: Exhibit) -> Tile:
    """Return the entry of a table in the list of a paper's tables."""
    return Tile(
        render.label(exhibit.name),
        exhibit.entry.title,
        tables.path(part, exhibit),
        wording.outcome_counts(exhibit.lines),
        wording.table_in_words(exhibit.lines),
    )


def anchor(section: Section) -> str:
    """The id of a section on its paper's page."""
    words = re.sub(r"[\W_]", " ", section.title.lower())
    return "-".join(words.split())


def summary(runs: Sequence[RunRecord]) -> str:
    """Return the number of runs as text, with the numbers of runs that earlier runs of
    the pipeline left and of submitted predictions.
    """
    earlier = 0
    submitted = 0
    for run in runs:
        earlier += run.earlier
        submitted += bool(run.submitted)
    parts = []
    if earlier:
        parts.append(f"{earlier} left by earlier runs")
    if submitted:
        parts.append(f"{submitted} submitted")
    text = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    if parts:
        text += f" ({', '.join(parts)})"
    return text
