"""JSON schemas of the configuration and the registries, for editors and for readers.

    PYTHONPATH=workflow python -m lextables.registry.schemas

writes them to workflow/schemas/*.schema.yaml.  They are generated from the pydantic
models that check the files.  A test fails if they are not current.
"""

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, Union

import yaml
from pydantic import BaseModel, TypeAdapter

from lextables import ROOT
from lextables.models.resolve import Model
from lextables.pipeline.config import Config
from lextables.pipeline.entries import Entry
from lextables.registry import packages
from lextables.sources import entries

FOLDER = ROOT / "workflow/schemas"


def _papers() -> TypeAdapter:
    """Return the type of a paper's file: the union of the types of all papers."""
    files = sorted((ROOT / "resources/papers").glob("*.yaml"))
    models: Any = tuple(packages.model_of(path.stem) for path in files)
    return TypeAdapter(Union[models])  # noqa: UP007


CHECKED: dict[str, TypeAdapter | type[BaseModel]] = {
    "config": Config,
    "models": TypeAdapter(dict[str, Model]),
    "papers": _papers(),
    "sources": entries.ADAPTER,
}


def schema(name: str) -> str:
    """Return the JSON schema of one of `CHECKED` as YAML.

    A key whose values have no description is described by the docstring below its
    field.
    """
    checked = CHECKED[name]
    if isinstance(checked, TypeAdapter):
        described = checked.json_schema()
    else:
        described = checked.model_json_schema()
    definitions = described.get("$defs", {})
    for model in _entries(Entry):
        if model.__name__ not in definitions:
            continue
        properties = definitions[model.__name__].get("properties", {})
        for field, docstring in _field_docstrings(model):
            if field in properties:
                properties[field].setdefault("description", docstring)
    described["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    text = yaml.safe_dump(described, sort_keys=True, allow_unicode=True, width=100)
    written_by = "# Written by `python -m lextables.registry.schemas`"
    return f"{written_by}; a test keeps it equal to the code.\n{text}"


def _entries(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield a model and all models that inherit from it."""
    yield model
    for inherited in model.__subclasses__():
        yield from _entries(inherited)


def _field_docstrings(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """Yield the name of each field that has a docstring below it, and the docstring.

    The model's own fields come first, then those of the classes that it inherits from.
    Pydantic's ``use_attribute_docstrings`` is not used, because it would make them
    descriptions also where values are checked: messages about wrong values quote the
    descriptions there, which must say what a value may be.
    """
    for base in model.__mro__:
        # The classes that `packages.model_of` creates have no source code.
        if issubclass(base, Entry) and base.__module__ != packages.__name__:
            yield from _own_docstrings(base).items()


@cache
def _own_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return {field: the docstring below it} of the fields that a class itself has."""
    docstrings = {}
    (definition,) = ast.parse(dedent(inspect.getsource(model))).body
    assert isinstance(definition, ast.ClassDef)
    for field, below in pairwise(definition.body):
        match (field, below):
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(docstring))),
            ):
                docstrings[name] = " ".join(docstring.split())
    return docstrings


def path(name: str) -> Path:
    """The path of the schema ``name``, one of `CHECKED`."""
    return FOLDER / f"{name}.schema.yaml"


if __name__ == "__main__":
    for name in CHECKED:
        path(name).write_text(schema(name), encoding="utf-8")
