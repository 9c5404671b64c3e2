"""The first page, with every table of every paper at a glance, and a page for each paper."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from lextables.report import commands, tables, wording
from lextables.report.datasets import DataSet, owner
from lextables.report.exhibits import Funnel, Section
from lextables.report.layout import HOME, Found, Page
from lextables.report.results import Part, RunRecord
from lextables.report.runs import place
from lextables.tables import render
from lextables.tables.render import duration

TEMPLATE, PAPER_TEMPLATE = "overview.html.j2", "paper.html.j2"
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}


def first_page(
    config: Mapping[str, Any],
    parts: Sequence[Part],
    runs: Sequence[RunRecord],
    made_by: str,
    date: str,
) -> Page:
    """Return the first page."""
    blocks = []
    for part in parts:
        rows = [row(part, exhibit) for exhibit in part.exhibits]
        counts = wording.summed(row["counts"] for row in rows)
        blocks.append(
            {
                "part": part,
                "rows": rows,
                "counts": counts,
                "words": wording.counts_in_words(counts),
            }
        )
    total = wording.summed(block["counts"] for block in blocks)
    values = {
        "blocks": blocks,
        "total": total,
        "printed": sum(total.values()),
        "legend": [
            (name, wording.OUTCOMES[name], n, wording.picture({name: 1}))
            for name, n in total.items()
            if n
        ],
        "facts": facts(config, parts, runs, made_by, date),
        "versions": wording.versions(runs),
        "all": commands.command(config),
        "papers": "one paper"
        if len(parts) == 1
        else f"{NUMBERS.get(len(parts), len(parts))} papers",
        "key": render.KEY,
        "kinds": sorted(
            {row["task"] for block in blocks for row in block["rows"] if row["task"]}
        ),
    }
    return Page(HOME, "Published and reproduced values", TEMPLATE, values, "overview")


def facts(
    config: Mapping[str, Any],
    parts: Sequence[Part],
    runs: Sequence[RunRecord],
    made_by: str,
    date: str,
) -> list[tuple[str, str]]:
    """Data, models, settings and versions, as (name, text)."""
    computed = [run for run in runs if not run.submitted]
    devices = ", ".join(dict.fromkeys(run.record["device"] for run in computed))
    seeds = config.get("seeds", [])
    spent = sum(run.record["seconds"] for run in computed)
    return [
        (
            "Data",
            wording.data_in_words(
                config["data"], [source for part in parts for source in part.sources]
            ),
        ),
        ("Models", wording.models_in_words(config, runs)),
        (
            "Grid",
            f"{config.get('grid', 'auto')}, seeds {', '.join(map(str, seeds))}"
            if seeds
            else "",
        ),
        ("Settings", ", ".join(commands.changed_keys(config)) or "the default"),
        (
            "Runs",
            f"{len(runs)}, in at most {duration(spent)} together" if runs else "none",
        ),
        ("Devices", devices),
        (
            "Made by",
            f"lextables {made_by}{f', of {date}' if date else ''}" if made_by else "",
        ),
    ]


def paper_path(part: Part) -> str:
    """The path of a paper's page."""
    return f"papers/{part.name}.html"


def paper_page(
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
        "sources": wording.sources_in_words(part.sources),
        "datasets": [dataset for dataset in datasets if owner(dataset.name, [part])],
        "runs": [(task, extremes(group), group) for task, group in groups.items()],
        "place": place,
        "anchor": anchor,
        "duration": duration,
        "sections": [(section, isinstance(section, Funnel)) for section in sections],
        "command": commands.command(config, part.name),
    }
    items = [
        Found(
            f"{part.short}: {section.title}",
            "section",
            f"{paper_path(part)}#{anchor(section)}",
        )
        for section in sections
    ]
    return Page(
        paper_path(part),
        part.title,
        PAPER_TEMPLATE,
        values,
        "paper",
        [(part.short, paper_path(part))],
        items,
    )


def row(part: Part, exhibit: Any) -> dict[str, Any]:
    """An entry of the list of a paper's tables."""
    counts = wording.outcome_counts(exhibit.lines)
    return {
        "label": render.label(exhibit.name),
        "title": exhibit.entry.title,
        "path": tables.path(part, exhibit),
        "picture": wording.picture(counts),
        "counts": counts,
        "words": wording.table_in_words(exhibit.lines),
        "task": part.tasks.get(exhibit.entry.of or "", ""),
    }


def anchor(section: Section) -> str:
    """The id of a section on its paper's page."""
    return "-".join(
        "".join(c if c.isalnum() else " " for c in section.title.lower()).split()
    )


def extremes(runs: Sequence[RunRecord]) -> str:
    """The longest and the largest run as text; no sum, because the runs of one job share its time."""
    earlier, submitted = (
        sum(run.earlier for run in runs),
        sum(bool(run.submitted) for run in runs),
    )
    parts = [f"{earlier} left by earlier runs"] * bool(earlier) + [
        f"{submitted} submitted"
    ] * bool(submitted)
    details = f" ({', '.join(parts)})" if parts else ""
    many = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
    records = [run.record for run in runs if not run.submitted]
    if not records:
        return f"{many}{details}."
    seconds, peak = (
        max(record[name] for record in records)
        for name in ("seconds", "peak_memory_mib")
    )
    return f"{many}{details}: the longest took {duration(seconds)}, the largest {peak:,} MiB."
