"""What a room shows of its paper beside tables, in forms that are common to all papers.

A room's module ``exhibits`` has a function ``sections`` that is given the folder of all data sets and returns
a list of these.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Funnel:
    """How many are left after each step, as (step, count) from the first on."""

    title: str
    text: str
    steps: Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Piece:
    """A piece of a text, and whether it was added to it or taken from it."""

    text: str
    mark: Literal["", "added", "taken"] = ""


@dataclass(frozen=True)
class Statement:
    """A text of an example with what it is called, and a label where it has one."""

    name: str
    pieces: Sequence[Piece]
    label: str = ""


@dataclass(frozen=True)
class Example:
    """An example: its statements in the order of reading, and what is to be said of it."""

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
    """Return ``after`` with the words marked that ``before`` has not, and those of it that are gone."""
    old, new = (re.findall(r"\S+\s*", text) for text in (before, after))
    pieces = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("".join(new[c:d])))
        else:
            taken, added = "".join(old[a:b]), "".join(new[c:d])
            pieces += [Piece(taken, "taken")] * bool(taken) + [Piece(added, "added")] * bool(added)
    return pieces


def cut(text: str, most: int) -> str:
    """Return ``text``, or its beginning at a word's end where it has more than ``most`` letters."""
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0] or text[:most]} …"
