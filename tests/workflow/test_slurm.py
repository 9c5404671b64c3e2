"""The sample on a real SLURM with profiles/slurm.

The node has no real GPUs, so jobs run on the CPU and the command line sets which
rules request a GPU.
"""

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import forked
import slurm_cluster
from lextables import ROOT
from slurm_cluster import until

RUNS = "results/sample/runs/acord/retrieve"
DENSE = f"{RUNS}/bi-encoder-minilm/short/seed0/run.json"
LINEAR = f"{RUNS}/linear-words/short/seed0/run.json"
HITS = f"{RUNS}/bm25/short/seed0/predictions.parquet"
SCORES = f"{RUNS}/bm25/short/seed0/scores.parquet"
ON_GPU = [f"acord_retrieve_{kind}:gpu=1" for kind in ("dense", "linear")]
# On the first attempt, less than a start of Snakemake needs.
TOO_LITTLE = "acord_retrieve_linear:mem_mb=60 * attempt ** 5"
# Holds a GPU until it is cancelled.
OTHER_JOB = (
    "sbatch",
    "--parsable",
    "--partition=accelerated",
    "--gres=gpu:1",
    "--mem=100",
    "--output=/dev/null",
    "--wrap=sleep 600",
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if reason := slurm_cluster.missing():
        pytest.skip(reason)
    with slurm_cluster.running(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the cluster's settings, the data set and the hits of BM25."""
    folder = tmp_path_factory.mktemp("elsewhere")
    partitions = "partitions:\n  compute: {}\n  accelerated: {max_gpu: 1}\n"
    (folder / "partitions.yaml").write_text(partitions)
    (folder / "cpu.yaml").write_text("device: cpu\n")
    run = forked.pipeline(folder, HITS, "--config", "papers=[acord]", "device=cpu")
    assert run.code == 0, run.output
    return folder


@contextmanager
def snakemake(cluster, folder, *targets, gpus=(), more=(), config=()):
    """A run that submits to the cluster, and the file with its output."""
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--workflow-profile=profiles/slurm",
        f"--directory={folder}",
        f"--slurm-partition-config={folder}/partitions.yaml",
        "--slurm-init-seconds-before-status-checks=1",
        "--latency-wait=10",
        *more,
    ]
    if gpus:
        command += [f"--configfile={folder}/cpu.yaml", "--set-resources", *gpus]
    command += ["--config", "papers=[acord]", *config, "--", *targets]
    with (folder / "screen.txt").open("w+") as screen:
        run = subprocess.Popen(
            command,
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
    other_job = cluster.ask(*OTHER_JOB).strip()
    waiting, requests = False, set()
    options = {
        "gpus": [*ON_GPU, TOO_LITTLE],
        "config": ["submit_small_jobs=true", "max_runtime=45"],
    }
    with snakemake(cluster, folder, DENSE, LINEAR, SCORES, **options) as (run, screen):
        while run.poll() is None:
            on_gpu = []
            for name, state, partition, memory, limit in cluster.queue("kTPml"):
                rule = name.split("_wildcards_")[0]
                requests.update([(rule, memory), (rule, limit)])
                if partition == "accelerated":
                    on_gpu.append(state)
            if not waiting and sorted(on_gpu) == ["PENDING", "RUNNING", "RUNNING"]:
                waiting = True
                cluster.ask("scancel", other_job)
            time.sleep(0.2)
        assert run.wait() == 0, screen.read_text()
    assert waiting
    assert requests >= {
        ("rule_acord_retrieve_linear", "60M"),
        ("rule_acord_retrieve_linear", "1920M"),
        ("rule_acord_retrieve_dense", "45:00"),
        ("rule_retrieval_score", "30:00"),
    }


def test_the_last_line_is_the_error_of_a_job_on_a_node(cluster, folder):
    # A finished job resets the time to the next look at the queue, a failed one does not.
    more = ["--retries=0", "--rerun-triggers", "mtime", "--forcerun", DENSE, SCORES]
    options = {"more": more, "config": ["submit_small_jobs=true"]}
    with snakemake(cluster, folder, DENSE, SCORES, **options) as (run, screen):
        assert run.wait(400) == 1
    message = "config: device = 'cuda' but this machine has no usable GPU; set device to auto or cpu."
    assert screen.read_text().splitlines()[-1] == message


def test_a_run_stops_while_jobs_of_a_killed_run_are_in_the_queue(cluster, folder):
    options = {"gpus": ON_GPU, "more": ["--forcerun", DENSE]}
    cluster.ask("scontrol", "update", "partition=accelerated", "state=down")
    with snakemake(cluster, folder, DENSE, **options) as (run, _):
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
    with snakemake(cluster, folder, DENSE, **options) as (run, screen):
        assert run.wait(400) == 1
    message, _, command = (
        screen.read_text().splitlines()[-1].partition("; wait for them, or run ")
    )
    assert message == "jobs of a killed run may still be in the cluster's queue"
    assert command == f"scancel {number}."
    cluster.ask(*command.rstrip(".").split())
    cluster.ask("scontrol", "update", "partition=accelerated", "state=up")
