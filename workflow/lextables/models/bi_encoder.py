"""Dense retrieval: texts to unit vectors, and the inner product between them through faiss."""

from collections.abc import Mapping, Sequence

import faiss
import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from lextables.models import loading


def load(folder: str, device: torch.device, max_length: int | None = None) -> SentenceTransformer:
    """Load a sentence-transformers model, cutting texts at ``max_length`` tokens if given.

    Raises `BadInput` for one that lacks weights, which would be drawn at random.
    """
    if body := loading.transformer(folder):
        loading.check_whole(folder, loading.absent(body, "bi-encoder"))
    model = SentenceTransformer(folder, device=str(device))
    if max_length is not None:
        model.max_seq_length = max_length
    return model


def encode(model: SentenceTransformer, texts: Sequence[str], batch_size: int = 64) -> np.ndarray:
    """Return a float32 array (texts, dimensions) of unit vectors; equal texts are encoded once.

    Progress is shown, since a corpus takes minutes on a processor.
    """
    unique = sorted(set(texts))
    vectors = model.encode(
        unique,
        batch_size=batch_size,
        normalize_embeddings=True,
        convert_to_numpy=True,
        show_progress_bar=True,
    ).astype(np.float32)
    position = {text: index for index, text in enumerate(unique)}
    return vectors[[position[text] for text in texts]]


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
