"""Weights of integers, which no model here can use.

A quantised checkpoint stores whole numbers, to be multiplied by scales.  Without the
settings of the program that quantised it, transformers reads these numbers as they are:
the model loads, and its scores mean nothing.  All weights of a model (tensors that are
named so) are decimal numbers; buffers, such as the ids of positions, may be integers.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError, safe_open

from lextables.models.files import model_files
from lextables.models.folders import Fault
from lextables.pipeline.errors import BadInput

INTEGERS = ("I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64")  # of safetensors
UNQUANTISED = "use the model before it was quantised"


def fault(folder: str | Path) -> Fault | None:
    """Return the fault of a model whose weights are integers; None for other models.

    Only the headers of safetensors are read.  A model with the settings of its
    quantisation is left to transformers, and a damaged file to the loading.
    """
    for file in model_files(folder):
        if file.suffix != ".safetensors" or _has_settings(file.parent):
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


def _has_settings(folder: Path) -> bool:
    """Return whether a configuration says how the weights were quantised."""
    try:
        config = (folder / "config.json").read_bytes()
        return "quantization_config" in json.loads(config)
    except (OSError, ValueError, TypeError):
        return False


def _types(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the type of each tensor in a file of safetensors."""
    try:
        with safe_open(file, framework="np") as tensors:
            for name in tensors.keys():  # noqa: SIM118 (no mapping)
                yield name, tensors.get_slice(name).get_dtype()
    except (OSError, SafetensorError):
        return
