"""Names of Python code in the files of a sentence-transformers model, which the library imports and calls.

Without ``trust_remote_code`` it still takes any name that begins with ``torch.`` or
``sentence_transformers.``, and settings that read a pickle or fetch code.  Here only what such models are
made of is let through.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lextables.pipeline.errors import BadInput

_IMPORTED = ("torch.", "sentence_transformers.")
_MODULES = """Asym BoW CLIPModel CNN Dense Dropout LayerNorm LogitScore LSTM Normalize Pooling Router
    StaticEmbedding Transformer WeightedLayerPooling WordEmbeddings WordWeights PhraseTokenizer
    WhitespaceTokenizer"""
_ACTIVATIONS = """CELU ELU GELU Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid LogSoftmax
    Mish PReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softplus Softsign Tanh"""
_KNOWN = re.compile(
    rf"sentence_transformers\.(\w+\.)*({'|'.join(_MODULES.split())})"
    rf"|torch\.nn\.(modules\.(activation|linear)\.)?({'|'.join(_ACTIVATIONS.split())})"
    r"|torch\.b?float\d+"
)
# Settings by which transformers would read a pickle, and what it calls of a model or fetches code for.
_PICKLES = ("weights_only", "use_safetensors")
_NAMED = {
    "method": re.compile(r"forward|get_\w+_features"),
    "attn_implementation": re.compile(r"\w+"),
    "_attn_implementation": re.compile(r"\w+"),
}


def check(folder: str | Path) -> None:
    """Raise `BadInput` where a file in ``folder`` names code that is no part of such models."""
    for path in _configurations(Path(folder)):
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError):
            continue  # what cannot be read names nothing; loading says so
        for key, value in _entries(content):
            if not _known(key, value):
                raise BadInput(
                    f"{key!r} is {value!r:.80}, which would choose code to run",
                    where=str(path),
                    do="name a module or activation of the usual kind there, or another model",
                )


def _known(key: str, value: Any) -> bool:
    if key in _PICKLES:
        return value is True
    if not isinstance(value, str):
        return True
    if value.startswith(_IMPORTED) and not _KNOWN.fullmatch(value):
        return False
    return key not in _NAMED or bool(_NAMED[key].fullmatch(value))


def _configurations(folder: Path) -> Iterator[Path]:
    seen = set()
    for place, folders, files in os.walk(folder, followlinks=True):
        if (real := Path(place).resolve()) in seen:
            folders.clear()
            continue
        seen.add(real)
        for name in files:
            if name == "modules.json" or ("config" in name and name.endswith(".json")):
                yield Path(place, name)


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield (key, value) of all that is in a JSON value, items of a list under the key of the list."""
    waiting = [("", content)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += value.items()
        elif isinstance(value, list):
            waiting += ((key, item) for item in value)
        else:
            yield key, value
