"""Machines and project folders that are not as usual."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import forked

# Makes a process of a user without a name.
NO_USER = """
import pwd

def no_user(number):
    raise KeyError(f"getpwuid(): uid not found: {number}")

pwd.getpwuid = no_user
"""


@pytest.mark.parametrize(
    ("name", "config", "says"),
    [
        (
            "a{b}",
            None,
            ": Snakemake reads braces in the project's path as wildcards; rename or move the folder.",
        ),
        (
            "project",
            b"data: \xff",
            "config.yaml: not YAML (invalid start byte); save the file again as UTF-8.",
        ),
        (
            "project",
            b"data: sample\ndata: release",
            "config.yaml, row 2: not YAML (the key 'data' stands twice).",
        ),
        (
            "project",
            b"",
            "config.yaml: nothing is not allowed (allowed: keys with values).",
        ),
    ],
    ids=["braces in the path", "not UTF-8", "a repeated key", "an empty configuration"],
)
def test_a_project_that_cannot_be_read_is_refused_in_one_sentence(
    tmp_path, name, config, says
):
    project = tmp_path / name
    project.mkdir()
    for entry in forked.ROOT.iterdir():
        if config is None or entry.name != "config.yaml":
            (project / entry.name).symlink_to(entry)
    if config is not None:
        (project / "config.yaml").write_bytes(config)
    code, written = forked.snakemake(
        tmp_path, "--snakefile", project / "Snakefile", "-n", "acord_data"
    )
    *_, last = [line for line in written.splitlines() if line.strip()]
    assert code == 1
    assert last.startswith(str(project)), written
    assert last.endswith(says), written


def test_a_user_without_a_name_can_run_jobs(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(NO_USER)
    unnamed = dict(os.environ)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        unnamed.pop(name, None)
    words = [*forked.PIPELINE, "--directory", tmp_path, "results/sample/config.yaml"]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", *map(str, words)],
        env=unnamed | {"PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(tmp_path, "results/sample/config.yaml").is_file()
