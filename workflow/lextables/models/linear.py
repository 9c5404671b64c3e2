"""Linear models over words: TF-IDF and logistic regressions, learnt in minutes without weights or a GPU.

Everything is deterministic, whatever the number of threads; what is saved is plain arrays, and what is
loaded gives the same scores to the bit.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier

from lextables.pipeline.atomic import replacing
from lextables.pipeline.errors import BadInput

WORD = r"(?u)\b\w+\b"
STEPS = 200  # of the solver of `fit_few`, more than it needs
DENSE_STEPS = 60  # of the solver of `fit_dense`, after which held-out scores stand still
NEWTON_STEPS = 12
FREE = 10.0  # how much less an intercept is penalised than a weight
NEVER = -20.0  # the logit of what was never seen to be so


@dataclass(frozen=True)
class Vocabulary:
    """Runs of up to ``longest`` words, and their inverse document frequencies, float32 (terms,)."""

    terms: tuple[str, ...]
    idf: np.ndarray
    longest: int

    def weigh(self, texts: Sequence[str]) -> csr_matrix:
        """Return the TF-IDF of texts with sublinear counts, float32 (texts, terms), rows of length one."""
        vectorizer = _vectorizer(self.longest, vocabulary=self.terms)
        vectorizer.idf_ = self.idf
        return csr_matrix(vectorizer.transform(texts))


def vocabulary(texts: Sequence[str], *, longest: int, least: int) -> Vocabulary:
    """Return the runs of up to ``longest`` words that stand in ``least`` texts or more.

    Raises `BadInput` where there is none.
    """
    vectorizer = _vectorizer(longest, min_df=min(least, len(texts)))
    try:
        vectorizer.fit(texts)
    except ValueError as error:
        fault = f"no word stands in {least} of the {len(texts)} texts"
        raise BadInput(fault, where="linear model", do="give more text") from error
    names = tuple(vectorizer.get_feature_names_out().tolist())
    return Vocabulary(names, vectorizer.idf_.astype(np.float32), longest)


def _vectorizer(longest: int, **options: object) -> TfidfVectorizer:
    return TfidfVectorizer(
        ngram_range=(1, longest), sublinear_tf=True, token_pattern=WORD, dtype=np.float32, **options
    )


@dataclass(frozen=True)
class Linear:
    """A linear model: ``weights`` (features, outputs) and ``intercept`` (outputs,)."""

    weights: np.ndarray
    intercept: np.ndarray

    def logits(self, features: np.ndarray | csr_matrix) -> np.ndarray:
        """Return the logit of each row of ``features`` for each output, (rows, outputs)."""
        return np.asarray(features @ self.weights) + self.intercept


def fit_many(
    features: csr_matrix, labels: np.ndarray, *, alpha: float, epochs: int, seed: int = 0, threads: int = 1
) -> Linear:
    """Return a logistic regression for each column of ``labels``, bool (rows, outputs); float32.

    By averaged stochastic gradients over many sparse rows, ``epochs`` times through them; ``alpha`` weighs
    the penalty.  An output with one class only gets that class throughout.
    """

    def one(output: int) -> tuple[np.ndarray, float]:
        held = labels[:, output]
        if held.all() or not held.any():
            return np.zeros(features.shape[1]), NEVER if not held.any() else -NEVER
        model = SGDClassifier(
            loss="log_loss", alpha=alpha, max_iter=epochs, tol=None, average=True, random_state=seed
        ).fit(features, held)
        return model.coef_[0], float(model.intercept_[0])

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(one, range(labels.shape[1])))
    weights = np.array([weights for weights, _ in found], dtype=np.float32)
    return Linear(
        np.ascontiguousarray(weights.T), np.array([intercept for _, intercept in found], dtype=np.float32)
    )


def fit_dense(features: np.ndarray, labels: np.ndarray, *, penalty: float) -> Linear:
    """Return a logistic regression for each column of ``labels``, bool (rows, outputs); float32.

    For many rows of few columns, float32 (rows, columns), all outputs at once; ``penalty`` is scikit-learn's
    C.  An output with one class only gets that class throughout.
    """
    held = labels.astype(np.float32)
    shape = features.shape[1] + 1, labels.shape[1]
    mixed = labels.any(axis=0) & ~labels.all(axis=0)
    share = np.where(mixed, labels.mean(axis=0), 0.5)
    start = np.zeros(shape)
    start[-1] = np.log(share / (1 - share))

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        given = weights.astype(np.float32)
        logits = features @ given[:-1] + given[-1]
        value = np.logaddexp(0, logits) - logits * held
        wrong = 1 / (1 + np.exp(-logits)) - held
        slope = np.vstack([features.T @ wrong + weights[:-1] / penalty, wrong.sum(axis=0)])
        total = value.sum(dtype=np.float64) + (weights[:-1] ** 2).sum() / (2 * penalty)
        return total, slope.ravel().astype(np.float64)

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": DENSE_STEPS})
    weights = found.x.reshape(shape).astype(np.float32)
    weights[:, ~mixed] = 0
    weights[-1, ~mixed] = np.where(labels.any(axis=0), -NEVER, NEVER)[~mixed]
    return Linear(np.ascontiguousarray(weights[:-1]), weights[-1])


def fit_few(
    features: np.ndarray, labels: np.ndarray, *, penalty: float, words: csr_matrix | None = None
) -> Linear:
    """Return a logistic regression of one output over ``features`` and then ``words``, float64.

    ``features`` (rows, columns) are brought to one scale first, which the weights then hold; ``words``
    (rows, terms) are taken as they are.  ``penalty`` is scikit-learn's C, the smaller the stronger.
    Labels of one class give that class throughout.
    """
    columns = features.shape[1] + (words.shape[1] if words is not None else 0)
    if labels.all() or not labels.any():
        sure = -NEVER if len(labels) and labels.all() else NEVER
        return Linear(np.zeros((columns, 1)), np.array([sure]))
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1
    scaled = (features - mean) / scale
    known = scaled if words is None else csr_matrix(hstack([csr_matrix(scaled), words]))
    model = LogisticRegression(C=penalty, max_iter=STEPS).fit(known, labels)
    weights = model.coef_[0].copy()
    weights[: len(scale)] /= scale
    return Linear(weights[:, None], model.intercept_ - mean @ weights[: len(scale)])


def fit_weighed(
    words: csr_matrix, dense: np.ndarray, labels: np.ndarray, *, penalty: float, smoothing: float
) -> Linear:
    """Return a logistic regression of one output over ``words`` and then ``dense``, float64.

    Each column of ``words`` (rows, terms) is weighed first by how much more often it stands in rows of one
    label than of the other: the absolute difference of the log odds, ``smoothing`` added to each count (Wang
    and Manning, 2012, Baselines and Bigrams).  ``dense`` (rows, columns) is taken as it is.  The weights hold
    for features as they were given.  ``penalty`` is scikit-learn's C.  Labels of one class give that class.
    """
    columns = words.shape[1] + dense.shape[1]
    if labels.all() or not labels.any():
        return Linear(np.zeros((columns, 1)), np.array([-NEVER if labels.all() else NEVER]))
    said = _log_odds(words[labels], smoothing) - _log_odds(words[~labels], smoothing)
    scale = np.concatenate([np.abs(said), np.ones(dense.shape[1])])
    known = words.multiply(scale[: words.shape[1]])
    known = csr_matrix(hstack([known, csr_matrix(dense)])) if words.shape[1] else dense
    model = LogisticRegression(C=penalty, max_iter=STEPS).fit(known, labels)
    return Linear((model.coef_[0] * scale)[:, None], model.intercept_)


def _log_odds(words: csr_matrix, smoothing: float) -> np.ndarray:
    """The logarithm of the share of rows in which each column is not 0, float64 (columns,)."""
    standing = np.bincount(words.indices, minlength=words.shape[1])
    return np.log((standing + smoothing) / (words.shape[0] + 2 * smoothing))


def fit_near(near: Linear, features: np.ndarray, labels: np.ndarray, *, penalty: float) -> Linear:
    """Return a logistic regression of one output that stays near another where rows say little, float64.

    What is penalised, with scikit-learn's C, is how far the weights are from those of ``near`` on the scale
    of ``features`` (rows, columns), by Newton's method; the intercept is as good as free.  Without a row it
    is the other one.
    """
    if not len(features):
        return near
    mean, scale = features.mean(axis=0), features.std(axis=0)
    scale[scale == 0] = 1
    known = np.column_stack([(features - mean) / scale, np.ones(len(features))])
    drawn = np.full(known.shape[1], 1 / penalty)
    drawn[-1] /= FREE
    before, moved = near.logits(features)[:, 0], np.zeros(known.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = probabilities(before + known @ moved)
        slope = known.T @ (chance - labels) + drawn * moved
        curve = (known * (chance * (1 - chance))[:, None]).T @ known + np.diag(drawn)
        moved -= np.linalg.solve(curve, slope)
    weights = moved[:-1] / scale
    return Linear(near.weights + weights[:, None], near.intercept + moved[-1] - mean @ weights)


def fit_shares(features: np.ndarray, shares: np.ndarray, *, penalty: float, pseudo: float) -> Linear:
    """Return a multinomial logistic regression of rows that are each several answers in part.

    ``features`` (rows, columns) are taken as they are; ``shares`` (rows, outputs) add up to one.  As if
    ``pseudo`` more rows of no features had all answers alike.  ``penalty`` is scikit-learn's C, the smaller
    the stronger; the intercept is free.  An output for each answer.
    """
    rows, answers = shares.shape
    known = np.vstack([np.repeat(features, answers, axis=0), np.zeros((answers, features.shape[1]))])
    weights = np.concatenate([shares.ravel(), np.full(answers, pseudo / answers)])
    model = LogisticRegression(C=penalty, max_iter=STEPS)
    model.fit(known, np.tile(np.arange(answers), rows + 1), sample_weight=weights)
    if answers > 2:
        return Linear(model.coef_.T, model.intercept_)
    return Linear(
        np.column_stack([-model.coef_[0], model.coef_[0]]) / 2, np.array([-1, 1]) / 2 * model.intercept_
    )


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Return the probabilities of logits, which they rise with, strictly between 0 and 1."""
    return 1 / (1 + np.exp(-np.clip(np.asarray(logits, dtype=np.float64), -30, 30)))


def save(arrays: Mapping[str, np.ndarray], names: Mapping[str, Sequence[str]], path: str | Path) -> None:
    """Write arrays and lists of names to ``path`` (.npz), whole or not at all; a name holds no line break."""
    packed = {key: np.frombuffer("\n".join(values).encode(), dtype=np.uint8) for key, values in names.items()}
    with replacing(path) as temporary, temporary.open("wb") as out:
        np.savez_compressed(out, **arrays, **packed)


def load(path: str | Path, names: Sequence[str]) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Return the arrays and the ``names`` that `save` wrote; nothing in the file is run."""
    with np.load(path, allow_pickle=False) as found:
        arrays = {key: found[key] for key in found.files if key not in names}
        return arrays, {key: tuple(found[key].tobytes().decode().split("\n")) for key in names}
