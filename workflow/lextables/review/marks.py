"""Precision and recall of a review's marks, measured on the annotated test contracts.

A review shows them by category and confidence, because a model's probabilities are hard
to interpret.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from lextables.metrics.spans import (
    Matches,
    check_questions,
    gold,
    nbest_rows,
    strict_matches,
)
from lextables.pipeline.dataset import Column, Row, Table

ALL = "all"
CONFIDENCES = (0.2, 0.4, 0.6, 0.8)  # limits between bands of confidence

MARKS = Table(
    "marks",
    "What a model marks in the test contracts, by the rule of a review, and how much of it is right.",
    (
        Column("category", pa.string(), "the category; `all` for all of them"),
        Column(
            "above", pa.float64(), "marks of more than this probability are counted"
        ),
        Column("marked", pa.int32(), "how many passages are marked"),
        Column(
            "right",
            pa.int32(),
            "how many of them match an annotated one (Jaccard 0.5, Section 4.1)",
        ),
        Column("annotated", pa.int32(), "how many passages are annotated"),
        Column("found", pa.int32(), "how many of them a mark matches"),
    ),
    key=("category", "above"),
)


@dataclass(frozen=True)
class Marks:
    """Passages: ``right`` of ``marked`` match an annotated one, ``found`` of
    ``annotated`` match a mark.
    """

    marked: int
    right: int
    annotated: int
    found: int

    @property
    def precision(self) -> float | None:
        """The share of marks that are right; None if nothing is marked."""
        return self.right / self.marked if self.marked else None

    @property
    def recall(self) -> float | None:
        """The share of annotated passages that are found; None if there are none."""
        return self.found / self.annotated if self.annotated else None


@dataclass(frozen=True)
class Band:
    """``right`` of the ``marked`` passages with a confidence above ``low`` and up to
    ``high`` are right.
    """

    low: float
    high: float
    marked: int
    right: int


def marked_spans(rows: Iterable[Row], minimum: float) -> list[Row]:
    """Return the spans of one question that a review marks, rows of
    `spans.schema.NBEST`.

    These are the spans above ``minimum``, most probable first, that do not overlap an
    earlier one.
    """
    likely = [row for row in rows if row["probability"] > minimum and row["start"] >= 0]
    likely.sort(key=lambda row: (-row["probability"], row["rank"]))
    spans: list[Row] = []
    for row in likely:
        overlaps = False
        for other in spans:
            if row["start"] < other["end"] and other["start"] < row["end"]:
                overlaps = True
        if not overlaps:
            spans.append(row)
    return spans


def count(
    predictions: Iterable[Row],
    questions: Iterable[Row],
    answers: Iterable[Row],
    relaxed: str | None,
    minimum: float,
) -> list[Row]:
    """Return sorted rows of `MARKS`: above ``minimum`` and above each greater one of
    `CONFIDENCES`.

    ``predictions`` are rows of `spans.schema.NBEST`; ``questions`` are rows of
    `squad.QUESTIONS` of one split; ``relaxed`` is the category in which a mark may
    contain the answer.
    """
    rows_of: dict[str, list[Row]] = defaultdict(list)
    for row in predictions:
        rows_of[row["question_id"]].append(row)
    gold_questions = gold(questions, answers)
    place = {name: at for at, name in enumerate(gold_questions.question_ids)}
    # The marks of all questions, and for each the place of its question and its
    # confidence; -1 stands for a question that is not asked, which is an error below.
    nbest = []
    mark_questions = []
    mark_confidences = []
    for name, rows in rows_of.items():
        spans = marked_spans(rows, minimum)
        nbest += spans
        # With the empty prediction, a question without marks is not a missing question.
        empty = [row for row in rows if row["start"] < 0]
        nbest += empty[:1]
        mark_questions += [place.get(name, -1)] * len(spans)
        mark_confidences += [row["probability"] for row in spans]
    rows_nbest = nbest_rows(nbest)
    check_questions(rows_nbest, gold_questions)
    marked = _Marked(
        np.array(mark_questions, dtype=np.int64),
        np.array(mark_confidences),
        strict_matches(rows_nbest, gold_questions, relaxed),
    )
    category = np.array(gold_questions.categories)
    groups = {ALL: np.ones(len(category), dtype=bool)}
    for name in gold_questions.category_names:
        groups[name] = category == name
    # Count the marks of each category above each confidence.
    levels = [minimum, *(level for level in CONFIDENCES if level > minimum)]
    rows = []
    for name, inside in sorted(groups.items()):
        for above in levels:
            counts = vars(marked.counts(inside, above))
            rows.append({"category": name, "above": above, **counts})
    return rows


@dataclass(frozen=True)
class _Marked:
    """Marks of all questions: arrays with the place of each mark's question and its
    confidence, and the matches of annotated passages.
    """

    question: np.ndarray
    confidence: np.ndarray
    matches: Matches

    def counts(self, inside: np.ndarray, above: float) -> Marks:
        """Count the marks above a confidence in the questions for which the mask
        ``inside`` is true.
        """
        matches = self.matches
        is_mark = inside[self.question] & (self.confidence > above)
        is_wrong = inside[matches.miss_question] & (matches.miss_confidence > above)
        is_annotated = inside[matches.gold_question]
        is_found = is_annotated & (matches.gold_confidence > above)
        return Marks(
            marked=int(is_mark.sum()),
            right=int(is_mark.sum() - is_wrong.sum()),
            annotated=int(is_annotated.sum()),
            found=int(is_found.sum()),
        )


def by_category(rows: Iterable[Row], minimum: float) -> dict[str, Marks]:
    """Return {category: marks above ``minimum``} from rows of `MARKS`."""
    marks = {}
    for row in rows:
        if row["above"] == minimum and row["category"] != ALL:
            marks[row["category"]] = Marks(
                row["marked"], row["right"], row["annotated"], row["found"]
            )
    return marks


def bands(rows: Iterable[Row]) -> list[Band]:
    """Return the marks of all categories by confidence, lowest band first."""
    counted = [row for row in rows if row["category"] == ALL]
    counted.sort(key=lambda row: row["above"])
    counted.append({"above": 1.0, "marked": 0, "right": 0})
    probability_bands = []
    for low, high in pairwise(counted):
        band = Band(
            low["above"],
            high["above"],
            low["marked"] - high["marked"],
            low["right"] - high["right"],
        )
        probability_bands.append(band)
    return probability_bands
