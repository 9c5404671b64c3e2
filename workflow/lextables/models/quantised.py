"""Weights of integers, which no model here can use.

A quantised checkpoint stores whole numbers, to be multiplied by scales.  Without the
settings of the program that quantised it, transformers reads these numbers as they are:
the model loads, and its scores mean nothing.  All weights of a model (tensors that are
named so) are decimal numbers; buffers, such as the ids of positions, may be integers.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from lextables.models.files import model_files
from lextables.models.folders import Fault
from lextables.pipeline.errors import BadInput

INTEGERS = ("I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64")  # of safetensors
LONGEST_HEADER = 100 << 20  # bytes, as safetensors allows
COMPLETE = "model.safetensors"
UNQUANTISED = "use the model before it was quantised"


def fault(folder: str | Path) -> Fault | None:
    """Return the fault of a model whose weights are integers; None for other models.

    Only the headers of safetensors are read.  A model with the settings of its
    quantisation is left to transformers, and a damaged file to the loading.
    """
    for file in _weights_in(Path(folder)):
        if _has_settings(file.parent):
            continue
        for name, kind in _types(file):
            if name.endswith("weight") and kind in INTEGERS:
                what = f"its weights are quantised: {name} in {file.name} has integers"
                return Fault(
                    f"{what} ({kind}), which would be read as they are", UNQUANTISED
                )
    return None


def check(folder: str | Path) -> None:
    """Raise `BadInput` for a model whose weights are integers (`fault`)."""
    first_fault = fault(folder)
    if first_fault:
        raise BadInput(first_fault.what, where=str(folder), do=first_fault.do)


def _weights_in(folder: Path) -> list[Path]:
    """Return the files of safetensors that are loaded from a model's folder.

    Beside model.safetensors transformers loads no others.
    """
    try:
        files = model_files(folder)
    except BadInput:  # which the loading raises too
        return []
    weights = [file for file in files if file.suffix == ".safetensors"]
    complete = {file.parent for file in weights if file.name == COMPLETE}
    return [
        file for file in weights if file.parent not in complete or file.name == COMPLETE
    ]


def _has_settings(folder: Path) -> bool:
    """Return whether a configuration says how the weights were quantised."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and bool(config.get("quantization_config"))


def _types(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the type of each tensor in a file of safetensors.

    The file begins with the size of its header in eight bytes, and the header, which is
    JSON.  The library of safetensors is not among the core dependencies, with which
    runs are planned.
    """
    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            header = json.loads(opened.read(min(size, LONGEST_HEADER)))
        for name, tensor in header.items():
            if name != "__metadata__":
                yield name, tensor["dtype"]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return
