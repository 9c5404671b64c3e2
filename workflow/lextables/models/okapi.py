"""Okapi BM25 as gensim has it: over a few of many texts, those few being the collection.

The formula is that of gensim 3.8.3's ``summarization.bm25`` (gensim 4's OkapiBM25Model): k1 = 1.5, b = 0.75,
IDF = ln((N - n + 0.5) / (n + 0.5)), a negative IDF replaced by 0.25 times the mean IDF.  Words are what white
space separates, case kept, as LawngNLI's released code splits them; one that the query repeats counts each
time.  It is written out because gensim's model goes through every word of the collection for each query; the
scores are those of its ``OkapiBM25Model``, which a test holds them to.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

K1, B, EPSILON = 1.5, 0.75, 0.25


def idf_by_frequency(words: np.ndarray) -> np.ndarray:
    """Return the IDF of a word that n of the N texts hold, at n: float64 (N + 1,).

    ``words`` says at n how many words of the collection n texts hold, integers (N + 1,), nothing at 0.
    """
    texts = len(words) - 1
    holding = np.arange(texts + 1)
    idf = np.log(texts - holding + 0.5) - np.log(holding + 0.5)
    mean = (idf * words).sum() / max(words.sum(), 1)
    return np.where(idf < 0, EPSILON * mean, idf)


def weighed(inside: np.ndarray, idf: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the texts' scores, float64 (texts,).

    ``inside`` says how often each text holds each word of the query (texts, words), ``idf`` what each of
    these weighs (words,), ``lengths`` how many words each text has (texts,).
    """
    saturation = K1 * (1 - B + B * lengths / lengths.mean())
    return (idf * inside * (K1 + 1) / (inside + saturation[:, None])).sum(axis=1)


class OkapiBM25:
    """Scores of any few of many texts, those few being the collection.

    Memory: 8 bytes a distinct word of a text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Count the words of ``texts``, which `scores` then knows by position."""
        self._numbers: dict[str, int] = {}
        ids, counts, self._starts, self._lengths = array("i"), array("i"), array("q", [0]), array("q")
        for text in texts:
            found = sorted(
                (self._numbers.setdefault(word, len(self._numbers)), n)
                for word, n in Counter(text.split()).items()
            )
            ids.extend(number for number, _ in found)
            counts.extend(n for _, n in found)
            self._starts.append(len(ids))
            self._lengths.append(sum(n for _, n in found))
        self._ids, self._counts = (np.array(values, dtype=np.int32) for values in (ids, counts))

    def scores(self, query: str, positions: Sequence[int]) -> np.ndarray:
        """Return the score of each of the texts at ``positions``, float64 (n,), in their order."""
        texts = [slice(self._starts[at], self._starts[at + 1]) for at in positions]
        lengths = np.array([self._lengths[at] for at in positions], dtype=np.float64)
        # Of each word of the collection: how many of the texts hold it.
        words, frequencies = np.unique(
            np.concatenate([self._ids[text] for text in texts]), return_counts=True
        )
        asked = np.array([self._numbers.get(word, -1) for word in query.split()], dtype=np.int32)
        asked = asked[np.isin(asked, words)]
        if not len(asked):
            return np.zeros(len(texts))
        idf = idf_by_frequency(np.bincount(frequencies, minlength=len(texts) + 1))
        inside = np.zeros((len(texts), len(asked)))
        for row, text in enumerate(texts):
            at = np.minimum(np.searchsorted(self._ids[text], asked), text.stop - text.start - 1)
            if text.stop > text.start:
                inside[row] = np.where(self._ids[text][at] == asked, self._counts[text][at], 0)
        return weighed(inside, idf[frequencies[np.searchsorted(words, asked)]], lengths)
