"""Released evaluator of ContractEval-style outputs: an output is correct if it contains every gold text.

An output is the text that a system writes for one question about a contract: quoted passages, or `NO_CLAUSE`.
The rules are the released code's, including these:

- The length of an output is not limited: a whole contract contains every gold text.
- An output says that there is no clause if `NO_CLAUSE` occurs anywhere in it, in any case.  For a question
  with gold texts only containment counts, so an output may say so and be correct.
- F1 and F2 are computed from one confusion matrix over all questions.  The released code divides by zero
  without a correct output; here both are 0.
- The false rate is the share of the questions with gold texts whose output says that there is no clause.
- The Jaccard index is between sets of words, averaged over questions with gold texts.  Words are separated
  by single blanks and slashes; a line break does not separate words.
"""

from collections import defaultdict
from collections.abc import (
    Iterable,
    Mapping,
    Sequence,
)
from operator import itemgetter

import numpy as np

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
from lextables.metrics.ratio import ratio
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput

NO_CLAUSE = "No related clause."
METRICS = ("F1", "F2", "Jaccard", "false rate", "precision", "recall")
LOWER = "false rate"  # the metric of which lower values are better
_CLAIM = "no related clause"
_ENDS = " \n`"
_REMOVED = str.maketrans("/", " ", ".,;:")
# Per question: true positives, false positives, false negatives, gold texts denied, Jaccard index.
COUNTS = 5


def counts(output: str, golds: Sequence[str]) -> tuple[float, ...]:
    """Return the `COUNTS` of one output; ``golds`` are the gold texts of its question."""
    text = output.strip(_ENDS)
    denied = denies(output)
    if not golds:
        return 0, not denied, 0, 0, 0
    correct = all(gold.strip(_ENDS) in text for gold in golds)
    similarity = _jaccard(" ".join(golds), text)
    return correct, 0, not correct, denied, similarity


def denies(output: str) -> bool:
    """Whether an output says that there is no related clause."""
    return _CLAIM in output.lower()


def _jaccard(gold: str, output: str) -> float:
    first = _words(gold)
    second = _words(output)
    shared = first & second
    return len(shared) / len(first | second)


def _words(text: str) -> set[str]:
    return set(text.translate(_REMOVED).lower().split(" "))


def values(totals: np.ndarray) -> dict[str, np.ndarray]:
    """Return {metric: value, float64 (...)} for sums of `counts`, float64 (..., `COUNTS`)."""
    correct, false, missed, denied, jaccard = np.moveaxis(totals, -1, 0)
    positive = correct + missed
    return {
        "F1": ratio(2 * correct, 2 * correct + missed + false, 0.0),
        "F2": ratio(5 * correct, 5 * correct + 4 * missed + false, 0.0),
        "Jaccard": ratio(jaccard, positive, 0.0),
        "false rate": ratio(denied, positive, 0.0),
        "precision": ratio(correct, correct + false, 0.0),
        "recall": ratio(correct, positive, 0.0),
    }


def scores(
    outputs: Mapping[str, tuple[float, ...]],
    contracts: Mapping[str, str],
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[list[Row], list[Row]]:
    """Return the rows of `run.SCORES` and of `units.UNITS`, sorted.

    ``outputs`` maps questions to their `counts`, ``contracts`` questions to contracts.  Intervals are 95 %
    percentile bootstrap intervals over contracts.  Raises `BadInput` for a question without an output.
    """
    missing = sorted(contracts.keys() - outputs.keys())
    if missing:
        what = f"{len(missing)} questions have no output, the first {missing[0]!r}"
        raise BadInput(
            what,
            where="the predictions",
            do="write one for each test question",
        )
    questions = sorted(contracts)
    names, unit = np.unique(
        [contracts[question] for question in questions], return_inverse=True
    )
    counted = [outputs[question] for question in questions]
    by_contract = np.zeros((len(names), COUNTS))
    np.add.at(
        by_contract,
        unit,
        np.array(counted, dtype=np.float64),
    )
    total = by_contract.sum(axis=0)
    overall = values(total)
    without = values(total - by_contract)
    drawn: dict[str, list[np.ndarray]] = {metric: [] for metric in METRICS}
    for weights in resampled_weights(len(names), seed, resamples):
        for metric, batch in values(weights @ by_contract).items():
            drawn[metric].append(batch)
    rows: list[Row] = []
    units: list[Row] = []
    for metric in sorted(METRICS):
        value = float(overall[metric])
        interval = percentile_interval(np.concatenate(drawn[metric]))
        rows.append(score_row(metric, "all", value, len(questions)))
        rows += interval_rows(metric, "all", interval, len(names))
        contributions = pseudo_values(value, without[metric])
        units += unit_rows(
            metric,
            "all",
            names.tolist(),
            contributions,
        )
    return by_key(rows), units


def gold_texts(answers: Iterable[Row]) -> dict[str, list[str]]:
    """Return {question: its gold texts, in the release's order}; questions without one are left out."""
    golds: dict[str, list[str]] = defaultdict(list)
    for row in sorted(answers, key=itemgetter("question_id", "index")):
        golds[row["question_id"]].append(row["text"])
    return dict(golds)
