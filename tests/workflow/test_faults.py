"""What a user sees when something is wrong: the exit code, and one sentence that stands last."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from mistakes import sentence

ROOT = Path(__file__).parents[2]
QUICK = "results/sample/data/acord/census.json"  # two jobs of a second
LOCKS = ".snakemake/locks"


def command(*arguments):
    return [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--cores",
        "2",
        *arguments,
    ]


def snakemake(folder, *arguments):
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def says(run, words):
    """The run failed, and ``words`` (a regular expression) is all of the last line on the screen."""
    assert run.returncode != 0
    assert "Traceback" not in run.stdout
    assert re.fullmatch(words, run.stdout.splitlines()[-1]), run.stdout[-3000:]


def bad_mirror(folder):
    (folder / "mirror/acord").mkdir(parents=True)
    (folder / "mirror/acord/ACORD.zip").write_bytes(b"PK not the release")
    return folder / "mirror"


def test_bad_input_of_a_job_is_not_tried_again_and_stands_last(tmp_path):
    mirror = bad_mirror(tmp_path)
    run = snakemake(
        tmp_path, "acord", "--retries", "2", "--config", "data=release", "papers=acord", f"mirror={mirror}"
    )
    says(
        run, r"/.*/ACORD\.zip: 18 bytes, where acord/ACORD\.zip as published has .*; copy or fetch it again\."
    )
    (failed,) = re.findall(r"Failed: Fetching ACORD\.zip .* Its log is (.*)\.\n", run.stdout)
    assert (tmp_path / failed).is_file()
    assert "Again: " not in run.stdout
    assert "Traceback" not in run.stdout
    assert not list(tmp_path.glob("results/data/**/*.parquet"))


def test_predictions_that_cannot_be_used_are_said_by_their_line(tmp_path):
    (tmp_path / "run.txt").write_text("no such query Q0 no-such-clause 1 0.5 mine\n")
    run = snakemake(
        tmp_path,
        "results/sample/runs/acord/given/own-mine/short/seed0/scores.parquet",
        *("--config", "extra_predictions={name: Mine, paper: acord, file: run.txt}"),
    )
    says(run, r"run\.txt, line 1: there is no query 'no such query' in the data set; correct its id\.")
    assert not list(tmp_path.glob("results/sample/runs/**/*.parquet"))


def test_what_may_be_otherwise_in_a_minute_is_tried_again_and_forgotten_once_it_went_well(tmp_path):
    """The job's first try ends with NotNow, the second without a word, and the third well."""
    (tmp_path / "Snakefile").write_text(f"""
import sys
sys.path.insert(0, {str(ROOT / "workflow")!r})
from snakemake.logging import logger
from lextables.last_words import LastWords
gave_up = []
LastWords({{}}, "", gave_up.append, ".").listen(logger)
rule all:
    output: "done"
    log: "job.log"
    retries: 3
    shell: '''
        n=$(cat tries 2>/dev/null || echo 0); echo $((n + 1)) > tries
        rm -f {{log}}
        if [ $n = 0 ]; then echo "2025-01-01 10:00:00,000 not now: no answer." > {{log}}; exit 1; fi
        if [ $n = 1 ]; then exit 1; fi
        touch {{output}}'''
onsuccess:
    print("gave up:", gave_up)
""")
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout
    assert (tmp_path / "tries").read_text() == "3\n"
    assert "gave up: []" in run.stdout
    assert "Elapsed time" in run.stdout.splitlines()[-1]


def test_bad_input_that_a_rules_function_finds(tmp_path):
    (tmp_path / "Snakefile").write_text(f"""
import sys
sys.path.insert(0, {str(ROOT / "workflow")!r})
from snakemake.logging import logger
from lextables.errors import BadInput
from lextables.last_words import LastWords
LastWords({{}}, "", print, ".").listen(logger)
def wanted(wildcards):
    raise BadInput("no such volume", where="us/9.zip", do="leave it out")
rule all:
    input: wanted
""")
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    says(run, r"us/9\.zip: no such volume; leave it out\.")


def test_a_clock_that_was_set_back_in_the_middle(tmp_path):
    """What was made before is then of the future, and what is made of it would count as too old."""
    (tmp_path / "Snakefile").write_text(f"""
import sys
sys.path.insert(0, {str(ROOT / "workflow")!r})
from snakemake.logging import logger
from lextables.last_words import LastWords
LastWords({{}}, "", print, ".").listen(logger)
rule second:
    input: "first"
    output: "second"
    shell: "touch -d 'next year' {{input}}; touch {{output}}"
rule first:
    output: "first"
    shell: "touch {{output}}"
""")
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    says(run, r"This machine's clock was set back while the run went on; run the same command again\.")


@contextmanager
def disk(folder, *options):
    """A disk of its own at ``folder``, where this machine lets us have one."""
    folder.mkdir(exist_ok=True)
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if not mounted or mounted.returncode:
        pytest.skip("no right to mount a small disk here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_results_that_cannot_be_written(tmp_path):
    with disk(tmp_path / "results", "ro"):
        says(snakemake(tmp_path, QUICK), sentence("may not write the results", data=tmp_path))


def test_another_folder_than_the_projects(tmp_path):
    (tmp_path / "here").mkdir()
    run = snakemake(tmp_path / "here", "--directory", str(tmp_path / "there"), QUICK)
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "there" / QUICK).exists()
    assert not list((tmp_path / "here").iterdir())


def begun(folder, *arguments):
    """A run in a process group of its own that has locked the folder."""
    run = subprocess.Popen(
        command("--forceall", *arguments),
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        # A shell lets what it starts in the background ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while not list(folder.glob(f"{LOCKS}/*.output.lock")):
        assert run.poll() is None, run.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return run


def test_two_runs_at_once_are_one_too_many(tmp_path):
    first = begun(tmp_path, QUICK)
    os.killpg(first.pid, signal.SIGSTOP)
    second = snakemake(tmp_path, "--forceall", QUICK)
    os.killpg(first.pid, signal.SIGCONT)
    says(second, sentence("starts a second run in the same folder"))
    assert f"(process {first.pid} on " in second.stdout
    out = first.communicate()[0]
    assert first.returncode == 0, out[-2000:]


def test_control_c_is_one_sentence(tmp_path):
    for delay in (0.2, 1):
        run = begun(tmp_path, QUICK)
        time.sleep(delay)
        os.killpg(run.pid, signal.SIGINT)
        out = run.communicate()[0]
        if run.returncode:
            lines = out.splitlines()
            assert re.fullmatch(sentence("presses Ctrl-C"), lines[-1])
            # Python itself has words for a Ctrl-C in the first milliseconds of its start.
            assert "Traceback" not in out or "Fatal Python error" in out
    assert snakemake(tmp_path, QUICK).returncode == 0
