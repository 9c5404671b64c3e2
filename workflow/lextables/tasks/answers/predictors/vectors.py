"""Baselines with the vectors of a sentence encoder."""

import numpy as np

from lextables.models import bi_encoder, device, own_settings
from lextables.models.weights import weights_folder
from lextables.tasks.answers.baselines import Answers, linear_answers, similarity_marks
from lextables.tasks.answers.collection import Space, of_vectors
from lextables.tasks.answers.prediction import Prediction
from lextables.tasks.answers.settings import EncoderSettings, LearningSettings


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
    settings = job.settings
    assert isinstance(settings, EncoderSettings)
    plain = settings.plain()
    where = device.pick(job.device)
    model = bi_encoder.load(weights_folder(plain), where, settings.max_length)
    own_settings.check_products(model, own_settings.COSINE)
    encode = []
    for function in (bi_encoder.encode_documents, bi_encoder.encode_queries):
        encode.append(bi_encoder.cached(function, model, plain, job.vectors))
    job.record["device"] = device.describe(where)
    return of_vectors(job.collection, *encode)
