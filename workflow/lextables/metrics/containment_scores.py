"""Scores of text outputs in both modes, with intervals over contracts.

Paper mode is the released evaluator (`containment`).

**Strict mode** has F1, F2, precision and recall of outputs that are also not padded: at
least half of the words in the output or in the expected text are common to both (a
Jaccard index of at least 0.5 of `metrics.spans.strict_words`, CUAD's rule for a
matching span).  The expected text is all gold texts, or `NO_CLAUSE` for a question
without one.  An output that says there is no clause is incorrect for a question with
gold texts, even if it also quotes them, unless a gold text says so itself.

This module is separate from `containment` because steps before scoring import that one,
and a change of the scores must not rerun these steps.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lextables.metrics import STRICT
from lextables.metrics.containment import (
    COUNTS,
    ENDS,
    METRICS,
    NO_CLAUSE,
    contains,
    counts,
    denies,
    of_confusion,
    values,
)
from lextables.metrics.intervals import (
    RESAMPLES,
    by_key,
    interval_rows,
    percentile_interval,
    pseudo_values,
    resampled_weights,
    score_row,
    unit_rows,
)
from lextables.metrics.spans import similar, strict_words
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput

# Metrics of the confusion matrix: strict mode has them too, with other values.
CONFUSION = ("F1", "F2", "precision", "recall")
ALL_METRICS = (*METRICS, *(f"{metric}{STRICT}" for metric in CONFUSION))
STRICT_COUNTS = 3  # true positives, false positives, false negatives


def strict_counts(output: str, golds: Sequence[str]) -> tuple[float, ...]:
    """Return the true positives, false positives and false negatives of one output;
    ``golds`` as in `counts`.
    """
    expected = " ".join(golds) if golds else NO_CLAUSE
    padded = not similar(strict_words(expected), strict_words(output))
    if not golds:
        return 0, padded or not denies(output), 0
    contradictory = denies(output) and not denies(expected)
    contained = contains(output.strip(ENDS), golds)
    correct = contained and not padded and not contradictory
    return correct, 0, not correct


def _all_values(totals: np.ndarray) -> dict[str, np.ndarray]:
    """Return {metric of `ALL_METRICS`: value, float64 (...)}.

    ``totals`` are float64 (..., `COUNTS` + `STRICT_COUNTS`): sums of the counts of
    paper mode, then of strict mode.
    """
    metric_values = values(totals[..., :COUNTS])
    strict = of_confusion(*np.moveaxis(totals[..., COUNTS:], -1, 0))
    for metric, value in strict.items():
        metric_values[metric + STRICT] = value
    return metric_values


def scores(
    outputs: Iterable[Row],
    golds: Mapping[str, Sequence[str]],
    contracts: Mapping[str, str],
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[list[Row], list[Row]]:
    """Return the rows of `run.SCORES` and of `units.UNITS`, sorted.

    ``outputs`` are rows with ``question_id`` and ``output``, ``golds`` is the result of
    `containment.gold_texts`, and ``contracts`` maps the scored questions to contracts.
    Metrics are `ALL_METRICS`.  Intervals are 95 % percentile bootstrap intervals over
    contracts.  Raises `BadInput` for a question without an output.
    """
    counts_of = {}
    for row in outputs:
        gold = golds.get(row["question_id"], ())
        in_both_modes = (
            *counts(row["output"], gold),
            *strict_counts(row["output"], gold),
        )
        counts_of[row["question_id"]] = in_both_modes
    missing = sorted(contracts.keys() - counts_of.keys())
    if missing:
        what = f"{len(missing)} questions have no output, the first {missing[0]!r}"
        raise BadInput(
            what, where="the predictions", do="write one for each test question"
        )
    # The counts of each contract are the sums over its questions.
    questions = sorted(contracts)
    names, unit = np.unique(
        [contracts[question] for question in questions], return_inverse=True
    )
    counted = [counts_of[question] for question in questions]
    by_contract = np.zeros((len(names), COUNTS + STRICT_COUNTS))
    np.add.at(by_contract, unit, np.array(counted, dtype=np.float64))
    total = by_contract.sum(axis=0)
    overall = _all_values(total)
    without = _all_values(total - by_contract)  # each contract in turn
    # The values of each resample of the contracts.
    drawn: dict[str, list[np.ndarray]] = {metric: [] for metric in ALL_METRICS}
    for weights in resampled_weights(len(names), seed, resamples):
        for metric, batch in _all_values(weights @ by_contract).items():
            drawn[metric].append(batch)
    rows: list[Row] = []
    units: list[Row] = []
    for metric in sorted(ALL_METRICS):
        value = float(overall[metric])
        interval = percentile_interval(np.concatenate(drawn[metric]))
        rows.append(score_row(metric, "all", value, len(questions)))
        rows += interval_rows(metric, "all", interval, len(names))
        contributions = pseudo_values(value, without[metric])
        units += unit_rows(metric, "all", names.tolist(), contributions)
    return by_key(rows), units
