"""The version is defined once and is recorded with the commit."""

import json
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

import lextables
from lextables import ROOT
from lextables.pipeline import version
from lextables.pipeline.run import recorded, versions
from lextables.pipeline.version import outdated, warning

GIT = [
    "git",
    "-c",
    "user.name=A",
    "-c",
    "user.email=a@example.org",
    "-c",
    "commit.gpgsign=false",
]


def git(folder, *arguments):
    subprocess.run([*GIT, "-C", folder, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A project in a git checkout with one commit."""
    git(tmp_path, "init")
    (tmp_path / "code.py").write_text("X = 1\n")
    (tmp_path / ".gitignore").write_text("results\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    monkeypatch.setattr(version, "ROOT", tmp_path)
    return tmp_path


def test_all_files_have_the_version_of_pyproject():
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert lextables.__version__ == number
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == number
    assert re.search(
        rf"^## \[{re.escape(number)}\] - ", (ROOT / "CHANGELOG.md").read_text(), re.M
    )


def test_the_commit_of_a_checkout_is_recorded(checkout):
    record = version.made_by()
    assert re.fullmatch("[0-9a-f]{40}", record["commit"])
    assert record == {
        "version": lextables.__version__,
        "commit": record["commit"],
        "modified": False,
    }
    assert (
        version.version_text(record)
        == f"{lextables.__version__} (commit {record['commit'][:10]})"
    )


def test_a_change_of_a_tracked_file_is_recorded_and_a_new_file_is_not(checkout):
    (checkout / "notes.txt").write_text("mine")
    assert version.made_by()["modified"] is False
    (checkout / "code.py").write_text("X = 2\n")
    record = version.made_by()
    assert record["modified"] is True
    assert version.version_text(record).endswith(", modified)")
    git(checkout, "commit", "-am", "second")
    assert version.made_by()["modified"] is False


def test_an_unpacked_archive_has_no_commit(checkout, tmp_path, monkeypatch):
    inner = checkout / "results/lextables-0.1.0"
    inner.mkdir(parents=True)
    monkeypatch.setattr(version, "ROOT", inner)
    record = version.made_by()
    assert (record["commit"], record["modified"]) == (None, None)
    assert version.version_text(record) == lextables.__version__


@pytest.mark.parametrize("broken", ["no git", "no commit"])
def test_the_commit_is_none_without_git_or_commits(tmp_path, monkeypatch, broken):
    git(tmp_path, "init")
    monkeypatch.setattr(version, "ROOT", tmp_path)
    if broken == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    assert version.made_by()["commit"] is None
    assert version.day() == ""


def test_a_run_records_version_and_commit(checkout, tmp_path):
    with recorded(tmp_path / "run.json", {"k": 1}):
        pass
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["lextables"] == version.made_by()


@pytest.mark.parametrize(
    ("environment", "path"),
    [
        (".venv", ".venv/bin/snakemake"),
        ("envs/mine", "envs/mine/bin/snakemake"),
        ("../other", "snakemake"),
    ],
)
def test_the_path_of_snakemake_works_in_the_current_folder(
    tmp_path, monkeypatch, environment, path
):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(
        sys,
        "executable",
        str((tmp_path / "work" / environment / "bin/python").resolve()),
    )
    assert version.snakemake_path() == path


def test_a_linked_environment_is_named_after_the_link(tmp_path, monkeypatch):
    (tmp_path / "shared/bin").mkdir(parents=True)
    (tmp_path / "shared/bin/snakemake").touch()
    (tmp_path / "work").mkdir()
    (tmp_path / "work/.venv").symlink_to(tmp_path / "shared")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "shared/bin/python"))
    assert version.snakemake_path() == ".venv/bin/snakemake"


# Runs made with other library versions.

NOW = {"python": "3.11.7", "torch": "2.6.0", "numpy": "2.1.0"}


@pytest.fixture
def record(tmp_path):
    """Returns a function that writes a run record with a training record in it, and
    returns its path.
    """

    def write(name, libraries, **more):
        folder = tmp_path / name
        folder.mkdir()
        with recorded(
            folder / "run.json", {"libraries": {"torch": "a setting"}}
        ) as found:
            found |= {
                "libraries": libraries,
                "training": {"libraries": {"torch": "1.0"}},
            } | more
        return folder / "run.json"

    return write


def test_runs_of_other_library_versions_are_found(record, tmp_path):
    same = record("same", NOW)
    other = record("other", NOW | {"torch": "2.5.1"})
    gone = record("gone", NOW | {"faiss-cpu": "1.9"})
    fewer = record("fewer", {"python": "3.11.7"})
    assert outdated([same, other, gone, fewer, tmp_path / "none/run.json"], NOW) == {
        other: {"torch": "2.5.1"},
        gone: {"faiss-cpu": "1.9"},
    }


def test_a_new_record_has_the_current_library_versions(tmp_path):
    with recorded(tmp_path / "run.json", {}):
        pass
    assert outdated([tmp_path / "run.json"], versions()) == {}
    assert outdated([tmp_path / "run.json"], versions() | {"torch": "0.1"}).keys() == {
        tmp_path / "run.json"
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{\n  "libraries": {\n    "torch": ',
        '{\n  "libraries": {"torch"}\n}',
        '{"libraries": 3}',
        "\udcff",
    ],
)
def test_invalid_records_are_ignored(tmp_path, text):
    (tmp_path / "run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert outdated([tmp_path / "run.json"], NOW) == {}


def test_the_warning_names_versions_runs_and_the_option_that_repeats_them(
    record, tmp_path
):
    found = outdated(
        [record(f"run{i}", NOW | {"torch": f"2.{i}"}) for i in range(5)], NOW
    )
    listed = tmp_path / ".cache/other.txt"
    said = warning(found, NOW, listed)
    runs = ", ".join(str(tmp_path / f"run{i}") for i in range(3))
    assert said == (
        f"Made with other library versions, and kept: {runs} and 2 more: "
        "torch 2.0 and 2.1 and 2.2 and 2.3 and 2.4 (now 2.6.0). "
        f"To make them again, add --forcerun $(cat {listed}) to the command."
    )
    assert listed.read_text().splitlines() == [
        str(tmp_path / f"run{i}/run.json") for i in range(5)
    ]
    (tmp_path / "file").write_text("")
    assert "To make them again" in warning(found, NOW, tmp_path / "file/other.txt")
