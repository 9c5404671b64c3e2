"""The floors over words, without weights: what they answer, and what they mark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.dataset import write
from lextables.tasks.answers import learning, marking, space
from lextables.tasks.answers.collection import (
    marked_of,
    paragraphs_of,
    prediction_rows,
    questions_of,
    shares_of,
)
from lextables.tasks.answers.schema import MARKED, PREDICTIONS

# The tables that answers, and marks, are made of.
ANSWERED_FROM = ("questions", "responses", "paragraphs")
MARKED_FROM = (*ANSWERED_FROM, "highlights")


def answer(
    data: Sequence[str | Path],
    names: Mapping[str, str],
    settings: Mapping[str, Any],
    threads: int,
    output: str | Path,
) -> dict[str, Any]:
    """Write what is learnt from words of every pair whose document has a text; return the record.

    ``data`` are `ANSWERED_FROM`, ``settings`` those of `learning.answers`.
    """
    questions = questions_of(data[0])
    shares = shares_of(data[1], questions, names["document"])
    paragraphs = paragraphs_of(data[2], names["document"])
    words = space.of_words(paragraphs, questions)
    found, penalties = learning.answers(words, shares, settings, threads)
    write(PREDICTIONS, prediction_rows(found), output)
    return {"pairs": len(found), "penalties": penalties}


def mark(
    data: Sequence[str | Path],
    names: Mapping[str, str],
    settings: Mapping[str, Any],
    threads: int,
    output: str | Path,
) -> dict[str, Any]:
    """Write what a floor of the settings' ``kind`` marks; return the record.  ``data`` are `MARKED_FROM`."""
    questions = questions_of(data[0])
    shares = shares_of(data[1], questions, names["document"])
    paragraphs = paragraphs_of(data[2], names["document"])
    if settings["kind"] == "never":
        given = marking.never(paragraphs, len(questions))
    elif settings["kind"] == "random":
        given = marking.random(paragraphs, len(questions))
    else:
        words = space.of_words(paragraphs, questions)
        if settings["kind"] == "overlap":
            given = marking.overlap(words)
        else:
            marked = marking.places(paragraphs, [*questions], marked_of(data[3]))
            given = marking.learnt(words, marked, settings, threads)
    rows = write(MARKED, marking.marked_rows(paragraphs, [*questions], shares, given), output)
    return {"rows": rows}
