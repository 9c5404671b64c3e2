"""The first model of the linear baseline: which segments answer which category."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.models.linear import Linear, fit_dense, fit_many
from lextables.tasks.spans.linear_settings import LinearSettings
from lextables.tasks.spans.segment_features import Matrix, Vocabularies
from lextables.tasks.spans.segments import Segments, Span


def answer_labels(
    segments: Segments,
    answers: Mapping[int, Sequence[tuple[int, Span]]],
    categories: int,
) -> np.ndarray:
    """Return which segments answer which category, bool (segments, categories).

    ``answers`` maps a contract to the category and position of each answer.  A segment
    answers if it and the answer share at least half of the shorter one.
    """
    labels = np.zeros((len(segments.start), categories), dtype=bool)
    for contract, contract_answers in answers.items():
        rows = segments.rows_of(contract)
        start = segments.start[rows]
        end = segments.end[rows]
        lengths = end - start
        for category, (answer_start, answer_end) in contract_answers:
            shared = np.minimum(end, answer_end) - np.maximum(start, answer_start)
            shorter = np.minimum(lengths, answer_end - answer_start)
            is_answer = (shared > 0) & (2 * shared >= shorter)
            labels[rows, category] |= is_answer
    return labels


@dataclass(frozen=True)
class SegmentModel:
    """A linear model of each feature matrix (`segment_features.feature_matrices`)."""

    vocabularies: Vocabularies | None
    """The vocabularies of the matrix of words; None for a model of vectors only."""
    linear: tuple[Linear, ...]
    """The models, in the order of the matrices."""
    share: float
    """Weight of the vectors' logits (`linear_settings.LinearSettings`)."""

    def logits(self, matrices: Sequence[Matrix]) -> np.ndarray:
        """Return the logit of each row for each category, float32 (rows, categories).

        Of two matrices it is the weighted mean, in which the second, that of vectors,
        has the weight ``share``.
        """
        first, *second = map(Linear.logits, self.linear, matrices)
        if second:
            first = (1 - self.share) * first + self.share * second[0]
        return first.astype(np.float32)


def fit(
    matrices: Sequence[Matrix],
    labels: np.ndarray,
    rows: np.ndarray,
    vocabularies: Vocabularies | None,
    settings: LinearSettings,
) -> SegmentModel:
    """Return a model trained on these ``rows`` (bool) of ``matrices`` and ``labels``.

    ``labels`` are those of `answer_labels`; ``vocabularies`` are those with which the
    matrix of words was made.
    """
    models = []
    for matrix in matrices:
        features = matrix[rows]
        targets = labels[rows]
        if isinstance(matrix, np.ndarray):
            model = fit_dense(features, targets, penalty=settings.dense)
        else:
            model = fit_many(
                features, targets, alpha=settings.alpha, epochs=settings.epochs
            )
        models.append(model)
    return SegmentModel(vocabularies, tuple(models), settings.share)
