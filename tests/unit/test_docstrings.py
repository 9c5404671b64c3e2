"""Docstrings and comments of the package refer to modules and names that exist.

A reference is `module.name` in single backticks.  It starts with the path of a module,
or the end of this path, and goes on with a name of the module or of one of its classes.
Names of files, outside packages and keys of registries are no references.
"""

import ast
import builtins
import re
import sys
from functools import cache

import pytest

from lextables import ROOT

PACKAGE = ROOT / "workflow/lextables"
REFERENCE = re.compile(r"(?<!`)`([a-z]\w*(?:\.\w+)+)`(?!`)")
# The last parts of names of files and websites.
ENDINGS = {"com", "css", "csv", "json", "jsonl", "md", "parquet", "py", "yaml"}
KEYS = {"publish.apart"}  # of the papers' registries


@cache
def sources():
    """Return {module: its source}; a module is a tuple of the parts of its path."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        found[parts] = path.read_text(encoding="utf-8")
    return found


@cache
def tree_of(module):
    return ast.parse(sources()[module])


@cache
def outside():
    """Return the names of the packages that the package imports, and of Python's."""
    names = {*sys.stdlib_module_names, *dir(builtins)}
    for source in sources().values():
        names.update(re.findall(r"^ *(?:import|from) (\w+)", source, re.M))
    return names - {PACKAGE.name}


def names_bound(body):
    """Return {name: statement} of the statements of a module or class."""
    names = {}
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names[statement.name] = statement
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.alias):
                names[node.asname or node.name] = statement
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = statement
    return names


def has(module, names):
    """Whether a module binds the first of ``names``, and its class the second."""
    if not names:
        return True
    statement = names_bound(tree_of(module).body).get(names[0])
    if isinstance(statement, ast.ClassDef) and names[1:]:
        return names[1] in names_bound(statement.body)
    return statement is not None


@cache
def exists(reference):
    """Whether a module, or a name of a module, is called ``reference``."""
    parts = tuple(reference.split("."))
    for length in range(1, len(parts) + 1):
        for module in sources():
            if module[-length:] == parts[:length] and has(module, parts[length:]):
                return True
    return False


def test_references_to_modules_and_their_names_exist():
    stale = []
    for module, source in sources().items():
        for reference in REFERENCE.findall(source):
            first = reference.split(".")[0]
            last = reference.split(".")[-1]
            if first in outside() or last in ENDINGS or reference in KEYS:
                continue
            if not exists(reference):
                stale.append((".".join(module), reference))
    assert stale == []


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("planner.Retriever", True),
        ("rankers.okapi.released_chunks", True),
        ("lextables.tasks.planner.Plan.rows", True),
        ("plan.Retriever", False),
        ("planner.Retrievers", False),
        ("planner.Plan.columns", False),
    ],
)
def test_a_reference_to_something_that_does_not_exist_is_found(reference, found):
    assert exists(reference) == found
