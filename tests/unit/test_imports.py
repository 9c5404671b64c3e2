"""Slow libraries are imported only where they are used: a table job takes less time
than importing torch.  Scripts import names that exist.
"""

import ast
import importlib
import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from lextables import ROOT

SLOW = (
    "torch",
    "transformers",
    "sklearn",
    "scipy.stats",
    "pandas",
    "statsmodels",
    "matplotlib",
    "nltk",
    "spacy",
    "huggingface_hub",
)
# Scripts that run many times, even for the sample data.
OFTEN = ("table", "data", "task")


MODULES = (
    *(f"papers.{paper}.tables" for paper in ("acord", "cuad", "lawngnli", "maud")),
    *(
        f"tasks.{task}.submitted"
        for task in ("retrieval", "spans", "classification", "answers")
    ),
    *(
        f"tasks.{task}.actions.choose"
        for task in ("retrieval", "spans", "classification")
    ),
    *(
        f"tasks.{task}.actions.score"
        for task in ("retrieval", "spans", "classification", "answers")
    ),
    "tasks.spans.actions.join",
)
# Imports the common libraries, then runs each program in a fork and prints its name and
# its slow imports.
PROGRAM = """
import json, os, sys
import numpy, pyarrow, pydantic, yaml
slow, programs = json.loads(sys.argv[1])
for name, program in programs.items():
    if not os.fork():
        exec(program)
        print(name, *(module for module in slow if module in sys.modules), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, name
"""


def imports(script):
    tree = ast.parse((ROOT / f"workflow/scripts/{script}.py").read_text())
    found = [
        node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return "\n".join(map(ast.unparse, found))


def test_table_and_score_scripts_import_no_slow_libraries():
    programs = {name: imports(name) for name in OFTEN} | {
        name: f"import lextables.{name}" for name in MODULES
    }
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([SLOW, programs])],
        cwd=ROOT / "workflow",
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout.splitlines() == [*programs]


def imported_names(path):
    """Yield the module and the name of each import from the package in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("lextables"):
            for alias in node.names:
                yield node.module, alias.name


@pytest.mark.parametrize(
    "path",
    sorted([*(ROOT / "workflow/scripts").glob("*.py"), *(ROOT / "bench").glob("*.py")]),
    ids=lambda path: path.name,
)
def test_scripts_import_names_that_the_package_has(path):
    missing = []
    for module, name in imported_names(path):
        is_attribute = hasattr(importlib.import_module(module), name)
        if not is_attribute and find_spec(f"{module}.{name}") is None:
            missing.append(f"{module}.{name}")
    assert missing == []
