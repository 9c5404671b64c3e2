"""Submitted answers: JSON lines with a distribution, or csv with a row per option.

An option is named by its text, or by its index among the question's options, from 0.
"""

from collections.abc import Sequence
from pathlib import Path

from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.tasks.answers.collection import PREDICTIONS, load, prediction_rows
from lextables.tasks.answers.required import required_pairs
from lextables.tasks.job import Job
from lextables.tasks.submitted import (
    Distribution,
    File,
    Forms,
    Probabilities,
    Records,
    Submitted,
    SubmittedRow,
    check_complete,
    identified,
    read_rows,
    store,
)


class AnswerRow(SubmittedRow):
    """An answer, or the probability of one of its options."""

    document_id: str
    question_id: str
    probabilities: Probabilities


def run(job: Job) -> None:
    """Check and store a file of submitted predictions."""
    store(job, predictions, PREDICTIONS)


def predictions(
    file: File, form: str, data: Sequence[str | Path], task: JsonObject
) -> Submitted:
    """Return submitted answers as rows of `PREDICTIONS`.

    ``data`` are questions, responses, paragraphs and documents.  If nobody answered a
    question about a document, the rows for this pair are skipped and counted.  Raises
    `BadInput`, naming the line, for an unknown document, question or option, a repeated
    option, and an invalid distribution.  Also raises it if one of the
    `required.required_pairs` has no prediction.
    """
    *answered_from, documents_table = data
    collection = load(answered_from, task["names"])
    id_column = task["names"]["document"]
    documents = {row[id_column] for row in read(documents_table, [id_column])}
    answers: dict[tuple[str, str], Distribution] = {}
    skipped = set()
    for place, row in read_rows(FORMS[form](file), AnswerRow):
        name = identified(row.question_id, collection.questions, "question", place)
        document = identified(row.document_id, documents, "document", place)
        # Pairs without an answer are skipped: a submission may cover all documents.
        if document not in collection.shares[name]:
            skipped.add((document, name))
            continue
        options = collection.questions[name].options
        key = (name, document)
        new = Distribution("question", key, "option", options, place, by_index=True)
        answers.setdefault(key, new).add(row.probabilities, place)
    if not answers:
        what = "no document of the data set is answered"
        raise BadInput(what, where=file.name, do="correct the ids")
    predicted = {document for _, document in answers}
    answered_pairs = [
        (name, each) for each, name in required_pairs(collection, predicted)
    ]
    check_complete(answered_pairs, answers, "answered pairs", file.name)
    rows = {}
    for (name, document), distribution in answers.items():
        rows[document, name] = distribution.complete()
    return Submitted(prediction_rows(rows), len(skipped))


def _csv(file: File) -> Records:
    for place, row in file.table("document_id", "question_id", "option", "probability"):
        yield place, {**row, "probabilities": {row["option"]: row["probability"]}}


FORMS: Forms = {"csv": _csv, "jsonl": File.json_lines}
