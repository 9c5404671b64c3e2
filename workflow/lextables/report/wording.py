"""Texts on sources, models, data and library versions that several pages share."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lextables.models.resolve import STANDS_IN
from lextables.publish.export import licence_of
from lextables.report.results import RunRecord
from lextables.sources.registry import SAMPLE

PANELS = {
    "sample": "the small panel that the environment holds",
    "available": "those that this machine has",
    "paper": "all that the papers ran",
}


def banner(config: Mapping[str, Any], runs: Iterable[RunRecord]) -> str:
    """Return the banner of the sample's pages; empty for results of released data."""
    if config["data"] != SAMPLE:
        return ""
    # The result of pretraining is no stand-in of another model.
    settings = [run.record["settings"] for run in runs if run.experiment != "pretrain"]
    names = sorted({each["model"] for each in settings if each.get("found") == STANDS_IN})
    models = f" Tiny models with random weights replace {' and '.join(names)}." if names else ""
    return (
        "Sample data, written for lextables: the numbers say nothing about any paper or model, and have no "
        f"verdict.{models}"
    )


def sources_in_words(sources: Iterable[Mapping[str, Any]]) -> list[str]:
    """One sentence per source and variant: bytes, origin, licence and note."""
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for source in sources:
        groups[tuple(source[key] for key in ("source", "variant", "licence", "note"))].append(source)
    sentences = []
    for (name, variant, licence, note), files in groups.items():
        file = f"{name}/{files[0]['file']}" if len(files) == 1 else f"{name}, {len(files)} files"
        what = "as published" if variant == "release" else f"the variant “{variant}”"
        folder = "resources/sample" if variant == SAMPLE else "a mirror folder"
        places = {folder if x["obtained_from"] == "mirror" else x["obtained_from"] for x in files}
        size = sum(x["bytes"] for x in files)
        place = places.pop() if len(places) == 1 else "several addresses"
        end = f" {note[0].upper()}{note[1:].rstrip('.')}." if note else ""
        licence = licence_of({"variant": variant, "licence": licence}).words
        sentences.append(f"{file}: {what}, {size:,} bytes from {place}; {licence}.{end}")
    return sentences


def data_in_words(choice: str, sources: Iterable[Mapping[str, Any]]) -> str:
    """Describe the data of the tables by the config's ``data`` and the variants of the sources."""
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


def models_in_words(config: Mapping[str, Any], runs: Iterable[RunRecord]) -> str:
    """Describe the models that were requested and those that ran."""
    # In the sample other weights may stand in for a model's own.
    stands_in = config["models"] == "sample"
    names = {run.weights if stands_in else run.record["settings"].get("model") for run in runs}
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
        (libraries, "All runs" if len(names) == len(runs) else _some(names)) for names, libraries in ranked
    ]


def _some(names: Sequence[str]) -> str:
    return "; ".join(names) if len(names) <= 3 else f"{len(names)} runs, among them {names[0]}"
