"""Spans that overlap or touch become one; the rest stay apart."""

import pytest

from lextables.tasks.spans.nbest import join

TEXT = "The tail period runs for twelve months. It ends early. Nothing else survives the closing date."


def span(start, end, probability, question="c__Tail"):
    text = TEXT[start:end] if start >= 0 else ""
    return {
        "question_id": question,
        "rank": 0,
        "released_text": text,
        "text": text,
        "start": start,
        "end": end,
        "probability": probability,
        "start_logit": 1.0,
        "end_logit": 2.0,
    }


def places(rows, share=0.1):
    return [
        (row["start"], row["end"], row["probability"])
        for row in join(rows, {"c__Tail": TEXT, "d": TEXT}, share)
    ]


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        # The second begins inside the first and goes on behind it.
        ([(0, 20, 0.5), (10, 39, 0.25)], [(0, 39, 0.75)]),
        # Only a blank lies between them.
        ([(0, 39, 0.5), (40, 54, 0.25)], [(0, 54, 0.75)]),
        # Words lie between them.
        ([(0, 19, 0.5), (55, 70, 0.25)], [(0, 19, 0.5), (55, 70, 0.25)]),
        # Far less likely than the span it overlaps: dropped, not joined.
        ([(0, 20, 0.5), (10, 93, 0.01)], [(0, 20, 0.5)]),
        # Two good spans that only an unlikely one connects stay two.
        ([(0, 20, 0.5), (4, 90, 0.01), (55, 93, 0.25)], [(0, 20, 0.5), (55, 93, 0.25)]),
        ([(-1, -1, 0.75), (0, 20, 0.25)], [(-1, -1, 0.75), (0, 20, 0.25)]),
        ([(0, 20, 0.75), (0, 21, 0.75)], [(0, 21, 1.0)]),
    ],
)
def test_what_joins(spans, expected):
    assert places([span(*one) for one in spans]) == expected


def test_ranks_texts_and_questions_are_kept_apart():
    rows = [span(55, 70, 0.25), span(0, 20, 0.5), span(0, 20, 0.5, question="d")]
    found = list(join(rows, {"c__Tail": TEXT, "d": TEXT}))
    assert [(row["question_id"], row["rank"], row["text"]) for row in found] == [
        ("c__Tail", 0, TEXT[0:20]),
        ("c__Tail", 1, TEXT[55:70]),
        ("d", 0, TEXT[0:20]),
    ]
