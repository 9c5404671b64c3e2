"""Scores of one run on the test contracts: of its spans, or of its text outputs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lextables.metrics import containment, containment_scores, spans
from lextables.metrics.spans_by_contract import by_contract
from lextables.pipeline.dataset import Row, read
from lextables.tasks.spans.outputs import contract_of
from lextables.tasks.spans.squad import read_questions


def score(
    predictions: str | Path,
    questions: str | Path,
    answers: str | Path,
    evaluator: str,
    options: Mapping[str, Any],
) -> tuple[list[Row], list[Row]]:
    """Return the rows of `run.SCORES` and of `units.UNITS` of one run, from its files.

    ``evaluator`` is the task's, `spans` or `containment`; ``options`` are those of
    `metrics.spans.scores`.
    """
    asked = read_questions(questions)
    rows = read(predictions)
    if evaluator == "containment":
        golds = containment.gold_texts(read(answers))
        return containment_scores.scores(rows, golds, contract_of(asked, "test"))
    nbest = spans.nbest_rows(rows)
    gold_answers = list(read(answers))
    scores = spans.scores(nbest, asked, gold_answers, **options)
    units = by_contract(nbest, spans.gold(asked, gold_answers), **options)
    return scores, units
