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


def test_each_pass_draws_anew_which_examples_are_repeated():
    """Seven draws of two examples: one of them four times, by chance."""
    stream = balanced(single(*[0] * 7, *[1] * 2), np.random.default_rng(0))
    passes = [Counter(islice(stream, 14)) for _ in range(12)]
    assert {(drawn[7], drawn[8]) for drawn in passes} == {(3, 4), (4, 3)}


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


def rows_of(head, labels):
    """Examples of a head; several right answers if the labels are lists."""
    rows = []
    for number, label in enumerate(labels):
        name = "labels" if isinstance(label, list) else "label"
        row = {"example_id": f"{head}/{number}", "head_id": head, name: label}
        rows.append(row)
    return rows


LABELLED = [0] * 20 + [1] * 3


@pytest.mark.parametrize(
    ("share", "counts"),
    # ⌈20 × 0.21⌉ is 5 and ⌈3 × 0.1⌉ is 1.
    [
        (0.25, {0: 5, 1: 1}),
        (0.21, {0: 5, 1: 1}),
        (0.1, {0: 2, 1: 1}),
        (1, {0: 20, 1: 3}),
    ],
)
def test_a_subset_keeps_the_same_share_of_every_answer(share, counts):
    one, two = rows_of("1", LABELLED), rows_of("2", LABELLED)
    kept = subset([*one, *two], share, seed=0)
    assert kept == [*subset(one, share, 0), *subset(two, share, 0)]
    for rows in (one, two):
        of_head = [row for row in rows if row in kept]
        assert Counter(row["label"] for row in of_head) == counts


def test_a_subset_depends_on_the_seed_and_not_on_the_order():
    rows = rows_of("1", LABELLED)
    kept = subset(rows, 0.25, seed=0)
    assert subset(rows, 0.25, seed=1) != kept
    assert subset(rows[::-1], 0.25, seed=0) == kept[::-1]
    listed = subset(rows_of("1", [[label] for label in LABELLED]), 0.25, seed=0)
    names = [row["example_id"] for row in kept]
    assert [row["example_id"] for row in listed] == names


def test_a_multi_label_subset_has_the_same_share_of_each_head():
    labels = [[], [0], [1], [0, 1], [2]] * 3
    one, two = rows_of("1", labels), rows_of("2", labels)
    kept = subset([*one, *two], 0.2, seed=0, multi_label=True)
    of_each = [subset(rows, 0.2, 0, multi_label=True) for rows in (one, two)]
    assert kept == of_each[0] + of_each[1]
    assert list(map(len, of_each)) == [3, 3]
