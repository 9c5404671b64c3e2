"""Labels, balance and split (LawngNLI, A.1.4 and A.1.8)."""

import random
from collections import Counter

import pytest

from lextables.papers.lawngnli.dataset.labels import (
    CONTRADICT,
    ENTAIL,
    FROM_NEGATED,
    FROM_PLAIN,
    LABELS,
    NEUTRAL,
    NEUTRALS,
    OPPOSITE,
    assign_labels,
    balance,
    closed_group,
    contradicted,
    draw,
    labelled,
    split_sizes,
)


def rows(place, negated, n, first=0):
    return [
        {
            "example_id": first + i,
            "citing_jurisdiction": place,
            "negated": negated,
            "hypothesis": "the duty was owed",
            "twin": "the duty was not owed",
        }
        for i in range(n)
    ]


@pytest.mark.parametrize(
    ("n", "counts"), [(0, []), (1, [1]), (2, [1, 1]), (9, [3, 3, 3]), (11, [3, 4, 4])]
)
def test_each_stratum_is_divided_into_thirds(n, counts):
    assigned = assign_labels(rows("ill", True, n), seed=1)
    assert sorted(Counter(assigned.values()).values()) == counts


def test_strata_are_defined_by_jurisdiction_and_negation():
    examples = rows("ill", True, 3) + rows("ill", False, 3, 3) + rows("us", True, 3, 6)
    assigned = assign_labels(examples, seed=1)
    for first in (0, 3, 6):
        assert sorted(assigned[i] for i in range(first, first + 3)) == sorted(LABELS)


def test_remaining_examples_get_each_label_about_equally_often():
    examples = [
        row for place in range(600) for row in rows(f"state {place}", True, 1, place)
    ]
    counts = Counter(assign_labels(examples, seed=5).values())
    assert set(counts) == set(LABELS)
    assert min(counts.values()) > 150


def test_labels_depend_on_the_seed_and_not_on_the_order():
    examples = rows("ill", True, 30) + rows("us", False, 31, 100)
    shuffled = random.Random(3).sample(examples, len(examples))
    assigned = assign_labels(examples, seed=7)
    assert [*assigned.items()] == [*assign_labels(shuffled, seed=7).items()]
    assert assigned != assign_labels(examples, seed=8)


def test_draws_depend_only_on_the_seed_and_the_names():
    assert draw(1, "label", 12) == draw(1, "label", "12")
    assert (
        len(
            {draw(1, "a", "b"), draw(1, "ab", ""), draw(1, "a", "c"), draw(2, "a", "b")}
        )
        == 4
    )
    assert 0 <= draw(0, "x") < 2**64


def test_contradict_replaces_the_hypothesis_by_its_twin():
    (row,) = rows("ill", False, 1)
    assert labelled(row, ENTAIL) == {**row, "label": ENTAIL}
    assert labelled(row, NEUTRAL) == {**row, "label": NEUTRAL}
    assert labelled(row, CONTRADICT) == {
        **row,
        "label": CONTRADICT,
        "hypothesis": "the duty was not owed",
        "twin": "the duty was owed",
        "negated": True,
    }
    assert contradicted(contradicted(row)) == row
    with pytest.raises(ValueError, match="maybe"):
        labelled(row, "maybe")


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
    """Return n rows for each (analysis, label, negated, n)."""
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


def test_groups_of_a_subset_have_equal_sizes_and_splits():
    sizes = Counter()
    for name, split in balance(ROWS, seed=1).items():
        row = ROWS[name]
        group = closed_group(row["label"], row["negated"])
        sizes[group, row["analysis"], split] += 1
    expected = {}
    for group in (FROM_NEGATED, FROM_PLAIN, NEUTRALS):
        expected |= {(group, True, "train"): 54, (group, True, "val"): 3}
        expected |= {(group, True, "test"): 3, (group, False, "train"): 3}
    assert sizes == expected


def test_a_subset_with_a_missing_group_is_empty():
    rows = examples((True, "entail", True, 5), (True, "neutral", True, 5))
    assert balance(rows, seed=1) == {}
    assert balance([], seed=1) == {}


def test_balance_depends_only_on_names_and_the_seed():
    shuffled = random.Random(4).sample(ROWS, len(ROWS))
    splits = balance(ROWS, seed=2)
    assert [*splits.items()] == [*balance(shuffled, seed=2).items()]
    assert splits.keys() != balance(ROWS, seed=3).keys()


@pytest.mark.parametrize(("times", "share"), [(1, 0.3), (40, 0.05)])
def test_small_data_sets_have_a_larger_test_share(times, share):
    rows = []
    for number, row in enumerate(ROWS * times):
        rows.append(row | {"example_id": str(number)})
    splits = balance(rows, seed=1, test_share=None)
    assert splits == balance(rows, seed=1, test_share=share)
    assert splits != balance(rows, seed=1, test_share=0.35 - share)


@pytest.mark.parametrize(("group", "tested"), [(999, 300), (1000, 50)])
def test_the_papers_test_share_needs_300_test_examples_with_their_twins(group, tested):
    # Three groups of 1,000 examples and their twins have 6,000, of which 5 % are 300.
    rows = examples(*((True, label, True, group) for label in LABELS))
    splits = Counter(balance(rows, seed=1, test_share=None).values())
    assert splits["test"] == 3 * tested
