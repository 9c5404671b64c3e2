"""Baselines for answers and for marked paragraphs, which anyone can run on a CPU in minutes.

Answers: equal probabilities, the mean of other documents' answers (the prior), or a linear model per
question.  Its features describe the paragraphs most similar to the question.  Marks: none, random,
similarity to the question, or a linear model of words and similarities.

All models are trained on documents of other folds.  Documents without a text have the mean features of the
others: a model uses only their shares of the options.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import Any

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
from lextables.tasks.answers.collection import Collection, Shares, Space, fold, of_words

Settings = Mapping[str, Any]
Answers = dict[tuple[str, str], np.ndarray]  # {(document, question): probabilities}
Losses = dict[
    tuple[int, float], list[np.ndarray]
]  # {(fold, penalty): losses of the pairs of other folds}

_NEGLIGIBLE = 1e-9  # share of the largest variance below which a direction is dropped


# Answers without a text.


def uninformed_answers(shares: Shares, settings: Settings) -> Answers:
    """Return the answers of the settings' ``kind``, `prior` or `random`."""
    if settings["kind"] == "random":
        return uniform(shares)
    return prior(shares, pseudo=settings["pseudo"], smoothing=settings["smoothing"])


def prior(shares: Shares, *, pseudo: float, smoothing: float) -> Answers:
    """Return for each document and question the mean of the other documents' smoothed shares.

    ``pseudo`` is the number of additional documents with equal shares.
    """
    answers: Answers = {}
    for question, of_question in shares.items():
        if not of_question:
            continue
        rows = smoothed(np.stack([*of_question.values()]), smoothing)
        # Not sum minus row: a subtraction would leave traces of the row in the last digits.
        sums_of_others = (1 - np.eye(len(rows))) @ rows
        means = (sums_of_others + pseudo / rows.shape[1]) / (len(rows) - 1 + pseudo)
        answers |= {
            (document, question): mean
            for document, mean in zip(of_question, means, strict=True)
        }
    return answers


def uniform(shares: Shares) -> Answers:
    """Return the same probability for every option."""
    return {
        (document, question): np.full(len(share), 1 / len(share))
        for question, of_question in shares.items()
        for document, share in of_question.items()
    }


# Answers of linear models.


@dataclass(frozen=True)
class QuestionData:
    """The training data of a question with m options and n documents.

    ``features`` are float64 (n, columns), 0 for documents without a text; ``has_text`` is bool (n,);
    ``target`` (n, m) are smoothed shares; ``folds`` are int (n,).
    """

    question_id: str
    documents: tuple[str, ...]
    features: np.ndarray
    has_text: np.ndarray
    target: np.ndarray
    folds: np.ndarray


def linear_answers(
    space: Space, shares: Shares, settings: Settings, threads: int = 1
) -> tuple[Answers, dict[int, float]]:
    """Return the answers of linear models for documents with a text, and the penalty chosen for each fold.

    For each question a multinomial logistic regression of the shares.  The penalty of a fold is chosen on the
    other folds: their documents are predicted by models that have seen neither them nor the fold.
    ``settings``: ``best`` (numbers of paragraphs, see `Space.described`), ``penalties`` (smaller is
    stronger), ``pseudo``, ``smoothing`` and ``folds``.  The result does not depend on ``threads``.
    """
    questions = question_data(space, shares, settings)
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        losses = list(
            pool.map(lambda question: _penalty_losses(question, settings), questions)
        )
        penalties = _choose_penalties(losses, settings)
        answers = pool.map(
            lambda question: _predict(question, penalties, settings), questions
        )
        return {
            pair: share
            for of_question in answers
            for pair, share in of_question.items()
        }, penalties


def question_data(
    space: Space, shares: Shares, settings: Settings
) -> list[QuestionData]:
    """Return the training data of each question that was answered about a document with a text."""
    questions = []
    for number, question in enumerate(space.names):
        of_question = shares[question]
        rows = [space.place.get(document, -1) for document in of_question]
        has_text = np.array(rows, dtype=np.int64) >= 0
        if not has_text.any():
            continue
        described = rotated(space.described(number, settings["best"]))
        features = np.zeros((len(rows), described.shape[1]))
        features[has_text] = described[[row for row in rows if row >= 0]]
        target = smoothed(np.stack([*of_question.values()]), settings["smoothing"])
        folds = np.array(
            [fold(document, settings["folds"]) for document in of_question]
        )
        questions.append(
            QuestionData(
                question, tuple(of_question), features, has_text, target, folds
            )
        )
    return questions


def rotated(rows: np.ndarray) -> np.ndarray:
    """Return the centred rows on their principal axes, float64 (rows, at most rows).

    Distances are preserved, so a penalised model learns the same from fewer columns.
    """
    centred = rows - rows.mean(axis=0)
    values, axes = np.linalg.eigh(centred @ centred.T)
    is_kept = values > _NEGLIGIBLE * max(values.max(initial=0), _NEGLIGIBLE)
    return axes[:, is_kept] * np.sqrt(values[is_kept])


def _penalty_losses(question: QuestionData, settings: Settings) -> Losses:
    """Return the losses of each penalty on the documents outside a fold.

    A model trained without two folds serves both: it predicts either one in the choice for the other.
    """
    losses: Losses = {}
    for pair in combinations(np.unique(question.folds[question.has_text]).tolist(), 2):
        for penalty in settings["penalties"]:
            model = _fit(question, ~np.isin(question.folds, pair), penalty, settings)
            for fold_, other in (pair, pair[::-1]):
                rows = question.has_text & (question.folds == other)
                predicted = _shares(model, question.features[rows])
                of_rows = binary_cross_entropy(question.target[rows], predicted)
                losses.setdefault((fold_, penalty), []).append(of_rows)
    return losses


def _choose_penalties(
    by_question: Sequence[Losses], settings: Settings
) -> dict[int, float]:
    """Return the penalty of each fold with the lowest mean loss over all questions; ties to the strongest."""
    penalties = sorted(settings["penalties"])
    chosen = {}
    for fold_ in range(settings["folds"]):
        losses = {
            penalty: [
                loss
                for losses in by_question
                for loss in losses.get((fold_, penalty), ())
            ]
            for penalty in penalties
        }
        means = {
            penalty: np.concatenate(of_penalty).mean()
            for penalty, of_penalty in losses.items()
            if of_penalty
        }
        chosen[fold_] = min(means, key=means.get, default=penalties[0])
    return chosen


def _predict(
    question: QuestionData, penalties: Mapping[int, float], settings: Settings
) -> Answers:
    answers: Answers = {}
    for fold_ in np.unique(question.folds[question.has_text]).tolist():
        model = _fit(question, question.folds != fold_, penalties[fold_], settings)
        rows = np.flatnonzero(question.has_text & (question.folds == fold_))
        for row, share in zip(
            rows, _shares(model, question.features[rows]), strict=True
        ):
            answers[question.documents[row], question.question_id] = share
    return answers


def _fit(
    question: QuestionData, rows: np.ndarray, penalty: float, settings: Settings
) -> Linear:
    target = question.target[rows]
    return fit_shares(
        question.features[rows], target, penalty=penalty, pseudo=settings["pseudo"]
    )


def _shares(model: Linear, features: np.ndarray) -> np.ndarray:
    logits = model.logits(features)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


# Marked paragraphs.


def marks(
    data: Collection,
    marked: Mapping[str, set[str]],
    settings: Settings,
    threads: int = 1,
) -> np.ndarray:
    """Return the probability that each paragraph is marked, float64 (paragraphs, questions).

    The settings' ``kind`` is `never` (all 0: most paragraphs are marked by nobody), `random`, `overlap`
    (`similarity_marks`) or `linear` (`linear_marks`).  ``marked`` is {question: marked paragraphs}.
    """
    kind, shape = settings["kind"], (len(data.texts()), len(data.questions))
    if kind == "never":
        return np.zeros(shape)
    if kind == "random":
        return np.random.default_rng(0).random(shape)
    words = of_words(data)
    if kind == "overlap":
        return similarity_marks(words)
    return linear_marks(data, words, is_marked(data, marked), settings, threads)


def similarity_marks(space: Space) -> np.ndarray:
    """Return the similarity of each paragraph to each question, float64 (paragraphs, questions), 0 to 1."""
    return np.clip(space.similarity.astype(np.float64), 0, 1)


def linear_marks(
    data: Collection,
    space: Space,
    marked: np.ndarray,
    settings: Settings,
    threads: int = 1,
) -> np.ndarray:
    """Return the probabilities of a linear model for each question, float64 (paragraphs, questions).

    ``marked`` is bool (paragraphs, questions).  ``settings``: ``folds``; ``longest`` and ``least`` (maximum
    length of word runs and minimum number of paragraphs with one); ``alpha`` and ``epochs`` as in
    `models.linear.fit_many`.  If all documents are in one fold, the result is `similarity_marks`.
    """
    predicted = similarity_marks(space)
    texts = data.texts()
    words = vocabulary(
        texts, longest=settings["longest"], least=settings["least"]
    ).weigh(texts)
    features = csr_matrix(hstack([words, csr_matrix(space.similarity)]))
    folds = np.repeat(
        [fold(document, settings["folds"]) for document in space.documents],
        np.diff(space.bounds),
    )
    options = {
        "alpha": settings["alpha"],
        "epochs": settings["epochs"],
        "threads": threads,
    }
    with threadpool_limits(1):
        for number in np.unique(folds):
            rows = folds == number
            if not rows.all():
                model = fit_many(features[~rows], marked[~rows], **options)
                predicted[rows] = probabilities(model.logits(features[rows]))
    return predicted


def is_marked(data: Collection, marked: Mapping[str, set[str]]) -> np.ndarray:
    """Return which paragraphs were marked for which question, bool (paragraphs, questions)."""
    ids = [
        paragraph.paragraph_id
        for paragraphs in data.paragraphs.values()
        for paragraph in paragraphs
    ]
    return np.stack(
        [np.isin(ids, [*marked.get(question, ())]) for question in data.questions],
        axis=1,
    )
