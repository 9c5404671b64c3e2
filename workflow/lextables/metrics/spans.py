"""Scoring of n-best spans against gold spans: as the CUAD evaluator was released, and as its paper says.

**Paper mode** gives what the released ``evaluate.py`` of CUAD gives on the same n-best file, to the last bit
(MAUD's extraction task released the same evaluator with another ``low_thresholds`` and nothing relaxed).
Each of its quirks is named where it is followed: `sweep`, `paper_words`, `last_by_text`, `paper_matches`,
`substring_groups`, `counts`, `Curve`, `processed`, `aupr`, `precision_at_recall`.

**Strict mode** follows the paper's text (CUAD, Section 4.1, Metrics, and A.1):

- the words of a span are its text without punctuation, in lower case, split at white space
  (`strict_words`); a span without a word matches nothing, since the coefficient is not defined for it;
- a prediction matches a gold span when their Jaccard coefficient is at least 0.5, or, in the one category
  that is relaxed, when the gold text is a substring of the predicted text;
- predictions are told apart by their place in the contract, and the empty prediction is no prediction
  (`most_probable_by_span`);
- every confidence that occurs is a threshold, and a prediction counts when its confidence is no less;
- the precision at a recall is the best at that recall or a higher one, over all thresholds, and 0 where no
  threshold reaches the recall, as Table 2 prints it;
- the curve is that best precision over the recalls attained.  It is a step function, so the area under it
  is a sum of rectangles; no point is added at recall 0, and nothing is joined by straight lines;
- a category without a gold span in the data (CUAD: Price Restrictions) has no score.  Its false positives
  still count among all categories.

Both count alike: a true positive is a gold span with a matching prediction, a false negative one without,
and a false positive a prediction that matches no gold span of its question.  So whether a gold span is
found at a threshold depends on the highest confidence among the predictions that match it, and every
pair of a gold span and a prediction is compared once, whatever the number of thresholds and categories.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, repeat
from operator import contains, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from lextables.metrics.intervals import RESAMPLES, percentile_interval, resampled_weights
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput

NAN = float("nan")
STRICT = ", strict"
LOW, HIGH = ", low", ", high"
AUPR = "AUPR"
RECALLS = {"precision at 80% recall": 0.8, "precision at 90% recall": 0.9}
METRICS = (AUPR, *RECALLS)
LOW_THRESHOLDS = (0.001, 0.0)  # those of the first release, CUAD's

UNMATCHED = -1.0  # below every confidence and every threshold
EMPTY = -1  # where the empty prediction starts and ends
NO_PLACE = -2  # start and end where a file does not say them
BLOCK = 64  # questions matched at a time: what is looked up then stays in the processor's cache


# What is scored.


@dataclass(frozen=True)
class Gold:
    """The questions that are scored, sorted by id, with the gold spans of each (none: unanswerable)."""

    question_ids: tuple[str, ...]
    contracts: tuple[str, ...]
    categories: tuple[str, ...]
    spans: tuple[tuple[str, ...], ...]

    @property
    def category_names(self) -> list[str]:
        """The categories that are asked for, sorted."""
        return sorted(set(self.categories))


def gold(questions: Iterable[Row], answers: Iterable[Row]) -> Gold:
    """Return the gold of ``questions`` (rows of `squad.QUESTIONS`, those of one split).

    ``answers`` are rows of `squad.ANSWERS`; those of other questions are passed over.  Raises `BadInput`
    where there is no question, or a gold span is empty.
    """
    asked = sorted(questions, key=itemgetter("question_id"))
    if not asked:
        raise BadInput("there is no question to score", where="questions", do="check the split")
    spans: dict[str, list[tuple[int, str]]] = {row["question_id"]: [] for row in asked}
    for row in answers:
        if row["question_id"] in spans:
            if not row["text"]:
                place = f"answers, question {row['question_id']!r}"
                raise BadInput(f"the gold span {row['index']} is empty", where=place, do="drop it")
            spans[row["question_id"]].append((row["index"], row["text"]))
    return Gold(
        tuple(row["question_id"] for row in asked),
        tuple(row["contract_id"] for row in asked),
        tuple(row["category"] for row in asked),
        tuple(tuple(text for _, text in sorted(spans[row["question_id"]])) for row in asked),
    )


@dataclass(frozen=True)
class Nbest:
    """The n-best spans of many questions, in columns: the questions sorted by id, each in its own order.

    ``sizes`` int64 [questions]: how many predictions a question has.  ``texts``, ``slices``, ``confidence``
    float64, ``start`` and ``end`` int64 [predictions]: the span as the release writes it, which paper mode
    scores, and as the contract has it, which strict mode scores (the same where only one is known); its
    probability, and its place in the contract (`EMPTY` for the empty prediction, `NO_PLACE` where it is not
    known).
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

    Raises `BadInput` for a probability that is not a number from 0 to 1.
    """
    ordered = sorted(rows, key=itemgetter("question_id", "rank"))
    groups = {key: list(found) for key, found in groupby(ordered, key=itemgetter("question_id"))}
    return nbest_columns(groups, "released_text", "start", "end", where)


def nbest_columns(
    groups: Mapping[str, Sequence[Mapping[str, Any]]], text: str, start: str, end: str, where: str
) -> Nbest:
    """Return `Nbest` of {question id: its predictions, in their order}.

    ``text``, ``start`` and ``end`` name what holds the released text and its place; the slice is in `text`.
    Raises `BadInput` as `nbest_rows` does.
    """
    question_ids = tuple(sorted(groups))
    rows = list(chain.from_iterable(groups[question_id] for question_id in question_ids))
    sizes = np.array([len(groups[question_id]) for question_id in question_ids], dtype=np.int64)
    confidence = np.array([row["probability"] for row in rows], dtype=np.float64)
    wrong = np.flatnonzero(~((confidence >= 0) & (confidence <= 1)))
    if len(wrong):
        at = int(np.searchsorted(np.cumsum(sizes), wrong[0], side="right"))
        place = f"{where}, question {question_ids[at]!r}, prediction {wrong[0] - sizes[:at].sum()}"
        value = rows[wrong[0]]["probability"]
        raise BadInput(f"the probability {value!r} is not a number from 0 to 1", where=place)

    def places(name: str) -> np.ndarray:
        found = (row.get(name) for row in rows)
        return np.array([NO_PLACE if place is None else place for place in found], dtype=np.int64)

    texts, slices = ([row[name] for row in rows] for name in (text, "text"))
    return Nbest(question_ids, sizes, texts, slices, confidence, places(start), places(end))


def check_questions(found: Nbest, asked: Gold) -> None:
    """Raise `BadInput` unless the questions with predictions are those that are asked."""
    missing = sorted(set(asked.question_ids).difference(found.question_ids))
    extra = sorted(set(found.question_ids).difference(asked.question_ids))
    for ids, fault, do in (
        (missing, "asked and not predicted", "predict every question, if only with the empty prediction"),
        (extra, "predicted and not asked", "score the predictions on their own split"),
    ):
        if ids:
            count = f"{len(ids)} question{'s are' if len(ids) > 1 else ' is'}"
            raise BadInput(f"{count} {fault}, first {ids[0]!r}", where="predictions", do=do)


# The words of a span, and which predictions count.

TEXT_END = b"\xff"  # no character of UTF-8 holds this byte
_REMOVED = re.compile("[.,;:]")
_LOWERED = bytes(range(256)).lower().replace(b"/", b" ")


def paper_words(texts: Sequence[str]) -> bytes:
    """Return the words of texts as the released evaluator makes them.

    In UTF-8, each word followed by a space and each text by `TEXT_END`.  Only the characters . , ; : are
    removed, and / becomes a space.  Words are split at single spaces: an empty word comes of two spaces
    together, of one at either end, or of a text without words, and counts as a word; a line break or a
    tab stays inside a word, and so do quotes, brackets and hyphens.
    """
    encoded = [text.encode() if text.isascii() else _lowered(text) for text in texts]
    # No other character of UTF-8 holds the byte of an ASCII one, so the rest can be done in bytes.
    return (b" " + TEXT_END).join([*encoded, b""]).translate(_LOWERED, b".,;:")


def _lowered(text: str) -> bytes:
    # Marks go first: what stands beside a capital sigma decides how it is lowered.
    return _REMOVED.sub("", text).lower().encode("utf-8", "surrogatepass")


class _Punctuation(dict[int, int | None]):
    """For `str.translate`: drops the characters of Unicode's categories P*, looked up once each."""

    def __missing__(self, code: int) -> int | None:
        self[code] = None if unicodedata.category(chr(code)).startswith("P") else code
        return self[code]


_PUNCTUATION = _Punctuation()


def strict_words(texts: Sequence[str]) -> bytes:
    """Return the words of texts as the paper says: no punctuation, lower case, split by spaces.

    In UTF-8, each word followed by a space and each text by `TEXT_END`; a text may have no word.
    Punctuation is what Unicode calls so (categories P*: also quotes, brackets, dashes, slashes, % and &;
    not $ or +), and spaces are white space of any kind and length.
    """
    words = (" ".join([*text.translate(_PUNCTUATION).lower().split(), ""]) for text in texts)
    return b"".join(each.encode("utf-8", "surrogatepass") + TEXT_END for each in words)


def last_by_text(found: Nbest) -> np.ndarray:
    """Return the places of the predictions that the released evaluator sees, int64, questions in order.

    It keys them by text, so of several with one text it keeps the last one's confidence, even if that is
    lower.  Only the text "" is the empty prediction; the word "empty", which the released prediction step
    writes where a question has nothing else, counts as a prediction.
    """
    kept: list[int] = []
    at = 0
    for size in found.sizes.tolist():
        last = dict(zip(found.texts[at : at + size], range(at, at + size), strict=True))
        last.pop("", None)
        kept += last.values()
        at += size
    return np.array(kept, dtype=np.int64)


def most_probable_by_span(found: Nbest) -> np.ndarray:
    """Return the places of the distinct spans, each with its highest confidence, int64, questions in order.

    Spans are told apart by where they start and end, or by text where that is not known.  A prediction
    without text, or whose start is `EMPTY`, is the empty prediction and left out.
    """
    kept: list[int] = []
    starts, ends, confidence = found.start.tolist(), found.end.tolist(), found.confidence.tolist()
    at = 0
    for size in found.sizes.tolist():
        best: dict[Any, int] = {}
        for place in range(at, at + size):
            text, start = found.slices[place], starts[place]
            if text and start != EMPTY:
                span = text if start == NO_PLACE else (start, ends[place])
                if span not in best or confidence[place] > confidence[best[span]]:
                    best[span] = place
        kept += best.values()
        at += size
    return np.array(kept, dtype=np.int64)


# Which predictions and gold spans match.


@dataclass(frozen=True)
class Matches:
    """What is found and what is not, before any threshold.

    ``gold_question`` int64 and ``gold_confidence`` float64 [gold spans]: the place of the span's question
    in `Gold`, and the highest confidence of a prediction that matches it (`UNMATCHED` where none does).
    ``miss_question`` and ``miss_confidence`` [misses]: the same for the predictions that match no gold span.
    """

    gold_question: np.ndarray
    gold_confidence: np.ndarray
    miss_question: np.ndarray
    miss_confidence: np.ndarray


def paper_matches(found: Nbest, asked: Gold, relaxed: str | None) -> Matches:
    """Match as the released evaluator does.

    Matching is relaxed (a prediction also matches that holds the gold text, case and all) for every
    question whose id contains ``relaxed`` anywhere, so also for a contract with that word in its title.
    """
    loose = [bool(relaxed) and relaxed in question_id for question_id in asked.question_ids]
    return _matches(found, last_by_text(found), asked, loose, paper_words)


def strict_matches(found: Nbest, asked: Gold, relaxed: str | None) -> Matches:
    """Match as the paper says; relaxed for the category ``relaxed`` and no other."""
    loose = [category == relaxed for category in asked.categories]
    found = replace(found, texts=found.slices)
    return _matches(found, most_probable_by_span(found), asked, loose, strict_words)


def _matches(
    found: Nbest,
    kept: np.ndarray,
    asked: Gold,
    loose: Sequence[bool],
    words: Callable[[Sequence[str]], bytes],
) -> Matches:
    """Match the predictions at the places ``kept``; ``loose`` says which questions are relaxed."""
    spans = list(chain.from_iterable(asked.spans))
    sizes = np.array([len(each) for each in asked.spans])
    gold_question = np.repeat(np.arange(len(sizes)), sizes)
    question = np.repeat(np.arange(len(sizes)), found.sizes)[kept]
    confidence = found.confidence[kept]
    best = np.full(len(spans), UNMATCHED)
    matched = np.zeros(len(kept), dtype=bool)

    # What is predicted where there is no gold span matches nothing.
    answered = np.flatnonzero(sizes)
    candidates = np.flatnonzero(sizes[question])
    for at in range(0, len(answered), BLOCK):
        block = answered[at : at + BLOCK]
        bounds = block[0], block[-1] + 1
        gold_rows = np.arange(*np.searchsorted(gold_question, bounds))
        rows = candidates[slice(*np.searchsorted(question[candidates], bounds))]
        block_spans = [spans[row] for row in gold_rows]
        texts = [found.texts[place] for place in kept[rows].tolist()]
        of_span = np.searchsorted(block, gold_question[gold_rows])
        of_text = np.searchsorted(block, question[rows])
        pairs = [_similar(words([*block_spans, *texts]), of_span, of_text)]
        pairs += [
            _holding(block_spans, texts, of_span == place, of_text == place)
            for place, each in enumerate(block.tolist())
            if loose[each]
        ]
        for one, other in pairs:
            np.maximum.at(best, gold_rows[one], confidence[rows[other]])
            matched[rows[other]] = True
    return Matches(gold_question, best, question[~matched], confidence[~matched])


def _holding(
    spans: Sequence[str], texts: Sequence[str], asked_span: np.ndarray, asked_text: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs (span, text) where the text holds the span, among those of one question."""
    own = np.flatnonzero(asked_text).tolist()
    pairs = [
        (one, other) for one in np.flatnonzero(asked_span) for other in own if spans[one] in texts[other]
    ]
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return one, other


def _similar(words: bytes, of_span: np.ndarray, of_text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs (span, text) of one question whose Jaccard coefficient is at least 0.5.

    ``words`` are those of the spans, then of the texts; ``of_span`` and ``of_text`` say which question
    each is of, counted from 0.  All is in whole numbers: with s words shared, g in the gold span and p in
    the prediction, s / (g + p - s) is at least 0.5 where 3 s >= g + p.
    """
    spans, size = len(of_span), len(of_span) + len(of_text)
    asked = np.concatenate([of_span, of_text])
    questions = int(of_span.max()) + 1
    owner, code, vocabulary = _coded(words, size)
    start = asked * vocabulary
    gold_words = int(np.searchsorted(owner, spans))

    # A cell is a word of a question, and those of its gold spans are columns.
    gold_owner, gold_code = _distinct(owner[:gold_words], code[:gold_words])
    gold_size = np.bincount(gold_owner, minlength=spans)
    gold_cell = start[gold_owner] + gold_code
    column_of = np.full(questions * vocabulary, -1, dtype=np.int32)
    column_of[gold_cell] = 0
    columns = np.flatnonzero(column_of == 0)
    column_of[columns] = np.arange(len(columns))

    # s >= g / 2 is needed too: that rules out most texts before their words are told apart.
    fewest = np.full(questions, size + len(owner))
    np.minimum.at(fewest, of_span, np.where(gold_size > 0, gold_size, size + len(owner)))
    known = column_of[start[owner] + code] >= 0
    hopeful = 2 * np.bincount(owner[known], minlength=size) >= fewest[asked]
    hopeful[:spans] = False
    left = hopeful[owner]
    owner, code = _distinct(owner[left], code[left])
    text_size = np.bincount(owner, minlength=size)
    column = column_of[start[owner] + code]
    owner, column = owner[column >= 0], column[column >= 0]

    shared = (
        _sets(owner, column, size, len(columns))
        @ _sets(gold_owner, column_of[gold_cell], spans, len(columns)).T
    )
    pairs = shared.tocoo()
    alike = 3 * pairs.data >= gold_size[pairs.col] + text_size[pairs.row]
    return pairs.col[alike], pairs.row[alike] - spans


def _sets(owner: np.ndarray, column: np.ndarray, rows: int, columns: int) -> csr_array:
    """Return a matrix with a one in each (owner, column), owners in order."""
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=rows))])
    return csr_array((np.ones(len(owner), dtype=np.int32), column, ends), shape=(rows, columns))


def _coded(words: bytes, texts: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Return (text of each word, number of each word, how many numbers there are), in the texts' order."""
    text_ends = np.flatnonzero(np.frombuffer(words, dtype=np.uint8) == TEXT_END[0]) - np.arange(texts)
    joined = words.replace(TEXT_END, b"")
    ends = np.flatnonzero(np.frombuffer(joined, dtype=np.uint8) == ord(" ")) + 1
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(joined)]
    found = pa.Array.from_buffers(pa.binary(), len(ends), buffers).dictionary_encode()
    upto = np.searchsorted(ends, text_ends, side="right")
    owner = np.repeat(np.arange(texts), np.diff(upto, prepend=0))
    return owner, found.indices.to_numpy(), max(1, len(found.dictionary))


def _distinct(owner: np.ndarray, code: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the different pairs (owner, code), sorted, where owners come in order."""
    # Several times quicker than `np.unique`, and a stable sort makes use of the order that is there.
    keys = np.sort(owner << 32 | code, kind="stable")
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return keys >> 32, keys & 0xFFFFFFFF


# Paper mode: a sweep of fixed thresholds.


def sweep(low_thresholds: Sequence[float] = LOW_THRESHOLDS) -> np.ndarray:
    """Return the thresholds of the released sweep, highest first, float64.

    0.99 down to 0.01 as ``np.arange(0.99, 0, -0.01)`` makes them, which puts 93 of the 99 a little below
    the two-digit number (0.93 is 0.9299999999999999); then ``low_thresholds``.
    """
    return np.concatenate([np.arange(0.99, 0, -0.01), np.asarray(low_thresholds, dtype=np.float64)])


def threshold_group(threshold: float) -> str:
    """Return the name that a threshold goes by in the scores, such as ``threshold: 0.9``."""
    return "threshold: " + (f"{threshold:.5f}".rstrip("0").rstrip(".") or "0")


@dataclass(frozen=True)
class Curve:
    """Precision and recall, float64 [..., points].

    Recall never steps back, since a lower threshold only adds predictions; so the released area, which
    takes points in the order of the thresholds, never fails.
    """

    precision: np.ndarray
    recall: np.ndarray


@dataclass(frozen=True)
class Counts:
    """True and false positives at each threshold, int64 [..., thresholds], and gold spans, int64 [...]."""

    true_positives: np.ndarray
    false_positives: np.ndarray
    gold_spans: np.ndarray

    def curve(self) -> Curve:
        """The released curve: a point of precision 1 and recall 0, then one for each threshold.

        Precision is NaN where nothing is predicted, and recall where there is no gold span.
        """
        tp, fp = self.true_positives, self.false_positives
        with np.errstate(invalid="ignore"):
            precision = tp / (tp + fp)
            recall = tp / np.asarray(self.gold_spans)[..., None]
        first = np.ones((*precision.shape[:-1], 1))
        return Curve(np.concatenate([first, precision], -1), np.concatenate([0 * first, recall], -1))


def counts(matches: Matches, unit: np.ndarray, units: int, thresholds: np.ndarray) -> Counts:
    """Count positives for each of ``units`` units; ``unit`` int64 [questions] says which a question is in.

    A prediction counts at the thresholds (highest first) that its confidence is strictly above: one of
    confidence 0 never does, not even at the threshold 0.
    """
    size = len(thresholds)

    def above(question: np.ndarray, confidence: np.ndarray) -> np.ndarray:
        # Column k counts what first passes at threshold k; what never does falls in one column more.
        first = size - np.searchsorted(thresholds[::-1], confidence, side="left")
        cells = np.bincount(unit[question] * (size + 1) + first, minlength=units * (size + 1))
        return np.cumsum(cells.reshape(units, size + 1)[:, :size], axis=1)

    return Counts(
        above(matches.gold_question, matches.gold_confidence),
        above(matches.miss_question, matches.miss_confidence),
        np.bincount(unit[matches.gold_question], minlength=units),
    )


def overall_counts(matches: Matches, asked: Gold, thresholds: np.ndarray) -> Counts:
    """Return the counts over all questions, as a single row."""
    return counts(matches, np.zeros(len(asked.question_ids), dtype=np.int64), 1, thresholds)


def substring_groups(asked: Gold) -> np.ndarray:
    """Return which questions a category holds by the released filter, bool [categories, questions].

    The filter asks whether the category's name stands anywhere in the question's id, and the id begins
    with the contract's title: all the questions about a contract with Insurance in its title count as
    questions about insurance.  A category's own questions belong to it however their ids spell it (MAUD's
    misspell two of its types).
    """
    keys, own = asked.question_ids, np.array(asked.categories)
    return np.array(
        [
            np.fromiter(map(contains, keys, repeat(name)), bool) | (own == name)
            for name in asked.category_names
        ]
    )


def paper_counts(matches: Matches, asked: Gold, thresholds: np.ndarray) -> tuple[list[str], Counts]:
    """Return the groups (``all``, then ``category: <name>``) and their counts, one row a group."""
    size = len(asked.question_ids)
    single = counts(matches, np.arange(size), size, thresholds)
    groups = np.vstack([np.ones((1, size)), substring_groups(asked)])
    # Sums of small whole numbers are exact in floating point, where the product is fast.
    summed = [
        np.rint(groups @ each).astype(np.int64)
        for each in (single.true_positives, single.false_positives, single.gold_spans)
    ]
    return ["all", *(f"category: {name}" for name in asked.category_names)], Counts(*summed)


def processed(precision: np.ndarray) -> np.ndarray:
    """Return each point's best precision at its own threshold or a lower one, as the release computes it.

    The release goes by the order of the sweep, from the last point back, with Python's ``max``.  That
    passes over a NaN unless it comes first, and then keeps it: where the lowest threshold predicts
    nothing, every point is NaN, the added point of precision 1 among them.
    """
    backwards = precision[..., ::-1]
    best = np.fmax.accumulate(backwards, axis=-1)
    # Contiguous, because numpy sums a reversed view in another order, which changes the last bit.
    return np.ascontiguousarray(np.where(np.isnan(backwards[..., :1]), np.nan, best)[..., ::-1])


def aupr(curve: Curve) -> np.ndarray:
    """Return the released area under the curve, float64 [...].

    Trapezoids (as `sklearn.metrics.auc`) from the added point of recall 0 and precision 1: a high first
    precision so counts for recalls that no threshold attains, and what lies beyond the highest recall
    attained counts nothing.  NaN becomes 0: without gold spans (CUAD's Price Restrictions), and where
    nothing is predicted.
    """
    areas = np.trapezoid(processed(curve.precision), curve.recall, axis=-1)
    return np.where(np.isnan(areas), 0.0, areas)


def precision_at_recall(curve: Curve, recall: float) -> np.ndarray:
    """Return the released precision at ``recall``, float64 [...]: the processed one at the first point there.

    The release walks the points beside the thresholds, of which there is one less because of the added
    point, and so never reaches the last: a recall attained only at the last threshold gives 0, like one
    that is not attained.  (The threshold that it returns beside the precision is one place off for the
    same reason; it is not given here.)
    """
    reached = curve.recall[..., :-1] >= recall
    first = np.argmax(reached, axis=-1)[..., None]
    found = np.take_along_axis(processed(curve.precision), first, axis=-1)[..., 0]
    return np.where(reached.any(axis=-1), found, 0.0)


def paper_values(curve: Curve) -> dict[str, np.ndarray]:
    """Return the released metrics: {metric: float64 [...]}."""
    return {AUPR: aupr(curve)} | {name: precision_at_recall(curve, x) for name, x in RECALLS.items()}


def contract_intervals(
    matches: Matches, asked: Gold, thresholds: np.ndarray, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, tuple[float, float] | None]:
    """Return {metric: 95 % percentile-bootstrap interval over contracts} of the metrics over all questions.

    Contracts are drawn with replacement, each with all its questions, as many as there are.  None where
    resampling says nothing (one contract, or one value throughout).
    """
    names, unit = np.unique(asked.contracts, return_inverse=True)
    each = counts(matches, unit, len(names), thresholds)
    parts = [part.astype(np.float64) for part in (each.true_positives, each.false_positives, each.gold_spans)]
    return interval_over_contracts(parts, seed, resamples)


def interval_over_contracts(
    parts: Sequence[np.ndarray], seed: int, resamples: int
) -> dict[str, tuple[float, float] | None]:
    """Return `contract_intervals` from the ``parts`` of `Counts`, float64 [contracts, ...]."""
    values: dict[str, list[np.ndarray]] = {name: [] for name in METRICS}
    for weights in resampled_weights(len(parts[0]), seed, resamples):
        drawn = weights.astype(np.float64)
        for name, found in paper_values(Counts(*(drawn @ part for part in parts)).curve()).items():
            values[name].append(found)
    return {name: percentile_interval(np.concatenate(found)) for name, found in values.items()}


# Strict mode: every confidence is a threshold.


def strict_curve(gold_confidence: np.ndarray, miss_confidence: np.ndarray) -> Curve:
    """Return the curve of one group from its part of `Matches`, highest threshold first.

    Precision is the best at the point's recall or a higher one.  Recall is NaN where there is no gold
    span; a group without predictions has no point.
    """
    # A matched prediction that is not the best of any gold span changes no count, so needs no threshold.
    hits = np.sort(gold_confidence[gold_confidence > UNMATCHED])
    misses = np.sort(miss_confidence)
    thresholds = np.unique(np.concatenate([hits, misses]))[::-1]
    tp = len(hits) - np.searchsorted(hits, thresholds, side="left")
    fp = len(misses) - np.searchsorted(misses, thresholds, side="left")
    best = np.maximum.accumulate((tp / (tp + fp))[::-1])[::-1]
    return Curve(best, tp / len(gold_confidence) if len(gold_confidence) else np.full(len(tp), NAN))


def strict_values(gold_confidence: np.ndarray, miss_confidence: np.ndarray) -> dict[str, float]:
    """Return the metrics of one group as the paper defines them: {metric: value}; NaN without gold spans."""
    if not len(gold_confidence):
        return dict.fromkeys(METRICS, NAN)
    curve = strict_curve(gold_confidence, miss_confidence)
    values = {AUPR: float(np.sum(np.diff(curve.recall, prepend=0.0) * curve.precision))}
    for name, recall in RECALLS.items():
        attained = curve.precision[curve.recall >= recall]
        values[name] = float(attained[0]) if len(attained) else 0.0
    return values


def strict_groups(matches: Matches, asked: Gold) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield (group, its gold confidences, its misses' confidences): ``all``, then each exact category."""
    yield "all", matches.gold_confidence, matches.miss_confidence
    names, category = np.unique(asked.categories, return_inverse=True)
    of_gold, of_miss = category[matches.gold_question], category[matches.miss_question]
    for at, name in enumerate(names.tolist()):
        yield (
            f"category: {name}",
            matches.gold_confidence[of_gold == at],
            matches.miss_confidence[of_miss == at],
        )


# Both, as rows.


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

    ``nbest`` are rows of the table of predictions, or their columns; ``questions`` are the
    questions that were asked (one split of `squad.QUESTIONS`), ``answers`` rows of `squad.ANSWERS`.
    ``relaxed`` names the category in which a prediction also matches that holds the gold span (in paper
    mode a substring of the question's id; None: no category).  ``low_thresholds`` ends the released `sweep`.

    Metrics: `METRICS` for the groups ``all`` and ``category: <name>`` (n: gold spans), with ``, strict``
    for strict mode; for ``all`` with ``, low`` and ``, high`` for the 95 % interval of paper mode (n:
    contracts), unless resampling says nothing; ``precision`` and ``recall`` of the released curve for each
    ``threshold: <t>`` (n: what each is a share of).

    Raises `BadInput` for missing or extra questions, a probability that is none, and an empty gold span.
    """
    asked = gold(questions, answers)
    found = nbest if isinstance(nbest, Nbest) else nbest_rows(nbest)
    check_questions(found, asked)
    thresholds = sweep(low_thresholds)
    paper = paper_matches(found, asked, relaxed)
    strict = strict_matches(found, asked, relaxed)
    rows: list[Row] = []

    def add(metric: str, group: str, value: float, n: int) -> None:
        rows.append({"metric": metric, "group": group, "value": float(value), "n": int(n)})

    groups, counted = paper_counts(paper, asked, thresholds)
    curve = counted.curve()
    for metric, values in paper_values(curve).items():
        for group, value, spans in zip(groups, values, counted.gold_spans, strict=True):
            add(metric, group, value, spans)
    for group, gold_confidence, miss_confidence in strict_groups(strict, asked):
        for metric, value in strict_values(gold_confidence, miss_confidence).items():
            add(metric + STRICT, group, value, len(gold_confidence))
    contracts = len(set(asked.contracts))
    for metric, interval in contract_intervals(paper, asked, thresholds, seed, resamples).items():
        if interval:
            add(metric + LOW, "all", interval[0], contracts)
            add(metric + HIGH, "all", interval[1], contracts)
    predicted = counted.true_positives[0] + counted.false_positives[0]
    for at, threshold in enumerate(thresholds):
        add("precision", threshold_group(threshold), curve.precision[0, at + 1], predicted[at])
        add("recall", threshold_group(threshold), curve.recall[0, at + 1], counted.gold_spans[0])
    return sorted(rows, key=itemgetter("metric", "group"))
