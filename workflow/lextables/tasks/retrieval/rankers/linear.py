"""A first stage with a linear model, trained in seconds on a few dozen judged queries.

Features are the similarities of a document and a query by BM25, by latent topics
(singular vectors of the documents' words) and, if the model has an encoder, by its
vectors.  For topics and vectors, the contribution of each dimension to the similarity
is a feature too, since some dimensions are more informative than others.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from lextables.models.bm25 import BM25Index, analyze
from lextables.pipeline.errors import BadInput
from lextables.tasks.retrieval.collection import Collection, HitsByCondition, best_first
from lextables.tasks.retrieval.ranking import Encoders, Ranking, RankingSettings

TRAINING_PARTS = ("training", "validation")
MAX_ITERATIONS = 500
TRAINING_PAIRS = 200_000  # pairs of a query and a document, at most; some 800 MB
MIN_DOCUMENTS = 2  # minimum number of documents with a word
DIGITS = 6  # of a score; the number of threads changes only later digits


class LinearSettings(RankingSettings):
    """The settings of a run with a linear model."""

    topics: int
    """The number of latent topics."""
    penalty: float
    """scikit-learn's C; smaller is stronger."""
    k1: float
    """BM25's saturation of the frequency of a term."""
    b: float
    """BM25's share of the normalisation by the length of a document."""


@dataclass(frozen=True)
class Space:
    """Unit vectors of documents and queries."""

    documents: Mapping[str, np.ndarray]
    """{document id: vector}."""
    queries: Mapping[str, np.ndarray]
    """{text of a query: vector}."""


@dataclass(frozen=True)
class Ranker:
    """Weights for standardised features (`Similarity.features`); all arrays are float64
    (features,).
    """

    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the score of each row of ``features``, float64."""
        return (features - self.mean) / self.scale @ self.weights


class Similarity:
    """Computes the features of the documents in a query's pool: their similarities."""

    def __init__(
        self, collection: Collection, settings: LinearSettings, spaces: Sequence[Space]
    ) -> None:
        """Analyse the documents.

        If the pool of each query is all documents, BM25 has one index of them, else one
        of each pool.
        """
        self.collection = collection
        self.settings = settings
        self.spaces = spaces
        self.terms = {
            name: analyze(text) for name, text in collection.documents.items()
        }
        self.corpus = None
        if settings.pool == "all":
            self.corpus = self._index(self.terms)

    def _index(self, documents: Iterable[str]) -> BM25Index:
        terms = {document: self.terms[document] for document in documents}
        return BM25Index(terms, k1=self.settings.k1, b=self.settings.b)

    def features(self, query_id: str, text: str) -> tuple[list[str], np.ndarray]:
        """Return the sorted pool of a query and its features for this ``text``, float64
        (pool, features).

        BM25's score, then for each space the cosine and the contribution of each
        dimension to it.  Scores and cosines are standardised within the pool.
        """
        pool = sorted(self.collection.pool(query_id, self.settings.pool))
        index = self.corpus or self._index(pool)
        terms = analyze(text)
        scores = dict(index.search(terms, len(pool)))
        bm25 = np.array([scores.get(document, 0.0) for document in pool])
        columns = [_standardised(bm25)]
        for space in self.spaces:
            vectors = np.stack([space.documents[document] for document in pool])
            products = vectors.astype(np.float64) * space.queries[text]
            cosines = products.sum(axis=1)
            columns += [_standardised(cosines), products]
        return pool, np.column_stack(columns)


def rank(ranking: Ranking) -> HitsByCondition:
    """Train on the training and validation queries and rank the pool of each test
    query.

    Returns {condition: hits}.
    """
    loaded = None
    if "weights" in ranking.model:
        # These modules load torch, which a model of words does not need.
        from lextables.models import own_settings
        from lextables.tasks.retrieval import encoders

        loaded = encoders.stored(ranking)
        own_settings.check_similarity_is_product(loaded.similarity)
    runs = ranking.runs(LinearSettings)
    hits, ranker = retrieve(ranking.collection, runs, loaded)
    learnt = {name: array.tolist() for name, array in asdict(ranker).items()}
    ranking.note(learnt=learnt)
    return hits


def retrieve(
    collection: Collection,
    runs: Mapping[str, LinearSettings],
    encoders: Encoders | None = None,
) -> tuple[HitsByCondition, Ranker]:
    """Train on the training and validation queries and rank the pool of each test
    query.

    The form of the first of the ``runs`` is used for training.  Without ``encoders``
    the model uses words only.  Returns {condition: hits}, and the trained model.
    """
    first = next(iter(runs.values()))
    training = collection.texts(first.form, TRAINING_PARTS)
    test = {}
    distinct = set(training.values())
    for condition, run in runs.items():
        test[condition] = collection.texts(run.form, ("test",), run.queries)
        distinct.update(test[condition].values())
    queries = sorted(distinct)
    spaces = [topics(collection.documents, queries, first.topics)]
    if encoders:
        spaces.append(vectors(collection.documents, queries, encoders))
    similarity = Similarity(collection, first, spaces)
    model = fit(collection, similarity, training, first.penalty)

    hits: HitsByCondition = {}
    for condition, texts in test.items():
        hits[condition] = {}
        for query_id, text in texts.items():
            pool, features = similarity.features(query_id, text)
            scores = np.round(model.scores(features), DIGITS).tolist()
            ranking = best_first(dict(zip(pool, scores, strict=True)))
            hits[condition][query_id] = ranking[: first.top]
    return hits, model


def fit(
    collection: Collection,
    similarity: Similarity,
    queries: Mapping[str, str],
    penalty: float,
) -> Ranker:
    """Return a logistic regression trained on the judged documents of ``queries`` ({id:
    text}).

    A gain, divided by the highest possible one, is the probability of being relevant.
    All queries have equal weight, however many documents are judged for them.  Of large
    pools all relevant documents and a sample of the others are used (`TRAINING_PAIRS`).
    ``penalty`` is scikit-learn's C (smaller is stronger).  Raises `BadInput` if no
    document is relevant, or every one.
    """
    all_features = []
    all_gains = []
    all_weights = []
    generator = np.random.default_rng(0)
    for query_id, text in queries.items():
        pool, features = similarity.features(query_id, text)
        judged = collection.judged[query_id]
        gains = np.array([judged.get(document, 0) for document in pool])
        gains = gains / collection.task["top_gain"]
        rows = _sample(gains, TRAINING_PAIRS // len(queries), generator)
        all_features.append(features[rows])
        all_gains.append(gains[rows])
        all_weights.append(np.full(len(rows), 1 / len(rows)))

    features = np.vstack(all_features)
    mean = features.mean(axis=0)
    scale = features.std(axis=0)
    scale[scale == 0] = 1
    features = (features - mean) / scale
    gain = np.concatenate(all_gains)
    weight = np.concatenate(all_weights)
    if not 0 < gain.sum() < len(gain):
        what = "the training queries have only relevant documents, or only others"
        raise BadInput(what, where="judgements", do="check the split of the queries")

    # Each row is used as relevant with its gain as weight, and as not relevant with the
    # rest.
    relevant = gain > 0
    relevant_weights = (weight * gain)[relevant]
    weights = np.concatenate([weight * (1 - gain), relevant_weights])
    rows = np.vstack([features, features[relevant]])
    labels = np.repeat([0, 1], [len(gain), len(relevant_weights)])
    model = LogisticRegression(C=penalty, max_iter=MAX_ITERATIONS)
    model.fit(rows, labels, sample_weight=weights / weights.mean())
    return Ranker(mean, scale, model.coef_[0])


def _sample(gain: np.ndarray, most: int, generator: np.random.Generator) -> np.ndarray:
    """Return the indices of all relevant documents and of a random sample of others.

    At most ``most`` are returned, but always all relevant documents and one other, if
    there is any.
    """
    relevant = np.flatnonzero(gain)
    others = np.flatnonzero(gain == 0)
    count = max(1, most - len(relevant))
    if len(others) > count:
        others = generator.choice(others, count, replace=False)
    return np.sort(np.concatenate([relevant, others]))


def topics(
    documents: Mapping[str, str], queries: Sequence[str], dimensions: int
) -> Space:
    """Return the TF-IDF vectors of documents and queries, projected on the first
    ``dimensions`` singular vectors of the documents' matrix.

    Words are those of `bm25.analyze`, with sublinear counts.  Raises `BadInput` if the
    documents share too few words for two dimensions.
    """
    names = sorted(documents)
    least = min(MIN_DOCUMENTS, len(names))
    vectorizer = TfidfVectorizer(analyzer=analyze, sublinear_tf=True, min_df=least)
    try:
        words = vectorizer.fit_transform([documents[name] for name in names])
        dimensions = min(dimensions, min(words.shape) - 1)
        latent = TruncatedSVD(dimensions, random_state=0).fit(words)
    except ValueError as error:
        what = "the documents share too few words"
        raise BadInput(what, where="documents", do="use more documents") from error
    document_vectors = _unit(latent.transform(words))
    query_vectors = _unit(latent.transform(vectorizer.transform(queries)))
    return Space(
        dict(zip(names, document_vectors, strict=True)),
        dict(zip(queries, query_vectors, strict=True)),
    )


def vectors(
    documents: Mapping[str, str], queries: Sequence[str], encoders: Encoders
) -> Space:
    """Return a frozen encoder's vectors of the documents and of the queries' texts."""
    names = sorted(documents)
    document_vectors = encoders.documents([documents[name] for name in names])
    return Space(
        dict(zip(names, document_vectors, strict=True)),
        dict(zip(queries, encoders.queries(queries), strict=True)),
    )


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def _standardised(scores: np.ndarray) -> np.ndarray:
    deviation = scores.std()
    if not deviation:
        return np.zeros(len(scores))
    return (scores - scores.mean()) / deviation
