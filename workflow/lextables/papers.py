"""The registry of papers: `resources/papers/<paper>.yaml`, each with a part that is the same for all."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lextables.errors import BadInput

Loaded = TypeVar("Loaded", bound="Paper")


class Entry(BaseModel):
    """A mapping in a paper's file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TableEntry(Entry):
    """One printed table or figure: what it shows, where it stands in the paper, a figure's kind."""

    title: str
    where: str
    kind: str | None = None
    notes: tuple[str, ...] = ()


class Paper(Entry):
    """What every paper's file holds; a room adds its own keys in a subclass."""

    title: str
    citation: str
    tables: Mapping[str, TableEntry] = Field(min_length=1)
    census: Mapping[str, Mapping[str, Any]] = {}


def load(path: str | Path, model: type[Loaded]) -> Loaded:
    """Read and check a paper's file; `BadInput` names the key of the first fault."""
    path = Path(path)
    try:
        return model.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        raise BadInput(f"not YAML ({error})", where=path.name) from error
    except ValidationError as error:
        fault = error.errors()[0]
        key = ".".join(str(part) for part in fault["loc"])
        raise BadInput(
            f"{key} = {fault['input']!r:.80} is not allowed ({fault['msg']})", where=path.name
        ) from None
