"""The device that models run on, and its numerical precision.  torch is imported late,
because planning a workflow must be fast.

The papers name no precision for their rows.  A GPU trains in bfloat16 mixed precision,
or in TF32 where a model does not support it, and predicts spans and classes in TF32.
Weights and optimiser state are always single precision, and a CPU trains in single
precision unless a grid sets ``bf16``.  Sentence and cross-encoders, mostly used as
published, predict in single precision on a GPU too, so that their rows are the same on
every device.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lextables.pipeline import gpu_lease
from lextables.pipeline.errors import BadSetting
from lextables.pipeline.run import processor

if TYPE_CHECKING:
    import torch

DeviceChoice = Literal["auto", "cpu", "cuda"]


def expected(choice: DeviceChoice) -> bool:
    """Whether training will find a GPU, determined without importing torch."""
    if choice != "auto":
        return choice == "cuda"
    hidden = os.environ.get(gpu_lease.VISIBLE) in ("", "-1")
    return Path("/proc/driver/nvidia/gpus").is_dir() and not hidden


def pick(choice: DeviceChoice) -> torch.device:
    """Return the device for the config's choice.

    A GPU is reserved for this job until its process ends, and becomes the only visible
    one, unless `gpu_lease.acquire` has none to lock.  With ``cpu`` no GPU is visible.

    Raises `BadSetting` for ``cuda`` without a usable GPU, and if several GPUs are
    visible of which none can be reserved; RuntimeError if CUDA was initialised before.
    """
    import torch  # does not initialise CUDA yet

    if choice == "cpu":
        gpu_lease.hide_all()
        return torch.device("cpu")
    if torch.version.cuda:
        _check_one_gpu(gpu_lease.acquire(), torch.cuda.device_count())
    if torch.cuda.is_available():
        return torch.device("cuda")
    if choice == "cuda":
        raise BadSetting(
            "device = 'cuda' but this machine has no usable GPU",
            where="config",
            do="set device to auto or cpu",
        )
    return torch.device("cpu")


def _check_one_gpu(locked: bool, visible: int) -> None:
    """Raise an error if this job sees several GPUs: a trainer would use all, with a
    larger batch.
    """
    if visible <= 1:
        return
    if locked:
        raise RuntimeError(
            "CUDA was initialised before a GPU was locked: this job would use all GPUs"
        )
    raise BadSetting(
        f"this job sees {visible} GPUs and cannot reserve one, because nvidia-smi does not run here",
        where=f"environment variable {gpu_lease.VISIBLE}",
        do="set it to the number of one GPU, or install nvidia-smi",
    )


def kind(device: torch.device) -> str:
    """Return the kind of device, for the identity of checkpoints: what a training's
    precision depends on.

    A training can continue on a device of another make if it is of the same kind.
    """
    return f"{device.type}, bfloat16" if mixed(False, device) else device.type


def describe(device: torch.device) -> str:
    """Return the device's name, for `run.json`."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return processor()


def mixed(asked: bool, device: torch.device, able: bool = True) -> bool:
    """Whether training on ``device`` uses bfloat16 mixed precision.

    Always on a GPU with bfloat16, elsewhere where the grid ``asked`` for it; never for
    a model that is not ``able`` to.
    """
    return able and (asked or _supports_bfloat16(device))


@contextmanager
def tf32(device: torch.device, wanted: bool = True) -> Iterator[None]:
    """Context in which float32 matrix products use TF32, where ``wanted`` and supported
    by a GPU.
    """
    import torch

    before = torch.get_float32_matmul_precision()
    if wanted and _supports_bfloat16(device):
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def precision_name(dtype: torch.dtype, device: torch.device) -> str:
    """Return the current precision of products of ``dtype`` on ``device``, for
    `run.json`.
    """
    import torch

    if (
        dtype == torch.float32
        and device.type == "cuda"
        and torch.get_float32_matmul_precision() == "high"
    ):
        return "TF32"
    return str(dtype).removeprefix("torch.")


def _supports_bfloat16(device: torch.device) -> bool:
    """Whether a device supports bfloat16 and TF32, which the same GPUs introduced."""
    import torch

    return device.type == "cuda" and torch.cuda.is_bf16_supported(
        including_emulation=False
    )
