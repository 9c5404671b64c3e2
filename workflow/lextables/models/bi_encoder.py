"""Bi-encoders: texts to vectors, with separate encodings of queries and documents, and a cache.

The cache stores each text's vector once per model.  No rule declares it; without it a job takes longer but
gives the same result.  Vectors are stored in single precision, as models return them: rounding could change
rankings.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import batch_to_device
from torch.nn.functional import normalize
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase

from lextables.models import device, loading
from lextables.models.files import check_named_code
from lextables.models.folders import body_of
from lextables.models.in_parts import PROCESSOR_TOKENS, in_parts_that_fit
from lextables.models.own_settings import COSINE, prompt_name, set_length
from lextables.models.tokenised import AT_ONCE, tokenised
from lextables.pipeline.atomic import replacing, write_text
from lextables.pipeline.errors import loading_weights
from lextables.pipeline.files import read_json
from lextables.pipeline.fingerprint import fingerprint
from lextables.pipeline.run import identity

Encode = Callable[[Sequence[str]], np.ndarray]

# Texts per shard of the cache, the most that a killed job loses: one or two minutes on one core for a small
# model.
SHARD = 2048
_IDENTITY = "identity.json"
_DAMAGE = (BadZipFile, EOFError, KeyError, ValueError)
_log = logging.getLogger("lextables")
# Tokens per batch: as many as a CPU's caches hold, and enough to use a GPU fully.
TOKENS = {"cpu": PROCESSOR_TOKENS, "cuda": 65536}


@loading_weights()
def load(
    folder: str, where: torch.device, max_length: int | None = None
) -> SentenceTransformer:
    """Load a sentence-transformers model that truncates texts to ``max_length`` tokens, if given.

    Without it the model's own number holds (`set_length`).  Raises `BadInput` for a model whose
    configuration names code, or with missing weights.
    """
    check_named_code(folder)
    body = body_of(Path(folder))
    if body:
        loading.check_complete(folder, loading.missing_tensors(body, "bi-encoder"))
    model = SentenceTransformer(folder, device=str(where))
    set_length(model, max_length)
    return model


def encode(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """Return a float32 array (texts, dimensions) of unit vectors; equal texts are encoded once.

    All texts of a batch have the same number of tokens.  Without padding encoding is faster, and a text's
    vector does not depend on the other texts.  Shows progress, since a corpus takes minutes on a CPU.
    """
    return _encoded(
        model, texts, {"prompt": _prompt(model, model.default_prompt_name)}, unit=True
    )


def encode_alike(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """As `encode`, for comparing all texts with each other by the model's own similarity function.

    The vectors are unit vectors only if that is the cosine.
    """
    options = {"prompt": _prompt(model, model.default_prompt_name)}
    return _encoded(model, texts, options, unit=model.similarity_fn_name == COSINE)


def encode_queries(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """As `encode_alike`, with the model's prompt or route for queries, if it has one."""
    return _encoded_part(model, texts, "query")


def encode_documents(model: SentenceTransformer, texts: Sequence[str]) -> np.ndarray:
    """As `encode_alike`, with the model's prompt or route for documents, if it has one."""
    return _encoded_part(model, texts, "document")


def cached(
    encode: Callable[[SentenceTransformer, Sequence[str]], np.ndarray],
    model: SentenceTransformer,
    settings: Mapping[str, Any],
    root: str | Path,
) -> Encode:
    """Return ``encode``, one of the functions above, as a function of texts with a cache below ``root``.

    ``settings`` identify the weights of ``model`` by content or revision.  Without either nothing is cached.
    """
    pinned = {
        name: settings[name] for name in ("content", "revision") if settings.get(name)
    }
    if not pinned:
        return partial(encode, model)
    data = pinned | {
        "weights": settings["weights"],
        "length": model.max_seq_length,
        "as": encode.__name__,
    }
    about = identity(data, fingerprint(__name__), device.describe(model.device))
    return partial(
        VectorCache(Path(root) / settings["model"], about).encode,
        encode=partial(encode, model),
    )


def batches(lengths: Sequence[int], tokens: int) -> Iterator[np.ndarray]:
    """Yield positions of texts of equal length, longest first, in batches of at most ``tokens`` tokens.

    A longer text is a separate batch.
    """
    counts = np.asarray(lengths)
    for length in np.unique(counts)[::-1]:
        positions = np.flatnonzero(counts == length)
        size = max(1, tokens // max(1, int(length)))
        for start in range(0, len(positions), size):
            yield positions[start : start + size]


def _encoded_part(
    model: SentenceTransformer, texts: Sequence[str], part: str
) -> np.ndarray:
    options = {"prompt": _prompt(model, prompt_name(model, part)), "task": part}
    return _encoded(model, texts, options, unit=model.similarity_fn_name == COSINE)


def _prompt(model: SentenceTransformer, name: str | None) -> str | None:
    return model.prompts[name] if name else None


def _encoded(
    model: SentenceTransformer,
    texts: Sequence[str],
    options: Mapping[str, Any],
    *,
    unit: bool,
) -> np.ndarray:
    """As `encode`; ``options`` are those of the model's `preprocess`: a prompt, and the task of a route."""
    model.eval()
    unique = sorted(set(texts), key=lambda text: (len(text), text))
    encoder = _Encoder(
        model, {name: options[name] for name in ("task",) if name in options}, unit
    )
    vectors = np.empty((len(unique), model.get_embedding_dimension()), dtype=np.float32)
    with tqdm(total=len(unique), desc="encoding") as progress:
        for start in range(0, len(unique), SHARD):
            part = unique[start : start + SHARD]
            for positions, found in encoder.vectors(part, options):
                vectors[start + positions] = found
                progress.update(len(positions))
    position = {text: index for index, text in enumerate(unique)}
    return vectors[[position[text] for text in texts]]


@dataclass(frozen=True)
class _Encoder:
    """A model, the arguments ``task`` of its `forward`, and whether its vectors become unit vectors."""

    model: SentenceTransformer
    task: Mapping[str, str]
    unit: bool

    def vectors(
        self, texts: Sequence[str], options: Mapping[str, Any]
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield positions of some of the texts and their vectors (texts, dimensions), until all are done."""
        if texts and not self._reads_tokens(texts[0], options):
            for start in range(0, len(texts), AT_ONCE):
                part = list(texts[start : start + AT_ONCE])
                features = self.model.preprocess(part, **options)
                yield np.arange(start, start + len(part)), self.forward(features)
            return
        inputs = tokenised(self.model, texts, **options)

        def encode(batch: np.ndarray) -> np.ndarray:
            parts = in_parts_that_fit(
                batch, len(batch), lambda part: self.forward(inputs.batch(part))
            )
            return np.concatenate([*parts])

        most = TOKENS[self.model.device.type]
        all_batches = [*batches(inputs.lengths(), most)]
        results = _in_parallel(encode, all_batches, self.model.device)
        yield from zip(all_batches, results, strict=True)

    def _reads_tokens(self, text: str, options: Mapping[str, Any]) -> bool:
        """Whether the model is a transformer, and not one of word vectors, for texts with these options."""
        tokenizer = self.model.tokenizer
        is_pretrained = isinstance(tokenizer, PreTrainedTokenizerBase)
        return is_pretrained and "attention_mask" in self.model.preprocess(
            [text], **options
        )

    @torch.inference_mode()
    def forward(self, features: dict[str, Any]) -> np.ndarray:
        """Return the vectors of a batch."""
        features = batch_to_device(features, self.model.device)
        vectors = self.model(features, **self.task)["sentence_embedding"]
        if self.unit:
            vectors = normalize(vectors)
        return vectors.float().cpu().numpy()


def _in_parallel(
    encode: Callable[[np.ndarray], np.ndarray],
    all_batches: Sequence[np.ndarray],
    where: torch.device,
) -> Iterator[np.ndarray]:
    """Yield the vectors of each batch; on a CPU each of torch's threads processes its own batch.

    Threads that share a batch wait for each other in every layer, which on a busy machine takes longer than
    the computation.
    """
    if where.type != "cpu":
        yield from map(encode, all_batches)
        return
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(
            threads, initializer=torch.set_num_threads, initargs=(1,)
        ) as pool:
            yield from pool.map(encode, all_batches)
    finally:
        torch.set_num_threads(threads)


class VectorCache:
    """The vectors of one identity, in shards that are written atomically.

    Texts are identified by digest.  Several jobs may use the cache simultaneously; vectors that two of them
    encode are written twice and are equal.  Memory: about 200 bytes per stored text, and twice the requested
    array.
    """

    def __init__(self, root: str | Path, identity: Mapping[str, Any]) -> None:
        """Open the folder below ``root`` for ``identity``, as `lextables.pipeline.run.identity` gives it.

        Vectors that earlier code or libraries made from the same data on the same device are deleted.
        """
        about = json.dumps(identity, indent=2, sort_keys=True) + "\n"
        self.folder = Path(root) / hashlib.sha256(about.encode()).hexdigest()[:16]
        _drop_earlier(Path(root), identity, keep=self.folder)
        write_text(self.folder / _IDENTITY, about)
        self._shards: dict[bytes, Path] = {}
        for shard in sorted(self.folder.glob("*.npz")):
            for (keys,) in _read(shard, "keys"):
                self._shards |= dict.fromkeys(keys.tolist(), shard)

    def encode(self, texts: Sequence[str], encode: Encode) -> np.ndarray:
        """Return a float32 array (texts, dimensions); ``encode`` is called for texts not in the cache."""
        if not texts:
            return encode(texts)
        keys = [_key(text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        vectors = self._stored(wanted)
        # Sorted by length, so that an encoder's batches need little padding.
        missing = sorted(
            wanted.keys() - vectors.keys(), key=lambda key: (len(wanted[key]), key)
        )
        starts = range(0, len(missing), SHARD)
        for start in tqdm(
            starts, desc=f"parts of {SHARD} texts", disable=len(starts) < 2
        ):
            part = missing[start : start + SHARD]
            encoded = np.asarray(
                encode([wanted[key] for key in part]), dtype=np.float32
            )
            if encoded.ndim != 2 or len(encoded) != len(part):
                raise ValueError(
                    f"the encoder returned shape {encoded.shape} for {len(part)} texts"
                )
            self._store(part, encoded)
            vectors |= zip(part, encoded, strict=True)
        return np.stack([vectors[key] for key in keys])

    def _stored(self, wanted: Mapping[bytes, str]) -> dict[bytes, np.ndarray]:
        stored: dict[bytes, np.ndarray] = {}
        for shard in sorted(
            {self._shards[key] for key in wanted if key in self._shards}
        ):
            for keys, vectors in _read(shard, "keys", "vectors"):
                rows = {
                    key: row for row, key in enumerate(keys.tolist()) if key in wanted
                }
                stored |= zip(rows, vectors[[*rows.values()]], strict=True)
        return stored

    def _store(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        shard = self.folder / f"{hashlib.sha256(b''.join(keys)).hexdigest()[:16]}.npz"
        with replacing(shard) as temporary, temporary.open("wb") as file:
            np.savez(file, keys=np.array(keys, dtype="V32"), vectors=vectors)
        self._shards |= dict.fromkeys(keys, shard)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _read(shard: Path, *arrays: str) -> list[list[np.ndarray]]:
    """Return [the arrays of a shard], or [] if it is missing or damaged; a damaged shard is deleted."""
    try:
        with np.load(shard) as file:
            return [[file[name] for name in arrays]]
    except FileNotFoundError:
        return []
    except _DAMAGE as error:
        _log.warning("%s is damaged (%s): its texts are encoded again", shard, error)
        shard.unlink(missing_ok=True)
        return []


def _drop_earlier(root: Path, identity: Mapping[str, Any], keep: Path) -> None:
    for about in root.glob(f"*/{_IDENTITY}"):
        other = read_json(about, dict[str, Any])
        if about.parent != keep and all(
            other[name] == identity[name] for name in ("data", "device")
        ):
            shutil.rmtree(about.parent, ignore_errors=True)
