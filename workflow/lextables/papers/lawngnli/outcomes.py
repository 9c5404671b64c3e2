"""The Entail candidates of a shard, joined with the results of the contradiction algorithm."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lextables.pipeline import dataset


def outcomes(
    contradictions: str | Path,
    parentheticals: str | Path,
    of_outcome: list[str] | None = None,
    of_row: list[str] | None = None,
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield (outcome, parenthetical) for each candidate.

    ``of_outcome`` and ``of_row`` select columns and must include ``example_id``; None reads all columns.
    Raises ValueError if the files are not of the same shard.
    """
    for outcome, row in zip(
        dataset.read(contradictions, of_outcome), dataset.read(parentheticals, of_row), strict=True
    ):
        if outcome["example_id"] != row["example_id"]:
            raise ValueError(f"{contradictions} and {parentheticals} are not of one shard")
        yield outcome, row
