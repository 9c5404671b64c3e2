"""Slips on the command line; tests/workflow/test_mistakes.py makes them as a user does."""

import re
import sys
from argparse import Namespace

import pytest

from lextables import command_line
from lextables.command_line import snakemake_path
from mistakes import sentence

NOTHING = Namespace(
    config=None,
    configfile=None,
    cores=None,
    dryrun=False,
    profile=None,
    targets=[],
    workflow_profile=None,
)


@pytest.fixture(autouse=True)
def _said_nothing(monkeypatch):
    monkeypatch.setattr("sys.argv", ["snakemake"])


def test_what_is_no_slip_is_passed_on():
    command_line.refuse(NOTHING)
    command_line.check_settings(["seeds=[0, 1]", "llm=", "a_b=x=y"])
    command_line.check_once(["snakemake", "--config", "data=release", "--", "--config"])


def test_another_pythons_snakemake_is_told_from_ours(monkeypatch):
    monkeypatch.setattr(command_line, "LIBRARIES", ("yaml", "no_such_library"))
    with pytest.raises(SystemExit) as end:
        command_line.refuse(NOTHING)
    assert re.fullmatch(sentence("starts the Snakemake of another Python"), end.value.code)
    assert "no_such_library" in end.value.code


def test_a_dry_run_wants_no_cluster(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    command_line.refuse(Namespace(**vars(NOTHING) | {"dryrun": True}), "sbatch")
    with pytest.raises(SystemExit, match="there is no sbatch here"):
        command_line.refuse(NOTHING, "sbatch")


def test_the_clusters_profile_by_the_wrong_option_is_a_slip():
    wrong = Namespace(**vars(NOTHING) | {"profile": ["profiles/slurm"]})
    with pytest.raises(SystemExit, match="say --workflow-profile profiles/slurm"):
        command_line.refuse(wrong, "sbatch")
    command_line.refuse(wrong)  # a profile of the user's own beside profiles/default


@pytest.mark.parametrize(
    ("environment", "said"),
    [(".venv", ".venv/bin/snakemake"), ("envs/mine", "envs/mine/bin/snakemake"), ("../other", "snakemake")],
)
def test_snakemake_is_named_as_it_can_be_started_here(tmp_path, monkeypatch, environment, said):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "executable", str((tmp_path / "work" / environment / "bin/python").resolve()))
    assert snakemake_path() == said


def test_an_environment_that_is_linked_into_the_folder_is_named_by_the_link(tmp_path, monkeypatch):
    (tmp_path / "shared/bin").mkdir(parents=True)
    (tmp_path / "shared/bin/snakemake").touch()
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.venv").symlink_to(tmp_path / "shared")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "shared/bin/python"))
    assert snakemake_path() == ".venv/bin/snakemake"
