"""Scripts that run in forks of the job server do what they do in new processes."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from helpers import forked
from lextables import ROOT
from lextables.pipeline.config import Config
from lextables.pipeline.errors import BadInput
from lextables.planning import command_line, job_server, snakemake_interface

# A training and its predictions, with the libraries of jobs, in two threads.
TRAINING = """
import sys
import torch
from lextables.models import multi_head
import pyarrow as pa

model = multi_head.load(sys.argv[1], [3], "family", 0)
ids = torch.arange(5, 45).reshape(4, 10)
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(2):
    output = model(ids, torch.ones_like(ids), [0] * 4, torch.tensor([0, 1, 2, 0]))
    optimiser.zero_grad()
    output["loss"].backward()
    optimiser.step()
weights = torch.cat([part.detach().flatten() for part in model.parameters()])
weights.numpy().tofile(sys.argv[2])
print(torch.get_num_threads(), pa.cpu_count())
"""


def run(interpreter, folder, script, *arguments, **env):
    path = folder / "script.py"
    path.write_text(script, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow"), **env}
    return subprocess.run(
        [interpreter, str(path), *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("sys.exit('a message')", 1),
        ("raise KeyError('x')", 1),
        ("os.kill(os.getpid(), 9)", 137),
    ],
)
def test_a_script_ends_with_its_own_exit_code_and_output(tmp_path, ending, code):
    script = f"import os, sys\nprint(os.getcwd(), os.environ['OWN'])\n{ending}\n"
    for interpreter in (sys.executable, forked.interpreter()):
        finished = run(interpreter, tmp_path, script, OWN="value")
        expected = -9 if code == 137 and interpreter == sys.executable else code
        assert finished.returncode == expected
        if code != 137:  # what is in the buffer of a killed process is lost
            assert finished.stdout == f"{tmp_path} value\n"
        assert ("a message" in finished.stderr) == ("message" in ending)
        assert ("KeyError" in finished.stderr) == ("KeyError" in ending)


def test_a_training_has_the_same_bytes_and_threads_as_in_a_new_process(tmp_path):
    encoder = ROOT / "resources/sample/models/sample-encoder"
    files = []
    for number, interpreter in enumerate((sys.executable, forked.interpreter())):
        file = tmp_path / f"{number}.bin"
        env = {"OMP_NUM_THREADS": "2", "TRANSFORMERS_VERBOSITY": "error"}
        finished = run(interpreter, tmp_path, TRAINING, encoder, file, **env)
        assert finished.returncode == 0, finished.stderr
        assert finished.stdout.splitlines()[-1] == "2 2"
        files.append(file.read_bytes())
    assert files[0] == files[1]


def test_a_job_ends_with_the_process_that_waits_for_it(tmp_path):
    script = tmp_path / "long.py"
    script.write_text(
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(300)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "workflow")}
    client = subprocess.Popen(
        [forked.interpreter(), str(script)], cwd=tmp_path, env=environment
    )
    pid = tmp_path / "pid"
    deadline = time.monotonic() + 60
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    job = psutil.Process(int(pid.read_text()))
    assert job.pid != client.pid
    client.send_signal(signal.SIGKILL)
    client.wait()
    job.wait(30)  # raises an error if it is still there


def test_other_programs_than_scripts_run_in_python_itself():
    command = [forked.interpreter(), "-c", "import sys; print(sys.executable)"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == sys.executable


@pytest.mark.parametrize(
    ("preload", "jobs", "state", "starts"),
    [
        ("auto", 20, {}, True),
        ("auto", 19, {}, False),
        ("yes", 1, {}, True),
        ("no", 20, {}, False),
        ("auto", 20, {"runs_jobs_elsewhere": True}, False),
        ("auto", 20, {"uses_environments": True}, False),
        ("auto", 20, {"gpu": True}, False),
        ("auto", 20, {"served": True}, False),
        ("yes", 20, {"is_dry_run": True}, False),
        ("yes", 1, {"runs_jobs_elsewhere": True}, "a cluster"),
        ("yes", 1, {"uses_environments": True}, "other environments"),
        ("yes", 1, {"gpu": True}, "a GPU"),
    ],
)
def test_the_server_starts_only_for_jobs_of_this_machine_on_a_processor(
    monkeypatch, preload, jobs, state, starts
):
    started = []
    monkeypatch.setattr(
        command_line, "JobServer", lambda path: SimpleNamespace(interpreter="program")
    )
    monkeypatch.setattr(command_line, "run_scripts_by", started.append)
    if state.get("served"):
        program = f"/tmp/{job_server.FOLDER}x/python"
        monkeypatch.setattr(sys, "executable", program)
    else:
        monkeypatch.setattr(sys, "executable", "/usr/bin/python")
    names = ("runs_jobs_elsewhere", "uses_environments", "is_dry_run")
    snakemake_run = SimpleNamespace(**dict.fromkeys(names, False) | state)
    config = Config(papers=("acord",), preload=preload)
    context = SimpleNamespace(gpu=state.get("gpu", False))
    project = SimpleNamespace(config=config, context=context)
    if isinstance(starts, str):
        with pytest.raises(BadInput, match=f"preload = 'yes' but jobs .* {starts}"):
            command_line.preload(project, snakemake_run, ROOT, jobs)
    else:
        command_line.preload(project, snakemake_run, ROOT, jobs)
    assert started == (["program"] if starts is True else [])


def test_snakemake_reads_the_program_of_scripts_at_each_job(monkeypatch):
    monkeypatch.setattr(sys, "executable", sys.executable)
    snakemake_interface.run_scripts_by("another")
    assert sys.executable == "another"


def test_a_job_imports_a_package_that_was_changed_since_the_server_started(monkeypatch):
    paths = [path.stat().st_mtime for path in ROOT.glob("workflow/lextables/**/*.py")]
    assert not job_server._changed(max(paths))
    assert job_server._changed(max(paths) - 1)
