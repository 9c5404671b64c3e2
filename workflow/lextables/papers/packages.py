"""Modules of paper packages, found by the paper's name, and registry files checked by them."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lextables.papers.registry import Paper
from lextables.pipeline.errors import BadInput
from lextables.pipeline.registry import content

MEND = "mend it there, as the schema in workflow/schemas says"


def module(package: str, name: str) -> Any:
    """Import a module of a paper package; `BadInput` if the package has none of that name.

    ``package`` is a paper's name, or a place below lextables such as ``corpora.nli``.
    """
    if not has(package, name):
        where, do = (
            f"lextables/{place(package)}".replace(".", "/"),
            f"write {name}.py, as docs/adding.md says",
        )
        raise BadInput(f"the package has no {name}", where=where, do=do)
    return import_module(f"lextables.{place(package)}.{name}")


def has(package: str, name: str) -> bool:
    """Whether a paper package has a module of this name."""
    dotted = f"lextables.{place(package)}"
    return find_spec(dotted) is not None and find_spec(f"{dotted}.{name}") is not None


def place(package: str) -> str:
    """Return where a package lies below lextables: `papers.acord` for `acord`, `corpora.nli` as it is."""
    return package if "." in package else f"papers.{package}"


def model_of(paper: str) -> type[Paper]:
    """The registry class of a paper: its package's own, or `Paper`."""
    return module(paper, "registry").REGISTRY if has(paper, "registry") else Paper


def load(path: str | Path) -> Paper:
    """Read and check a paper's file with its registry class; `BadInput` names the key of the first error."""
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
