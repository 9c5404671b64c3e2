"""Submitted answers: JSON lines with a distribution each, or csv with a row for each option.

An option is named by its text, or by its index among the question's options, from 0.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from lextables.pipeline.errors import BadInput
from lextables.tasks.answers.collection import (
    PREDICTIONS,
    Collection,
    load,
    pairs,
    prediction_rows,
)
from lextables.tasks.submitted import (
    PROBABILITY,
    Distributions,
    File,
    Submitted,
    known,
    named,
    probabilities_of,
)

__all__ = ["PREDICTIONS", "predictions"]
DOCUMENT, QUESTION, OPTION = "document_id", "question_id", "option"


class Line(NamedTuple):
    """One line of a file; ``probabilities`` are by option, or in the order of the question's options."""

    place: str
    document: str
    question: str
    probabilities: Mapping[str, Any] | list[Any]


def predictions(
    file: File, form: str, data: Sequence[str | Path], task: Mapping[str, Any]
) -> Submitted:
    """Return submitted answers as rows of `PREDICTIONS`; ``data`` are questions, responses and paragraphs.

    Pairs that nobody answered are skipped.  Raises `BadInput`, naming the line, for an unknown question or
    option, a repeated option, and an invalid distribution; and if an answered pair has no prediction,
    although the file has other predictions for its document or the document has a text.
    """
    collection = load(data, task["names"])
    answers, skipped = Distributions("question", "option"), set()
    for line in FORMS[form](file):
        line = line._replace(question=known(line.question, collection.questions))
        if line.question not in collection.questions:
            what = f"the data set has no question {line.question!r}"
            raise BadInput(what, where=line.place, do="correct its id")
        line = line._replace(
            document=known(line.document, collection.shares[line.question])
        )
        if line.document not in collection.shares[line.question]:
            skipped.add((line.document, line.question))
            continue
        options = collection.questions[line.question].options
        item = line.question, line.document
        answers.add(item, options, line.probabilities, line.place, by_index=True)
    _check_complete(
        collection,
        {(document, question) for question, document in answers.values},
        file.name,
    )
    rows = {
        (document, question): answers.of(
            (question, document), collection.questions[question].options
        )
        for question, document in answers.values
    }
    return Submitted(prediction_rows(rows), len(skipped))


def _check_complete(
    collection: Collection, answered: Set[tuple[str, str]], name: str
) -> None:
    documents = collection.paragraphs.keys() | {document for document, _ in answered}
    expected = pairs(collection.shares, documents)
    if missing := sorted(set(expected) - answered):
        document, question = missing[0]
        what = f"no answer to {len(missing)} of {len(expected)} pairs, the first {question!r} of {document!r}"
        raise BadInput(what, where=name, do="answer all questions about a document")
    if not answered:
        raise BadInput(
            "no document of the data set is answered", where=name, do="correct the ids"
        )


def _csv(file: File) -> Iterator[Line]:
    for place, row in file.table(DOCUMENT, QUESTION, OPTION, PROBABILITY):
        yield Line(place, row[DOCUMENT], row[QUESTION], {row[OPTION]: row[PROBABILITY]})


def _jsonl(file: File) -> Iterator[Line]:
    for place, record in file.records():
        values = probabilities_of(record, place, OPTION)
        yield Line(
            place,
            named(record, DOCUMENT, place),
            named(record, QUESTION, place),
            values,
        )


FORMS = {"csv": _csv, "jsonl": _jsonl}
