"""One lock: the conda environment and make install the same pins, and every direct dependency is pinned."""

import re
from pathlib import Path

import yaml

from export import environment

ENVS = Path(__file__).parents[2] / "envs"
LOCK = (ENVS / "requirements.txt").read_text(encoding="utf-8")


def names(text):
    found = re.findall(r"^([A-Za-z0-9._-]+)", re.sub(r"(?m)^(#|-c|-r).*$", "", text), re.M)
    return {re.sub(r"[._-]+", "-", name).lower() for name in found}


def test_conda_environment_is_exported_from_the_lock():
    written = (ENVS / "lextables.yaml").read_text(encoding="utf-8")
    assert written == environment(LOCK)
    pip = yaml.safe_load(written)["dependencies"][-1]["pip"]
    assert pip == [line for line in LOCK.splitlines() if line and not line.startswith("#")]


def test_every_pin_is_exact_and_no_pin_names_a_build():
    weights = (ENVS / "requirements-weights.txt").read_text(encoding="utf-8").splitlines()
    for line in filter(None, [*LOCK.splitlines(), *(line for line in weights if not line.startswith("#"))]):
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line
    assert "torch==2.13.0" in LOCK.splitlines()


def test_direct_dependencies_are_in_the_lock():
    assert names((ENVS / "requirements.in").read_text()) <= names(LOCK)
    dev = (ENVS / "requirements-dev.txt").read_text()
    assert names((ENVS / "requirements-dev.in").read_text()) <= names(dev)
