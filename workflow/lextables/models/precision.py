"""Numerical precision of training and inference.

The papers name no precision for their rows.  A GPU trains in bfloat16 mixed precision,
or in TF32 where a model does not support it, and predicts spans and classes in TF32.
Weights and optimiser state are always single precision, and a CPU trains in single
precision unless a grid sets ``bf16``.  Sentence and cross-encoders, mostly used as
published, predict in single precision on a GPU too, so that their rows are the same on
every device.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def mixed(asked: bool, device: torch.device, able: bool = True) -> bool:
    """Whether training on ``device`` uses bfloat16 mixed precision.

    Always on a GPU with bfloat16, elsewhere where the grid ``asked`` for it; never for
    a model that is not ``able`` to.
    """
    return able and (asked or _tensor_cores(device))


@contextmanager
def tf32(device: torch.device, wanted: bool = True) -> Iterator[None]:
    """Context in which float32 matrix products use TF32, where ``wanted`` and supported
    by a GPU.
    """
    before = torch.get_float32_matmul_precision()
    if wanted and _tensor_cores(device):
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def precision_name(dtype: torch.dtype, device: torch.device) -> str:
    """Return the current precision of products of ``dtype`` on ``device``, for
    `run.json`.
    """
    if (
        dtype == torch.float32
        and device.type == "cuda"
        and torch.get_float32_matmul_precision() == "high"
    ):
        return "TF32"
    return str(dtype).removeprefix("torch.")


def _tensor_cores(device: torch.device) -> bool:
    """Whether a device supports bfloat16 and TF32, which the same GPUs introduced."""
    return device.type == "cuda" and torch.cuda.is_bf16_supported(
        including_emulation=False
    )
