"""LawngNLI, Appendix A.1.8, last step: each example's contradictory twin."""

from collections.abc import Iterable, Iterator
from typing import Any

from lextables.papers.lawngnli.labels import OPPOSITE, Row, contradicted


def twin(row: Row) -> dict[str, Any]:
    """Return the contradictory twin of a labelled example (Appendix A.1.8).

    The premise stays; the hypothesis loses or gains pivotal negation; Entail and Contradict change
    places and Neutral stays; ``is_twin`` is true.  The split is the example's own, so a pair of twins
    is never parted.
    """
    return {**contradicted(row), "label": OPPOSITE[row["label"]], "is_twin": True}


def twinned(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Yield each labelled example (``is_twin`` false), and its twin right after it."""
    for row in rows:
        yield {**row, "is_twin": False}
        yield twin(row)
