"""What stands on the screen while a run goes on: sentences in a file, and a bar below them on a terminal."""

import io
import logging
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from fcntl import ioctl
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from lextables import console

ROOT = Path(__file__).parents[2]
WORKFLOW = f'''
import sys
sys.path.insert(0, {str(ROOT / "workflow")!r})
from snakemake.logging import logger
from lextables.console import Console
from lextables.last_words import LastWords
rule all:
    input: expand("out/{{part}}", part=list("abc"))
rule part:
    output: "out/{{part}}"
    log: "logs/{{part}}.log"
    message: "Making part {{wildcards.part}} [seed 0]."
    shell: """
        sleep 0.1
        if [ -e broken ] && [ {{wildcards.part}} = b ]; then echo no > {{log}}; exit 1; fi
        touch {{output}}"""
Console.replace(logger, workflow.output_settings)
LastWords({{}}, "", print, ".").listen(logger)
'''
COMMAND = [sys.executable, "-m", "snakemake", "--cores", "1"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    return tmp_path


def in_a_file(folder, *arguments):
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    run = subprocess.run([*COMMAND, *arguments], cwd=folder, **both, check=False)
    return run.returncode, re.sub(r"^\d\d:\d\d:\d\d  ", "", run.stdout, flags=re.MULTILINE).splitlines()


def test_a_file_says_once_a_minute_how_far_a_run_is(monkeypatch):
    clock = SimpleNamespace(now=0, monotonic=lambda: clock.now, strftime=lambda form: "12:00:00")
    monkeypatch.setattr(console, "time", clock)
    stream = io.StringIO()
    screen = console.Console(stream)
    screen.handle(logging.makeLogRecord({"event": LogEvent.RUN_INFO, "stats": {"total": 10}}))
    for done, clock.now in enumerate((30, 61, 100, 130, 600), start=1):
        screen.handle(logging.makeLogRecord({"event": LogEvent.PROGRESS, "done": done, "total": 10}))
    screen.close()
    said = [line.removeprefix("12:00:00  ") for line in stream.getvalue().splitlines()]
    assert said == [
        "10 jobs to run.",
        "2 of 10 jobs done; about 4 minutes left.",
        "4 of 10 jobs done; about 3 minutes left.",
        "5 of 10 jobs done; about 10 minutes left.",
        "5 of 10 jobs done in about 10 minutes.",
    ]


def test_a_job_that_falls_silent_is_named_and_one_that_has_not_begun_is_not(tmp_path, monkeypatch):
    log, queued = tmp_path / "a.log", tmp_path / "b.log"
    queued.write_text("of an earlier try\n")
    clock = SimpleNamespace(now=0, monotonic=lambda: clock.now, strftime=lambda form: "12:00:00")
    monkeypatch.setattr(console, "time", clock)
    screen, said = console.Console(io.StringIO()), []
    for job, path in enumerate((log, queued)):
        about = {"jobid": job, "rule_msg": f"Training {job}.", "log": [str(path)], "output": ["x"]}
        screen.handle(logging.makeLogRecord({"event": LogEvent.JOB_INFO, "rule_name": "r"} | about))
    screen._say = said.append
    for clock.now in range(0, 7200, 60):
        if clock.now in (60, 1200):
            log.write_text(f"{clock.now}\n")
        screen._listen()
    assert [re.search(r"for (\d+) minutes", line)[1] for line in said] == ["10", "10", "20", "40", "80"]
    assert all(line.startswith("Silent: Training 0.  Nothing new") and f"{log}; if" in line for line in said)
    assert said[-1].endswith("if it hangs, cancel it, and run the same command again.")
    with subprocess.Popen(["sleep", "60"], stdout=log.open("a")) as process:
        clock.now = 1e5
        screen._listen()
        process.kill()
    assert said.pop().endswith(f"if it hangs, say kill -9 {process.pid}, and run the same command again.")
    screen.handle(logging.makeLogRecord({"event": LogEvent.JOB_FINISHED, "job_id": 0}))
    clock.now = 1e6
    screen._listen()
    assert len(said) == 5


def on_a_terminal(folder, *arguments):
    """Return all that is written to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    run = subprocess.Popen([*COMMAND, *arguments], cwd=folder, stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            if not (part := os.read(ours, 4096)):
                break
        except OSError:  # Linux's end of a terminal
            break
        said += part
    os.close(ours)
    assert run.wait() == 0, said
    return said.decode()


def test_a_file_gets_sentences_and_no_more(folder):
    code, lines = in_a_file(folder)
    assert code == 0
    begin = lines.index("4 jobs to run.")
    assert not [line for line in lines if "\x1b" in line or "\r" in line]
    assert sorted(lines[begin + 1 : -1]) == [f"Making part {part} [seed 0]." for part in "abc"]
    (log,) = re.findall(r"^4 of 4 jobs done in less than a minute\.  Snakemake's log is (.*)\.$", lines[-1])
    # What is not shown is there.
    assert "4 of 4 steps (100%) done" in (folder / log).read_text()


def test_a_job_that_fails_is_named_with_its_log_and_the_last_words_stand_last(folder):
    (folder / "broken").touch()
    code, lines = in_a_file(folder, "--keep-going", "--retries", "1")
    assert code == 1
    assert lines.count("Failed: Making part b [seed 0].  Its log is logs/b.log.") == 2
    assert lines.count("Again: Making part b [seed 0].") == lines.count("Making part b [seed 0].") == 1
    assert lines[-2].startswith("2 of 4 jobs done in less than a minute.")
    assert lines[-1].startswith("part: the job ended without a word")
    assert "Traceback" not in "".join(lines)


def test_a_terminal_has_one_bar_which_goes_when_the_run_is_done(folder):
    said = on_a_terminal(folder)
    bars = re.findall(r"(\d) of 4 jobs \|[^|]*\| \d\d:\d\d(, less than a minute left)?", said)
    assert {done for done, _ in bars} == set("01234")
    assert {bool(left) for done, left in bars if done in "123"} == {True}
    # A sentence stands on a line of its own: what was drawn there is wiped.
    assert re.findall(r"\r\d\d:\d\d:\d\d  (Making part [abc]) \[seed 0\]\.\r\n", said)
    *_, last = said.rstrip("\r\n").split("\n")
    assert re.fullmatch(r".*\r +\r\d\d:\d\d:\d\d  4 of 4 jobs done in less than a minute\..*", last.rstrip())


@pytest.mark.parametrize("asked", ["--dry-run", "--printshellcmds", "--verbose"])
def test_who_asks_for_more_gets_snakemakes_own_words(folder, asked):
    code, lines = in_a_file(folder, asked)
    assert code == 0
    assert any(line.startswith("Job stats:") for line in lines)


def test_who_asks_for_less_gets_less(folder):
    code, lines = in_a_file(folder, "--quiet", "rules")
    assert (code, [line for line in lines if line.startswith("Making")]) == (0, [])
    (folder / "out/a").unlink()
    assert in_a_file(folder, "--quiet", "all") == (0, [])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(59, "less than a minute"), (60, "about 1 minute"), (200, "about 3 minutes"), (5399, "about 90 minutes"),
     (5400, "about 2 hours"), (86400, "about 24 hours")],
)  # fmt: skip
def test_time_in_words(seconds, words):
    assert console.roughly(seconds) == words
