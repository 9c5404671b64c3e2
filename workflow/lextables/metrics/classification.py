"""Scores of a classification task with one or more heads.

A head is a question with its answer options.  In a single-label task the answer with
the greatest logit is chosen (the first of equals); in a multi-label task every answer
with a probability above one half.

A metric (`METRICS`) takes a head and rows of example weights, and returns a value for
each row: the value over all examples if all weights are 1, and the value without a unit
if the weights of its examples are 0.  Weighted counts equal scikit-learn's counts over
repeated examples; tests compare the two.

A question's value is the mean over its heads.  A category's value and the overall value
are means over questions.

`scores_and_jackknives`, at the end, scores a run.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.metrics.intervals import Jackknife, by_key, score_row
from lextables.metrics.ratio import ratio
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput

NAN = math.nan
# Up to this many units each unit is left out in turn; above it, each of `GROUPS` random
# groups.
MOST_UNITS = 1000
GROUPS = 200
GROUPED = "group "  # prefix of the name of a random group of units
_BATCH = 100  # rows of weights for which a metric is computed together
# Probabilities are clipped to this distance from 0 and 1 before log odds are taken.
_CERTAIN = 1e-16


@dataclass(frozen=True)
class Head:
    """A head with its n scored examples.

    ``right`` and ``chosen`` bool (n, answers); ``ranking`` float (n, answers): the
    score of each answer, such as its probability; ``units`` (n,): the sampling unit of
    each example.
    """

    head_id: str
    question: str | None
    category: str | None
    right: np.ndarray
    chosen: np.ndarray
    ranking: np.ndarray
    units: np.ndarray


Metric = Callable[[Head, np.ndarray], np.ndarray]


# Metrics take a head and float weights (rows, n) of its examples and return float64
# (rows,); NaN: undefined.


def accuracy(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the share of examples whose chosen answers are exactly the right ones."""
    exact = (head.right == head.chosen).all(axis=1)
    return ratio(_summed(weights, exact), weights.sum(axis=1))


def balanced_accuracy(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the mean recall over the answers with at least one example."""
    hits, right, _ = _counts(head, weights)
    return nanmean(ratio(hits, right), axis=1)


def micro_f1(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return F1 over all decisions together; equal to the accuracy in a single-label
    task.

    0 where no answer is right or chosen.
    """
    hits, right, chosen = _counts(head, weights)
    decisions = right.sum(axis=1) + chosen.sum(axis=1)
    values = ratio(2 * hits.sum(axis=1), decisions, 0.0)
    return np.where(weights.sum(axis=1) > 0, values, NAN)


def macro_f1(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the mean F1 over the answers that are right or chosen at least once.

    Equals scikit-learn's ``f1_score(average="macro", zero_division=0)`` with these
    labels, which are its default in a single-label task (such as MAUD's).
    """
    hits, right, chosen = _counts(head, weights)
    return nanmean(ratio(2 * hits, right + chosen), axis=1)


def aupr(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the mean over answers of the average precision of the answer's rarer side.

    The rarer side (the examples with or without the answer) is determined for each row
    of weights.  An answer that no example has, or all have, has no curve and is left
    out.
    """
    precisions = []
    for right, score in zip(head.right.T, head.ranking.T, strict=True):
        precisions.append(minority_precisions(right, score, weights))
    return nanmean(np.stack(precisions))


def random_aupr(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the expected `aupr` of random scores: the mean share of the rarer
    sides.
    """
    right = _summed(weights, head.right)
    total = weights.sum(axis=1, keepdims=True)
    rarer = np.minimum(right, total - right)
    shares = np.where(rarer > 0, ratio(rarer, total), NAN)
    return nanmean(shares, axis=1)


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "balanced accuracy": balanced_accuracy,
    "micro F1": micro_f1,
    "macro F1": macro_f1,
    "AUPR": aupr,
    "random AUPR": random_aupr,
}


def _counts(head: Head, weights: np.ndarray) -> list[np.ndarray]:
    """Return three arrays (rows, answers): the weight of the examples for which an
    answer is right and chosen, of those for which it is right, and of those for which
    it is chosen.
    """
    masks = (head.right & head.chosen, head.right, head.chosen)
    return [_summed(weights, mask) for mask in masks]


def _summed(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the sum of ``values`` (n, ...) under each row of weights."""
    return np.asarray(weights, dtype=np.float64) @ values.astype(np.float64)


def nanmean(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the mean along ``axis``, NaNs left out; NaN where all are NaN."""
    defined = ~np.isnan(values)
    counts = defined.sum(axis=axis)
    total = np.where(defined, values, 0).sum(axis=axis)
    return ratio(total, counts)


# Average precision, the area under a stepwise precision-recall curve, for many
# weightings at once.


def minority_precisions(
    positive: np.ndarray, score: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the average precision of an answer's rarer side under each row of
    ``weights`` (rows, n).

    ``positive`` bool (n,): whether an example has the answer.  ``score`` (n,): the
    model's score for it.  Where the examples without the answer are rarer, they are the
    positive side and scores are negated.  On a tie the answer stays the positive side.
    float64 (rows,); NaN where no example has the answer, or all.
    """
    count = weights[:, positive].sum(axis=1)
    total = weights.sum(axis=1)
    values = np.full(len(weights), math.nan)
    defined = (count > 0) & (count < total)
    is_common = count > total / 2
    rare = defined & ~is_common
    common = defined & is_common
    if rare.any():
        values[rare] = weighted_precisions(positive, score, weights[rare])
    if common.any():
        values[common] = weighted_precisions(~positive, -score, weights[common])
    return values


def weighted_precisions(
    positive: np.ndarray, score: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the average precision under each row of ``weights`` (rows, n), float64
    (rows,).

    The value of scikit-learn's ``average_precision_score`` with these sample weights,
    computed for all rows together.  0 where nothing is positive, NaN without examples.
    """
    if not len(score):
        return np.full(len(weights), math.nan)
    order = np.argsort(-score, kind="stable")
    # Examples of equal scores are retrieved together: the curve has a point at the last
    # example of each score.
    is_last = np.append(np.diff(score[order]) != 0, True)
    ends = np.flatnonzero(is_last)
    ranked = weights[:, order]
    hits = np.cumsum(ranked * positive[order], axis=1)[:, ends]
    retrieved = np.cumsum(ranked, axis=1)[:, ends]
    precision = ratio(hits, retrieved, 0.0)
    gained = np.diff(hits, axis=1, prepend=0)
    area = (gained * precision).sum(axis=1)
    positives = hits[:, -1]
    return ratio(area, positives, 0.0)


# Reading examples and predictions.


def matched(
    predictions: Iterable[Row], examples: Iterable[Row], heads: Iterable[Row]
) -> list[tuple[Row, list[Row], list[Row]]]:
    """Return each head with its examples and their predictions; heads and examples
    sorted by id.

    Rows as in `scores_and_jackknives`; predictions for other examples are ignored.
    Raises `BadInput` for an example of an unknown head, with a label outside the head's
    answers, without a prediction or with two, and for a prediction whose number of
    scores differs from the number of answers.
    """
    heads_by_id = {head["head_id"]: head for head in heads}
    examples_of: dict[str, dict[str, Row]] = {name: {} for name in heads_by_id}
    predictions_of: dict[str, dict[str, Row]] = {name: {} for name in heads_by_id}
    for row in examples:
        head_id = row["head_id"]
        _check_labels(row, heads_by_id.get(head_id))
        examples_of[head_id][row["example_id"]] = row
    for row in predictions:
        head_id = row["head_id"]
        example = row["example_id"]
        if example not in examples_of.get(head_id, ()):
            continue
        answers = len(heads_by_id[head_id]["answers"])
        before = predictions_of[head_id]
        _check_prediction(row, answers, before)
        before[example] = row
    matches = []
    for head_id in sorted(heads_by_id):
        ids = sorted(examples_of[head_id])
        predicted = predictions_of[head_id]
        missing = [name for name in ids if name not in predicted]
        if missing:
            what = (
                f"{len(missing)} examples of head {head_id!r} have no prediction, "
                f"the first {missing[0]!r}"
            )
            raise BadInput(what, where="predictions")
        scored = [examples_of[head_id][name] for name in ids]
        predictions_of_head = [predicted[name] for name in ids]
        matches.append((heads_by_id[head_id], scored, predictions_of_head))
    return matches


def _check_labels(row: Row, head: Row | None) -> None:
    """Raise `BadInput` for an example of an unknown head, and for a label that is not
    one of the head's answers.
    """
    head_id = row["head_id"]
    if head is None:
        what = f"head {head_id!r} is not among the heads"
        raise BadInput(what, where=_where(row))
    answers = len(head["answers"])
    for label in row["labels"]:
        if not 0 <= label < answers:
            what = f"label {label} where head {head_id!r} has {answers} answers"
            raise BadInput(what, where=_where(row))


def _check_prediction(row: Row, answers: int, before: Mapping[str, Row]) -> None:
    """Raise `BadInput` if a prediction has not as many scores as its head has
    ``answers``, or is the second one for its example.

    ``before`` has the predictions that were read so far, by example.
    """
    head = f"head {row['head_id']!r}"
    for name in ("logits", "probabilities"):
        if row.get(name) is not None and len(row[name]) != answers:
            what = f"{len(row[name])} scores where {head} has {answers} answers"
            raise BadInput(what, where=_where(row))
    if row["example_id"] in before:
        do = "score one model at one number of updates"
        raise BadInput(f"{head} has two predictions", where=_where(row), do=do)


def _where(row: Row) -> str:
    """Return the place of an error: the example."""
    return f"example {row['example_id']}"


def logits(row: Row) -> np.ndarray:
    """Return a prediction's logits (answers,), or the log odds of its probabilities
    where it has none.
    """
    stored = row.get("logits")
    if stored is not None:
        return np.asarray(stored, dtype=np.float64)
    probabilities = np.asarray(row["probabilities"], dtype=np.float64)
    clipped = np.clip(probabilities, _CERTAIN, 1 - _CERTAIN)
    return np.log(clipped) - np.log1p(-clipped)


def answered(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    *,
    multi_label: bool = False,
    unit: str | None = None,
) -> list[Head]:
    """Return the heads, sorted by id, each with its examples; arguments as in
    `scores_and_jackknives`.
    """
    answered_heads = []
    for head, rows, predicted in matched(predictions, examples, heads):
        answers = len(head["answers"])
        shape = (len(rows), answers)
        right = np.zeros(shape, dtype=bool)
        units = []
        for index, row in enumerate(rows):
            labels = row["labels"]
            if not multi_label and len(labels) != 1:
                what = (
                    f"{len(labels)} right answers where head {head['head_id']!r} "
                    "takes one"
                )
                do = "mark the task as multi-label"
                raise BadInput(what, where=_where(row), do=do)
            right[index, list(labels)] = True
            name = row[unit] if unit else None
            units.append(row["example_id"] if name is None else name)
        probability_rows = [row["probabilities"] for row in predicted]
        probabilities = _finite(probability_rows, predicted, shape)
        if multi_label:
            chosen = probabilities > 0.5
        else:
            scores = _finite([logits(row) for row in predicted], predicted, shape)
            chosen = one_of(scores.argmax(axis=1), answers)
        answered_head = Head(
            head_id=head["head_id"],
            question=head.get("question"),
            category=head.get("category"),
            right=right,
            chosen=chosen,
            ranking=probabilities,
            units=np.array(units, dtype=str),
        )
        answered_heads.append(answered_head)
    return answered_heads


def one_of(indices: np.ndarray, answers: int) -> np.ndarray:
    """Return bool (n, ``answers``), true at each example's index."""
    return indices[:, None] == np.arange(answers)


def _finite(
    values: Sequence[Sequence[float] | np.ndarray],
    rows: Sequence[Row],
    shape: tuple[int, int],
) -> np.ndarray:
    """Return the scores of a head's predictions (``rows``) as one array.

    Raises `BadInput` for a score that is not finite.
    """
    array = np.array(values, dtype=np.float64).reshape(shape)
    finite = np.isfinite(array).all(axis=1)
    if not finite.all():
        row = rows[int(np.argmin(finite))]
        what = f"a score of head {row['head_id']!r} is not a number"
        raise BadInput(what, where=_where(row))
    return array


# Means over heads, questions and categories.


def by_head(metric: Metric, heads: Sequence[Head]) -> dict[str, float]:
    """Return {head id: the metric over all examples of the head}."""
    values = {}
    for head in heads:
        weights = np.ones((1, len(head.units)))
        values[head.head_id] = float(metric(head, weights)[0])
    return values


def averaged(
    metric: str, heads: Sequence[Head], values: Mapping[str, float]
) -> list[Row]:
    """Return the rows of one metric from its ``values`` by head id (NaN: undefined).

    n is the number of averaged items: examples for a head, heads for a question, and
    questions for the other groups.
    """
    rows = []
    head_by_question = {}
    for head in heads:
        name = f"head: {head.head_id}"
        rows.append(score_row(metric, name, values[head.head_id], len(head.units)))
        head_by_question[_question(head)] = head
    groups: dict[str, list[float]] = defaultdict(list)
    for question, head_values in by_question(heads, values).items():
        value = mean(head_values)
        head = head_by_question[question]
        if head.question is not None:
            rows.append(score_row(metric, question, value, len(head_values)))
        groups["all"].append(value)
        if head.category is not None:
            groups[f"category: {head.category}"].append(value)
    for group, means in groups.items():
        defined = [value for value in means if not math.isnan(value)]
        rows.append(score_row(metric, group, mean(means), len(defined)))
    return rows


def by_question(
    heads: Sequence[Head], values: Mapping[str, float]
) -> dict[str, list[float]]:
    """Return {question: the values of its heads that are not NaN}, which may be
    empty.
    """
    values_by_question: dict[str, list[float]] = {}
    for head in heads:
        question = values_by_question.setdefault(_question(head), [])
        value = values[head.head_id]
        if not math.isnan(value):
            question.append(value)
    return values_by_question


def _question(head: Head) -> str:
    """Return the group of a head's question; a head without one is a question of its
    own.
    """
    if head.question is None:
        return f"head: {head.head_id}"
    return f"question: {head.question}"


def mean(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN; NaN where all are."""
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return NAN
    return math.fsum(defined) / len(defined)


def weighted(
    metric: Metric, heads: Sequence[Head], units: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the overall value of ``metric`` under each row of ``weights`` (rows,
    units), float64 (rows,).

    ``units`` are sorted.  A unit's weight applies to all its examples of all heads.
    """
    values: dict[str, list[np.ndarray]] = defaultdict(list)
    for head in heads:
        example_weights = weights[:, np.searchsorted(units, head.units)]
        values[_question(head)].append(metric(head, example_weights))
    questions = [nanmean(np.stack(head_values)) for head_values in values.values()]
    return nanmean(np.stack(questions))


# Intervals.


def left_out(
    metric: Metric,
    heads: Sequence[Head],
    units: np.ndarray,
    groups: np.ndarray,
    batch: int = _BATCH,
) -> np.ndarray:
    """Return the overall value without each group of ``units`` in turn, float64
    (groups,).

    ``groups`` int (units,), from 0: the group of each unit.  ``batch`` groups are
    computed together, which limits the memory.
    """
    numbers = np.unique(groups)
    values = [np.empty(0)]
    for at in range(0, len(numbers), batch):
        weights = groups != numbers[at : at + batch, None]
        values.append(weighted(metric, heads, units, weights.astype(np.float64)))
    return np.concatenate(values)


def unit_groups(units: int, most: float = MOST_UNITS) -> np.ndarray:
    """Return the group of each unit, int (units,): its own, or one of `GROUPS` above
    ``most`` units.

    Units are assigned at random, since neighbours may be similar.  Group sizes differ
    by one at most.
    """
    if units <= most:
        return np.arange(units)
    return np.random.default_rng(0).permutation(units) % GROUPS


def jackknives(
    name: str,
    metric: Metric,
    heads: Sequence[Head],
    most: float = MOST_UNITS,
    *,
    of_heads: bool = False,
) -> Iterator[Jackknife]:
    """Yield the jackknife of a metric overall, of each category and, with ``of_heads``,
    of each head.

    Each unit is left out in turn.  With more than ``most`` units, each of `GROUPS`
    random groups of units is left out instead.
    """
    members_of: dict[str, list[Head]] = {"all": list(heads)}
    for head in heads:
        if head.category is not None:
            category = f"category: {head.category}"
            members_of.setdefault(category, []).append(head)
    if of_heads:
        for head in heads:
            members_of[f"head: {head.head_id}"] = [head]
    for group, members in members_of.items():
        example_units = [head.units for head in members if len(head.units)]
        if not example_units:
            continue
        units = np.unique(np.concatenate(example_units))
        everything = np.ones((1, len(units)))
        value = weighted(metric, members, units, everything)
        groups = unit_groups(len(units), most)
        without = left_out(metric, members, units, groups)
        names = units.tolist()
        if len(without) < len(units):
            names = _group_names(units, groups)
        yield Jackknife(
            metric=name,
            group=group,
            value=float(value[0]),
            without=without,
            units=len(units),
            names=names,
            # Coverage on this scale was measured for the AUPR only
            # (docs/statistics.md).
            log_odds=metric is aupr,
        )


def _group_names(units: np.ndarray, groups: np.ndarray) -> list[str]:
    """Return a name for each group, a digest of its units."""
    names = []
    for number in np.unique(groups):
        members = units[groups == number].tolist()
        digest = hashlib.sha256("\n".join(members).encode())
        names.append(f"{GROUPED}{digest.hexdigest()[:16]}")
    return names


def scores_and_jackknives(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    *,
    metrics: Sequence[str],
    multi_label: bool = False,
    unit: str | None = None,
) -> tuple[list[Row], list[Jackknife]]:
    """Score the predictions of one run; rows as `run.SCORES`, sorted by its key.

    ``predictions``: head_id, example_id, logits (default: the log odds of the
    probabilities) and probabilities, one per answer.  ``examples`` to score: head_id,
    example_id, labels (indices of the right answers, exactly one unless
    ``multi_label``) and the column ``unit``, the sampling unit (default: the example
    itself).  ``heads``: head_id, answers (list) and, optionally, question and category.

    ``metrics`` are names of `METRICS`.  Groups are ``all``, each ``head``, ``question``
    and ``category``.  ``all`` and categories also get 95 % jackknife intervals
    (``<metric>, low`` and ``<metric>, high``).

    Raises `BadInput` for an unknown metric, in the cases of `matched`, for a number of
    labels that does not fit ``multi_label``, and for scores that are not finite.

    Also returns the jackknives of each metric for ``all``, categories and heads.
    """
    for name in metrics:
        if name not in METRICS:
            do = f"use {', '.join(METRICS)}"
            raise BadInput(f"there is no metric {name!r}", where="metrics", do=do)
    answered_heads = answered(
        predictions, examples, heads, multi_label=multi_label, unit=unit
    )
    rows: list[Row] = []
    jackknifed: list[Jackknife] = []
    for name in dict.fromkeys(metrics):
        rows += averaged(name, answered_heads, by_head(METRICS[name], answered_heads))
        jackknifed += jackknives(name, METRICS[name], answered_heads, of_heads=True)
    for jackknife in jackknifed:
        if not jackknife.group.startswith("head: "):
            rows += jackknife.ends()
    return by_key(rows), jackknifed
