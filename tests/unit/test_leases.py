"""Whose lock is taken away: that of a run of which nothing is left, on this machine, and no other."""

import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from lextables import leases
from lextables.errors import BadInput

ROOT = Path(__file__).parents[2]
HOST = socket.gethostname()
IMPORTS = "import time\nfrom pathlib import Path\nfrom lextables import leases\n"


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Snakemake's folder with a lock in it, as a killed run leaves it."""
    monkeypatch.setenv(leases.VARIABLE, "")
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks/0.output.lock").write_text("results/x\n")
    (tmp_path / "leases").mkdir()
    return tmp_path


@contextmanager
def process(code: str, **environment: str):
    """A process of its own that has run ``code`` and sleeps for as long as the block."""
    script = f"{IMPORTS}{code}\nprint('x', flush=True)\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow"), **environment}
    script += "time.sleep(60)"
    child = subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "x\n"
        yield child
    finally:
        child.kill()
        child.wait()


def record(state: Path, host: str = HOST, pid: int = 999_999_999, since: str = "2025-01-01 10:00") -> Path:
    path = state / f"leases/{host}-{pid}"
    path.write_text(json.dumps({"host": host, "pid": pid, "since": since}))
    return path


def alone(state: Path) -> bool:
    """Whether nothing else works in the folder, as far as is certain."""
    calls = []
    lease, _, _ = leases.settle(state, lambda: calls.append(1))
    lease.release()
    return bool(calls)


def settled(state: Path) -> tuple[str, str]:
    lease, freed, kept = leases.settle(state)
    assert lease.path.exists()
    lease.release()
    assert not lease.path.exists()
    return freed, kept


def locked(state: Path) -> bool:
    return any((state / "locks").iterdir())


def test_the_lock_of_a_killed_run_is_taken_away(state):
    with process(f"lease = leases.settle(Path({str(state)!r}))[0]") as run:
        _, kept = settled(state)
        assert locked(state)
        assert kept.startswith(f"Another run works in this folder (process {run.pid} on {HOST}, since ")
    freed, kept = settled(state)
    assert "a run that was killed" in freed
    assert (kept, locked(state)) == ("", False)
    assert [path.name for path in (state / "leases").iterdir()] == ["settling"]


def test_nothing_is_said_where_there_is_no_lock(state):
    (state / "locks/0.output.lock").unlink()
    record(state)
    assert settled(state) == ("", "")
    assert [path.name for path in (state / "leases").iterdir()] == ["settling"]


def test_a_killed_run_whose_jobs_still_work_keeps_its_lock(state):
    path = record(state)
    working = "context = leases.lent()\ncontext.__enter__()"
    with process(working, **{leases.VARIABLE: str(path)}):
        freed, kept = settled(state)
        assert (freed, locked(state)) == ("", True)
        assert kept.startswith("Jobs of a run that was killed (process 999999999")
    settled(state)
    assert not locked(state)


def test_one_live_run_keeps_the_lock_of_a_dead_one(state):
    record(state)
    with process(f"lease = leases.Lease(Path({str(state)!r}))"):
        assert "Another run works" in settled(state)[1]
        assert locked(state)


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda state: None, "left no record"),
        (
            lambda state: record(state, host="login2"),
            "login2, since 2025-01-01 10:00) cannot be asked from here",
        ),
        (lambda state: record(state).write_text("{"), "cannot be read"),
        (
            lambda state: (
                record(state),
                (state / "incomplete").mkdir(),
                (state / "incomplete/cmVzdWx0cw==").write_text('{"external_jobid": "4711"}'),
                (state / "incomplete/cmVzdWx0cx==").write_text('{"external_jobid": null}'),
            ),
            "may be in the cluster's queue (4711)",
        ),
    ],
)
def test_what_cannot_be_known_is_left_to_a_person(state, prepare, words):
    prepare(state)
    freed, kept = settled(state)
    assert (freed, locked(state)) == ("", True)
    assert words in kept
    assert kept.endswith("snakemake --unlock.")


def test_a_job_of_a_killed_run_does_not_begin(state, monkeypatch):
    """Its run was killed while the job imported its libraries, and another may have begun the same work."""
    path = record(state)
    monkeypatch.setenv(leases.VARIABLE, str(path))
    with leases.lent():
        pass
    settled(state)
    monkeypatch.setenv(leases.VARIABLE, str(path))
    with pytest.raises(BadInput, match="the run that started this job was killed"), leases.lent():
        pytest.fail("the job began")


def test_a_job_on_another_machine_asks_whether_the_record_is_there(state, monkeypatch):
    path = record(state, host="login2", pid=5)
    monkeypatch.setenv(leases.VARIABLE, str(path))
    with leases.lent():
        pass
    # The next run took the lock of the killed one, and does its work.
    path.unlink()
    with pytest.raises(BadInput, match="the run that started this job was killed"), leases.lent():
        pass


def test_runs_that_start_together_settle_one_after_the_other(state):
    record(state)
    code = f"found = leases.settle(Path({str(state)!r}))[1:]\nprint(found, flush=True)\ntime.sleep(2)"
    script = f"{IMPORTS}{code}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    runs = [
        subprocess.Popen([sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [run.communicate(timeout=60)[0] for run in runs]
    assert sum("was taken away" in words for words in said) == 1, said


def test_only_where_nothing_else_can_work_is_a_run_alone(state):
    assert not alone(state)  # whoever locked the folder left no record
    record(state)
    assert alone(state)
    assert not [*(state / "locks").iterdir()]
    assert alone(state)  # as after a run that ended in order
    with process(f"held = leases.settle(Path({str(state)!r}))"):
        assert not alone(state)
    assert alone(state)
    record(state, host="elsewhere")
    assert not alone(state)
