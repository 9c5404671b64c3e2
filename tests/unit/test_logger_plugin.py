"""The output of a run: progress, warnings, and the causes of a failure as the last
lines.
"""

import logging
import os
import pty
import random
import re
import subprocess
import sys
import termios
import time
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_lextables as plugin
from helpers import forked

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


def test_without_a_terminal_progress_is_written_at_intervals(
    folder, monkeypatch, capsys
):
    monkeypatch.setattr(plugin, "INTERVAL", 0.01)
    screen = handler()
    screen.stream = sys.stdout
    screen.emit(record(LogEvent.RUN_INFO, stats={"total": 10}))
    screen.bar.start_t -= 100
    screen.emit(record(None, msg="", expected={1: 4.0, 2: 4.0}))
    screen.over.wait(0.1)
    assert re.search(r"0 of 10 jobs done in 01:40\n", capsys.readouterr().out)
    screen.started[1] = (time.time() - 100, "")
    screen.emit(record(LogEvent.JOB_FINISHED, job_id=1))
    screen.emit(record(LogEvent.PROGRESS, done=2, total=10))
    screen.over.wait(0.1)
    written = capsys.readouterr().out
    assert re.search(r"2 of 10 jobs done in 01:40, 01:\d\d left\n", written)
    # A job that takes much longer than expected, at the same time.
    screen.bar.start_t -= 900
    screen.started[2] = (time.time() - 900, "")
    screen.emit(record(None, msg="", expected={1: 4.0, 2: 4.0, 3: 32.0}))
    screen.over.wait(0.1)
    written = capsys.readouterr().out
    assert re.search(r"2 of 10 jobs done in 16:40, at least 13:\d\d left\n", written)
    # A minute, and less.
    for seconds, text in ((24.2, r", at least 01:0\d left"), (23.2, "")):
        screen.emit(record(None, msg="", expected={1: 4.0, 2: seconds}))
        screen.over.wait(0.1)
        written = capsys.readouterr().out
        assert re.search(rf"2 of 10 jobs done in 16:4\d{text}\n", written)
    screen.close()


def test_the_remaining_time_is_estimated_from_expected_durations():
    expected = {1: 10.0, 2: 10.0, 3: 100.0, 4: 80.0}
    done = {1: 20, 2: 20}
    # One tenth of the work took twice the expected time.
    assert plugin.seconds_left(40, expected, done, {}) == 360
    # A running job counts partly, at the speed of the finished jobs, and never as
    # finished.  If it takes longer than expected, the others are still expected to take
    # as long as before.
    assert plugin.seconds_left(80, expected, done, {3: 40}) == 320
    assert plugin.seconds_left(1000, expected, done, {3: 960}) == 180
    # A job whose expectation is that of another model does not tell the machine's
    # speed.
    assert plugin.seconds_left(940, expected, {**done, 3: 900}, {}, {3}) == 160
    # Two jobs at a time.
    assert plugin.seconds_left(20, expected, done, {}) == 180
    # Less than three tenths of the rest are guessed.
    assert plugin.seconds_left(40, {**expected, 4: 42.5}, done, {}, {4}) == 285
    # Jobs without an expected duration, such as targets, are ignored.
    assert plugin.seconds_left(40, expected, {**done, 9: 0}, {8: 5}) == 360


@pytest.mark.parametrize(
    ("finished", "guessed"),
    [
        ({}, ()),
        ({1: 20}, ()),  # less than a tenth of the work
        ({3: 900}, (3,)),
        ({1: 20, 2: 20}, (4,)),  # just over three tenths of what is left
    ],
)
def test_no_remaining_time_is_estimated_if_too_little_is_known(finished, guessed):
    expected = {1: 10.0, 2: 10.0, 3: 100.0, 4: 43.0}
    assert plugin.seconds_left(40, expected, finished, {}, guessed) is None


@pytest.mark.parametrize("seed", range(20))
def test_an_estimated_remaining_time_is_right_within_a_factor_of_three(seed):
    """Machines of any speed, on which jobs take 0.6 to 1.7 times as long as their
    records say.
    """
    draw = random.Random(seed)
    expected, seconds = {}, {}
    speed = 10 ** draw.uniform(-1, 1)
    for job in range(draw.choice((10, 40, 150))):
        expected[job] = 10 ** draw.uniform(0, draw.choice((1, 3)))
        seconds[job] = expected[job] * 3 ** draw.uniform(-0.5, 0.5) / speed
    finished, elapsed, shown = {}, 0.0, 0
    for job in draw.sample(sorted(expected), len(expected) - 1):
        finished[job] = seconds[job]
        elapsed += seconds[job]
        left = plugin.seconds_left(elapsed, expected, finished, {})
        if left is None:
            continue
        shown += 1
        true = sum(seconds[job] for job in expected.keys() - finished.keys())
        assert true / 3 < left < 3 * true
    assert shown


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
