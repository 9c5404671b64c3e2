"""Weights of integers, which no model here can use.

A quantised checkpoint stores whole numbers, to be multiplied by scales.  Without the
settings of the program that quantised it, transformers reads these numbers as they are:
the model loads, and its scores mean nothing.  All weights of a model (tensors that are
named so) are decimal numbers; buffers, such as the ids of positions, may be integers.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from lextables.models.files import model_files
from lextables.models.folders import Fault
from lextables.pipeline.errors import BadInput

# Types of tensors, in files of safetensors and in pickles.
INTEGERS = (
    *("I8", "U8", "I16", "U16", "I32", "U32", "I64", "U64"),
    *("torch.int8", "torch.uint8", "torch.int16", "torch.int32", "torch.int64"),
)
UNQUANTISED = "use the model before it was quantised"
LONGEST_HEADER = 100 << 20  # bytes, as safetensors allows


def fault(folder: str | Path, *, pickles: bool = True) -> Fault | None:
    """Return the fault of a model whose weights are integers; None for other models.

    Only the headers of its files are read, and ``pickles`` of tensors, which takes
    seconds.  A model with the settings of its quantisation is left to transformers, and
    a damaged file to the loading.
    """
    for file in model_files(folder):
        if _has_settings(file.with_name("config.json")):
            continue
        types: Iterable[tuple[str, str]] = ()
        if file.suffix == ".safetensors":
            types = _types(file)
        elif file.suffix == ".bin" and pickles:
            types = _types_of_pickle(file)
        for name, kind in types:
            if name.endswith("weight") and kind in INTEGERS:
                what = f"its weights are quantised: {name} in {file.name} has integers"
                return Fault(
                    f"{what} ({kind}), which would be read as they are", UNQUANTISED
                )
    return None


def check(folder: str | Path, *, pickles: bool = True) -> None:
    """Raise `BadInput` for a model whose weights are integers (`fault`)."""
    first_fault = fault(folder, pickles=pickles)
    if first_fault:
        raise BadInput(first_fault.what, where=str(folder), do=first_fault.do)


def _has_settings(config: Path) -> bool:
    """Whether a configuration says how the weights were quantised."""
    try:
        return "quantization_config" in json.loads(config.read_bytes())
    except (OSError, ValueError, TypeError):
        return False


def _types(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the type of each tensor in a file of safetensors."""
    try:
        with file.open("rb") as opened:
            size = int.from_bytes(opened.read(8), "little")
            header = json.loads(opened.read(min(size, LONGEST_HEADER)))
        for name, tensor in header.items():
            if name != "__metadata__":
                yield name, tensor["dtype"]
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return


def _types_of_pickle(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the type of each tensor in a pickle, without their values."""
    import torch  # slow to import

    try:
        tensors = torch.load(file, map_location="meta", weights_only=True)
        for name, tensor in tensors.items():
            yield str(name), str(tensor.dtype)
    except Exception:  # torch raises various errors for a damaged file
        return
