"""How a job ends: a sentence on the screen and on its log's last line, and no traceback but in the log."""

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from lextables.job import Ending, ending

ROOT = Path(__file__).parents[2]


def run(log: Path | str, body: str, loads: str = "") -> subprocess.CompletedProcess:
    """Run ``body`` as a script does, inside `job`, with what it ``loads`` before."""
    lines = textwrap.indent(textwrap.dedent(body), "    ")
    imports = f"from lextables.errors import BadInput, NotNow\nfrom lextables.job import job\n{loads}\n"
    script = f"{imports}with job({str(log)!r}) as log:\n{lines}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("body", "kind", "sentence"),
    [
        (
            "raise BadInput('no column x', where='a.csv', do='add it')",
            Ending.BAD_INPUT,
            "a.csv: no column x; add it.",
        ),
        ("raise BadInput('not YAML (a\\n  b)')", Ending.BAD_INPUT, "not YAML (a b)."),
        ("raise NotNow('no answer')", Ending.NOT_NOW, "no answer."),
        ("1 / 0", Ending.FAULT, "ZeroDivisionError: division by zero (the traceback is in {log})."),
        ("raise BadInput('no \x1b[2J\x9b31mfile')", Ending.BAD_INPUT, "no ?[2J?31mfile."),
        ("raise KeyError", Ending.FAULT, "KeyError (the traceback is in {log})."),
        (
            "raise OSError(28, 'No space left on device')",
            Ending.BAD_INPUT,
            "{folder}: no space is left on this disk; free some, and run the same command again.",
        ),
        (
            "raise RuntimeError('I/O error: No space left on device (os error 28)')",
            Ending.BAD_INPUT,
            "{folder}: no space is left on this disk; free some, and run the same command again.",
        ),
    ],
)
def test_a_failed_job_says_one_sentence(tmp_path, body, kind, sentence):
    log = tmp_path / "logs/job.log"
    done = run(log, f"log.info('begun')\n{body}")
    sentence = sentence.format(log=log, folder=log.parent)
    assert (done.returncode, done.stderr) == (1, f"{sentence}\n")
    assert ending(log) == (kind, sentence)
    assert "Traceback" in log.read_text()


def test_a_full_disk_under_the_log_is_one_sentence():
    done = run(
        "/dev/full", "for n in range(6):\n    log.info('line %d', n)\nraise OSError(28, 'No space left')"
    )
    assert done.returncode == 1
    assert done.stderr == "/dev: no space is left on this disk; free some, and run the same command again.\n"


def test_a_log_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "logs").write_text("a file")
    done = run(tmp_path / "logs/job.log", "pass")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_a_script_prints_is_for_the_user_and_what_libraries_show_is_in_the_log(tmp_path):
    done = run(
        tmp_path / "job.log",
        """
        import sys, warnings
        from tqdm import tqdm
        print("two sentences.\\n  For the user.")
        warnings.warn("mind the gap")
        for _ in tqdm(range(3), desc="windows", mininterval=0): pass
        """,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "two sentences.\n  For the user.\n", "")
    lines = (tmp_path / "job.log").read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", line) for line in lines), lines
    assert "UserWarning: mind the gap" in lines[0]
    assert re.search(r" windows: 100%.* 3/3 ", lines[-1])


def test_a_bar_that_a_fault_cuts_short_does_not_stand_behind_the_ending(tmp_path):
    body = """
    from tqdm import tqdm
    bar = tqdm(total=3, desc="windows")
    bar.update()
    raise BadInput("no more", do="give more")
    """
    assert run(tmp_path / "job.log", body).stderr == "no more; give more.\n"
    assert ending(tmp_path / "job.log") == (Ending.BAD_INPUT, "no more; give more.")
    assert "windows:   0%" in (tmp_path / "job.log").read_text()


def test_garbage_is_looked_for_in_the_work_and_not_among_imports(tmp_path):
    body = """
    import gc
    print(gc.get_threshold(), gc.get_freeze_count() > 0)
    """
    assert run(tmp_path / "job.log", body).stdout == "(700, 10, 10) True\n"
    slow = [sys.executable, "-c", "import gc; print(gc.isenabled(), gc.get_threshold()[0])"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    assert subprocess.check_output(slow, env=environment, text=True) == "True 1000000\n"


def test_what_a_job_leaves_goes_with_its_process_and_is_not_looked_through(tmp_path):
    body = """
    import os
    class Ring:
        def __init__(self): self.own = self
        def __del__(self): os.write(1, b"found")
    Ring()
    """
    done = run(tmp_path / "job.log", body)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(("loads", "there"), [("import pyarrow", False), ("import pandas, pyarrow", True)])
def test_a_list_becomes_a_column_without_pandas_unless_it_is_there(tmp_path, loads, there):
    body = """
    import sys
    print(pyarrow.array([1, None]).to_pylist(), "pandas" in sys.modules)
    import pandas
    print(pyarrow.array(pandas.Series([1, 2])).to_pylist())
    """
    done = run(tmp_path / "job.log", body, loads)
    assert done.stdout == f"[1, None] {there}\n[1, 2]\n"


def test_a_job_that_ends_well_leaves_no_ending(tmp_path):
    assert run(tmp_path / "job.log", "log.info('bad luck: none')").returncode == 0
    assert ending(tmp_path / "job.log") is None
    assert ending(tmp_path / "none.log") is None


@pytest.mark.parametrize("before", ["", "from lextables.job import job\nwith job('job.log'):\n    "])
def test_control_c_ends_a_job_without_a_traceback(tmp_path, before):
    """While it imports its libraries as well, before any code of ours has run."""
    script = f"import time\n{before}print('ready', flush=True); time.sleep(60)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell lets what it starts in the background ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode != 0
    assert (out, err) == ("", "")
