"""The wheel, installed where only the core dependencies are: the command, scores and
the pipeline.

The environment sees the packages of this one by a folder of links.
"""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from importlib import metadata
from pathlib import Path

import pytest

from helpers.sample_data import write_data_set
from lextables import ROOT
from lextables.planning.scripts import fingerprint_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]


def distribution_name(requirement):
    """Return the normalised name of a requirement: `a-b`, of `A_b[c]>=1`."""
    name = re.match(r"[A-Za-z0-9._-]+", requirement)[0]
    return re.sub(r"[._-]+", "-", name).lower()


def with_dependencies(requirements):
    """Return the distributions of requirements and of what they need, without
    extras.
    """
    distributions = {}
    waiting = [distribution_name(requirement) for requirement in requirements]
    while waiting:
        name = waiting.pop()
        if name in distributions:
            continue
        try:
            distributions[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system or Python
        for requirement in distributions[name].requires or []:
            if "extra ==" not in requirement:
                waiting.append(distribution_name(requirement))
    return distributions.values()


def link(distributions, folder):
    """Link the packages and modules of distributions into a folder."""
    for distribution in distributions:
        for file in distribution.files:
            top = file.parts[0]
            target = folder / top
            if top not in ("..", "__pycache__") and not target.exists():
                target.symlink_to(distribution.locate_file(top))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built from a copy of the files that the container image gets."""
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    # The lines with "!" are what the image gets.
    copied = {line[1:] for line in ignored if line.startswith("!")}
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if name.split("/")[0] in copied and (ROOT / name).is_file():
            copy = folder / "clone" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy)
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    command = [sys.executable, "-m", "pip", *build, "--wheel-dir", folder]
    subprocess.run([*command, folder / "clone"], check=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return a function that runs a program of an environment with the wheel, in an
    empty folder unless another one is given.
    """
    place = tmp_path_factory.mktemp("environment")
    venv.create(place / "venv", with_pip=False, symlinks=True)
    python = place / "venv/bin/python"
    install = ["install", "--quiet", "--no-deps", "--no-index"]
    pip = [sys.executable, "-m", "pip", "--python", python, *install]
    subprocess.run([*pip, wheel], check=True)
    (site,) = (place / "venv/lib").glob("python*/site-packages")
    link(with_dependencies(PROJECT["dependencies"]), site)
    empty = place / "empty"
    empty.mkdir()

    def run(program, *arguments, folder=empty, python_path=""):
        return subprocess.run(
            [place / "venv/bin" / program, *map(str, arguments)],
            cwd=folder,
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(place),
                "PYTHONPATH": python_path,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_command_lists_targets_without_the_pipelines_packages(installed):
    run = installed("lextables", "list", "acord", "--data", "sample")
    assert run.returncode == 0, run.stderr
    assert re.search(r"acord_table_d3 +\d+ of \d+ rows +All systems", run.stdout)
    run = installed("lextables", "doctor")
    assert run.returncode == 0, run.stderr
    assert re.search(r"extra pipeline +missing +\d+ of \d+ packages", run.stdout)
    run = installed("lextables", "run", "acord")
    assert run.returncode == 1
    assert "pip install 'lextables[pipeline]'" in run.stderr
    run = installed("lextables", "--version")
    assert run.stdout.strip() == PROJECT["version"]


def test_the_command_scores_predictions(installed, tmp_path):
    write_data_set("acord", tmp_path / "results/sample/data/acord")
    run = installed("lextables", "score", "acord", "run.csv")
    assert "lextables run results/data/acord/census.json --data release" in run.stderr
    program = """
import json, sys
import lextables
judged = lextables.load("acord", "sample")["judgements"]
hits = judged.rename(columns={"clause_id": "document_id"})
hits.to_csv(sys.argv[1], index=False)
scores = lextables.score("acord", sys.argv[1], data="sample")
assert scores.attrs["data"] == "sample"
print(json.dumps([len(lextables.published()), sorted(sys.modules)]))
"""
    hits = tmp_path / "run.csv"
    run = installed("python", "-c", program, hits, folder=tmp_path)
    assert run.returncode == 0, run.stderr
    count, modules = json.loads(run.stdout)
    assert count == 2739  # published values
    assert not {"torch", "transformers", "snakemake", "spacy"}.intersection(modules)
    arguments = ("score", "acord", hits, "--data", "sample", "--folder", tmp_path)
    run = installed("lextables", *arguments)
    assert run.returncode == 0, run.stderr
    # The scores of the judgements are a perfect ranking.
    assert re.search(r"NDCG@10 +paper +1\.0000 +NaN +NaN +11", run.stdout)
    warning = "acord: the sample's texts are invented"
    assert run.stderr.startswith(warning) and run.stderr.count("\n") == 1


def test_the_installed_pipeline_runs_the_sample(installed):
    arguments = ("run", "acord", "--data", "sample", "--cores", 1, "--dry-run")
    # With the packages of this environment, which has those of the pipeline.
    packages = str(Path(pytest.__file__).parents[1])
    run = installed("lextables", *arguments, python_path=packages)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "lextables/project/Snakefile" in run.stderr
    assert "Scoring" in run.stdout + run.stderr


def test_scripts_have_the_fingerprints_of_a_clone(installed):
    program = """
from lextables.planning.scripts import SCRIPTS, fingerprint_of
print(SCRIPTS, fingerprint_of("check.py"))
"""
    run = installed("python", "-c", program)
    assert run.returncode == 0, run.stderr
    folder, digest = run.stdout.split()
    assert folder.endswith("lextables/project/workflow/scripts")
    assert digest == fingerprint_of("check.py")
