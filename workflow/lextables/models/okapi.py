"""Okapi BM25 as in gensim, and the paragraphs of a text with the highest scores.

The formula is that of gensim 3.8.3's ``summarization.bm25`` (gensim 4's
OkapiBM25Model): k1 = 1.5, b = 0.75, IDF = ln((N - n + 0.5) / (n + 0.5)), a negative IDF
replaced by 0.25 times the mean IDF.  Words are separated by white space and keep their
case, as in LawngNLI's released code; repeated query words count repeatedly.  It is
implemented here because gensim's model visits every word of the collection for each
query (docs/design.md has the times); tests compare the scores with gensim's.

`OkapiBM25` scores subsets of many texts, each subset as its own collection.
`Paragraphs` selects paragraphs (LawngNLI, Section 4.1): every line is a paragraph, and
those of a text are the collection.  Blank lines count too, as in the released code
(``BM25([h.split() for h in text.split("\\n")])``): they change the IDF and the mean
length.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from tempfile import SpooledTemporaryFile

import numpy as np

K1 = 1.5
B = 0.75
EPSILON = 0.25  # share of the mean IDF that replaces a negative IDF
MOST = 5  # paragraphs that are selected
IN_MEMORY = 1 << 28  # bytes of an index; a larger one lies in a temporary file


def idf_by_frequency(words: np.ndarray) -> np.ndarray:
    """Return the IDF of a word in n of N texts, for each n: float64 (N + 1,).

    ``words`` (N + 1,) is the number of different words that are in n texts, 0 for n =
    0.
    """
    texts = len(words) - 1
    frequency = np.arange(texts + 1)
    without = texts - frequency
    idf = np.log(without + 0.5) - np.log(frequency + 0.5)
    mean = (idf * words).sum() / max(words.sum(), 1)
    return np.where(idf < 0, EPSILON * mean, idf)


def okapi_scores(
    counts: np.ndarray, idf: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Return the texts' scores, float64 (texts,).

    ``counts`` (texts, words): how often each text contains each query word; ``idf``
    (words,); ``lengths`` (texts,) in words.
    """
    relative_lengths = 1 - B + B * lengths / lengths.mean()
    saturation = K1 * relative_lengths
    weights = idf * counts * (K1 + 1)
    scores = weights / (counts + saturation[:, None])
    return scores.sum(axis=1)


class OkapiBM25:
    """Scores of subsets of many texts, each subset as its own collection.

    The index has 8 bytes per distinct word of each text, some 15 kB for an opinion.  A
    large one lies in a temporary file (`IN_MEMORY`).  Memory: the vocabulary, and 16
    bytes a text.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        """Count the words of ``texts``; `scores` refers to them by position."""
        self._numbers: dict[str, int] = {}
        # Open as long as the index; the file has no name and goes with it.
        self._index = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        self._starts = array("q", [0])
        lengths = array("q")
        for text in texts:
            words = text.split()
            counts = {}
            for word, count in Counter(words).items():
                number = self._numbers.setdefault(word, len(self._numbers))
                counts[number] = count
            word_counts = np.array(sorted(counts.items()), dtype=np.int32)
            self._index.write(word_counts.reshape(-1, 2).T.tobytes())
            self._starts.append(self._index.tell())
            lengths.append(len(words))
        self._lengths = np.array(lengths, dtype=np.float64)

    def scores(self, query: str, positions: Sequence[int]) -> np.ndarray:
        """Return the score of each of the texts at ``positions``, float64 (n,)."""
        counted_texts = [self._words_of(position) for position in positions]
        all_words = np.concatenate([words for words, _ in counted_texts])
        words, frequencies = np.unique(all_words, return_counts=True)
        query_words = self._numbers_of(query)
        is_known = np.isin(query_words, words)
        query_words = query_words[is_known]
        if not len(query_words):
            return np.zeros(len(positions))
        counts = np.zeros((len(positions), len(query_words)))
        for row, (text_words, text_counts) in enumerate(counted_texts):
            counts[row] = _counts_of(query_words, text_words, text_counts)
        by_frequency = np.bincount(frequencies, minlength=len(positions) + 1)
        query_frequencies = _counts_of(query_words, words, frequencies)
        idf = idf_by_frequency(by_frequency)[query_frequencies]
        return okapi_scores(counts, idf, self._lengths.take(positions))

    def _numbers_of(self, query: str) -> np.ndarray:
        """Return the number of each word, int32 (words,); -1 for one in no text."""
        numbers = [self._numbers.get(word, -1) for word in query.split()]
        return np.array(numbers, dtype=np.int32)

    def _words_of(self, position: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the different words of a text, ascending, and their counts."""
        start = self._starts[position]
        end = self._starts[position + 1]
        self._index.seek(start)
        word_counts = np.frombuffer(self._index.read(end - start), dtype=np.int32)
        words, counts = word_counts.reshape(2, -1)
        return words, counts


def _counts_of(wanted: np.ndarray, words: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the counts of the ``wanted`` words, 0 if absent; ``words`` ascend."""
    if not len(words):
        return np.zeros(len(wanted), dtype=counts.dtype)
    places = np.searchsorted(words, wanted)
    places = np.minimum(places, len(words) - 1)
    is_present = words[places] == wanted
    return np.where(is_present, counts[places], 0)


class Paragraphs:
    """The paragraphs of one text, indexed for any number of queries."""

    def __init__(self, text: str) -> None:
        """Count the words of each line."""
        self.text = text
        self._lines = text.split("\n")
        lengths = []
        # {word: the paragraphs with it}, and how often each of them has it
        self._holding: dict[str, list[int]] = defaultdict(list)
        self._counts: dict[str, list[int]] = defaultdict(list)
        for number, line in enumerate(self._lines):
            words = line.split()
            lengths.append(len(words))
            for word, count in Counter(words).items():
                self._holding[word].append(number)
                self._counts[word].append(count)
        self._lengths = np.array(lengths)
        frequencies = [len(holding) for holding in self._holding.values()]
        by_frequency = np.bincount(
            np.array(frequencies, dtype=np.intp), minlength=len(self) + 1
        )
        self._idf = idf_by_frequency(by_frequency)

    def __len__(self) -> int:
        """Return the number of paragraphs, blank lines among them."""
        return len(self._lines)

    def best(self, query: str, most: int = MOST) -> str:
        """Return the ``most`` paragraphs with the highest scores, one per line.

        They are in their original order.  Ties are resolved in favour of earlier
        paragraphs.  A text without more paragraphs, or without words, is returned
        unchanged.
        """
        if len(self) <= most or not self._lengths.any():
            return self.text
        chosen = [self._lines[number] for number in self.chosen(query, most)]
        return "\n".join(chosen)

    def chosen(self, query: str, most: int = MOST) -> list[int]:
        """Return the positions of the paragraphs that `best` returns, ascending."""
        if len(self) <= most:
            return list(range(len(self)))
        scores = self.scores(query)
        order = np.argsort(-scores, kind="stable")
        return sorted(order[:most].tolist())

    def scores(self, query: str) -> np.ndarray:
        """Return the score of each paragraph for the query, float64 (paragraphs,)."""
        words = query.split()
        counts = np.zeros((len(words), len(self)))
        frequencies = []
        for row, word in enumerate(words):
            holding = self._holding.get(word, [])
            frequencies.append(len(holding))
            counts[row, holding] = self._counts.get(word, [])
        idf = self._idf[np.array(frequencies, dtype=np.intp)]
        return okapi_scores(counts.T, idf, self._lengths)
