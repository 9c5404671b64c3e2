"""What was counted as a language model was asked, said with the scores of its row, whatever the task."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from lextables.tables.cells import Cell
from lextables.tables.cost import record

# What a run's record counts, in words; where it is not counted it is not said.
COUNTS = {
    "requests": "{:,} requests",
    "quotes": "{:,} quotes",
    "unparseable": "{:,} unparseable",
    "unanswered": "{:,} without an answer",
    "ties": "{:,} ties",
    "disagreements": "{:,} on which the two orders disagree",
    "cut": "{:,} with a text cut to the window",
    "cut_answers": "{:,} answers cut short",
}


def with_counts(cells: Iterable[Cell], root: Path) -> Iterator[Cell]:
    """Yield the cells; of those that a language model's answers make, the first says what was counted.

    ``root`` is the folder that the folders of runs lie in.
    """
    counted = cache(lambda folder: record(root, folder).get("asked"))
    told: set[tuple[str, ...]] = set()
    for cell in cells:
        if cell.runs in told or cell.value is None or not cell.runs or not all(map(counted, cell.runs)):
            yield cell
            continue
        told.add(cell.runs)
        words = dict.fromkeys(in_words(counted(folder)) for folder in cell.runs)
        yield replace(cell, reason="; ".join([*([cell.reason] if cell.reason else []), *words]))


def in_words(counted: Mapping[str, Any]) -> str:
    """Return what a run's record counted (`asked`) as one clause."""
    words = [said.format(counted[name]) for name, said in COUNTS.items() if name in counted]
    if counted.get("first_listed") is not None:
        first, chance = counted["first_listed"], counted["first_listed_by_chance"]
        words.append(f"what is listed first won {100 * first:.1f} % (by chance {100 * chance:.1f} %)")
    if counted.get("outside") is not None:
        words.append(f"{100 * counted['outside']:.1f} % of the probability on no answer")
    return f"asked in {', '.join(words)}"
