"""Each job has a GPU of its own: taken by a lock of the kernel, seen alone, free when its process ends."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lextables import gpu_lease
from lextables.errors import BadInput
from lextables.models import device

ROOT = Path(__file__).parents[2]
TWO = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aaaa1111-0000)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-bbbb2222-0000)
"""
CUT = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-aaaa1111-0000)
  MIG 3g.20gb     Device  0: (UUID: MIG-cccc3333-0000)
  MIG 3g.20gb     Device  1: (UUID: MIG-dddd4444-0000)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-bbbb2222-0000)
"""
JOB = """
import os, sys
from pathlib import Path
from lextables import gpu_lease
gpu_lease.PAUSE = 0.05
gpu_lease.one(Path(sys.argv[1]))
print(os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with the GPUs that a driver lists in ``TWO``; call it with another list for another one."""

    def has(listed):
        smi = tmp_path / "bin/nvidia-smi"
        smi.parent.mkdir(exist_ok=True)
        smi.write_text(f"#!/bin/sh\ncat <<'.'\n{listed}.\n")
        smi.chmod(0o755)

    has(TWO)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "workflow"))
    monkeypatch.setattr(gpu_lease, "_held", [])
    for name in (gpu_lease.VISIBLE, "SLURM_JOB_ID"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return has


@pytest.fixture
def job(machine, tmp_path):
    """Start a process that leases a GPU; it ends when its standard input does."""
    (tmp_path / "locks").mkdir()
    started = []

    def start():
        child = subprocess.Popen(
            [sys.executable, "-c", JOB, str(tmp_path / "locks")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.communicate()


def leased(folder):
    gpu_lease.one(folder)
    for file in gpu_lease._held:
        file.close()
    gpu_lease._held.clear()
    return os.environ.get(gpu_lease.VISIBLE)


def test_jobs_have_a_gpu_each_and_one_too_many_waits_for_one_that_is_killed(job):
    first, second, third = job(), job(), job()
    with ThreadPoolExecutor(3) as reading:
        said = list(reading.map(lambda child: child.stdout.readline().strip(), (first, second, third)))
    assert sorted(line for line in said if line.startswith("GPU-")) == [
        "GPU-aaaa1111-0000",
        "GPU-bbbb2222-0000",
    ]
    (line,) = (line for line in said if not line.startswith("GPU-"))
    children = dict(zip(said, (first, second, third), strict=True))
    waiting, holder = children.pop(line), children["GPU-bbbb2222-0000"]
    assert line.startswith("Every GPU that this job may use is taken (by process ")
    assert all(str(child.pid) in line for child in children.values())
    assert waiting.poll() is None
    holder.kill()  # as kill -9 does
    assert waiting.stdout.readline() == "GPU-bbbb2222-0000\n"


@pytest.mark.parametrize(
    ("visible", "seen"),
    [
        (None, "GPU-aaaa1111-0000"),
        ("1", "GPU-bbbb2222-0000"),
        ("GPU-bbbb", "GPU-bbbb2222-0000"),
        (" 1, 0", "GPU-bbbb2222-0000"),
        ("", ""),
        ("-1,0", "-1,0"),  # as CUDA reads it, none
        ("MIG-GPU-old/1/0", "MIG-GPU-old/1/0"),
        ("7", "7"),  # there is no such GPU, and CUDA will see none
    ],
)
def test_what_may_be_leased_is_what_the_user_makes_visible(machine, tmp_path, monkeypatch, visible, seen):
    if visible is not None:
        monkeypatch.setenv(gpu_lease.VISIBLE, visible)
    assert leased(tmp_path) == seen


def test_a_number_and_a_uuid_are_one_lock(machine, tmp_path, monkeypatch):
    monkeypatch.setenv(gpu_lease.VISIBLE, "1")
    held = gpu_lease._taken(tmp_path / "GPU-bbbb2222-0000")
    monkeypatch.setattr(gpu_lease.time, "sleep", lambda _: held.close())
    assert leased(tmp_path) == "GPU-bbbb2222-0000"
    assert held.closed  # it had to wait


@pytest.mark.parametrize(
    ("visible", "seen"),
    [(None, "MIG-cccc3333-0000"), ("0", "MIG-cccc3333-0000"), ("1", "GPU-bbbb2222-0000"), ("MIG-dddd", None)],
)
def test_parts_of_a_gpu_are_leased_in_its_place(machine, tmp_path, monkeypatch, visible, seen):
    machine(CUT)
    if visible is not None:
        monkeypatch.setenv(gpu_lease.VISIBLE, visible)
    assert leased(tmp_path) == (seen or "MIG-dddd4444-0000")


@pytest.mark.parametrize(("visible", "seen"), [(None, None), ("1", "1"), ("0,1", "GPU-aaaa1111-0000")])
def test_what_slurm_has_chosen_is_not_chosen_again(machine, tmp_path, monkeypatch, visible, seen):
    monkeypatch.setenv("SLURM_JOB_ID", "4711")
    if visible is not None:
        monkeypatch.setenv(gpu_lease.VISIBLE, visible)
    assert leased(tmp_path) == seen
    assert any(tmp_path.glob("GPU-*")) == (visible == "0,1")


def test_a_machine_without_a_driver_leases_nothing(machine, tmp_path, monkeypatch):
    (tmp_path / "bin/nvidia-smi").unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert leased(tmp_path) is None
    monkeypatch.setenv(gpu_lease.VISIBLE, "0,1")
    assert leased(tmp_path) == "0"


def test_the_folder_of_the_locks_is_ones_own(machine, tmp_path, monkeypatch):
    folder = gpu_lease._folder()
    assert folder == Path(f"/tmp/lextables-gpus-{os.getuid()}")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link = tmp_path / "link"
    link.symlink_to(elsewhere)
    monkeypatch.setattr(gpu_lease, "Path", lambda _: link)
    with pytest.raises(BadInput, match="not a folder of your own; remove it"):
        gpu_lease._folder()


def test_a_gpu_is_leased_as_it_is_picked_and_a_job_on_the_processor_sees_none(machine, tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_lease, "_folder", lambda: tmp_path)
    monkeypatch.setattr("torch.version.cuda", None)
    device.pick("auto")
    assert gpu_lease.VISIBLE not in os.environ  # this torch can use none
    monkeypatch.setattr("torch.version.cuda", "13.0")
    device.pick("auto")
    assert os.environ[gpu_lease.VISIBLE] == "GPU-aaaa1111-0000"
    device.pick("auto")  # the same again
    assert os.environ[gpu_lease.VISIBLE] == "GPU-aaaa1111-0000"
    assert not gpu_lease._taken(tmp_path / "GPU-aaaa1111-0000")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with pytest.raises(RuntimeError, match="before one was leased"):
        device.pick("auto")
    assert device.pick("cpu").type == "cpu"
    assert os.environ[gpu_lease.VISIBLE] == ""
    for file in gpu_lease._held:
        file.close()
