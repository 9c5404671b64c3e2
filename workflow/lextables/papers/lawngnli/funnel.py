"""The funnel from citations to examples: how many are left after each step of the construction."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class FunnelStep:
    """One line of the funnel: how many are left after a step, and as a share of those before it."""

    step: str
    left: int
    of_previous: float | None


def funnel(counts: Iterable[tuple[str, int]]) -> list[FunnelStep]:
    """Return the funnel over (step, how many are left) in the order of the construction.

    The share is above 1 where a step adds (twinning); there is none of nothing.
    """
    steps: list[FunnelStep] = []
    for step, left in counts:
        previous = steps[-1].left if steps else left
        steps.append(FunnelStep(step, left, left / previous if previous else None))
    return steps
