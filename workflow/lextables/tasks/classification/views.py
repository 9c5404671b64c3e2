"""Input features of linear models: views of a text or a pair of texts.

Word features are runs of words, separate for the two texts of a pair.  Numeric features come in blocks: the
word overlap of a pair, its lengths and its counts of negations; for frozen sentence vectors, both vectors,
their product and difference, and the similarity of the second text to the closest piece of the first.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix, hstack

from lextables.models.word_runs import overlaps, runs, standing_in
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.texts import Text

SIDES = ("both", "first", "second")
WORDS = 2**20  # hash buckets for the words and word pairs that are compared
NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|cannot|nothing|fail(?:s|ed)?)\b|n['’]t\b", re.IGNORECASE
)
Vectors = Mapping[str, np.ndarray]  # {text id: vectors of its pieces}, from `vectors.read_vectors`
Sides = Sequence[tuple[str, str]]  # (text id, text) of one side of each text or pair


@dataclass(frozen=True)
class Features:
    """``words`` are float32 (texts, buckets), each of the ``blocks`` float32 (texts, columns)."""

    words: csr_matrix
    blocks: tuple[np.ndarray, ...]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the blocks of these rows side by side, float64 (rows, columns)."""
        return np.column_stack([np.empty((len(rows), 0)), *(block[rows] for block in self.blocks)])

    @property
    def columns(self) -> list[int]:
        """The number of columns of each block."""
        return [block.shape[1] for block in self.blocks]


def paired(texts: Iterable[Text], sides: str) -> bool:
    """Whether the model reads both texts of pairs."""
    return sides == "both" and any(text.second is not None for text in texts)


def sides_of(texts: Iterable[Text], sides: str, *, pairs: bool) -> list[Sides]:
    """Return the sides that a model reads: both for ``pairs``, else the one named by ``sides``.

    Among pairs, a single text has an empty second side.  Raises `BadInput` for a single text if only the
    second side is read.
    """
    texts = list(texts)
    if sides == "second" and (alone := [text.key[0] for text in texts if text.second is None]):
        raise BadInput(
            "the text has no second side", where=f"text {alone[0]}", do="set sides to first or both"
        )
    firsts = [(text.key[0], text.text) for text in texts]
    seconds = [(text.key[1], text.second or "") for text in texts]
    return [firsts, seconds] if pairs else [seconds if sides == "second" else firsts]


def rarity(sides: Sequence[Sides]) -> np.ndarray:
    """Return the inverse document frequency of each word, float32 (WORDS,); empty for single texts."""
    if len(sides) == 1:
        return np.empty(0, dtype=np.float32)
    document_counts = sum(standing_in(runs(_words(side), 1, buckets=WORDS)) for side in sides)
    return np.log((1 + sum(map(len, sides))) / (1 + document_counts)).astype(np.float32)


def linear_features(
    sides: Sequence[Sides], *, longest: int, features: str, rare: np.ndarray, vectors: Vectors | None
) -> Features:
    """Return the ``features`` of texts or pairs: words, vectors, both, or the word overlap of pairs.

    ``longest`` is the maximum number of words in a run, ``rare`` the result of `rarity` on the training
    texts.
    """
    count = len(sides[0])
    words, blocks = csr_matrix((count, 0), dtype=np.float32), []
    if features in ("words", "both"):
        words = csr_matrix(hstack([runs(_words(side), longest) for side in sides]))
    if features != "vectors":
        blocks += [_compared(*sides, rare)] if len(sides) > 1 else []
    if features in ("vectors", "both"):
        blocks += _of_vectors(sides, vectors or {})
    return Features(words, tuple(block.astype(np.float32) for block in blocks))


def _words(side: Sides) -> Iterable[str]:
    return (text for _, text in side)


def _compared(first: Sides, second: Sides, rare: np.ndarray) -> np.ndarray:
    grams = [
        [runs(_words(side), length, length, buckets=WORDS) for length in (1, 2)] for side in (first, second)
    ]
    negations = [[len(NEGATION.findall(text)) for text in _words(side)] for side in (first, second)]
    lengths = np.log1p([[len(text.split()) for text in _words(side)] for side in (first, second)])
    return np.column_stack([overlaps(*grams, rare), np.log1p(negations).T, lengths.T])


def _of_vectors(sides: Sequence[Sides], vectors: Vectors) -> list[np.ndarray]:
    means, maxima, pieces = zip(*(_pooled(side, vectors) for side in sides), strict=True)
    if len(sides) == 1:
        return [np.hstack([means[0], maxima[0]])]
    first, second = means
    closest = [float((these @ vector).max()) for these, vector in zip(pieces[0], second, strict=True)]
    return [np.hstack([first, second, first * second, np.abs(first - second)]), np.array(closest)[:, None]]


def _pooled(side: Sides, vectors: Vectors) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return the normalised mean, the maximum of each dimension, and all vectors of each text."""
    width = next(iter(vectors.values())).shape[1] if vectors else 0
    found = []
    for text_id, text in side:
        if text and text_id not in vectors:
            raise BadInput("the text has no vectors", where=f"text {text_id}")
        found.append(vectors[text_id].astype(np.float32) if text else np.zeros((1, width), dtype=np.float32))
    means = np.array([each.mean(axis=0) for each in found])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    means /= np.where(lengths > 0, lengths, 1)
    return means, np.array([each.max(axis=0) for each in found]), found
