"""Choice of the trial with the highest AUPR on the held-out contracts."""

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
    """Return the trial with the highest AUPR on the held-out contracts, and the AUPR of each trial.

    ``searched`` are the predictions of the searches, one for each trial and in the same order; ``asked`` are
    the questions about the held-out contracts; ``relaxed`` and ``low_thresholds`` are the scorer's.  Ties go
    to the first trial.
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
