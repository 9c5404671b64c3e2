"""JSON schemas of the configuration and the registries, for editors and for readers.

    PYTHONPATH=workflow python -m lextables.registry.schemas     write
    workflow/schemas/*.schema.yaml

They are generated from the models that check the files, and a test keeps the two equal.
"""

from pathlib import Path
from typing import Any, Union

import yaml
from pydantic import BaseModel, TypeAdapter

from lextables import ROOT
from lextables.models.resolve import Model
from lextables.pipeline.config import Config
from lextables.registry import packages
from lextables.sources import entries

FOLDER = ROOT / "workflow/schemas"


def _papers() -> TypeAdapter:
    """Return the check of a paper's file: that of one of the papers."""
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
    """Return the JSON schema of one of `CHECKED` as YAML."""
    checked = CHECKED[name]
    if isinstance(checked, TypeAdapter):
        described = checked.json_schema()
    else:
        described = checked.model_json_schema()
    described["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    text = yaml.safe_dump(described, sort_keys=True, allow_unicode=True, width=100)
    written_by = "# Written by `python -m lextables.registry.schemas`"
    return f"{written_by}; a test keeps it equal to the code.\n{text}"


def path(name: str) -> Path:
    """Where the schema of ``name`` is kept."""
    return FOLDER / f"{name}.schema.yaml"


if __name__ == "__main__":
    for name in CHECKED:
        path(name).write_text(schema(name), encoding="utf-8")
