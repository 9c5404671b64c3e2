"""Bi-encoders: texts to unit vectors, queries and documents each in their own way."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase

from lextables.models import device, loading, named_code
from lextables.models.micro_batches import in_parts_that_fit
from lextables.models.onednn import linear_by_onednn
from lextables.models.throughput import READING, count_lengths, measured
from lextables.models.vectors import Encode, Store
from lextables.pipeline.errors import loading_weights
from lextables.pipeline.fingerprint import fingerprint
from lextables.pipeline.run import identity

# The tokens of a batch: on a processor what its caches hold, on a GPU what keeps it busy.
TOKENS = {"cpu": 2048, "cuda": 65536}
# How many texts are counted at once, which may be whole opinions.
COUNTED = 256


@loading_weights()
def load(folder: str, where: torch.device, max_length: int | None = None) -> SentenceTransformer:
    """Load a sentence-transformers model, cutting texts at ``max_length`` tokens if given.

    Raises `BadInput` for one that names code to run, or lacks weights, which would be drawn at random.
    """
    named_code.check(folder)
    if body := loading.transformer(folder):
        loading.check_whole(folder, loading.absent(body, "bi-encoder"))
    model = SentenceTransformer(folder, device=str(where))
    if max_length is not None:
        model.max_seq_length = max_length
    return model


def encode(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """Return a float32 array (texts, dimensions) of unit vectors; equal texts are encoded once.

    The texts of a batch have as many tokens each, so that nothing is padded: that is faster, and a text's
    vector does not hang on its neighbours.  Progress is shown, since a corpus takes minutes on a processor.
    """
    return _encoded(model, model.encode, texts)


def encode_queries(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """As `encode`, with the prompt or the part of the model that is for queries, where it has one."""
    return _encoded(model, model.encode_query, texts)


def encode_documents(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """As `encode`, with the prompt or the part of the model that is for documents, where it has one."""
    return _encoded(model, model.encode_document, texts)


def kept(
    encode: Callable[[SentenceTransformer, Sequence[str]], np.ndarray],
    model: SentenceTransformer,
    settings: Mapping[str, Any],
    root: str | Path,
) -> Encode:
    """Return ``encode``, one of the functions above, for texts alone, keeping its vectors below ``root``.

    ``settings`` say which weights ``model`` has, by their content or their revision.  Of those that neither
    pins nothing is kept.
    """
    pinned = {name: settings[name] for name in ("content", "revision") if settings.get(name)}
    if not pinned:
        return partial(encode, model)
    data = pinned | {"weights": settings["weights"], "length": model.max_seq_length, "as": encode.__name__}
    about = identity(data, fingerprint(__name__), device.describe(model.device))
    return partial(Store(Path(root) / settings["model"], about).encode, encode=partial(encode, model))


def batches(lengths: Sequence[int], tokens: int) -> Iterator[np.ndarray]:
    """Yield the positions of texts of one length, longest first, in batches of at most ``tokens`` tokens.

    A text that is longer is a batch of its own.
    """
    found = np.asarray(lengths)
    for length in np.unique(found)[::-1]:
        alike = np.flatnonzero(found == length)
        size = max(1, tokens // max(1, int(length)))
        for start in range(0, len(alike), size):
            yield alike[start : start + size]


def _encoded(
    model: SentenceTransformer, encode: Callable[..., np.ndarray], texts: Sequence[str]
) -> np.ndarray:
    unique = sorted(set(texts))
    vectors = np.empty((len(unique), model.get_embedding_dimension()), dtype=np.float32)

    def fill(batch: np.ndarray) -> int:
        for _ in in_parts_that_fit(batch, len(batch), fill_part):
            pass
        return len(batch)

    def fill_part(part: np.ndarray) -> None:
        with linear_by_onednn(model.device):
            vectors[part] = encode(
                [unique[at] for at in part],
                batch_size=len(part),
                normalize_embeddings=True,
                convert_to_numpy=True,
                show_progress_bar=False,
            )

    lengths = _lengths(model, unique)
    todo = [*batches(lengths, TOKENS[model.device.type])]
    with measured(READING, model), tqdm(total=len(unique), desc="encoding") as progress:
        for done in _side_by_side(fill, todo, model.device):
            progress.update(done)
        # Nothing is padded.
        count_lengths(torch.tensor(lengths, dtype=torch.long), sum(lengths))
    position = {text: index for index, text in enumerate(unique)}
    return vectors[[position[text] for text in texts]]


def _side_by_side(
    fill: Callable[[np.ndarray], int], todo: Sequence[np.ndarray], where: torch.device
) -> Iterator[int]:
    """Yield what ``fill`` returns for each batch; on a processor as many run at once as torch has threads.

    Threads that share a batch wait for each other in every layer, which on a busy machine takes longer than
    the work; with a batch each they need not.  The first batch runs alone, for it sets the tokenizer up.
    """
    if where.type != "cpu":
        yield from map(fill, todo)
        return
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for part in (todo[:1], todo[1:]):
                yield from pool.map(fill, part)
    finally:
        torch.set_num_threads(threads)


def _lengths(model: SentenceTransformer, texts: Sequence[str]) -> list[int]:
    """The tokens of each text, cut as the model cuts it; of a model of word vectors, its characters."""
    if not isinstance(model.tokenizer, PreTrainedTokenizerBase):
        return [len(text) for text in texts]
    found: list[int] = []
    for start in range(0, len(texts), COUNTED):
        counted = model.tokenizer(
            list(texts[start : start + COUNTED]), truncation=True, max_length=model.max_seq_length
        )
        found += map(len, counted["input_ids"])
    return found
