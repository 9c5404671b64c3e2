"""Which examples a training sees, and in which order: settled by the seed before it starts."""

import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import labels_of

Labels = Sequence[Sequence[int]]  # the right answers of each example of a head


def subset(rows: Sequence[Row], fraction: float, seed: int, *, multi_label: bool = False) -> list[Row]:
    """Return a seeded share of the examples of each answer of each head, in the order they came in.

    Of n examples of an answer ⌈n × fraction⌉ stay, so at least one (released `keep_data_part`, there
    without a seed); with several answers an example, of a head's n.  What stays of a head does not depend on
    the other heads.  (MAUD, Figure 3.)
    """
    if not 0 < fraction <= 1:
        raise BadInput(f"fraction = {fraction} is not above 0 and at most 1", where="training size")
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row["head_id"], "" if multi_label else str(labels_of(row)[0])].append(index)
    kept: set[int] = set()
    for (head_id, label), members in groups.items():
        members.sort(key=lambda index: rows[index]["example_id"])
        order = _generator(seed, "subset", head_id, label).permutation(len(members))
        kept.update(members[i] for i in order[: math.ceil(len(members) * fraction)])
    return [row for index, row in enumerate(rows) if index in kept]


def _generator(seed: int, *names: str) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def balanced(labels: Labels, generator: np.random.Generator) -> Iterator[int]:
    """Yield indices into ``labels``, one answer each, for ever, every answer equally often (MAUD, A.4).

    A pass has each answer as often as the most frequent one has examples, shuffled.  Within an answer
    examples repeat evenly; which of them come once more than the others is drawn anew for each pass (the
    released `oversample` always takes the first).
    """
    answers = np.array([answer for (answer,) in labels])
    of_answer = [np.flatnonzero(answers == answer) for answer in np.unique(answers)]
    most = max(len(indices) for indices in of_answer)
    while True:
        whole = [np.resize(generator.permutation(indices), most) for indices in of_answer]
        yield from generator.permutation(np.concatenate(whole)).tolist()


def shuffled(labels: Labels, generator: np.random.Generator) -> Iterator[int]:
    """Yield indices into ``labels`` for ever, each once a pass, every pass in a new order."""
    while True:
        yield from generator.permutation(len(labels)).tolist()


QUEUES: dict[str, Callable[[Labels, np.random.Generator], Iterator[int]]] = {
    "balanced": balanced,
    "shuffled": shuffled,
}


def draws(
    labels: Mapping[str, Labels], total: int, seed: int, sampling: str = "balanced", turn: int = 1
) -> np.ndarray:
    """Return the ``total`` examples that are trained on, in order: int64 (total, 2), head number and example.

    Heads, numbered in sorted order, take turns; each round goes over all of them in a new order, and each
    head has a queue of its own (one of `QUEUES`), which does not depend on the other heads.  ``labels`` are
    those of each head's training examples, of which ``turn`` are drawn before the next head's turn: 1 as
    MAUD's text has it; with the batch size each update is of one head, as in its released multi-task script,
    whose loss keeps only the last of the four heads that it draws for an update.
    """
    queues = [
        QUEUES[sampling](of_head, _generator(seed, "queue", head)) for head, of_head in sorted(labels.items())
    ]
    rounds = _generator(seed, "rounds")
    drawn = np.empty((total, 2), dtype=np.int64)
    at = 0
    while at < total:
        for head in rounds.permutation(len(queues)):
            for example in itertools.islice(queues[head], min(turn, total - at)):
                drawn[at] = head, example
                at += 1
    return drawn
