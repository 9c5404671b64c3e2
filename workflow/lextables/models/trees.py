"""Gradient-boosted trees over dense features, trained in seconds and saved as plain
arrays.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

from lextables.models.linear import NEVER

# Options of scikit-learn's `GradientBoostingClassifier`.  As in stochastic gradient
# boosting (Friedman 2002), a tree sees a share of the rows.
TREES = 150
RATE = 0.08
DEPTH = 6
OPTIONS = {
    "max_depth": DEPTH,
    "subsample": 0.3,
    "max_features": 0.2,
    "min_samples_leaf": 30,
}


@dataclass(frozen=True)
class Trees:
    """Trees of at most `DEPTH` levels; a logit is ``start`` plus the value of the row's
    leaf in each.

    ``roots`` int64 (trees,) are the first nodes.  For each node, (nodes,): a row goes
    to ``left`` if its ``feature`` is at most the ``threshold``, and otherwise to
    ``right``; a leaf goes to itself.
    """

    start: np.ndarray
    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray

    def logits(self, features: np.ndarray) -> np.ndarray:
        """Return the logit of each row of ``features``, float32 (rows, features);
        float64 (rows,).
        """
        rows = np.arange(len(features))
        logits = np.full(len(features), float(self.start))
        for root in self.roots.tolist():
            node = np.full(len(features), root)
            for _ in range(DEPTH):
                values = features[rows, self.feature[node]]
                is_below = values <= self.threshold[node]
                node = np.where(is_below, self.left[node], self.right[node])
            logits += self.value[node]
        return logits


def fit(features: np.ndarray, labels: np.ndarray) -> Trees:
    """Return `TREES` boosted trees that predict ``labels``, bool (rows,).

    ``features``: float32 (rows, features).  With labels of one class, that class is
    always predicted.
    """
    if labels.all():
        return _without_trees(-NEVER)
    if not labels.any():
        return _without_trees(NEVER)
    model = GradientBoostingClassifier(
        n_estimators=TREES, learning_rate=RATE, random_state=0, **OPTIONS
    )
    model.fit(features, labels)
    grown = [estimator.tree_ for estimator in model.estimators_[:, 0]]
    sizes = [tree.node_count for tree in grown]
    roots = np.cumsum(sizes) - sizes
    offsets = np.repeat(roots, sizes)
    feature = np.concatenate([tree.feature for tree in grown])
    left = np.concatenate([tree.children_left for tree in grown])
    right = np.concatenate([tree.children_right for tree in grown])
    value = np.concatenate([tree.value.ravel() for tree in grown])
    share = labels.mean()
    return Trees(
        start=np.array(np.log(share / (1 - share))),
        roots=roots,
        # A leaf has no feature (-2); any will do, because both its children are the
        # leaf.
        feature=np.maximum(feature, 0),
        threshold=np.concatenate([tree.threshold for tree in grown]),
        left=_next_nodes(left, offsets),
        right=_next_nodes(right, offsets),
        value=RATE * value,
    )


def _without_trees(logit: float) -> Trees:
    """Return a model that gives every row the same logit."""
    nothing = np.zeros(0, dtype=np.int64)
    return Trees(
        start=np.array(logit),
        roots=nothing,
        feature=nothing,
        threshold=nothing,
        left=nothing,
        right=nothing,
        value=nothing,
    )


def _next_nodes(children: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the number of each node's child among the nodes of all trees, int64.

    ``children`` are numbered within their tree, and -1 at a leaf, which is its own
    child; ``offsets`` (nodes,) is the first node of the tree.
    """
    return np.where(children < 0, np.arange(len(children)), children + offsets)
