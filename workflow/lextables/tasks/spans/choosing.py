"""The choice of a trial by the area under the curve on the held-out contracts."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lextables.metrics import spans
from lextables.pipeline.dataset import Row, read


def choose(
    trials: Sequence[Mapping[str, Any]],
    searched: Sequence[str | Path],
    asked: Sequence[Row],
    answers: Iterable[Row],
    relaxed: str | None,
    low_thresholds: Sequence[float],
) -> tuple[dict[str, Any], list[float]]:
    """Return the trial with the best area on the held-out contracts, and the area of each.

    ``searched`` are the predictions of one search a trial, in the order of the trials; ``asked`` are the
    questions of the held-out contracts; ``relaxed`` and ``low_thresholds`` are those of the task's scorer.
    Of equals the first wins.
    """
    gold = spans.gold(asked, answers)
    areas = [_area(path, gold, relaxed, low_thresholds) for path in searched]
    return dict(trials[int(np.argmax(areas))]), areas


def _area(path: str | Path, gold: spans.Gold, relaxed: str | None, low_thresholds: Sequence[float]) -> float:
    nbest = spans.nbest_rows(read(path))
    spans.check_questions(nbest, gold)
    matches = spans.paper_matches(nbest, gold, relaxed)
    counts = spans.overall_counts(matches, gold, spans.sweep(low_thresholds))
    return float(spans.aupr(counts.curve())[0])
