"""Parts of the training contracts: those held out to choose hyper-parameters, and the shares of Figure 6."""

from collections.abc import Iterable, Mapping

import numpy as np


def held_out(contract_ids: Iterable[str], share: float) -> frozenset[str]:
    """Return the contracts held out of training to search the grid: ``share`` of them, one at least.

    Section 4.1 sets aside "a small validation set" and says no more; this draw is ours.
    """
    return _drawn(contract_ids, share, seed=0)


def held_out_contracts(splits: Mapping[str, str], share: float | str, test: str = "test") -> frozenset[str]:
    """The contracts on which a grid is searched: those of split ``share``, or that share of training.

    ``splits`` maps a contract to its split; all but ``test`` are for training.
    """
    if isinstance(share, str):
        return frozenset(name for name, split in splits.items() if split == share)
    return held_out((name for name, split in splits.items() if split != test), share)


def part(contract_ids: Iterable[str], percent: int, seed: int) -> frozenset[str]:
    """Return ``percent`` per cent of the contracts, one at least (Section 4.2, Figure 6)."""
    return _drawn(contract_ids, percent / 100, seed)


def _drawn(contract_ids: Iterable[str], share: float, seed: int) -> frozenset[str]:
    names = sorted(contract_ids)
    count = max(1, round(len(names) * share))
    return frozenset(np.random.default_rng(seed).permutation(names)[:count].tolist())
