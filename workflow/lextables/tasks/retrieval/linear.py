"""The first stage by a linear model: what of a document's likeness to a query tells, learnt from judgements.

A document is like a query by BM25, by latent topics (the singular vectors of the documents' words) and by a
frozen encoder's vectors: by each as a whole, and by what each of its dimensions adds, of which some tell more
than others.  A few dozen judged queries weigh them, in seconds.
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
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.schema import Hits

PARTS = ("training", "validation")  # the queries that are learnt from
STEPS = 500  # of the solver
LEARNT = 200_000  # pairs of a query and a document, some 800 megabytes
LEAST = 2  # documents that a word stands in
DIGITS = 6  # of a score, less than what the number of threads may change

# {text: its unit vector}, for documents and for queries.
Space = tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]
Encode = Callable[[Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class Ranker:
    """What `described` gives, brought to one scale by ``mean`` and ``scale``, counts by ``weights``.

    All three are float64 (features,).
    """

    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray

    def scores(self, features: np.ndarray) -> np.ndarray:
        """Return the score of each row of ``features``, float64."""
        return (features - self.mean) / self.scale @ self.weights


class Likeness:
    """How like the documents of a query's pool are to it."""

    def __init__(self, collection: Collection, settings: Mapping[str, Any], spaces: Sequence[Space]) -> None:
        """``settings``: ``pool``, ``k1`` and ``b``, as BM25's."""
        self.collection, self.settings, self.spaces = collection, settings, spaces
        self.terms = {name: analyze(text) for name, text in collection.documents.items()}
        self.whole = self._index(self.terms) if settings["pool"] == "all" else None

    def _index(self, documents: Sequence[str] | Mapping[str, Any]) -> BM25Index:
        named = {name: self.settings[name] for name in ("k1", "b")}
        return BM25Index({document: self.terms[document] for document in documents}, **named)

    def described(self, query_id: str, text: str) -> tuple[list[str], np.ndarray]:
        """Return the pool of a query, sorted, and its features for this wording, (documents, features).

        They are float64.  BM25's score first; then of each space the cosine, and what each dimension adds to
        it.  Scores and cosines are standardised within the pool.
        """
        pool = sorted(self.collection.pool(query_id, self.settings["pool"]))
        index = self.whole or self._index(pool)
        found = dict(index.search(analyze(text), len(pool)))
        columns = [_standardised(np.array([found.get(document, 0.0) for document in pool]))]
        for documents, queries in self.spaces:
            added = np.stack([documents[document] for document in pool]).astype(np.float64) * queries[text]
            columns += [_standardised(added.sum(axis=1)), added]
        return pool, np.column_stack(columns)


def retrieve(
    collection: Collection, settings: Mapping[str, Mapping[str, Any]], encoders: tuple[Encode, Encode] | None
) -> tuple[dict[str, Hits], Ranker]:
    """Learn from the training and validation queries and rank the pool of each test query; {form: hits}.

    Learnt is from the first form.  ``encoders`` of documents and queries give unit vectors; without them
    words are all.  ``settings``, alike in all forms but for ``queries``: ``topics``, ``penalty``, and as BM25
    has them ``pool``, ``top``, ``k1`` and ``b``.
    """
    main = next(iter(settings))
    learnt = collection.texts(main, PARTS)
    asked = {form: collection.texts(form, ("test",), run["queries"]) for form, run in settings.items()}
    wordings = sorted({text for texts in (learnt, *asked.values()) for text in texts.values()})
    spaces = [topics(collection.documents, wordings, settings[main]["topics"])]
    if encoders:
        spaces.append(vectors(collection.documents, wordings, *encoders))
    likeness = Likeness(collection, settings[main], spaces)
    model = fit(collection, likeness, learnt, settings[main]["penalty"])

    def ranked(query_id: str, text: str) -> list[tuple[str, float]]:
        pool, features = likeness.described(query_id, text)
        scores = np.round(model.scores(features), DIGITS).tolist()
        return sorted(zip(pool, scores, strict=True), key=lambda hit: (-hit[1], hit[0]))[
            : settings[main]["top"]
        ]

    found = {
        form: {name: ranked(name, text) for name, text in texts.items()} for form, texts in asked.items()
    }
    return found, model


def fit(collection: Collection, likeness: Likeness, queries: Mapping[str, str], penalty: float) -> Ranker:
    """Return what a logistic regression learns from the documents judged for ``queries``, {id: wording}.

    A gain is the probability of being relevant, as a share of the highest there can be.  All queries count
    alike, however many documents are judged for them; of large pools all that is relevant is learnt from and
    a part of the rest (`LEARNT`).  ``penalty`` is scikit-learn's C, the smaller the stronger.  Raises
    `BadInput` where nothing is relevant, or everything.
    """
    features, gains, counts = [], [], []
    drawn = np.random.default_rng(0)
    for query_id, text in queries.items():
        pool, described = likeness.described(query_id, text)
        judged = collection.judged[query_id]
        gain = np.array([judged.get(document, 0) for document in pool]) / collection.task["top_gain"]
        kept = _some(gain, LEARNT // len(queries), drawn)
        features.append(described[kept])
        gains.append(gain[kept])
        counts.append(np.full(len(kept), 1 / len(kept)))
    known = np.vstack(features)
    mean, scale = known.mean(axis=0), known.std(axis=0)
    scale[scale == 0] = 1
    known = (known - mean) / scale
    gain, weight = np.concatenate(gains), np.concatenate(counts)
    if not 0 < gain.sum() < len(gain):
        fault = "the training queries have no relevant document, or nothing else"
        raise BadInput(fault, where="judgements", do="check the split of the queries")
    # A row counts as relevant by its gain, and as not relevant by what the gain leaves.
    some = gain > 0
    weights = np.concatenate([weight * (1 - gain), (weight * gain)[some]])
    model = LogisticRegression(C=penalty, max_iter=STEPS).fit(
        np.vstack([known, known[some]]),
        np.repeat([0, 1], [len(gain), some.sum()]),
        sample_weight=weights / weights.mean(),
    )
    return Ranker(mean, scale, model.coef_[0])


def _some(gain: np.ndarray, most: int, drawn: np.random.Generator) -> np.ndarray:
    """The places of all that has a gain, and of others up to ``most`` in all, drawn where there are more."""
    relevant, others = np.flatnonzero(gain), np.flatnonzero(gain == 0)
    room = max(1, most - len(relevant))
    if len(others) > room:
        others = drawn.choice(others, room, replace=False)
    return np.sort(np.concatenate([relevant, others]))


def topics(documents: Mapping[str, str], wordings: Sequence[str], dimensions: int) -> Space:
    """Return the TF-IDF of words on the first singular vectors of the documents', as many as ``dimensions``.

    Words are those of `bm25.analyze`, their counts sublinear.  Raises `BadInput` for documents that share
    too few words for two.
    """
    names = sorted(documents)
    vectorizer = TfidfVectorizer(analyzer=analyze, sublinear_tf=True, min_df=min(LEAST, len(names)))
    try:
        words = vectorizer.fit_transform([documents[name] for name in names])
        latent = TruncatedSVD(min(dimensions, min(words.shape) - 1), random_state=0).fit(words)
    except ValueError as error:
        raise BadInput("the documents share too few words", where="documents", do="give more") from error
    asked = vectorizer.transform(wordings)
    return (
        dict(zip(names, _unit(latent.transform(words)), strict=True)),
        dict(zip(wordings, _unit(latent.transform(asked)), strict=True)),
    )


def vectors(
    documents: Mapping[str, str], wordings: Sequence[str], of_documents: Encode, of_queries: Encode
) -> Space:
    """Return a frozen encoder's vectors of documents and of queries' wordings."""
    names = sorted(documents)
    return (
        dict(zip(names, of_documents([documents[name] for name in names]), strict=True)),
        dict(zip(wordings, of_queries(wordings), strict=True)),
    )


def _unit(found: np.ndarray) -> np.ndarray:
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)


def _standardised(scores: np.ndarray) -> np.ndarray:
    deviation = scores.std()
    return (scores - scores.mean()) / deviation if deviation else np.zeros(len(scores))
