"""Base of all registries: YAML files with known, unrepeated keys, and immutable entries."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict

from lextables.pipeline.checked import checked
from lextables.pipeline.errors import BadInput


class Entry(BaseModel):
    """A mapping in a registry's file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


EntryType = TypeVar("EntryType", bound=Entry)


def entries(path: str | Path, kind: type[EntryType]) -> dict[str, EntryType]:
    """Return {name: entry} of a registry's file; `BadInput` names entry and key of the first error."""
    return checked(dict[str, kind], content(path), where=Path(path).name)


def content(path: str | Path) -> Any:
    """Return the content of a YAML file; `BadInput` names the row of an invalid or repeated key."""
    try:
        return yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except yaml.MarkedYAMLError as error:
        row = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BadInput(f"not YAML ({error.problem})", where=f"{path}, row {row}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        do = "save the file again as UTF-8"
        raise BadInput(f"not YAML ({error.reason})", where=str(path), do=do) from error
    except (ValueError, RecursionError) as error:  # Python's own limits
        what = "a date that does not exist, a number of thousands of digits, or a nesting that is too deep"
        raise BadInput(f"the file has {what}", where=str(path)) from error
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", where=str(path)) from None


def mapping(path: str | Path) -> dict[str, Any]:
    """Return the keys and values of a YAML file; raises `BadInput` as `content`."""
    return checked(dict[str, Any], content(path), where=Path(path).name)


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
