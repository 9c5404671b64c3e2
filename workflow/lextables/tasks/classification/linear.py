"""Linear baselines for classification.  Training takes minutes on a CPU.

One logistic regression (one against the rest) for each answer of each head.  Word
features are n-grams of words, separate for the two texts of a pair.  Numeric features
come in blocks: the word overlap of a pair, its lengths and its counts of negations; for
frozen sentence vectors, both vectors, their product and difference, and the similarity
of the second text to the closest piece of the first.  Features are first weighted by
their association with the answer (`models.linear.fit_weighed`).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from lextables.models import linear
from lextables.models.linear import (
    Linear,
    document_frequencies,
    hashed_ngrams,
    overlap_shares,
    probabilities,
)
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.tasks.classification.examples import (
    Key,
    RowsByHead,
    Text,
    View,
    by_head,
    check_labels,
    check_test_size,
    key_of,
    of_heads,
    of_splits,
    subset,
    texts_of,
    training_rows,
    under_view,
    with_condition,
)
from lextables.tasks.classification.settings import (
    BLANK,
    LinearSettings,
    Reading,
    Sides,
)
from lextables.tasks.classification.vectors import read_vectors

COMPARED_BUCKETS = 2**20  # hash buckets for the words and word pairs of comparisons
NEGATION = re.compile(
    r"\b(?:not|no|never|none|nor|neither|without|cannot|nothing|fail(?:s|ed)?)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
# {text id: vectors of its pieces}, from `vectors.read_vectors`.
Vectors = Mapping[str, np.ndarray]
Side = Sequence[tuple[str, str]]  # (text id, text) of one side of each text or pair


@dataclass(frozen=True)
class Features:
    """The features of texts or pairs.

    ``words`` are counts of n-grams, float32 (texts, buckets); ``blocks`` are numeric
    features, float32 (texts, columns) each.
    """

    words: csr_matrix
    blocks: tuple[np.ndarray, ...]

    def numbers(self, rows: np.ndarray) -> np.ndarray:
        """Return the blocks of these rows side by side, float64 (rows, columns)."""
        blocks = [block[rows] for block in self.blocks]
        return np.column_stack([np.empty((len(rows), 0)), *blocks])


def sides_of(texts: Iterable[Text], sides: Sides, *, pairs: bool) -> list[Side]:
    """Return the sides that a model reads: both for ``pairs``, else the one of
    ``sides``.

    Among pairs, a single text has an empty second side.  Raises `BadInput` for a single
    text if only the second side is read.
    """
    firsts = []
    seconds = []
    for text in texts:
        if sides == "second" and text.second is None:
            what = "the text has no second side"
            where = f"text {text.key[0]}"
            raise BadInput(what, where=where, do="set sides to first or both")
        firsts.append((text.key[0], text.text))
        seconds.append((text.key[1], text.second or ""))
    if pairs:
        return [firsts, seconds]
    return [seconds] if sides == "second" else [firsts]


def idf_of_words(sides: Sequence[Side]) -> np.ndarray:
    """Return the inverse document frequency of each word, float32 (buckets,).

    Empty for single texts.
    """
    if len(sides) == 1:
        return np.empty(0, dtype=np.float32)
    frequencies = np.zeros(COMPARED_BUCKETS, dtype=np.int64)
    for side in sides:
        frequencies += document_frequencies(_compared_ngrams(side, 1))
    texts = sum(map(len, sides))
    idf = np.log((1 + texts) / (1 + frequencies))
    return idf.astype(np.float32)


def linear_features(
    sides: Sequence[Side],
    settings: LinearSettings,
    idf: np.ndarray,
    vectors: Vectors | None,
) -> Features:
    """Return the features of texts or pairs that the ``settings`` name.

    ``idf`` is the result of `idf_of_words` on the training texts.
    """
    words = csr_matrix((len(sides[0]), 0), dtype=np.float32)
    blocks = []
    if settings.features in ("words", "both"):
        longest = settings.longest
        ngrams = [hashed_ngrams(_contents(side), longest) for side in sides]
        words = csr_matrix(hstack(ngrams))
    if settings.features == "length":
        blocks.append(_length_features(sides))
    elif settings.features != "vectors" and len(sides) > 1:
        blocks.append(_comparison_features(sides, idf))
    if settings.features in ("vectors", "both"):
        blocks += _vector_features(sides, vectors or {})
    return Features(words, tuple(block.astype(np.float32) for block in blocks))


def _contents(side: Side) -> Iterable[str]:
    return (text for _, text in side)


def _compared_ngrams(side: Side, length: int) -> csr_matrix:
    """Return the n-grams of ``length`` words for comparisons, (texts, buckets)."""
    return hashed_ngrams(_contents(side), length, length, buckets=COMPARED_BUCKETS)


def _comparison_features(sides: Sequence[Side], idf: np.ndarray) -> np.ndarray:
    """Return overlaps, negations and lengths of pairs, float64 (pairs, 7)."""
    ngrams = []
    negations = []
    lengths = []
    for side in sides:
        texts = list(_contents(side))
        ngrams.append([_compared_ngrams(side, 1), _compared_ngrams(side, 2)])
        negations.append([len(NEGATION.findall(text)) for text in texts])
        lengths.append([len(text.split()) for text in texts])
    first, second = ngrams
    shares = overlap_shares(first, second, idf)
    counts = np.log1p([*negations, *lengths])
    return np.column_stack([shares, counts.T])


def _length_features(sides: Sequence[Side]) -> np.ndarray:
    """Return the logarithm of the number of words and its square, float64 (texts,
    columns).
    """
    lengths = []
    for side in sides:
        lengths.append([len(text.split()) for text in _contents(side)])
    logarithms = np.log1p(lengths).T
    return np.hstack([logarithms, logarithms**2])


def _vector_features(sides: Sequence[Side], vectors: Vectors) -> list[np.ndarray]:
    """Return the blocks of features from vectors, (texts, columns) each.

    Of a single text they are the mean and the maximum of its pieces, of a pair a
    comparison of both means, and the similarity of the second to the closest piece of
    the first.
    """
    pieces = [_pieces(side, vectors) for side in sides]
    means = [_means(side_pieces) for side_pieces in pieces]
    if len(sides) == 1:
        maxima = np.array([text_pieces.max(axis=0) for text_pieces in pieces[0]])
        return [np.hstack([*means, maxima])]
    first, second = means
    closest = []
    for text_pieces, vector in zip(pieces[0], second, strict=True):
        similarities = text_pieces @ vector
        closest.append([float(similarities.max())])
    difference = np.abs(first - second)
    compared = np.hstack([first, second, first * second, difference])
    return [compared, np.array(closest)]


def _pieces(side: Side, vectors: Vectors) -> list[np.ndarray]:
    """Return the vectors of each text, float32 (pieces, dimensions); 0 for an empty
    one.
    """
    width = next(iter(vectors.values())).shape[1] if vectors else 0
    pieces = []
    for text_id, text in side:
        if not text:
            pieces.append(np.zeros((1, width), dtype=np.float32))
            continue
        if text_id not in vectors:
            raise BadInput("the text has no vectors", where=f"text {text_id}")
        pieces.append(vectors[text_id].astype(np.float32))
    return pieces


def _means(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """Return the mean vector of each text, of length one, (texts, dimensions)."""
    means = np.array([text_pieces.mean(axis=0) for text_pieces in pieces])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    return means / lengths


WEIGHTS = "linear.npz"
# A word is a feature if ``settings.least`` texts of a head have it, or this share of
# the texts, if that is fewer.
LEAST_SHARE = 0.1


@dataclass(frozen=True)
class HeadModel:
    """The model of one head: its word ``columns``, and weights for these, then the
    blocks.

    It has one output per answer, or a single output (the second answer) if there are
    two exclusive answers.
    """

    answers: int
    columns: np.ndarray
    model: Linear

    def logits(self, features: Features, rows: np.ndarray) -> np.ndarray:
        """Return the logit of each answer for these rows, float64 (rows, answers)."""
        words = with_columns(features.words[rows], self.columns)
        numbers = features.numbers(rows)
        weights = self.model.weights.astype(np.float64)
        word_weights, number_weights = np.split(weights, [words.shape[1]])
        logits = np.asarray(words @ word_weights + numbers @ number_weights)
        logits += self.model.intercept
        if logits.shape[1] == self.answers:
            return logits
        return np.hstack([-logits, logits])


@dataclass(frozen=True)
class Classifier:
    """The models of all heads, and the `idf_of_words` of the training texts."""

    heads: Mapping[str, HeadModel]
    idf: np.ndarray


def with_columns(words: csr_matrix, columns: np.ndarray) -> csr_matrix:
    """Return these columns of the word counts, with rows of length one, float64."""
    selected = words[:, columns].astype(np.float64)
    if not len(columns):
        return selected
    return normalize(selected)


def fit(
    features: Features,
    rows: np.ndarray,
    is_answer: np.ndarray,
    settings: LinearSettings,
) -> HeadModel:
    """Train the model of one head.

    ``rows`` (examples,) are the rows of its examples in the features; ``is_answer``
    (examples, answers) is bool.
    """
    share_of_texts = max(1, int(LEAST_SHARE * len(rows)))
    least = min(settings.least, share_of_texts)
    frequencies = document_frequencies(features.words[rows])
    columns = np.flatnonzero(frequencies >= least).astype(np.int32)
    words = with_columns(features.words[rows], columns)
    numbers = features.numbers(rows)
    # A block has about the norm of the word features (one), times its weight.
    norms = []  # of each numeric column
    for block in features.blocks:
        width = block.shape[1]
        norms += [settings.numbers / np.sqrt(width)] * width
    mean = numbers.mean(axis=0)
    scale = numbers.std(axis=0)
    scale[scale < 1e-6] = np.inf  # constant columns are ignored
    scale /= norms
    # Two exclusive answers have one output.
    answers = is_answer.shape[1]
    outputs = list(range(answers))
    if answers == 2 and not settings.multi_label:
        outputs = [1]
    models = []
    for answer in outputs:
        model = linear.fit_weighed(
            words,
            (numbers - mean) / scale,
            is_answer[:, answer],
            penalty=settings.penalty[settings.features],
            smoothing=settings.smoothing,
        )
        models.append(model)
    # The weights for ``numbers`` as they are, neither centred nor scaled.
    weights = np.hstack([model.weights for model in models])
    number_weights = weights[len(columns) :]
    number_weights /= scale[:, None]
    intercept = np.concatenate([model.intercept for model in models])
    intercept -= mean @ number_weights
    model = Linear(weights.astype(np.float32), intercept)
    return HeadModel(answers, columns, model)


def shares(logits: np.ndarray, *, multi_label: bool) -> np.ndarray:
    """Return the probability of each answer, shape as ``logits``.

    They sum to one unless ``multi_label``.
    """
    independent = probabilities(logits)
    if multi_label:
        return independent
    return independent / independent.sum(axis=1, keepdims=True)


def learn(
    texts: Sequence[Text],
    training: RowsByHead,
    answers: Mapping[str, int],
    settings: LinearSettings,
    vectors: Vectors | None = None,
    threads: int = 1,
) -> Classifier:
    """Train the models of the heads that have examples.

    ``training`` are the labelled examples of each head (`examples.by_head`),
    ``answers`` its number of answers.  The result does not depend on ``threads``.
    """
    # Without any second text, or with one side, all texts are single texts.
    pairs = settings.sides == "both" and any(text.second is not None for text in texts)
    sides = sides_of(texts, settings.sides, pairs=pairs)
    idf = idf_of_words(sides)
    features = linear_features(sides, settings, idf, vectors)
    place_of = {text.key: place for place, text in enumerate(texts)}

    def of_head(head: str) -> HeadModel:
        """Train the model of one head."""
        rows = training[head]
        is_answer = np.zeros((len(rows), answers[head]), dtype=bool)
        for number, row in enumerate(rows):
            labels = list(row["labels"])
            is_answer[number, labels] = True
        return fit(features, _places(rows, place_of), is_answer, settings)

    heads = sorted(head for head, rows in training.items() if rows)
    # With several threads sums differ in the last bits.
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        models = pool.map(of_head, heads)
        return Classifier(dict(zip(heads, models, strict=True)), idf)


def predict(
    model: Classifier,
    texts: Sequence[Text],
    to_predict: RowsByHead,
    settings: LinearSettings,
    vectors: Vectors | None = None,
) -> Iterator[Row]:
    """Yield the rows of `schema.PREDICTIONS`, sorted, for the heads of the model."""
    pairs = len(model.idf) > 0  # `idf_of_words` is empty for single texts
    sides = sides_of(texts, settings.sides, pairs=pairs)
    features = linear_features(sides, settings, model.idf, vectors)
    place_of = {text.key: place for place, text in enumerate(texts)}
    for head, rows in sorted(to_predict.items()):
        if not rows or head not in model.heads:
            continue
        places = _places(rows, place_of)
        with threadpool_limits(1):
            logits = model.heads[head].logits(features, places)
        answer_shares = shares(logits, multi_label=settings.multi_label)
        for row, row_logits, row_shares in zip(
            rows, logits, answer_shares, strict=True
        ):
            yield {
                "head_id": head,
                "example_id": row["example_id"],
                "logits": row_logits.tolist(),
                "probabilities": row_shares.tolist(),
            }


def _places(rows: Iterable[Row], place_of: Mapping[Key, int]) -> np.ndarray:
    """Return the place of each example's text among all texts, int64 (examples,)."""
    return np.array([place_of[key_of(row)] for row in rows], dtype=np.int64)


@dataclass(frozen=True)
class LinearFiles:
    """The tables of a data set, and that of `vectors.VECTORS` if the models read it."""

    examples: str | Path
    heads: str | Path
    texts: str | Path
    vectors: str | Path | None = None

    def vectors_by_text(self) -> Vectors | None:
        """Return the vectors of each text, or None without a file."""
        return read_vectors(self.vectors) if self.vectors else None

    def contents(self, rows: RowsByHead, view: View | None) -> list[Text]:
        """Return the texts of examples; `BadInput` for a missing or empty text."""
        example_of = {}
        for head_rows in rows.values():
            example_of.update({key_of(row): row["example_id"] for row in head_rows})
        texts = []
        for text in texts_of(self.examples, self.texts, [view] if view else ()):
            if text.key in example_of:
                texts.append(text)
        missing = example_of.keys() - {text.key for text in texts}
        if missing:
            key = min(missing)
            where = f"example {example_of[key]}"
            raise BadInput(f"there is no text {key[0]!r}", where=where)
        for text in texts:
            contents = text.text, text.second
            for text_id, content in zip(text.key, contents, strict=True):
                empty = content is not None and not content.strip()
                if empty and text_id != BLANK:
                    raise BadInput("the text is empty", where=f"text {text_id}")
        return texts


def train(
    files: LinearFiles,
    splits: Sequence[str],
    settings: LinearSettings,
    threads: int,
    output: str | Path,
) -> JsonObject:
    """Train on the examples of these splits, save to a folder, and return the record.

    Raises `BadInput` for invalid rows, or if there is no training example.
    """
    check_test_size(read(files.examples), settings)
    answers = {}
    for row in of_heads(read(files.heads), settings.only):
        answers[row["head_id"]] = len(row["answers"])
    selected = training_rows(read(files.examples), splits, settings)
    rows = list(under_view(selected, settings.view))
    if not rows:
        what = f"no example is in {' or '.join(splits)}"
        raise BadInput(what, where="examples", do="check the splits")
    check_labels(rows, answers, settings.multi_label)
    share = settings.percent / 100
    part = subset(rows, share, 0, multi_label=settings.multi_label)
    training = by_head(part, answers, labelled=True)
    texts = files.contents(training, settings.view)
    vectors = files.vectors_by_text()
    model = learn(texts, training, answers, settings, vectors, threads)
    save(model, Path(output) / WEIGHTS)
    weights = [head.model.weights.size for head in model.heads.values()]
    return {
        "heads": len(model.heads),
        "training_examples": sum(map(len, training.values())),
        "weights": sum(weights),
    }


def read_views(
    files: LinearFiles,
    test: Sequence[str],
    settings: LinearSettings,
    weights: Sequence[str | Path],
    left_out: dict[str, int],
) -> Iterator[Row]:
    """Yield the predictions for the examples of the splits ``test`` under each reading.

    They are rows of `schema.PREDICTIONS` without readings in the settings, and
    otherwise of `schema.READINGS`.  ``weights`` are the folders of the trainings; the
    ``source`` of a reading is an index into them.  Examples of heads without a model
    are left out; ``left_out`` gets the number of these heads by condition.
    """
    vectors = files.vectors_by_text()
    rows = list(of_heads(of_splits(read(files.examples), test), settings.only))
    heads = [row["head_id"] for row in read(files.heads)]
    readings = settings.readings or (Reading(),)
    for reading in sorted(readings, key=lambda reading: reading.condition):
        model = load(Path(weights[reading.source]) / WEIGHTS)
        asked = by_head(under_view(rows, reading.view), heads)
        rows_by_head = {}
        unknown = 0
        for head, head_rows in asked.items():
            if head in model.heads:
                rows_by_head[head] = head_rows
            elif head_rows:
                unknown += 1
        left_out[reading.condition] = unknown
        texts = files.contents(rows_by_head, reading.view)
        predicted = predict(model, texts, rows_by_head, settings, vectors)
        yield from with_condition(predicted, reading.condition)


def save(model: Classifier, path: str | Path) -> None:
    """Write the models to ``path`` (.npz) as arrays and strings, without pickles."""
    heads = list(model.heads.values())
    answers = [head.answers for head in heads]
    # "rare" is the name of the inverse document frequencies in the file.
    arrays = {"rare": model.idf, "answers": np.array(answers)}
    for number, head in enumerate(heads):
        arrays[f"columns_{number}"] = head.columns
        arrays[f"weights_{number}"] = head.model.weights
        arrays[f"intercept_{number}"] = head.model.intercept
    linear.save(arrays, {"heads": list(model.heads)}, path)


def load(path: str | Path) -> Classifier:
    """Read models written by `save`."""
    arrays, names = linear.load(path, ("heads",))
    heads = {}
    for number, name in enumerate(names["heads"]):
        heads[name] = HeadModel(
            answers=int(arrays["answers"][number]),
            columns=arrays[f"columns_{number}"],
            model=Linear(
                weights=arrays[f"weights_{number}"],
                intercept=arrays[f"intercept_{number}"],
            ),
        )
    return Classifier(heads, arrays["rare"])
