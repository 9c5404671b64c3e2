"""A first stage with a linear model, trained in seconds on a few dozen judged queries.

Features are the similarities of a document and a query by BM25, by latent topics (singular vectors of the
documents' words) and by a frozen encoder's vectors: the similarity itself, and the contribution of each
dimension, some of which are more informative than others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from lextables.models.bm25 import BM25Index, analyze
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import Collection, Hits

TRAINING_PARTS = ("training", "validation")
MAX_ITERATIONS = 500
TRAINING_PAIRS = 200_000  # of a query and a document; some 800 MB
MIN_DOCUMENTS = 2  # minimum number of documents with a word
DIGITS = 6  # of a score; the number of threads changes only later digits

Space = tuple[
    Mapping[str, np.ndarray], Mapping[str, np.ndarray]
]  # {text: unit vector} of documents, queries
Encode = Callable[[Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class Ranker:
    """Weights for standardised features (`Similarity.described`); all arrays are float64 (features,)."""

    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the score of each row of ``features``, float64."""
        return (features - self.mean) / self.scale @ self.weights


class Similarity:
    """The similarity of the documents in a query's pool to the query.

    ``settings``: ``pool``, and BM25's ``k1`` and ``b``.
    """

    def __init__(
        self,
        collection: Collection,
        settings: Mapping[str, Any],
        spaces: Sequence[Space],
    ) -> None:
        self.collection, self.settings, self.spaces = collection, settings, spaces
        self.terms = {
            name: analyze(text) for name, text in collection.documents.items()
        }
        self.corpus = self._index(self.terms) if settings["pool"] == "all" else None

    def _index(self, documents: Sequence[str] | Mapping[str, Any]) -> BM25Index:
        parameters = {name: self.settings[name] for name in ("k1", "b")}
        return BM25Index(
            {document: self.terms[document] for document in documents}, **parameters
        )

    def described(self, query_id: str, text: str) -> tuple[list[str], np.ndarray]:
        """Return the sorted pool of a query and its features for this ``text``, float64 (pool, features).

        BM25's score, then for each space the cosine and the contribution of each dimension to it.  Scores and
        cosines are standardised within the pool.
        """
        pool = sorted(self.collection.pool(query_id, self.settings["pool"]))
        index = self.corpus or self._index(pool)
        scores = dict(index.search(analyze(text), len(pool)))
        columns = [
            _standardised(np.array([scores.get(document, 0.0) for document in pool]))
        ]
        for documents, queries in self.spaces:
            products = (
                np.stack([documents[document] for document in pool]).astype(np.float64)
                * queries[text]
            )
            columns += [_standardised(products.sum(axis=1)), products]
        return pool, np.column_stack(columns)


def retrieve(
    collection: Collection,
    settings: Mapping[str, Mapping[str, Any]],
    encoders: tuple[Encode, Encode] | None,
) -> tuple[dict[str, Hits], Ranker]:
    """Train on the training and validation queries and rank the pool of each test query; {form: hits}.

    The first form of the queries is used for training.  ``encoders`` of documents and queries return unit
    vectors; None for a model of words only.  ``settings`` differ between forms in ``queries`` only:
    ``topics``, ``penalty``, and ``pool``, ``top``, ``k1`` and ``b`` as for BM25.
    """
    main = next(iter(settings))
    training = collection.texts(main, TRAINING_PARTS)
    test = {
        form: collection.texts(form, ("test",), run["queries"])
        for form, run in settings.items()
    }
    queries = sorted(
        {text for texts in (training, *test.values()) for text in texts.values()}
    )
    spaces = [topics(collection.documents, queries, settings[main]["topics"])]
    if encoders:
        spaces.append(vectors(collection.documents, queries, *encoders))
    similarity = Similarity(collection, settings[main], spaces)
    model = fit(collection, similarity, training, settings[main]["penalty"])

    def ranked(query_id: str, text: str) -> list[tuple[str, float]]:
        pool, features = similarity.described(query_id, text)
        scores = np.round(model.scores(features), DIGITS).tolist()
        ranking = sorted(
            zip(pool, scores, strict=True), key=lambda hit: (-hit[1], hit[0])
        )
        return ranking[: settings[main]["top"]]

    hits = {
        form: {name: ranked(name, text) for name, text in texts.items()}
        for form, texts in test.items()
    }
    return hits, model


def fit(
    collection: Collection,
    similarity: Similarity,
    queries: Mapping[str, str],
    penalty: float,
) -> Ranker:
    """Return a logistic regression trained on the judged documents of ``queries`` ({id: text}).

    A gain, divided by the highest possible one, is the probability of being relevant.  All queries have equal
    weight, however many documents are judged for them.  Of large pools all relevant documents and a sample of
    the others are used (`TRAINING_PAIRS`).  ``penalty`` is scikit-learn's C (smaller is stronger).  Raises
    `BadInput` if no document is relevant, or every one.
    """
    features, gains, counts = [], [], []
    generator = np.random.default_rng(0)
    for query_id, text in queries.items():
        pool, described = similarity.described(query_id, text)
        judged = collection.judged[query_id]
        gain = (
            np.array([judged.get(document, 0) for document in pool])
            / collection.task["top_gain"]
        )
        rows = _sample(gain, TRAINING_PAIRS // len(queries), generator)
        features.append(described[rows])
        gains.append(gain[rows])
        counts.append(np.full(len(rows), 1 / len(rows)))
    known = np.vstack(features)
    mean, scale = known.mean(axis=0), known.std(axis=0)
    scale[scale == 0] = 1
    known = (known - mean) / scale
    gain, weight = np.concatenate(gains), np.concatenate(counts)
    if not 0 < gain.sum() < len(gain):
        what = "the training queries have only relevant documents, or only others"
        raise BadInput(what, where="judgements", do="check the split of the queries")
    # Each row is used as relevant with its gain as weight, and as not relevant with the rest.
    relevant = gain > 0
    weights = np.concatenate([weight * (1 - gain), (weight * gain)[relevant]])
    model = LogisticRegression(C=penalty, max_iter=MAX_ITERATIONS).fit(
        np.vstack([known, known[relevant]]),
        np.repeat([0, 1], [len(gain), relevant.sum()]),
        sample_weight=weights / weights.mean(),
    )
    return Ranker(mean, scale, model.coef_[0])


def _sample(gain: np.ndarray, most: int, generator: np.random.Generator) -> np.ndarray:
    """Return the indices of all relevant documents and of a random sample of others, ``most`` in all."""
    relevant, others = np.flatnonzero(gain), np.flatnonzero(gain == 0)
    count = max(1, most - len(relevant))
    if len(others) > count:
        others = generator.choice(others, count, replace=False)
    return np.sort(np.concatenate([relevant, others]))


def topics(
    documents: Mapping[str, str], queries: Sequence[str], dimensions: int
) -> Space:
    """Return TF-IDF vectors projected on the first ``dimensions`` singular vectors of the documents'.

    Words are those of `bm25.analyze`, with sublinear counts.  Raises `BadInput` if the documents share too
    few words for two dimensions.
    """
    names = sorted(documents)
    vectorizer = TfidfVectorizer(
        analyzer=analyze, sublinear_tf=True, min_df=min(MIN_DOCUMENTS, len(names))
    )
    try:
        words = vectorizer.fit_transform([documents[name] for name in names])
        latent = TruncatedSVD(
            min(dimensions, min(words.shape) - 1), random_state=0
        ).fit(words)
    except ValueError as error:
        what = "the documents share too few words"
        raise BadInput(what, where="documents", do="use more documents") from error
    of_queries = vectorizer.transform(queries)
    return (
        dict(zip(names, _unit(latent.transform(words)), strict=True)),
        dict(zip(queries, _unit(latent.transform(of_queries)), strict=True)),
    )


def vectors(
    documents: Mapping[str, str],
    queries: Sequence[str],
    of_documents: Encode,
    of_queries: Encode,
) -> Space:
    """Return a frozen encoder's vectors of the documents and of the queries' texts."""
    names = sorted(documents)
    return (
        dict(
            zip(names, of_documents([documents[name] for name in names]), strict=True)
        ),
        dict(zip(queries, of_queries(queries), strict=True)),
    )


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _standardised(scores: np.ndarray) -> np.ndarray:
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation else np.zeros(len(scores))
