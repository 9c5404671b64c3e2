"""Baselines with the vectors of a sentence encoder."""

import numpy as np

from lextables.models import (
    bi_encoder,
    device,
    own_settings,
)
from lextables.models.weights import weights_folder
from lextables.tasks.answers.baselines import (
    Answers,
    linear_answers,
    similarity_marks,
)
from lextables.tasks.answers.collection import (
    Space,
    of_vectors,
)
from lextables.tasks.answers.prediction import Prediction
from lextables.tasks.answers.settings import LearningSettings


def answer(job: Prediction) -> Answers:
    """Return the answers of a linear model of the vectors of other documents' best paragraphs."""
    settings = LearningSettings(**job.settings)
    space = encoded(job)
    answers, penalties = linear_answers(
        space, job.collection.shares, settings, job.threads
    )
    job.record["penalties"] = penalties
    return answers


def mark(job: Prediction) -> np.ndarray:
    """Return the similarity of each paragraph to each question with its options."""
    return similarity_marks(encoded(job))


def encoded(job: Prediction) -> Space:
    """Return the paragraphs and questions in the space of the run's encoder."""
    folder, where = weights_folder(job.settings), device.pick(job.device)
    model = bi_encoder.load(folder, where, job.settings["max_length"])
    own_settings.check_products(model, own_settings.COSINE)
    encode_paragraphs, encode_questions = (
        bi_encoder.cached(function, model, job.settings, job.vectors)
        for function in (bi_encoder.encode_documents, bi_encoder.encode_queries)
    )
    job.record["device"] = device.describe(where)
    return of_vectors(job.collection, encode_paragraphs, encode_questions)
