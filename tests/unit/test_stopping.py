"""A run and its jobs at Ctrl-C and SIGTERM: one sentence, no traceback, and no process
left.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from lextables.pipeline.stopping import PREFIX, STOPPED

# A run with two jobs in a shell.  The second ignores SIGTERM, and starts when the first
# has had its time to end after the signal.
RUN = """
import signal, subprocess, sys, time
from queue import SimpleQueue
from lextables.pipeline import stopping
stopping.GRACE = 0.5
signal.signal(signal.SIGTERM, signal.SIG_DFL)
ended = stopping.Stopping(lambda number: print("announced", number, flush=True), remote={remote})
signals = SimpleQueue()
def no_more_jobs(number, frame):
    print("no more jobs", flush=True)
    signals.put(number)
if {started}:
    signal.signal(signal.SIGTERM, no_more_jobs)
    ended.jobs_start()
python = f"{{stopping.PREFIX}} {{sys.executable}} -c "
imports = subprocess.Popen(["bash", "-c", python + "'import time; print(1, flush=True); time.sleep(60)'"])
try:
    signals.get()
    time.sleep(0.7)
except SystemExit:
    time.sleep(0.5)  # in place of Snakemake, which cancels jobs on a cluster
    raise
deaf = subprocess.Popen(
    ["bash", "-c", python + "'import time; time.sleep(60)'"],
    preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
)
print(imports.wait(), deaf.wait(), flush=True)
"""


def run(*signals, started=True, remote=False):
    """Send signals to a run and its job, as a terminal does; return its exit code,
    output and errors.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", RUN.format(started=started, remote=remote)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Processes that a shell starts in the background ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "1\n"
    for number in signals:
        os.killpg(
            process.pid, number
        ) if number == signal.SIGINT else process.send_signal(number)
        time.sleep(0.1)
    out, err = process.communicate(timeout=30)
    deadline = time.monotonic() + 5
    with suppress(ProcessLookupError):  # raised once no process is left
        while True:
            assert time.monotonic() < deadline
            os.killpg(process.pid, 0)
            time.sleep(0.05)
    return process.returncode, out, err


INT, TERM = signal.SIGINT, signal.SIGTERM
ENDED = "-15 -9\n"


@pytest.mark.parametrize(
    ("signals", "out"),
    [
        ([INT], f"announced 2\nno more jobs\n{ENDED}"),
        ([INT, INT, INT], f"announced 2\nno more jobs\n{ENDED}"),
        ([INT, TERM], f"announced 2\nno more jobs\n{ENDED}"),
        ([TERM, TERM, INT], f"announced 15\nno more jobs\nno more jobs\n{ENDED}"),
    ],
    ids=str,
)
def test_jobs_are_ended_also_those_that_start_late_or_ignore_sigterm(signals, out):
    assert run(*signals) == (0, out, "")


@pytest.mark.parametrize("number", [INT, TERM])
def test_a_signal_before_the_first_job_ends_the_run(number):
    assert run(number, started=False) == (128 + number, "", f"{STOPPED}\n")


def test_an_ignored_signal_stays_ignored():
    script = """
import signal
from lextables.pipeline.stopping import Stopping
signal.signal(signal.SIGINT, signal.SIG_IGN)
Stopping(print, remote=False)
print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
"""
    out = subprocess.check_output([sys.executable, "-c", script], text=True)
    assert out == "True\n"


def test_on_a_cluster_the_main_thread_is_left_to_snakemake():
    code, out, err = run(INT, INT, remote=True)
    assert (code, err) == (1, f"{STOPPED}\n")
    assert out.startswith("announced 2\nno more jobs\n")


@pytest.mark.parametrize("number", [INT, TERM])
def test_a_job_that_imports_modules_prints_nothing(number):
    script = "print(1, flush=True); import time; time.sleep(1); print(2, flush=True)"
    job = subprocess.Popen(
        ["bash", "-c", f"{PREFIX} {sys.executable} -c '{script}'"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert job.stdout.readline() == "1\n"
    job.send_signal(number)
    assert job.communicate(timeout=20)[0] == ("2\n" if number == INT else "")


# Planning that is in a library which keeps the interpreter, here for days.
BUSY = """
import re
from lextables.pipeline import stopping
stopping.Stopping(print, remote=False)
print("begun", flush=True)
re.match("(a*)*b", "a" * 60)
"""


def test_ctrl_c_ends_planning_that_keeps_the_interpreter():
    command = [sys.executable, "-c", BUSY]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert run.stdout.readline() == b"begun\n"
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
    finally:
        run.kill()
    assert (run.returncode, errors.decode().strip()) == (128 + signal.SIGINT, STOPPED)
