"""The sample on a real SLURM with profiles/slurm.

The node has no real GPUs, so jobs run on the CPU and the command line sets which rules request a GPU.
"""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import slurm_cluster
from lextables import ROOT
from slurm_cluster import until

RUNS = "results/sample/runs/acord"
# Each asks for a GPU; the search also needs the hits of BM25.
ON_A_GPU = {
    "retrieval_train": "train/minilm-retriever/sample",
    "retrieval_search": "search/minilm-fresh-head/sample-lr1e-04",
    "acord_retrieve_dense": "retrieve/bi-encoder-minilm/short",
    "acord_retrieve_linear": "retrieve/linear-words/short",
}
TARGETS = [f"{RUNS}/{run}/seed0/run.json" for run in ON_A_GPU.values()]
ON_GPU = [f"{rule}:gpu=1" for rule in ON_A_GPU]
TOO_LITTLE = "acord_retrieve_dense:mem_mb=300 * attempt ** 2"  # on the first attempt


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if reason := slurm_cluster.missing():
        pytest.skip(reason)
    with slurm_cluster.running(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere")
    partitions = "partitions:\n  compute: {}\n  accelerated: {max_gpu: 1}\n"
    (folder / "partitions.yaml").write_text(partitions)
    (folder / "cpu.yaml").write_text("device: cpu\n")
    return folder


@contextmanager
def snakemake(cluster, folder, *targets, gpus=(), more=(), config=()):
    """A run that submits to the cluster, and the file with its output."""
    command = [
        "snakemake",
        "--workflow-profile",
        "profiles/slurm",
        "--directory",
        str(folder),
        *more,
    ]
    command += [
        "--slurm-partition-config",
        str(folder / "partitions.yaml"),
        "--latency-wait",
        "10",
    ]
    if gpus:
        command += ["--configfile", str(folder / "cpu.yaml"), "--set-resources", *gpus]
    command += [
        "--slurm-init-seconds-before-status-checks",
        "1",
        "--config",
        "papers=[acord]",
        *config,
        "--",
        *targets,
    ]
    with (folder / "screen.txt").open("w+") as screen:
        run = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env=cluster.environment,
            stdout=screen,
            stderr=screen,
        )
        try:
            yield run, Path(screen.name)
        finally:
            run.kill()
            run.wait()


def test_jobs_request_a_gpu_memory_and_time(cluster, folder):
    """Jobs wait for a GPU; one that ran out of memory requests more; small jobs are sent too."""
    gpu_jobs, memory_requests, limits = [], set(), set()
    options = {
        "gpus": [*ON_GPU, TOO_LITTLE],
        "config": ["submit_small_jobs=true", "max_runtime=45"],
    }
    scores = f"{RUNS}/{ON_A_GPU['acord_retrieve_dense']}/seed0/scores.parquet"
    with snakemake(cluster, folder, *TARGETS, scores, **options) as (run, screen):
        while run.poll() is None:
            on_gpu = []
            for name, state, partition, memory, limit in cluster.queue("kTPml"):
                rule = name.split("_wildcards_")[0]
                limits.add((rule, limit))
                if partition == "accelerated":
                    on_gpu.append(state)
                if rule == "rule_acord_retrieve_dense":
                    memory_requests.add(memory)
            gpu_jobs.append((on_gpu.count("RUNNING"), on_gpu.count("PENDING")))
        assert run.wait() == 0, screen.read_text()
    assert ("rule_acord_retrieve_dense", "45:00") in limits
    assert ("rule_retrieval_score", "30:00") in limits
    assert max(running for running, _ in gpu_jobs) == 2
    assert any(running == 2 and waiting for running, waiting in gpu_jobs)
    assert memory_requests == {"300M", "1200M"}


def test_the_last_line_is_the_error_of_a_job_on_a_node(cluster, folder):
    (folder / TARGETS[0]).unlink()
    more = ["--retries", "0"]
    with snakemake(cluster, folder, TARGETS[0], more=more) as (run, screen):
        assert run.wait(400) == 1
    message = "config: device = 'cuda' but this machine has no usable GPU; set device to auto or cpu."
    assert screen.read_text().splitlines()[-1] == message


def test_a_run_stops_while_jobs_of_a_killed_run_are_in_the_queue(cluster, folder):
    options = {"gpus": ON_GPU, "more": ["--forcerun", TARGETS[0]]}
    cluster.ask("scontrol", "update", "partition=accelerated", "state=down")
    with snakemake(cluster, folder, TARGETS[0], **options) as (run, _):
        ((number,),) = until(lambda: cluster.queue("i"))
        marks = folder / ".snakemake/incomplete"
        until(
            lambda: any(
                number in mark.read_text()
                for mark in marks.rglob("*")
                if mark.is_file()
            )
        )
        os.kill(run.pid, 9)
    with snakemake(cluster, folder, TARGETS[0], **options) as (run, screen):
        assert run.wait(400) == 1
    message, _, command = (
        screen.read_text().splitlines()[-1].partition("; wait for them, or run ")
    )
    assert message == "jobs of a killed run may still be in the cluster's queue"
    assert command == f"scancel {number}."
    cluster.ask(*command.rstrip(".").split())
    cluster.ask("scontrol", "update", "partition=accelerated", "state=up")
