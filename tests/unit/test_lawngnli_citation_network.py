"""The citation network of a corpus: the cases that a case cites, and those that
cite it.
"""

import numpy as np
import pytest

from lextables.papers.lawngnli.citations.candidates import CITES
from lextables.papers.lawngnli.premises.neutralization import CitationNetwork, pairs_of
from lextables.pipeline import dataset

PAIRS = [
    (10, 20),
    (10, 30),
    (20, 10),
    (40, 10),
    (10, 20),
    (50, 50),
    (7_000_000_000, 20),
]


@pytest.mark.parametrize(
    ("case_id", "expected"),
    [
        (10, [20, 30, 40]),
        (20, [10, 7_000_000_000]),
        (30, [10]),
        (7_000_000_000, [20]),
        (50, []),  # a case that cites only itself
        (99, []),
        (8_000_000_000, []),
    ],
)
def test_neighbours_are_citing_and_cited_cases(case_id, expected):
    found = CitationNetwork(PAIRS).neighbours(case_id)
    assert found.dtype == np.int64
    assert found.tolist() == expected


@pytest.mark.parametrize("cases", [[], [10], [20, 40], [99]])
def test_pairs_of_some_cases_include_all_their_neighbours(tmp_path, cases):
    names = [column.name for column in CITES.columns]
    paths = [tmp_path / name for name in "abc"]
    for path, some in zip(paths, (PAIRS[:3], [], PAIRS[3:]), strict=True):
        rows = [dict(zip(names, pair, strict=True)) for pair in sorted(some)]
        dataset.write(CITES, rows, path)
    found = list(pairs_of(cases, paths))
    assert all(set(pair) & set(cases) for pair in found)
    part = CitationNetwork(found)
    whole = CitationNetwork(PAIRS)
    for case in cases:
        assert part.neighbours(case).tolist() == whole.neighbours(case).tolist()
