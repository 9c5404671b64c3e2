"""Cache of text vectors, so that each model encodes each text once.

No rule declares the cache; without it a job takes longer but gives the same result.  Vectors are stored in
single precision, as models return them: rounding could change rankings.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from lextables.pipeline.atomic import replacing, write_text

Encode = Callable[[Sequence[str]], np.ndarray]

# Texts per shard, the most that a killed job loses: one or two minutes on one core for a small model.
SHARD = 2048
_ABOUT = "identity.json"
_DAMAGE = (BadZipFile, EOFError, KeyError, ValueError)
_log = logging.getLogger("lextables")


class Store:
    """The vectors of one identity, in shards that are written atomically.

    Texts are identified by digest.  Several jobs may use a store at once; vectors that two of them encode are
    written twice and are equal.  Memory: about 200 bytes per stored text, and twice the requested array.
    """

    def __init__(self, root: str | Path, identity: Mapping[str, Any]) -> None:
        """Open the folder below ``root`` for ``identity``, as `lextables.pipeline.run.identity` gives it.

        Vectors that earlier code or libraries made from the same data on the same device are deleted.
        """
        about = json.dumps(identity, indent=2, sort_keys=True) + "\n"
        self.folder = Path(root) / hashlib.sha256(about.encode()).hexdigest()[:16]
        _drop_earlier(Path(root), identity, but=self.folder)
        write_text(self.folder / _ABOUT, about)
        self._shards: dict[bytes, Path] = {}
        for shard in sorted(self.folder.glob("*.npz")):
            for (keys,) in _read(shard, "keys"):
                self._shards |= dict.fromkeys(keys.tolist(), shard)

    def encode(self, texts: Sequence[str], encode: Encode) -> np.ndarray:
        """Return a float32 array (texts, dimensions); ``encode`` is called for texts not in the store."""
        if not texts:
            return encode(texts)
        keys = [_key(text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        found = self._kept(wanted)
        # Sorted by length, so that an encoder's batches need little padding.
        missing = sorted(wanted.keys() - found.keys(), key=lambda key: (len(wanted[key]), key))
        for start in range(0, len(missing), SHARD):
            part = missing[start : start + SHARD]
            vectors = np.asarray(encode([wanted[key] for key in part]), dtype=np.float32)
            if vectors.ndim != 2 or len(vectors) != len(part):
                raise ValueError(f"the encoder gave shape {vectors.shape} for {len(part)} texts")
            self._keep(part, vectors)
            found |= zip(part, vectors, strict=True)
        return np.stack([found[key] for key in keys])

    def _kept(self, wanted: Mapping[bytes, str]) -> dict[bytes, np.ndarray]:
        found: dict[bytes, np.ndarray] = {}
        for shard in sorted({self._shards[key] for key in wanted if key in self._shards}):
            for keys, vectors in _read(shard, "keys", "vectors"):
                rows = {key: row for row, key in enumerate(keys.tolist()) if key in wanted}
                found |= zip(rows, vectors[[*rows.values()]], strict=True)
        return found

    def _keep(self, keys: Sequence[bytes], vectors: np.ndarray) -> None:
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


def _drop_earlier(root: Path, identity: Mapping[str, Any], but: Path) -> None:
    for about in root.glob(f"*/{_ABOUT}"):
        other = json.loads(about.read_text(encoding="utf-8"))
        if about.parent != but and all(other[name] == identity[name] for name in ("data", "device")):
            shutil.rmtree(about.parent, ignore_errors=True)
