"""The lock of a working folder and of its results.

What a killed run left is removed only if no other process can be working in the folder.
"""

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

# Code of another process: a run that holds the lock.
ACQUIRE = "locks.acquire(Path('.snakemake'), Path('results'))"
# A job whose run has ended.  It has forked a process that has ended, as loaders of
# training data do.
JOB_OF_ENDED_RUN = f"""
{ACQUIRE}
job = locks.held_by_job()
job.__enter__()
child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.1,))
child.start()
child.join()
locks._held.close()
"""
# The beginning of the message of a run that finds the folder in use.
IN_USE = "Another run, or a job of a killed run, uses this folder "
SNAKEMAKE_LOCK = "0.output.lock"
# Files that a killed run leaves in the results: a partly written file, a partly
# downloaded one, and the previous version of a replaced one.
PART = ".a.parquet.12.lextables.part"
DOWNLOAD = "A.zip.part"
OLD = ".b.csv.3.lextables.old"


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Snakemake's folder after a killed run, with a lock and partly written files."""
    folder = tmp_path / "one"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv(locks.RUN, "[]")
    for name in (
        f".snakemake/locks/{SNAKEMAKE_LOCK}",
        f"results/{PART}",
        f"results/{DOWNLOAD}",
        f"results/{OLD}",
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


def message_of_new_run(state, results="results"):
    """Return the message of a new run, which acquires the lock and ends immediately."""
    message = locks.acquire(state, Path(results))
    locks._held.close()
    return message


# What a new run removes, if no other process can be working.
REMOVABLE = {SNAKEMAKE_LOCK, PART, OLD}


def leftovers():
    """Return the names of what remains of the killed run."""
    return {path.name for path in Path().rglob("*") if path.name in REMOVABLE}


def our_locks():
    """Return the lock files of lextables below the working folder."""
    return [*Path().rglob(f"{locks.LOCKS}/*.lock")]


def write_lock_of_killed_run(state, content):
    """Write the lock file of a run that was killed."""
    path = state / locks.LOCKS / "killed.lock"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "content", [b"", b'{"state": 5}', b"\0\0", b"\xff\xfe", b"[]", b'{"host": null}']
)
def test_the_lock_of_a_killed_run_is_removed_regardless_of_its_content(state, content):
    write_lock_of_killed_run(state, content)
    assert message_of_new_run(state) == "Removed the lock of a killed run."
    assert not leftovers()
    # Kept, so that the download can be resumed.
    assert Path("results", DOWNLOAD).exists()
    assert not our_locks()
    # The next run finds nothing to remove.
    assert message_of_new_run(state) == ""


@pytest.mark.parametrize("code", [ACQUIRE, JOB_OF_ENDED_RUN])
def test_a_run_or_a_job_keeps_the_lock_until_it_is_killed(state, code):
    with process(code) as run:
        (state / "locks" / SNAKEMAKE_LOCK).touch()
        Path("results", PART).touch()
        name = f"(process {run.pid} on {socket.gethostname()}, since "
        assert message_of_new_run(state).startswith(IN_USE + name)
        assert leftovers() == {SNAKEMAKE_LOCK, PART}
    assert message_of_new_run(state) == "Removed the lock of a killed run."
    assert not leftovers()


@pytest.mark.parametrize("link", ["results", "results/sample", ""])
@pytest.mark.parametrize("code", [ACQUIRE, JOB_OF_ENDED_RUN])
def test_a_checkout_with_the_same_results_folder_is_rejected_while_a_run_or_job_works(
    state, code, link
):
    """The other checkout has a link to the results, or to a part of them, or (without a
    link) the same absolute path.
    """
    results = Path("results/sample" if link == "results/sample" else "results")
    results.mkdir(exist_ok=True)
    other_checkout = Path("../two")
    same_results = other_checkout / link if link else results.absolute()
    same_results.parent.mkdir(parents=True, exist_ok=True)
    if link:
        same_results.symlink_to(results.absolute())
    other_state = other_checkout / ".snakemake"
    message = rf"in {state} uses this folder \(process .*; wait for it or stop it"
    with process(code.replace("results", results.as_posix())):
        (results / PART).touch()
        with pytest.raises(BadInput, match=message):
            locks.acquire(other_state, same_results)
        assert (results / PART).exists()
    assert message_of_new_run(other_state, same_results) == ""
    assert not (results / PART).exists()


def test_a_run_of_other_results_in_the_same_checkout_keeps_snakemakes_locks(state):
    with process(ACQUIRE.replace("results", "results/sample")):
        (state / "locks" / SNAKEMAKE_LOCK).touch()
        assert message_of_new_run(state).startswith(IN_USE)
        assert SNAKEMAKE_LOCK in leftovers()


def test_unfinished_files_in_another_results_folder_below_are_kept(state):
    run_in_other_checkout = (
        "locks.acquire(Path('../two/.snakemake'), Path('../two/results'))"
    )
    with process(run_in_other_checkout):
        # One folder below is a link to the results of the other checkout; the other
        # has a folder of locks, as results have.
        Path("results/sample").symlink_to(Path("../two/results").absolute())
        Path("results/real").mkdir()
        Path("results/real", locks.LOCKS).mkdir()
        for folder in ("sample", "real"):
            Path("results", folder, PART).touch()
        message_of_new_run(state)
    assert Path("results/sample", PART).exists()
    assert Path("results/real", PART).exists()
    assert not Path("results", PART).exists()


def test_a_folder_whose_replacement_was_interrupted_is_restored(state):
    # The folder `report` was moved away, and its new version was not yet in its place;
    # that of `export` was.
    for name in (
        ".report.12.lextables.old",
        ".report.12.lextables.part",
        ".export.12.lextables.old",
        "export",
    ):
        Path("results", name).mkdir()
        Path("results", name, f"file of {name}").touch()
    message_of_new_run(state)
    report = [path.name for path in Path("results/report").iterdir()]
    assert report == ["file of .report.12.lextables.old"]
    export = [path.name for path in Path("results/export").iterdir()]
    assert export == ["file of export"]
    assert not [*Path("results").glob(".*.12.*")]


def test_a_link_at_the_name_of_a_previous_folder_is_removed_and_not_followed(state):
    Path("kept").mkdir()
    Path("kept/file").touch()
    Path("results/report").mkdir()
    link = Path("results/.report.12.lextables.old")
    link.symlink_to(Path("kept").absolute())
    message_of_new_run(state)
    assert not link.is_symlink() and Path("kept/file").exists()


def test_a_job_does_not_start_after_its_run_was_replaced(state):
    locks.acquire(state, Path("results"))
    # One lock in the working folder and one in the results, of the run and of the job.
    with locks.held_by_job():
        assert len(our_locks()) == 4
    assert len(our_locks()) == 2
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
    write_lock_of_killed_run(state, json.dumps(run).encode())
    message = f"{IN_USE}({run['process']}); both continue"
    assert message_of_new_run(state).startswith(message)
    assert SNAKEMAKE_LOCK in leftovers()
    # As `snakemake --unlock` does.
    (state / "locks" / SNAKEMAKE_LOCK).unlink()
    assert message_of_new_run(state) == ""
    assert not leftovers()


def test_a_job_on_another_machine_keeps_the_lock_of_its_killed_run(state, monkeypatch):
    locks.acquire(state, Path("results"))
    with monkeypatch.context() as on_node:
        on_node.setattr(socket, "gethostname", lambda: "node7")
        with locks.held_by_job():
            records = {path: path.read_bytes() for path in our_locks()}
    locks._held.close()
    # A disk on which this machine does not see the locks of the node.
    for path, record in records.items():
        if json.loads(record)["host"] == "node7":
            path.write_bytes(record)
    (state / "locks" / SNAKEMAKE_LOCK).touch()
    Path("results", PART).touch()
    assert message_of_new_run(state).startswith(IN_USE)
    assert {SNAKEMAKE_LOCK, PART} <= leftovers()


@pytest.mark.parametrize("error", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_disk_without_locks_gives_a_warning_and_nothing_is_removed(
    state, monkeypatch, error
):
    def refuse(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert message_of_new_run(state) == locks.NO_LOCKS
    assert leftovers() == REMOVABLE
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


@pytest.fixture
def write_squeue(tmp_path, monkeypatch):
    """Return a function that writes the program `squeue` of a cluster."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def write(script):
        squeue = tmp_path / "squeue"
        squeue.write_text(f"#!/bin/sh\n{script}\n")
        squeue.chmod(0o755)

    return write


def test_queued_jobs_raise_and_finished_jobs_do_not(write_squeue):
    write_squeue("echo 7\necho 12")  # the ids of queued jobs
    locks.refuse_cluster_jobs(["3", "1"])
    with pytest.raises(BadInput, match=r"queue; wait for them, or run scancel 12\.$"):
        locks.refuse_cluster_jobs(["12", "3"])


def test_jobs_raise_if_squeue_fails_or_is_missing(write_squeue, monkeypatch):
    message = "that 3 have ended, and add --no-hooks"
    write_squeue("exit 1")
    with pytest.raises(BadInput, match=message):
        locks.refuse_cluster_jobs(["3"])
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BadInput, match=message):
        locks.refuse_cluster_jobs(["3"])
    # Without jobs squeue is not needed.
    locks.refuse_cluster_jobs([])


@pytest.mark.parametrize(
    # Names like those of partly written files (`.<name>.<process>.lextables.part`).
    "name",
    [
        ".notes.2024.old",
        ".git.1.part",
        ".a.parquet.12.part",
        ".a.lextables.part",
        "a.12.lextables.part",
        ".a.x.lextables.old",
    ],
)
def test_files_of_a_user_are_kept(state, name):
    Path("results", name).write_text("mine")
    message_of_new_run(state)
    assert Path("results", name).read_text() == "mine"


def test_a_planted_link_at_the_name_of_a_temporary_file_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    part = tmp_path / f".a.{os.getpid()}.{atomic.MARK}.part"
    part.symlink_to(victim)
    atomic.write_text(tmp_path / "a", "new")
    assert victim.read_text() == "kept"
    assert (tmp_path / "a").read_text() == "new"


def test_a_planted_link_at_the_name_of_a_temporary_folder_is_not_followed(tmp_path):
    folder = tmp_path / "folder"
    target = tmp_path / "target"
    target.mkdir()
    (target / "b").write_text("kept")
    for kind in ("part", "old"):
        (tmp_path / f".folder.{os.getpid()}.{atomic.MARK}.{kind}").symlink_to(target)
    with atomic.replacing_folder(folder) as temporary:
        (temporary / "c").write_text("new")
    assert [path.name for path in target.iterdir()] == ["b"]
    assert [path.name for path in folder.iterdir()] == ["c"]
