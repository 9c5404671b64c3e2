"""Predicted spans: their table, and the ranking of the spans of a question."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from lextables.pipeline.dataset import Column, Row, Table

# Written by the release if a question has only the empty prediction; its logits are 0.
NOTHING_ELSE = "empty"

NBEST = Table(
    "predictions",
    "The most probable spans of each question and the empty prediction, one for each "
    "released text.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("rank", pa.int32(), "rank by score, from 0"),
        Column(
            "released_text",
            pa.string(),
            "the span as the released code writes it, often whole words, with single "
            "blanks; scored in paper mode; empty for the empty prediction, and the word "
            "empty, without a slice, if the question has no other prediction",
        ),
        Column(
            "text",
            pa.string(),
            "the contract from the span's first to its last token; scored in strict mode",
        ),
        Column(
            "start",
            pa.int32(),
            "first character of the slice; -1 for the empty prediction",
        ),
        Column(
            "end", pa.int32(), "character after the slice; -1 for the empty prediction"
        ),
        Column(
            "probability",
            pa.float64(),
            "softmax of start_logit + end_logit over the question's rows",
        ),
        Column(
            "start_logit",
            pa.float64(),
            "logit of the first token, or of the classification token",
            undefined=True,
        ),
        Column(
            "end_logit",
            pa.float64(),
            "logit of the last token, or of the classification token",
            undefined=True,
        ),
    ),
    key=("question_id", "rank"),
)


@dataclass(frozen=True)
class PredictedSpan:
    """A prediction for a question: characters [start, end) of the contract.

    ``start`` and ``end`` are -1 for the empty prediction.  All fields are columns of
    `NBEST`.  A model with one logit for the whole span has it as ``start_logit``, and
    an ``end_logit`` of 0.
    """

    released_text: str
    text: str
    start: int
    end: int
    start_logit: float
    end_logit: float
    probability: float = math.nan

    @property
    def score(self) -> float:
        """The sum of both logits."""
        return self.start_logit + self.end_logit

    def with_probability(self, probability: float) -> "PredictedSpan":
        """Return the span with this probability."""
        return replace(self, probability=probability)


def ranked(
    spans: Iterable[PredictedSpan], empty: PredictedSpan, n_best: int
) -> list[PredictedSpan]:
    """Return the ``n_best`` best spans and the ``empty`` one, best first.

    Of spans with the same released text, the best is kept.  Equal scores are ordered by
    probability, then by position; the empty prediction comes after equal ones.
    """
    by_text: dict[str, PredictedSpan] = {}
    for span in sorted(spans, key=_order):
        by_text.setdefault(span.released_text, span)
    best_spans = [*by_text.values()][:n_best]
    best_spans.append(empty)
    return sorted(best_spans, key=lambda span: (-span.score, -span.probability))


def _order(span: PredictedSpan) -> tuple[float, float, int, int]:
    return -span.score, -span.probability, span.start, span.end


def span_rows(question_id: str, spans: Iterable[PredictedSpan]) -> Iterator[Row]:
    """Yield the rows of `NBEST` of a question; ``spans`` are its spans, best first."""
    for rank, span in enumerate(spans):
        yield {"question_id": question_id, "rank": rank, **vars(span)}
