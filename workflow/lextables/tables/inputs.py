"""What a room's tables are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.papers import Paper
from lextables.tables.published import PublishedCell


@dataclass(frozen=True)
class Inputs:
    """The data sets' folder, the rows of `plan.Plan.rows`, the folder that run folders lie in, and the print.

    ``published`` are the cells of one table; ``paper`` is the paper's registry entry.
    """

    data: Path
    root: Path
    rows: Sequence[Mapping[str, Any]]
    published: Sequence[PublishedCell]
    paper: Paper


def about(system: Mapping[str, Any], measure: str, name: str) -> dict[str, Any]:
    """What a score's cell says of the system called ``name``, which a plan's row describes.

    ``measure`` is what systems are compared by; see `cells.Cell`.
    """
    return {
        "averages": system["averages"],
        "measure": measure,
        "floor": name if system["floor"] else "",
    }
