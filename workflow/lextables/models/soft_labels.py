"""Soft labels (shares of several answers): label smoothing and cross entropy."""

import numpy as np

# Probabilities are clipped to this distance from 0 and 1; else one confident mistake
# would dominate the mean.
EPSILON = 1e-7


def smoothed(shares: np.ndarray, alpha: float) -> np.ndarray:
    """Return ``(1 - alpha) shares + alpha / m`` for m answers.

    Müller and others, 2019, Section 1.
    """
    answers = shares.shape[1]
    return (1 - alpha) * shares + alpha / answers


def binary_cross_entropy(target: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """Return the cross entropy of each answer against its absence, in nats, averaged
    over answers.

    ``target`` and ``predicted`` (rows, m) lie between 0 and 1; float64 (rows,).
    Marotta-Wurgler and Stein, 2025, Section 5, whose formula is printed without its
    minus sign.
    """
    clipped = np.clip(predicted, EPSILON, 1 - EPSILON)
    answer_terms = target * np.log(clipped)
    absence_terms = (1 - target) * np.log1p(-clipped)
    return -(answer_terms + absence_terms).mean(axis=1)
