"""Ratios of arrays, defined where the whole is 0."""

import math

import numpy as np


def ratio(
    part: np.ndarray, whole: np.ndarray, undefined: float = math.nan
) -> np.ndarray:
    """Return ``part`` / ``whole``, float64, and ``undefined`` where ``whole`` is not
    above 0.

    The shapes are broadcast.
    """
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.full(part.shape, undefined), where=whole > 0)
