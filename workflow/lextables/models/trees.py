"""Gradient-boosted trees over dense features, trained in seconds and saved as plain arrays."""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

from lextables.models.linear import NEVER

# As in stochastic gradient boosting (Friedman 2002), a tree sees a share of the rows.
TREES, RATE, DEPTH = 150, 0.08, 6
OPTIONS = {
    "max_depth": DEPTH,
    "subsample": 0.3,
    "max_features": 0.2,
    "min_samples_leaf": 30,
}


@dataclass(frozen=True)
class Trees:
    """Trees of at most `DEPTH` levels; a logit is ``start`` plus the value of the row's leaf in each.

    ``roots`` int64 (trees,) are the first nodes.  For each node, (nodes,): a row goes to ``left`` if its
    ``feature`` is at most the ``threshold``, and otherwise to ``right``; a leaf goes to itself.
    """

    start: np.ndarray
    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Return the logit of each row of ``features``, float32 (rows, features); float64 (rows,)."""
        rows, logits = (
            np.arange(len(features)),
            np.full(len(features), float(self.start)),
        )
        for root in self.roots.tolist():
            node = np.full(len(features), root)
            for _ in range(DEPTH):
                below = features[rows, self.feature[node]] <= self.threshold[node]
                node = np.where(below, self.left[node], self.right[node])
            logits += self.value[node]
        return logits


def fit(features: np.ndarray, labels: np.ndarray) -> Trees:
    """Return `TREES` boosted trees that predict ``labels``, bool (rows,).

    ``features``: float32 (rows, features).  With labels of one class, that class is always predicted.
    """
    if labels.all() or not labels.any():
        start = -NEVER if len(labels) and labels.all() else NEVER
        return Trees(np.array(start), *(np.zeros(0, dtype=np.int64) for _ in range(6)))
    model = GradientBoostingClassifier(
        n_estimators=TREES,
        learning_rate=RATE,
        random_state=0,
        **OPTIONS,
    )
    grown = [each.tree_ for each in model.fit(features, labels).estimators_[:, 0]]
    sizes = [tree.node_count for tree in grown]
    roots = np.cumsum(sizes) - sizes
    names = ("feature", "threshold", "children_left", "children_right", "value")
    feature, threshold, left, right, value = (
        np.concatenate([getattr(tree, name).ravel() for tree in grown])
        for name in names
    )
    # Children are numbered within their tree, and -1 at a leaf.
    left, right = (
        np.where(at < 0, np.arange(len(at)), at + np.repeat(roots, sizes))
        for at in (left, right)
    )
    start = np.log(labels.mean() / (1 - labels.mean()))
    return Trees(
        np.array(start),
        roots,
        np.maximum(feature, 0),
        threshold,
        left,
        right,
        RATE * value,
    )
