"""From predictions to scores: of the answers, or of the paragraphs that are marked."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from lextables.metrics import answers, marks
from lextables.metrics.classification import by_key
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers.collection import OFF_BY, Collection
from lextables.tasks.answers.folds import fold

WITH_TEXT = "with a text"


Scored = tuple[list[Row], list[Row]]  # rows of `run.SCORES` and of `units.UNITS`, each sorted by its key


def of_answers(predictions: Iterable[Row], data: Collection, smoothing: float) -> Scored:
    """Score the answers of one run, as `metrics.answers.scores_and_units` has them.

    Scored are the documents that it answers about, and the group `WITH_TEXT` has those whose text is here:
    by it a model that reads is compared with one that does not.  Raises `BadInput` for a pair of such a
    document that people answered and the run did not, and for other than a distribution over the options.
    """
    given = {(row["document_id"], row["question_id"]): row["probabilities"] for row in predictions}
    about = {document for document, _ in given}
    found = [*_answered(given, data, about)]
    if not found:
        raise BadInput("no pair that people answered is predicted", where="predictions")
    scored = answers.scores_and_units(found, smoothing)
    if here := [*_answered(given, data, about & data.paragraphs.keys())]:
        for rows, of_these in zip(scored, answers.scores_and_units(here, smoothing), strict=True):
            rows += [row | {"group": WITH_TEXT} for row in of_these if row["group"] == "all"]
    rows, units = map(by_key, scored)
    return rows, units


def _answered(
    given: Mapping[tuple[str, str], list[float]], data: Collection, about: set[str]
) -> Iterator[answers.Answered]:
    for name, question in data.questions.items():
        shares = {document: one for document, one in data.shares[name].items() if document in about}
        if missing := [document for document in shares if (document, name) not in given]:
            fault = f"no answer to the question {name!r} about {missing[0]!r}"
            raise BadInput(fault, where="predictions", do="predict all questions of a document")
        if not shares:
            continue
        for document in shares:
            _check(given[document, name], len(question.options), f"document {document}, question {name}")
        yield answers.Answered(
            name,
            question.category,
            np.array([*shares]),
            np.stack([*shares.values()]),
            np.array([given[document, name] for document in shares], dtype=np.float64),
        )


def _check(given: list[float], options: int, where: str) -> None:
    values = np.asarray(given, dtype=np.float64)
    whole = len(values) == options and np.isfinite(values).all() and (values >= 0).all()
    if not whole or abs(values.sum() - 1) > OFF_BY:
        fault = f"{given} is no distribution over the {options} options"
        raise BadInput(fault, where=where, do="give each a share, which together make one")


def of_marks(predictions: str | Path, data: Collection, marked: Mapping[str, set[str]], folds: int) -> Scored:
    """Score the marks of one run, as `metrics.marks.scores_and_units` has them.

    ``predictions`` is the file of `schema.MARKED`, read a pair at a time, ``marked`` what people marked
    ({question: its paragraphs}), ``folds`` how many folds there are.  Raises `BadInput` for a pair
    that people answered, or a paragraph of it, that has no prediction.
    """
    place = {document: at for at, document in enumerate(data.paragraphs)}
    ids = {document: sorted(one.paragraph_id for one in those) for document, those in data.paragraphs.items()}
    found: dict[str, list[tuple[int, np.ndarray, np.ndarray]]] = {name: [] for name in data.questions}
    for (document, name), rows in groupby(read(predictions), itemgetter("document_id", "question_id")):
        if document not in data.shares.get(name, ()) or document not in place:
            continue
        each = [*rows]
        if [row["paragraph_id"] for row in each] != ids[document]:
            where = f"document {document}, question {name}"
            raise BadInput(
                "its paragraphs are not those of the document", where=where, do="predict each once"
            )
        right = np.array([row["paragraph_id"] in marked.get(name, ()) for row in each], dtype=bool)
        found[name].append((place[document], right, np.array([row["probability"] for row in each])))
    for name, of_question in data.shares.items():
        seen = {document for document, _, _ in found[name]}
        if missing := [one for one in of_question if one in place and place[one] not in seen]:
            fault = f"nothing is marked or left for the question {name!r} in {missing[0]!r}"
            raise BadInput(fault, where="predictions", do="predict all questions of a document")
    questions = [
        marks.Marked(
            name,
            data.questions[name].category,
            np.concatenate([np.full(len(right), at) for at, right, _ in those]),
            np.concatenate([right for _, right, _ in those]),
            np.concatenate([given for _, _, given in those]),
        )
        for name, those in found.items()
        if those
    ]
    if not questions:
        raise BadInput("no paragraph of an answered question is predicted", where="predictions")
    of_documents = np.array([fold(document, folds) for document in place])
    return marks.scores_and_units(questions, of_documents, [*place])
