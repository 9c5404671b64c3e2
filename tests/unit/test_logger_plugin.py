"""The output of a run: progress, warnings, and the causes of a failure as the last
lines.
"""

import logging
import os
import pty
import re
import subprocess
import sys
import termios
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_lextables as plugin
from helpers import forked
from lextables.pipeline.job_files import Progress

WORKFLOW = """
rule all:
    input: expand("out/{part}", part=list("abc"))
rule part:
    output: "out/{part}"
    log: "logs/{part}.log"
    message: "Making part {wildcards.part} [seed 0]."
    shell: '''
        sleep 0.1
        if [ -e reason ] && [ {wildcards.part} = b ]; then cat reason > {log}; exit 1; fi
        touch {output}'''
"""
ARGUMENTS = ("--cores", "1", "--logger", "lextables")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    return tmp_path


def lines(folder, *arguments):
    """The exit code and the lines written to a file, without timestamps."""
    code, output = forked.snakemake(folder, *ARGUMENTS, *arguments)
    return code, re.sub(
        r"^\d\d:\d\d:\d\d  ", "", output, flags=re.MULTILINE
    ).splitlines()


def handler():
    flags = "verbose printshellcmds debug_dag show_failed_logs dryrun quiet".split()
    return plugin.LogHandler(SimpleNamespace(**dict.fromkeys(flags)), None)


def record(event, **values):
    return logging.makeLogRecord({"event": event, **values})


def test_a_file_gets_a_line_per_job_and_the_number_of_finished_jobs(folder):
    code, written = lines(folder)
    assert code == 0
    assert written[0] == "4 jobs to run."
    assert sorted(written[1:-1]) == [f"Making part {part} [seed 0]." for part in "abc"]
    assert re.fullmatch(r"4 of 4 jobs done in 00:\d\d\.", written[-1])
    assert "Nothing to be done" in lines(folder)[1][-1]


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (
            "2026-01-01 10:00:00,000 failed: a.csv: no column x; add it.",
            "a.csv: no column x; add it.",
        ),
        (
            "no",
            "part: the job ended without an error message (killed, or out of memory or time); its log",
        ),
    ],
)
def test_the_cause_of_a_failed_job_is_the_last_line(folder, reason, sentence):
    (folder / "reason").write_text(f"{reason}\n")
    code, written = lines(folder, "--keep-going", "--retries", "1")
    assert code == 1
    assert written.count("Failed: Making part b [seed 0]. (log: logs/b.log)") == 2
    assert written[-2].startswith("2 of 4 jobs done")
    assert written[-1].startswith(sentence)
    (folder / "reason").unlink()
    assert lines(folder)[1][-1].startswith("2 of 2 jobs done")


def test_the_log_of_an_earlier_run_is_ignored(tmp_path):
    log = tmp_path / "a.log"
    log.write_text("2026-01-01 10:00:00,000 failed: no column x.\n")
    failed = record(
        LogEvent.JOB_ERROR,
        rule_name="train",
        rule_msg="sbatch: bad partition",
        log=[str(log)],
    )
    assert plugin.cause(failed, 0) == "no column x."
    assert plugin.cause(failed, log.stat().st_mtime + 1).startswith(
        "train: sbatch: bad partition; its log"
    )


@pytest.mark.parametrize(
    ("exception", "text", "shown"),
    [
        (
            "InputFunctionException",
            "Error:\n  BadInput: 9.zip: no volume.\nTraceback:",
            "9.zip: no volume.",
        ),
        ("LockException", "Error: Directory cannot be locked.", plugin.LOCKED),
        (
            "KeyError",
            "Traceback (most\nKeyError: 3\n",
            "KeyError: 3 (--verbose shows the traceback)",
        ),
        ("KeyboardInterrupt", "Stopped.", "Stopped."),
        ("MissingRuleException", "No rule to produce x.", "No rule to produce x."),
    ],
)
def test_an_error_of_the_run_is_the_last_line(capsys, exception, text, shown):
    screen = handler()
    screen.stream = sys.stdout
    screen.emit(record(None, msg="%d rows", args=(2,), levelno=logging.WARNING))
    screen.emit(record(LogEvent.ERROR, exception=exception, msg=text))
    screen.emit(
        record(
            LogEvent.ERROR,
            exception="WorkflowError",
            msg="At least one job did not complete",
        )
    )
    screen.close()
    assert capsys.readouterr().out == f"2 rows\n{shown}\n"


def test_a_run_that_was_stopped_says_so_although_its_last_job_finished(capsys):
    screen = handler()
    screen.stream = sys.stdout
    screen.emit(record(LogEvent.RUN_INFO, stats={"total": 1}))
    screen.emit(record(LogEvent.ERROR, exception="KeyboardInterrupt", msg="Stopped."))
    screen.emit(record(LogEvent.PROGRESS, done=1, total=1))
    screen.close()
    *_, number_of_jobs, last = capsys.readouterr().out.splitlines()
    assert "1 of 1 jobs done" in number_of_jobs
    assert last == "Stopped."


def expected(**seconds):
    return {int(job[1:]): {"seconds": value} for job, value in seconds.items()}


def test_without_a_terminal_progress_is_written_at_intervals(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(plugin, "INTERVAL", 0.01)
    monkeypatch.setattr(plugin.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    screen = handler()
    screen.stream = sys.stdout

    def written():
        screen.over.wait(0.1)
        return capsys.readouterr().out

    screen.emit(record(LogEvent.RESOURCES_INFO, cores=1))
    screen.emit(record(LogEvent.RUN_INFO, stats={"total": 10}))
    screen.bar.start_t -= 100
    assert re.search(r"0 of 10 jobs done in 01:40\n", written())
    # Known from the first line on.
    screen.emit(record(None, msg="", expected=expected(_1=100.0, _2=500.0)))
    assert re.search(
        r"0 of 10 jobs done in 01:40, between 05:00 and 20:00 left\n", written()
    )
    screen.bar.start_t -= 200
    assert re.search(r"0 of 10 jobs done in 05:00, about 10:00 left\n", written())
    screen.emit(
        record(
            LogEvent.JOB_INFO,
            jobid=1,
            rule_msg="Encoding the texts of acord.",
            rule_name="vectors",
            output=["vectors.parquet"],
            log=[str(tmp_path / "a.log")],
        )
    )
    screen.started[1] = replace(screen.started[1], time=time.time() - 50)
    assert re.search(
        r", about 09:[01]\d left; Encoding the texts of acord\n", written()
    )
    # With the progress that `pipeline.job_files` writes.
    progress = Progress(tmp_path / "a.log", 8)
    progress.file.write_text('{"share": 0.5, "left": 30.0, "measured": 30.0}')
    assert re.search(
        r", about 07:\d\d left; Encoding the texts of acord: 50 %\n", written()
    )
    progress.file.write_text('{"sha')  # half of a file
    assert re.search(r" left; Encoding the texts of acord\n", written())
    screen.emit(record(LogEvent.JOB_FINISHED, job_id=1))
    screen.emit(record(LogEvent.PROGRESS, done=1, total=10))
    assert re.search(r"1 of 10 jobs done in 05:0\d, about 0[45]:\d\d left\n", written())
    screen.close()


def test_a_terminal_shows_one_progress_bar_which_is_removed_at_the_end(folder):
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 100))
    command = [sys.executable, "-m", "snakemake", *ARGUMENTS]
    subprocess.run(command, cwd=folder, stdout=theirs, stderr=theirs, check=True)
    os.close(theirs)
    written = os.read(ours, 1 << 16).decode()
    assert re.search(r"\d of 4 jobs \|[^|]*\| \d\d:\d\d", written)
    assert written.rstrip().split("\r")[-1].count("|") == 0
    assert re.search(r"\r\d\d:\d\d:\d\d  Making part a \[seed 0\]\.\r\n", written)


@pytest.mark.parametrize("asked", ["--dry-run", "--verbose"])
def test_dry_run_and_verbose_show_snakemakes_default_output(folder, asked):
    code, written = lines(folder, asked)
    assert code == 0
    assert any(line.startswith("Job stats:") for line in written)
    assert not any("jobs to run." in line for line in written)
