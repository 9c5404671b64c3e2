"""What is said last of a failed job, by what is known of it."""

import logging

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from lextables import not_run
from lextables.last_words import LastWords

REFUSED = (
    "SLURM sbatch failed. The error message was 'sbatch: error: invalid partition specified: gpu\n"
    "sbatch: error: Batch job submission failed: Invalid partition name specified'.\n    sbatch call:\n"
)
CANCELLED = "SLURM-job '7' failed, SLURM status is: 'CANCELLED'. Detailed failure reason unavailable."


@pytest.fixture
def said(tmp_path, capsys):
    """The words after one job failed: the message of what ran it, the last line of its log."""

    def after(message, last_line=""):
        log = tmp_path / "job.log"
        log.write_text(last_line and f"2026-01-01 10:00:00,000 {last_line}\n")
        words = LastWords({}, "", lambda job: None, tmp_path)
        job = {"jobid": 1, "rule_name": "spans_train", "rule_msg": message, "log": [str(log)]}
        words.hear(logging.makeLogRecord({"event": LogEvent.JOB_ERROR} | job))
        words.close()
        return capsys.readouterr().err.replace(str(tmp_path), "T")

    return after


def test_a_cluster_that_did_not_take_a_job_is_quoted(said):
    words = (
        "spans_train: the cluster says: invalid partition specified: gpu Batch job submission failed: Invalid"
        " partition name specified; docs/cluster.md says what to set.\n"
    )
    assert said(REFUSED) == words
    assert len(said("word " * 200)) < 450
    # A log that is there is of an earlier run: this job wrote none.
    assert said(REFUSED, "bad input: us/9.zip: no such volume.") == words


def test_what_a_jobs_own_log_says_comes_first(said):
    assert said(CANCELLED, "bad input: us/9.zip: no such volume.") == "us/9.zip: no such volume.\n"
    assert "SLURM status is: 'CANCELLED'" in said(CANCELLED)


def test_why_rows_are_not_run_comes_before_what_failed(said, tmp_path):
    not_run.leave([tmp_path / "runs/a/run.json", tmp_path / "runs/b/run.json"], "no key; set it")
    assert said(CANCELLED, "bad input: us/9.zip: no such volume.").splitlines() == [
        "Not run: no key; set it.",
        "us/9.zip: no such volume.",
    ]


def test_a_job_of_which_nothing_is_known_was_killed(said):
    assert said(None).startswith("spans_train: the job ended without a word (killed, or out of memory")
