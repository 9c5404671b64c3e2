"""Precision and recall of a review's marks, measured on the annotated test contracts.

A review shows them by category and confidence, because a model's probabilities are hard to interpret.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lextables.metrics.spans import check_questions, gold, nbest_rows, strict_matches
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
    """Passages: ``right`` of ``marked`` match an annotated one, ``found`` of ``annotated`` match a mark."""

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
    """``right`` of the ``marked`` passages with a confidence above ``low`` and up to ``high`` are right."""

    low: float
    high: float
    marked: int
    right: int


def marked_spans(
    rows: Iterable[Mapping[str, Any]], minimum: float
) -> list[Mapping[str, Any]]:
    """Return the spans of one question that a review marks, rows of `spans.schema.NBEST`.

    These are the spans above ``minimum``, most probable first, that do not overlap an earlier one.
    """
    spans: list[Mapping[str, Any]] = []
    for row in sorted(rows, key=lambda row: (-row["probability"], row["rank"])):
        free = all(
            row["end"] <= other["start"] or other["end"] <= row["start"]
            for other in spans
        )
        if row["start"] >= 0 and row["probability"] > minimum and free:
            spans.append(row)
    return spans


def count(
    predictions: Iterable[Row],
    questions: Iterable[Row],
    answers: Iterable[Row],
    relaxed: str | None,
    minimum: float,
) -> list[Row]:
    """Return sorted rows of `MARKS`: above ``minimum`` and above each greater one of `CONFIDENCES`.

    ``predictions`` are rows of `spans.schema.NBEST`; ``questions`` are rows of `squad.QUESTIONS` of one
    split; ``relaxed`` is the category in which a mark may contain the answer.
    """
    rows_of: dict[str, list[Row]] = defaultdict(list)
    for row in predictions:
        rows_of[row["question_id"]].append(row)
    gold_questions = gold(questions, answers)
    # With the empty prediction, a question without marks is not a missing question.
    spans = {name: marked_spans(rows, minimum) for name, rows in rows_of.items()}
    empty = {
        name: [row for row in rows if row["start"] < 0][:1]
        for name, rows in rows_of.items()
    }
    nbest = nbest_rows(row for name in spans for row in (*spans[name], *empty[name]))
    check_questions(nbest, gold_questions)
    matches = strict_matches(nbest, gold_questions, relaxed)
    place = {name: at for at, name in enumerate(gold_questions.question_ids)}
    marked = [
        (place[name], row["probability"])
        for name, rows in spans.items()
        for row in rows
    ]
    mark_question = np.array([question for question, _ in marked], dtype=np.int64)
    mark_confidence = np.array([confidence for _, confidence in marked])
    category = np.array(gold_questions.categories)
    groups = {ALL: np.ones(len(category), dtype=bool)}
    groups |= {name: category == name for name in gold_questions.category_names}

    def row(name: str, inside: np.ndarray, above: float) -> Row:
        marks = int((inside[mark_question] & (mark_confidence > above)).sum())
        wrong = int(
            (inside[matches.miss_question] & (matches.miss_confidence > above)).sum()
        )
        annotated = inside[matches.gold_question]
        return {
            "category": name,
            "above": above,
            "marked": marks,
            "right": marks - wrong,
            "annotated": int(annotated.sum()),
            "found": int((annotated & (matches.gold_confidence > above)).sum()),
        }

    levels = [minimum, *(level for level in CONFIDENCES if level > minimum)]
    return [
        row(name, inside, above)
        for name, inside in sorted(groups.items())
        for above in levels
    ]


def by_category(rows: Iterable[Row], minimum: float) -> dict[str, Marks]:
    """Return {category: marks above ``minimum``} from rows of `MARKS`."""
    category_rows = (
        row for row in rows if row["above"] == minimum and row["category"] != ALL
    )
    names = ("marked", "right", "annotated", "found")
    return {
        row["category"]: Marks(*(row[name] for name in names)) for row in category_rows
    }


def bands(rows: Iterable[Row]) -> list[Band]:
    """Return the marks of all categories by confidence, lowest band first."""
    counted = sorted(
        (row for row in rows if row["category"] == ALL), key=lambda row: row["above"]
    )
    nothing: Row = {"above": 1.0, "marked": 0, "right": 0}
    return [
        Band(
            low["above"],
            high["above"],
            low["marked"] - high["marked"],
            low["right"] - high["right"],
        )
        for low, high in pairwise([*counted, nothing])
    ]
