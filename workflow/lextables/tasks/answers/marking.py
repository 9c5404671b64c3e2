"""Which paragraphs people would mark as they answer a question: floors that anyone can run.

How like a paragraph is to the question (`space.Space`), or a linear model over its words and over how like it
is to each question, learnt on the documents of other folds; and, below both, no paragraph or any at random.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from threadpoolctl import threadpool_limits

from lextables.dataset import Row
from lextables.models.linear import fit_many, probabilities
from lextables.tasks.answers.collection import Paragraph, Shares, pairs
from lextables.tasks.answers.folds import fold
from lextables.tasks.answers.space import Space

DIGITS = 6  # of a probability, more than a threshold wants


def never(documents: Mapping[str, Sequence[Paragraph]], questions: int) -> np.ndarray:
    """Return 0 for each paragraph and question: most paragraphs are marked by nobody."""
    return np.zeros((sum(map(len, documents.values())), questions))


def random(documents: Mapping[str, Sequence[Paragraph]], questions: int) -> np.ndarray:
    """Return a number drawn between 0 and 1 for each paragraph and question."""
    return np.random.default_rng(0).random((sum(map(len, documents.values())), questions))


def overlap(space: Space) -> np.ndarray:
    """Return how like each paragraph is to each question, from 0 to 1, float64 (paragraphs, questions)."""
    return np.clip(space.likeness.astype(np.float64), 0, 1)


def learnt(space: Space, marked: np.ndarray, settings: Mapping[str, Any], threads: int = 1) -> np.ndarray:
    """Return what a linear model for each question says, which has seen none of the document's fold.

    ``marked`` bool (paragraphs, questions) is what people marked.  ``settings``: ``folds``, and as
    `linear.fit_many` has them ``alpha`` and ``epochs``.  Where no other fold has a paragraph it is `overlap`.
    """
    found = overlap(space)
    features = csr_matrix(hstack([csr_matrix(space.paragraphs), csr_matrix(space.likeness)]))
    folds = np.repeat(
        [fold(document, settings["folds"]) for document in space.documents], np.diff(space.bounds)
    )
    options = {"alpha": settings["alpha"], "epochs": settings["epochs"], "threads": threads}
    with threadpool_limits(1):
        for here in (folds == one for one in np.unique(folds)):
            if not here.all():
                model = fit_many(features[~here], marked[~here], **options)
                found[here] = probabilities(model.logits(features[here]))
    return found


def places(
    documents: Mapping[str, Sequence[Paragraph]], questions: Sequence[str], marked: Mapping[str, set[str]]
) -> np.ndarray:
    """Return which paragraphs were marked for which question, bool (paragraphs, questions)."""
    ids = [paragraph.paragraph_id for those in documents.values() for paragraph in those]
    return np.array(
        [[name in marked.get(question, ()) for question in questions] for name in ids], dtype=bool
    ).reshape(len(ids), len(questions))


def marked_rows(
    documents: Mapping[str, Sequence[Paragraph]], questions: Sequence[str], shares: Shares, given: np.ndarray
) -> Iterator[Row]:
    """Yield rows of `schema.MARKED`, sorted, of the pairs that people answered; ``given`` as above."""
    column = {question: at for at, question in enumerate(questions)}
    starts = dict(zip(documents, np.cumsum([0, *map(len, documents.values())]).tolist(), strict=False))
    for document, question in pairs(shares, documents):
        first = starts[document]
        values = np.round(given[first : first + len(documents[document]), column[question]], DIGITS).tolist()
        those = zip((one.paragraph_id for one in documents[document]), values, strict=True)
        for name, value in sorted(those):
            yield {
                "document_id": document,
                "question_id": question,
                "paragraph_id": name,
                "probability": value,
            }
