"""The rooms of the papers: modules that are found by a paper's name, and its file as its room reads it."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lextables.errors import BadInput
from lextables.papers import Paper
from lextables.registry import content

MEND = "mend it there, as the schema in workflow/schemas says"


def room(paper: str, module: str) -> Any:
    """The module of a paper's room; `BadInput` where the room has none of that name."""
    if not has(paper, module):
        where, do = f"lextables/{paper}", f"write {module}.py, as docs/adding.md says"
        raise BadInput(f"the room of {paper} has no {module}", where=where, do=do)
    return import_module(f"lextables.{paper}.{module}")


def has(paper: str, module: str) -> bool:
    """Whether a paper's room has a module of this name."""
    package = f"lextables.{paper}"
    return find_spec(package) is not None and find_spec(f"{package}.{module}") is not None


def model_of(paper: str) -> type[Paper]:
    """The form of a paper's file: its room's, or the one that is common to all."""
    return room(paper, "registry").REGISTRY if has(paper, "registry") else Paper


def load(path: str | Path) -> Paper:
    """Read and check a paper's file, by its room's registry; `BadInput` names the key of the first fault."""
    path = Path(path)
    try:
        return model_of(path.stem).model_validate(content(path))
    except ValidationError as error:
        # A key that is misspelt is why the one that it should be is missing.
        fault = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
        key = ".".join(str(part) for part in fault["loc"])
        if fault["type"] in ("extra_forbidden", "missing"):
            why = "is missing" if fault["type"] == "missing" else "is not a known key"
            raise BadInput(f"{key} {why}", where=path.name, do=MEND) from None
        why = fault["msg"].removeprefix("Value error, ")
        if not key:  # of the paper as a whole: its words say it all
            raise BadInput(why, where=path.name) from None
        raise BadInput(f"{key} = {fault['input']!r:.80} is not allowed ({why})", where=path.name) from None
