"""What a paper's room decides before any job starts: its runs, and the rows of its tables.

A printed row takes the paper's settings or is not run.  Runs with other settings stand in a row of our own,
whose name says what differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lextables.run import Run

PAPER_GRID = "paper"  # the entry of a registry's grids that holds the paper's own settings
COUNTS = ("no seed", "one seed", "two seeds", "three seeds", "four seeds")


@dataclass(frozen=True)
class Spec:
    """What one run does, and the runs whose predictions it reads."""

    settings: dict[str, Any]
    needs: tuple[Run, ...] = ()


@dataclass(frozen=True)
class Plan:
    """All runs of a paper.

    ``rows`` maps a table to the rows in it that come from runs, as plain values for the params of its
    rule.  A row's ``runs`` maps a condition to run folders; without runs it has a ``reason``.
    """

    specs: dict[Run, Spec]
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def folders(self, table: str) -> list[str]:
        """The folders of the runs that ``table`` shows, sorted; none for a table made from data alone."""
        rows = self.rows.get(table, [])
        return sorted({folder for row in rows for runs in row["runs"].values() for folder in runs})


@dataclass(frozen=True)
class Difference:
    """How a run's settings differ from the paper's: what the printed row ``wants``, and what is ``ours``."""

    wants: str
    ours: str


def fewer_seeds(seeds: int, averages: int) -> list[Difference]:
    """The difference of a row with fewer runs than the ``averages`` that the paper takes the mean of."""
    return [Difference(_count(averages), _count(seeds))] if seeds < averages else []


def _count(seeds: int) -> str:
    return COUNTS[seeds] if seeds < len(COUNTS) else f"{seeds} seeds"


def reason_not_run(differences: Sequence[Difference]) -> str:
    """Why a printed row stays empty when what ran differs from the paper's settings."""
    return f"the paper's settings want {' and '.join(difference.wants for difference in differences)}"


def own_name(row: str, differences: Sequence[Difference]) -> str:
    """The row of our own beside the printed ``row``: its name, and what differs."""
    return ", ".join((row, *(difference.ours for difference in differences)))
