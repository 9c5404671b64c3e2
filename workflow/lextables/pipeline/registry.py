"""What every registry is: a YAML file whose keys are known and stand once, and entries that do not change."""

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
    """Return what a registry's file holds; `BadInput` names a row that is no YAML or says a key again."""
    try:
        return yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except yaml.MarkedYAMLError as error:
        row = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"not YAML ({error.problem})", where=f"{path}, row {row}") from error


# libyaml's parser is ten times as fast as Python's, and these files are read whenever a run is laid out.
class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """PyYAML keeps the last of two equal keys without a word; here the second one is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"the key {key.value!r} stands twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)
