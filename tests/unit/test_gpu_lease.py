"""Each job locks one GPU, sees no other, and releases it when its process ends."""

import os
import subprocess
import sys

import pytest
import torch

from lextables.models import device
from lextables.pipeline import gpu_lease
from lextables.pipeline.errors import BadInput, BadSetting

FIRST, SECOND, PART = "GPU-aaaa1111-0000", "GPU-bbbb2222-0000", "MIG-cccc3333-0000"
TWO = f"GPU 0: A100 (UUID: {FIRST})\nGPU 1: A100 (UUID: {SECOND})\n"
CUT = f"GPU 0: A100 (UUID: {FIRST})\n  MIG 3g.20gb Device 0: (UUID: {PART})\nGPU 1: A100 (UUID: {SECOND})\n"
JOB = """
import os, sys
from pathlib import Path
from lextables.pipeline import gpu_lease
gpu_lease.PAUSE = 0.05
gpu_lease.acquire(Path(sys.argv[1]))
print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a function that takes the output of `nvidia-smi -L` and returns the GPUs
    that a job sees.
    """
    (tmp_path / "bin").mkdir()
    (tmp_path / "locks").mkdir()
    monkeypatch.setattr(gpu_lease, "_own_folder", lambda: tmp_path / "locks")
    for name in (gpu_lease.VISIBLE, "SLURM_JOB_ID"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    def visible(listed, **environment):
        (tmp_path / "bin/nvidia-smi").write_text(f"#!/bin/sh\ncat <<'.'\n{listed}.\n")
        (tmp_path / "bin/nvidia-smi").chmod(0o755)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        gpu_lease.acquire()
        return os.environ.get(gpu_lease.VISIBLE)

    yield visible
    while gpu_lease._locks:
        gpu_lease._locks.pop().release()


@pytest.mark.parametrize(
    ("listed", "visible", "slurm", "seen"),
    [
        (TWO, None, None, FIRST),
        (TWO, "1", None, SECOND),
        (TWO, "GPU-bbbb", None, SECOND),
        (TWO, " 1, 0", None, SECOND),
        (TWO, "1,-1,0", None, SECOND),  # CUDA ignores what follows -1
        (TWO, "", None, ""),
        (TWO, "-1,0", None, "-1,0"),
        (TWO, "7", None, "7"),  # no such GPU: CUDA will see none
        (CUT, None, None, PART),
        (CUT, "0", None, PART),
        (TWO, None, "4711", FIRST),  # SLURM does not manage this node's GPUs
        (TWO, "1", "4711", "1"),  # SLURM has selected one
        (TWO, "0,1", "4711", FIRST),
        ("", None, None, None),
    ],
)
def test_a_job_sees_one_of_its_gpus(machine, listed, visible, slurm, seen):
    given = {gpu_lease.VISIBLE: visible, "SLURM_JOB_ID": slurm}
    assert (
        machine(
            listed,
            **{name: value for name, value in given.items() if value is not None},
        )
        == seen
    )


def test_a_third_job_waits_until_one_of_two_is_killed(machine, tmp_path, monkeypatch):
    machine(TWO)
    while gpu_lease._locks:
        gpu_lease._locks.pop().release()
    monkeypatch.delenv(gpu_lease.VISIBLE)
    command = [sys.executable, "-c", JOB, str(tmp_path / "locks")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    jobs = []
    try:
        for expected in (FIRST, SECOND):
            jobs.append(subprocess.Popen(command, **pipes))
            assert jobs[-1].stdout.readline() == f"{expected}\n"
        jobs.append(subprocess.Popen(command, **pipes))
        with pytest.raises(subprocess.TimeoutExpired):
            jobs[-1].wait(1.5)
        jobs[1].kill()
        assert jobs[-1].stdout.readline() == f"{SECOND}\n"
    finally:
        for job in jobs:
            job.kill()
            job.communicate()


def test_the_lock_folder_must_belong_to_the_user(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setattr(gpu_lease, "Path", lambda _: tmp_path / "link")
    with pytest.raises(BadInput, match="belongs to someone else"):
        gpu_lease._own_folder()


def test_the_kind_of_a_gpu_is_not_its_name(monkeypatch):
    gpu = torch.device("cuda")
    kinds = {}
    for name, bfloat16 in {
        "H100 SXM": True,
        "H100 PCIe": True,
        "A100": True,
        "V100": False,
    }.items():
        monkeypatch.setattr(
            torch.cuda, "get_device_name", lambda device, name=name: name
        )
        monkeypatch.setattr(
            torch.cuda,
            "is_bf16_supported",
            lambda including_emulation, bfloat16=bfloat16: bfloat16,
        )
        assert device.describe(gpu) == name
        kinds[name] = device.kind(gpu)
    # A V100 trains in another precision, so it does not continue a training of the
    # others.
    assert kinds["H100 SXM"] == kinds["H100 PCIe"] == kinds["A100"] != kinds["V100"]
    assert device.kind(torch.device("cpu")) not in kinds.values()


def test_picking_a_device_locks_one_gpu_or_hides_all_gpus(machine, monkeypatch):
    machine("")
    monkeypatch.setattr("torch.version.cuda", None)
    device.pick("auto")
    assert gpu_lease.VISIBLE not in os.environ  # this torch cannot use a GPU
    with pytest.raises(BadSetting, match="^config: device = 'cuda' but .* set device"):
        device.pick("cuda")
    machine(TWO)
    monkeypatch.setattr("torch.version.cuda", "13.0")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(RuntimeError, match="before a GPU was locked"):
        device.pick("auto")
    while gpu_lease._locks:
        gpu_lease._locks.pop().release()
    monkeypatch.delenv(gpu_lease.VISIBLE)
    machine("")  # nvidia-smi lists nothing, but CUDA finds two GPUs
    with pytest.raises(
        BadSetting, match="this job sees 2 GPUs and cannot reserve one"
    ) as error:
        device.pick("auto")
    assert gpu_lease.VISIBLE in str(error.value)
    assert device.pick("cpu").type == "cpu"
    assert os.environ[gpu_lease.VISIBLE] == ""
