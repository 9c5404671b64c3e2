"""The device that models run on.  torch is imported late, because planning a workflow
must be fast.
"""

from __future__ import annotations

import os
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
    """Return the device for the config's choice; `BadSetting` if there is no GPU to
    use.

    The GPU is reserved for this job until its process ends, and the only visible one
    (`gpu_lease`).
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

    A training can continue on another model of the same kind.
    """
    from lextables.models.precision import mixed

    return f"{device.type}, bfloat16" if mixed(False, device) else device.type


def describe(device: torch.device) -> str:
    """Return the device's name, for `run.json`."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return processor()
