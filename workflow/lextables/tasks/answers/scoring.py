"""Scores of a run: of its answers, or of its marked paragraphs."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from lextables.metrics import answers, marks
from lextables.metrics.classification import by_key
from lextables.metrics.shares import checked_share
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.finite import as_share
from lextables.tasks.answers.collection import Collection, fold, pairs
from lextables.tasks.answers.required import required_pairs

WITH_TEXT = "with a text"
ROUNDING = 0.01  # largest deviation of a sum of probabilities from one

# Rows of `run.SCORES` and of `units.UNITS`, each sorted by its key.
Scored = tuple[list[Row], list[Row]]


def _check_complete(
    required: Sequence[tuple[str, str]], predicted: Container[tuple[str, str]]
) -> None:
    """Raise `BadInput` if a ``required`` (document, question) pair is not predicted."""
    missing = [pair for pair in required if pair not in predicted]
    if missing:
        document, question = missing[0]
        counted = f"{len(missing)} of the {len(required)} answered pairs"
        what = f"no prediction for {counted}, the first {question!r} about {document!r}"
        raise BadInput(what, where="predictions", do="predict each of them")


def of_answers(
    predictions: Iterable[Row], data: Collection, smoothing: float
) -> Scored:
    """Score the answers of a run on the documents it predicts.

    See `metrics.answers.scores_and_units`.  The group `WITH_TEXT` has the documents
    with a text, for comparing models that read with those that do not.  Raises
    `BadInput` if one of the `required.required_pairs` has no prediction or an invalid
    one.
    """
    predicted = {}
    for row in predictions:
        predicted[row["document_id"], row["question_id"]] = row["probabilities"]
    documents = {document for document, _ in predicted}
    _check_complete(required_pairs(data, documents), predicted)
    questions = list(_answered(predicted, data, documents))
    if not questions:
        raise BadInput(
            "no answered pair is predicted", where="predictions", do="check the ids"
        )
    rows, units = answers.scores_and_units(questions, smoothing)
    with_text = list(_answered(predicted, data, documents & data.paragraphs.keys()))
    if with_text:
        scored_rows, scored_units = answers.scores_and_units(with_text, smoothing)
        rows += _regrouped(scored_rows)
        units += _regrouped(scored_units)
    return by_key(rows), by_key(units)


def _regrouped(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the group ``all``, renamed to the group `WITH_TEXT`."""
    return [{**row, "group": WITH_TEXT} for row in rows if row["group"] == "all"]


def _answered(
    predicted: Mapping[tuple[str, str], list[float]],
    data: Collection,
    documents: set[str],
) -> Iterator[answers.AnsweredQuestion]:
    """Yield the questions answered about ``documents``, with their predictions."""
    for name, question in data.questions.items():
        shares = {}
        probabilities = []
        for document, share in data.shares[name].items():
            if document not in documents:
                continue
            where = f"document {document}, question {name}"
            values = predicted[document, name]
            _check_distribution(values, len(question.options), where)
            probabilities.append(values)
            shares[document] = share
        if shares:
            yield answers.AnsweredQuestion(
                question_id=name,
                category=question.category,
                documents=np.array([*shares]),
                shares=np.stack([*shares.values()]),
                predicted=np.array(probabilities, dtype=np.float64),
            )


def _check_distribution(probabilities: list[float], options: int, where: str) -> None:
    """Raise `BadInput` for anything but a distribution over this number of options."""
    values = np.asarray(probabilities, dtype=np.float64)
    are_shares = all(as_share(value) is not None for value in values)
    is_valid = len(values) == options and are_shares
    if not is_valid or abs(values.sum() - 1) > ROUNDING:
        what = f"{probabilities} is not a distribution over the {options} options"
        do = "give a probability for each option, with the sum 1"
        raise BadInput(what, where=where, do=do)


def of_marks(
    predictions: str | Path,
    data: Collection,
    marked: Mapping[str, set[str]],
    folds: int,
) -> Scored:
    """Score the marks of a run; see `metrics.marks.scores_and_units`.

    ``predictions`` is a file of `MARKED`, which is read one pair at a time; ``marked``
    is {question: marked paragraphs}.  Raises `BadInput` if an answered pair of a
    document with a text, or a paragraph of one, has no prediction, and for a
    probability that is not a number from 0 to 1.
    """
    place = {document: at for at, document in enumerate(data.paragraphs)}
    ids = {}
    for document, paragraphs in data.paragraphs.items():
        ids[document] = sorted(paragraph.paragraph_id for paragraph in paragraphs)
    predicted: dict[str, dict[str, marks.MarkedQuestion]] = {
        name: {} for name in data.questions
    }
    predicted_pairs = set()
    by_pair = groupby(read(predictions), itemgetter("document_id", "question_id"))
    for (document, name), group in by_pair:
        if document not in data.shares.get(name, ()) or document not in place:
            continue
        rows = list(group)
        where = f"{predictions}, document {document}, question {name}"
        if [row["paragraph_id"] for row in rows] != ids[document]:
            raise BadInput(
                "the predicted paragraphs are not those of the document",
                where=where,
                do="predict each paragraph once",
            )
        probabilities = []
        for row in rows:
            paragraph = f"{where}, paragraph {row['paragraph_id']}"
            probabilities.append(checked_share(row["probability"], paragraph))
        predicted_pairs.add((document, name))
        marked_ids = marked.get(name, ())
        right = [row["paragraph_id"] in marked_ids for row in rows]
        predicted[name][document] = marks.MarkedQuestion(
            question_id=name,
            category=data.questions[name].category,
            documents=np.full(len(rows), place[document]),
            right=np.array(right, dtype=bool),
            probabilities=np.array(probabilities),
        )
    _check_complete(pairs(data.shares, data.paragraphs), predicted_pairs)
    questions = [_joined([*each.values()]) for each in predicted.values() if each]
    if not questions:
        what = "no paragraph of an answered question is predicted"
        raise BadInput(what, where="predictions", do="check the ids")
    document_folds = np.array([fold(each, folds) for each in place])
    return marks.scores_and_units(questions, document_folds, [*place])


def _joined(documents: Sequence[marks.MarkedQuestion]) -> marks.MarkedQuestion:
    """Return the marks of a question for all documents."""
    return marks.MarkedQuestion(
        question_id=documents[0].question_id,
        category=documents[0].category,
        documents=np.concatenate([each.documents for each in documents]),
        right=np.concatenate([each.right for each in documents]),
        probabilities=np.concatenate([each.probabilities for each in documents]),
    )
