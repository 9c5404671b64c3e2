"""Base of all registries: YAML files with known, unrepeated keys, and immutable entries."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from lextables.pipeline.errors import BadInput


class Entry(BaseModel):
    """A mapping in a registry's file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


EntryType = TypeVar("EntryType", bound=Entry)


def entries(path: str | Path, kind: type[EntryType]) -> dict[str, EntryType]:
    """Return {name: entry} of a registry's file; `BadInput` names entry and key of the first error."""
    try:
        return TypeAdapter(dict[str, kind]).validate_python(content(path))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise BadInput(f"{key}: {first['msg']}", where=Path(path).name) from None


def content(path: str | Path) -> Any:
    """Return the content of a registry's file; `BadInput` names the row of an invalid or repeated key."""
    try:
        return yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except yaml.MarkedYAMLError as error:
        row = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"not YAML ({error.problem})", where=f"{path}, row {row}") from error


# libyaml's parser is ten times as fast as Python's, and these files are read for every plan.
class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """PyYAML silently keeps the last of two equal keys; here a repeated key is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"the key {key.value!r} stands twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)
