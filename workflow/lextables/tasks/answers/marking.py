"""Which paragraphs people would mark as they answer a question: baselines that anyone can run.

How like a paragraph is to the question (`space.Space`), or a linear model over its runs of words and over how
like it is to each question, learnt on the documents of other folds; and, below both, no paragraph or any at
random.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from threadpoolctl import threadpool_limits

from lextables.models.linear import fit_many, probabilities, vocabulary
from lextables.pipeline.dataset import Row
from lextables.tasks.answers.collection import Collection, pairs
from lextables.tasks.answers.folds import fold
from lextables.tasks.answers.space import Space, of_words

DIGITS = 6  # of a probability, more than a threshold wants


def baseline(
    data: Collection, marked: Mapping[str, set[str]], settings: Mapping[str, Any], threads: int = 1
) -> np.ndarray:
    """Return what the settings' ``kind`` gives each paragraph, float64 (paragraphs, questions), 0 to 1.

    `never` gives 0, for most paragraphs are marked by nobody, and `random` a number that is drawn; `overlap`
    and `linear` are below.  ``marked`` are the paragraphs that people marked ({question: them}).
    """
    kind, shape = settings["kind"], (sum(map(len, data.paragraphs.values())), len(data.questions))
    if kind == "never":
        return np.zeros(shape)
    if kind == "random":
        return np.random.default_rng(0).random(shape)
    words = of_words(data.paragraphs, data.questions)
    if kind == "overlap":
        return overlap(words)
    return learnt(data, words, places(data, marked), settings, threads)


def overlap(space: Space) -> np.ndarray:
    """Return how like each paragraph is to each question, from 0 to 1, float64 (paragraphs, questions)."""
    return np.clip(space.likeness.astype(np.float64), 0, 1)


def learnt(
    data: Collection, space: Space, marked: np.ndarray, settings: Mapping[str, Any], threads: int = 1
) -> np.ndarray:
    """Return what a linear model for each question says, which has seen none of the document's fold.

    ``marked`` bool (paragraphs, questions) is what people marked.  ``settings``: ``folds``; runs of up to
    ``longest`` words count, which stand in ``least`` paragraphs; and as `linear.fit_many` has them ``alpha``
    and ``epochs``.  Where no other fold has a paragraph it is `overlap`.
    """
    found = overlap(space)
    texts = [paragraph.text for those in data.paragraphs.values() for paragraph in those]
    words = vocabulary(texts, longest=settings["longest"], least=settings["least"]).weigh(texts)
    features = csr_matrix(hstack([words, csr_matrix(space.likeness)]))
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


def places(data: Collection, marked: Mapping[str, set[str]]) -> np.ndarray:
    """Return which paragraphs were marked for which question, bool (paragraphs, questions)."""
    ids = [paragraph.paragraph_id for those in data.paragraphs.values() for paragraph in those]
    found = [np.isin(ids, [*marked.get(question, ())]) for question in data.questions]
    return np.stack(found, axis=1)


def marked_rows(data: Collection, given: np.ndarray) -> Iterator[Row]:
    """Yield the sorted rows of `schema.MARKED` of answered pairs; ``given`` as in `baseline`."""
    column = {question: at for at, question in enumerate(data.questions)}
    sizes = [len(those) for those in data.paragraphs.values()]
    starts = dict(zip(data.paragraphs, np.cumsum([0, *sizes]).tolist(), strict=False))
    for document, question in pairs(data.shares, data.paragraphs):
        those, first = data.paragraphs[document], starts[document]
        values = np.round(given[first : first + len(those), column[question]], DIGITS).tolist()
        for name, value in sorted(zip((one.paragraph_id for one in those), values, strict=True)):
            yield {
                "document_id": document,
                "question_id": question,
                "paragraph_id": name,
                "probability": value,
            }
