"""Features of the segments of contracts (`segments`).

There are two feature matrices, and a model may read either or both.  One has the words
and word pairs of a segment and the words of its neighbours, the other the sentence
vectors of the segment and of its neighbours.  In both, nearer neighbours have more
weight, and further columns have the position and the length of the segment.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.preprocessing import normalize

from lextables.models.linear import Vocabulary, vocabulary
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.segments import Segments

Matrix: TypeAlias = csr_matrix | np.ndarray

# Weights of the segments 1, 2, ... places before and after a segment.
DECAY_BEFORE = (1.0, 0.7, 0.5, 0.3)
DECAY_AFTER = (1.0, 0.7, 0.5)
# Weights of groups of columns; the words or the vector of the segment itself have 1.
BEFORE_WEIGHT = 0.5
AFTER_WEIGHT = 0.4
POSITION_WEIGHT = 0.3
# Bins of the position and the length: twice the logarithm of the first character and of
# the length, and tenths of the contract's segments.  The last bin also has all higher
# values.
LAST_START_BIN = 30
LAST_LENGTH_BIN = 20
TENTHS = 10
# Least number of segments with a word, for words of a segment and of its neighbours.
MIN_SEGMENTS = 3
MIN_SEGMENTS_OF_NEIGHBOUR_WORDS = 5


class Vocabularies(NamedTuple):
    """The words whose TF-IDF are features."""

    segment: Vocabulary
    """Words and word pairs of the segment."""
    neighbours: Vocabulary
    """Words of the neighbouring segments."""


def learn_vocabularies(segments: Segments) -> Vocabularies:
    """Return the vocabularies of these segments."""
    texts = segments.texts()
    return Vocabularies(
        segment=vocabulary(texts, longest=2, least=MIN_SEGMENTS),
        neighbours=vocabulary(texts, longest=1, least=MIN_SEGMENTS_OF_NEIGHBOUR_WORDS),
    )


def feature_matrices(
    segments: Segments, vocabularies: Vocabularies | None, vectors: np.ndarray | None
) -> list[Matrix]:
    """Return the matrix of words, then that of vectors, float32 (segments, features).

    The first is left out without ``vocabularies``, the second without ``vectors``
    (segments, dimensions).  Raises `BadInput` if the numbers of vectors and segments
    differ.
    """
    matrices: list[Matrix] = []
    if vocabularies is not None:
        matrices.append(word_features(segments, vocabularies))
    if vectors is not None:
        matrices.append(vector_features(segments, vectors))
    return matrices


def word_features(segments: Segments, vocabularies: Vocabularies) -> csr_matrix:
    """Return the words, position and length of each segment, float32 (segments,
    features).
    """
    texts = segments.texts()
    words = vocabularies.segment.weigh(texts)
    neighbour_words = vocabularies.neighbours.weigh(texts)
    before, after = _neighbour_sums(neighbour_words, segments)
    groups = [words, before, after, _position(segments)]
    return csr_matrix(hstack(groups, dtype=np.float32))


def vector_features(segments: Segments, vectors: np.ndarray) -> np.ndarray:
    """Return the vectors, position and length of each segment, float32 (segments,
    features).

    Raises `BadInput` if the numbers of vectors and segments differ.
    """
    count = len(segments.start)
    if len(vectors) != count:
        fault = f"{len(vectors)} vectors for {count} segments"
        raise BadInput(fault, where="vectors of segments", do="encode them again")
    before, after = _neighbour_sums(vectors, segments)
    groups = [vectors, before, after, _position(segments).toarray()]
    return np.hstack(groups, dtype=np.float32)


def _neighbour_sums(features: Matrix, segments: Segments) -> tuple[Matrix, Matrix]:
    """Return the weighted sums of the rows of the segments before and after each one,
    normalised.
    """
    before = sum(
        weight * _shifted(features, segments, places)
        for places, weight in enumerate(DECAY_BEFORE, 1)
    )
    after = sum(
        weight * _shifted(features, segments, -places)
        for places, weight in enumerate(DECAY_AFTER, 1)
    )
    return BEFORE_WEIGHT * normalize(before), AFTER_WEIGHT * normalize(after)


def _shifted(features: Matrix, segments: Segments, places: int) -> Matrix:
    """Return for each segment the row of the one that is ``places`` before it.

    Negative ``places`` are after it.  Beyond the contract's ends there are zeros.
    """
    count = len(segments.contract)
    rows = np.arange(max(0, places), min(count, count + places))
    sources = rows - places
    same_contract = segments.contract[sources] == segments.contract[rows]
    rows = rows[same_contract]
    sources = sources[same_contract]
    ones = np.ones(len(rows), dtype=np.float32)
    shift = csr_matrix((ones, (rows, sources)), shape=(count, count))
    return shift @ features


def _position(segments: Segments) -> csr_matrix:
    """Return one-hot bins of each segment's start, tenth of the contract, and length.

    They have the weight `POSITION_WEIGHT`.
    """
    counts = np.diff(segments.bounds)
    number = np.arange(len(segments.contract)) - segments.bounds[segments.contract]
    tenth = TENTHS * number / counts[segments.contract]
    start = np.log1p(segments.start) * 2
    length = np.log1p(segments.end - segments.start) * 2
    bins = [
        _one_hot(start, LAST_START_BIN),
        _one_hot(tenth, TENTHS - 1),
        _one_hot(length, LAST_LENGTH_BIN),
    ]
    return POSITION_WEIGHT * csr_matrix(hstack(bins))


def _one_hot(values: np.ndarray, last_bin: int) -> csr_matrix:
    """Return the bins 0 to ``last_bin`` of rounded-down values, float32 (values,
    bins).
    """
    rows = np.arange(len(values))
    columns = np.minimum(values, last_bin).astype(np.int64)
    ones = np.ones(len(values), dtype=np.float32)
    return csr_matrix((ones, (rows, columns)), shape=(len(values), last_bin + 1))
