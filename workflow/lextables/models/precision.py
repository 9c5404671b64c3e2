"""The precision that a device trains and reads in.

The papers name none for the rows that they print, and no row here is placed by it.  So a GPU does what it is
built for: it trains in bfloat16 mixed precision, or in TF32 where a model cannot, and reads spans and classes
in TF32.  Weights and the optimiser's state are single precision everywhere, and a processor trains in single
precision unless a grid says ``bf16``.  Sentence and cross-encoders, which are mostly read as their authors
published them, read in single precision on a GPU too, so that such a row comes out alike wherever it is made.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def mixed(asked: bool, device: torch.device, able: bool = True) -> bool:
    """Whether a training on ``device`` is in bfloat16 mixed precision.

    On a GPU that has bfloat16 always, elsewhere where the grid ``asked`` for it; never of a model that is not
    ``able``.
    """
    return able and (asked or _tensor_cores(device))


@contextmanager
def tf32(device: torch.device, wanted: bool = True) -> Iterator[None]:
    """In this context products of single precision are in TF32 where they are ``wanted`` and a GPU has it."""
    before = torch.get_float32_matmul_precision()
    if wanted and _tensor_cores(device):
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def in_words(dtype: torch.dtype, device: torch.device) -> str:
    """Return the precision that products of ``dtype`` have on ``device`` now, for `run.json`."""
    if dtype == torch.float32 and device.type == "cuda" and torch.get_float32_matmul_precision() == "high":
        return "TF32"
    return str(dtype).removeprefix("torch.")


def _tensor_cores(device: torch.device) -> bool:
    """Whether a device multiplies in bfloat16 and in TF32, which came with the same GPUs."""
    return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
