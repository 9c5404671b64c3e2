import random
from collections import Counter

import pytest

from lextables.papers.lawngnli.examples import twin, twinned
from lextables.papers.lawngnli.labels import (
    FROM_NEGATED,
    FROM_PLAIN,
    LABELS,
    NEUTRALS,
    OPPOSITE,
    balance,
    balanced,
    closed_group,
    in_analysis,
    split_sizes,
)


@pytest.mark.parametrize(("tokens", "inside"), [(4095, True), (4096, True), (4097, False)])
def test_in_analysis(tokens, inside):
    assert in_analysis(tokens) is inside


@pytest.mark.parametrize(
    ("label", "negated", "group"),
    [
        ("entail", True, FROM_NEGATED),
        ("contradict", False, FROM_NEGATED),
        ("contradict", True, FROM_PLAIN),
        ("entail", False, FROM_PLAIN),
        ("neutral", True, NEUTRALS),
        ("neutral", False, NEUTRALS),
    ],
)
def test_groups_are_closed_under_contradiction(label, negated, group):
    assert closed_group(label, negated) == group
    assert closed_group(OPPOSITE[label], not negated) == group


@pytest.mark.parametrize(
    ("n", "train", "val", "test"),
    [(0, 0, 0, 0), (9, 9, 0, 0), (10, 8, 1, 1), (29, 27, 1, 1), (100, 90, 5, 5)],
)
def test_split_sizes(n, train, val, test):
    assert split_sizes(n) == {"train": train, "val": val, "test": test}


def examples(*cells):
    """Rows from (analysis, label, negated, n)."""
    rows = []
    for analysis, label, negated, n in cells:
        for _ in range(n):
            rows.append(
                {
                    "example_id": len(rows),
                    "analysis": analysis,
                    "label": label,
                    "negated": negated,
                    "hypothesis": f"h{len(rows)}",
                    "twin": f"t{len(rows)}",
                    "short_premise": f"p{len(rows)}",
                }
            )
    return rows


ROWS = examples(
    (True, "entail", True, 30),
    (True, "contradict", False, 40),
    (True, "contradict", True, 25),
    (True, "entail", False, 35),
    (True, "neutral", True, 50),
    (True, "neutral", False, 60),
    (False, "entail", True, 3),
    (False, "entail", False, 20),
    (False, "neutral", False, 20),
)


def test_each_subset_is_cut_to_its_smallest_group():
    kept = list(balanced(ROWS, balance(ROWS, seed=1)))
    counts = Counter((row["analysis"], closed_group(row["label"], row["negated"])) for row in kept)
    assert counts == {(True, g): 60 for g in (FROM_NEGATED, FROM_PLAIN, NEUTRALS)} | {
        (False, g): 3 for g in (FROM_NEGATED, FROM_PLAIN, NEUTRALS)
    }


def test_the_split_is_stratified_by_subset_and_group():
    kept = list(balanced(ROWS, balance(ROWS, seed=1)))
    cells = Counter(
        (closed_group(row["label"], row["negated"]), row["split"]) for row in kept if row["analysis"]
    )
    for group in (FROM_NEGATED, FROM_PLAIN, NEUTRALS):
        assert [cells[group, split] for split in ("train", "val", "test")] == [54, 3, 3]


def test_a_missing_group_empties_its_subset():
    rows = examples((True, "entail", True, 5), (True, "neutral", True, 5))
    assert balance(rows, seed=1) == {}
    assert balance([], seed=1) == {}


def test_order_and_seed():
    shuffled = random.Random(4).sample(ROWS, len(ROWS))
    assert list(balance(ROWS, seed=2).items()) == list(balance(shuffled, seed=2).items())
    assert balance(ROWS, seed=2).keys() != balance(ROWS, seed=3).keys()


def test_twin_keeps_premise_and_split():
    row = {**ROWS[0], "split": "val"}
    assert twin(row) == {
        **row,
        "hypothesis": row["twin"],
        "twin": row["hypothesis"],
        "negated": False,
        "label": "contradict",
        "is_twin": True,
    }


def test_twinning_balances_label_by_negation():
    kept = balanced(ROWS, balance(ROWS, seed=1))
    rows = list(twinned(kept))
    assert [row["is_twin"] for row in rows[:4]] == [False, True, False, True]
    assert all(
        (a["example_id"], a["split"]) == (b["example_id"], b["split"])
        for a, b in zip(rows[::2], rows[1::2], strict=True)
    )
    counts = Counter((row["analysis"], row["label"], row["negated"]) for row in rows)
    assert counts == {
        (analysis, label, negated): 60 if analysis else 3
        for analysis in (True, False)
        for label in LABELS
        for negated in (True, False)
    }


@pytest.mark.parametrize(("times", "share"), [(1, 0.3), (400, 0.05)])
def test_of_a_small_data_set_more_is_held_out_for_the_test(times, share):
    rows = [row | {"example_id": f"{row['example_id']}-{copy}"} for copy in range(times) for row in ROWS]
    assert balance(rows, seed=1, test_share=None) == balance(rows, seed=1, test_share=share)
    assert balance(rows, seed=1, test_share=0.3) != balance(rows, seed=1, test_share=0.05)
