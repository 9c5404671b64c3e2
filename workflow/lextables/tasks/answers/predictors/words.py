"""Baselines that need no encoder: they read nothing, or only words."""

import numpy as np

from lextables.tasks.answers.baselines import (
    Answers,
    is_marked,
    linear_answers,
    linear_marks,
    prior,
    similarity_marks,
    uniform,
)
from lextables.tasks.answers.collection import of_words
from lextables.tasks.answers.prediction import Prediction
from lextables.tasks.answers.settings import (
    FixedSettings,
    LearningSettings,
    MarkingSettings,
    PriorSettings,
)


def answer(job: Prediction) -> Answers:
    """Return the answers of the settings' ``kind``: `random`, `prior` or `linear`."""
    settings = job.settings
    shares = job.collection.shares
    if isinstance(settings, LearningSettings):
        space = of_words(job.collection)
        answers, penalties = linear_answers(space, shares, settings, job.threads)
        job.record["penalties"] = penalties
        return answers
    if isinstance(settings, PriorSettings):
        return prior(shares, settings)
    return uniform(shares)


def mark(job: Prediction) -> np.ndarray:
    """Return the probabilities of marks, float64 (paragraphs, questions).

    The settings' ``kind`` is `never` (all 0: most paragraphs are marked by nobody),
    `random`, `overlap` (`similarity_marks`) or `linear` (`linear_marks`).
    """
    data = job.collection
    settings = job.settings
    if isinstance(settings, MarkingSettings):
        marked = is_marked(data, job.marked)
        return linear_marks(data, of_words(data), marked, settings)
    assert isinstance(settings, FixedSettings)
    if settings.kind == "overlap":
        return similarity_marks(of_words(data))
    shape = (len(data.texts()), len(data.questions))
    if settings.kind == "random":
        return np.random.default_rng(0).random(shape)
    return np.zeros(shape)
