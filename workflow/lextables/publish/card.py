"""The data-set card: README.md, whose head lets `datasets.load_dataset` and the hub find each table.

A bundle holds tables of several schemas, so each has a configuration of its own.  Their one split is called
`full`: where a table has splits, a column says so, and a split by another name would hide test rows in it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import yaml

from lextables.publish.export import OTHER, Bundle, Form, PublishedTable, licence_of, licences_of, said
from lextables.sources.registry import SAMPLE

SPLIT = "full"
# The task categories of the hub that a task's data set serves.
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


def card(bundle: Bundle, forms: Mapping[str, Sequence[Form]]) -> str:
    """Return the card of a bundle; ``forms`` are those of each data set beside its tables."""
    parts = [
        f"# {bundle.title}",
        *_warnings(bundle),
        _opening(bundle),
        _tables(bundle),
        _forms(bundle, forms),
        _runs(bundle),
        _provenance(bundle),
        _comparable(bundle),
        _responsible(bundle),
        _funnel(bundle),
        _counted(bundle),
        _made(bundle),
        _citation(bundle),
        _licence(bundle),
    ]
    return head(bundle) + "\n\n".join(filter(None, parts)) + "\n"


def head(bundle: Bundle) -> str:
    """The YAML at the head of the card, as the hub and `load_dataset` read it."""
    ids = [licence.hub for licence in licences_of(bundle.sources)]
    others = [licence.words for licence in licences_of(bundle.sources) if licence.hub == OTHER]
    tasks = [category for one in bundle.sets if one.task for category in CATEGORIES[one.task["task"]]]
    told: dict[str, Any] = {
        "pretty_name": bundle.title,
        "language": ["en"],
        "license": sorted(set(ids)) if len(set(ids)) > 1 else ids[0],
    }
    if others:
        told |= {"license_name": "see-licence", "license_link": "LICENSE.md"}
    told |= {
        "task_categories": sorted(set(tasks)),
        "size_categories": [size(max(table.rows for table in bundle.tables))],
        "tags": ["legal", "croissant", *["sample"] * bundle.sample],
        "configs": [
            {"config_name": table.config, "data_files": [{"split": SPLIT, "path": table.file}]}
            for table in bundle.tables
            if table.rows  # of a table without rows `load_dataset` makes no data set
        ],
    }
    told = {key: value for key, value in told.items() if value}
    return f"---\n{yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=100)}---\n\n"


def size(rows: int) -> str:
    """The hub's name for how many rows there are."""
    return next((name for most, name in SIZES if rows < most), "10M<n<100M")


def description(bundle: Bundle) -> str:
    """What the bundle is, in two sentences; the first says where it is a sample."""
    loud = "A sample of our own writing, which says nothing about the paper. " if bundle.sample else ""
    return f"{loud}{bundle.title}. The tables that lextables reads from what was published: {bundle.citation}"


# Sections


def _warnings(bundle: Bundle) -> list[str]:
    found = []
    if bundle.sample:
        found.append(
            "> **This is a sample.** Its texts and numbers are of our own writing, in the form of the "
            "release. They show what a bundle holds and say nothing about the paper or its data."
        )
    apart = [x for x in bundle.sources if not x["comparable"] and x["variant"] != SAMPLE]
    if apart:
        found.append(
            f"> **Not the paper's data.** No number may be compared that comes of {_files(apart)}: see "
            "[Provenance](#provenance)."
        )
    if bundle.redistribution:
        found.append(f"> **Before you hand it on.** {bundle.redistribution}")
    return found


def _opening(bundle: Bundle) -> str:
    first = bundle.tables[0].config
    return f"""{bundle.citation}

The tables below hold what lextables reads from the sources under [Provenance](#provenance), or builds from
them; each column says what is in it.

```python
from datasets import load_dataset

{first} = load_dataset("<this folder>", "{first}", split="{SPLIT}")
```

There is no split to train on by its name: where rows have one, it stands in their column `split`."""


def _tables(bundle: Bundle) -> str:
    return "\n\n".join(["## Tables", *map(_table, bundle.tables)])


def _table(table: PublishedTable) -> str:
    rows = [
        f"| `{field.name}` | {type_words(field)} | {cell(said(field.metadata))} |" for field in table.schema
    ]
    key = ", ".join(f"`{name}`" for name in table.key if name)
    return "\n".join(
        [
            f"### {table.config}",
            "",
            f"{cell(table.description)} {table.rows:,} rows{f'; a row is known by {key}' if key else ''}. "
            f"`{table.file}`",
            "",
            "| column | type | what it holds |",
            "|---|---|---|",
            *rows,
        ]
    )


def type_words(field: pa.Field) -> str:
    """The type of a column in words."""
    several = pa.types.is_list(field.type)
    kind = field.type.value_type if several else field.type
    name = f"struct({', '.join(part.name for part in kind)})" if pa.types.is_struct(kind) else str(kind)
    return f"{'list of ' * several}{name}{', or null' * field.nullable}"


def cell(text: str) -> str:
    """A text as a cell of a table in Markdown has it: on one line, with no column and no tag of its own."""
    # Between backticks a tag is shown as it stands.
    parts = text.replace("|", "\\|").replace("\n", " ").split("`")
    return "`".join(part if place % 2 else part.replace("<", "&lt;") for place, part in enumerate(parts))


def _forms(bundle: Bundle, forms: Mapping[str, Sequence[Form]]) -> str:
    lines = [
        f"- `{one.folder}{'/' if one.folder else ''}{form.files}`: {form.words}"
        for one in bundle.sets
        for form in forms.get(one.name, ())
    ]
    return "\n".join(["## Other forms", "", *lines]) if lines else ""


def _runs(bundle: Bundle) -> str:
    if not bundle.runs:
        return ""
    lines = [
        f"| {one.name} | `{run.name}` | {cell('; '.join(run.rows))} |"
        for one in bundle.sets
        for run in one.runs
    ]
    return "\n".join(
        [
            "## Runs",
            "",
            "Predictions of the runs that fill rows of the rebuilt tables, and in `scores/<run>.parquet` "
            "what each scores: metric, group, value, n. What a user gave as predictions of their own is "
            "left out.",
            "",
            "| data set | run | row of a table |",
            "|---|---|---|",
            *lines,
        ]
    )


def _provenance(bundle: Bundle) -> str:
    lines = [
        f"| `{x['source']}/{x['file']}` | {x['variant']} | {x['bytes']:,} | {x['digest'] or 'of each file'} "
        f"| {cell(licence_of(x).words)} | {cell(x['note'])} |"
        for x in bundle.sources
    ]
    return "\n".join(
        [
            "## Provenance",
            "",
            "| source file | variant | bytes | digest | licence | note |",
            "|---|---|---:|---|---|---|",
            *lines,
        ]
    )


def _comparable(bundle: Bundle) -> str:
    apart = [x for x in bundle.sources if not x["comparable"]]
    if not apart:
        text = "All sources are the paper's: numbers from these tables may be set beside the printed ones."
    elif len(apart) == len(bundle.sources):
        text = "No source is the paper's: no number from these tables may be set beside a printed one."
    else:
        text = (
            f"Not the paper's are {_files(apart)}: what is counted or scored from them answers no printed "
            "number."
        )
    return f"## What may be compared\n\n{text}"


def _files(sources: Iterable[Mapping[str, Any]]) -> str:
    """Files of sources, each with its variant."""
    return ", ".join(f"`{x['source']}/{x['file']}` ({x['variant']})" for x in sources)


_RESPONSIBLE = {
    "data_collection": "Collection",
    "data_collection_type": "Kind of collection",
    "data_collection_missing_data": "What is missing",
    "data_collection_raw_data": "Raw data",
    "data_preprocessing_protocol": "Preparation",
    "data_annotation_protocol": "Annotation",
    "data_annotation_platform": "Tools of annotation",
    "data_annotation_analysis": "Agreement and disputes",
    "annotations_per_item": "Annotations an item",
    "annotator_demographics": "Who annotated",
    "machine_annotation_tools": "Machine annotation",
    "data_biases": "Biases",
    "data_use_cases": "What it is for",
    "data_limitations": "Limits",
    "data_social_impact": "Social impact",
    "personal_sensitive_information": "Personal information",
    "data_release_maintenance_plan": "Upkeep",
}


def _responsible(bundle: Bundle) -> str:
    told = bundle.responsible.model_dump(exclude_defaults=True)
    lines = [
        f"- **{title}.** {_sentences(value)}"
        for key, title in _RESPONSIBLE.items()
        if (value := told.get(key))
    ]
    of_which = ["This is said of the paper's own data, and not of the sample:", ""] * bundle.sample
    heading = "## How the data came to be, as the paper says"
    return "\n".join([heading, "", *of_which, *lines]) if lines else ""


def _sentences(value: str | Sequence[str]) -> str:
    return " ".join(f"{one.rstrip('.')}." for one in ([value] if isinstance(value, str) else value))


def _funnel(bundle: Bundle) -> str:
    """How many were left after each step, of data sets that are made and not read."""
    lines = [
        f"{number}. `{one.name}`, {step}: {left:,}"
        for one in bundle.sets
        for number, (step, left) in enumerate(one.census.get("funnel", ()), 1)
    ]
    return "\n".join(["## What was left after each step", "", *lines]) if lines else ""


def _counted(bundle: Bundle) -> str:
    """The notes of the data sets' census: what is unlike what one would expect."""
    lines = [
        f"- `{one.name}`, {note.replace('_', ' ')}: {count:,}"
        if isinstance(count, int)
        else f"- `{one.name}`, {note}: {count}"
        for one in bundle.sets
        for note, count in one.census.get("notes", {}).items()
    ]
    return "\n".join(["## Quirks that were counted", "", *lines]) if lines else ""


def _made(bundle: Bundle) -> str:
    return f"""## How it was made

By lextables {bundle.made_by}:

    {bundle.command}

`croissant.json` describes the same tables for other tools."""


def _citation(bundle: Bundle) -> str:
    return f"## Citation\n\n{bundle.citation}\n\n```bibtex\n{bibtex(bundle)}```"


def _licence(bundle: Bundle) -> str:
    return "## Licence\n\n[LICENSE.md](LICENSE.md) says for each source what it allows and what was changed."


# The files beside the card


def bibtex(bundle: Bundle) -> str:
    """The paper's entry; of a paper whose file has none, its title and citation."""
    if bundle.publication.bibtex:
        return bundle.publication.bibtex.strip() + "\n"
    return f"@misc{{{bundle.name},\n  title = {{{bundle.title}}},\n  note = {{{bundle.citation}}},\n}}\n"


def licence_text(bundle: Bundle) -> str:
    """LICENSE.md: each source with its licence, whom to name, and what was changed."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for x in bundle.sources:
        licence = licence_of(x)
        about = (x["title"], x["citation"], x["homepage"])
        if x["variant"] == SAMPLE:
            about = (f"Sample in the form of {x['title']}", "the lextables authors", "lextables itself")
        found[licence.words, licence.url, *about].append(f"{x['source']}/{x['file']}")
    parts = [
        f"## {title}\n\n"
        f"- Licence: {f'[{words}]({url})' if url else words}\n"
        f"- Name: {whom}\n"
        f"- From: {homepage}\n"
        f"- Files: {', '.join(f'`{file}`' for file in files)}"
        for (words, url, title, whom, homepage), files in sorted(found.items())
    ]
    limits = [bundle.redistribution] if bundle.redistribution else []
    changed = (
        "What was changed: the files were read into tables of typed columns, whose descriptions in the "
        "card say what is as published and what is made of it. Predictions are by the runs that the card "
        "lists."
    )
    return "\n\n".join([f"# Licences of {bundle.title}", *limits, *parts, changed]) + "\n"
