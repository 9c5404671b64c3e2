"""The tensors in a model's files of safetensors, by the headers of the files alone.

The library of safetensors is not among the core dependencies, with which runs are
planned.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lextables.models.files import SAFETENSORS, model_files, settings_content
from lextables.pipeline.errors import BadInput

LONGEST_HEADER = 100 << 20  # bytes, as safetensors allows
COMPLETE, INDEX = SAFETENSORS


@dataclass(frozen=True)
class Tensor:
    """A tensor in a file of safetensors."""

    name: str
    kind: str
    """The type of its numbers, such as `F32`."""
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of its numbers."""
        return math.prod(self.shape)


def weight_files(folder: Path) -> list[Path]:
    """Return the files of safetensors that are loaded from a model's folder.

    Beside model.safetensors transformers loads no others, and of several files those
    that an index names.
    """
    try:
        files = model_files(folder)
    except BadInput:  # which the loading raises too
        return []
    weights = [file for file in files if file.suffix == ".safetensors"]
    loaded = []
    for file in weights:
        if file.with_name(COMPLETE) in weights:
            names = {COMPLETE}
        else:
            names = _named_in(file.with_name(INDEX)) or {file.name}
        if file.name in names:
            loaded.append(file)
    return loaded


def _named_in(index: Path) -> set[str]:
    """Return the files that an index of weights names; empty without one, or if it is
    damaged.
    """
    try:
        return set(json.loads(settings_content(index))["weight_map"].values())
    except (OSError, BadInput, ValueError, TypeError, AttributeError, KeyError):
        return set()


def tensors(file: Path) -> Iterator[Tensor]:
    """Yield the tensors in a file of safetensors; none of a damaged file.

    The file begins with the size of its header in eight bytes, and the header, which is
    JSON.
    """
    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            header = json.loads(opened.read(min(size, LONGEST_HEADER)))
        for name, tensor in header.items():
            if name != "__metadata__":
                yield Tensor(name, tensor["dtype"], tuple(map(int, tensor["shape"])))
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return
