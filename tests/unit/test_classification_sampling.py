"""Which examples a training sees, and in which order."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from lextables.errors import BadInput
from lextables.tasks.classification.sampling import draws, queue, subset


def test_a_pass_of_a_queue_draws_every_answer_equally_often():
    labels = [0] * 7 + [1] * 2 + [2]
    stream = queue(labels, np.random.default_rng(0))
    for _ in range(3):
        drawn = Counter(islice(stream, 21))
        assert [drawn[i] for i in range(7)] == [1] * 7
        assert sorted([drawn[7], drawn[8]]) == [3, 4]
        assert drawn[9] == 7


LABELS = {"1": [0, 1, 1, 1], "2": [0, 1, 2, 2, 2, 2], "3": [0, 0, 1]}


@pytest.mark.parametrize("turn", [1, 2, 4])
def test_heads_take_turns_in_a_new_order_each_round(turn):
    drawn = draws(LABELS, 120, seed=3, turn=turn)
    assert drawn.shape == (120, 2)
    turns = drawn[:, 0].reshape(-1, turn)
    assert (turns == turns[:, :1]).all()
    rounds = turns[: len(turns) // 3 * 3, 0].reshape(-1, 3)
    assert all(sorted(order) == [0, 1, 2] for order in rounds.tolist())
    assert len(set(map(tuple, rounds.tolist()))) > 1


def test_draws_are_settled_by_the_seed_and_a_head_s_by_itself():
    together = draws(LABELS, 120, seed=3)
    assert (together == draws(LABELS, 120, seed=3)).all()
    assert (together != draws(LABELS, 120, seed=4)).any()
    alone = draws({"2": LABELS["2"]}, 120, seed=3)[:, 1]
    of_two = together[together[:, 0] == 1, 1]
    assert (of_two == alone[: len(of_two)]).all()
    # More updates go on from where fewer end.
    assert (draws(LABELS, 160, seed=3)[:120] == together).all()


def test_a_subset_keeps_a_share_of_every_answer():
    training = [
        {"example_id": f"{head}/{i}", "head_id": head, "label": int(i >= 20)}
        for head in ("1", "2")
        for i in range(23)
    ]
    kept = subset(training, 0.25, seed=0)
    assert Counter((row["head_id"], row["label"]) for row in kept) == {
        ("1", 0): 5,
        ("1", 1): 1,
        ("2", 0): 5,
        ("2", 1): 1,
    }
    assert kept == [row for row in training if row in kept]
    assert {r["example_id"] for r in subset(training[::-1], 0.25, 0)} == {r["example_id"] for r in kept}
    assert [r for r in kept if r["head_id"] == "2"] == subset(training[23:], 0.25, 0)
    assert subset(training, 0.25, 1) != kept
    assert subset(training, 1, 0) == training
    with pytest.raises(BadInput, match="fraction = 0 is not above 0 and at most 1"):
        subset(training, 0, 0)
