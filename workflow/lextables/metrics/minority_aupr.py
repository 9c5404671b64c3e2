"""MAUD's AUPR: the area under the precision-recall curve of the minority side of each
answer.

A head is a question, or a sub-question of a multilabel question.  Each answer of a head
is scored against the rest; the side with fewer examples is positive; the area is the
stepwise average precision.  The score of a head is the mean over its answers, and the
score of a question the mean over its heads.  The scores of a category and of the whole
test set are means over questions (92 questions, not 144 heads; Section 4.1, Appendix
A.5).

Details that the text leaves open follow the released curves:

- An example's score for answer i is twice its logit minus the sum of the head's logits,
  in single precision, negated where the rest is the positive side.
- On a tie (exactly half of the examples) the answer itself stays the positive side.
- The released scorer fails for a head in which an answer has no test example.  Here
  that is `BadInput`, unless the data are partial (not the paper's, such as the sample):
  then the answer is left out of its head, a head without answers out of its question,
  and so on.  The row `answers left out` counts these answers.
- Table 6 uses the heads for which every answer has an abridged test example.  The text
  says "questions that have any abridged examples"; scores over these have the suffix
  `, strict`.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from lextables.metrics import STRICT, classification
from lextables.metrics.classification import (
    Head,
    Jackknife,
    averaged,
    by_key,
    by_question,
    jackknives,
    logits,
    macro_f1,
    matched,
    mean,
    micro_f1,
    one_of,
    score_row,
)
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput

DATA_TYPES = ("main", "abridged")
Curve = tuple[np.ndarray, np.ndarray]  # recalls and precisions


@dataclass(frozen=True)
class AnsweredHead:
    """A head with its n examples.

    ``labels`` int (n,): the index of the right answer.  ``logits`` float32 (n,
    answers).  ``data_types`` (n,): the kind of text, such as one of `DATA_TYPES`.
    ``units`` (n,): the sampling unit of each example.
    """

    head_id: str
    question: str
    category: str
    labels: np.ndarray
    logits: np.ndarray
    data_types: np.ndarray
    units: np.ndarray

    def only(self, keep: np.ndarray) -> "AnsweredHead":
        """Return the head with only the examples of the mask ``keep`` (n,)."""
        return replace(
            self,
            labels=self.labels[keep],
            logits=self.logits[keep],
            data_types=self.data_types[keep],
            units=self.units[keep],
        )

    @property
    def scored(self) -> Head:
        """The head as other metrics read it; its ranking is the released score of each
        answer.
        """
        answers = self.logits.shape[1]
        return Head(
            head_id=self.head_id,
            question=self.question,
            category=self.category,
            right=one_of(self.labels, answers),
            chosen=one_of(self.logits.argmax(axis=1), answers),
            ranking=margins(self.logits),
            units=self.units,
        )

    @property
    def complete(self) -> bool:
        """Whether every answer has an example."""
        return len(np.unique(self.labels)) == self.logits.shape[1]


class Side(NamedTuple):
    """The minority side of an answer of a head with n examples.

    ``positive`` bool (n,) is its mask, ``score`` float32 (n,) ranks the examples.
    """

    positive: np.ndarray
    score: np.ndarray


def margins(logits: np.ndarray) -> np.ndarray:
    """Return the released score of each answer, twice its logit minus the head's sum;
    shape as ``logits``.
    """
    return 2 * logits - logits.sum(axis=1, keepdims=True)


def binarised(head: AnsweredHead) -> Iterator[Side | None]:
    """Yield, for each answer, its minority side.

    None for an answer that no example has, or all have: its curve is undefined.
    """
    for answer, score in enumerate(margins(head.logits).T):
        positive = head.labels == answer
        if not positive.any() or positive.all():
            yield None
        elif positive.sum() > len(positive) / 2:
            yield Side(~positive, -score)
        else:
            yield Side(positive, score)


def head_aupr(head: AnsweredHead) -> float:
    """Return the head's AUPR, the mean over its answers; NaN where none has a curve."""
    # Slow to import, and tables import this module.
    from sklearn.metrics import average_precision_score

    areas = []
    for side in binarised(head):
        if side:
            areas.append(float(average_precision_score(side.positive, side.score)))
    return mean(areas)


def random_aupr(head: AnsweredHead) -> float:
    """Return the expected AUPR of random scores: the mean share of the minority sides
    (Table 3).
    """
    return mean(float(side.positive.mean()) for side in binarised(head) if side)


METRICS = {"AUPR": head_aupr, "random AUPR": random_aupr}


def head_auprs(
    predictions: Iterable[Row], examples: Iterable[Row], heads: Iterable[Row]
) -> dict[str, float]:
    """Return {head id: AUPR}, which a search over settings maximises for each head
    separately.

    Rows as in `scores_and_jackknives`; NaN where no answer of a head has a curve.
    """
    return {
        head.head_id: head_aupr(head) for head in answered(predictions, examples, heads)
    }


def answered(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    unit: str = "contract",
) -> list[AnsweredHead]:
    """Return the heads, sorted, each with its ``examples``; arguments as in
    `scores_and_jackknives`.

    `classification.matched` describes which rows are ignored and which are refused.
    """
    labelled = ({**row, "labels": [row["label"]]} for row in examples)
    heads_of_examples = []
    for head, rows, predicted in matched(predictions, labelled, heads):
        scores = np.array([logits(row) for row in predicted], dtype=np.float32)
        answered_head = AnsweredHead(
            head_id=head["head_id"],
            question=head["question"],
            category=head["category"],
            labels=np.array([row["label"] for row in rows], dtype=np.int64),
            logits=scores.reshape(len(rows), len(head["answers"])),
            data_types=np.array([row["data_type"] for row in rows], dtype=str),
            # An example without a contract is a unit of its own.
            units=np.array([row[unit] or row["example_id"] for row in rows], dtype=str),
        )
        heads_of_examples.append(answered_head)
    return heads_of_examples


def scores_and_jackknives(
    predictions: Iterable[Row],
    examples: Iterable[Row],
    heads: Iterable[Row],
    *,
    partial: bool = False,
    unit: str = "contract",
) -> tuple[list[Row], list[Jackknife]]:
    """Score the predictions of one run; rows as `run.SCORES`, sorted by its key.

    ``predictions``: head_id, example_id, logits (or each answer's own probabilities,
    whose log odds are then used as logits).  ``examples`` to score: head_id,
    example_id, label (index of the answer), data_type and the column that ``unit``
    names.  ``heads``: head_id, question, category, answers (list).

    Metrics: ``AUPR``, ``random AUPR``, ``micro F1`` and ``macro F1``, for ``all``, each
    ``category``, ``question`` and ``head``; the 95 % interval of the AUPR over ``unit``
    (``AUPR, low`` and ``AUPR, high``) for ``all`` and each ``category``; ``AUPR`` and
    ``random AUPR`` for each ``data type`` (Table 6); ``precision`` for each ``recall``
    of the mean curve (Figure 2).  n is the number of averaged questions, a question's
    heads, a head's examples, or an interval's units.

    Raises `BadInput` for an answer without an example (or with all), unless the data
    are ``partial``.

    Also returns the jackknives of AUPR and both F1s for ``all`` and each ``category``.
    """
    answered_heads = answered(predictions, examples, heads, unit)
    if not partial:
        _refuse_gaps(answered_heads)
    scored_heads = [head.scored for head in answered_heads]
    rows: list[Row] = []
    for metric, function in METRICS.items():
        values = {head.head_id: function(head) for head in answered_heads}
        rows += averaged(metric, scored_heads, values)
    jackknifed = list(jackknives("AUPR", classification.aupr, scored_heads, math.inf))
    for jackknife in jackknifed:
        rows += jackknife.ends()
    for metric, f1 in (("micro F1", micro_f1), ("macro F1", macro_f1)):
        values = classification.by_head(f1, scored_heads)
        rows += averaged(metric, scored_heads, values)
        jackknifed += jackknives(metric, f1, scored_heads, math.inf)
    rows += _by_data_type(answered_heads, partial)
    rows += _curve_rows(answered_heads)
    rows.append(_left_out_row(answered_heads))
    return by_key(rows), jackknifed


def _curve_rows(heads: Sequence[AnsweredHead]) -> Iterator[Row]:
    """Yield the precision at each recall of the mean curve (Figure 2)."""
    recalls, precisions, questions = averaged_curve(heads)
    for recall, precision in zip(recalls, precisions, strict=True):
        group = f"recall: {recall:.9f}"
        yield score_row("precision", group, float(precision), questions)


def _left_out_row(heads: Sequence[AnsweredHead]) -> Row:
    """Return the number of answers without a curve, of all answers."""
    sides: list[Side | None] = []
    for head in heads:
        sides += binarised(head)
    return score_row("answers left out", "all", float(sides.count(None)), len(sides))


def _refuse_gaps(heads: Iterable[AnsweredHead], among: str = "test examples") -> None:
    """Raise `BadInput` for an answer that no example has, or all."""
    for head in heads:
        total = len(head.labels)
        answers = head.logits.shape[1]
        counts = np.bincount(head.labels, minlength=answers)
        for answer, count in enumerate(counts.tolist()):
            if 0 < count < total:
                continue
            what = (
                f"answer {answer} of head {head.head_id!r} has {count} of the "
                f"{total} {among}, and so no AUPR"
            )
            do = "score other data, or mark these as partial"
            raise BadInput(what, where="examples", do=do)


def _by_data_type(heads: Sequence[AnsweredHead], partial: bool) -> list[Row]:
    """Return AUPR over main and over abridged examples, for the same heads (Table 6).

    Computed as in the released code and, with the suffix `, strict`, as in the text,
    where answers without an example of the data type are left out.
    """
    printed = []  # the heads of the published table
    questions = set()  # questions with any abridged example
    for head in heads:
        abridged = head.data_types == "abridged"
        if abridged.any():
            questions.add(head.question)
        if head.only(abridged).complete:
            printed.append(head)
    strict = [head for head in heads if head.question in questions]
    rows: list[Row] = []
    for data_type in DATA_TYPES:
        type_heads = [head.only(head.data_types == data_type) for head in printed]
        if not partial:
            _refuse_gaps(type_heads, f"{data_type} test examples")
        rows += _data_type_rows(data_type, "", type_heads)
        type_heads = [head.only(head.data_types == data_type) for head in strict]
        rows += _data_type_rows(data_type, STRICT, type_heads)
    return rows


def _data_type_rows(
    data_type: str, suffix: str, heads: Sequence[AnsweredHead]
) -> Iterator[Row]:
    """Yield the score rows of `METRICS` over the examples of a data type, means over
    questions.
    """
    group = f"data type: {data_type}"
    scored_heads = [head.scored for head in heads]
    for metric, function in METRICS.items():
        values = {head.head_id: function(head) for head in heads}
        question_values = by_question(scored_heads, values).values()
        means = [mean(head_values) for head_values in question_values if head_values]
        yield score_row(metric + suffix, group, mean(means), len(means))


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """Return the mean of stepwise precision-recall curves, (recalls, precisions),
    recalls rising from 0.

    The recalls are the union over all curves.  Between two of its own recalls a curve
    takes the precision of the next higher one, and at one recall the precision of the
    highest threshold.  So the area under the mean is the mean of the areas (released
    `pr_curves_average`).
    """
    recalls = np.unique(np.concatenate([recall for recall, _ in curves]))
    precisions = []
    for recall, precision in curves:
        precisions.append(precision[np.searchsorted(recall, recalls)])
    return recalls, np.mean(precisions, axis=0)


def curve(positive: np.ndarray, score: np.ndarray) -> Curve:
    """Return one stepwise curve, (recalls, precisions), recalls rising from 0
    (precision 1) to 1.
    """
    from sklearn.metrics import precision_recall_curve  # slow to import

    precision, recall, _ = precision_recall_curve(positive, score)
    rising = precision[::-1]
    recalls, first = np.unique(recall[::-1], return_index=True)
    return recalls, rising[first]


def averaged_curve(heads: Iterable[AnsweredHead]) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the curve averaged over questions, as (recalls, precisions, number of
    questions).
    """
    curves_of: dict[str, list[Curve]] = defaultdict(list)
    for head in heads:
        sides = [side for side in binarised(head) if side]
        curves = [curve(side.positive, side.score) for side in sides]
        if curves:
            curves_of[head.question].append(mean_curve(curves))
    if not curves_of:
        return np.empty(0), np.empty(0), 0
    question_curves = [mean_curve(head_curves) for head_curves in curves_of.values()]
    recalls, precisions = mean_curve(question_curves)
    return recalls, precisions, len(question_curves)
