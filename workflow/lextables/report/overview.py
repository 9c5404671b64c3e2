"""The first page: every table of every paper at a glance, and what it was all made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from lextables.report import again, outcomes, papers
from lextables.report.layout import HOME, Page
from lextables.report.results import Part, RunRecord
from lextables.report.words import data_in_words, models_in_words, versions
from lextables.tables import render
from lextables.tables.render import duration

TEMPLATE = "overview.html.j2"
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven"}


def page(
    config: Mapping[str, Any], parts: Sequence[Part], runs: Sequence[RunRecord], made_by: str, date: str
) -> Page:
    """Return the first page."""
    blocks = []
    for part in parts:
        rows = [papers.row(part, exhibit) for exhibit in part.exhibits]
        counts = outcomes.add(row["counts"] for row in rows)
        blocks.append({"part": part, "rows": rows, "counts": counts, "words": outcomes.in_words(counts)})
    total = outcomes.add(block["counts"] for block in blocks)
    values = {
        "blocks": blocks,
        "total": total,
        "printed": sum(total.values()),
        "legend": [
            (name, outcomes.WORDS[name], n, outcomes.picture({name: 1})) for name, n in total.items() if n
        ],
        "facts": facts(config, parts, runs, made_by, date),
        "versions": versions(runs),
        "all": again.command(config),
        "papers": "one paper" if len(parts) == 1 else f"{NUMBERS.get(len(parts), len(parts))} papers",
        "key": render.KEY,
        "kinds": sorted({row["task"] for block in blocks for row in block["rows"] if row["task"]}),
    }
    return Page(HOME, "Printed and rebuilt", TEMPLATE, values, "overview")


def facts(
    config: Mapping[str, Any], parts: Sequence[Part], runs: Sequence[RunRecord], made_by: str, date: str
) -> list[tuple[str, str]]:
    """What it was all made of, as (name, words)."""
    ours = [run for run in runs if not run.given]
    devices = ", ".join(dict.fromkeys(run.record["device"] for run in ours))
    seeds = config.get("seeds", [])
    spent = sum(run.record["seconds"] for run in ours)
    return [
        ("Data", data_in_words(config["data"], [source for part in parts for source in part.sources])),
        ("Models", models_in_words(config, runs)),
        ("Grid", f"{config.get('grid', 'auto')}, seeds {', '.join(map(str, seeds))}" if seeds else ""),
        ("Runs", f"{len(runs)}, in at most {duration(spent)} together" if runs else "none"),
        ("Devices", devices),
        ("Made by", f"lextables {made_by}{f', of {date}' if date else ''}" if made_by else ""),
    ]
