"""What tables show of `run.json`: the training of a run, and counts of language model requests."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lextables.tables.cells import Cell

# Counts in a record, as clauses.
COUNTS = {
    "requests": "{:,} requests",
    "quotes": "{:,} quotes",
    "unparseable": "{:,} unparseable",
    "unanswered": "{:,} without an answer",
    "ties": "{:,} ties",
    "disagreements": "{:,} on which the two orders disagree",
    "cut": "{:,} with a text cut to the window",
    "cut_answers": "{:,} answers cut short",
    "in_parts": "{:,} questions about a contract in parts",
    "not_asked": "{:,} questions not asked",
}


def record(root: Path, folder: str) -> dict[str, Any]:
    """Return the `run.json` of the run in ``folder`` below ``root``."""
    return json.loads((root / folder / "run.json").read_text(encoding="utf-8"))


def training(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record of the training of the (first) run whose weights a run read, or its own record."""
    trained = run.get("trained", run)
    return trained[0] if isinstance(trained, list) else trained


def with_counts(cells: Iterable[Cell], root: Path) -> Iterator[Cell]:
    """Yield the cells; the first cell of runs of a language model also gives their counts as a reason.

    ``root`` is the folder that the folders of runs lie in.
    """
    counts = cache(lambda folder: record(root, folder).get("asked"))
    done: set[tuple[str, ...]] = set()
    for cell in cells:
        if cell.runs in done or cell.value is None or not cell.runs or not all(map(counts, cell.runs)):
            yield cell
            continue
        done.add(cell.runs)
        clauses = dict.fromkeys(in_words(counts(folder)) for folder in cell.runs)
        yield replace(cell, reason="; ".join([*([cell.reason] if cell.reason else []), *clauses]))


def in_words(counts: Mapping[str, Any]) -> str:
    """Return the counts of a run's requests (`asked` in its record) as one clause."""
    clauses = [clause.format(counts[name]) for name, clause in COUNTS.items() if name in counts]
    if counts.get("first_listed") is not None:
        first, chance = counts["first_listed"], counts["first_listed_by_chance"]
        clauses.append(f"what is listed first won {100 * first:.1f} % (by chance {100 * chance:.1f} %)")
    if counts.get("outside") is not None:
        clauses.append(f"{100 * counts['outside']:.1f} % of the probability on no answer")
    return f"asked in {', '.join(clauses)}"
