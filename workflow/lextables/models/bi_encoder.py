"""Bi-encoders: texts to vectors, with separate encodings of queries and documents, and
a cache.

The cache stores each text's vector once per model.  No rule declares it; without it a
job takes longer but gives the same result.  Vectors are stored in single precision, as
models return them: rounding could change rankings.
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
from sentence_transformers.util import batch_to_device, truncate_embeddings
from torch.nn.functional import normalize
from tqdm import tqdm
from transformers import PreTrainedTokenizerBase

from lextables.models import device, loading
from lextables.models.files import COMMIT, check_named_code
from lextables.models.folders import bodies_of
from lextables.models.in_parts import PROCESSOR_TOKENS, Batch, in_parts_that_fit
from lextables.models.own_settings import COSINE, prompt_name, set_length
from lextables.models.tokenised import AT_ONCE, tokenised
from lextables.pipeline.atomic import replacing, write_text
from lextables.pipeline.errors import BadInput, loading_weights
from lextables.pipeline.files import JsonObject, read_json
from lextables.pipeline.fingerprint import fingerprint
from lextables.pipeline.finite import finite
from lextables.pipeline.run import identity

Encode = Callable[[Sequence[str]], np.ndarray]
Report = Callable[[Sequence[str]], None]  # is given texts whose vectors are ready

# Texts per shard of the cache, the most that a killed job loses: one or two minutes on
# one core for a small model.
SHARD = 2048
_IDENTITY = "identity.json"  # in the folder of a `VectorCache`: what its vectors are of
_DAMAGE = (BadZipFile, EOFError, KeyError, ValueError, BadInput)  # of a damaged shard
_log = logging.getLogger("lextables")
# Tokens per batch: as many as a CPU's caches hold, and enough to use a GPU fully.
TOKENS = {"cpu": PROCESSOR_TOKENS, "cuda": 65536}


@loading_weights()
def load(
    folder: str, where: torch.device, max_length: int | None = None
) -> SentenceTransformer:
    """Load a sentence-transformers model that truncates texts to ``max_length`` tokens.

    None stands for the model's own number (`set_length`).  The weights are in single
    precision, whatever the precision of their file.  Raises `BadInput` for a model
    whose configuration names code, with missing weights, or whose vectors are those of
    a decoder's first token.
    """
    check_named_code(folder)
    for body in bodies_of(Path(folder)):
        loading.check_complete(folder, loading.missing_tensors(body, "bi-encoder"))
    model = SentenceTransformer(folder, device=str(where)).float()
    loading.check_finite(folder, model)
    set_length(model, max_length)
    if _reads_tokens(model, "text", {"task": "document"}):
        model.eval()
        represent = partial(_represent, model)
        loading.check_reads_whole_texts(folder, represent, model.device)
    return model


def _reads_tokens(
    model: SentenceTransformer, text: str, options: Mapping[str, str | None]
) -> bool:
    """Whether the model is a transformer, and not one of word vectors.

    ``options`` are those of the model's `preprocess`.
    """
    if not isinstance(model.tokenizer, PreTrainedTokenizerBase):
        return False
    return "attention_mask" in model.preprocess([text], **options)


def _represent(
    model: SentenceTransformer, texts: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return the vectors of texts, given as token ids."""
    features = {"input_ids": texts, "attention_mask": mask}
    return model(features, task="document")["sentence_embedding"]


def no_report(texts: Sequence[str]) -> None:
    """Do nothing; the default `Report`."""


def encode(
    model: SentenceTransformer, texts: Sequence[str], report: Report = no_report
) -> np.ndarray:
    """Return a float32 array (texts, dimensions) of unit vectors.

    Equal texts are encoded once.  All texts of a batch have the same number of tokens:
    without padding encoding is faster, and a text's vector does not depend on the other
    texts.  Shows progress, since a corpus takes minutes on a CPU.  Raises `BadInput` if
    the model returns numbers that are not finite.
    """
    encoder = _Encoder(model, model.default_prompt_name, unit=True)
    return encoder.encode(texts, report)


def encode_alike(
    model: SentenceTransformer, texts: Sequence[str], report: Report = no_report
) -> np.ndarray:
    """As `encode`, for comparing all texts by the model's own similarity function.

    The vectors are unit vectors only if that is the cosine.
    """
    unit = model.similarity_fn_name == COSINE
    return _Encoder(model, model.default_prompt_name, unit).encode(texts, report)


def encode_queries(
    model: SentenceTransformer, texts: Sequence[str], report: Report = no_report
) -> np.ndarray:
    """As `encode_alike`, with the model's prompt or route for queries, if any."""
    return _encoder_of_part(model, "query").encode(texts, report)


def encode_documents(
    model: SentenceTransformer, texts: Sequence[str], report: Report = no_report
) -> np.ndarray:
    """As `encode_alike`, with the model's prompt or route for documents, if any."""
    return _encoder_of_part(model, "document").encode(texts, report)


def cached(
    encode: Callable[..., np.ndarray],
    model: SentenceTransformer,
    settings: Mapping[str, Any],
    root: str | Path,
    report: Report = no_report,
) -> Encode:
    """Return ``encode``, one of the functions above, with a cache below ``root``.

    ``settings`` identify the weights of ``model`` by content or by a commit; a branch
    moves.  Without either nothing is cached.  ``report`` is also given the texts that
    were in the cache.
    """
    encode_texts = partial(encode, model, report=report)
    data: JsonObject = {}
    if settings.get("content"):
        data["content"] = settings["content"]
    if COMMIT.fullmatch(settings.get("revision") or ""):
        data["revision"] = settings["revision"]
    if not data:
        return encode_texts
    data["weights"] = settings["weights"]
    data["length"] = model.max_seq_length
    data["as"] = encode.__name__
    about = identity(data, fingerprint(__name__), device.describe(model.device))
    cache = VectorCache(Path(root) / settings["model"], about)
    return partial(cache.encode, encode=encode_texts, report=report)


def batches(lengths: Sequence[int], tokens: int) -> Iterator[np.ndarray]:
    """Yield positions of texts of equal length, longest first, in batches.

    A batch has at most ``tokens`` tokens, or one longer text.
    """
    counts = np.asarray(lengths)
    for length in np.unique(counts)[::-1].tolist():
        positions = np.flatnonzero(counts == length)
        size = tokens // max(1, length)
        size = max(1, size)
        for start in range(0, len(positions), size):
            yield positions[start : start + size]


@dataclass(frozen=True)
class _Encoder:
    """A model, and how it encodes texts."""

    model: SentenceTransformer
    prompt_name: str | None
    """Name of the prompt before each text; None for no prompt."""
    unit: bool
    """Whether vectors are scaled to unit length."""
    task: str | None = None
    """`query` or `document`, for a model with a route for each."""

    def encode(self, texts: Sequence[str], report: Report) -> np.ndarray:
        """Return the vectors of texts, float32 (texts, dimensions)."""
        self.model.eval()
        unique = sorted(set(texts), key=lambda text: (len(text), text))
        dimensions = self.model.get_embedding_dimension()
        if dimensions is None:
            what = "the model does not give the dimension of its embeddings"
            do = "end it with a pooling or a dense module"
            raise BadInput(what, where="models", do=do)
        vectors = np.empty((len(unique), dimensions), dtype=np.float32)
        with tqdm(total=len(unique), desc="encoding") as progress:
            for start in range(0, len(unique), SHARD):
                shard = unique[start : start + SHARD]
                for positions, part_vectors in self._vectors(shard):
                    vectors[start + positions] = part_vectors
                    progress.update(len(positions))
                    report([shard[position] for position in positions])
        position = {text: index for index, text in enumerate(unique)}
        rows = [position[text] for text in texts]
        return vectors[rows]

    @property
    def _options(self) -> dict[str, str | None]:
        """The options of the model's `preprocess`."""
        options: dict[str, str | None] = {"prompt": None}
        if self.prompt_name:
            options["prompt"] = self.model.prompts[self.prompt_name]
        if self.task:
            options["task"] = self.task
        return options

    def _vectors(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield positions of some of the texts and their vectors, until all are
        done.
        """
        if texts and not _reads_tokens(self.model, texts[0], self._options):
            for start in range(0, len(texts), AT_ONCE):
                part = list(texts[start : start + AT_ONCE])
                features = self.model.preprocess(part, **self._options)
                positions = np.arange(start, start + len(part))
                yield positions, self._forward(features)
            return
        inputs = tokenised(self.model, texts, **self._options)

        def forward(positions: Sequence[int]) -> np.ndarray:
            return self._forward(inputs.batch(positions))

        def encode(batch: np.ndarray) -> np.ndarray:
            parts = in_parts_that_fit(batch.tolist(), len(batch), forward)
            return np.concatenate(list(parts))

        device = self.model.device
        all_batches = list(batches(inputs.lengths(), TOKENS[device.type]))
        results = _in_parallel(encode, all_batches, device)
        yield from zip(all_batches, results, strict=True)

    @torch.inference_mode()
    def _forward(self, features: Batch) -> np.ndarray:
        """Return the vectors of a batch, float32 (texts, dimensions)."""
        features = batch_to_device(features, self.model.device)
        route = {"task": self.task} if self.task else {}
        vectors = self.model(features, **route)["sentence_embedding"].float()
        # A vector with a number that is not finite has no length either.
        lengths = vectors.norm(dim=-1).cpu().numpy()
        finite(lengths, "the vectors of the model", where="encoding")
        vectors = truncate_embeddings(vectors, self.model.truncate_dim)
        if self.unit:
            vectors = normalize(vectors)
        return vectors.cpu().numpy()


def _encoder_of_part(model: SentenceTransformer, part: str) -> _Encoder:
    """Return the encoder of queries or documents (`own_settings.PROMPTS`)."""
    unit = model.similarity_fn_name == COSINE
    return _Encoder(model, prompt_name(model, part), unit, task=part)


def _in_parallel(
    encode: Callable[[np.ndarray], np.ndarray],
    all_batches: Sequence[np.ndarray],
    where: torch.device,
) -> Iterator[np.ndarray]:
    """Yield the vectors of each batch; on a CPU each of torch's threads processes its
    own batch.

    Threads that share a batch wait for each other in every layer, which on a busy
    machine takes longer than the computation.
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

    Texts are identified by digest.  Several jobs may use the cache simultaneously;
    vectors that two of them encode are written twice and are equal.  Memory: about 200
    bytes per stored text, and twice the requested array.
    """

    def __init__(self, root: str | Path, identity: JsonObject) -> None:
        """Open the folder below ``root`` for an identity of `pipeline.run.identity`.

        Vectors that earlier code or libraries made from the same data on the same
        device are deleted.
        """
        about = json.dumps(identity, indent=2, sort_keys=True) + "\n"
        self.folder = Path(root) / _digest(about.encode())
        _drop_earlier(Path(root), identity, keep=self.folder)
        write_text(self.folder / _IDENTITY, about)
        self._shards: dict[bytes, Path] = {}
        for shard in sorted(self.folder.glob("*.npz")):
            keys, _ = _read(shard, with_vectors=False)
            self._shards.update(dict.fromkeys(keys, shard))

    def encode(
        self, texts: Sequence[str], encode: Encode, report: Report = no_report
    ) -> np.ndarray:
        """Return a float32 array (texts, dimensions).

        ``encode`` is called for texts that are not in the cache, ``report`` for the
        others.
        """
        if not texts:
            return encode(texts)
        keys = [_key(text) for text in texts]
        text_by_key = dict(zip(keys, texts, strict=True))
        vectors = self._stored(text_by_key)
        report([text_by_key[key] for key in vectors])
        # Sorted by length, so that an encoder's batches need little padding.
        missing = [key for key in text_by_key if key not in vectors]
        missing.sort(key=lambda key: (len(text_by_key[key]), key))
        starts = range(0, len(missing), SHARD)
        progress = tqdm(starts, desc=f"parts of {SHARD} texts", disable=len(starts) < 2)
        for start in progress:
            part = missing[start : start + SHARD]
            result = encode([text_by_key[key] for key in part])
            encoded = np.asarray(result, dtype=np.float32)
            if encoded.ndim != 2 or len(encoded) != len(part):
                what = f"shape {encoded.shape} for {len(part)} texts"
                raise ValueError(f"the encoder returned {what}")
            self._store(part, encoded)
            vectors.update(zip(part, encoded, strict=True))
        return np.stack([vectors[key] for key in keys])

    def _stored(self, wanted: Mapping[bytes, str]) -> dict[bytes, np.ndarray]:
        """Return the vectors of those keys of ``wanted`` that are in the cache."""
        stored: dict[bytes, np.ndarray] = {}
        shards = {self._shards[key] for key in wanted if key in self._shards}
        for shard in sorted(shards):
            keys, vectors = _read(shard, with_vectors=True)
            for key, vector in zip(keys, vectors, strict=True):
                if key in wanted:
                    stored[key] = vector.copy()
        return stored

    def _store(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Write a shard with the vectors of these texts."""
        name = _digest(b"".join(keys))
        shard = self.folder / f"{name}.npz"
        with replacing(shard) as temporary, temporary.open("wb") as file:
            np.savez(file, keys=np.array(keys, dtype="V32"), vectors=vectors)
        self._shards.update(dict.fromkeys(keys, shard))


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _read(shard: Path, *, with_vectors: bool) -> tuple[list[bytes], np.ndarray]:
    """Return keys and vectors of a shard; nothing if it is missing or damaged.

    A damaged shard is deleted.
    """
    try:
        with np.load(shard) as file:
            vectors = file["vectors"] if with_vectors else np.empty(0)
            return file["keys"].tolist(), finite(vectors, "the vectors")
    except FileNotFoundError:
        return [], np.empty(0)
    except _DAMAGE as error:
        _log.warning("%s is damaged (%s): its texts are encoded again", shard, error)
        shard.unlink(missing_ok=True)
        return [], np.empty(0)


def _drop_earlier(root: Path, identity: JsonObject, keep: Path) -> None:
    """Delete the vectors of the same data on the same device, except those to keep."""
    for about in root.glob(f"*/{_IDENTITY}"):
        other = read_json(about)
        same = all(other[name] == identity[name] for name in ("data", "device"))
        if same and about.parent != keep:
            shutil.rmtree(about.parent, ignore_errors=True)
