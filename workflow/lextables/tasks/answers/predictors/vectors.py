"""Baselines with the vectors of a sentence encoder."""

import numpy as np

from lextables.models import own_settings
from lextables.models.text_vectors import DOCUMENT, QUERY, TextVectors, about_of
from lextables.tasks.answers.baselines import Answers, linear_answers, similarity_marks
from lextables.tasks.answers.collection import Space, of_vectors
from lextables.tasks.answers.prediction import Prediction
from lextables.tasks.answers.settings import LearningSettings


def answer(job: Prediction) -> Answers:
    """Return the answers of a linear model of the vectors of best paragraphs.

    It is trained on other documents (`baselines.linear_answers`).
    """
    settings = job.settings
    assert isinstance(settings, LearningSettings)
    shares = job.collection.shares
    answers, penalties = linear_answers(encoded(job), shares, settings, job.threads)
    job.record["penalties"] = penalties
    return answers


def mark(job: Prediction) -> np.ndarray:
    """Return the similarity of each paragraph to each question with its options."""
    return similarity_marks(encoded(job))


def encoded(job: Prediction) -> Space:
    """Return the paragraphs and questions in the space of the run's encoder."""
    (path,) = job.vectors
    about = about_of(path)
    own_settings.check_similarity_is_product(about["similarity"], own_settings.COSINE)
    job.record["device"] = about["device"]
    documents = TextVectors(path, DOCUMENT)
    return of_vectors(job.collection, documents, TextVectors(path, QUERY))
