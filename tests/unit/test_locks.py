"""A stale lock is removed only if no other process can be working in the folder."""

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from lextables.pipeline import atomic, locks
from lextables.pipeline.errors import BadInput

ACQUIRE = "locks.acquire(Path('.snakemake'), Path('results'))"
# A job whose run has ended.  It has forked a process that has ended, as loaders of
# training data do.
HOLD = f"""
{ACQUIRE}
job = locks.held_by_job()
job.__enter__()
child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.1,))
child.start()
child.join()
locks._held.close()
"""
USED = "Another run, or a job of a killed run, uses this folder "
PARTS = (".a.parquet.12.lextables.part", "A.zip.part", ".b.csv.3.lextables.old")


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Snakemake's folder after a killed run, with a lock and partly written files."""
    folder = tmp_path / "one"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv(locks.RUN, "[]")
    for name in (
        ".snakemake/locks/0.output.lock",
        *(f"results/{part}" for part in PARTS),
        "results/b.csv",
    ):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    yield folder / ".snakemake"
    locks._held.close()


@contextmanager
def process(code, folder="."):
    """Start another process that runs ``code`` in ``folder`` and then sleeps."""
    imports = "import multiprocessing, time\nfrom pathlib import Path\nfrom lextables.pipeline import locks"
    script = f"{imports}\n{code}\nprint(flush=True)"
    child = subprocess.Popen(
        [sys.executable, "-c", f"{script}\ntime.sleep(60)"],
        stdout=subprocess.PIPE,
        cwd=folder,
    )
    assert child.stdout.readline() == b"\n"
    yield child
    child.kill()
    child.wait()


def acquired(state, results="results"):
    """The message of a new run, which then ends immediately."""
    message = locks.acquire(state, Path(results))
    locks._held.close()
    return message


def leftovers():
    """The lock and the partly written files that remain of the killed run."""
    names = ("0.output.lock", PARTS[0], PARTS[2])
    return {path.name for path in Path().rglob("*") if path.name in names}


def leave(state, content):
    """Write the file of a run that was killed."""
    path = state / locks.LOCKS / "killed.lock"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "content", [b"", b'{"state": 5}', b"\0\0", b"\xff\xfe", b"[]", b'{"host": null}']
)
def test_the_lock_of_a_killed_run_is_removed_regardless_of_its_content(state, content):
    leave(state, content)
    assert acquired(state) == "Removed the lock of a killed run."
    assert not leftovers()
    assert Path(
        "results/A.zip.part"
    ).exists()  # kept, so that the download can be resumed
    assert not [*Path().rglob(f"{locks.LOCKS}/*.lock")]
    assert acquired(state) == ""


@pytest.mark.parametrize("code", [ACQUIRE, HOLD])
def test_a_run_or_a_job_keeps_the_lock_until_it_is_killed(state, code):
    with process(code) as run:
        (state / "locks/0.output.lock").touch()
        Path("results", PARTS[0]).touch()
        name = f"(process {run.pid} on {socket.gethostname()}, since "
        assert acquired(state).startswith(USED + name)
        assert leftovers() == {"0.output.lock", PARTS[0]}
    assert acquired(state) == "Removed the lock of a killed run."
    assert not leftovers()


@pytest.mark.parametrize("link", ["results", "results/sample", ""])
@pytest.mark.parametrize("code", [ACQUIRE, HOLD])
def test_a_checkout_with_the_same_results_folder_is_rejected_while_a_run_or_job_works(
    state, code, link
):
    """The other checkout has a link to the results, or to a part of them, or the same
    absolute path.
    """
    results = Path("results/sample" if link == "results/sample" else "results")
    results.mkdir(exist_ok=True)
    other = Path("../two")
    place = other / link if link else results.absolute()
    place.parent.mkdir(parents=True, exist_ok=True)
    if link:
        place.symlink_to(results.absolute())
    with process(code.replace("results", results.as_posix())):
        (results / PARTS[0]).touch()
        with pytest.raises(
            BadInput,
            match=rf"in {state} uses this folder \(process .*; wait for it or stop it",
        ):
            locks.acquire(other / ".snakemake", place)
        assert (results / PARTS[0]).exists()
    assert acquired(other / ".snakemake", place) == ""
    assert not (results / PARTS[0]).exists()


def test_a_run_of_other_results_in_the_same_checkout_keeps_snakemakes_locks(state):
    with process(ACQUIRE.replace("results", "results/sample")):
        (state / "locks/0.output.lock").touch()
        assert acquired(state).startswith(USED)
        assert "0.output.lock" in leftovers()


def test_unfinished_files_in_another_results_folder_below_are_kept(state):
    with process(
        ACQUIRE.replace("results", "../two/results").replace(
            ".snakemake", "../two/.snakemake"
        )
    ):
        Path("results/sample").symlink_to(Path("../two/results").absolute())
        Path("results/real").mkdir()
        Path("results/real", locks.LOCKS).mkdir()
        for folder in ("sample", "real"):
            Path("results", folder, PARTS[0]).touch()
        acquired(state)
    assert (
        Path("results/sample", PARTS[0]).exists()
        and Path("results/real", PARTS[0]).exists()
    )
    assert not Path("results", PARTS[0]).exists()


def test_a_folder_whose_replacement_was_interrupted_is_restored(state):
    for name in (
        ".report.12.lextables.old",
        ".report.12.lextables.part",
        ".export.12.lextables.old",
        "export",
    ):
        Path("results", name).mkdir()
        Path("results", name, name).touch()
    acquired(state)
    assert sorted(path.name for path in Path("results/report").iterdir()) == [
        ".report.12.lextables.old"
    ]
    assert sorted(path.name for path in Path("results/export").iterdir()) == ["export"]
    assert not [*Path("results").glob(".*.12.*")]


def test_a_job_does_not_start_after_its_run_was_replaced(state):
    locks.acquire(state, Path("results"))
    with locks.held_by_job():
        assert len([*Path().rglob(f"{locks.LOCKS}/*.lock")]) == 4
    assert len([*Path().rglob(f"{locks.LOCKS}/*.lock")]) == 2
    locks._held.close()
    with (
        pytest.raises(BadInput, match="the run that started this job was killed"),
        locks.held_by_job(),
    ):
        pytest.fail("the job started")


def test_a_run_on_another_machine_keeps_its_lock(state):
    """Some disks have locks that only one machine sees."""
    run = {
        "state": str(state),
        "host": "login2",
        "process": "process 1 on login2, since 2026-01-01 10:00:00",
    }
    leave(state, json.dumps(run).encode())
    message = f"{USED}({run['process']}); both continue"
    assert acquired(state).startswith(message)
    assert "0.output.lock" in leftovers()
    (state / "locks/0.output.lock").unlink()  # as `snakemake --unlock` does
    assert acquired(state) == ""
    assert not leftovers()


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_disk_without_locks_gives_a_warning_and_nothing_is_removed(
    state, monkeypatch, code
):
    def refused(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refused)
    assert acquired(state) == locks.NO_LOCKS
    assert leftovers() == {"0.output.lock", PARTS[0], PARTS[2]}
    with locks.held_by_job(), locks.exclusive(Path("some/file")) as locked:
        assert not locked


def test_a_file_or_a_link_to_nothing_instead_of_the_results_folder_raises(state):
    Path("file").touch()
    Path("link").symlink_to("nowhere")
    reason = "a file, or a link to a folder that does not exist, has this name"
    for name in ("file", "link"):
        with pytest.raises(
            BadInput, match=rf"^{name}: cannot be used \({reason}\); make it a writable"
        ):
            locks.acquire(state, Path(name))


def test_queued_jobs_raise_and_finished_jobs_do_not(tmp_path, monkeypatch):
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\necho 7\necho 12\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    locks.refuse_cluster_jobs(["3", "1"])
    with pytest.raises(BadInput, match=r"queue; wait for them, or run scancel 12\.$"):
        locks.refuse_cluster_jobs(["12", "3"])
    squeue.write_text("#!/bin/sh\nexit 1\n")
    for path in (tmp_path, "/nowhere"):
        monkeypatch.setenv(
            "PATH", f"{path}:/usr/bin:/bin" if path == tmp_path else path
        )
        with pytest.raises(BadInput, match="that 3 have ended, and add --no-hooks"):
            locks.refuse_cluster_jobs(["3"])
    locks.refuse_cluster_jobs([])


OWN = [
    ".notes.2024.old",
    ".git.1.part",
    ".a.parquet.12.part",
    ".a.lextables.part",
    "a.12.lextables.part",
    ".a.x.lextables.old",
]


@pytest.mark.parametrize("name", OWN)
def test_files_of_a_user_are_kept(state, name):
    Path("results", name).write_text("mine")
    acquired(state)
    assert Path("results", name).read_text() == "mine"


def test_a_planted_link_at_a_temporary_name_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    part = tmp_path / f".a.{os.getpid()}.{atomic.MARK}.part"
    part.symlink_to(victim)
    atomic.write_text(tmp_path / "a", "new")
    folder = tmp_path / "folder"
    target = tmp_path / "target"
    target.mkdir()
    (target / "b").write_text("kept")
    for kind in ("part", "old"):
        (tmp_path / f".folder.{os.getpid()}.{atomic.MARK}.{kind}").symlink_to(target)
    with atomic.replacing_folder(folder) as temporary:
        (temporary / "c").write_text("new")
    assert (victim.read_text(), (tmp_path / "a").read_text()) == ("kept", "new")
    assert [path.name for path in target.iterdir()] == ["b"]
    assert [path.name for path in folder.iterdir()] == ["c"]
