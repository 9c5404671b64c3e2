"""Scores of a run: of its answers, or of its marked paragraphs."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from lextables.metrics import answers, marks
from lextables.metrics.classification import by_key
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers.collection import Collection, fold

WITH_TEXT = "with a text"
ROUNDING = 0.01  # largest deviation of a sum of probabilities from one

Scored = tuple[
    list[Row], list[Row]
]  # rows of `run.SCORES` and of `units.UNITS`, each sorted by its key


def of_answers(
    predictions: Iterable[Row], data: Collection, smoothing: float
) -> Scored:
    """Score the answers of a run on the documents it predicts; see `metrics.answers.scores_and_units`.

    The group `WITH_TEXT` has the documents with a text, for comparing models that read with those that do
    not.  Raises `BadInput` if an answered pair of a predicted document has no prediction or an invalid one.
    """
    predicted = {
        (row["document_id"], row["question_id"]): row["probabilities"]
        for row in predictions
    }
    documents = {document for document, _ in predicted}
    questions = [*_answered(predicted, data, documents)]
    if not questions:
        raise BadInput(
            "no answered pair is predicted", where="predictions", do="check the ids"
        )
    scored = answers.scores_and_units(questions, smoothing)
    if with_text := [*_answered(predicted, data, documents & data.paragraphs.keys())]:
        for rows, of_these in zip(
            scored, answers.scores_and_units(with_text, smoothing), strict=True
        ):
            rows += [
                row | {"group": WITH_TEXT} for row in of_these if row["group"] == "all"
            ]
    rows, units = map(by_key, scored)
    return rows, units


def _answered(
    predicted: Mapping[tuple[str, str], list[float]],
    data: Collection,
    documents: set[str],
) -> Iterator[answers.Answered]:
    for name, question in data.questions.items():
        shares = {
            document: share
            for document, share in data.shares[name].items()
            if document in documents
        }
        if missing := [
            document for document in shares if (document, name) not in predicted
        ]:
            what = f"no answer to the question {name!r} about {missing[0]!r}"
            raise BadInput(
                what, where="predictions", do="predict all questions of a document"
            )
        if not shares:
            continue
        for document in shares:
            where = f"document {document}, question {name}"
            _check_distribution(predicted[document, name], len(question.options), where)
        yield answers.Answered(
            name,
            question.category,
            np.array([*shares]),
            np.stack([*shares.values()]),
            np.array(
                [predicted[document, name] for document in shares], dtype=np.float64
            ),
        )


def _check_distribution(probabilities: list[float], options: int, where: str) -> None:
    values = np.asarray(probabilities, dtype=np.float64)
    valid = len(values) == options and np.isfinite(values).all() and (values >= 0).all()
    if not valid or abs(values.sum() - 1) > ROUNDING:
        what = f"{probabilities} is not a distribution over the {options} options"
        raise BadInput(
            what, where=where, do="give a probability for each option, with the sum 1"
        )


def of_marks(
    predictions: str | Path,
    data: Collection,
    marked: Mapping[str, set[str]],
    folds: int,
) -> Scored:
    """Score the marks of a run; see `metrics.marks.scores_and_units`.

    ``predictions`` is a file of `MARKED`, which is read one pair at a time; ``marked`` is {question: marked
    paragraphs}.  Raises `BadInput` if an answered pair, or a paragraph of one, has no prediction.
    """
    place = {document: at for at, document in enumerate(data.paragraphs)}
    ids = {
        document: sorted(each.paragraph_id for each in rows)
        for document, rows in data.paragraphs.items()
    }
    predicted: dict[str, list[tuple[int, np.ndarray, np.ndarray]]] = {
        name: [] for name in data.questions
    }
    for (document, name), group in groupby(
        read(predictions), itemgetter("document_id", "question_id")
    ):
        if document not in data.shares.get(name, ()) or document not in place:
            continue
        rows = [*group]
        if [row["paragraph_id"] for row in rows] != ids[document]:
            where = f"document {document}, question {name}"
            what = "the predicted paragraphs are not those of the document"
            raise BadInput(what, where=where, do="predict each paragraph once")
        right = np.array(
            [row["paragraph_id"] in marked.get(name, ()) for row in rows], dtype=bool
        )
        probabilities = np.array([row["probability"] for row in rows])
        predicted[name].append((place[document], right, probabilities))
    for name, of_question in data.shares.items():
        seen = {document for document, _, _ in predicted[name]}
        if missing := [
            each for each in of_question if each in place and place[each] not in seen
        ]:
            what = f"no prediction for the question {name!r} about {missing[0]!r}"
            raise BadInput(
                what, where="predictions", do="predict all questions of a document"
            )
    questions = [
        marks.Marked(
            name,
            data.questions[name].category,
            np.concatenate([np.full(len(right), at) for at, right, _ in each]),
            np.concatenate([right for _, right, _ in each]),
            np.concatenate([probabilities for _, _, probabilities in each]),
        )
        for name, each in predicted.items()
        if each
    ]
    if not questions:
        what = "no paragraph of an answered question is predicted"
        raise BadInput(what, where="predictions", do="check the ids")
    return marks.scores_and_units(
        questions, np.array([fold(each, folds) for each in place]), [*place]
    )
