"""What a paper's room decides before any job starts: its runs, and the rows of its tables."""

from dataclasses import dataclass, field
from typing import Any

from lextables.run import Run


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
