"""The sample through a real SLURM: profiles/slurm as it is, on a node with two GPUs that are counted.

These GPUs compute nothing, so jobs compute on the processor and the command says which rules ask for a GPU;
where the profile's own `device: cuda` is left, they ask by themselves, and find none.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

import slurm_cluster

ROOT = Path(__file__).parents[2]
# The plugin asks SLURM ever less often; here a second matters.
DRIVER = """
from snakemake.cli import main
from snakemake_executor_plugin_slurm import Executor
Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)
main()
"""
PARTITIONS = "partitions:\n  compute: {}\n  accelerated:\n    max_gpu: 1\n"
RUNS = "results/sample/runs/acord"
FIRST, SECOND = (f"{RUNS}/train/minilm-retriever/sample/seed{seed}" for seed in (0, 1))
DENSE, LINEAR, LEXICAL = (
    f"{RUNS}/retrieve/{model}/short/seed0/predictions.parquet"
    for model in ("bi-encoder-minilm", "linear-vectors", "bm25")
)
# Four jobs that want a GPU, and one that wants none, all ready when the data set is.
TARGETS = [f"{FIRST}/run.json", f"{SECOND}/run.json", DENSE, LINEAR, LEXICAL]
MADE = [f"{FIRST}/weights/model.safetensors", f"{SECOND}/weights/model.safetensors", DENSE, LINEAR, LEXICAL]
ON_GPU = ("retrieval_train", "acord_retrieve_dense", "acord_retrieve_linear")
# Of memory for a job that needs some 900 MB: at first so little that it is seen before the job is done.
TOO_LITTLE = "acord_retrieve_dense:mem_mb=300 * attempt ** 2"
CANCELLED = "minilm-retriever_sample_1"
NO_GPU = "config: device = 'cuda' but this machine has no usable GPU; set device to auto or cpu."
ALL = "--states=all"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if hindrance := slurm_cluster.hindrance():
        pytest.skip(hindrance)
    with slurm_cluster.running(tmp_path_factory.mktemp("slurm"), gpus=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results elsewhere, with what a user of this cluster has beside the profile."""
    folder = tmp_path_factory.mktemp("elsewhere")
    (folder / "partitions.yaml").write_text(PARTITIONS)
    (folder / "cpu.yaml").write_text("device: cpu\n")
    return folder


@contextmanager
def snakemake(cluster, folder, *targets, gpus=True, more=()):
    """A run that submits to the cluster, with ``more`` options, and the file that its screen is."""
    options = ["--workflow-profile", "profiles/slurm", "--directory", str(folder), "--latency-wait", "10"]
    options += more
    options += ["--slurm-partition-config", str(folder / "partitions.yaml")]
    if gpus:
        options += ["--configfile", str(folder / "cpu.yaml")]
        options += ["--set-resources", *(f"{rule}:gpu=1" for rule in ON_GPU), TOO_LITTLE]
    screen = folder / "screen.txt"
    with screen.open("w") as out:
        run = subprocess.Popen(
            [sys.executable, "-c", DRIVER, *options, "--config", "papers=[acord]", "--", *targets],
            cwd=ROOT,
            env=cluster.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            yield run, screen
        finally:
            run.kill()
            run.wait()


def ended(run, screen) -> tuple[int, list[str]]:
    """The exit code, and the lines on the screen."""
    code = run.wait(timeout=400)
    text = screen.read_text()
    assert "Traceback" not in text
    return code, text.splitlines()


def said(line: str) -> str:
    """A line of the screen without the time of day."""
    return re.sub(r"^\d\d:\d\d:\d\d  ", "", line)


def until(found: Callable[[], object], seconds=200):
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.2)
    return value


def jobs(cluster, word, *options):
    """The ids of the jobs of which SLURM knows whose rule and wildcards hold ``word``."""
    return [number for number, comment in cluster.queue("ik", *options) if word in comment]


class Watch(threading.Thread):
    """Looks again and again which jobs there are, and which GPUs they were given."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.over = cluster, threading.Event()
        self.together: list[tuple[int, int]] = []  # jobs with a GPU that run, and that wait, at a time
        self.asked: dict[str, tuple[str, str, str]] = {}  # job: partition, memory, time
        self.given: dict[str, tuple[str, str]] = {}  # job: GPU as SLURM and as CUDA numbers it

    def run(self):
        while not self.over.wait(0.2):
            there = self.cluster.queue("iTPml")
            states = [state for _, state, partition, *_ in there if partition == "accelerated"]
            self.together.append((states.count("RUNNING"), states.count("PENDING")))
            self.asked |= {number: tuple(asked) for number, _, *asked in there}
            self.given |= given(self.cluster)


def given(cluster) -> dict[str, tuple[str, str]]:
    """{job: (SLURM_JOB_GPUS, CUDA_VISIBLE_DEVICES)} of the jobs with a GPU, as their processes were told."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue  # it ended
        told = dict(line.split("=", 1) for line in text.split("\0") if "=" in line)
        if "SLURM_JOB_GPUS" in told and told.get("SLURM_CONF") == cluster.environment["SLURM_CONF"]:
            found[told["SLURM_JOB_ID"]] = (told["SLURM_JOB_GPUS"], told.get("CUDA_VISIBLE_DEVICES", ""))
    return found


def test_gpus_are_counted_lost_memory_is_asked_for_and_a_cancelled_job_leaves_nothing(cluster, folder):
    watch = Watch(cluster)
    watch.start()
    # Without --keep-going nothing is tried again once another job has failed for good.
    with snakemake(cluster, folder, *TARGETS, more=["--keep-going"]) as (run, screen):
        # Cancelled where it runs, and again where it was tried again.
        for _ in ("at first", "again"):
            (number,) = until(lambda: jobs(cluster, CANCELLED, "--states=RUNNING"))
            cluster.ask("scancel", number)
            until(lambda: not jobs(cluster, CANCELLED, "--states=RUNNING,COMPLETING"))
        code, lines = ended(run, screen)
    watch.over.set()
    assert code == 1
    assert max(running for running, _ in watch.together) == 2
    assert any(running == 2 and waiting for running, waiting in watch.together)
    assert len(watch.given) >= 4
    assert all(slurm == cuda and slurm in ("0", "1") for slurm, cuda in watch.given.values())
    assert {slurm for slurm, _ in watch.given.values()} == {"0", "1"}
    # What took more memory than it asked for was killed, and asked for more of it and of time.
    asked = [watch.asked[number] for number in jobs(cluster, "acord_retrieve_dense", ALL)]
    assert sorted(asked) == [("accelerated", "1200M", "4:00:00"), ("accelerated", "300M", "2:00:00")]
    (lexical,) = jobs(cluster, "acord_retrieve_lexical", ALL)
    assert watch.asked[lexical] == ("compute", "8000M", "2:00:00")
    words = r"retrieval_train: the cluster says: .*'CANCELLED'.*; docs/cluster\.md says what to set.*"
    assert re.fullmatch(words, lines[-1])
    assert not (folder / SECOND / "run.json").exists()
    assert not (folder / SECOND / "weights").exists()
    assert all((folder / path).exists() for path in MADE if SECOND not in path)


def test_a_fault_of_a_job_on_a_node_stands_last_and_is_not_tried_again(cluster, folder):
    before = len(jobs(cluster, CANCELLED, ALL))
    with snakemake(cluster, folder, f"{SECOND}/run.json", gpus=False) as (run, screen):
        code, lines = ended(run, screen)
    assert code == 1
    assert lines[-1] == NO_GPU
    assert len(jobs(cluster, CANCELLED, ALL)) == before + 1


def test_a_killed_run_is_taken_up_when_its_jobs_are_gone(cluster, folder, tmp_path):
    cluster.ask("scontrol", "update", "partition=accelerated", "state=down")
    with snakemake(cluster, folder, *TARGETS) as (run, _):
        (number,) = until(lambda: jobs(cluster, CANCELLED, "--states=PENDING"))
        marks = folder / ".snakemake/incomplete"
        until(lambda: any(number in mark.read_text() for mark in marks.rglob("*") if mark.is_file()))
        os.kill(run.pid, signal.SIGKILL)
    with snakemake(cluster, folder, *TARGETS) as (run, screen):
        code, lines = ended(run, screen)
    assert code == 1
    words, _, do = lines[-1].partition(", or say ")
    assert words == "Jobs of a run that was killed are in the cluster's queue; wait for them"
    waiting = [job for (job,) in cluster.queue("i")]
    assert number in waiting
    assert do == f"scancel {' '.join(sorted(waiting))}."
    cluster.ask(*do.rstrip(".").split())
    cluster.ask("scontrol", "update", "partition=accelerated", "state=up")
    with snakemake(cluster, folder, *TARGETS) as (run, screen):
        code, lines = ended(run, screen)
    assert code == 0, lines
    assert any(line.startswith("The lock of a run that was killed") for line in map(said, lines))
    local = [sys.executable, "-m", "snakemake", "--cores", "2", "--directory", str(tmp_path)]
    subprocess.run([*local, "--config", "papers=[acord]", "device=cpu", "--", *TARGETS], cwd=ROOT, check=True)
    for path in MADE:
        assert (folder / path).read_bytes() == (tmp_path / path).read_bytes()
