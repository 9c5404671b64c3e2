"""Scores of n-best spans against gold spans: as CUAD's released evaluator and as its
paper defines them.

**Paper mode** returns bit for bit the values of CUAD's released ``evaluate.py`` on the
same n-best file (MAUD's extraction task released the same evaluator with other
``low_thresholds`` and no relaxed category).  Its quirks are documented where they are
implemented: `sweep`, `paper_words`, `last_by_text`, `paper_matches`,
`substring_groups`, `counts`, `Curve`, `processed`, `aupr`, `precision_at_recall`.

**Strict mode** follows the paper's text (CUAD, Section 4.1, Metrics, and A.1):

- the words of a span are its text without punctuation, in lower case, split at white
  space (`strict_words`); a span without words has no coefficient, so it matches nothing
  but as a substring;
- a prediction matches a gold span when their Jaccard coefficient is at least 0.5, or,
  in the one category that is relaxed, when the gold text is a substring of the
  predicted text;
- predictions are distinguished by their offsets in the contract, and the empty
  prediction is ignored (`most_probable_by_span`);
- every confidence is a threshold, and a prediction counts when its confidence is at
  least the threshold;
- the precision at a recall is the best at that recall or a higher one, over all
  thresholds, and 0 where no threshold reaches the recall, as in Table 2;
- the curve is that best precision over the recalls attained: a step function, whose
  area is a sum of rectangles, without an added point at recall 0 and without linear
  interpolation;
- a category without a gold span in the data (CUAD: Price Restrictions) has no score.
  Its false positives still count among all categories.

Both modes count equally: a true positive is a gold span with a matching prediction, a
false negative a gold span without one, and a false positive a prediction that matches
no gold span of its question.  Whether a gold span is found at a threshold depends only
on the highest confidence of its matching predictions, so each pair of a gold span and a
prediction is compared once.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter

import numpy as np

from lextables.metrics import STRICT
from lextables.metrics.intervals import (
    RESAMPLES,
    by_key,
    interval_rows,
    percentile_interval,
    resampled_weights,
    score_row,
)
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.pipeline.finite import as_share

NAN = float("nan")
AUPR = "AUPR"
RECALLS = {"precision at 80% recall": 0.8, "precision at 90% recall": 0.9}
METRICS = (AUPR, *RECALLS)
LOW_THRESHOLDS = (0.001, 0.0)  # CUAD's; MAUD's differ

UNMATCHED = -1.0  # below every confidence and every threshold
EMPTY = -1  # start and end of the empty prediction
NO_PLACE = -2  # start and end of a prediction without offsets


# Questions, gold spans and predictions.


@dataclass(frozen=True)
class Gold:
    """The scored questions, sorted by id, in columns with one entry per question.

    ``spans`` are the texts of the question's gold spans (none: unanswerable).
    """

    question_ids: tuple[str, ...]
    contracts: tuple[str, ...]
    categories: tuple[str, ...]
    spans: tuple[tuple[str, ...], ...]

    @property
    def category_names(self) -> list[str]:
        """The distinct categories, sorted."""
        return sorted(set(self.categories))


def gold(questions: Iterable[Row], answers: Iterable[Row]) -> Gold:
    """Return the gold spans of ``questions`` (rows of `squad.QUESTIONS` of one split).

    ``answers`` are rows of `squad.ANSWERS`; those of other questions are ignored.
    Raises `BadInput` where there is no question, or a gold span is empty.
    """
    ordered = sorted(questions, key=itemgetter("question_id"))
    if not ordered:
        what = "there is no question to score"
        raise BadInput(what, where="questions", do="check the split")
    spans: dict[str, list[tuple[int, str]]] = {}
    for row in ordered:
        spans[row["question_id"]] = []
    for row in answers:
        question = row["question_id"]
        if question in spans:
            if not row["text"]:
                what = f"the gold span {row['index']} is empty"
                where = f"answers, question {question!r}"
                raise BadInput(what, where=where, do="drop it")
            spans[question].append((row["index"], row["text"]))
    texts = []
    for question_spans in spans.values():
        texts.append(tuple(text for _, text in sorted(question_spans)))
    return Gold(
        question_ids=tuple(spans),
        contracts=tuple(row["contract_id"] for row in ordered),
        categories=tuple(row["category"] for row in ordered),
        spans=tuple(texts),
    )


@dataclass(frozen=True)
class Nbest:
    """The n-best spans of many questions, in columns; questions are sorted by id.

    ``sizes`` int64 [questions]: number of predictions of each question.  The other
    columns have one entry per prediction.  ``texts``: the span as the release writes
    it, scored in paper mode.  ``slices``: the span's text in the contract, scored in
    strict mode (the same where only one is known).  ``confidence`` float64: its
    probability.  ``start``, ``end`` int64: its offsets in the contract (`EMPTY` for the
    empty prediction, `NO_PLACE` where unknown).
    """

    question_ids: tuple[str, ...]
    sizes: np.ndarray
    texts: list[str]
    slices: list[str]
    confidence: np.ndarray
    start: np.ndarray
    end: np.ndarray


def nbest_rows(rows: Iterable[Row], where: str = "predictions") -> Nbest:
    """Return the n-best spans in rows of the table of predictions, by rank.

    Raises `BadInput` for a probability that is not a number from 0 to 1; one that is
    outside only by rounding becomes 0 or 1.
    """
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=itemgetter("question_id", "rank")):
        groups.setdefault(row["question_id"], []).append(row)
    return nbest_columns(groups, "released_text", "start", "end", where)


def nbest_columns(
    groups: Mapping[str, Sequence[Row]], text: str, start: str, end: str, where: str
) -> Nbest:
    """Return `Nbest` from ``groups``, {question id: its predictions in order}.

    The arguments ``text``, ``start`` and ``end`` are the keys of the released text and
    of its offsets.  The key of the slice is always ``"text"``.  Raises `BadInput` as
    `nbest_rows` does.
    """
    question_ids = tuple(sorted(groups))
    rows: list[Row] = []
    shares: list[float] = []
    for question_id in question_ids:
        for number, row in enumerate(groups[question_id]):
            value = row["probability"]
            share = None if value is None else as_share(value)
            if share is None:
                what = f"the probability {value!r} is not a number from 0 to 1"
                place = f"{where}, question {question_id!r}, prediction {number}"
                raise BadInput(what, where=place)
            rows.append(row)
            shares.append(share)

    def offsets(key: str) -> np.ndarray:
        values = [row.get(key) for row in rows]
        places = [NO_PLACE if value is None else value for value in values]
        return np.array(places, dtype=np.int64)

    sizes = [len(groups[question_id]) for question_id in question_ids]
    return Nbest(
        question_ids=question_ids,
        sizes=np.array(sizes, dtype=np.int64),
        texts=[row[text] for row in rows],
        slices=[row["text"] for row in rows],
        confidence=np.array(shares, dtype=np.float64),
        start=offsets(start),
        end=offsets(end),
    )


def check_questions(nbest: Nbest, gold: Gold) -> None:
    """Raise `BadInput` unless exactly the questions of ``gold`` have predictions."""
    asked = set(gold.question_ids)
    predicted = set(nbest.question_ids)
    predict = "predict every question, if only with the empty prediction"
    for names, fault, do in (
        (asked - predicted, "asked and not predicted", predict),
        (
            predicted - asked,
            "predicted and not asked",
            "score the predictions on their own split",
        ),
    ):
        if names:
            count = (
                "1 question is" if len(names) == 1 else f"{len(names)} questions are"
            )
            what = f"{count} {fault}, first {min(names)!r}"
            raise BadInput(what, where="predictions", do=do)


# The words of a span, and which predictions count.

_REMOVED = re.compile("[.,;:]")


def paper_words(text: str) -> frozenset[str]:
    """Return the words of a text as the released evaluator splits it.

    Only the characters . , ; : are removed, and / becomes a space.  Words are split at
    single spaces: two adjacent spaces, a space at either end and a text without words
    give an empty word, which counts as a word.  Line breaks, tabs, quotes, brackets and
    hyphens stay inside words.
    """
    # Punctuation is removed first: the lower case of a capital sigma depends on its
    # neighbours.
    return frozenset(_REMOVED.sub("", text).lower().replace("/", " ").split(" "))


class _Punctuation(dict[int, int | None]):
    """A table for `str.translate` that removes the characters of Unicode's categories
    P*; each character is looked up once.
    """

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.category(chr(code)).startswith("P") else code
        return self[code]


_PUNCTUATION = _Punctuation()


@lru_cache(maxsize=8)  # whole contracts are outputs of many questions in a row
def strict_words(text: str) -> frozenset[str]:
    """Return the words of a text as the paper defines them: no punctuation, lower case,
    split at spaces.

    A text may have no word.  Punctuation is Unicode's categories P* (also quotes,
    brackets, dashes, slashes, % and &; not $ or +), and spaces are white space of any
    kind and length.
    """
    return frozenset(text.translate(_PUNCTUATION).lower().split())


def similar(first: frozenset[str], second: frozenset[str]) -> bool:
    """Whether the Jaccard coefficient of two sets of words is at least 0.5; not if both
    are empty.
    """
    # In integers: with s shared words, s / (a + b - s) is at least 0.5 if 3 s >= a + b.
    return bool(first) and 3 * len(first & second) >= len(first) + len(second)


def last_by_text(nbest: Nbest) -> np.ndarray:
    """Return the indices of the predictions that the released evaluator uses, int64,
    questions in order.

    It keys predictions by text, so of several with the same text it keeps the
    confidence of the last, even if that is lower.  Only the text "" is the empty
    prediction; the word "empty", which the released prediction step writes where a
    question has nothing else, counts as a prediction.
    """
    indices: list[int] = []
    for predictions in _by_question(nbest):
        last = {nbest.texts[index]: index for index in predictions}
        last.pop("", None)
        indices += last.values()
    return np.array(indices, dtype=np.int64)


def _by_question(nbest: Nbest) -> Iterator[range]:
    """Yield the indices of the predictions of each question."""
    first = 0
    for size in nbest.sizes.tolist():
        yield range(first, first + size)
        first += size


def most_probable_by_span(nbest: Nbest) -> np.ndarray:
    """Return the index of the most confident prediction of each distinct span, int64,
    questions in order.

    Spans are distinguished by their offsets, or by text where these are unknown.  A
    prediction without text, or with the start `EMPTY`, is the empty prediction and left
    out.
    """
    indices: list[int] = []
    starts = nbest.start.tolist()
    ends = nbest.end.tolist()
    confidence = nbest.confidence.tolist()
    for predictions in _by_question(nbest):
        best: dict[str | tuple[int, int], int] = {}
        for index in predictions:
            text = nbest.slices[index]
            start = starts[index]
            if not text or start == EMPTY:
                continue
            span: str | tuple[int, int] = (start, ends[index])
            if start == NO_PLACE:
                span = text
            before = best.setdefault(span, index)
            if confidence[index] > confidence[before]:
                best[span] = index
        indices += best.values()
    return np.array(indices, dtype=np.int64)


# Which predictions and gold spans match.


@dataclass(frozen=True)
class Matches:
    """Matched gold spans and unmatched predictions, before any threshold.

    ``gold_question`` int64 and ``gold_confidence`` float64 [gold spans]: the index of
    the span's question in `Gold`, and the highest confidence of its matching
    predictions (`UNMATCHED` where there is none).  ``miss_question`` and
    ``miss_confidence`` [misses]: the question and the confidence of each prediction
    that matches no gold span.
    """

    gold_question: np.ndarray
    gold_confidence: np.ndarray
    miss_question: np.ndarray
    miss_confidence: np.ndarray


def paper_matches(nbest: Nbest, gold: Gold, relaxed: str | None) -> Matches:
    """Match as the released evaluator does.

    Matching is relaxed (a prediction that contains the gold text, case-sensitively,
    also matches) for every question whose id contains ``relaxed`` anywhere, so also for
    a contract with that word in its title.
    """
    is_relaxed = [False] * len(gold.question_ids)
    if relaxed:
        is_relaxed = [relaxed in name for name in gold.question_ids]
    return _matches(nbest, last_by_text(nbest), gold, is_relaxed, paper_words)


def strict_matches(nbest: Nbest, gold: Gold, relaxed: str | None) -> Matches:
    """Match as the paper defines it, relaxed for the category ``relaxed`` only."""
    is_relaxed = [category == relaxed for category in gold.categories]
    # Strict mode compares the texts in the contract.
    nbest = replace(nbest, texts=nbest.slices)
    return _matches(nbest, most_probable_by_span(nbest), gold, is_relaxed, strict_words)


def _matches(
    nbest: Nbest,
    indices: np.ndarray,
    gold: Gold,
    is_relaxed: Sequence[bool],
    words: Callable[[str], frozenset[str]],
) -> Matches:
    """Match the predictions at ``indices`` of `Nbest` with the gold spans.

    Both have the same questions (`check_questions`).  ``is_relaxed`` states for each
    question whether matching is relaxed, and ``words`` returns the words of a text.
    """
    questions = np.arange(len(gold.spans))
    question = np.repeat(questions, nbest.sizes)[indices]
    confidence = nbest.confidence[indices]
    texts = [nbest.texts[index] for index in indices.tolist()]
    # The predictions of question i are at the places starts[i] to ends[i].
    starts = np.searchsorted(question, questions).tolist()
    ends = np.searchsorted(question, questions, side="right").tolist()
    best: list[float] = []
    matched = np.zeros(len(indices), dtype=bool)
    for number, spans in enumerate(gold.spans):
        # Predictions for questions without gold spans match nothing.
        if not spans:
            continue
        rows = range(starts[number], ends[number])
        predicted = {row: words(texts[row]) for row in rows}
        for span in spans:
            gold_words = words(span)
            matching_rows = []
            for row in rows:
                contains = is_relaxed[number] and span in texts[row]
                if contains or similar(gold_words, predicted[row]):
                    matching_rows.append(row)
            matched[matching_rows] = True
            best.append(
                float(confidence[matching_rows].max()) if matching_rows else UNMATCHED
            )
    sizes = [len(spans) for spans in gold.spans]
    return Matches(
        gold_question=np.repeat(questions, sizes),
        gold_confidence=np.array(best),
        miss_question=question[~matched],
        miss_confidence=confidence[~matched],
    )


# Paper mode: a sweep of fixed thresholds.


def sweep(low_thresholds: Sequence[float] = LOW_THRESHOLDS) -> np.ndarray:
    """Return the thresholds of the released sweep, highest first, float64.

    0.99 down to 0.01 as ``np.arange(0.99, 0, -0.01)`` makes them, which puts 93 of the
    99 slightly below the two-digit number (0.93 is 0.9299999999999999); then
    ``low_thresholds``.
    """
    low = np.asarray(low_thresholds, dtype=np.float64)
    return np.concatenate([np.arange(0.99, 0, -0.01), low])


def threshold_group(threshold: float) -> str:
    """Return the group of a threshold in the scores, such as ``threshold: 0.9``."""
    digits = f"{threshold:.5f}".rstrip("0").rstrip(".")
    return f"threshold: {digits or 0}"


@dataclass(frozen=True)
class Curve:
    """Precision and recall, float64 [..., points].

    Recall never decreases, since a lower threshold only adds predictions; so the
    released area, which takes points in the order of the thresholds, never fails.
    """

    precision: np.ndarray
    recall: np.ndarray


@dataclass(frozen=True)
class Counts:
    """True and false positives at each threshold, [..., thresholds], and gold spans,
    [...]: int64, or whole numbers in float64.
    """

    true_positives: np.ndarray
    false_positives: np.ndarray
    gold_spans: np.ndarray

    def curve(self) -> Curve:
        """The released curve: a point of precision 1 and recall 0, then one for each
        threshold.

        Precision is NaN where nothing is predicted, and recall where there is no gold
        span.
        """
        tp = self.true_positives
        fp = self.false_positives
        with np.errstate(invalid="ignore"):
            precision = tp / (tp + fp)
            recall = tp / np.asarray(self.gold_spans)[..., None]
        first = np.ones((*precision.shape[:-1], 1))
        return Curve(
            precision=np.concatenate([first, precision], -1),
            recall=np.concatenate([0 * first, recall], -1),
        )


def counts(
    matches: Matches, unit: np.ndarray, units: int, thresholds: np.ndarray
) -> Counts:
    """Count positives for each of ``units`` units; ``unit`` int64 [questions] is the
    unit of each question.

    A prediction counts at the thresholds (highest first) strictly below its confidence:
    with confidence 0 it never counts, not even at the threshold 0.
    """
    size = len(thresholds)

    def above(question: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        """Return how many items of each unit are above each threshold."""
        # Count the items of each unit by the first threshold that they pass, with an
        # extra column for those that pass none; then sum up from the highest threshold.
        first = size - np.searchsorted(thresholds[::-1], confidence, side="left")
        cell = unit[question] * (size + 1) + first
        cells = np.bincount(cell, minlength=units * (size + 1))
        return np.cumsum(cells.reshape(units, size + 1)[:, :size], axis=1)

    return Counts(
        true_positives=above(matches.gold_question, matches.gold_confidence),
        false_positives=above(matches.miss_question, matches.miss_confidence),
        gold_spans=np.bincount(unit[matches.gold_question], minlength=units),
    )


def overall_counts(matches: Matches, gold: Gold, thresholds: np.ndarray) -> Counts:
    """Return the counts over all questions, as a single row."""
    unit = np.zeros(len(gold.question_ids), dtype=np.int64)
    return counts(matches, unit, 1, thresholds)


def substring_groups(gold: Gold) -> np.ndarray:
    """Return the questions of each category by the released filter, bool [categories,
    questions].

    The filter tests whether the question's id contains the category's name, and the id
    begins with the contract's title: all questions about a contract with Insurance in
    its title count as questions about insurance.  A category's own questions always
    belong to it (MAUD's ids misspell two of its types).
    """
    categories = np.array(gold.categories)
    groups = []
    for name in gold.category_names:
        in_id = np.array([name in question_id for question_id in gold.question_ids])
        groups.append(in_id | (categories == name))
    return np.array(groups)


def paper_counts(
    matches: Matches, gold: Gold, thresholds: np.ndarray
) -> tuple[list[str], Counts]:
    """Return the groups (``all``, then ``category: <name>``) and their counts, one row
    per group.
    """
    size = len(gold.question_ids)
    single = counts(matches, np.arange(size), size, thresholds)
    groups = np.vstack([np.ones((1, size)), substring_groups(gold)])

    def summed(by_question: np.ndarray) -> np.ndarray:
        """Return the sums over the questions of each group."""
        # Sums of small integers are exact in floating point, whose matrix product is
        # fast.
        return np.rint(groups @ by_question).astype(np.int64)

    names = ["all", *(f"category: {name}" for name in gold.category_names)]
    return names, Counts(
        true_positives=summed(single.true_positives),
        false_positives=summed(single.false_positives),
        gold_spans=summed(single.gold_spans),
    )


def processed(precision: np.ndarray) -> np.ndarray:
    """Return each point's best precision at its own threshold or a lower one, as the
    release computes it.

    The release applies Python's ``max`` from the last point of the sweep back.  ``max``
    skips a NaN unless it comes first, and then keeps it: where the lowest threshold
    predicts nothing, every point is NaN, including the added point of precision 1.
    """
    backwards = precision[..., ::-1]
    best = np.fmax.accumulate(backwards, axis=-1)
    best = np.where(np.isnan(backwards[..., :1]), np.nan, best)
    # Contiguous: numpy sums a reversed view in another order, which changes the last
    # bit.
    return np.ascontiguousarray(best[..., ::-1])


def aupr(curve: Curve) -> np.ndarray:
    """Return the released area under the curve, float64 [...].

    Trapezoids (as `sklearn.metrics.auc`) from the added point of recall 0 and precision
    1: so a high first precision also counts for recalls that no threshold attains.
    Beyond the highest attained recall the area is 0.  NaN becomes 0: without gold spans
    (CUAD's Price Restrictions) and without predictions.
    """
    areas = np.trapezoid(processed(curve.precision), curve.recall, axis=-1)
    return np.where(np.isnan(areas), 0.0, areas)


def precision_at_recall(curve: Curve, recall: float) -> np.ndarray:
    """Return the released precision at ``recall``, float64 [...]: the precision of the
    first point that reaches the recall.

    The release iterates over points and thresholds together.  The added point makes one
    point more, so the last is never reached: a recall attained only at the last
    threshold gives 0, like one never attained.  (The threshold that the release returns
    is off by one for the same reason; it is not returned here.)
    """
    reached = curve.recall[..., :-1] >= recall
    first = np.argmax(reached, axis=-1)[..., None]
    precision = np.take_along_axis(processed(curve.precision), first, axis=-1)[..., 0]
    return np.where(reached.any(axis=-1), precision, 0.0)


def paper_values(curve: Curve) -> dict[str, np.ndarray]:
    """Return the released metrics: {metric: float64 [...]}."""
    values = {AUPR: aupr(curve)}
    for name, recall in RECALLS.items():
        values[name] = precision_at_recall(curve, recall)
    return values


def contract_intervals(
    matches: Matches,
    gold: Gold,
    thresholds: np.ndarray,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, tuple[float, float] | None]:
    """Return {metric: 95 % percentile-bootstrap interval over contracts} of the metrics
    over all questions.

    Contracts are resampled with replacement, each with all its questions.  None where
    all resamples have the same value.
    """
    names, unit = np.unique(gold.contracts, return_inverse=True)
    by_unit = counts(matches, unit, len(names), thresholds)
    hits = by_unit.true_positives.astype(np.float64)
    misses = by_unit.false_positives.astype(np.float64)
    gold_spans = by_unit.gold_spans.astype(np.float64)
    values: dict[str, list[np.ndarray]] = {name: [] for name in METRICS}
    for weights in resampled_weights(len(names), seed, resamples):
        drawn = weights.astype(np.float64)
        resampled = Counts(drawn @ hits, drawn @ misses, drawn @ gold_spans)
        for name, batch in paper_values(resampled.curve()).items():
            values[name].append(batch)
    intervals = {}
    for name, batches in values.items():
        intervals[name] = percentile_interval(np.concatenate(batches))
    return intervals


# Strict mode: every confidence is a threshold.


def strict_curve(gold_confidence: np.ndarray, miss_confidence: np.ndarray) -> Curve:
    """Return the curve of one group from its part of `Matches`, highest threshold
    first.

    Precision is the best at the point's recall or a higher one.  Recall is NaN without
    gold spans; without predictions the curve has no points.
    """
    # A matching prediction that is not the best of any gold span changes no count: no
    # threshold needed.
    hits = gold_confidence[gold_confidence > UNMATCHED]
    confidences = np.concatenate([hits, miss_confidence])
    thresholds = np.unique(confidences)[::-1]
    right = _at_least(hits, thresholds)
    wrong = _at_least(miss_confidence, thresholds)
    precision = right / (right + wrong)
    best = np.maximum.accumulate(precision[::-1])[::-1]
    recall = np.full(len(right), NAN)
    if len(gold_confidence):
        recall = right / len(gold_confidence)
    return Curve(best, recall)


def _at_least(values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """The number of values at or above each threshold, int64 (thresholds,)."""
    below = np.searchsorted(np.sort(values), thresholds, side="left")
    return len(values) - below


def strict_values(
    gold_confidence: np.ndarray, miss_confidence: np.ndarray
) -> dict[str, float]:
    """Return {metric: value} of one group as the paper defines the metrics; NaN without
    gold spans.
    """
    if not len(gold_confidence):
        return dict.fromkeys(METRICS, NAN)
    curve = strict_curve(gold_confidence, miss_confidence)
    widths = np.diff(curve.recall, prepend=0.0)
    area = np.sum(widths * curve.precision)
    values = {AUPR: float(area)}
    for name, recall in RECALLS.items():
        attained = curve.precision[curve.recall >= recall]
        values[name] = 0.0
        if len(attained):
            values[name] = float(attained[0])
    return values


def strict_groups(
    matches: Matches, gold: Gold
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield (group, confidences of its gold spans, confidences of its misses), from
    `Matches`: ``all``, then each category by its exact name.
    """
    yield "all", matches.gold_confidence, matches.miss_confidence
    names, category = np.unique(gold.categories, return_inverse=True)
    gold_category = category[matches.gold_question]
    miss_category = category[matches.miss_question]
    for index, name in enumerate(names.tolist()):
        yield (
            f"category: {name}",
            matches.gold_confidence[gold_category == index],
            matches.miss_confidence[miss_category == index],
        )


# Rows of both modes.


def scores(
    nbest: Nbest | Iterable[Row],
    questions: Iterable[Row],
    answers: Iterable[Row],
    *,
    relaxed: str | None,
    low_thresholds: Sequence[float] = LOW_THRESHOLDS,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Row]:
    """Score the n-best spans of one run; rows of `run.SCORES`, sorted by its key.

    ``nbest`` are rows of the table of predictions, or their columns; ``questions`` one
    split of `squad.QUESTIONS`; ``answers`` rows of `squad.ANSWERS`.  ``relaxed`` is the
    category in which a prediction that contains the gold span also matches (in paper
    mode a substring of the question's id; None: no category).  ``low_thresholds`` are
    the last thresholds of the released `sweep`.

    Metrics: `METRICS` for the groups ``all`` and ``category: <name>`` (n: gold spans),
    with the suffix ``, strict`` for strict mode, and for ``all`` with ``, low`` and ``,
    high`` for the 95 % interval of paper mode (n: contracts), where defined;
    ``precision`` and ``recall`` of the released curve for each ``threshold: <t>`` (n:
    the denominator).

    Raises `BadInput` for missing or extra questions, invalid probabilities and empty
    gold spans.
    """
    gold_spans = gold(questions, answers)
    columns = nbest if isinstance(nbest, Nbest) else nbest_rows(nbest)
    check_questions(columns, gold_spans)
    thresholds = sweep(low_thresholds)
    paper = paper_matches(columns, gold_spans, relaxed)
    strict = strict_matches(columns, gold_spans, relaxed)
    rows: list[Row] = []

    def add(metric: str, group: str, value: float, n: int) -> None:
        rows.append(score_row(metric, group, float(value), int(n)))

    groups, counted = paper_counts(paper, gold_spans, thresholds)
    curve = counted.curve()
    for metric, values in paper_values(curve).items():
        for group, value, spans in zip(groups, values, counted.gold_spans, strict=True):
            add(metric, group, value, spans)
    for group, gold_confidence, miss_confidence in strict_groups(strict, gold_spans):
        for metric, value in strict_values(gold_confidence, miss_confidence).items():
            add(metric + STRICT, group, value, len(gold_confidence))
    contracts = len(set(gold_spans.contracts))
    intervals = contract_intervals(paper, gold_spans, thresholds, seed, resamples)
    for metric, interval in intervals.items():
        rows += interval_rows(metric, "all", interval, contracts)
    # The first point of the curve belongs to no threshold.
    precision = curve.precision[0, 1:]
    recall = curve.recall[0, 1:]
    predicted = counted.true_positives[0] + counted.false_positives[0]
    for index, threshold in enumerate(thresholds):
        group = threshold_group(threshold)
        add("precision", group, precision[index], predicted[index])
        add("recall", group, recall[index], counted.gold_spans[0])
    return by_key(rows)
