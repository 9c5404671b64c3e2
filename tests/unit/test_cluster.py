"""What is said of jobs that wait; tests/workflow/test_slurm.py asks a real SLURM."""

import logging

import pytest

from lextables import cluster


@pytest.fixture
def squeue(tmp_path, monkeypatch):
    """Put a squeue on the path that prints these lines."""

    def put(*lines, code=0):
        program = tmp_path / "squeue"
        program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + f"exit {code}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return put


def test_only_jobs_that_have_not_ended_are_in_the_queue(squeue):
    squeue("7", "12")
    assert cluster.in_queue(["12", "3", "1"]) == ["12"]


def test_a_cluster_that_cannot_be_asked_is_told_from_an_empty_queue(squeue, monkeypatch):
    squeue()
    assert cluster.in_queue(["12"]) == []
    squeue(code=1)
    assert cluster.in_queue(["12"]) is None
    monkeypatch.setenv("PATH", "/nowhere")
    assert cluster.in_queue(["12"]) is None


def test_each_reason_but_the_ordinary_ones_is_said_once(squeue, monkeypatch, caplog):
    monkeypatch.setattr(cluster, "PACE", 0.01)
    squeue("3|Resources", "4|Priority", "5|PartitionTimeLimit", "6|PartitionTimeLimit", "7|AssocGrpGRES")
    logger = logging.getLogger("a run")
    waiting = cluster.Waiting(logger)
    waiting.handle(logging.makeLogRecord({"msg": "Building DAG of jobs"}))
    assert not caplog.messages
    waiting.handle(logging.makeLogRecord({"msg": "SLURM run ID: 0aded6a1"}))
    waiting.looks.join(timeout=0.5)
    waiting.close()
    waiting.looks.join()
    assert sorted(caplog.messages) == [
        "SLURM holds back jobs (5, 6): they ask for more time than their partition allows; ask for less "
        "(--set-resources <rule>:runtime=<minutes>), or name a partition that allows it"
        " (PartitionTimeLimit).",
        "SLURM holds back jobs (7): AssocGrpGRES.",
    ]


def test_a_reason_of_a_moment_is_not_said(monkeypatch, caplog):
    monkeypatch.setattr(cluster, "PACE", 0.01)
    looks = iter((["5|PartitionDown"], ["5|Resources"], ["6|PartitionDown"]))
    monkeypatch.setattr(cluster, "_squeue", lambda *options: next(looks, []))
    waiting = cluster.Waiting(logging.getLogger("a run"))
    waiting.handle(logging.makeLogRecord({"msg": "SLURM run ID: 0aded6a1"}))
    waiting.looks.join(timeout=0.3)
    waiting.close()
    assert not caplog.messages
    assert next(looks, None) is None
