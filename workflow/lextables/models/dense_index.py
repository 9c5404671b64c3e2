"""The inner product between vectors, through faiss."""

from collections.abc import Mapping, Sequence

import faiss
import numpy as np


def rank(
    query_vectors: Mapping[str, np.ndarray],
    vectors: Mapping[str, np.ndarray],
    pools: Mapping[str, Sequence[str]],
    top: int,
) -> dict[str, list[tuple[str, float]]]:
    """Rank each query's pool by inner product; {query id: [(document id, score)]}, ties by id ascending.

    ``pools`` gives the documents that may be returned for a query, so each query is its own exact search.
    """
    hits = {}
    for query_id, vector in sorted(query_vectors.items()):
        pool = sorted(pools[query_id])
        index = faiss.IndexFlatIP(len(vector))
        index.add(np.stack([vectors[document] for document in pool]))
        scores, positions = index.search(vector[None, :], len(pool))
        found = [(pool[at], float(score)) for at, score in zip(positions[0], scores[0], strict=True)]
        hits[query_id] = sorted(found, key=lambda hit: (-hit[1], hit[0]))[:top]
    return hits
