"""A reranker that reads pairs of a query and a document, fine-tuned or as it is."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from lextables.models import cross_encoder, device
from lextables.models.weights import weights_folder
from lextables.tasks.retrieval.collection import HitsByCondition, TextPair, reorder
from lextables.tasks.retrieval.filtering import read_as
from lextables.tasks.retrieval.ranking import Ranking, RankingSettings

# A function from pairs (query's text, document's text) to the relevance of each.
Score = Callable[[Sequence[TextPair]], Sequence[float] | np.ndarray]


def rank(ranking: Ranking) -> HitsByCondition:
    """Reorder the hits of the test queries; {condition: hits}."""
    where = device.pick(ranking.device)
    if ranking.trained:
        folder = ranking.trained[0]
    else:
        folder = weights_folder(ranking.model)
    model = cross_encoder.load(folder, where, ranking.model["max_length"])
    ranking.note(device=device.describe(where))
    ranking.note_training()
    return rerank(ranking, partial(cross_encoder.score, model))


def rerank(ranking: Ranking, score: Score) -> HitsByCondition:
    """Reorder the hits of the test queries by ``score``; {condition: hits}."""
    reranked = {}
    for condition, run in ranking.runs(RankingSettings).items():
        texts = ranking.texts(run, ("test",))
        hits = ranking.first_hits[condition]
        candidates = {query_id: hits.get(query_id, []) for query_id in texts}
        pairs = []
        asked = []
        for query_id in sorted(candidates):
            for document in candidates[query_id]:
                pairs.append((query_id, document))
                asked.append((texts[query_id], document))
        documents = read_as(run.documents, ranking.collection.documents, asked)
        queries = [query for query, _ in asked]
        read = list(zip(queries, documents, strict=True))
        scores = score(read) if read else ()
        by_pair = dict(zip(pairs, map(float, scores), strict=True))
        reranked[condition] = reorder(candidates, by_pair)
    return reranked
