"""LawngNLI, Appendix A.1.7: which cases cite each other.

Built from every citation that resolves to a case of the corpus, with a parenthetical or not, as the
released code's ``exclude`` dictionary is.  That dictionary goes from citing to cited case only; the
paper excludes "cases citing or cited by", so here each edge is kept in both directions.
"""

from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

_BATCH = 1 << 22


def pairs_of(cases: Iterable[int], paths: Iterable[str | Path]) -> Iterator[tuple[int, int]]:
    """Yield the (citing, cited) pairs of tables of `schema.candidates.CITES` that one of ``cases`` is in.

    They are all that a network needs to know the neighbours of these cases.
    """
    wanted = np.array(sorted(set(cases)), dtype=np.int64)
    for path in paths:
        table = pq.read_table(path, columns=["citing_case_id", "cited_case_id"])
        citing, cited = (column.to_numpy() for column in table.columns)
        found = np.isin(citing, wanted) | np.isin(cited, wanted)
        yield from zip(citing[found].tolist(), cited[found].tolist(), strict=True)


class CitationNetwork:
    """An undirected graph over case ids, as two sorted arrays of the edges (CSR).

    Memory: 16 bytes a case and 8 bytes a distinct pair (4 each way); while it is built, about
    100 a pair.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Read (citing case id, cited case id) pairs in any order, repeats allowed; streams them."""
        edges = _distinct_edges(pairs)
        self.case_ids = np.unique(edges)
        low, high = (np.searchsorted(self.case_ids, edges[:, side]).astype(np.int32) for side in (0, 1))
        sources, targets = np.concatenate([low, high]), np.concatenate([high, low])
        order = np.lexsort((targets, sources))
        self._targets = targets[order]
        self._starts = np.searchsorted(sources[order], np.arange(len(self.case_ids) + 1))

    def __len__(self) -> int:
        """Return the number of distinct unordered pairs of cases."""
        return len(self._targets) // 2

    def neighbours(self, case_id: int) -> np.ndarray:
        """Return the ids, ascending, of the cases that cite ``case_id`` or that it cites."""
        at = int(np.searchsorted(self.case_ids, case_id))
        if at == len(self.case_ids) or self.case_ids[at] != case_id:
            return np.empty(0, dtype=np.int64)
        return self.case_ids[self._targets[self._starts[at] : self._starts[at + 1]]]


def _distinct_edges(pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    """Return the distinct unordered pairs of different cases, shape (n, 2), low id first, sorted."""
    distinct = np.empty((0, 2), dtype=np.int64)
    waiting = array("q")
    for citing, cited in pairs:
        if citing != cited:
            waiting.extend((min(citing, cited), max(citing, cited)))
            # As much as is already there, so that sorting stays n log n over the whole stream.
            if len(waiting) >= 2 * max(_BATCH, len(distinct)):
                distinct = _merge(distinct, waiting)
                waiting = array("q")
    return _merge(distinct, waiting)


def _merge(distinct: np.ndarray, waiting: array) -> np.ndarray:
    new = np.frombuffer(waiting, dtype=np.int64).reshape(-1, 2)
    both = np.concatenate([distinct, new])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    fresh = np.ones(len(both), dtype=bool)
    fresh[1:] = (both[1:] != both[:-1]).any(axis=1)
    return both[fresh]
