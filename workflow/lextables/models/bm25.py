"""BM25 in two variants.

`BM25Index` ranks as Anserini does at its defaults (k1 0.9, b 0.4), which gives ACORD's BM25 rows.  It is
implemented here because libraries differ at their defaults: the analysis is Lucene's English analyzer (UAX 29
words, possessives removed, lower case, 33 stop words, the original Porter stemmer), IDF is ln(1 + (N - n +
0.5) / (n + 0.5)), and document lengths pass through Lucene's lossy one-byte code.

`OkapiBM25` scores small subsets of many texts, each subset as its own collection, as gensim 3.8.3's
``summarization.bm25`` (gensim 4's OkapiBM25Model) does: k1 = 1.5, b = 0.75,
IDF = ln((N - n + 0.5) / (n + 0.5)), a negative IDF replaced by 0.25 times the mean IDF.  Words are separated
by white space and keep their case, as in LawngNLI's released code; repeated query words count repeatedly.  It
is implemented here because gensim's model visits every word of the collection for each query; a test compares
the scores with gensim's.
"""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np
import regex
from nltk.stem.porter import PorterStemmer

# Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET.
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there "
    "these they this to was will with".split()
)
# A soft hyphen is a Format character, which UAX 29 would join; Lucene's index for ACORD broke there.
_SOFT_HYPHEN = "\u00ad"
_BOUNDARY = regex.compile(r"(?V1w)\b")
_WORD = regex.compile(r"[\p{L}\p{N}]")
_POSSESSIVE = regex.compile(r"['\u2019\uff07][sS]$")
_STEMMER = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
# Of `OkapiBM25`.
K1, B, EPSILON = 1.5, 0.75, 0.25


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    return _STEMMER.stem(word)


def analyze(text: str) -> list[str]:
    """Return the index terms of ``text`` in order, with repetitions."""
    terms = []
    for segment in _BOUNDARY.split(text.replace(_SOFT_HYPHEN, " ")):
        if _WORD.search(segment):
            word = _POSSESSIVE.sub("", segment).lower()
            if word not in STOP_WORDS:
                terms.append(_stem(word))
    return terms


def lossy_length(length: int) -> int:
    """Return the length that Lucene reads back after storing ``length`` in one byte (SmallFloat)."""
    exact = 24  # shorter lengths are stored exactly
    if length < exact:
        return length
    rest = length - exact
    shift = max(rest.bit_length() - 4, 0)
    return exact + (rest >> shift << shift)


class BM25Index:
    """An index over documents given as terms.

    A query term counts as often as the query contains it.  Only documents with a query term are returned.
    """

    def __init__(self, documents: Mapping[str, Iterable[str]], *, k1: float = 0.9, b: float = 0.4) -> None:
        self.postings: dict[str, list[tuple[str, int]]] = defaultdict(list)
        lengths: dict[str, int] = {}
        for doc_id in sorted(documents):
            counts = Counter(documents[doc_id])
            lengths[doc_id] = counts.total()
            for term, frequency in counts.items():
                self.postings[term].append((doc_id, frequency))
        # As in Lucene, documents without terms count neither for N nor for the mean length.
        self.size = sum(1 for length in lengths.values() if length)
        mean = sum(lengths.values()) / self.size if self.size else 1.0
        self.saturation = {
            doc_id: k1 * (1 - b + b * lossy_length(length) / mean) for doc_id, length in lengths.items()
        }

    def idf(self, term: str) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)) for a term in ``n`` of ``N`` documents."""
        n = len(self.postings.get(term, ()))
        return math.log(1 + (self.size - n + 0.5) / (n + 0.5))

    def search(self, query: Iterable[str], top: int) -> list[tuple[str, float]]:
        """Return at most ``top`` (document id, score) pairs, best first, ties by id ascending."""
        scores: dict[str, float] = defaultdict(float)
        for term in query:
            for doc_id, frequency in self.postings.get(term, ()):
                scores[doc_id] += self.idf(term) * frequency / (frequency + self.saturation[doc_id])
        return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:top]


def idf_by_frequency(words: np.ndarray) -> np.ndarray:
    """Return the IDF of a word in n of N texts, for each n: float64 (N + 1,).

    ``words`` (N + 1,) is the number of different words that are in n texts, 0 for n = 0.
    """
    texts = len(words) - 1
    holding = np.arange(texts + 1)
    idf = np.log(texts - holding + 0.5) - np.log(holding + 0.5)
    mean = (idf * words).sum() / max(words.sum(), 1)
    return np.where(idf < 0, EPSILON * mean, idf)


def okapi_scores(counts: np.ndarray, idf: np.ndarray, lengths: np.ndarray) -> np.ndarray:
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
        ids, counts, self._starts, self._lengths = array("i"), array("i"), array("q", [0]), array("q")
        for text in texts:
            frequencies = sorted(
                (self._numbers.setdefault(word, len(self._numbers)), n)
                for word, n in Counter(text.split()).items()
            )
            ids.extend(number for number, _ in frequencies)
            counts.extend(n for _, n in frequencies)
            self._starts.append(len(ids))
            self._lengths.append(sum(n for _, n in frequencies))
        self._ids, self._counts = (np.array(values, dtype=np.int32) for values in (ids, counts))

    def scores(self, query: str, positions: Sequence[int]) -> np.ndarray:
        """Return the score of each of the texts at ``positions``, float64 (n,), in their order."""
        texts = [slice(self._starts[at], self._starts[at + 1]) for at in positions]
        lengths = np.array([self._lengths[at] for at in positions], dtype=np.float64)
        # Document frequencies of the collection's words.
        words, frequencies = np.unique(
            np.concatenate([self._ids[text] for text in texts]), return_counts=True
        )
        query_words = np.array([self._numbers.get(word, -1) for word in query.split()], dtype=np.int32)
        query_words = query_words[np.isin(query_words, words)]
        if not len(query_words):
            return np.zeros(len(texts))
        idf = idf_by_frequency(np.bincount(frequencies, minlength=len(texts) + 1))
        inside = np.zeros((len(texts), len(query_words)))
        for row, text in enumerate(texts):
            at = np.minimum(np.searchsorted(self._ids[text], query_words), text.stop - text.start - 1)
            if text.stop > text.start:
                inside[row] = np.where(self._ids[text][at] == query_words, self._counts[text][at], 0)
        return okapi_scores(inside, idf[frequencies[np.searchsorted(words, query_words)]], lengths)
