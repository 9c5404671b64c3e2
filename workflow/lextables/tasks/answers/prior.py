"""Answers without a text: as the other documents were answered, or all options alike."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from lextables.metrics.soft_labels import smoothed
from lextables.tasks.answers.collection import Shares

Answers = dict[tuple[str, str], np.ndarray]


def prior(shares: Shares, *, pseudo: float, smoothing: float) -> Answers:
    """Return of each document and question the mean of the other documents' smoothed shares.

    As if ``pseudo`` more documents had been answered with all options alike.
    """
    found: Answers = {}
    for question, of_question in shares.items():
        if not of_question:
            continue
        rows = smoothed(np.stack([*of_question.values()]), smoothing)
        alike = pseudo / rows.shape[1]
        of_others = (
            1 - np.eye(len(rows))
        ) @ rows  # what is taken off a sum again leaves a trace in its digits
        given = (of_others + alike) / (len(rows) - 1 + pseudo)
        found |= {(document, question): one for document, one in zip(of_question, given, strict=True)}
    return found


def random(shares: Shares) -> Answers:
    """Return the same probability for every option: what guessing at random is."""
    return {
        (document, question): np.full(len(one), 1 / len(one))
        for question, of_question in shares.items()
        for document, one in of_question.items()
    }


def baseline(shares: Shares, settings: Mapping[str, Any]) -> Answers:
    """Return the answers of the settings' ``kind``, `prior` or `random`."""
    if settings["kind"] == "random":
        return random(shares)
    return prior(shares, pseudo=settings["pseudo"], smoothing=settings["smoothing"])
