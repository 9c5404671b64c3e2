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
    LearningSettings,
    MarkingSettings,
    PriorSettings,
)


def answer(job: Prediction) -> Answers:
    """Return the answers of the settings' ``kind``: `random`, `prior` or `linear`."""
    shares = job.collection.shares
    if job.settings["kind"] == "random":
        return uniform(shares)
    if job.settings["kind"] == "prior":
        return prior(shares, PriorSettings(**job.settings))
    settings = LearningSettings(**job.settings)
    space = of_words(job.collection)
    answers, penalties = linear_answers(
        space,
        shares,
        settings,
        job.threads,
    )
    job.record["penalties"] = penalties
    return answers


def mark(job: Prediction) -> np.ndarray:
    """Return the probability that each paragraph is marked, float64 (paragraphs, questions).

    The settings' ``kind`` is `never` (all 0: most paragraphs are marked by nobody), `random`,
    `overlap` (`similarity_marks`) or `linear` (`linear_marks`).
    """
    data, kind = job.collection, job.settings["kind"]
    shape = (len(data.texts()), len(data.questions))
    if kind == "never":
        return np.zeros(shape)
    if kind == "random":
        return np.random.default_rng(0).random(shape)
    words = of_words(data)
    if kind == "overlap":
        return similarity_marks(words)
    marked, settings = is_marked(data, job.marked), MarkingSettings(**job.settings)
    return linear_marks(data, words, marked, settings, job.threads)
