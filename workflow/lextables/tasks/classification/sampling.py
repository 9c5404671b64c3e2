"""Which examples a training sees, and in which order: settled by the seed before it starts."""

import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lextables.dataset import Row
from lextables.errors import BadInput


def subset(rows: Sequence[Row], fraction: float, seed: int) -> list[Row]:
    """Return a seeded share of the examples of each answer of each head, in the order they came in.

    Of n examples of an answer ⌈n × fraction⌉ stay, so at least one (released `keep_data_part`, there
    without a seed).  What stays of a head does not depend on the other heads.  (MAUD, Figure 3.)
    """
    if not 0 < fraction <= 1:
        raise BadInput(f"fraction = {fraction} is not above 0 and at most 1", where="training size")
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row["head_id"], row["label"]].append(index)
    kept: set[int] = set()
    for (head_id, label), members in groups.items():
        members.sort(key=lambda index: rows[index]["example_id"])
        order = _generator(seed, "subset", head_id, str(label)).permutation(len(members))
        kept.update(members[i] for i in order[: math.ceil(len(members) * fraction)])
    return [row for index, row in enumerate(rows) if index in kept]


def _generator(seed: int, *names: str) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def queue(labels: Sequence[int], generator: np.random.Generator) -> Iterator[int]:
    """Yield indices into ``labels`` for ever, every answer equally often (A.4).

    A pass has each answer as often as the most frequent one has examples, shuffled.  Within an answer
    examples repeat evenly; which of them come once more than the others is drawn anew for each pass (the
    released `oversample` always takes the first).
    """
    of_answer = [np.flatnonzero(np.asarray(labels) == answer) for answer in np.unique(labels)]
    most = max(len(indices) for indices in of_answer)
    while True:
        whole = [np.resize(generator.permutation(indices), most) for indices in of_answer]
        yield from generator.permutation(np.concatenate(whole)).tolist()


def draws(labels: Mapping[str, Sequence[int]], total: int, seed: int, turn: int = 1) -> np.ndarray:
    """Return the ``total`` examples that are trained on, in order: int64 (total, 2), head number and example.

    Heads, numbered in sorted order, take turns; each round goes over all of them in a new order, and each
    head has a queue of its own (A.4), which does not depend on the other heads.  ``labels`` are the training
    labels of each head, of which ``turn`` are drawn before the next head's turn: 1 as the paper's text has
    it; with the batch size each update is of one head, as in the released multi-task script, whose loss
    keeps only the last of the four heads that it draws for an update.
    """
    queues = [queue(of_head, _generator(seed, "queue", head)) for head, of_head in sorted(labels.items())]
    rounds = _generator(seed, "rounds")
    drawn = np.empty((total, 2), dtype=np.int64)
    at = 0
    while at < total:
        for head in rounds.permutation(len(queues)):
            for example in itertools.islice(queues[head], min(turn, total - at)):
                drawn[at] = head, example
                at += 1
    return drawn
