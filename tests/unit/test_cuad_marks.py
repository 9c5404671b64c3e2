"""What a review would mark in annotated contracts, and how much of it is right."""

import pytest

from lextables.papers.cuad import marks
from lextables.papers.cuad.marks import Band, Marks
from lextables.pipeline.errors import BadInput

CONTRACT = "The Buyer pays. The Seller ships the goods. This is governed by Ohio law. Buyer may audit."
QUESTIONS = [
    {"question_id": f"c__{category}", "contract_id": "c", "category": category}
    for category in ("Parties", "Governing Law", "Audit Rights")
]


def span(question: str, rank: int, words: str, probability: float) -> dict:
    start = CONTRACT.index(words) if words else -1
    end = start + len(words) if words else -1
    texts = {"released_text": words, "text": words}
    return {
        "question_id": question, "rank": rank, "start": start, "end": end, "probability": probability, **texts
    }  # fmt: skip


def answer(question: str, index: int, words: str) -> dict:
    start = CONTRACT.index(words)
    return {
        "question_id": question, "index": index, "text": words, "start": start, "end": start + len(words)
    }  # fmt: skip


PREDICTIONS = [
    # The second lies in the first and is not marked, though it is the annotated one.
    span("c__Parties", 0, "The Buyer pays", 0.9),
    span("c__Parties", 1, "Buyer", 0.8),
    span("c__Parties", 2, "ships the goods", 0.3),
    span("c__Parties", 3, "", 0.1),
    span("c__Governing Law", 0, "This is governed by Ohio law", 0.7),
    span("c__Governing Law", 1, "", 0.3),
    span("c__Audit Rights", 0, "", 0.95),
    span("c__Audit Rights", 1, "Buyer may audit", 0.1),  # no more than the minimum
]
ANSWERS = [
    answer("c__Parties", 0, "Buyer"),
    answer("c__Parties", 1, "The Seller"),
    answer("c__Governing Law", 0, "governed by Ohio law"),
    answer("c__Audit Rights", 0, "Buyer may audit"),
]


def counted(relaxed: str | None = None) -> list[dict]:
    return marks.count(PREDICTIONS, QUESTIONS, ANSWERS, relaxed, 0.1)


def test_marks_are_counted_by_category_and_confidence():
    assert marks.by_category(counted(), 0.1) == {
        "Parties": Marks(2, 0, 2, 0),
        "Governing Law": Marks(1, 1, 1, 1),
        "Audit Rights": Marks(0, 0, 1, 0),
    }
    # In a relaxed category a mark may hold the answer.
    assert marks.by_category(counted("Parties"), 0.1)["Parties"] == Marks(2, 1, 2, 1)
    assert marks.bands(counted("Parties")) == [
        Band(0.1, 0.2, 0, 0), Band(0.2, 0.4, 1, 0), Band(0.4, 0.6, 0, 0), Band(0.6, 0.8, 1, 1),
        Band(0.8, 1.0, 1, 1),
    ]  # fmt: skip


def test_a_greater_minimum_starts_there():
    rows = marks.count(PREDICTIONS, QUESTIONS, ANSWERS, None, 0.5)
    assert {row["above"] for row in rows} == {0.5, 0.6, 0.8}
    assert marks.by_category(rows, 0.5)["Parties"] == Marks(1, 0, 2, 0)


def test_shares_of_nothing_are_none():
    assert (Marks(4, 3, 0, 0).precision, Marks(4, 3, 0, 0).recall) == (0.75, None)
    assert (Marks(0, 0, 4, 1).precision, Marks(0, 0, 4, 1).recall) == (None, 0.25)


def test_a_question_without_predictions_is_an_error():
    with pytest.raises(BadInput, match="1 question is asked and not predicted"):
        marks.count(PREDICTIONS[:-2], QUESTIONS, ANSWERS, None, 0.1)
