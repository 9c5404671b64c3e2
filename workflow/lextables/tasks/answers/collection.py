"""The tables of the task of answers, as those read them who answer and who score.

What a data set calls its tables, and the column with a document's id, are the task's ``names``.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput

# {question: {document: the share of each option, float64 (options,)}}
Shares = Mapping[str, Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Question:
    """A question with its options, and what it is about."""

    question_id: str
    category: str
    question: str
    options: tuple[str, ...]

    @property
    def text(self) -> str:
        """Its wording and its options, a line each."""
        return "\n".join((self.question, *self.options))


class Paragraph(NamedTuple):
    """A paragraph of a document."""

    paragraph_id: str
    text: str


OFF_BY = 0.01  # what rounding may take from a sum of one
# The tables that answers, and marks, are made of.
ANSWERED_FROM = ("questions", "responses", "paragraphs")
MARKED_FROM = (*ANSWERED_FROM, "highlights")


@dataclass(frozen=True)
class Collection:
    """What people answered, and the texts: {document: its paragraphs} of those whose text is here."""

    questions: Mapping[str, Question]
    shares: Shares
    paragraphs: Mapping[str, Sequence[Paragraph]]


def load(data: Sequence[str | Path], names: Mapping[str, str]) -> Collection:
    """Read the tables `ANSWERED_FROM`; more are passed over, and without the third there is no text."""
    questions = questions_of(data[0])
    return Collection(
        questions,
        shares_of(data[1], questions, names["document"]),
        paragraphs_of(data[2], names["document"]) if len(data) > 2 else {},
    )


def questions_of(path: str | Path) -> dict[str, Question]:
    """Return {question: it}, sorted."""
    rows = read(path, ["question_id", "category", "question", "options"])
    found = {row["question_id"]: Question(**row | {"options": tuple(row["options"])}) for row in rows}
    return dict(sorted(found.items()))


def shares_of(path: str | Path, questions: Mapping[str, Question], document: str) -> dict[str, dict]:
    """Return what people chose: of each question (sorted) and document the share of each option, as `Shares`.

    Every chosen option counts once, whoever chose it and how many others with it.  A pair of which nobody
    chose an option is not there.  ``document`` is the column of the documents' ids.  Raises `BadInput` for
    a response to an unknown question, or with an option that its question does not have.
    """
    counts: dict[str, dict[str, np.ndarray]] = {name: {} for name in questions}
    for row in read(path, [document, "question_id", "options"]):
        name, where = row["question_id"], f"responses, document {row[document]}"
        if name not in questions:
            raise BadInput(f"there is no question {name!r}", where=where, do="correct the data set")
        size = len(questions[name].options)
        if not all(0 <= option < size for option in row["options"]):
            fault = f"the question {name!r} has {size} options, and not those at {row['options']}"
            raise BadInput(fault, where=where, do="correct the data set")
        if row["options"]:
            found = counts[name].setdefault(row[document], np.zeros(size))
            np.add.at(found, row["options"], 1)
    return {
        name: {document: chosen / chosen.sum() for document, chosen in sorted(of_question.items())}
        for name, of_question in counts.items()
    }


def paragraphs_of(path: str | Path, document: str) -> dict[str, list[Paragraph]]:
    """Return {document: its paragraphs in reading order}, sorted; documents without a text are not there."""
    found: dict[str, list[tuple[int, Paragraph]]] = defaultdict(list)
    for row in read(path, [document, "paragraph_id", "place", "text"]):
        found[row[document]].append((row["place"], Paragraph(row["paragraph_id"], row["text"])))
    return {name: [one for _, one in sorted(those)] for name, those in sorted(found.items())}


def marked_of(path: str | Path) -> dict[str, set[str]]:
    """Return {question: the paragraphs that somebody marked anything in for it}, of whatever text."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in read(path, ["question_id", "paragraph_id"]):
        found[row["question_id"]].add(row["paragraph_id"])
    return found


def pairs(shares: Shares, documents: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """Return the (document, question) that people answered, sorted; of these ``documents``, or of all."""
    only = None if documents is None else set(documents)
    return sorted(
        (document, question)
        for question, of_question in shares.items()
        for document in of_question
        if only is None or document in only
    )


def files(names: Mapping[str, str], *tables: str) -> list[str]:
    """Return what the data set calls these tables of the task."""
    return [names[table] for table in tables]


def prediction_rows(found: Mapping[tuple[str, str], Sequence[float]]) -> list[dict]:
    """Return rows of `schema.PREDICTIONS` from {(document, question): probabilities}, sorted."""
    return [
        {"document_id": document, "question_id": question, "probabilities": [*map(float, given)]}
        for (document, question), given in sorted(found.items())
    ]
