"""Gradient-boosted trees over dense features, trained in seconds and saved as plain arrays."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

from lextables.models.linear import NEVER

# As in stochastic gradient boosting (Friedman 2002), a tree sees a share of the rows.
TREES, RATE, DEPTH = 150, 0.08, 6
OPTIONS = {"max_depth": DEPTH, "subsample": 0.3, "max_features": 0.2, "min_samples_leaf": 30}


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
        rows, logits = np.arange(len(features)), np.full(len(features), float(self.start))
        for root in self.roots.tolist():
            node = np.full(len(features), root)
            for _ in range(DEPTH):
                below = features[rows, self.feature[node]] <= self.threshold[node]
                node = np.where(below, self.left[node], self.right[node])
            logits += self.value[node]
        return logits

    def arrays(self) -> Mapping[str, np.ndarray]:
        """Return the arrays by name, for `linear.save`; ``Trees(**arrays)`` is equal."""
        return asdict(self)


def fit(features: np.ndarray, labels: np.ndarray) -> Trees:
    """Return `TREES` boosted trees that predict ``labels``, bool (rows,).

    ``features``: float32 (rows, features).  With labels of one class, that class is always predicted.
    """
    if labels.all() or not labels.any():
        start = -NEVER if len(labels) and labels.all() else NEVER
        return Trees(np.array(start), *(np.zeros(0, dtype=np.int64) for _ in range(6)))
    model = GradientBoostingClassifier(n_estimators=TREES, learning_rate=RATE, random_state=0, **OPTIONS)
    grown = [each.tree_ for each in model.fit(features, labels).estimators_[:, 0]]
    roots = np.array([0, *accumulate(tree.node_count for tree in grown)])[:-1]

    def children(side: str) -> np.ndarray:
        own = [getattr(tree, f"children_{side}") for tree in grown]
        moved = (np.where(at < 0, np.arange(len(at)), at) + root for at, root in zip(own, roots, strict=True))
        return np.concatenate(list(moved))

    share = labels.mean()
    return Trees(
        np.array(np.log(share / (1 - share))),
        roots,
        np.maximum(np.concatenate([tree.feature for tree in grown]), 0),
        np.concatenate([tree.threshold for tree in grown]),
        children("left"),
        children("right"),
        RATE * np.concatenate([tree.value.ravel() for tree in grown]),
    )
