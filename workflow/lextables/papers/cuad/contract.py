"""A contract's text and limits that its readers share."""

from dataclasses import dataclass
from pathlib import Path

from lextables.pipeline.errors import BadInput

LIMIT = 5_000_000  # characters


@dataclass(frozen=True)
class Contract:
    """A contract's text, with ``\\n`` as the only line end, and notes on the parts that were not read."""

    text: str
    notes: tuple[str, ...] = ()


def too_long(path: Path) -> BadInput:
    """Return the error for a contract of more than `LIMIT` characters."""
    return BadInput(
        f"the contract has more than {LIMIT:,} characters",
        where=str(path),
        do="split it, or check that the file is one contract",
    )
