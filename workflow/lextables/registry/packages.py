"""Loads the papers' files, `resources/papers/<paper>.yaml`, as typed entries.

A file is checked by the class of the paper's entry (`registry.paper.Paper` or its
subclass) and by the classes of its tasks.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import Field, create_model

from lextables.pipeline.checked import checked
from lextables.pipeline.entries import Entry, content
from lextables.pipeline.errors import BadInput
from lextables.registry import modules
from lextables.registry.paper import Name, Paper

TASKS = ("retrieval", "spans", "classification", "answers")
SEE_SCHEMA = "correct it there (the schema is in workflow/schemas)"


def task_type(kind: str) -> type[Entry]:
    """The class of the tasks of a kind."""
    return import_module(f"lextables.tasks.{kind}.planner").TASK


def model_of(paper: str, kinds: Iterable[str] = TASKS) -> type[Paper]:
    """The class of a paper's entry whose tasks are of these kinds.

    Only the planners of these kinds are imported.
    """
    base = Paper
    if modules.has(paper, "entry"):
        base = modules.module(paper, "entry").ENTRY
    types = tuple(map(task_type, kinds))
    task: Any = types[0]
    # Pydantic chooses among several classes by the field `task`, the kind.
    if len(types) > 1:
        task = Annotated[Union[types], Field(discriminator="task")]  # noqa: UP007
    # The paper's class, in which `tasks` has the type of these tasks instead of `Any`.
    return create_model(
        base.__name__, __base__=base, __doc__=base.__doc__, tasks=(dict[Name, task], {})
    )


def load(path: str | Path) -> Paper:
    """Read and check a paper's file; `BadInput` names the key of the first error."""
    path = Path(path)
    checked(Name, path.stem, where=path.name, do="rename the file")
    values = content(path)
    # Only the planners of the paper's own tasks are imported.
    model = model_of(path.stem, _kinds(values))
    return checked(model, values, where=path.name, do=SEE_SCHEMA)


def _kinds(values: Any) -> list[str]:
    """Return the kinds of a paper's tasks; all kinds if the file has an error, which a
    check will report.
    """
    try:
        kinds = {task["task"] for task in values["tasks"].values()}
    except (AttributeError, KeyError, TypeError):
        return sorted(TASKS)
    return sorted(kinds) if kinds and kinds <= {*TASKS} else sorted(TASKS)


def load_all(paths: Mapping[str, str]) -> dict[str, Paper]:
    """Load {paper: its file}.

    Raises `BadInput` if two papers have a data set of the same name, or the key
    `review`: a run has at most one review.
    """
    papers = {name: load(path) for name, path in paths.items()}
    owners: dict[str, str] = {}
    for name, paper in papers.items():
        # Tasks have the name of their data set.
        for data_set in {*paper.data, *paper.tasks}:
            other = owners.setdefault(data_set, name)
            if other != name:
                raise BadInput(
                    f"the data set {data_set} is also one of {other}",
                    where=Path(paths[name]).name,
                    do="rename one of them",
                )
    reviewing = [name for name, paper in papers.items() if paper.review]
    if len(reviewing) > 1:
        raise BadInput(
            f"{' and '.join(reviewing)} have the key review",
            where="resources/papers",
            do="remove it from all but one",
        )
    return papers
