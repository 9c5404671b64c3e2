"""What a step of the construction counts in one shard, and the file that says so."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from lextables.pipeline.atomic import write_text


@dataclass(frozen=True)
class StepCounts:
    """How many are left after each step, what else was counted, and the first problems, a sentence each.

    ``funnel`` has the steps in their order.
    """

    funnel: dict[str, int]
    counts: dict[str, int]
    problems: tuple[str, ...] = ()


def write(counted: StepCounts, path: str | Path) -> None:
    """Write ``counted`` as JSON that keeps the order of the steps."""
    write_text(path, json.dumps(asdict(counted), indent=1, ensure_ascii=False) + "\n")
