"""Baselines for answers and marked paragraphs.  They run on a CPU in minutes.

Answers: equal probabilities, the mean of other documents' answers (the prior), or a
linear model per question.  Its features describe the paragraphs most similar to the
question.  Marks: none, random, similarity to the question, or a linear model of words
and similarities.

All models are trained on documents of other folds.  Documents without a text have the
mean features of the others: a model uses only their shares of the options.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from scipy.sparse import csr_matrix, hstack
from threadpoolctl import threadpool_limits

from lextables.models.linear import (
    Linear,
    fit_many,
    fit_shares,
    probabilities,
    vocabulary,
)
from lextables.models.soft_labels import binary_cross_entropy, smoothed
from lextables.tasks.answers.collection import Collection, Shares, Space, fold
from lextables.tasks.answers.settings import (
    LearningSettings,
    MarkingSettings,
    PriorSettings,
)

Answers = dict[tuple[str, str], np.ndarray]  # {(document, question): probabilities}
# {(fold, penalty): losses on the documents of other folds}
Losses = dict[tuple[int, float], list[np.ndarray]]

_NEGLIGIBLE = 1e-9  # share of the largest variance below which a direction is dropped


# Answers without a text.


def prior(shares: Shares, settings: PriorSettings) -> Answers:
    """Return the mean of the smoothed shares of other documents, for each document."""
    answers: Answers = {}
    for question, document_shares in shares.items():
        if not document_shares:
            continue
        rows = smoothed(np.stack([*document_shares.values()]), settings.smoothing)
        documents, options = rows.shape
        # The row is left out of the sum.  Subtracting it from the sum of all would
        # leave traces of it in the last digits.
        is_other = 1 - np.eye(documents)
        sums = is_other @ rows + settings.pseudo / options
        means = sums / (documents - 1 + settings.pseudo)
        for document, mean in zip(document_shares, means, strict=True):
            answers[document, question] = mean
    return answers


def uniform(shares: Shares) -> Answers:
    """Return the same probability for every option."""
    answers = {}
    for question, document_shares in shares.items():
        for document, share in document_shares.items():
            answers[document, question] = np.full(len(share), 1 / len(share))
    return answers


# Answers of linear models.


@dataclass(frozen=True)
class QuestionData:
    """The training data of a question with m options and n documents.

    ``features`` are float64 (n, columns), 0 for documents without a text; ``has_text``
    is bool (n,); ``target`` (n, m) are smoothed shares; ``folds`` are int (n,).
    """

    question_id: str
    documents: tuple[str, ...]
    features: np.ndarray
    has_text: np.ndarray
    target: np.ndarray
    folds: np.ndarray


def linear_answers(
    space: Space, shares: Shares, settings: LearningSettings, threads: int = 1
) -> tuple[Answers, dict[int, float]]:
    """Return the answers of linear models, and the penalty chosen for each fold.

    Only documents with a text are answered.  Each question has a multinomial logistic
    regression of the shares.  The penalty of a fold is chosen on the other folds: their
    documents are predicted by models that have seen neither them nor the fold.  The
    features are those of `Space.described`.  The result does not depend on ``threads``.
    """
    questions = question_data(space, shares, settings)
    answers: Answers = {}
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        losses = pool.map(lambda data: _penalty_losses(data, settings), questions)
        penalties = _choose_penalties(list(losses), settings)
        predicted = pool.map(
            lambda data: _predict(data, penalties, settings), questions
        )
        for question_answers in predicted:
            answers.update(question_answers)
    return answers, penalties


def question_data(
    space: Space, shares: Shares, settings: LearningSettings
) -> list[QuestionData]:
    """Return the data of each question with an answer about a document with a text."""
    questions = []
    for number, question in enumerate(space.names):
        document_shares = shares[question]
        rows = np.array([space.place.get(document, -1) for document in document_shares])
        has_text = rows >= 0
        if not has_text.any():
            continue
        described = rotated(space.described(number, settings.best))
        features = np.zeros((len(rows), described.shape[1]))
        features[has_text] = described[rows[has_text]]
        documents = tuple(document_shares)
        own_shares = np.stack([*document_shares.values()])
        target = smoothed(own_shares, settings.smoothing)
        folds = np.array([fold(document, settings.folds) for document in documents])
        questions.append(
            QuestionData(question, documents, features, has_text, target, folds)
        )
    return questions


def rotated(rows: np.ndarray) -> np.ndarray:
    """Return the centred rows on their principal axes, float64 (rows, at most rows).

    Distances are preserved, so a penalised model learns the same from fewer columns.
    """
    centred = rows - rows.mean(axis=0)
    # With fewer rows than columns, the products of the rows are the smaller matrix.
    values, axes = np.linalg.eigh(centred @ centred.T)
    is_kept = values > _NEGLIGIBLE * max(values.max(initial=0), _NEGLIGIBLE)
    return axes[:, is_kept] * np.sqrt(values[is_kept])


def _penalty_losses(question: QuestionData, settings: LearningSettings) -> Losses:
    """Return the losses of each penalty on the documents outside a fold.

    A model that is trained without the folds A and B is used twice: its losses on A
    count in the choice for B, and its losses on B in the choice for A.
    """
    losses: Losses = defaultdict(list)
    folds = np.unique(question.folds[question.has_text]).tolist()
    for pair in combinations(folds, 2):
        is_training = ~np.isin(question.folds, pair)
        for penalty in settings.penalties:
            model = _fit(question, is_training, penalty, settings)
            for chosen_for, predicted in permutations(pair):
                rows = question.has_text & (question.folds == predicted)
                shares = _shares(model, question.features[rows])
                row_losses = binary_cross_entropy(question.target[rows], shares)
                losses[chosen_for, penalty].append(row_losses)
    return losses


def _choose_penalties(
    by_question: Sequence[Losses], settings: LearningSettings
) -> dict[int, float]:
    """Return the penalty of each fold with the lowest mean loss over all questions.

    Ties go to the strongest penalty, which is the smallest number
    (`Learning.penalties`).
    """
    penalties = sorted(settings.penalties)
    chosen = {}
    for number in range(settings.folds):
        means = {}
        for penalty in penalties:
            losses = []
            for question_losses in by_question:
                losses += question_losses.get((number, penalty), [])
            if losses:
                means[penalty] = np.concatenate(losses).mean()
        chosen[number] = min(means, key=means.__getitem__, default=penalties[0])
    return chosen


def _predict(
    question: QuestionData, penalties: Mapping[int, float], settings: LearningSettings
) -> Answers:
    """Return the answers to a question.

    A fold is answered by a model of the other folds.
    """
    answers: Answers = {}
    for number in np.unique(question.folds[question.has_text]).tolist():
        is_training = question.folds != number
        model = _fit(question, is_training, penalties[number], settings)
        rows = np.flatnonzero(question.has_text & ~is_training)
        shares = _shares(model, question.features[rows])
        for row, share in zip(rows, shares, strict=True):
            answers[question.documents[row], question.question_id] = share
    return answers


def _fit(
    question: QuestionData, rows: np.ndarray, penalty: float, settings: LearningSettings
) -> Linear:
    """Train the model of a question on these ``rows`` (indices or a mask)."""
    features = question.features[rows]
    target = question.target[rows]
    return fit_shares(features, target, penalty=penalty, pseudo=settings.pseudo)


def _shares(model: Linear, features: np.ndarray) -> np.ndarray:
    """Return the predicted distributions, a softmax, float64 (rows, options)."""
    logits = model.logits(features)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


# Marked paragraphs.


def similarity_marks(space: Space) -> np.ndarray:
    """Return similarities from 0 to 1, float64 (paragraphs, questions)."""
    return np.clip(space.similarity.astype(np.float64), 0, 1)


def linear_marks(
    data: Collection, space: Space, marked: np.ndarray, settings: MarkingSettings
) -> np.ndarray:
    """Return the probabilities of linear models, float64 (paragraphs, questions).

    ``marked`` is bool (paragraphs, questions).  Features are n-grams of words, and the
    similarities of the paragraph to the questions.  If all documents are in one fold,
    the result is `similarity_marks`.
    """
    predicted = similarity_marks(space)
    texts = data.texts()
    words = vocabulary(texts, longest=settings.longest, least=settings.least)
    features = hstack([words.weigh(texts), csr_matrix(space.similarity)], "csr")
    document_folds = [fold(document, settings.folds) for document in space.documents]
    folds = np.repeat(document_folds, np.diff(space.bounds))
    with threadpool_limits(1):
        for number in np.unique(folds):
            rows = folds == number
            if not rows.all():
                model = fit_many(
                    features[~rows],
                    marked[~rows],
                    alpha=settings.alpha,
                    epochs=settings.epochs,
                )
                predicted[rows] = probabilities(model.logits(features[rows]))
    return predicted


def is_marked(data: Collection, marked: Mapping[str, set[str]]) -> np.ndarray:
    """Return which paragraphs were marked, bool (paragraphs, questions)."""
    ids = [paragraph.paragraph_id for paragraph in data.all_paragraphs()]
    columns = [np.isin(ids, [*marked.get(name, ())]) for name in data.questions]
    return np.stack(columns, axis=1)
