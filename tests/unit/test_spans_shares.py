"""Parts of the training contracts are drawn by seed alone."""

from itertools import pairwise

from lextables.tasks.spans.squad import held_out, held_out_contracts, part

NAMES = [f"contract {i}" for i in range(40)]


def test_the_draw_depends_on_the_names_and_the_seed_only():
    assert held_out(NAMES, 0.1) == held_out(reversed(NAMES), 0.1)
    assert len(held_out(NAMES, 0.1)) == 4
    assert part(NAMES, 30, seed=0) != part(NAMES, 30, seed=1)
    assert part(NAMES, 100, seed=3) == frozenset(NAMES)


def test_a_smaller_share_lies_in_a_larger_one_and_none_is_empty():
    shares = [part(NAMES, percent, seed=0) for percent in (1, 3, 10, 30, 100)]
    assert [len(share) for share in shares] == [1, 1, 4, 12, 40]
    assert all(small <= large for small, large in pairwise(shares))


def test_held_out_are_a_share_of_the_training_contracts_or_a_split():
    splits = dict.fromkeys(NAMES, "train") | {"a": "dev", "b": "test", "c": "dev"}
    assert held_out_contracts(splits, "dev") == {"a", "c"}
    trained = [name for name in splits if name != "b"]
    assert held_out_contracts(splits, 0.1) == held_out(trained, 0.1)
    everything = held_out_contracts(splits, 1.0)
    assert everything == set(trained)
    # What is tested on goes by the name that the data set gives it.
    assert held_out_contracts(splits, 1.0, test="dev") == set(splits) - {"a", "c"}
