"""Subsets of the training contracts: those held out for model selection, and the shares of Figure 6."""

from collections.abc import Iterable, Mapping

import numpy as np


def held_out(contract_ids: Iterable[str], share: float) -> frozenset[str]:
    """Return a random ``share`` of the contracts, at least one, to hold out for model selection.

    CUAD's Section 4.1 mentions only "a small validation set", so the draw is our own.
    """
    return _drawn(contract_ids, share, seed=0)


def held_out_contracts(splits: Mapping[str, str], share: float | str, test: str = "test") -> frozenset[str]:
    """Return the held-out contracts: those of the split ``share``, or that share of the training contracts.

    ``splits`` maps contracts to splits; all splits but ``test`` are for training.
    """
    if isinstance(share, str):
        return frozenset(name for name, split in splits.items() if split == share)
    return held_out((name for name, split in splits.items() if split != test), share)


def part(contract_ids: Iterable[str], percent: int, seed: int) -> frozenset[str]:
    """Return ``percent`` per cent of the contracts, at least one (Section 4.2, Figure 6)."""
    return _drawn(contract_ids, percent / 100, seed)


def _drawn(contract_ids: Iterable[str], share: float, seed: int) -> frozenset[str]:
    names = sorted(contract_ids)
    count = max(1, round(len(names) * share))
    return frozenset(np.random.default_rng(seed).permutation(names)[:count].tolist())
