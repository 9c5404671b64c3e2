"""TF-IDF and logistic regressions, trained in minutes without weights or a GPU.

Each function trains for another kind of data:

- `fit_many`: many sparse rows, several outputs, by stochastic gradient descent;
- `fit_dense`: many rows with few columns, several outputs, by L-BFGS;
- `fit_few`: few columns, standardised, and possibly words; one output;
- `fit_weighed`: words weighted by how much more frequent they are in one of the two
  classes; one output;
- `fit_near`: few rows, with a model of similar data as prior mean; one output;
- `fit_shares`: a distribution over several answers for each row.

Models are saved as plain arrays, and loaded models give bitwise equal scores.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack, vstack
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier

from lextables.pipeline.atomic import replacing
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import damage_named

WORD = r"(?u)\b\w+\b"
BUCKETS = 2**22  # of hashed n-grams
BATCH = 1000  # texts
STEPS = 200  # of scikit-learn's solver, more than it needs
# Of the solver of `fit_dense`; further steps do not change held-out scores.
DENSE_STEPS = 60
NEWTON_STEPS = 12  # of `fit_near`
FREE = 10.0  # in `fit_near`, how much less an intercept is penalised than a weight
NEVER = -20.0  # the logit of a label that never occurs in training


@dataclass(frozen=True)
class Vocabulary:
    """n-grams of up to ``longest`` words, and their inverse document frequencies,
    float32 (terms,).
    """

    terms: tuple[str, ...]
    idf: np.ndarray
    longest: int

    def weigh(self, texts: Sequence[str]) -> csr_matrix:
        """Return the TF-IDF of texts with sublinear counts, float32 (texts, terms),
        rows of unit length.
        """
        vectorizer = _vectorizer(self.longest, vocabulary=self.terms)
        vectorizer.idf_ = self.idf
        return csr_matrix(vectorizer.transform(texts))


def vocabulary(texts: Sequence[str], *, longest: int, least: int) -> Vocabulary:
    """Return the n-grams of up to ``longest`` words that occur in at least ``least``
    texts.

    Raises `BadInput` if there is none.
    """
    vectorizer = _vectorizer(longest, min_df=min(least, len(texts)))
    try:
        vectorizer.fit(texts)
    except ValueError as error:
        what = f"no word occurs in {least} of the {len(texts)} texts"
        raise BadInput(what, where="linear model", do="use more text") from error
    names = tuple(vectorizer.get_feature_names_out().tolist())
    return Vocabulary(names, vectorizer.idf_.astype(np.float32), longest)


def _vectorizer(longest: int, **options: object) -> TfidfVectorizer:
    return TfidfVectorizer(
        ngram_range=(1, longest),
        sublinear_tf=True,
        token_pattern=WORD,
        dtype=np.float32,
        **options,
    )


@dataclass(frozen=True)
class Linear:
    """A linear model: ``weights`` (features, outputs) and ``intercept`` (outputs,)."""

    weights: np.ndarray
    intercept: np.ndarray

    def logits(self, features: np.ndarray | csr_matrix) -> np.ndarray:
        """Return the logit of each row of ``features`` for each output, (rows,
        outputs).
        """
        return np.asarray(features @ self.weights) + self.intercept


def fit_many(
    features: csr_matrix,
    labels: np.ndarray,
    *,
    alpha: float,
    epochs: int,
    seed: int = 0,
) -> Linear:
    """Return a logistic regression for each column of ``labels``, bool (rows, outputs);
    float32.

    Averaged stochastic gradient descent over many sparse rows for ``epochs``; ``alpha``
    is the weight of the penalty.  An output with only one class always predicts that
    class.
    """

    def fit(output: int) -> tuple[np.ndarray, float]:
        """Return the weights (features,) and the intercept of one output."""
        targets = labels[:, output]
        if _is_constant(targets):
            return np.zeros(features.shape[1]), _sure_logit(targets)
        model = SGDClassifier(
            loss="log_loss",
            alpha=alpha,
            max_iter=epochs,
            tol=None,
            average=True,
            random_state=seed,
        ).fit(features, targets)
        return model.coef_[0], float(model.intercept_[0])

    models = [fit(output) for output in range(labels.shape[1])]
    weights = np.array([weights for weights, _ in models], dtype=np.float32)
    intercept = np.array([intercept for _, intercept in models], dtype=np.float32)
    return Linear(np.ascontiguousarray(weights.T), intercept)


def fit_dense(features: np.ndarray, labels: np.ndarray, *, penalty: float) -> Linear:
    """Return a logistic regression for each column of ``labels``, bool (rows, outputs);
    float32.

    For many rows with few columns, float32 (rows, columns), all outputs at once;
    ``penalty`` is scikit-learn's C.  An output with only one class always predicts that
    class.
    """
    targets = labels.astype(np.float32)
    shape = features.shape[1] + 1, labels.shape[1]
    occurs = labels.any(axis=0)
    mixed = occurs & ~labels.all(axis=0)
    # The intercepts start at the log odds of the labels.
    share = np.where(mixed, labels.mean(axis=0), 0.5)
    start = np.zeros(shape)
    start[-1] = np.log(share / (1 - share))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        value, gradient = _dense_loss(weights, features, targets, penalty)
        return value, gradient.ravel()

    result = minimize(
        loss,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": DENSE_STEPS},
    )
    weights = result.x.reshape(shape).astype(np.float32)
    sure = np.where(occurs, -NEVER, NEVER)
    weights[:, ~mixed] = 0
    weights[-1, ~mixed] = sure[~mixed]
    return Linear(np.ascontiguousarray(weights[:-1]), weights[-1])


def _dense_loss(
    weights: np.ndarray, features: np.ndarray, targets: np.ndarray, penalty: float
) -> tuple[float, np.ndarray]:
    """Return the penalised loss of `fit_dense` and its gradient, float64.

    ``weights`` and the gradient are (columns + 1, outputs), with the intercept last;
    ``targets`` are 0 or 1, float32 (rows, outputs).
    """
    single = weights.astype(np.float32)
    logits = features @ single[:-1] + single[-1]
    losses = np.logaddexp(0, logits) - logits * targets
    squares = (weights[:-1] ** 2).sum()
    total = losses.sum(dtype=np.float64) + squares / (2 * penalty)
    predicted = 1 / (1 + np.exp(-logits))
    errors = predicted - targets
    gradient = np.empty(weights.shape)
    gradient[:-1] = features.T @ errors + weights[:-1] / penalty
    gradient[-1] = errors.sum(axis=0)
    return total, gradient


def fit_few(
    features: np.ndarray,
    labels: np.ndarray,
    *,
    penalty: float,
    words: csr_matrix | None = None,
) -> Linear:
    """Return a logistic regression of one output over ``features`` and then ``words``,
    float64.

    ``features`` (rows, columns) are standardised, and the weights apply to the original
    scale; ``words`` (rows, terms) are used unchanged.  ``penalty`` is scikit-learn's C;
    smaller values regularise more.  With labels of one class, that class is always
    predicted.
    """
    if _is_constant(labels):
        width = features.shape[1]
        if words is not None:
            width += words.shape[1]
        return _constant_model(width, labels)
    mean, scale = _mean_and_scale(features)
    columns = (features - mean) / scale
    if words is not None:
        columns = csr_matrix(hstack([csr_matrix(columns), words]))
    model = LogisticRegression(C=penalty, max_iter=STEPS).fit(columns, labels)
    weights = model.coef_[0].copy()
    feature_weights = weights[: len(scale)]
    feature_weights /= scale
    intercept = model.intercept_ - mean @ feature_weights
    return Linear(weights[:, None], intercept)


def fit_weighed(
    words: csr_matrix,
    dense: np.ndarray,
    labels: np.ndarray,
    *,
    penalty: float,
    smoothing: float,
) -> Linear:
    """Return a logistic regression of one output over ``words`` and then ``dense``,
    float64.

    Each column of ``words`` (rows, terms) is first multiplied by the absolute log ratio
    of the shares of rows that have the word in the two classes, with ``smoothing``
    added to each count (Wang and Manning, 2012, Baselines and Bigrams).  ``dense``
    (rows, columns) is used unchanged.  The weights apply to the original features.
    ``penalty`` is scikit-learn's C.  With labels of one class, that class is always
    predicted.
    """
    if _is_constant(labels):
        return _constant_model(words.shape[1] + dense.shape[1], labels)
    present = _log_odds(words[labels], smoothing)
    absent = _log_odds(words[~labels], smoothing)
    ratio = np.abs(present - absent)
    scale = np.concatenate([ratio, np.ones(dense.shape[1])])
    columns = dense
    if words.shape[1]:
        scaled = words.multiply(scale[: words.shape[1]])
        columns = csr_matrix(hstack([scaled, csr_matrix(dense)]))
    model = LogisticRegression(C=penalty, max_iter=STEPS).fit(columns, labels)
    weights = model.coef_[0] * scale
    return Linear(weights[:, None], model.intercept_)


def _is_constant(labels: np.ndarray) -> bool:
    """Whether all labels are of one class."""
    return bool(labels.all() or not labels.any())


def _sure_logit(labels: np.ndarray) -> float:
    """Return the logit of the only class among labels; `NEVER` without labels."""
    return -NEVER if labels.any() else NEVER


def _constant_model(width: int, labels: np.ndarray) -> Linear:
    """Return the model of ``width`` features that always predicts the only class."""
    return Linear(np.zeros((width, 1)), np.array([_sure_logit(labels)]))


def _mean_and_scale(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation of columns, (columns,); 1 in place of 0."""
    mean = features.mean(axis=0)
    scale = features.std(axis=0)
    scale[scale == 0] = 1
    return mean, scale


def _log_odds(words: csr_matrix, smoothing: float) -> np.ndarray:
    """Return the logarithm of the smoothed share of rows in which each column is not 0,
    float64 (columns,).
    """
    counts = np.bincount(words.indices, minlength=words.shape[1])
    return np.log((counts + smoothing) / (words.shape[0] + 2 * smoothing))


def fit_near(
    near: Linear, features: np.ndarray, labels: np.ndarray, *, penalty: float
) -> Linear:
    """Return a logistic regression of one output with the model ``near`` as prior mean,
    float64.

    The penalty (scikit-learn's C) is on the distance of the weights from those of
    ``near``, on the scale of ``features`` (rows, columns); the intercept is hardly
    penalised.  Newton's method: ``change`` is what is added to the weights and the
    intercept of ``near``.  Without rows the result is ``near``.
    """
    if not len(features):
        return near
    mean, scale = _mean_and_scale(features)
    standardised = (features - mean) / scale
    columns = np.column_stack([standardised, np.ones(len(features))])
    penalties = np.full(columns.shape[1], 1 / penalty)
    penalties[-1] /= FREE
    before = near.logits(features)[:, 0]  # the logits of the model ``near``
    change = np.zeros(columns.shape[1])
    for _ in range(NEWTON_STEPS):
        predicted = probabilities(before + columns @ change)
        gradient = columns.T @ (predicted - labels) + penalties * change
        variance = predicted * (1 - predicted)
        weighted = columns * variance[:, None]
        hessian = weighted.T @ columns + np.diag(penalties)
        change -= np.linalg.solve(hessian, gradient)
    weights = change[:-1] / scale
    intercept = near.intercept + change[-1] - mean @ weights
    return Linear(near.weights + weights[:, None], intercept)


def fit_shares(
    features: np.ndarray, shares: np.ndarray, *, penalty: float, pseudo: float
) -> Linear:
    """Return a multinomial logistic regression of rows with a distribution over answers
    each.

    ``features`` (rows, columns) are used unchanged; ``shares`` (rows, outputs) add up
    to one.  ``pseudo`` rows without features and with a uniform distribution are added.
    ``penalty`` is scikit-learn's C; the intercept is not penalised.  One output per
    answer.
    """
    rows, answers = shares.shape
    repeated = np.repeat(features, answers, axis=0)
    pseudo_rows = np.zeros((answers, features.shape[1]))
    pseudo_shares = np.full(answers, pseudo / answers)
    columns = np.vstack([repeated, pseudo_rows])
    labels = np.tile(np.arange(answers), rows + 1)
    weights = np.concatenate([shares.ravel(), pseudo_shares])
    model = LogisticRegression(C=penalty, max_iter=STEPS)
    model.fit(columns, labels, sample_weight=weights)
    if answers > 2:
        return Linear(model.coef_.T, model.intercept_)
    # For two answers scikit-learn has one logit, the difference of theirs.
    signs = np.array([-1, 1]) / 2
    return Linear(model.coef_.T * signs, signs * model.intercept_)


# Hashed n-grams of texts, without a vocabulary in memory or on disk


def hashed_ngrams(
    texts: Iterable[str], longest: int, shortest: int = 1, *, buckets: int = BUCKETS
) -> csr_matrix:
    """Return 1 for each n-gram of ``shortest`` to ``longest`` words in a text, float32
    (texts, buckets).

    Case is ignored.  Among a million n-grams some share a bucket.
    """
    hashing = HashingVectorizer(
        ngram_range=(shortest, longest),
        binary=True,
        norm=None,
        alternate_sign=False,
        n_features=buckets,
        token_pattern=WORD,
        dtype=np.float32,
    )
    remaining = iter(texts)
    parts = [csr_matrix((0, buckets), dtype=np.float32)]
    while batch := list(islice(remaining, BATCH)):
        parts.append(hashing.transform(batch))
    return csr_matrix(vstack(parts))


def document_frequencies(columns: csr_matrix) -> np.ndarray:
    """Return in how many texts of `hashed_ngrams` each n-gram is, int64 (buckets,)."""
    return np.bincount(columns.indices, minlength=columns.shape[1])


def overlap_shares(
    firsts: Sequence[csr_matrix], seconds: Sequence[csr_matrix], rare: np.ndarray
) -> np.ndarray:
    """Return the shares of each pair's second text that are also in the first, float64
    (pairs, 3).

    The three shares are those of its different words, of its different bigrams, and of
    the sum of the weights ``rare`` (buckets,) of its words.  ``firsts`` has two
    matrices of `hashed_ngrams` for the first texts, of words and of bigrams;
    ``seconds`` those of the second texts.
    """
    (words, bigrams), (second_words, second_bigrams) = firsts, seconds
    shared = words.multiply(second_words)
    shared_bigrams = bigrams.multiply(second_bigrams)
    shares = [
        _share(shared.sum(axis=1), second_words.sum(axis=1)),
        _share(shared_bigrams.sum(axis=1), second_bigrams.sum(axis=1)),
        _share(shared @ rare, second_words @ rare),
    ]
    return np.column_stack(shares)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the quotients of numbers, float64 (rows,); 0 where the whole is 0."""
    part = np.asarray(part, dtype=np.float64).ravel()
    whole = np.asarray(whole, dtype=np.float64).ravel()
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities of logits, strictly between 0 and 1, float64."""
    limited = np.clip(np.asarray(logits, dtype=np.float64), -30, 30)
    return 1 / (1 + np.exp(-limited))


def save(
    arrays: Mapping[str, np.ndarray],
    names: Mapping[str, Sequence[str]],
    path: str | Path,
) -> None:
    """Write arrays and lists of names (without line breaks) to ``path`` (.npz),
    atomically.
    """
    content: dict[str, Any] = {**arrays}
    for key, values in names.items():
        content[key] = np.frombuffer("\n".join(values).encode(), dtype=np.uint8)
    with replacing(path) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **content)


def load(
    path: str | Path, names: Sequence[str]
) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Return the arrays and the ``names`` that `save` wrote; nothing is unpickled."""
    with damage_named(path), np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
        unpacked = {}
        for key in names:
            text = arrays.pop(key).tobytes().decode()
            unpacked[key] = tuple(text.split("\n"))
    return arrays, unpacked
