"""Embeddings from an OpenAI-compatible API."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lextables.models.api import Api, Call
from lextables.models.limits import Limits
from lextables.pipeline.errors import BadInput


def embed(
    base: str, model: str, texts: Sequence[str], *, kept: str | Path, limits: Limits, batch_size: int = 256
) -> np.ndarray:
    """Return a float32 array (texts, dimensions) of unit vectors from ``POST <base>/embeddings``.

    Every batch is cached in the folder ``kept``.  Budget, rate limit and errors as in `lextables.models.api`.
    """
    api = Api(base, model, kept, limits)
    unique = sorted(set(texts))
    calls = [
        Call(
            "/embeddings",
            {"model": model, "input": unique[at : at + batch_size], "encoding_format": "float"},
        )
        for at in range(0, len(unique), batch_size)
    ]
    answers = api.all(
        calls, [partial(api.ask, call, partial(_vectors, call)) for call in calls], "texts to embed"
    )
    parts = [_vectors(call, answer) for call, answer in zip(calls, answers, strict=True)]
    if len({part.shape[1] for part in parts}) > 1:
        raise BadInput(f"{model} gave vectors of different lengths", where=base, do="ask another server")
    matrix = np.concatenate(parts)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    position = {text: index for index, text in enumerate(unique)}
    return matrix[[position[text] for text in texts]]


def _vectors(call: Call, answered: Any) -> np.ndarray:
    """Return the vectors of a batch in the order of its texts, float32."""
    items = sorted(answered["data"], key=lambda item: item["index"])
    if [item["index"] for item in items] != list(range(len(call.body["input"]))):
        raise ValueError("not one vector for each text")
    vectors = np.asarray([item["embedding"] for item in items], dtype=np.float32)
    if vectors.ndim != 2 or not np.isfinite(vectors).all() or not vectors.any(axis=1).all():
        raise ValueError("a vector is of zeros alone, or holds a number that is not finite")
    return vectors
