"""Paragraphs of a long text with the highest BM25 scores for a query (LawngNLI, Section 4.1).

A paragraph is a line that is not blank.  The paragraphs of the text are the collection of the BM25 (as in
`bm25.OkapiBM25`).

Building a gensim model for each text and query would be slow.  Here a text is one sorted array with a 64-bit
number per word: the upper bits are a hash of the word, the lower bits the number of its paragraph.  Two words
are only confused if more than 50 bits of their hashes agree.
"""

from functools import lru_cache

import numpy as np

from lextables.models import bm25

MOST = 5
# Base of a polynomial hash over a word's characters, modulo 2 ** 64; odd numbers have an inverse.
_BASE = 0x9E3779B97F4A7C15
_LINE_FEED = ord("\n")
_PAST_SPACES = 0x3001  # no code point from here on is white space
_SPACE = np.array([chr(code).isspace() for code in range(_PAST_SPACES + 1)])


class Paragraphs:
    """The paragraphs of one text, indexed for any number of queries; 8 bytes per word besides the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        codes = _codes(text)
        hashes, starts = _words(codes)
        feeds = np.flatnonzero(codes == _LINE_FEED)
        bounds = np.concatenate(([-1], feeds, [len(text)]))
        lengths = np.diff(np.searchsorted(starts, bounds))
        holds = lengths > 0
        self._begins, self._ends = bounds[:-1][holds] + 1, bounds[1:][holds]
        self._lengths = lengths[holds]
        self._lower = np.uint64((1 << len(self).bit_length()) - 1)
        places = np.repeat(np.arange(len(self), dtype=np.uint64), self._lengths)
        self._words = np.sort(hashes & ~self._lower | places)
        self._idf = bm25.idf_by_frequency(self._words_by_frequency())

    def __len__(self) -> int:
        """Return the number of paragraphs."""
        return len(self._lengths)

    def best(self, query: str, most: int = MOST) -> str:
        """Return the ``most`` paragraphs with the highest scores in their original order, one per line.

        Ties are resolved in favour of earlier paragraphs.  A text without more paragraphs is returned
        unchanged.
        """
        if len(self) <= most:
            return self.text
        return "\n".join(self.text[self._begins[at] : self._ends[at]] for at in self.chosen(query, most))

    def chosen(self, query: str, most: int = MOST) -> list[int]:
        """Return the positions of the paragraphs that `best` returns, ascending."""
        if len(self) <= most:
            return list(range(len(self)))
        return sorted(np.argsort(-self.scores(query), kind="stable")[:most].tolist())

    def scores(self, query: str) -> np.ndarray:
        """Return the score of each paragraph for the query, float64 (paragraphs,)."""
        words = _query(query)
        first = np.searchsorted(self._words, words & ~self._lower)
        matches = np.searchsorted(self._words, words | self._lower, side="right") - first
        # Positions of all matches, in the order of the query's words.
        at = np.arange(matches.sum()) + np.repeat(first - (np.cumsum(matches) - matches), matches)
        places = (self._words[at] & self._lower).astype(np.intp)
        cells = np.repeat(np.arange(len(words)) * len(self), matches) + places
        counts = np.bincount(cells, minlength=len(words) * len(self)).reshape(len(words), len(self))
        return bm25.okapi_scores(counts.T, self._idf[(counts > 0).sum(axis=1)], self._lengths)

    def _words_by_frequency(self) -> np.ndarray:
        """Return the number of words in exactly n paragraphs for each n, integers (paragraphs + 1,)."""
        once = self._words[_firsts(self._words)] & ~self._lower
        return np.bincount(np.diff(np.flatnonzero(_firsts(once)), append=len(once)), minlength=len(self) + 1)


def _firsts(ordered: np.ndarray) -> np.ndarray:
    """Return whether each value is the first of a run of equal values."""
    firsts = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=firsts[1:])
    return firsts


def _codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _words(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return hashes, uint64 (words,), and start positions of the words that `str.split` finds."""
    between = np.ones(len(codes) + 2, dtype=bool)
    np.take(_SPACE, codes, mode="clip", out=between[1:-1])
    edges = np.flatnonzero(between[1:] != between[:-1])
    starts, ends = edges[::2], edges[1::2]
    powers, inverses = _powers(1 << len(codes).bit_length())
    sums = np.empty(len(codes) + 1, dtype=np.uint64)
    sums[0] = 0
    np.multiply(codes, powers[: len(codes)], out=sums[1:])
    np.cumsum(sums, out=sums)
    return (sums[ends] - sums[starts]) * inverses[starts], starts


@lru_cache(maxsize=8)
def _query(query: str) -> np.ndarray:
    return _words(_codes(query))[0]


@lru_cache(maxsize=32)
def _powers(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return powers of the base from 1 on and of its inverse from 0 on, uint64 (size,) each.

    From 1 on, so that words of one character differ in the upper bits.
    """
    base, inverse = np.array([_BASE, pow(_BASE, -1, 1 << 64)], dtype=np.uint64)
    powers, inverses = np.full(size, base), np.full(size, inverse)
    inverses[0] = 1
    return np.cumprod(powers), np.cumprod(inverses)
