"""A stale lock is removed only if no other process can be working in the folder."""

import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from lextables.pipeline import locks
from lextables.pipeline.errors import BadInput

ACQUIRE = "locks.acquire(Path('.snakemake'), Path('results'))"
HOLD = "job = locks.held_by_job(); job.__enter__()"


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Snakemake's folder after a killed run, with a lock and partly written files."""
    monkeypatch.chdir(tmp_path)
    for name in (locks.PATH, locks.RUN):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    for name in (".snakemake/locks/0.output.lock", "results/.a.parquet.12.part", "results/A.zip.part"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    return tmp_path / ".snakemake"


@contextmanager
def process(code):
    """Start another process that runs ``code`` and then sleeps."""
    imports = "import time\nfrom pathlib import Path\nfrom lextables.pipeline import locks"
    script = f"{imports}\n{code}\nprint(flush=True)"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{script}\ntime.sleep(60)"],
        stdout=subprocess.PIPE,
    )
    assert child.stdout.readline() == b"\n"
    yield child
    child.kill()
    child.wait()


def acquired(state):
    """The message of a new run, which then ends immediately."""
    message = locks.acquire(state, Path("results"))
    locks._held.pop().close()
    return message


def is_locked():
    return {path.name for path in Path().rglob("*") if path.name in ("0.output.lock", ".a.parquet.12.part")}


@pytest.mark.parametrize("content", ["", "process 1 on log", "\0\0"])
def test_the_lock_of_a_killed_run_is_removed_regardless_of_its_content(state, content):
    (state / "lextables.lock").write_text(content)
    assert acquired(state) == "Removed the lock of a killed run (unknown process)."
    assert not is_locked()
    assert Path("results/A.zip.part").exists()  # kept, so that the download can be resumed
    assert acquired(state) == ""


@pytest.mark.parametrize("code", [ACQUIRE, f"{ACQUIRE}\nlocks._held.clear()\n{HOLD}"])
def test_a_run_or_a_job_keeps_the_lock_until_it_is_killed(state, code):
    with process(code) as run:
        (state / "locks/0.output.lock").touch()
        name = f"(process {run.pid} on {socket.gethostname()}, since "
        words = "Another run, or a job of a killed run, uses this folder "
        assert acquired(state).startswith(words + name)
        assert is_locked() == {"0.output.lock"}
    assert acquired(state).startswith(f"Removed the lock of a killed run {name}")
    assert not is_locked()


def test_a_job_does_not_start_after_its_run_was_replaced(state, monkeypatch):
    acquired(state)
    with locks.held_by_job():
        pass
    monkeypatch.setenv(locks.RUN, "process 1 on another run")
    with pytest.raises(BadInput, match="the run that started this job was killed"), locks.held_by_job():
        pytest.fail("the job started")


def test_a_run_on_another_machine_keeps_its_lock(state):
    (state / "lextables.lock").write_text("process 1 on login2, since 2026-01-01 10:00:00\n")
    assert acquired(state) == (
        "This folder is locked by a run on another machine (process 1 on login2, since 2026-01-01 10:00:00)."
    )
    assert is_locked()


def test_a_file_or_a_link_to_nothing_instead_of_the_results_folder_raises(state):
    Path("file").touch()
    Path("link").symlink_to("nowhere")
    reason = "a file, or a link to a folder that does not exist, has this name"
    for name in ("file", "link"):
        with pytest.raises(BadInput, match=rf"^{name}: cannot be used \({reason}\); make it a writable"):
            locks.acquire(state, Path(name))


def test_queued_jobs_raise_and_finished_jobs_do_not(tmp_path, monkeypatch):
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\necho 7\necho 12\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    locks.refuse_cluster_jobs(["3", "1"])
    with pytest.raises(BadInput, match=r"queue; wait for them, or run scancel 12\.$"):
        locks.refuse_cluster_jobs(["12", "3"])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BadInput, match="that 3 have ended, and add --no-hooks"):
        locks.refuse_cluster_jobs(["3"])
