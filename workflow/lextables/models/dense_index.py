"""The inner product between vectors, through faiss."""

from collections.abc import Mapping, Sequence

import faiss
import numpy as np


def rank(
    query_vectors: Mapping[str, np.ndarray],
    vectors: Mapping[str, Sequence[np.ndarray]],
    pools: Mapping[str, Sequence[str]],
    top: int,
) -> dict[str, list[tuple[str, float]]]:
    """Rank each query's pool by inner product; {query id: [(document id, score)]}, ties by id ascending.

    A document has one vector or several, of which the nearest gives its score.  ``pools`` gives the documents
    that may be returned for a query, so each query is its own exact search.
    """
    hits = {}
    for query_id, vector in sorted(query_vectors.items()):
        pool = sorted(pools[query_id])
        index = faiss.IndexFlatIP(len(vector))
        index.add(np.stack([part for document in pool for part in vectors[document]]))
        owners = [document for document in pool for _ in vectors[document]]
        scores, positions = index.search(vector[None, :], index.ntotal)
        found: dict[str, float] = {}
        for at, score in zip(positions[0], scores[0], strict=True):  # the greatest first
            found.setdefault(owners[at], float(score))
        hits[query_id] = sorted(found.items(), key=lambda hit: (-hit[1], hit[0]))[:top]
    return hits
