"""Reads the registries' YAML files; the base class of their entries.

Unknown keys and repeated keys are errors, and entries are immutable.
"""

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field

from lextables.pipeline.checked import checked
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject

# Allowed forms of names and texts.  A name is part of paths, targets and rules.  Error
# messages quote the descriptions.
Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]*$",
        description="small letters, digits and _, with a letter first",
    ),
]
Line = Annotated[
    str,
    Field(
        pattern=r"^\S(.*\S)?$",
        description="a text in one line, without blanks around it",
    ),
]
Title = Annotated[
    str,
    Field(
        pattern=r"^[^\s:](.*\S)?$",
        description="a text in one line, without blanks around it and without a colon at its beginning",
    ),
]


class Entry(BaseModel):
    """A mapping in a registry's file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


DEEPEST = 100  # levels of nesting
# Numbers that YAML and a reader understand in the same way: 12, -0.5, 1.0e+3, .inf.
_DECIMAL = re.compile(
    r"[-+]?(?:(?:0|[1-9][0-9]*)|[0-9]*\.[0-9]*(?:[eE][-+][0-9]+)?|\.(?i:inf|nan))"
)

EntryType = TypeVar("EntryType", bound=Entry)


def entries(path: str | Path, kind: type[EntryType]) -> dict[str, EntryType]:
    """Return {name: entry} of a registry's file; `BadInput` names entry and key of the
    first error.
    """
    return checked(
        dict[str, kind],  # type: ignore[valid-type]
        content(path),
        where=Path(path).name,
    )


def content(path: str | Path) -> Any:
    """Return the content of a YAML file; `BadInput` names the line of an invalid or
    repeated key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        _check_depth(text)
        return yaml.load(text, Loader=_UniqueKeys)
    except yaml.MarkedYAMLError as error:
        row = 1
        if error.problem_mark:
            row += error.problem_mark.line
        raise BadInput(
            f"not YAML ({error.problem})", where=f"{path}, row {row}"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        do = "save the file again as UTF-8"
        raise BadInput(f"not YAML ({error.reason})", where=str(path), do=do) from error
    except ValueError as error:  # from Python, which names neither the row nor the key
        what = "the file has a date that does not exist, or a number of thousands of digits"
        raise BadInput(what, where=str(path)) from error
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})", where=str(path)) from None


def _check_depth(text: str) -> None:
    """Raise `MarkedYAMLError` for a nesting of more than `DEEPEST` levels.

    A much deeper one would crash libyaml, and with it the process.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_UniqueKeys):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise yaml.MarkedYAMLError(
                problem="the nesting is too deep", problem_mark=event.start_mark
            )


def mapping(path: str | Path) -> JsonObject:
    """Return the keys and values of a YAML file; raises `BadInput` as `content`."""
    return checked(JsonObject, content(path), where=str(path))


# libyaml's parser is ten times as fast as Python's, and these files are read for every
# plan.
class _UniqueKeys(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML silently keeps the last of two equal keys; here a repeated key is an
    error.
    """

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Hashable, Any]:
        """Return the mapping of a node; raise `MarkedYAMLError` for a repeated key."""
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in keys:
                problem = f"the key {key.value!r} stands twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """Return a number; raise `MarkedYAMLError` if it is not written as a plain
        decimal number.

        YAML 1.1 reads 0123 as 83, 1:30 as 90 and 1_000 as 1000, also where a text is
        meant.
        """
        kind = node.tag.rpartition(":")[2]
        number = getattr(self, f"construct_yaml_{kind}")(node)
        if not _DECIMAL.fullmatch(node.value):
            problem = f"{node.value} would be read as {number}; put it in quotes, or write a decimal number"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return number


for kind in ("int", "float"):
    tag = f"tag:yaml.org,2002:{kind}"
    _UniqueKeys.add_constructor(tag, _UniqueKeys.construct_number)
