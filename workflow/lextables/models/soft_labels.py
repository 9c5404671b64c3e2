"""Labels that are shares of several answers: how they are smoothed, and what a prediction of them loses."""

import numpy as np

EPSILON = (
    1e-7  # probabilities are held this far from 0 and 1, or one sure mistake would outweigh all the rest
)


def smoothed(shares: np.ndarray, alpha: float) -> np.ndarray:
    """Return ``(1 - alpha) shares + alpha / m``, of m answers (Müller and others, 2019, Section 1)."""
    return (1 - alpha) * shares + alpha / shares.shape[1]


def binary_cross_entropy(target: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the cross entropy of each answer against its absence, in nats, averaged over answers.

    ``target`` and ``given`` (rows, m) between 0 and 1, float64 (rows,).  Marotta-Wurgler and Stein, 2025,
    Section 5, whose formula is printed without its minus sign.
    """
    held = np.clip(given, EPSILON, 1 - EPSILON)
    return -(target * np.log(held) + (1 - target) * np.log1p(-held)).mean(axis=1)
