"""Hashed n-grams of texts, without a vocabulary in memory or on disk."""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import HashingVectorizer

BUCKETS = 2**22
BATCH = 1000  # texts
WORD = r"(?u)\b\w+\b"


def runs(texts: Iterable[str], longest: int, shortest: int = 1, *, buckets: int = BUCKETS) -> csr_matrix:
    """Return 1 for each n-gram of ``shortest`` to ``longest`` words in a text, float32 (texts, buckets).

    Case is ignored.  Among a million n-grams some share a bucket.
    """
    hashing = HashingVectorizer(
        ngram_range=(shortest, longest), binary=True, norm=None, alternate_sign=False, n_features=buckets,
        token_pattern=WORD, dtype=np.float32,
    )  # fmt: skip
    remaining = iter(texts)
    parts = [csr_matrix((0, buckets), dtype=np.float32)]
    while batch := list(islice(remaining, BATCH)):
        parts.append(hashing.transform(batch))
    return csr_matrix(vstack(parts))


def standing_in(columns: csr_matrix) -> np.ndarray:
    """Return the document frequency of each n-gram, int64 (buckets,)."""
    return np.bincount(columns.indices, minlength=columns.shape[1])


def overlaps(firsts: Sequence[csr_matrix], seconds: Sequence[csr_matrix], rare: np.ndarray) -> np.ndarray:
    """Return the share of each pair's second text that is also in the first, float64 (pairs, 3).

    Of its different words, of its bigrams, and of the weights ``rare`` (buckets,) of its words.  ``firsts``
    and ``seconds`` are the words and the bigrams of the two texts of the pairs.
    """
    (words, bigrams), (second_words, second_bigrams) = firsts, seconds
    shared = words.multiply(second_words)
    return np.column_stack(
        [
            _share(shared.sum(axis=1), second_words.sum(axis=1)),
            _share(bigrams.multiply(second_bigrams).sum(axis=1), second_bigrams.sum(axis=1)),
            _share(shared @ rare, second_words @ rare),
        ]
    )


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    part, whole = (np.asarray(each, dtype=np.float64).ravel() for each in (part, whole))
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
