"""References: names in a paper's file that refer to something else, such as a prompt.

A task yields the references of its keys (`planner.Task.references`).  They are checked
when runs are planned (`planning.references`), so that a misspelt name is an error
before any job starts.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lextables.pipeline.errors import BadInput, did_you_mean


@dataclass(frozen=True)
class Reference:
    """The names at a ``key`` of a paper's file, each of which must be in ``known``.

    ``kind`` is the kind of thing that they name, for messages.  An empty name, or None,
    refers to nothing.
    """

    key: str
    kind: str
    names: Iterable[str | None]
    known: Collection[str]

    def check(self, file: str) -> None:
        """Raise `BadInput` for the first unknown name; ``file`` is the paper's."""
        for name in self.names:
            if not name or name in self.known:
                continue
            known = ", ".join(self.known) or "none"
            raise BadInput(
                f"there is no {self.kind} {name!r}, only {known}",
                where=f"{file}, {self.key}",
                do=did_you_mean(name, self.known) or "correct it there",
            )


@dataclass(frozen=True)
class Names:
    """The names that keys of a paper's tasks may refer to."""

    models: Collection[str]
    """Registered models."""
    prompts: Collection[str]
    """Files of `resources/prompts`, without their ending."""
    grids: Collection[str]
    """Values of the config key grid."""
    files: Mapping[str, Collection[str]]
    """{source: its files}."""
    tasks: Mapping[str, Any]
    """{data set: its task}, of the paper."""
    tasks_of_all: Collection[str]
    """Data sets with a task, of all papers."""
    heads: Mapping[str, Collection[str]]
    """{data set: its heads}, where the paper's class lists them (`Paper.HEADS`)."""
