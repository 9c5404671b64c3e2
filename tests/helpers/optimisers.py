"""Optimiser settings for grids and trainings of tests."""

from lextables.models.settings import Optimiser

CONSTANT = {
    "weight_decay": 0.01,
    "decayed": "weights",
    "betas": [0.9, 0.999],
    "epsilon": 1e-8,
    "clip": None,
    "schedule": "constant",
    "warmup": 0,
}
LINEAR = CONSTANT | {
    "weight_decay": 0,
    "clip": 1.0,
    "schedule": "linear",
}  # as in CUAD's released code


def optimiser(**changes):
    """CONSTANT with changes."""
    return Optimiser(**CONSTANT | changes)
