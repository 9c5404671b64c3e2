"""What a linear model sees of a text or a pair: its runs of words, and numbers of other kinds in blocks.

Of a pair the runs of each text stand apart; the numbers say how much of the second text stands in the first
and how often each says no; of frozen vectors both, their product and their difference, and how close the
closest piece of the first comes to the second.
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
WORDS = 2**20  # buckets of single words, and of pairs of words, that are compared
NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|cannot|nothing|fail(?:s|ed)?)\b|n['’]t\b", re.IGNORECASE
)
Vectors = Mapping[str, np.ndarray]  # {text: its pieces' vectors}, as `vectors.read_vectors` has them
Sides = Sequence[tuple[str, str]]  # the id and the words of one side of each text or pair


@dataclass(frozen=True)
class Sight:
    """``words`` float32 (texts, buckets) and ``blocks``, float32 (texts, columns) each."""

    words: csr_matrix
    blocks: tuple[np.ndarray, ...]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return all blocks of these rows side by side, float64 (rows, columns)."""
        return np.column_stack([np.empty((len(rows), 0)), *(block[rows] for block in self.blocks)])

    @property
    def columns(self) -> list[int]:
        """How many columns each block has."""
        return [block.shape[1] for block in self.blocks]


def paired(texts: Iterable[Text], sides: str) -> bool:
    """Whether both sides of pairs are seen."""
    return sides == "both" and any(text.second is not None for text in texts)


def seen(texts: Iterable[Text], sides: str, *, pairs: bool) -> list[Sides]:
    """Return the one side of all texts that is seen or, of ``pairs``, both.

    An empty text stands for the second side of one that stands alone among pairs; `BadInput` where only the
    second side is to be seen.
    """
    given = list(texts)
    if sides == "second" and (alone := [text.key[0] for text in given if text.second is None]):
        raise BadInput("it has no second side", where=f"text {alone[0]}", do="set sides to first or both")
    firsts = [(text.key[0], text.text) for text in given]
    seconds = [(text.key[1], text.second or "") for text in given]
    return [firsts, seconds] if pairs else [seconds if sides == "second" else firsts]


def rarity(sides: Sequence[Sides]) -> np.ndarray:
    """Return the inverse document frequency of each word among the texts of pairs, float32 (WORDS,)."""
    if len(sides) == 1:
        return np.empty(0, dtype=np.float32)
    standing = sum(standing_in(runs(_words(side), 1, buckets=WORDS)) for side in sides)
    return np.log((1 + sum(map(len, sides))) / (1 + standing)).astype(np.float32)


def sight(
    sides: Sequence[Sides], *, longest: int, features: str, rare: np.ndarray, vectors: Vectors | None
) -> Sight:
    """Return what is seen of texts by their ``features``: words, vectors, both, or their words' overlap.

    ``longest`` is the number of words in a run, ``rare`` what `rarity` found in training.
    """
    count = len(sides[0])
    words, blocks = csr_matrix((count, 0), dtype=np.float32), []
    if features in ("words", "both"):
        words = csr_matrix(hstack([runs(_words(side), longest) for side in sides]))
    if features != "vectors":
        blocks += [_compared(*sides, rare)] if len(sides) > 1 else []
    if features in ("vectors", "both"):
        blocks += _of_vectors(sides, vectors or {})
    return Sight(words, tuple(block.astype(np.float32) for block in blocks))


def _words(side: Sides) -> Iterable[str]:
    return (text for _, text in side)


def _compared(first: Sides, second: Sides, rare: np.ndarray) -> np.ndarray:
    known = [
        [runs(_words(side), length, length, buckets=WORDS) for length in (1, 2)] for side in (first, second)
    ]
    said = [[len(NEGATION.findall(text)) for text in _words(side)] for side in (first, second)]
    longer = np.log1p([[len(text.split()) for text in _words(side)] for side in (first, second)])
    return np.column_stack([overlaps(*known, rare), np.log1p(said).T, longer.T])


def _of_vectors(sides: Sequence[Sides], vectors: Vectors) -> list[np.ndarray]:
    means, most, pieces = zip(*(_pooled(side, vectors) for side in sides), strict=True)
    if len(sides) == 1:
        return [np.hstack([means[0], most[0]])]
    first, second = means
    closest = [float((these @ vector).max()) for these, vector in zip(pieces[0], second, strict=True)]
    return [np.hstack([first, second, first * second, np.abs(first - second)]), np.array(closest)[:, None]]


def _pooled(side: Sides, vectors: Vectors) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """The mean of a text's vectors, of length one, the greatest of each dimension, and all of them."""
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
