"""Fusion with pseudo-relevance feedback (Rocchio 1971) in the space of the last
system's encoder.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from lextables.models import own_settings
from lextables.tasks.retrieval import encoders
from lextables.tasks.retrieval.collection import Hits, HitsByCondition, scored
from lextables.tasks.retrieval.rankers.fusion import FusionSettings, Scores, fuse
from lextables.tasks.retrieval.ranking import Encoders, Ranking

FEEDBACK_SHARE = 2.0  # weight of the first hits; that of the query is 1
DIGITS = 6  # of a similarity; the number of threads changes only later digits


class FeedbackSettings(FusionSettings):
    """The settings of a fusion with feedback."""

    feedback: int
    """The number of first hits that a query is moved towards."""


def rank(ranking: Ranking) -> HitsByCondition:
    """Fuse the systems whose hits the job reads, with feedback; {condition: hits}."""
    loaded = encoders.stored_or_loaded(ranking)
    own_settings.check_similarity_is_product(loaded.similarity)
    hits = {}
    for condition, run in ranking.runs(FeedbackSettings).items():
        systems = [scored(path) for path in ranking.hits[condition]]
        hits[condition] = fuse_with_feedback(ranking, run, systems, loaded)
    return hits


def fuse_with_feedback(
    ranking: Ranking, run: FeedbackSettings, systems: Sequence[Scores], loaded: Encoders
) -> Hits:
    """Fuse, move each query's vector towards its first hits, and fuse again.

    The vector of the query is moved by `FEEDBACK_SHARE` times the mean of the vectors
    of its first hits, weighted by 1/rank.  In the second fusion, the inner products
    with the moved vector replace the scores of the last of ``systems``, whose encoder
    is ``loaded``, for all documents that any system returned.  No judgement is used;
    ties are as in `fuse`.
    """
    first = fuse(systems, run.shares, None)
    names = sorted({document for document, _ in chain(*first.values())})
    row_of = {document: row for row, document in enumerate(names)}
    texts = [ranking.collection.documents[name] for name in names]
    documents = loaded.documents(texts).astype(np.float64)
    queries = [ranking.collection.queries[query][run.form] for query in first]
    vectors = loaded.queries(queries).astype(np.float64)
    similarities = {}
    for (query, hits), vector in zip(first.items(), vectors, strict=True):
        hit_documents = [document for document, _ in hits]
        rows = documents[[row_of[document] for document in hit_documents]]
        ranks = np.arange(1, min(run.feedback, len(hits)) + 1)
        mean = np.average(rows[: len(ranks)], axis=0, weights=1 / ranks)
        moved = vector + FEEDBACK_SHARE * mean
        scores = np.round(rows @ moved, DIGITS).tolist()
        similarities[query] = dict(zip(hit_documents, scores, strict=True))
    return fuse([*systems[:-1], similarities], run.shares, run.top)
