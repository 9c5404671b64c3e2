"""Okapi BM25 as in gensim, and the paragraphs of a long text with the highest scores for a query.

The formula is that of gensim 3.8.3's ``summarization.bm25`` (gensim 4's OkapiBM25Model): k1 = 1.5, b = 0.75,
IDF = ln((N - n + 0.5) / (n + 0.5)), a negative IDF replaced by 0.25 times the mean IDF.  Words are separated
by white space and keep their case, as in LawngNLI's released code; repeated query words count repeatedly.  It
is implemented here because gensim's model visits every word of the collection for each query; tests compare
the scores with gensim's.

`OkapiBM25` scores subsets of many texts, each subset as its own collection.  `Paragraphs` selects paragraphs
(LawngNLI, Section 4.1): a paragraph is a line that is not blank, and the paragraphs of a text are the
collection.  A text is one sorted array with a 64-bit number per word: the upper bits are a hash of the word,
the lower bits the number of its paragraph.  Two words are only confused if more than 50 bits of their hashes
agree.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

K1, B, EPSILON = 1.5, 0.75, 0.25
MOST = 5
# Base of a polynomial hash over a word's characters, modulo 2 ** 64; odd numbers have an inverse.
_BASE = 0x9E3779B97F4A7C15
_LINE_FEED = ord("\n")
_PAST_SPACES = 0x3001  # no code point from here on is white space
_SPACE = np.array([chr(code).isspace() for code in range(_PAST_SPACES + 1)])


def idf_by_frequency(words: np.ndarray) -> np.ndarray:
    """Return the IDF of a word in n of N texts, for each n: float64 (N + 1,).

    ``words`` (N + 1,) is the number of different words that are in n texts, 0 for n = 0.
    """
    texts = len(words) - 1
    holding = np.arange(texts + 1)
    idf = np.log(texts - holding + 0.5) - np.log(holding + 0.5)
    mean = (idf * words).sum() / max(words.sum(), 1)
    return np.where(idf < 0, EPSILON * mean, idf)


def okapi_scores(
    counts: np.ndarray, idf: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Return the texts' scores, float64 (texts,).

    ``counts`` (texts, words): how often each text contains each query word; ``idf`` (words,); ``lengths``
    (texts,) in words.
    """
    saturation = K1 * (1 - B + B * lengths / lengths.mean())
    return (idf * counts * (K1 + 1) / (counts + saturation[:, None])).sum(axis=1)


class OkapiBM25:
    """Scores of subsets of many texts, each subset as its own collection.

    Memory: 8 bytes per distinct word of each text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Count the words of ``texts``; `scores` refers to them by position."""
        self._numbers: dict[str, int] = {}
        ids, counts, self._starts, self._lengths = (
            array("i"),
            array("i"),
            array("q", [0]),
            array("q"),
        )
        for text in texts:
            frequencies = sorted(
                (self._numbers.setdefault(word, len(self._numbers)), n)
                for word, n in Counter(text.split()).items()
            )
            ids.extend(number for number, _ in frequencies)
            counts.extend(n for _, n in frequencies)
            self._starts.append(len(ids))
            self._lengths.append(sum(n for _, n in frequencies))
        self._ids, self._counts = (
            np.array(values, dtype=np.int32) for values in (ids, counts)
        )

    def scores(self, query: str, positions: Sequence[int]) -> np.ndarray:
        """Return the score of each of the texts at ``positions``, float64 (n,), in their order."""
        texts = [slice(self._starts[at], self._starts[at + 1]) for at in positions]
        lengths = np.array([self._lengths[at] for at in positions], dtype=np.float64)
        # Document frequencies of the collection's words.
        words, frequencies = np.unique(
            np.concatenate([self._ids[text] for text in texts]), return_counts=True
        )
        query_words = np.array(
            [self._numbers.get(word, -1) for word in query.split()], dtype=np.int32
        )
        query_words = query_words[np.isin(query_words, words)]
        if not len(query_words):
            return np.zeros(len(texts))
        idf = idf_by_frequency(np.bincount(frequencies, minlength=len(texts) + 1))
        inside = np.zeros((len(texts), len(query_words)))
        for row, text in enumerate(texts):
            at = np.minimum(
                np.searchsorted(self._ids[text], query_words),
                text.stop - text.start - 1,
            )
            if text.stop > text.start:
                inside[row] = np.where(
                    self._ids[text][at] == query_words, self._counts[text][at], 0
                )
        return okapi_scores(
            inside, idf[frequencies[np.searchsorted(words, query_words)]], lengths
        )


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
        self._idf = idf_by_frequency(self._words_by_frequency())

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
        return "\n".join(
            self.text[self._begins[at] : self._ends[at]]
            for at in self.chosen(query, most)
        )

    def chosen(self, query: str, most: int = MOST) -> list[int]:
        """Return the positions of the paragraphs that `best` returns, ascending."""
        if len(self) <= most:
            return list(range(len(self)))
        return sorted(np.argsort(-self.scores(query), kind="stable")[:most].tolist())

    def scores(self, query: str) -> np.ndarray:
        """Return the score of each paragraph for the query, float64 (paragraphs,)."""
        words = _query(query)
        first = np.searchsorted(self._words, words & ~self._lower)
        matches = (
            np.searchsorted(self._words, words | self._lower, side="right") - first
        )
        # Positions of all matches, in the order of the query's words.
        at = np.arange(matches.sum()) + np.repeat(
            first - (np.cumsum(matches) - matches), matches
        )
        places = (self._words[at] & self._lower).astype(np.intp)
        cells = np.repeat(np.arange(len(words)) * len(self), matches) + places
        counts = np.bincount(cells, minlength=len(words) * len(self)).reshape(
            len(words), len(self)
        )
        return okapi_scores(
            counts.T, self._idf[(counts > 0).sum(axis=1)], self._lengths
        )

    def _words_by_frequency(self) -> np.ndarray:
        """Return the number of words in exactly n paragraphs for each n, integers (paragraphs + 1,)."""
        once = self._words[_firsts(self._words)] & ~self._lower
        return np.bincount(
            np.diff(np.flatnonzero(_firsts(once)), append=len(once)),
            minlength=len(self) + 1,
        )


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
