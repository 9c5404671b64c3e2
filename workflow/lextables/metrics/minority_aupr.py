"""MAUD's AUPR: the area under the precision-recall curve of the minority side of each answer.

A head is a question, or a sub-question of a multilabel question.  Each answer of a head is set against
the rest; the side with fewer examples is the positive one; the area is the step-wise average precision.
The head's score is the mean over its answers, a question's the mean over its heads (92 questions, not
144 heads), a category's and the overall score the mean over questions (Section 4.1, Appendix A.5).

What the text leaves open is taken from the released curves:

- An example's score for answer i is twice its logit less the sum of all logits of the head, in single
  precision, negated where the rest is the positive side.
- On a tie (exactly half of the examples) the answer itself stays the positive side.
- A head in which an answer has no test example stops the released scorer.  Here that is `BadInput`,
  unless the data are partial: such an answer is then left out of its head, a head without answers out
  of its question, and so on; how many answers were left out is one of the rows.
- Table 6 takes the heads of which every answer is among the abridged test examples.  The text says
  "questions that have any abridged examples": the `, strict` rows.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.dataset import Row
from lextables.errors import BadInput
from lextables.metrics.f1 import macro_f1, micro_f1
from lextables.metrics.intervals import jackknife_interval

NAN = math.nan
STRICT = ", strict"
DATA_TYPES = ("main", "abridged")
# A share of one loses the odds of what is all but certain: beyond this it counts as certain.
_CERTAIN = 1e-16


@dataclass(frozen=True)
class Answered:
    """A head with its scored examples: ``labels`` int (n,), ``logits`` float32 (n, answers)."""

    head_id: str
    question: str
    category: str
    labels: np.ndarray
    logits: np.ndarray
    data_types: np.ndarray
    units: np.ndarray

    def only(self, keep: np.ndarray) -> "Answered":
        """Return the head with the examples that the mask ``keep`` (n,) keeps."""
        return Answered(
            self.head_id,
            self.question,
            self.category,
            self.labels[keep],
            self.logits[keep],
            self.data_types[keep],
            self.units[keep],
        )

    @property
    def complete(self) -> bool:
        """Whether every answer has an example."""
        return len(np.unique(self.labels)) == self.logits.shape[1]


def margins(logits: np.ndarray) -> np.ndarray:
    """Return the released score of each answer, twice its logit less the head's sum; shape as ``logits``."""
    return 2 * logits - logits.sum(axis=1, keepdims=True)


def binarised(head: Answered) -> Iterator[tuple[np.ndarray, np.ndarray] | None]:
    """Yield, for each answer, which examples are of its minority side and their scores, (n,) each.

    None for an answer that no example has, or all have: it has no curve.
    """
    for answer, score in enumerate(margins(head.logits).T):
        positive = head.labels == answer
        if not positive.any() or positive.all():
            yield None
        elif positive.sum() > len(positive) / 2:
            yield ~positive, -score
        else:
            yield positive, score


def head_aupr(head: Answered) -> float:
    """Return the head's AUPR, the mean over its answers; NaN where none has a curve."""
    from sklearn.metrics import average_precision_score  # slow to load: see `f1.macro_f1`

    return _mean(NAN if side is None else float(average_precision_score(*side)) for side in binarised(head))


def random_aupr(head: Answered) -> float:
    """Return what random scores are expected to reach: the mean share of the minority sides (Table 3)."""
    return _mean(NAN if side is None else float(side[0].mean()) for side in binarised(head))


def head_auprs(predictions: Iterable[Row], examples: Iterable[Row], heads: Iterable[Row]) -> dict[str, float]:
    """Return {head: AUPR}, what a search over settings maximises for each head by itself.

    Rows as in `scores`; NaN where no answer of a head has a curve.
    """
    return {head.head_id: head_aupr(head) for head in answered(predictions, examples, heads)}


def answered(
    predictions: Iterable[Row], examples: Iterable[Row], heads: Iterable[Row], unit: str = "contract"
) -> list[Answered]:
    """Return the heads, sorted, each with its ``examples``; arguments as in `scores`.

    Predictions for other examples are passed over.  `BadInput` for an example without a prediction, of
    an unknown head, or with a label or a number of scores that does not fit the head's answers.
    """
    known = {head["head_id"]: head for head in heads}
    rows: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in examples:
        if row["head_id"] not in known:
            raise BadInput(f"head {row['head_id']!r} is not among the heads", where=_where(row))
        answers = known[row["head_id"]]["answers"]
        if not 0 <= row["label"] < len(answers):
            raise BadInput(
                f"label {row['label']} where head {row['head_id']!r} has {len(answers)} answers",
                where=_where(row),
            )
        rows[row["head_id"]][row["example_id"]] = row
    logits: dict[str, dict[str, np.ndarray]] = defaultdict(dict)
    for row in predictions:
        if row["example_id"] in rows.get(row["head_id"], ()):
            found = _logits(row)
            if len(found) != len(known[row["head_id"]]["answers"]):
                raise BadInput(
                    f"{len(found)} scores where head {row['head_id']!r} has "
                    f"{len(known[row['head_id']]['answers'])} answers",
                    where=_where(row),
                )
            logits[row["head_id"]][row["example_id"]] = found
    result = []
    for head_id, head in sorted(known.items()):
        of_head = rows[head_id]
        if missing := sorted(of_head.keys() - logits[head_id].keys()):
            raise BadInput(
                f"{len(missing)} examples of head {head_id!r} have no prediction, the first {missing[0]!r}",
                where="predictions",
            )
        ids = sorted(of_head)
        result.append(
            Answered(
                head_id,
                head["question"],
                head["category"],
                np.array([of_head[i]["label"] for i in ids], dtype=np.int64),
                np.array([logits[head_id][i] for i in ids], dtype=np.float32).reshape(
                    len(ids), len(head["answers"])
                ),
                np.array([of_head[i]["data_type"] for i in ids], dtype=str),
                # An example of no contract stands for itself.
                np.array([of_head[i][unit] or i for i in ids], dtype=str),
            )
        )
    return result


def _where(row: Row) -> str:
    return f"example {row['example_id']}"


def _logits(row: Row) -> np.ndarray:
    if row.get("logits") is not None:
        return np.asarray(row["logits"], dtype=np.float32)
    shares = np.clip(np.asarray(row["probabilities"], dtype=np.float64), _CERTAIN, 1 - _CERTAIN)
    return np.log(shares) - np.log1p(-shares)


def scores(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    *,
    partial: bool = False,
    unit: str = "contract",
) -> list[Row]:
    """Score the predictions of one run; rows as `run.SCORES`, sorted by its key.

    ``predictions``: head_id, example_id, logits (or probabilities, each answer's own, of which the log
    odds then serve as logits).  ``examples``, those to score: head_id, example_id, label (index of the
    answer), data_type and the column that ``unit`` names.  ``heads``: head_id, question, category,
    answers (list).

    Metrics: ``AUPR``, ``random AUPR``, ``micro F1`` and ``macro F1``, for ``all``, each ``category``,
    ``question`` and ``head``; the 95 % interval of the AUPR over ``unit`` (``AUPR, low`` and ``AUPR,
    high``) for ``all`` and each ``category``; ``AUPR`` and ``random AUPR`` for each ``data type`` (Table 6);
    ``precision`` for each ``recall`` of the mean curve (Figure 2).  n counts what the mean is over:
    questions, a question's heads, a head's examples, the units of an interval.

    Raises `BadInput` for an answer without an example (or with all), unless the data are ``partial``.
    """
    tested = answered(predictions, examples, heads, unit)
    if not partial:
        _refuse_gaps(tested)
    chosen = {head.head_id: head.logits.argmax(axis=1) for head in tested}
    per_head: dict[str, Callable[[Answered], float]] = {
        "AUPR": head_aupr,
        "random AUPR": random_aupr,
        "micro F1": lambda head: micro_f1(head.labels, chosen[head.head_id]) if len(head.labels) else NAN,
        "macro F1": lambda head: macro_f1(head.labels, chosen[head.head_id]) if len(head.labels) else NAN,
    }
    rows = []
    for metric, function in per_head.items():
        rows += _averaged(metric, tested, {head.head_id: function(head) for head in tested})
    rows += intervals(tested)
    rows += _by_data_type(tested, partial)
    rows += _curve_rows(tested)
    sides = [side for head in tested for side in binarised(head)]
    rows.append(_row("answers left out", "all", float(sum(side is None for side in sides)), len(sides)))
    return sorted(rows, key=lambda row: (row["metric"], row["group"]))


def _refuse_gaps(heads: Iterable[Answered], among: str = "test examples") -> None:
    for head in heads:
        for answer in range(head.logits.shape[1]):
            count, total = int((head.labels == answer).sum()), len(head.labels)
            if count in (0, total):
                raise BadInput(
                    f"answer {answer} of head {head.head_id!r} has {count} of the {total} {among},"
                    " and so no AUPR",
                    where="examples",
                    do="score other data, or mark these as partial",
                )


def _row(metric: str, group: str, value: float, n: int) -> Row:
    return {"metric": metric, "group": group, "value": value, "n": n}


def _mean(values: Iterable[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else NAN


def _questions(heads: Sequence[Answered], by_head: Mapping[str, float]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for head in heads:
        if not math.isnan(by_head[head.head_id]):
            found[head.question].append(by_head[head.head_id])
    return {head.question: found.get(head.question, []) for head in heads}


def _averaged(metric: str, heads: Sequence[Answered], by_head: Mapping[str, float]) -> list[Row]:
    """Return the rows of one metric: heads into questions, questions into categories and into all."""
    rows = [_row(metric, f"head: {h.head_id}", by_head[h.head_id], len(h.labels)) for h in heads]
    groups: dict[str, list[float]] = defaultdict(list)
    category = {head.question: head.category for head in heads}
    for question, values in _questions(heads, by_head).items():
        rows.append(_row(metric, f"question: {question}", _mean(values), len(values)))
        groups["all"].append(_mean(values))
        groups[f"category: {category[question]}"].append(_mean(values))
    for group, values in groups.items():
        rows.append(_row(metric, group, _mean(values), sum(not math.isnan(v) for v in values)))
    return rows


def _by_data_type(heads: Sequence[Answered], partial: bool) -> list[Row]:
    """Return AUPR over main and over abridged examples apart, over the same heads (Table 6).

    In the released code's reading and, `, strict`, in the text's, where answers without an example of
    the data type are left out.
    """
    touched = {head.question for head in heads if (head.data_types == "abridged").any()}
    printed = [head for head in heads if head.only(head.data_types == "abridged").complete]
    rows = []
    for suffix, kept in (("", printed), (STRICT, [head for head in heads if head.question in touched])):
        for data_type in DATA_TYPES:
            apart = [head.only(head.data_types == data_type) for head in kept]
            if not suffix and not partial:
                _refuse_gaps(apart, f"{data_type} test examples")
            for metric, function in (("AUPR", head_aupr), ("random AUPR", random_aupr)):
                by_question = _questions(apart, {head.head_id: function(head) for head in apart})
                means = [_mean(values) for values in by_question.values() if values]
                rows.append(_row(metric + suffix, f"data type: {data_type}", _mean(means), len(means)))
    return rows


def mean_curve(curves: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of step-wise precision-recall curves, (recalls, precisions), recalls rising from 0.

    The recalls are those of all curves.  Between two of its own recalls a curve has the precision of
    the next higher one, and of several precisions at one recall that of the highest threshold: the
    area under the mean is then the mean of the areas (released `pr_curves_average`).
    """
    recalls = np.unique(np.concatenate([recall for recall, _ in curves]))
    return recalls, np.mean(
        [precision[np.searchsorted(recall, recalls)] for recall, precision in curves], axis=0
    )


def curve(positive: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return one step-wise curve, (recalls, precisions), recalls rising from 0 (precision 1) to 1."""
    from sklearn.metrics import precision_recall_curve  # slow to load: see `f1.macro_f1`

    precision, recall, _ = precision_recall_curve(positive, score)
    recalls, first = np.unique(recall[::-1], return_index=True)
    return recalls, precision[::-1][first]


def area(recalls: np.ndarray, precisions: np.ndarray) -> float:
    """Return the area under a step-wise curve of `curve` or `mean_curve`, its average precision."""
    return float(np.sum(np.diff(recalls) * precisions[1:]))


def averaged_curve(heads: Iterable[Answered]) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the curve averaged over questions, as the scores are, and how many questions it is over."""
    by_question: dict[str, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
    for head in heads:
        if sides := [curve(*side) for side in binarised(head) if side is not None]:
            by_question[head.question].append(mean_curve(sides))
    if not by_question:
        return np.empty(0), np.empty(0), 0
    recalls, precisions = mean_curve([mean_curve(curves) for curves in by_question.values()])
    return recalls, precisions, len(by_question)


def _curve_rows(heads: Iterable[Answered]) -> list[Row]:
    recalls, precisions, n = averaged_curve(heads)
    return [
        _row("precision", f"recall: {recall:.9f}", float(precision), n)
        for recall, precision in zip(recalls, precisions, strict=True)
    ]


def intervals(heads: Sequence[Answered]) -> list[Row]:
    """Return the 95 % jackknife intervals over units of AUPR, overall and of each category.

    Two rows each, where there is one.
    """
    groups = {"all": list(heads)}
    for head in heads:
        groups.setdefault(f"category: {head.category}", []).append(head)
    rows = []
    for group, found in groups.items():
        units = np.unique(np.concatenate([head.units for head in found])) if found else np.empty(0)
        whole = (
            weighted_auprs(found, units, np.ones((1, len(units)), dtype=np.int64)) if len(units) else [NAN]
        )
        ends = jackknife_interval(float(whole[0]), left_out_auprs(found, units), within=(0, 1))
        names = ("AUPR, low", "AUPR, high")
        rows += [_row(name, group, end, len(units)) for name, end in zip(names, ends or (), strict=False)]
    return rows


def left_out_auprs(heads: Sequence[Answered], units: np.ndarray, batch: int = 100) -> np.ndarray:
    """Return the overall AUPR without each of the ``units`` (sorted) in turn, float64 (units,)."""
    kept = 1 - np.eye(len(units), dtype=np.int64)
    found = [
        weighted_auprs(heads, units, kept[start : start + batch]) for start in range(0, len(units), batch)
    ]
    return np.concatenate([np.empty(0), *found])


def weighted_auprs(heads: Sequence[Answered], units: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the overall AUPR under each row of integer ``weights`` (n, units), float64 (n,).

    A unit (a contract) brings all its examples of all heads.  The minority side is settled anew under each
    row, and an answer that a row leaves without examples, or with all, is left out of it.
    """
    by_question: dict[str, list[np.ndarray]] = defaultdict(list)
    for head in heads:
        of_examples = weights[:, np.searchsorted(units, head.units)]
        answers = [
            _weighted(head.labels == answer, score, of_examples)
            for answer, score in enumerate(margins(head.logits).T)
        ]
        by_question[head.question].append(_nanmean(answers))
    return _nanmean([_nanmean(values) for values in by_question.values()])


def _nanmean(values: Sequence[np.ndarray]) -> np.ndarray:
    stacked = np.stack(values)
    defined = ~np.isnan(stacked)
    counts = defined.sum(axis=0)
    total = np.where(defined, stacked, 0).sum(axis=0)
    return np.divide(total, counts, out=np.full(len(total), NAN), where=counts > 0)


def _weighted(positive: np.ndarray, score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return an answer's AUPR under each row of integer ``weights`` (rows, n); NaN where undefined."""
    count, total = weights[:, positive].sum(axis=1), weights.sum(axis=1)
    values = np.where(
        count > total / 2,
        weighted_precisions(~positive, -score, weights),
        weighted_precisions(positive, score, weights),
    )
    return np.where((count == 0) | (count == total), NAN, values)


def weighted_precisions(positive: np.ndarray, score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the average precision under each row of ``weights`` (rows, n), as if examples repeated.

    scikit-learn's value for one row at a time; for a thousand rows at once.  0 where nothing is positive.
    """
    if not len(score):
        return np.full(len(weights), NAN)
    order = np.argsort(-score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0, True))
    ranked = weights[:, order]
    found = np.cumsum(ranked * positive[order], axis=1)[:, ends]
    passed = np.cumsum(ranked, axis=1)[:, ends]
    precision = np.divide(found, passed, out=np.zeros(found.shape), where=passed > 0)
    gained = np.diff(found, axis=1, prepend=0)
    everything = found[:, -1]
    return np.divide(
        (gained * precision).sum(axis=1), everything, out=np.zeros(len(weights)), where=everything > 0
    )
