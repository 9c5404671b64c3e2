"""End of a job: one sentence on the screen and in the last line of its log; tracebacks
only in the log.
"""

import io
import re
import signal
import subprocess
import sys
import textwrap

import pytest

from lextables.pipeline import job
from lextables.pipeline.job_files import read_usage


def run(log, body, before=""):
    """Run ``before``, then ``body`` inside `job`, as a script does."""
    lines = textwrap.indent(textwrap.dedent(body), "    ")
    imports = "from lextables.pipeline.errors import BadInput\nfrom lextables.pipeline.job import job\n"
    script = (
        f"snakemake = None\n{imports}{before}\nwith job({str(log)!r}) as log:\n{lines}"
    )
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def last_line(log):
    """Return the last line of a log without its time."""
    return log.read_text().splitlines()[-1].split(" ", 2)[2]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            "raise BadInput('no column x', where='a.csv', do='add it')",
            "a.csv: no column x; add it.",
        ),
        ("raise BadInput('not YAML (a\\n  b)')", "not YAML (a b)."),
        ("1 / 0", "ZeroDivisionError: division by zero (the traceback is in {log})."),
        ("raise BadInput('no \x1b[2J\x9b31mfile')", "no ?[2J?31mfile."),
        ("raise KeyError", "KeyError (the traceback is in {log})."),
        (
            "raise OSError(13, 'No permission', 'a.csv')",
            "a.csv: No permission (the traceback is in {log}).",
        ),
    ],
)
def test_a_failed_job_prints_one_sentence(tmp_path, body, sentence):
    log = tmp_path / "logs/job.log"
    done = run(log, f"log.info('begun')\n{body}")
    sentence = sentence.format(log=log)
    assert (done.returncode, done.stderr) == (1, f"{sentence}\n")
    assert last_line(log) == f"failed: {sentence}"
    assert "Traceback" in log.read_text()


@pytest.mark.parametrize(
    ("body", "beginning"),
    [
        ("raise OSError(28, 'No space', 'a.csv')", "a.csv: "),
        ("with open('/dev/full', 'w') as file: file.write('text')", ""),
        ("import errno; raise OSError(errno.EDQUOT, 'Quota')", ""),
    ],
)
def test_the_error_of_a_full_disk_names_the_disks_and_their_free_bytes(
    tmp_path, body, beginning
):
    log = tmp_path / "logs/job.log"
    done = run(log, body)
    disks = rf"[\d,]+ bytes free in {log.parent} and [\d,]+ bytes free in \S+"
    sentence = rf"{beginning}a disk or a quota is full, with {disks} \(the traceback is in {log}\)\.\n"
    assert re.fullmatch(sentence, done.stderr)


def test_the_error_is_shown_even_if_the_log_cannot_be_written():
    done = run(
        "/dev/full",
        "for n in range(6):\n    log.info('line %d', n)\nraise BadInput('no column x')",
    )
    assert (done.returncode, done.stderr) == (1, "no column x.\n")


def test_a_log_that_cannot_be_created_is_reported_in_one_line(tmp_path):
    (tmp_path / "logs").write_text("a file")
    done = run(tmp_path / "logs/job.log", "pass")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_script_output_goes_to_stdout_and_library_output_goes_to_the_log(tmp_path):
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
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "two sentences.\n  For the user.\n",
        "",
    )
    lines = (tmp_path / "job.log").read_text().splitlines()
    assert all(
        re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", line) for line in lines
    ), lines
    assert "UserWarning: mind the gap" in lines[0]
    assert re.search(r" windows: 100%.* 3/3 ", lines[-1])


def test_only_a_job_looks_for_garbage_and_not_while_it_imports_modules(tmp_path):
    look = "import gc; print(gc.isenabled())"
    assert run(tmp_path / "log", look, before=look).stdout == "False\nTrue\n"
    notebook = [sys.executable, "-c", f"import lextables; {look}"]
    assert subprocess.check_output(notebook, text=True) == "True\n"


def test_at_its_end_a_job_does_not_look_for_garbage(tmp_path):
    # Functions for the end run in the reverse order, so this one runs after the job's.
    found = "print(any(each is made for each in gc.get_objects()))"
    before = f"import atexit, gc\natexit.register(lambda: {found})"
    body = f"made = []\n{found}"
    assert run(tmp_path / "job.log", body, before).stdout == "True\nFalse\n"


def test_an_interrupted_progress_bar_is_not_shown_with_the_error(tmp_path):
    body = """
    from tqdm import tqdm
    bar = tqdm(total=3, desc="windows")
    bar.update()
    raise BadInput("no more", do="give more")
    """
    assert run(tmp_path / "job.log", body).stderr == "no more; give more.\n"
    assert last_line(tmp_path / "job.log") == "failed: no more; give more."
    assert "windows:   0%" in (tmp_path / "job.log").read_text()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("handler", ["SIG_DFL", "SIG_IGN"])
def test_a_signal_that_is_not_ignored_ends_a_job_without_a_traceback(
    tmp_path, name, handler
):
    before = f"import signal\nsignal.signal(signal.{name}, signal.{handler})"
    body = f"""
    try:
        signal.raise_signal(signal.{name})
        print("finished")
    finally:
        print("cleaned up")
    """
    done = run(tmp_path / "job.log", body, before)
    code, out = 128 + getattr(signal, name), "cleaned up\n"
    if handler == "SIG_IGN":
        code, out = 0, "finished\ncleaned up\n"
    assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


def test_lines_have_no_control_characters_and_replace_the_bar_of_a_terminal(
    monkeypatch,
):
    screen = io.StringIO()
    lines = job.Lines(job.writer_to(screen))
    lines.write(
        "\x1b[1;31mred\x1b[0m\n\x1b[?25lhid\tden\x9b2J\n\x1b]0;title\x07a\x08\x1bc\n"
    )
    monkeypatch.setattr(screen, "isatty", lambda: True)
    lines.write("two\n")
    assert screen.getvalue() == "red\nhid den 2J\na  c\n\r\x1b[Ktwo\n"


def test_a_working_job_writes_a_line_within_a_minute():
    assert job.QUIET + job.LOOK < 60


def test_a_busy_job_without_log_output_reports_that_it_is_working(tmp_path):
    before = "import time\nfrom lextables.pipeline import job as module\nmodule.QUIET, module.LOOK = 0.3, 0.4"
    busy = "end = time.process_time() + 2\nwhile time.process_time() < end: pass"
    assert run(tmp_path / "log", busy, before).returncode == 0
    lines = (tmp_path / "log").read_text().splitlines()
    pattern = r".{23} working: \d+ processor seconds in the last \d+ s"
    assert lines and all(re.fullmatch(pattern, line) for line in lines)


@pytest.mark.parametrize(("share", "is_working"), [(0.06, True), (0.04, False)])
def test_a_job_is_working_from_a_twentieth_of_a_processor_on(
    tmp_path, share, is_working
):
    before = f"""
    import time
    from types import SimpleNamespace
    from lextables.pipeline import job as module

    class Process:
        def cpu_times(self):
            return SimpleNamespace(user={share} * time.monotonic(), system=0.0)

        def children(self, recursive):
            return []

    module.QUIET, module.LOOK, module.psutil.Process = 0.3, 0.4, Process
    """
    body = "log.info('begun')\ntime.sleep(1.5)"
    done = run(tmp_path / "log", body, textwrap.dedent(before))
    assert done.returncode == 0
    assert ("working: " in (tmp_path / "log").read_text()) == is_working


# Takes 0.3 seconds of a processor.
BUSY = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"


def test_a_job_records_its_processor_time_and_that_of_its_children(tmp_path):
    lines = [
        BUSY,
        "time.sleep(0.5)",
        "import subprocess, sys",
        f"subprocess.run([sys.executable, '-c', {BUSY!r}], check=True)",
        "block = bytearray(200 << 20)",
    ]
    body = "\n".join(lines)
    log = tmp_path / "logs/job.log"
    done = run(log, body)
    assert done.returncode == 0, done.stderr
    usage = read_usage(log)
    assert usage.processor_seconds >= 0.6
    assert usage.wall_seconds >= 1.0
    assert 200 <= usage.peak_memory_mib < 1000


def test_a_failed_job_keeps_no_record_of_an_earlier_one(tmp_path):
    log = tmp_path / "job.log"
    assert run(log, "pass").returncode == 0
    assert read_usage(log) is not None
    assert run(log, "1 / 0").returncode == 1
    assert read_usage(log) is None
