"""Which cases' majority opinions LawngNLI needs as long premises."""

from collections.abc import Iterable
from pathlib import Path

from lextables.lawngnli.outcomes import outcomes


def cited_cases(contradictions: Iterable[str | Path], parentheticals: Iterable[str | Path]) -> set[int]:
    """Return the cases whose opinions are the premises of hypotheses that the algorithm took."""
    return {
        row["cited_case_id"]
        for paths in zip(contradictions, parentheticals, strict=True)
        for outcome, row in outcomes(*paths, ["example_id", "twin"], ["example_id", "cited_case_id"])
        if outcome["twin"] is not None
    }
