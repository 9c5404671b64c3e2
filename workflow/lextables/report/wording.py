"""Texts that several pages share: the sample's banner, data, models, and outcomes of
published cells.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from lextables.models.resolve import STANDS_IN
from lextables.report.commands import Settings
from lextables.report.results import Exhibit, Part, RunRecord
from lextables.sources.entries import SAMPLE
from lextables.tables.cells import Line, Place
from lextables.tables.published import KINDS, Kind

# {value of the config's ``models``: the models of a run}
PANELS = {
    "sample": "the small models of the environment",
    "available": "the models available on this machine",
    "paper": "all models of the papers",
}


def banner(config: Settings, runs: Iterable[RunRecord]) -> str:
    """Return the banner of the sample's pages; empty for results of released data."""
    if config["data"] != SAMPLE:
        return ""
    # The model that a pretraining run makes replaces no model of a paper.
    settings = [run.record["settings"] for run in runs if run.experiment != "pretrain"]
    names = {each["model"] for each in settings if each.get("found") == STANDS_IN}
    text = (
        "Sample data, written for lextables: the numbers say nothing about any paper "
        "or model, and have no verdict."
    )
    if names:
        replaced = " and ".join(sorted(names))
        text += f" Tiny models with random weights replace {replaced}."
    return text


def data_in_words(choice: str, parts: Iterable[Part]) -> str:
    """Describe the data of the papers by the config's ``data`` and the variants of
    their sources.
    """
    if choice == SAMPLE:
        return "the sample written for this project; its values say nothing about any paper"
    names_of: dict[str, list[str]] = defaultdict(list)
    for part in parts:
        for source in part.sources:
            names_of[source["variant"]].append(source["source"])
    descriptions = []
    for variant, names in names_of.items():
        what = "published" if variant == "release" else f"the variant “{variant}”"
        sources = ", ".join(dict.fromkeys(names))
        descriptions.append(f"{sources} as {what}")
    return f"the release ({'; '.join(descriptions)})"


def models_in_words(config: Settings, runs: Iterable[RunRecord]) -> str:
    """Describe the models that were requested and those that ran."""
    names = set()
    for run in runs:
        # In the sample other weights may stand in for a model's own.
        name = run.record["settings"].get("model")
        if config["models"] == "sample":
            name = run.weights
        if name:
            names.add(name)
    ran = ", ".join(sorted(names)) or "none was run"
    return f"{PANELS[config['models']]}: {ran}"


# Outcomes of published cells

# {outcome: its text}, in the order of the bars on pages.  Values without a verdict are
# `unjudged` if the data are the paper's, and `elsewhere` if they are not.
OUTCOMES = {
    "match": "match",
    "near": "near",
    "off": "off",
    "unjudged": "without a verdict",
    "elsewhere": "with a value from other data",
    "not run": "not run",
}
Counts = Mapping[str, int]
KindCounts = Mapping[Kind, Counts]
PLURALS: Mapping[Kind, str] = {
    "score": "scores",
    "statistic": "statistics",
    "text": "texts",
}


def outcome(line: Line) -> str:
    """The outcome of a published cell, one of `OUTCOMES`."""
    if line.verdict:
        return line.verdict
    return "elsewhere" if line.ours else "unjudged"


def outcome_counts(lines: Iterable[Line]) -> Counts:
    """Count published cells by outcome, in the order of `OUTCOMES`."""
    counts = Counter(outcome(line) for line in lines if line.published)
    return {name: counts[name] for name in OUTCOMES}


def counts_of(lines: Iterable[Line], first_kinds: Mapping[Place, Kind]) -> KindCounts:
    """Count the published values of a table by kind and outcome.

    ``first_kinds`` are the kinds of values that repeat no other.  A repeated value
    counts only where it is published first.
    """
    counts: dict[Kind, Counter[str]] = {kind: Counter() for kind in KINDS}
    for line in lines:
        kind = first_kinds.get((line.row, line.column))
        if line.published and kind:
            counts[kind][outcome(line)] += 1
    in_order: dict[Kind, Counts] = {}
    for kind, outcomes in counts.items():
        if outcomes:
            in_order[kind] = {name: outcomes[name] for name in OUTCOMES}
    return in_order


def counts_by_kind(exhibits: Iterable[Exhibit]) -> KindCounts:
    """Count the published values of several tables by kind and outcome, as `counts_of`
    does.
    """
    return summed_by_kind(counts_of(each.lines, each.first_kinds) for each in exhibits)


def summed_by_kind(counts: Iterable[KindCounts]) -> KindCounts:
    """Add counts of several tables or papers, separately for each kind."""
    several: dict[Kind, list[Counts]] = {kind: [] for kind in KINDS}
    for by_kind in counts:
        for kind, outcomes in by_kind.items():
            several[kind].append(outcomes)
    return {kind: summed(outcomes) for kind, outcomes in several.items() if outcomes}


def kinds_in_words(counts: KindCounts) -> str:
    """Return counts by kind as text: ``Scores: 5 match, 2 not run. Texts: 6 match.``"""
    sentences = []
    for kind, outcomes in counts.items():
        sentences.append(f"{PLURALS[kind].capitalize()}: {counts_in_words(outcomes)}.")
    return " ".join(sentences) or "No published value to compare."


def summed(counts: Iterable[Counts]) -> Counts:
    """Add counts of several tables."""
    total = Counter(dict.fromkeys(OUTCOMES, 0))
    for each in counts:
        total.update(each)
    return total


def counts_in_words(counts: Counts) -> str:
    """Return counts as a clause: ``3 match, 2 not run``."""
    clauses = [f"{n:,} {OUTCOMES[name]}" for name, n in counts.items() if n]
    return ", ".join(clauses) or "no published value to compare"


def table_in_words(lines: Iterable[Line]) -> str:
    """Return the outcomes of the published values of a table as text, and the number
    of its other values.
    """
    lines = list(lines)
    number = 0
    for line in lines:
        number += bool(not line.published and (line.reproduced or line.ours))
    what = "1 value" if number == 1 else f"{number:,} values"
    if not any(line.published for line in lines):
        return f"{what} in additional rows, none published"
    outcomes = counts_in_words(outcome_counts(lines))
    return f"{outcomes}; {what} in additional rows" if number else outcomes
