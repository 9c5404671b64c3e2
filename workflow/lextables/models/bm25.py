"""BM25 as Anserini computes it at its defaults (k1 0.9, b 0.4), for ACORD's BM25 rows.

It is implemented here because libraries differ at their defaults: the analysis is
Lucene's English analyzer (UAX 29 words, possessives removed, lower case, 33 stop words,
the original Porter stemmer), IDF is ln(1 + (N - n + 0.5) / (n + 0.5)), and document
lengths pass through Lucene's lossy one-byte code.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

import regex
from nltk.stem.porter import PorterStemmer

# Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET.
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there "
    "these they this to was will with".split()
)
# A soft hyphen is a Format character, which UAX 29 would join; Lucene's index for ACORD
# broke there.
_SOFT_HYPHEN = "\u00ad"
_BOUNDARY = regex.compile(r"(?V1w)\b")  # between words of UAX 29
_WORD = regex.compile(r"[\p{L}\p{N}]")
_POSSESSIVE = regex.compile(r"['\u2019\uff07][sS]$")
_STEMMER = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)


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
    """Return the length that Lucene reads back after storing ``length`` in one byte
    (SmallFloat).
    """
    exact = 24  # shorter lengths are stored exactly
    if length < exact:
        return length
    rest = length - exact
    shift = max(rest.bit_length() - 4, 0)
    return exact + (rest >> shift << shift)


class BM25Index:
    """An index over documents given as terms.

    A query term counts as often as the query contains it.  Only documents with a query
    term are returned.
    """

    def __init__(
        self, documents: Mapping[str, Iterable[str]], *, k1: float = 0.9, b: float = 0.4
    ) -> None:
        """Index documents, {id: its terms}."""
        self.postings: dict[str, list[tuple[str, int]]] = defaultdict(list)
        lengths: dict[str, int] = {}
        for doc_id in sorted(documents):
            counts = Counter(documents[doc_id])
            lengths[doc_id] = counts.total()
            for term, frequency in counts.items():
                self.postings[term].append((doc_id, frequency))
        # As in Lucene, documents without terms count neither for N nor for the mean
        # length.
        self.size = sum(length > 0 for length in lengths.values())
        mean = sum(lengths.values()) / self.size if self.size else 1.0
        self.saturation = {}
        for doc_id, length in lengths.items():
            relative_length = 1 - b + b * lossy_length(length) / mean
            self.saturation[doc_id] = k1 * relative_length

    def idf(self, term: str) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)) for a term in ``n`` of ``N``
        documents.
        """
        n = len(self.postings.get(term, ()))
        odds = (self.size - n + 0.5) / (n + 0.5)
        return math.log(1 + odds)

    def search(self, query: Iterable[str], top: int | None) -> list[tuple[str, float]]:
        """Return at most ``top`` (document id, score) pairs (None: all), best first,
        ties by id ascending.
        """
        scores: dict[str, float] = defaultdict(float)
        for term in query:
            idf = self.idf(term)
            postings = self.postings.get(term, ())
            for doc_id, frequency in postings:
                saturated = frequency + self.saturation[doc_id]
                scores[doc_id] += idf * frequency / saturated
        hits = sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))
        return hits[:top]
