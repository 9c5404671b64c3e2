"""Parts of the training contracts are drawn by seed alone."""

from itertools import pairwise

from lextables.models.contract_shares import held_out, part

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
