"""The sample on a real SLURM with profiles/slurm.

The node has no real GPUs.  A job that needs none requests one on the command line.

A run looks at the queue 1, 12 and 33 seconds after it sent a job, and starts this again
when a job has succeeded.  So the jobs here are light: they end in 12 seconds.
"""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers import forked, slurm_cluster
from helpers.slurm_cluster import until
from lextables import ROOT

RUNS = "results/sample/runs/acord/retrieve"
DENSE = f"{RUNS}/bi-encoder-minilm/short/seed0/run.json"
LINEAR = f"{RUNS}/linear-words/short/seed0/run.json"
HITS = f"{RUNS}/bm25/short/seed0/predictions.parquet"
SCORES = f"{RUNS}/bm25/short/seed0/scores.parquet"
CENSUS = "results/sample/data/acord/census.json"
ARCHIVE = "results/sample/sources/acord/ACORD.zip"
RULE = "rule_acord_retrieve_linear"
ON_GPU = "acord_retrieve_linear:gpu=1"
# On the first attempt, less than a start of Snakemake needs.
TOO_LITTLE = "acord_retrieve_linear:mem_mb=60 * attempt ** 5"
# (rule, memory or time limit) of jobs in the queue: the memory of both attempts, and
# the limits by `max_runtime` and by a rule.
REQUESTS = {(RULE, "60M"), (RULE, "1920M"), (RULE, "45:00"), ("rule_score", "30:00")}
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
    reason = slurm_cluster.missing()
    if reason:
        pytest.skip(reason)
    with slurm_cluster.running(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the cluster's settings, the data set and the hits of BM25."""
    folder = tmp_path_factory.mktemp("elsewhere")
    partitions = "partitions:\n  compute: {}\n  accelerated: {max_gpu: 1}\n"
    (folder / "partitions.yaml").write_text(partitions)
    config = ("papers=[acord]", "device=cuda")  # as in the profile
    run = forked.pipeline(folder, HITS, "--config", *config)
    assert run.code == 0, run.output
    return folder


@contextmanager
def snakemake(cluster, folder, *targets, more=(), config=()):
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
    command += ["--config", "papers=[acord]", *config, "--", *targets]
    with (folder / "screen.txt").open("w+") as screen:
        run = subprocess.Popen(
            command, cwd=ROOT, env=cluster.environment, stdout=screen, stderr=screen
        )
        try:
            yield run, Path(screen.name)
        finally:
            run.kill()
            run.wait()


def test_jobs_request_a_gpu_memory_and_time(cluster, folder):
    """A job waits for a GPU, and requests more memory after it ran out; small jobs are
    sent too.
    """
    other_jobs = [cluster.ask(*OTHER_JOB).strip() for _ in range(2)]
    waiting = False  # whether the job was seen waiting for a GPU
    requests = set()
    options = {
        "more": ["--set-resources", ON_GPU, TOO_LITTLE],
        "config": ["submit_small_jobs=true", "max_runtime=45"],
    }
    with snakemake(cluster, folder, LINEAR, SCORES, **options) as (run, screen):
        while not (requests >= REQUESTS and (folder / SCORES).exists()):
            assert run.poll() is None, screen.read_text()
            for name, reason, partition, memory, limit in cluster.queue("krPml"):
                rule = name.split("_wildcards_")[0]
                requests.update([(rule, memory), (rule, limit)])
                place = (rule, partition, reason)
                if not waiting and place == (RULE, "accelerated", "Resources"):
                    waiting = True
                    cluster.ask("scancel", *other_jobs)
            time.sleep(0.2)
    assert waiting
    cluster.ask("scancel", "--user=root")
    until(lambda: not cluster.queue("i"))


def test_the_last_line_is_the_error_of_a_job_on_a_node(cluster, folder, tmp_path):
    elsewhere = shutil.copytree(folder, tmp_path / "elsewhere")
    (elsewhere / ARCHIVE).write_bytes(b"damaged")
    with snakemake(cluster, elsewhere, CENSUS, more=["--retries=0"]) as (run, screen):
        assert run.wait(400) == 1
    message = "ACORD.zip: the zip is cut short or damaged (File is not a zip file); fetch it again."
    assert screen.read_text().splitlines()[-1] == message


def test_a_run_stops_while_jobs_of_a_killed_run_are_in_the_queue(cluster, folder):
    """The jobs wait for a GPU: the profile's settings have `device: cuda`."""
    cluster.ask("scontrol", "update", "partition=accelerated", "state=down")
    with snakemake(cluster, folder, DENSE) as (run, _):
        ((number, partition),) = until(lambda: cluster.queue("iP"))
        assert partition == "accelerated"
        marks = folder / ".snakemake/incomplete"

        def is_marked():
            """Whether Snakemake has noted the job as incomplete."""
            files = [mark for mark in marks.rglob("*") if mark.is_file()]
            return any(number in mark.read_text() for mark in files)

        until(is_marked)
        os.kill(run.pid, 9)
    with snakemake(cluster, folder, DENSE) as (run, screen):
        assert run.wait(400) == 1
    last = screen.read_text().splitlines()[-1]
    message, _, command = last.partition("; wait for them, or run ")
    assert message == "jobs of a killed run may still be in the cluster's queue"
    assert command == f"scancel {number}."
    cluster.ask(*command.rstrip(".").split())
    cluster.ask("scontrol", "update", "partition=accelerated", "state=up")
