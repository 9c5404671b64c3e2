import random
from collections import Counter

import pytest

from lextables.papers.lawngnli.labels import (
    CONTRADICT,
    ENTAIL,
    LABELS,
    NEUTRAL,
    assign_labels,
    contradicted,
    draw,
    labelled,
)


def rows(place, negated, n, first=0):
    return [
        {
            "example_id": first + i,
            "citing_jurisdiction": place,
            "cited_jurisdiction": "us",
            "negated": negated,
            "hypothesis": "the duty was owed",
            "twin": "the duty was not owed",
        }
        for i in range(n)
    ]


@pytest.mark.parametrize(("n", "counts"), [(0, []), (1, [1]), (2, [1, 1]), (9, [3, 3, 3]), (11, [3, 4, 4])])
def test_each_stratum_is_dealt_in_thirds(n, counts):
    assigned = assign_labels(rows("ill", True, n), seed=1)
    assert sorted(Counter(assigned.values()).values()) == counts


def test_strata_are_jurisdiction_and_negation():
    examples = rows("ill", True, 3) + rows("ill", False, 3, 3) + rows("us", True, 3, 6)
    assigned = assign_labels(examples, seed=1)
    for first in (0, 3, 6):
        assert sorted(assigned[i] for i in range(first, first + 3)) == sorted(LABELS)
    together = assign_labels(examples, seed=1, jurisdiction="cited_jurisdiction")
    assert Counter(together[i] for i in (0, 1, 2, 6, 7, 8)) == dict.fromkeys(LABELS, 2)


def test_the_leftover_example_favours_no_label():
    examples = [row for place in range(600) for row in rows(f"state {place}", True, 1, place)]
    counts = Counter(assign_labels(examples, seed=5).values())
    assert set(counts) == set(LABELS)
    assert min(counts.values()) > 150


def test_order_and_seed():
    examples = rows("ill", True, 30) + rows("us", False, 31, 100)
    shuffled = random.Random(3).sample(examples, len(examples))
    assert list(assign_labels(examples, seed=7).items()) == list(assign_labels(shuffled, seed=7).items())
    assert assign_labels(examples, seed=7) != assign_labels(examples, seed=8)


def test_draw_depends_on_its_names_alone():
    assert draw(1, "label", 12) == draw(1, "label", "12")
    assert len({draw(1, "a", "b"), draw(1, "ab", ""), draw(1, "a", "c"), draw(2, "a", "b")}) == 4
    assert 0 <= draw(0, "x") < 2**64


def test_labelled():
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
