"""Sections of a paper's page in the report, in addition to the paper's tables.

A paper package may have a module ``exhibits`` with a function ``sections(data)``.  It
gets the folder of all data sets and returns a list of `Section`.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Funnel:
    """Counts after each step, as (step, count) in order."""

    title: str
    text: str
    steps: Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Piece:
    """A piece of a text, and whether it was added or removed."""

    text: str
    mark: Literal["", "added", "taken"] = ""


@dataclass(frozen=True)
class Statement:
    """A named text of an example, with its label if it has one."""

    name: str
    pieces: Sequence[Piece]
    label: str = ""


@dataclass(frozen=True)
class Example:
    """An example: its statements in reading order, and a note."""

    title: str
    statements: Sequence[Statement]
    note: str = ""


@dataclass(frozen=True)
class Examples:
    """Examples under one title."""

    title: str
    text: str
    examples: Sequence[Example]


Section = Funnel | Examples


def edited(before: str, after: str) -> list[Piece]:
    """Return the change from ``before`` to ``after`` as pieces of text: words of both,
    and words that were removed or added, which are marked.
    """
    old = re.findall(r"\S+\s*", before)
    new = re.findall(r"\S+\s*", after)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    pieces = []
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        removed = "".join(old[start:end])
        added = "".join(new[new_start:new_end])
        if kind == "equal":
            pieces.append(Piece(added))
            continue
        if removed:
            pieces.append(Piece(removed, "taken"))
        if added:
            pieces.append(Piece(added, "added"))
    return pieces


def cut(text: str, limit: int) -> str:
    """Return ``text``, cut at the end of a word if it has more than ``limit``
    letters.
    """
    if len(text) <= limit:
        return text
    return f"{text[:limit].rpartition(' ')[0] or text[:limit]} …"
