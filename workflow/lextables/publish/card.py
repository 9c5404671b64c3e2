"""The data set card `README.md`; `datasets.load_dataset` and the hub find each table by its front matter.

The tables have different schemas, so each is a configuration.  Its only split is `full`: a table with splits
has a column for them, and a split with another name would hide test rows in it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lextables.papers.registry import Responsible
from lextables.pipeline.table_texts import SPLIT, description_of, type_name
from lextables.publish.export import Export, Format
from lextables.sources.licences import OTHER, licence_of, licences_of
from lextables.sources.registry import SAMPLE

# The task categories of the hub, by the task of a data set.
CATEGORIES = {
    "retrieval": ("text-retrieval",),
    "spans": ("question-answering",),
    "classification": ("text-classification",),
    "answers": ("question-answering", "text-classification"),
}
SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
)


def card(export: Export, formats: Mapping[str, Sequence[Format]]) -> str:
    """Return the card; ``formats`` are the other formats of each data set."""
    fields = export.responsible.model_dump(exclude_defaults=True)
    other = [source for source in export.sources if not source["comparable"]]
    return front_matter(export) + TEMPLATES.get_template("card.md.j2").render(
        export=export,
        formats=formats,
        split=SPLIT,
        other=other,
        warned=[source for source in other if source["variant"] != SAMPLE],
        responsible=[
            (
                field.title,
                [fields[key]] if isinstance(fields[key], str) else fields[key],
            )
            for key, field in Responsible.model_fields.items()
            if fields.get(key)
        ],
        funnel=[
            (number, data_set.name, step, left)
            for data_set in export.sets
            for number, (step, left) in enumerate(data_set.census.get("funnel", ()), 1)
        ],
        counted=[
            (data_set.name, note.replace("_", " "), f"{value:,}")
            if isinstance(value, int)
            else (data_set.name, note, value)
            for data_set in export.sets
            for note, value in data_set.census.get("notes", {}).items()
        ],
        bibtex=bibtex(export),
    )


def front_matter(export: Export) -> str:
    """Return the YAML at the top of the card, for the hub and `load_dataset`."""
    licences = licences_of(export.sources)
    ids = sorted({licence.hub for licence in licences})
    tasks = [
        category
        for data_set in export.sets
        if data_set.task
        for category in CATEGORIES[data_set.task["task"]]
    ]
    fields: dict[str, Any] = {
        "pretty_name": export.title,
        "language": ["en"],
        "license": ids if len(ids) > 1 else ids[0],
    }
    if any(licence.hub == OTHER for licence in licences):
        fields |= {"license_name": "see-licence", "license_link": "LICENSE.md"}
    fields |= {
        "task_categories": sorted(set(tasks)),
        "size_categories": [size(max(table.rows for table in export.tables))],
        "tags": ["legal", "croissant", *["sample"] * export.sample],
        "configs": [
            {
                "config_name": table.config,
                "data_files": [{"split": SPLIT, "path": table.file}],
            }
            for table in export.tables
            if table.rows  # `load_dataset` fails for a table without rows
        ],
    }
    fields = {key: value for key, value in fields.items() if value}
    return f"---\n{yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)}---\n\n"


def size(rows: int) -> str:
    """Return the hub's name of a number of rows."""
    return next((name for most, name in SIZES if rows < most), "10M<n<100M")


def description(export: Export) -> str:
    """Return a description in two sentences; that of a sample begins with a warning."""
    warning = (
        "A sample of our own writing, which says nothing about the paper. "
        if export.sample
        else ""
    )
    return (
        f"{warning}{export.title}. "
        f"The tables that lextables reads from what was published: {export.citation}"
    )


def cell(text: str) -> str:
    """Return a text for a cell of a Markdown table: on one line, with bars and tags escaped."""
    # Between backticks a tag is shown as it is.
    parts = text.replace("|", "\\|").replace("\n", " ").split("`")
    return "`".join(
        part if place % 2 else part.replace("<", "&lt;")
        for place, part in enumerate(parts)
    )


def _source_file(source: Mapping[str, Any]) -> str:
    return f"`{source['source']}/{source['file']}` ({source['variant']})"


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)
TEMPLATES.filters |= {
    "cell": cell,
    "count": "{:,}".format,
    "licence": licence_of,
    "description": description_of,
    "source_file": _source_file,
    "type_name": type_name,
}


# The files beside the card


def bibtex(export: Export) -> str:
    """Return the paper's BibTeX entry; by default one of its title and citation."""
    if export.publication.bibtex:
        return export.publication.bibtex.strip() + "\n"
    return f"@misc{{{export.name},\n  title = {{{export.title}}},\n  note = {{{export.citation}}},\n}}\n"


def licence_text(export: Export) -> str:
    """Return LICENSE.md: each source with its licence and authors, and what was changed."""
    files_of: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for source in export.sources:
        licence = licence_of(source)
        about = (source["title"], source["citation"], source["homepage"])
        if source["variant"] == SAMPLE:
            about = (
                f"Sample in the form of {source['title']}",
                "the lextables authors",
                "lextables itself",
            )
        files_of[licence.statement, licence.url, *about].append(
            f"{source['source']}/{source['file']}"
        )
    parts = [
        f"## {title}\n\n"
        f"- Licence: {f'[{statement}]({url})' if url else statement}\n"
        f"- Name: {authors}\n"
        f"- From: {homepage}\n"
        f"- Files: {', '.join(f'`{file}`' for file in files)}"
        for (statement, url, title, authors, homepage), files in sorted(
            files_of.items()
        )
    ]
    limits = [export.redistribution] if export.redistribution else []
    changed = (
        "What was changed: the files were read into tables of typed columns, whose descriptions in the "
        "card say what is as published and what is derived. Predictions are by the runs that the card lists."
    )
    return (
        "\n\n".join([f"# Licences of {export.title}", *limits, *parts, changed]) + "\n"
    )
