"""Which runs of words stand in texts: hashed, so that no vocabulary takes memory or is kept."""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import HashingVectorizer

BUCKETS = 2**22
AT_ONCE = 1000  # texts
WORD = r"(?u)\b\w+\b"


def runs(texts: Iterable[str], longest: int, shortest: int = 1, *, buckets: int = BUCKETS) -> csr_matrix:
    """Return 1 where a run of ``shortest`` to ``longest`` words stands in a text, float32 (texts, buckets).

    Case does not count.  Runs that fall into one bucket are one; of a million runs some share one.
    """
    hashing = HashingVectorizer(
        ngram_range=(shortest, longest), binary=True, norm=None, alternate_sign=False, n_features=buckets,
        token_pattern=WORD, dtype=np.float32,
    )  # fmt: skip
    given = iter(texts)
    parts = [csr_matrix((0, buckets), dtype=np.float32)]
    while batch := list(islice(given, AT_ONCE)):
        parts.append(hashing.transform(batch))
    return csr_matrix(vstack(parts))


def standing_in(columns: csr_matrix) -> np.ndarray:
    """Return how many texts each run stands in, int64 (buckets,)."""
    return np.bincount(columns.indices, minlength=columns.shape[1])


def overlaps(firsts: Sequence[csr_matrix], seconds: Sequence[csr_matrix], rare: np.ndarray) -> np.ndarray:
    """Return what of the second text of each pair stands in the first, float64 (pairs, 3), shares of one.

    Of its different words, of its pairs of words, and of its words' weights ``rare`` (buckets,).  ``firsts``
    and ``seconds`` are the words, and the pairs of words, of both texts of the pairs.
    """
    (words, pairs), (asked_words, asked_pairs) = firsts, seconds
    shared = words.multiply(asked_words)
    return np.column_stack(
        [
            _share(shared.sum(axis=1), asked_words.sum(axis=1)),
            _share(pairs.multiply(asked_pairs).sum(axis=1), asked_pairs.sum(axis=1)),
            _share(shared @ rare, asked_words @ rare),
        ]
    )


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    part, whole = (np.asarray(each, dtype=np.float64).ravel() for each in (part, whole))
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
