"""F1 of a multiple-choice question, micro and macro (MAUD, Tables 7 and 8)."""

import numpy as np


def micro_f1(labels: np.ndarray, chosen: np.ndarray) -> float:
    """Return the micro F1 of one choice an example, which is the share of right choices."""
    return float(np.mean(np.asarray(labels) == np.asarray(chosen)))


def macro_f1(labels: np.ndarray, chosen: np.ndarray) -> float:
    """Return the mean F1 over the answers that are right or chosen at least once.

    As the released training script computes it (scikit-learn's default set of labels).
    """
    from sklearn.metrics import f1_score  # slow to load, and tables that only read scores come here too

    return float(f1_score(labels, chosen, average="macro", zero_division=0))
