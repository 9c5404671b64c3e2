"""Weights of integers, which no model here can use.

A quantised checkpoint stores whole numbers, to be multiplied by scales.  Without the
settings of the program that quantised it, transformers reads these numbers as they are:
the model loads, and its scores mean nothing.  All weights of a model (tensors that are
named so) are decimal numbers; buffers, such as the ids of positions, may be integers.
"""

import json
from pathlib import Path

from lextables.models.folders import Fault
from lextables.models.stored import tensors, weight_files
from lextables.pipeline.errors import BadInput

INTEGERS = ("I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64")  # of safetensors
UNQUANTISED = "use the model before it was quantised"


def fault(folder: str | Path) -> Fault | None:
    """Return the fault of a model whose weights are integers; None for other models.

    Only the headers of safetensors are read.  A model with the settings of its
    quantisation is left to transformers, and a damaged file to the loading.
    """
    for file in weight_files(Path(folder)):
        if _has_settings(file.parent):
            continue
        for tensor in tensors(file):
            if tensor.name.endswith("weight") and tensor.kind in INTEGERS:
                what = f"{tensor.name} in {file.name} has integers ({tensor.kind})"
                return Fault(
                    f"its weights are quantised: {what}, which would be read as they "
                    "are",
                    UNQUANTISED,
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
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and bool(config.get("quantization_config"))
