"""Modules of paper packages, found by the paper's name."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from lextables.pipeline.errors import BadInput


def module(package: str, name: str) -> Any:
    """Import a module of a paper package; `BadInput` if the package has none of that
    name.

    ``package`` is a paper's name, or a place below lextables such as ``corpora.nli``.
    """
    check(package, name)
    return import_module(f"lextables.{place(package)}.{name}")


def check(package: str, name: str) -> None:
    """Raise `BadInput` if a paper package has no module of this name."""
    if not has(package, name):
        folder = place(package).replace(".", "/")
        raise BadInput(
            f"the package has no {name}",
            where=f"lextables/{folder}",
            do=f"write {name}.py (docs/adding-a-paper.md)",
        )


def has(package: str, name: str) -> bool:
    """Whether a paper package has a module of this name."""
    dotted = f"lextables.{place(package)}"
    if find_spec(dotted) is None:
        return False
    return find_spec(f"{dotted}.{name}") is not None


def place(package: str) -> str:
    """Return the dotted name of a package within lextables.

    A name without a dot is a paper's: for `acord` it is `papers.acord`.  A dotted name,
    such as `corpora.nli`, is returned as it is.
    """
    return package if "." in package else f"papers.{package}"
