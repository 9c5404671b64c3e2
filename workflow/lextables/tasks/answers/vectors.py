"""The floors over the frozen vectors of a small sentence encoder: what they answer, and what they mark."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.dataset import write
from lextables.tasks.answers import learning, marking, space
from lextables.tasks.answers.collection import paragraphs_of, prediction_rows, questions_of, shares_of
from lextables.tasks.answers.schema import MARKED, PREDICTIONS
from lextables.tasks.answers.space import Encode


def answer(
    data: Sequence[str | Path],
    names: Mapping[str, str],
    settings: Mapping[str, Any],
    encoders: tuple[Encode, Encode],
    threads: int,
    output: str | Path,
) -> dict[str, Any]:
    """As `linear.answer`, by vectors of length one that ``encoders`` give paragraphs and questions."""
    questions = questions_of(data[0])
    shares = shares_of(data[1], questions, names["document"])
    vectors = space.of_vectors(paragraphs_of(data[2], names["document"]), questions, *encoders)
    found, penalties = learning.answers(vectors, shares, settings, threads)
    write(PREDICTIONS, prediction_rows(found), output)
    return {"pairs": len(found), "penalties": penalties}


def mark(
    data: Sequence[str | Path],
    names: Mapping[str, str],
    encoders: tuple[Encode, Encode],
    output: str | Path,
) -> dict[str, Any]:
    """As `linear.mark`, by how like the vectors are."""
    questions = questions_of(data[0])
    shares = shares_of(data[1], questions, names["document"])
    paragraphs = paragraphs_of(data[2], names["document"])
    given = marking.overlap(space.of_vectors(paragraphs, questions, *encoders))
    return {"rows": write(MARKED, marking.marked_rows(paragraphs, [*questions], shares, given), output)}
