"""Embeddings from an OpenAI-compatible API."""

import os
from collections.abc import Sequence

import numpy as np
from openai import OpenAI
from tqdm import tqdm

from lextables.errors import BadInput

KEY = "OPENAI_API_KEY"


def embed(base: str, model: str, texts: Sequence[str], batch_size: int = 256) -> np.ndarray:
    """Return a float32 array (texts, dimensions) of unit vectors from ``POST <base>/embeddings``.

    The client retries with back-off on cut connections, 429 and 5xx.  `BadInput` without a key.
    """
    key = os.environ.get(KEY)
    if not key:
        raise BadInput(
            f"{model} needs a key for {base}", where=f"environment variable {KEY}", do="set it, or empty llm"
        )
    client = OpenAI(base_url=base, api_key=key, max_retries=6, timeout=120)
    unique = sorted(set(texts))
    vectors: list[list[float]] = []
    for start in tqdm(range(0, len(unique), batch_size), desc=f"embedding with {model}", mininterval=10):
        answer = client.embeddings.create(
            model=model, input=unique[start : start + batch_size], encoding_format="float"
        )
        vectors += [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
    matrix = np.asarray(vectors, dtype=np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    position = {text: index for index, text in enumerate(unique)}
    return matrix[[position[text] for text in texts]]
