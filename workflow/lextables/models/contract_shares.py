"""Parts of the training contracts: those held out to choose hyper-parameters, and the shares of Figure 6."""

from collections.abc import Iterable

import numpy as np


def held_out(contract_ids: Iterable[str], share: float) -> frozenset[str]:
    """Return the contracts held out of training to search the grid: ``share`` of them, one at least.

    Section 4.1 sets aside "a small validation set" and says no more; this draw is ours.
    """
    return _drawn(contract_ids, share, seed=0)


def part(contract_ids: Iterable[str], percent: int, seed: int) -> frozenset[str]:
    """Return ``percent`` per cent of the contracts, one at least (Section 4.2, Figure 6)."""
    return _drawn(contract_ids, percent / 100, seed)


def _drawn(contract_ids: Iterable[str], share: float, seed: int) -> frozenset[str]:
    names = sorted(contract_ids)
    count = max(1, round(len(names) * share))
    return frozenset(np.random.default_rng(seed).permutation(names)[:count].tolist())
