"""Sampling of training examples: selection and order."""

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from lextables.tasks.classification.examples import balanced, draws, shuffled, subset


def single(*labels):
    """Labels of examples with one right answer each."""
    return [(label,) for label in labels]


def test_balanced_sampling_draws_every_answer_equally_often():
    stream = balanced(single(*[0] * 7, *[1] * 2, 2), np.random.default_rng(0))
    for _ in range(3):
        drawn = Counter(islice(stream, 21))
        assert [drawn[i] for i in range(7)] == [1] * 7
        assert sorted([drawn[7], drawn[8]]) == [3, 4]
        assert drawn[9] == 7


def test_shuffled_sampling_draws_every_example_once_per_pass():
    stream = shuffled([(0,), (0, 2), (), (1,), (1,)], np.random.default_rng(0))
    passes = [list(islice(stream, 5)) for _ in range(4)]
    assert all(sorted(drawn) == [0, 1, 2, 3, 4] for drawn in passes)
    assert len(set(map(tuple, passes))) > 1


LABELS = {"1": single(0, 1, 1, 1), "2": single(0, 1, 2, 2, 2, 2), "3": single(0, 0, 1)}


@pytest.mark.parametrize("sampling", ["balanced", "shuffled"])
def test_each_round_draws_every_head_once_in_random_order(sampling):
    drawn = draws(LABELS, 120, seed=3, sampling=sampling)
    assert drawn.shape == (120, 2)
    rounds = drawn[:, 0].reshape(-1, 3)
    assert all(sorted(order) == [0, 1, 2] for order in rounds.tolist())
    assert len(set(map(tuple, rounds.tolist()))) > 1


@pytest.mark.parametrize("sampling", ["balanced", "shuffled"])
def test_draws_depend_only_on_the_seed_and_not_on_other_heads(sampling):
    together = draws(LABELS, 120, 3, sampling)
    assert (together == draws(LABELS, 120, 3, sampling)).all()
    assert (together != draws(LABELS, 120, 4, sampling)).any()
    alone = draws({"2": LABELS["2"]}, 120, 3, sampling)[:, 1]
    of_two = together[together[:, 0] == 1, 1]
    assert (of_two == alone[: len(of_two)]).all()
    # With more updates, the first draws stay the same.
    assert (draws(LABELS, 160, 3, sampling)[:120] == together).all()


def test_a_subset_keeps_the_same_share_of_every_answer():
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
    assert {r["example_id"] for r in subset(training[::-1], 0.25, 0)} == {
        r["example_id"] for r in kept
    }
    assert [r for r in kept if r["head_id"] == "2"] == subset(training[23:], 0.25, 0)
    assert subset(training, 0.25, 1) != kept
    assert subset(training, 1, 0) == training
    # ⌈20 × 0.21⌉ is 5 and ⌈3 × 0.1⌉ is 1.
    assert Counter(row["label"] for row in subset(training[:23], 0.21, 0)) == {
        0: 5,
        1: 1,
    }
    assert Counter(row["label"] for row in subset(training[:23], 0.1, 0)) == {
        0: 2,
        1: 1,
    }
    listed = [{**row, "labels": [row["label"]]} for row in training]
    assert [row["example_id"] for row in subset(listed, 0.25, 0)] == [
        row["example_id"] for row in kept
    ]


def test_a_multi_label_subset_has_the_same_share_of_each_head():
    training = [
        {
            "example_id": f"{head}/{i:02}",
            "head_id": head,
            "labels": [n for n in range(4) if i >> n & 1],
        }
        for head in ("1", "2")
        for i in range(15)
    ]
    kept = subset(training, 0.2, seed=0, multi_label=True)
    assert Counter(row["head_id"] for row in kept) == {"1": 3, "2": 3}
    of_two = [row for row in kept if row["head_id"] == "2"]
    assert of_two == subset(training[15:], 0.2, 0, multi_label=True)
