"""Linear baselines for classification.  Training takes minutes on a CPU.

One logistic regression (one against the rest) for each answer of each head.  Word features are runs of words,
separate for the two texts of a pair.  Numeric features come in blocks: the word overlap of a pair, its
lengths and its counts of negations; for frozen sentence vectors, both vectors, their product and difference,
and the similarity of the second text to the closest piece of the first.  Features are first weighted by their
association with the answer (`models.linear.fit_weighed`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from lextables.models import linear
from lextables.models.linear import Linear, overlaps, probabilities, runs, standing_in
from lextables.pipeline.dataset import Row, read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import (
    Key,
    Text,
    View,
    by_head,
    check_labels,
    check_test_size,
    key_of,
    learnt_from,
    of_splits,
    subset,
    texts_of,
    under_view,
)
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.vectors import read_vectors

WORDS = 2**20  # hash buckets for the words and word pairs that are compared
NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|cannot|nothing|fail(?:s|ed)?)\b|n['’]t\b",
    re.IGNORECASE,
)
Vectors = Mapping[
    str, np.ndarray
]  # {text id: vectors of its pieces}, from `vectors.read_vectors`
Sides = Sequence[tuple[str, str]]  # (text id, text) of one side of each text or pair


@dataclass(frozen=True)
class Features:
    """``words`` are float32 (texts, buckets), each of the ``blocks`` float32 (texts, columns)."""

    words: csr_matrix
    blocks: tuple[np.ndarray, ...]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the blocks of these rows side by side, float64 (rows, columns)."""
        return np.column_stack(
            [np.empty((len(rows), 0)), *(block[rows] for block in self.blocks)]
        )

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
    if sides == "second" and (
        alone := [text.key[0] for text in texts if text.second is None]
    ):
        raise BadInput(
            "the text has no second side",
            where=f"text {alone[0]}",
            do="set sides to first or both",
        )
    firsts = [(text.key[0], text.text) for text in texts]
    seconds = [(text.key[1], text.second or "") for text in texts]
    return [firsts, seconds] if pairs else [seconds if sides == "second" else firsts]


def rarity(sides: Sequence[Sides]) -> np.ndarray:
    """Return the inverse document frequency of each word, float32 (WORDS,); empty for single texts."""
    if len(sides) == 1:
        return np.empty(0, dtype=np.float32)
    document_counts = sum(
        standing_in(runs(_words(side), 1, buckets=WORDS)) for side in sides
    )
    return np.log((1 + sum(map(len, sides))) / (1 + document_counts)).astype(np.float32)


def linear_features(
    sides: Sequence[Sides],
    *,
    longest: int,
    features: str,
    rare: np.ndarray,
    vectors: Vectors | None,
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
        blocks += [_comparison_features(*sides, rare)] if len(sides) > 1 else []
    if features in ("vectors", "both"):
        blocks += _of_vectors(sides, vectors or {})
    return Features(words, tuple(block.astype(np.float32) for block in blocks))


def _words(side: Sides) -> Iterable[str]:
    return (text for _, text in side)


def _comparison_features(first: Sides, second: Sides, rare: np.ndarray) -> np.ndarray:
    grams = [
        [runs(_words(side), length, length, buckets=WORDS) for length in (1, 2)]
        for side in (first, second)
    ]
    negations = [
        [len(NEGATION.findall(text)) for text in _words(side)]
        for side in (first, second)
    ]
    lengths = np.log1p(
        [[len(text.split()) for text in _words(side)] for side in (first, second)]
    )
    return np.column_stack([overlaps(*grams, rare), np.log1p(negations).T, lengths.T])


def _of_vectors(sides: Sequence[Sides], vectors: Vectors) -> list[np.ndarray]:
    means, maxima, pieces = zip(
        *(_pooled(side, vectors) for side in sides), strict=True
    )
    if len(sides) == 1:
        return [np.hstack([means[0], maxima[0]])]
    first, second = means
    closest = [
        float((piece_vectors @ vector).max())
        for piece_vectors, vector in zip(pieces[0], second, strict=True)
    ]
    return [
        np.hstack([first, second, first * second, np.abs(first - second)]),
        np.array(closest)[:, None],
    ]


def _pooled(
    side: Sides, vectors: Vectors
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Return the normalised mean, the maximum of each dimension, and all vectors of each text."""
    width = next(iter(vectors.values())).shape[1] if vectors else 0
    vectors_of = []
    for text_id, text in side:
        if text and text_id not in vectors:
            raise BadInput("the text has no vectors", where=f"text {text_id}")
        vectors_of.append(
            vectors[text_id].astype(np.float32)
            if text
            else np.zeros((1, width), dtype=np.float32)
        )
    means = np.array([text_vectors.mean(axis=0) for text_vectors in vectors_of])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    means /= np.where(lengths > 0, lengths, 1)
    return (
        means,
        np.array([text_vectors.max(axis=0) for text_vectors in vectors_of]),
        vectors_of,
    )


WEIGHTS = "linear.npz"
RARE = 0.1  # share of a head's examples: upper limit of the minimum number of texts with a word
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Head:
    """The model of one head: the word ``columns`` it uses, and weights for these and then for the blocks.

    It has one output per answer, or a single output (the second answer) if there are two exclusive answers.
    """

    answers: int
    columns: np.ndarray
    model: Linear

    def logits(self, features: Features, rows: np.ndarray) -> np.ndarray:
        """Return the logit of each answer for these ``rows`` of the features, float64 (rows, answers)."""
        words = chosen(features.words[rows], self.columns)
        weights = self.model.weights.astype(np.float64)
        logits = (
            words @ weights[: words.shape[1]]
            + features.numbers(rows) @ weights[words.shape[1] :]
        )
        logits = np.asarray(logits) + self.model.intercept
        return (
            logits if logits.shape[1] == self.answers else np.hstack([-logits, logits])
        )


@dataclass(frozen=True)
class Classifier:
    """The models of all heads, and the word weights for comparing pairs (`rarity`)."""

    heads: Mapping[str, Head]
    rare: np.ndarray


def chosen(words: csr_matrix, columns: np.ndarray) -> csr_matrix:
    """Return these word columns with L2-normalised rows, float64."""
    selected = words[:, columns].astype(np.float64)
    return normalize(selected) if len(columns) else selected


def fit(
    features: Features, rows: np.ndarray, right: np.ndarray, settings: Settings
) -> Head:
    """Train the model of one head.

    ``rows`` (examples,) are the rows of its examples in the features; ``right`` (examples, answers) is bool.
    ``settings`` as in `plan.LinearSettings`, with ``features`` and ``multi_label``.
    """
    least = min(settings["least"], max(1, int(RARE * len(rows))))
    columns = np.flatnonzero(standing_in(features.words[rows]) >= least).astype(
        np.int32
    )
    words, numbers = chosen(features.words[rows], columns), features.numbers(rows)
    # Scaled so that a block has about the norm of the word features (one), times its weight.
    counts = [
        settings["numbers"] / np.sqrt(width)
        for width in features.columns
        for _ in range(width)
    ]
    mean, scale = numbers.mean(axis=0), numbers.std(axis=0)
    scale[scale < 1e-6] = np.inf  # constant columns are ignored
    scale /= counts
    options = {
        "penalty": settings["penalty"][settings["features"]],
        "smoothing": settings["smoothing"],
    }
    answers = right.shape[1]
    modelled = [1] if answers == 2 and not settings["multi_label"] else range(answers)
    models = [
        linear.fit_weighed(words, (numbers - mean) / scale, right[:, answer], **options)
        for answer in modelled
    ]
    weights = np.hstack([model.weights for model in models])
    weights[len(columns) :] /= scale[:, None]
    intercept = (
        np.concatenate([model.intercept for model in models])
        - mean @ weights[len(columns) :]
    )
    return Head(answers, columns, Linear(weights.astype(np.float32), intercept))


def shares(logits: np.ndarray, *, multi_label: bool) -> np.ndarray:
    """Return the probability of each answer, shape as ``logits``; they sum to one unless ``multi_label``."""
    independent = probabilities(logits)
    return (
        independent
        if multi_label
        else independent / independent.sum(axis=1, keepdims=True)
    )


def learn(
    texts: Sequence[Text],
    training: Mapping[str, Sequence[Row]],
    answers: Mapping[str, int],
    settings: Settings,
    vectors: Vectors | None = None,
    threads: int = 1,
) -> Classifier:
    """Train the models of the heads that have examples; the result does not depend on ``threads``.

    ``training`` are the labelled examples of each head (`examples.by_head`), ``answers`` its number of
    answers.
    """
    sides = sides_of(texts, settings["sides"], pairs=paired(texts, settings["sides"]))
    rare = rarity(sides)
    features = linear_features(
        sides, **_feature_settings(settings), rare=rare, vectors=vectors
    )
    place = {text.key: at for at, text in enumerate(texts)}

    def one(head: str) -> Head:
        rows = training[head]
        right = np.zeros((len(rows), answers[head]), dtype=bool)
        for at, row in enumerate(rows):
            right[at, list(row["labels"])] = True
        return fit(features, _places(rows, place), right, settings)

    heads = sorted(head for head, rows in training.items() if rows)
    # With several threads sums differ in the last bits.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        return Classifier(dict(zip(heads, pool.map(one, heads), strict=True)), rare)


def predict(
    model: Classifier,
    texts: Sequence[Text],
    to_predict: Mapping[str, Sequence[Row]],
    settings: Settings,
    vectors: Vectors | None = None,
) -> list[Row]:
    """Return the rows of `schema.PREDICTIONS`, sorted, for the heads that the model has."""
    sides = sides_of(texts, settings["sides"], pairs=len(model.rare) > 0)
    features = linear_features(
        sides, **_feature_settings(settings), rare=model.rare, vectors=vectors
    )
    place, predictions = {text.key: at for at, text in enumerate(texts)}, []
    with threadpool_limits(1):
        for head, rows in sorted(to_predict.items()):
            if not rows or head not in model.heads:
                continue
            logits = model.heads[head].logits(features, _places(rows, place))
            probabilities_ = shares(logits, multi_label=settings["multi_label"])
            predictions += [
                {
                    "head_id": head,
                    "example_id": row["example_id"],
                    "logits": of_row.tolist(),
                    "probabilities": share.tolist(),
                }
                for row, of_row, share in zip(rows, logits, probabilities_, strict=True)
            ]
    return predictions


def _feature_settings(settings: Settings) -> dict[str, Any]:
    return {name: settings[name] for name in ("longest", "features")}


def _places(rows: Iterable[Row], place: Mapping[Key, int]) -> np.ndarray:
    return np.array([place[key_of(row)] for row in rows], dtype=np.int64)


# The files of a run.


def train(
    files: Sequence[str | Path],
    vectors: Sequence[str | Path],
    final: Sequence[str],
    settings: Settings,
    threads: int,
    output: str | Path,
) -> dict[str, Any]:
    """Train on the examples of the splits ``final``, save to the folder ``output``, and return the record.

    ``files`` are the tables of examples, heads and texts; ``vectors`` is the table `vectors.VECTORS`, or
    empty.  Raises `BadInput` for invalid rows, or if there is no training example.
    """
    examples, heads, texts = files
    check_test_size(read(examples), settings)
    answers = {row["head_id"]: len(row["answers"]) for row in read(heads)}
    answers = {
        head: size
        for head, size in answers.items()
        if head in (settings["only"] or answers)
    }
    rows = list(
        _selected(
            learnt_from(read(examples), final, settings["where"]),
            settings,
            settings["view"],
        )
    )
    several = settings["multi_label"]
    if not rows:
        raise BadInput(
            f"no example is in {' or '.join(final)}",
            where="examples",
            do="check the splits",
        )
    check_labels(rows, answers, several)
    training = by_head(
        subset(rows, settings["percent"] / 100, 0, multi_label=several),
        answers,
        labelled=True,
    )
    training_texts = _texts_of(training, examples, texts, settings["view"])
    model = learn(
        training_texts, training, answers, settings, _vectors(vectors), threads
    )
    save(model, Path(output) / WEIGHTS)
    return {
        "heads": len(model.heads),
        "training_examples": sum(map(len, training.values())),
        "weights": sum(head.model.weights.size for head in model.heads.values()),
    }


def read_examples(
    files: Sequence[str | Path],
    vectors: Sequence[str | Path],
    test: Sequence[str],
    settings: Settings,
    weights: str | Path,
    output: str | Path,
) -> dict[str, Any]:
    """Write the predictions for the examples of the splits ``test`` and return the record.

    Examples of heads without a model are left out and counted.
    """
    rows, left_out = _read(files, _vectors(vectors), test, settings, weights, None)
    write(PREDICTIONS, rows, output)
    return {"heads_left_out": left_out}


def read_views(
    files: Sequence[str | Path],
    vectors: Sequence[str | Path],
    test: Sequence[str],
    settings: Settings,
    weights: Sequence[str | Path],
    output: str | Path,
) -> dict[str, Any]:
    """`read_examples` for a task with views: write `READINGS` for each of the settings' ``readings``.

    ``weights`` are the folders of the trainings; the ``source`` of a reading is an index into them.
    """
    read_in, predictions, left_out = _vectors(vectors), [], {}
    for reading in sorted(settings["readings"], key=itemgetter("condition")):
        condition = reading["condition"]
        source = weights[reading["source"]]
        rows, left_out[condition] = _read(
            files, read_in, test, settings, source, reading["view"]
        )
        predictions += [{"condition": condition, **row} for row in rows]
    write(READINGS, predictions, output)
    return {"heads_left_out": left_out}


def _read(
    files: Sequence[str | Path],
    vectors: Vectors | None,
    test: Sequence[str],
    settings: Settings,
    weights: str | Path,
    view: View | None,
) -> tuple[list[Row], int]:
    """Return the predictions under a view, and the number of heads without a model."""
    examples, heads, texts = files
    model = load(Path(weights) / WEIGHTS)
    to_predict = by_head(
        _selected(of_splits(read(examples), test), settings, view),
        [row["head_id"] for row in read(heads)],
    )
    learnt = {head: rows for head, rows in to_predict.items() if head in model.heads}
    learnt_texts = _texts_of(learnt, examples, texts, view)
    left_out = sum(
        bool(rows) for head, rows in to_predict.items() if head not in learnt
    )
    return predict(model, learnt_texts, learnt, settings, vectors), left_out


def _selected(
    rows: Iterable[Row], settings: Settings, view: View | None
) -> Iterator[Row]:
    """Yield the examples of the heads in the settings, under a view."""
    return (
        row
        for row in under_view(rows, view)
        if row["head_id"] in (settings["only"] or (row["head_id"],))
    )


def _texts_of(
    rows: Mapping[str, Sequence[Row]],
    examples: str | Path,
    texts: str | Path,
    view: View | None,
) -> list[Text]:
    """Return the texts of these examples; raises `BadInput` for a missing or empty text."""
    example_of = {
        key_of(row): row["example_id"] for of_head in rows.values() for row in of_head
    }
    contents = [
        text
        for text in texts_of(examples, texts, [view] if view else ())
        if text.key in example_of
    ]
    if missing := sorted(example_of.keys() - {text.key for text in contents}):
        raise BadInput(
            f"there is no text {missing[0][0]!r}",
            where=f"example {example_of[missing[0]]}",
        )
    for text in contents:
        for text_id, content in zip(text.key, (text.text, text.second), strict=True):
            if content is not None and not content.strip():
                raise BadInput("the text is empty", where=f"text {text_id}")
    return contents


def _vectors(path: Sequence[str | Path]) -> Vectors | None:
    return read_vectors(path[0]) if path else None


def save(model: Classifier, path: str | Path) -> None:
    """Write the models to ``path`` (.npz) as arrays and strings, without pickles."""
    arrays = {
        "rare": model.rare,
        "answers": np.array([head.answers for head in model.heads.values()]),
    }
    for number, head in enumerate(model.heads.values()):
        arrays |= {
            f"columns_{number}": head.columns,
            f"weights_{number}": head.model.weights,
        }
        arrays |= {f"intercept_{number}": head.model.intercept}
    linear.save(arrays, {"heads": list(model.heads)}, path)


def load(path: str | Path) -> Classifier:
    """Read models written by `save`."""
    arrays, names = linear.load(path, ("heads",))
    heads = {
        name: Head(
            int(arrays["answers"][number]),
            arrays[f"columns_{number}"],
            Linear(arrays[f"weights_{number}"], arrays[f"intercept_{number}"]),
        )
        for number, name in enumerate(names["heads"])
    }
    return Classifier(heads, arrays["rare"])
