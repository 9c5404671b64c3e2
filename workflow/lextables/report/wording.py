"""Texts that several pages share: sources, models, data, versions, and outcomes of published cells."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from lextables.models.resolve import STANDS_IN
from lextables.report.results import RunRecord
from lextables.sources.licences import licence_of
from lextables.sources.registry import SAMPLE
from lextables.tables.cells import Line

PANELS = {
    "sample": "the small models of the environment",
    "available": "the models available on this machine",
    "paper": "all models of the papers",
}


def banner(config: Mapping[str, Any], runs: Iterable[RunRecord]) -> str:
    """Return the banner of the sample's pages; empty for results of released data."""
    if config["data"] != SAMPLE:
        return ""
    # The result of pretraining is no stand-in of another model.
    settings = [run.record["settings"] for run in runs if run.experiment != "pretrain"]
    names = sorted(
        {each["model"] for each in settings if each.get("found") == STANDS_IN}
    )
    models = (
        f" Tiny models with random weights replace {' and '.join(names)}."
        if names
        else ""
    )
    return (
        "Sample data, written for lextables: the numbers say nothing about any paper or model, and have no "
        f"verdict.{models}"
    )


def sources_in_words(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """One sentence per source and variant: bytes, origin, licence and note."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for source in sources:
        groups[
            tuple(source[key] for key in ("source", "variant", "licence", "note"))
        ].append(source)
    sentences = []
    for (name, variant, licence, note), files in groups.items():
        file = (
            f"{name}/{files[0]['file']}"
            if len(files) == 1
            else f"{name}, {len(files)} files"
        )
        what = "as published" if variant == "release" else f"the variant “{variant}”"
        folder = "resources/sample" if variant == SAMPLE else "a mirror folder"
        places = {
            folder if x["obtained_from"] == "mirror" else x["obtained_from"]
            for x in files
        }
        size = sum(x["bytes"] for x in files)
        place = places.pop() if len(places) == 1 else "several addresses"
        end = f" {note[0].upper()}{note[1:].rstrip('.')}." if note else ""
        licence = licence_of({"variant": variant, "licence": licence}).statement
        sentences.append(
            f"{file}: {what}, {size:,} bytes from {place}; {licence}.{end}"
        )
    return sentences


def data_in_words(choice: str, sources: Iterable[Mapping[str, Any]]) -> str:
    """Describe the data of the tables by the config's ``data`` and the variants of the sources."""
    if choice == "sample":
        return "the sample written for this project; its values say nothing about any paper"
    variants: dict[str, dict[str, None]] = defaultdict(dict)
    for source in sources:
        variants[source["variant"]][source["source"]] = None
    descriptions = [
        f"{', '.join(names)} as {'published' if variant == 'release' else f'the variant “{variant}”'}"
        for variant, names in variants.items()
    ]
    return f"the release ({'; '.join(descriptions)})"


def models_in_words(config: Mapping[str, Any], runs: Iterable[RunRecord]) -> str:
    """Describe the models that were requested and those that ran."""
    # In the sample other weights may stand in for a model's own.
    stands_in = config["models"] == "sample"
    names = {
        run.weights if stands_in else run.record["settings"].get("model")
        for run in runs
    }
    return f"{PANELS[config['models']]}: {', '.join(sorted(filter(None, names))) or 'none was run'}"


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
        (libraries, "All runs" if len(names) == len(runs) else _some(names))
        for names, libraries in ranked
    ]


def _some(names: Sequence[str]) -> str:
    return (
        "; ".join(names)
        if len(names) <= 3
        else f"{len(names)} runs, among them {names[0]}"
    )


# Outcomes of published cells

# In the order of the picture.  Values without a verdict are `unjudged` if the data are the paper's, and
# `elsewhere` if they are not.
OUTCOMES = {
    "match": "match",
    "near": "near",
    "off": "off",
    "unjudged": "without a verdict",
    "elsewhere": "with a value from other data",
    "not run": "not run",
}
ACROSS, STEP = 24, 8  # marks in a line, and units from one to the next
# Outcomes differ in shape as well as colour; each is drawn in a square of six units.
SHAPES = {
    "match": "M{x} {y}h6v6h-6z",
    "near": "M{mx} {y}l3 3-3 3-3-3z",
    "off": "M{x} {y}l6 6m0-6l-6 6",
    "unjudged": "M{x} {y}h6v6h-6z",
    "elsewhere": "M{mx} {my}h0",
    "not run": "M{mx} {my}h0",
}

Counts = Mapping[str, int]


def outcome(line: Line) -> str:
    """The outcome of a published cell, one of `OUTCOMES`."""
    return line.verdict or ("elsewhere" if line.ours else "unjudged")


def outcome_counts(lines: Iterable[Line]) -> Counts:
    """Count published cells by outcome, in the order of `OUTCOMES`."""
    counts = Counter(outcome(line) for line in lines if line.published)
    return {name: counts[name] for name in OUTCOMES}


def summed(counts: Iterable[Counts]) -> Counts:
    """Add counts of several tables."""
    total = Counter()
    for each in counts:
        total.update(each)
    return {name: total[name] for name in OUTCOMES}


def counts_in_words(counts: Counts) -> str:
    """Return counts as a clause: ``3 match, 2 not run``."""
    clauses = [f"{n:,} {OUTCOMES[name]}" for name, n in counts.items() if n]
    return ", ".join(clauses) or "no published value to compare"


def table_in_words(lines: Iterable[Line]) -> str:
    """Return the outcome of a table as text; without published values, the number of its values."""
    lines = list(lines)
    if any(line.published for line in lines):
        return counts_in_words(outcome_counts(lines))
    n = sum(bool(line.reproduced or line.ours) for line in lines)
    return f"{n:,} value{'' if n == 1 else 's'} in additional rows, none published"


def picture(counts: Counts) -> Markup:
    """Draw one mark for each published cell, by outcome; empty without any."""
    marks = [name for name, n in counts.items() for _ in range(n)]
    if not marks:
        return Markup()
    paths: dict[str, list[str]] = {}
    for at, name in enumerate(marks):
        x, y = at % ACROSS * STEP + 1, at // ACROSS * STEP + 1
        paths.setdefault(name, []).append(
            SHAPES[name].format(x=x, y=y, mx=x + 3, my=y + 3)
        )
    width, height = min(len(marks), ACROSS) * STEP, -(-len(marks) // ACROSS) * STEP
    drawn = Markup().join(
        Markup('<path class="{}" d="{}"/>').format(
            name.replace(" ", "-"), "".join(of_name)
        )
        for name, of_name in paths.items()
    )
    size = Markup('viewBox="0 0 {w} {h}" style="--w:{w}"').format(w=width, h=height)
    return Markup('<svg class="marks" {} aria-hidden="true">{}</svg>').format(
        size, drawn
    )
