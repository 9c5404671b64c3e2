"""A page a paper: its tables, its data sets, its runs, and what its room shows beside them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from lextables.report import again, outcomes, tables
from lextables.report.datasets import DataSet, owner
from lextables.report.exhibits import Funnel, Section
from lextables.report.layout import Found, Page
from lextables.report.results import Part, RunRecord
from lextables.report.runs import place
from lextables.report.words import sources_in_words
from lextables.tables import render
from lextables.tables.render import duration

TEMPLATE = "paper.html.j2"


def path(part: Part) -> str:
    """The place of a paper's page."""
    return f"papers/{part.name}.html"


def page(
    part: Part,
    datasets: Sequence[DataSet],
    runs: Sequence[RunRecord],
    sections: Sequence[Section],
    config: Mapping[str, Any],
) -> Page:
    """Return the page of one paper."""
    groups: dict[str, list[RunRecord]] = defaultdict(list)
    for run in runs:
        if run.paper in part.tasks:
            groups[run.paper].append(run)
    rows = [row(part, exhibit) for exhibit in part.exhibits]
    values = {
        "part": part,
        "data_note": render.data_note(part.sources),
        "tables": rows,
        "sources": sources_in_words(part.sources),
        "datasets": [dataset for dataset in datasets if owner(dataset.name, [part])],
        "runs": [(task, extremes(found), found) for task, found in groups.items()],
        "place": place,
        "anchor": anchor,
        "duration": duration,
        "sections": [(section, isinstance(section, Funnel)) for section in sections],
        "command": again.command(config, part.name),
    }
    found = [
        Found(f"{part.short}: {section.title}", "section", f"{path(part)}#{anchor(section)}")
        for section in sections
    ]
    return Page(path(part), part.title, TEMPLATE, values, "paper", [(part.short, path(part))], found)


def row(part: Part, exhibit: Any) -> dict[str, Any]:
    """What the list of a paper's tables says of one."""
    counts = outcomes.count(exhibit.lines)
    return {
        "label": render.label(exhibit.name),
        "title": exhibit.entry.title,
        "path": tables.path(part, exhibit),
        "picture": outcomes.picture(counts),
        "counts": counts,
        "words": outcomes.of_table(exhibit.lines),
        "task": part.tasks.get(exhibit.entry.of or "", ""),
    }


def anchor(section: Section) -> str:
    """The id of a section on its paper's page."""
    return "-".join("".join(c if c.isalnum() else " " for c in section.title.lower()).split())


def extremes(runs: Sequence[RunRecord]) -> str:
    """The longest and the largest run in words; no sum, since the runs of one job share its time."""
    earlier, given = sum(run.earlier for run in runs), sum(bool(run.given) for run in runs)
    parts = [f"{earlier} left by earlier runs"] * bool(earlier) + [f"{given} submitted"] * bool(given)
    left = f" ({', '.join(parts)})" if parts else ""
    many = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    ours = [run.record for run in runs if not run.given]
    if not ours:
        return f"{many}{left}."
    seconds, peak = (max(record[name] for record in ours) for name in ("seconds", "peak_memory_mib"))
    return f"{many}{left}: the longest took {duration(seconds)}, the largest {peak:,} MiB."
