"""The data set card of an export: its `README.md`.

`datasets.load_dataset` and the model hub find each table by the card's front matter.
The tables have different schemas, so each is a configuration.  Its only split is
`full`: a table with splits has a column for them, and a split with another name would
hide test rows in it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lextables.pipeline.table_texts import SPLIT, description_of, type_name
from lextables.publish.export import Export, Format, Record
from lextables.registry.paper import Responsible
from lextables.sources.entries import SAMPLE
from lextables.sources.licences import OTHER, licence_of, licences_of
from lextables.sources.provenance import source_files

# The task categories of the hub, by the task of a data set.
CATEGORIES = {
    "retrieval": ("text-retrieval",),
    "spans": ("question-answering",),
    "classification": ("text-classification",),
    "answers": ("question-answering", "text-classification"),
}


def card(export: Export, formats: Mapping[str, Sequence[Format]]) -> str:
    """Return the card; ``formats`` are the other formats of each data set."""
    not_comparable = [each for each in export.sources if not each["comparable"]]
    # The card of a sample begins with a warning of its own.
    warned = [each for each in not_comparable if each["variant"] != SAMPLE]
    statements = []  # (title, its sentences) of the statements that the entry has
    for name, value in export.responsible.model_dump(exclude_defaults=True).items():
        title = Responsible.model_fields[name].title
        statements.append((title, [value] if isinstance(value, str) else value))
    text = TEMPLATES.get_template("card.md.j2").render(
        export=export,
        formats=formats,
        split=SPLIT,
        files=source_files(export.sources),
        not_comparable=source_files(not_comparable),
        warned=source_files(warned),
        statements=statements,
        bibtex=bibtex(export),
    )
    return front_matter(export) + text


def front_matter(export: Export) -> str:
    """Return the YAML at the top of the card, for the hub and `load_dataset`."""
    ids = sorted({licence.hub for licence in licences_of(export.sources)})
    fields: dict[str, Any] = {
        "pretty_name": export.title,
        "language": ["en"],
        "license": ids if len(ids) > 1 else ids[0],
    }
    if OTHER in ids:
        fields["license_name"] = "see-licence"
        fields["license_link"] = "LICENSE.md"
    fields["task_categories"] = categories(export)
    fields["tags"] = ["legal", "croissant"]
    if export.sample:
        fields["tags"].append("sample")
    fields["configs"] = []
    for table in export.tables:
        if table.rows:  # `load_dataset` fails for a table without rows
            files = [{"split": SPLIT, "path": table.file}]
            config = {"config_name": table.config, "data_files": files}
            fields["configs"].append(config)
    fields = {name: value for name, value in fields.items() if value}
    text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)
    return f"---\n{text}---\n\n"


def categories(export: Export) -> list[str]:
    """Return the task categories of the hub, sorted."""
    names: set[str] = set()
    for data_set in export.sets:
        if data_set.task:
            names.update(CATEGORIES[data_set.task["task"]])
    return sorted(names)


def description(export: Export) -> str:
    """Return a description in two sentences; that of a sample begins with a warning."""
    text = (
        f"{export.title}. The tables that lextables reads from what was published: "
        f"{export.citation}"
    )
    if export.sample:
        return (
            "A sample of our own writing, which says nothing about the paper. " + text
        )
    return text


def cell(text: str) -> str:
    """Return a text for a cell of a Markdown table: on one line, with bars and tags
    escaped.
    """
    text = text.replace("|", "\\|").replace("\n", " ")
    parts = []
    # Parts with odd numbers are between backticks, where tags need no escape.
    for place, part in enumerate(text.split("`")):
        parts.append(part if place % 2 else part.replace("<", "&lt;"))
    return "`".join(parts)


TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,
)
TEMPLATES.filters.update(
    cell=cell, count="{:,}".format, description=description_of, type_name=type_name
)


# The files beside the card


def bibtex(export: Export) -> str:
    """Return the paper's BibTeX entry; by default one of its title and citation."""
    if export.publication.bibtex:
        return export.publication.bibtex.strip() + "\n"
    fields = f"  title = {{{export.title}}},\n  note = {{{export.citation}}},\n"
    return f"@misc{{{export.name},\n{fields}}}\n"


def licence_text(export: Export) -> str:
    """Return LICENSE.md: each source with its licence and authors, and what was
    changed.
    """
    files_of: dict[str, list[str]] = defaultdict(list)
    for source in export.sources:
        files_of[_attribution(source)].append(f"`{source['source']}/{source['file']}`")
    parts = [f"# Licences of {export.title}"]
    if export.redistribution:
        parts.append(export.redistribution)
    for attribution, files in sorted(files_of.items()):
        parts.append(f"{attribution}\n- Files: {', '.join(files)}")
    parts.append(
        "What was changed: the files were read into tables of typed columns, whose descriptions in the "
        "card say what is as published and what is derived. Predictions are by the runs that the card lists."
    )
    return "\n\n".join(parts) + "\n"


def _attribution(source: Record) -> str:
    """The title, licence and authors of a source as Markdown."""
    title = source["title"]
    authors = source["citation"]
    homepage = source["homepage"]
    if source["variant"] == SAMPLE:
        title = f"Sample in the form of {title}"
        authors = "the lextables authors"
        homepage = "lextables itself"
    licence = licence_of(source)
    statement = licence.statement
    if licence.url:
        statement = f"[{statement}]({licence.url})"
    return (
        f"## {title}\n\n- Licence: {statement}\n- Name: {authors}\n- From: {homepage}"
    )
