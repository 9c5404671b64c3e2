"""Bi-encoders: texts to unit vectors, queries and documents each in their own way."""

from collections.abc import Callable, Sequence

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
    return _encoded(model.encode, texts, batch_size)


def encode_queries(model: SentenceTransformer, texts: Sequence[str], batch_size: int = 64) -> np.ndarray:
    """As `encode`, with the prompt or the part of the model that is for queries, where it has one."""
    return _encoded(model.encode_query, texts, batch_size)


def encode_documents(model: SentenceTransformer, texts: Sequence[str], batch_size: int = 64) -> np.ndarray:
    """As `encode`, with the prompt or the part of the model that is for documents, where it has one."""
    return _encoded(model.encode_document, texts, batch_size)


def _encoded(encode: Callable[..., np.ndarray], texts: Sequence[str], batch_size: int) -> np.ndarray:
    unique = sorted(set(texts))
    vectors = encode(
        unique,
        batch_size=batch_size,
        normalize_embeddings=True,
        convert_to_numpy=True,
        show_progress_bar=True,
    ).astype(np.float32)
    position = {text: index for index, text in enumerate(unique)}
    return vectors[[position[text] for text in texts]]
