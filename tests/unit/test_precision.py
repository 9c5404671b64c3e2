"""Numerical precision of trainings and predictions on each kind of device."""

import pytest
import torch

from lextables.models.checkpoints import arguments
from lextables.models.device import mixed, precision_name, tf32

CPU = torch.device("cpu")


@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("asked", [True, False])
def test_mixed_precision(monkeypatch, has, asked):
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: has
    )
    gpu, processor = (
        arguments("work", 1, seed=0, save_every=0, device=torch.device(kind))
        for kind in ("cuda", "cpu")
    )
    assert mixed(asked, torch.device("cuda")) == (has or asked)
    assert mixed(asked, CPU) == asked
    assert not mixed(asked, torch.device("cuda"), able=False)
    assert gpu["optim"] == "adamw_torch_fused" and processor["optim"] == "adamw_torch"
    assert [given["dataloader_pin_memory"] for given in (gpu, processor)] == [
        True,
        False,
    ]
    assert [given["dataloader_num_workers"] > 0 for given in (gpu, processor)] == [
        True,
        False,
    ]


def test_tf32(monkeypatch):
    gpu = torch.device("cuda")
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: False
    )
    with tf32(gpu):  # a GPU without bfloat16
        assert precision_name(torch.float32, gpu) == "float32"
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: True
    )
    with tf32(gpu):
        assert precision_name(torch.float32, gpu) == "TF32"
        assert precision_name(torch.bfloat16, gpu) == "bfloat16"
        assert precision_name(torch.float32, CPU) == "float32"
    for device, wanted in ((gpu, False), (CPU, True)):
        with tf32(device, wanted):
            assert precision_name(torch.float32, gpu) == "float32"
