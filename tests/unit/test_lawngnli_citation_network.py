import random

import numpy as np
import pytest

from lextables.papers.lawngnli import neutralization
from lextables.papers.lawngnli.candidates import CITES
from lextables.papers.lawngnli.neutralization import CitationNetwork, pairs_of
from lextables.pipeline import dataset

PAIRS = [(10, 20), (10, 30), (20, 10), (40, 10), (10, 20), (50, 50), (7_000_000_000, 20)]


@pytest.mark.parametrize(
    ("case_id", "expected"),
    [
        (10, [20, 30, 40]),
        (20, [10, 7_000_000_000]),
        (30, [10]),
        (7_000_000_000, [20]),
        (50, []),  # a case that cites itself alone
        (99, []),
        (8_000_000_000, []),
    ],
)
def test_neighbours_in_both_directions(case_id, expected):
    found = CitationNetwork(PAIRS).neighbours(case_id)
    assert found.dtype == np.int64
    assert found.tolist() == expected


@pytest.mark.parametrize("cases", [[], [10], [20, 40], [99]])
def test_the_pairs_of_some_cases_give_them_all_their_neighbours(tmp_path, cases):
    names = [column.name for column in CITES.columns]
    for n, some in enumerate((PAIRS[:3], [], PAIRS[3:])):
        dataset.write(
            CITES, (dict(zip(names, pair, strict=True)) for pair in sorted(some)), tmp_path / str(n)
        )
    found = list(pairs_of(cases, (tmp_path / str(n) for n in range(3))))
    assert all(set(pair) & set(cases) for pair in found)
    part, whole = CitationNetwork(found), CitationNetwork(PAIRS)
    for case in cases:
        assert part.neighbours(case).tolist() == whole.neighbours(case).tolist()


def test_length_is_of_distinct_pairs():
    assert len(CitationNetwork(PAIRS)) == 4
    assert len(CitationNetwork([])) == 0
    assert CitationNetwork([]).neighbours(1).tolist() == []


def test_batches_and_order_do_not_matter(monkeypatch):
    drawn = random.Random(1)
    pairs = [(drawn.randrange(60), drawn.randrange(60)) for _ in range(500)]
    expected = {
        a: sorted({y for x, y in pairs if x == a} | {x for x, y in pairs if y == a} - {a}) for a in range(60)
    }
    whole = CitationNetwork(iter(pairs))
    monkeypatch.setattr(neutralization, "_BATCH", 16)
    parts = CitationNetwork(reversed(pairs))
    for case_id in range(60):
        wanted = [n for n in expected[case_id] if n != case_id]
        assert whole.neighbours(case_id).tolist() == parts.neighbours(case_id).tolist() == wanted
