"""Scores of a classification task: heads, each with its answers, and examples of which some are right.

A head is a question with its options; a task may have one or a hundred.  The chosen answer of a
single-label task is the one with the greatest logit (the first of equals); in a multi-label task each
answer whose probability is above one half is chosen.

A metric is a function of a head and of rows of weights of its examples, so that its value over all
examples and those with units left out are one computation (`METRICS`).  What they count under weights is
what scikit-learn counts under repeated examples; tests hold the two together.

A question's value is the mean over its heads, a category's and the overall one the mean over questions.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.metrics.average_precision import minority_precisions
from lextables.metrics.intervals import jackknife_interval
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput

NAN = math.nan
# Up to so many units each is left out by itself; more are dealt into groups, which are left out.
MOST_UNITS = 1000
GROUPS = 200
GROUPED = "group "  # how the name of such a group begins
_BATCH = 100
# A share of one loses the odds of what is all but certain: beyond this it counts as certain.
_CERTAIN = 1e-16


@dataclass(frozen=True)
class Head:
    """A head with its n scored examples, as metrics read it (whatever has these attributes will do).

    ``right`` and ``chosen`` bool (n, answers); ``ranking`` float (n, answers): how much speaks for each
    answer, here its probability; ``units`` (n,): what an example is sampled with.
    """

    head_id: str
    question: str | None
    category: str | None
    right: np.ndarray
    chosen: np.ndarray
    ranking: np.ndarray
    units: np.ndarray


Metric = Callable[[Head, np.ndarray], np.ndarray]


# Metrics: of a head and float weights (rows, n) of its examples, float64 (rows,); NaN where there is none.


def accuracy(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the share of examples with all of their answers right: chosen where right, and only there."""
    exact = (head.right == head.chosen).all(axis=1)
    return _ratio(_summed(weights, exact), weights.sum(axis=1))


def balanced_accuracy(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the mean recall over the answers that have an example."""
    hits, right, _ = _counts(head, weights)
    return nanmean(_ratio(hits, right), axis=1)


def micro_f1(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return F1 over all decisions together; with one right answer an example it is the accuracy.

    0 where nothing is right and nothing chosen.
    """
    hits, right, chosen = (counts.sum(axis=1) for counts in _counts(head, weights))
    decided = right + chosen > 0
    values = np.divide(2 * hits, right + chosen, out=np.zeros(len(hits)), where=decided)
    return np.where(weights.sum(axis=1) > 0, values, NAN)


def macro_f1(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the mean F1 over the answers that are right or chosen at least once.

    scikit-learn's ``f1_score(average="macro", zero_division=0)``, whose default set of labels this is in a
    single-label task (and so MAUD's); of a multi-label task give it these labels.
    """
    hits, right, chosen = _counts(head, weights)
    return nanmean(_ratio(2 * hits, right + chosen), axis=1)


def aupr(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return the mean over answers of the area under the precision-recall curve of the answer's rarer side.

    The area is the stepwise average precision.  The rarer side, the examples with the answer or the rest,
    is settled anew under each row of weights.  An answer that no example has, or all, has no curve and is
    left out.
    """
    sides = zip(head.right.T, head.ranking.T, strict=True)
    return nanmean(np.stack([minority_precisions(right, score, weights) for right, score in sides]))


def random_aupr(head: Head, weights: np.ndarray) -> np.ndarray:
    """Return what random scores are expected to reach of `aupr`: the mean share of the rarer sides."""
    right, total = _summed(weights, head.right), weights.sum(axis=1, keepdims=True)
    rarer = np.minimum(right, total - right)
    return nanmean(np.where(rarer > 0, _ratio(rarer, total), NAN), axis=1)


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "balanced accuracy": balanced_accuracy,
    "micro F1": micro_f1,
    "macro F1": macro_f1,
    "AUPR": aupr,
    "random AUPR": random_aupr,
}


def _counts(head: Head, weights: np.ndarray) -> Iterator[np.ndarray]:
    """Yield how many examples have each answer both right and chosen, right, and chosen, (rows, answers)."""
    return (_summed(weights, which) for which in (head.right & head.chosen, head.right, head.chosen))


def _summed(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.asarray(weights, dtype=np.float64) @ values.astype(np.float64)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    whole = np.broadcast_to(whole, part.shape)
    return np.divide(part, whole, out=np.full(part.shape, NAN), where=whole > 0)


def nanmean(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the mean along ``axis``, NaNs left out; NaN where there is nothing else."""
    defined = ~np.isnan(values)
    counts = defined.sum(axis=axis)
    total = np.where(defined, values, 0).sum(axis=axis)
    return np.divide(total, counts, out=np.full(total.shape, NAN), where=counts > 0)


# What is read.


def matched(
    predictions: Iterable[Row], examples: Iterable[Row], heads: Iterable[Row]
) -> list[tuple[Row, list[Row], list[Row]]]:
    """Return each head with its examples and their predictions; heads and examples sorted by id.

    Rows as in `scores`; predictions for other examples are passed over.  `BadInput` for an example of an
    unknown head, with a label that the head has no answer for, without a prediction or with two, and for a
    prediction whose number of scores does not fit the head's answers.
    """
    known = {head["head_id"]: head for head in heads}
    asked: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in examples:
        if row["head_id"] not in known:
            raise BadInput(f"head {row['head_id']!r} is not among the heads", where=_where(row))
        answers = len(known[row["head_id"]]["answers"])
        for label in row["labels"]:
            if not 0 <= label < answers:
                raise BadInput(
                    f"label {label} where head {row['head_id']!r} has {answers} answers", where=_where(row)
                )
        asked[row["head_id"]][row["example_id"]] = row
    given: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in predictions:
        if row["example_id"] in asked.get(row["head_id"], ()):
            _check_prediction(row, len(known[row["head_id"]]["answers"]), given[row["head_id"]])
            given[row["head_id"]][row["example_id"]] = row
    found = []
    for head_id, head in sorted(known.items()):
        if missing := sorted(asked[head_id].keys() - given[head_id].keys()):
            raise BadInput(
                f"{len(missing)} examples of head {head_id!r} have no prediction, the first {missing[0]!r}",
                where="predictions",
            )
        ids = sorted(asked[head_id])
        found.append((head, [asked[head_id][i] for i in ids], [given[head_id][i] for i in ids]))
    return found


def _check_prediction(row: Row, answers: int, before: Mapping[str, Row]) -> None:
    for name in ("logits", "probabilities"):
        if row.get(name) is not None and len(row[name]) != answers:
            raise BadInput(
                f"{len(row[name])} scores where head {row['head_id']!r} has {answers} answers",
                where=_where(row),
            )
    if row["example_id"] in before:
        raise BadInput(
            f"head {row['head_id']!r} has two predictions",
            where=_where(row),
            do="score one model at one number of updates",
        )


def _where(row: Row) -> str:
    return f"example {row['example_id']}"


def logits(row: Row) -> np.ndarray:
    """Return a prediction's logits (answers,), or the log odds of its probabilities where it has none."""
    if row.get("logits") is not None:
        return np.asarray(row["logits"], dtype=np.float64)
    shares = np.clip(np.asarray(row["probabilities"], dtype=np.float64), _CERTAIN, 1 - _CERTAIN)
    return np.log(shares) - np.log1p(-shares)


def answered(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    *,
    multi_label: bool = False,
    unit: str | None = None,
) -> list[Head]:
    """Return the heads, sorted by id, each with its examples; arguments and errors as in `scores`."""
    found = []
    for head, rows, given in matched(predictions, examples, heads):
        shape = (len(rows), len(head["answers"]))
        right = np.zeros(shape, dtype=bool)
        for at, row in enumerate(rows):
            if not multi_label and len(row["labels"]) != 1:
                raise BadInput(
                    f"{len(row['labels'])} right answers where head {head['head_id']!r} takes one",
                    where=_where(row),
                    do="mark the task as multi-label",
                )
            right[at, list(row["labels"])] = True
        probabilities = _numbers([row["probabilities"] for row in given], given, shape)
        if multi_label:
            chosen = probabilities > 0.5
        else:
            chosen = one_of(_numbers([logits(row) for row in given], given, shape).argmax(axis=1), shape[1])
        named = [None if unit is None else row[unit] for row in rows]
        units = [row["example_id"] if name is None else name for name, row in zip(named, rows, strict=True)]
        found.append(
            Head(
                head["head_id"],
                head.get("question"),
                head.get("category"),
                right,
                chosen,
                probabilities,
                np.array(units, dtype=str),
            )
        )
    return found


def one_of(indices: np.ndarray, answers: int) -> np.ndarray:
    """Return bool (n, ``answers``), true at each example's index."""
    return indices[:, None] == np.arange(answers)


def _numbers(values: Sequence[Sequence[float]], given: Sequence[Row], shape: tuple[int, int]) -> np.ndarray:
    found = np.array(values, dtype=np.float64).reshape(shape)
    if not (finite := np.isfinite(found).all(axis=1)).all():
        row = given[int(np.argmin(finite))]
        raise BadInput(f"a score of head {row['head_id']!r} is not a number", where=_where(row))
    return found


# From heads to questions, and from there to categories and to all.


def by_head(metric: Metric, heads: Sequence[Head]) -> dict[str, float]:
    """Return {head: the metric over all of its examples}."""
    return {head.head_id: float(metric(head, np.ones((1, len(head.units))))[0]) for head in heads}


def averaged(metric: str, heads: Sequence[Head], values: Mapping[str, float]) -> list[Row]:
    """Return the rows of one metric, given its value for each head (NaN: none).

    n is how many a mean is over: a head's examples, a question's heads, the questions of the rest.
    """
    rows = [score_row(metric, f"head: {h.head_id}", values[h.head_id], len(h.units)) for h in heads]
    groups: dict[str, list[float]] = defaultdict(list)
    of_question = {_question(head): head for head in heads}
    for question, of_heads in by_question(heads, values).items():
        if of_question[question].question is not None:
            rows.append(score_row(metric, question, mean(of_heads), len(of_heads)))
        groups["all"].append(mean(of_heads))
        if (category := of_question[question].category) is not None:
            groups[f"category: {category}"].append(mean(of_heads))
    for group, means in groups.items():
        rows.append(score_row(metric, group, mean(means), sum(not math.isnan(value) for value in means)))
    return rows


def by_question(heads: Sequence[Head], values: Mapping[str, float]) -> dict[str, list[float]]:
    """Return {question: values of its heads that have one}, empty lists included."""
    found: dict[str, list[float]] = {_question(head): [] for head in heads}
    for head in heads:
        if not math.isnan(values[head.head_id]):
            found[_question(head)].append(values[head.head_id])
    return found


def _question(head: Head) -> str:
    """Return the group of a head's question; a head that names none is a question of its own."""
    return f"head: {head.head_id}" if head.question is None else f"question: {head.question}"


def score_row(metric: str, group: str, value: float, n: int) -> Row:
    """Return a row as `run.SCORES` has it."""
    return {"metric": metric, "group": group, "value": value, "n": n}


def mean(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN; NaN where there is none."""
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else NAN


def weighted(metric: Metric, heads: Sequence[Head], units: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the overall value of ``metric`` under each row of ``weights`` (rows, units), float64 (rows,).

    ``units`` are sorted.  A unit brings all its examples of all heads.
    """
    values: dict[str, list[np.ndarray]] = defaultdict(list)
    for head in heads:
        values[_question(head)].append(metric(head, weights[:, np.searchsorted(units, head.units)]))
    return nanmean(np.stack([nanmean(np.stack(of_heads)) for of_heads in values.values()]))


# Intervals.


def left_out(
    metric: Metric, heads: Sequence[Head], units: np.ndarray, groups: np.ndarray, batch: int = _BATCH
) -> np.ndarray:
    """Return the overall value without each group of ``units`` in turn, float64 (groups,).

    ``groups`` int (units,), from 0: the group of each unit.
    """
    numbers = np.unique(groups)
    found = [
        weighted(metric, heads, units, (groups != numbers[at : at + batch, None]).astype(np.float64))
        for at in range(0, len(numbers), batch)
    ]
    return np.concatenate([np.empty(0), *found])


def dealt(units: int, most: float = MOST_UNITS) -> np.ndarray:
    """Return the group of each unit, int (units,): each its own, or, of more than ``most``, one of `GROUPS`.

    They are dealt at random, since neighbours may be alike, in groups whose sizes differ by one at most.
    """
    if units <= most:
        return np.arange(units)
    return np.random.default_rng(0).permutation(units) % GROUPS


@dataclass(frozen=True)
class Jackknife:
    """The value of a metric for a group of heads, and ``without`` float64 (k,) what it is each time less is
    left.

    ``units`` counts what was sampled; ``names`` (k,) are the units themselves, or names of groups of them,
    which are alike for runs on the same units and for no others.
    """

    metric: str
    group: str
    value: float
    without: np.ndarray
    units: int
    names: Sequence[str]

    def ends(self) -> list[Row]:
        """Return the 95 % interval as two rows of scores, or none where there is none; n counts the units."""
        ends = jackknife_interval(self.value, self.without, within=(0, 1)) or ()
        return [
            score_row(f"{self.metric}, {end}", self.group, value, self.units)
            for end, value in zip(("low", "high"), ends, strict=False)
        ]


def jackknives(
    name: str, metric: Metric, heads: Sequence[Head], most: float = MOST_UNITS, *, of_heads: bool = False
) -> Iterator[Jackknife]:
    """Leave units out of a metric overall, of each category and, where ``of_heads``, of each head.

    Each unit is left out in turn, or, where there are more than ``most``, each of `GROUPS` random groups.
    """
    among: dict[str, list[Head]] = {"all": list(heads)}
    for head in heads:
        if head.category is not None:
            among.setdefault(f"category: {head.category}", []).append(head)
    if of_heads:
        among |= {f"head: {head.head_id}": [head] for head in heads}
    for group, found in among.items():
        units = np.unique(np.concatenate([head.units for head in found])) if found else np.empty(0)
        if not len(units):
            continue
        whole = float(weighted(metric, found, units, np.ones((1, len(units))))[0])
        groups = dealt(len(units), most)
        without = left_out(metric, found, units, groups)
        names = units if len(without) == len(units) else _named(units, groups)
        yield Jackknife(name, group, whole, without, len(units), names)


def _named(units: np.ndarray, groups: np.ndarray) -> list[str]:
    """Return a name for each group of units that no other group of units has."""
    joined = ("\n".join(map(str, units[groups == number])) for number in np.unique(groups))
    return [f"{GROUPED}{hashlib.sha256(names.encode()).hexdigest()[:16]}" for names in joined]


def intervals(name: str, heads: Sequence[Head], metric: Metric, most: float = MOST_UNITS) -> list[Row]:
    """Return the 95 % jackknife intervals of a metric over units, overall and of each category.

    Two rows each, ``<name>, low`` and ``<name>, high``, where there is one; arguments as in `jackknives`.
    """
    return [row for found in jackknives(name, metric, heads, most) for row in found.ends()]


def scores(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    *,
    metrics: Sequence[str],
    multi_label: bool = False,
    unit: str | None = None,
) -> list[Row]:
    """Score the predictions of one run; rows as `run.SCORES`, sorted by its key.

    ``predictions``: head_id, example_id, logits (the log odds of the probabilities serve where they are
    missing) and probabilities, one an answer.  ``examples``, those to score: head_id, example_id, labels
    (list of the indices of right answers, exactly one unless ``multi_label``) and the column that ``unit``
    names: what is left out together; an example without one stands for itself.  ``heads``: head_id,
    answers (list) and, optionally, question and category.

    ``metrics`` are names of `METRICS`, for ``all``, each ``head``, and, where heads have them, each
    ``question`` and ``category``; the 95 % jackknife interval of each (``<metric>, low`` and ``<metric>,
    high``) for ``all`` and each ``category``.

    Raises `BadInput` for an unknown metric and, naming the example, for a head, a label or a number of
    labels that does not fit, no prediction or two, and scores that do not fit the answers.
    """
    told = {"metrics": metrics, "multi_label": multi_label, "unit": unit}
    return scores_and_jackknives(predictions, examples, heads, **told)[0]


def scores_and_jackknives(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    *,
    metrics: Sequence[str],
    multi_label: bool = False,
    unit: str | None = None,
) -> tuple[list[Row], list[Jackknife]]:
    """Return `scores`, and each metric for ``all``, each ``category`` and each ``head`` with units left
    out."""
    if unknown := [name for name in metrics if name not in METRICS]:
        raise BadInput(f"there is no metric {unknown[0]!r}", where="metrics", do=f"use {', '.join(METRICS)}")
    tested = answered(predictions, examples, heads, multi_label=multi_label, unit=unit)
    rows, left = [], []
    for name in dict.fromkeys(metrics):
        rows += averaged(name, tested, by_head(METRICS[name], tested))
        left += jackknives(name, METRICS[name], tested, of_heads=True)
    rows += [row for found in left if not found.group.startswith("head: ") for row in found.ends()]
    return by_key(rows), left


def by_key(rows: Iterable[Row]) -> list[Row]:
    """Return rows of scores or of units sorted by the keys of their tables."""
    return sorted(rows, key=lambda row: (row["metric"], row["group"], row.get("unit", "")))
