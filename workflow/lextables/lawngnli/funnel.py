"""The funnel from citations to examples: how many are left after each step of the construction."""

from collections.abc import Iterable
from dataclasses import dataclass

from lextables.errors import BadInput


@dataclass(frozen=True)
class FunnelStep:
    """One line of the funnel: how many are left after a step, and as shares, 0 to 1."""

    step: str
    left: int
    dropped: int
    of_previous: float | None
    of_first: float | None


def funnel(counts: Iterable[tuple[str, int]]) -> list[FunnelStep]:
    """Return the funnel over (step, how many are left) in the order of the construction.

    ``dropped`` is negative where a step adds (twinning).  There is no share of nothing.
    """
    steps: list[FunnelStep] = []
    for step, left in counts:
        previous = steps[-1].left if steps else left
        first = steps[0].left if steps else left
        steps.append(FunnelStep(step, left, previous - left, _share(left, previous), _share(left, first)))
    return steps


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def check_left(counts: Iterable[tuple[str, int]]) -> None:
    """Raise `BadInput` naming the first step that left nothing: no one can train on an empty data set."""
    before = ""
    for step, left in counts:
        if not left:
            raise BadInput(
                f"no example is left: 0 after the step {step!r}{before}",
                where="LawngNLI",
                do="name more volumes in caselaw, such as those that these cite",
            )
        before = f", {left:,} before it"
